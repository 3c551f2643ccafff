"""Tables of all kinds: what can be read is read alike, what cannot is refused in one line with a remedy."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from test_cli import DROPPED, EXACT, HOUSES, after_steps, document, mixed_houses, onefit_cli

import onefit
from helpers import quietly


def refused(path, *options, target="y"):
    """The line by which a table is refused."""
    outcome = onefit_cli("run", path, "--target", target, "--quiet", *options)
    assert outcome.exit_code == 1, outcome.stdout
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""
    return outcome.stderr


@pytest.fixture
def table(tmp_path):
    """A function that writes a text or a frame and returns its path."""

    def write(content, name="t.csv"):
        path = tmp_path / name
        if isinstance(content, pd.DataFrame):
            content.to_csv(path, index=False)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def frame(n=40, **columns):
    """Two columns of noise, one of them the target, and more."""
    rng = np.random.default_rng(3)
    return pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), **columns})


# ------------------------------------------------------------------------------------------------------- formats

TEXT = HOUSES.read_bytes()


def _zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner.csv", data)
    return file.getvalue()


FORMATS = {
    "t.csv": TEXT,
    "t.tsv": TEXT.replace(b",", b"\t"),
    "t.txt": TEXT.replace(b",", b";"),
    "t.psv": TEXT.replace(b",", b"|"),
    "windows.csv": b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n"),
    "t.csv.gz": gzip.compress(TEXT),
    "t.csv.bz2": bz2.compress(TEXT),
    "t.csv.xz": lzma.compress(TEXT),
    "t.csv.zst": pyarrow.compress(TEXT, codec="zstd", asbytes=True),
    "t.zip": _zipped(TEXT),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_table_in_any_format_gives_the_same_error(name, table, tmp_path, monkeypatch, capsys):
    found = document("run", table(FORMATS[name], name), "--target", "price", *DROPPED, "--model", "ols")
    model = after_steps(LinearRegression(), "passthrough")
    expected = quietly(onefit.nested_cv, model, *mixed_houses(), random_state=0).estimate
    np.testing.assert_allclose(found["result"]["estimate"], expected, rtol=1e-9)
    names = {}
    exec(found["python"], names)
    np.testing.assert_allclose(names["result"].estimate, found["result"]["estimate"], **EXACT)


def test_parquet_keeps_its_categories_and_truth_values(tmp_path):
    frame_ = pd.read_csv(HOUSES)
    frame_["district"] = pd.Categorical(frame_["district"], ["west", "unused", "north", "east"])
    frame_["rooms"] = frame_["rooms"].astype("Int64")
    frame_.to_parquet(tmp_path / "t.parquet")
    found = document("run", tmp_path / "t.parquet", "--target", "price", *DROPPED, "--model", "ols")
    expected = document("run", HOUSES, "--target", "price", *DROPPED, "--model", "ols")
    np.testing.assert_allclose(found["result"]["estimate"], expected["result"]["estimate"], rtol=1e-12)
    names = {}
    exec(found["python"], names)
    np.testing.assert_allclose(names["result"].estimate, found["result"]["estimate"], **EXACT)


def test_decimal_commas_and_thousands_can_be_read(table):
    europe = pd.read_csv(HOUSES).assign(price=lambda t: t["price"] * 100)
    path = table(europe.to_csv(index=False, sep=";", decimal=","))
    found = document("run", path, "--target", "price", *DROPPED, "--model", "ols", "--decimal", ",")
    X, y = mixed_houses()
    model = after_steps(LinearRegression(), "passthrough")
    expected = quietly(onefit.nested_cv, model, X, 100 * y, random_state=0).estimate
    np.testing.assert_allclose(found["result"]["estimate"], expected, rtol=1e-9)


# ------------------------------------------------------------------------------------------------- unreadable files

BAD_FILES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n  \n", "is empty"),
    "header only": (b"x,y\n", "no rows"),
    "latin-1": ("x,y\n1,é\n".encode("latin-1"), "--encoding latin-1"),
    "utf-16": ("x,y\n1,2\n".encode("utf-16"), "--encoding utf-16"),
    "binary": (b"x,y\n\x00\x01,3\n", "zero bytes"),
    "long line": (b"x,y\n1,2\n1,2,3\n", "Line 3 of"),
    "short line": (b"x,y,z\n1,2,3\n1,2\n", "Line 3 of"),
    "index column": (b"x,y\n1,2,3\n2,3,4\n", "Line 2 of"),
    "twice": (b"x,x,y\n1,2,3\n", "'x' stands 2 times"),
    "no header": (b"1.5,2\n3,4\n", "not column names"),
    "open quote": (b'x,y\n1,"2\n3,4\n', "never closed"),
    "two rows": (b"x,y\n1,2\n2,5\n", "at least 3"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_unreadable_files_are_refused_with_a_remedy(name, table):
    content, cause = BAD_FILES[name]
    assert cause in refused(table(content))


@pytest.mark.parametrize(
    ("name", "content"), [("t.gz", b"no gzip"), ("t.xz", b"no xz"), ("t.zip", b"no zip"), ("t.parquet", b"PAR1 no")]
)
def test_broken_archives_are_refused(name, content, table):
    refused(table(content, name))


def test_one_column_is_left_out_as_it_and_several_as_them(table):
    frame = pd.DataFrame({"y": np.arange(60.0) ** 2, "x": np.arange(60.0) % 7})
    frame["day"] = pd.date_range("2020-01-01", periods=60).astype(str)
    assert "; leave it out: --drop 'day'" in refused(table(frame))
    assert "; leave them out: --drop 'day' --drop 'end'" in refused(table(frame.assign(end=frame["day"])))


def test_folders_and_absent_files_are_refused(tmp_path):
    assert "holds no Parquet, Arrow or CSV file" in refused(tmp_path)
    assert "There is no file" in refused(tmp_path / "no.csv")
    assert "There is no file" in refused(tmp_path / "no.parquet")


# ----------------------------------------------------------------------------------------------------- roles


def test_absent_columns_are_refused_with_the_nearest_name(table):
    path = table(frame(income=np.arange(40) % 7))
    assert "did you mean 'income'?" in refused(path, target="incone")
    assert "the columns are 'x', 'y', 'income'" in refused(path, target="qqq")
    assert "--drop: there is no column" in refused(path, "--drop", "nothing")
    assert "is given by --target and by --groups" in refused(path, "--groups", "y")


def test_targets_that_cannot_be_predicted_are_refused(table):
    n = 40
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(n)]
    path = table(frame(same=1, empty=np.nan, day=days, name=[f"n{i}" for i in range(n)]))
    assert "nothing to predict" in refused(path, target="same")
    assert "has no values" in refused(path, target="empty")
    assert "holds dates" in refused(path, target="day")
    assert "40 distinct values" in refused(path, target="name")


def test_rows_without_a_target_are_counted_and_left_out_on_request(table):
    data = frame()
    data.loc[[0, 5, 7], "y"] = np.nan
    path = table(data)
    assert "missing in 3 of 40 rows; give --drop-missing-target" in refused(path)
    found = document("run", path, "--target", "y", "--model", "ols", "--drop-missing-target")
    assert found["request"]["rows"] == 37
    kept = data.dropna()
    expected = quietly(onefit.nested_cv, onefit.PenalizedRegression(lam=0.0), kept[["x"]], kept["y"]).estimate
    np.testing.assert_allclose(found["result"]["estimate"], expected, rtol=1e-9)


def test_groups_and_weights_must_be_whole(table):
    data = frame(g=[None] + ["a", "b", "c"] * 13, w=["heavy"] * 40)
    assert "is missing in 1 row(s)" in refused(table(data), "--groups", "g", "--drop", "w")
    assert "must hold a number in every row" in refused(table(data), "--weights", "w", "--drop", "g")


# ----------------------------------------------------------------------------------------------------- columns


def test_dates_text_and_identifiers_are_refused_by_name(table):
    n = 40
    data = frame(
        when=[f"{1 + i % 28}/3/2021" for i in range(n)],
        clock=[f"{i % 24:02d}:15" for i in range(n)],
        words=[f"text {i}" for i in range(n)],
        customer_id=np.arange(n) * 7 + 100,
    )
    line = refused(table(data))
    for name, cause in [("when", "dates"), ("clock", "dates"), ("words", "free text"), ("customer_id", "identifier")]:
        assert f"{name!r}" in line
        assert cause in line
        assert f"--drop {name!r}" in line
    options = [option for name in ("when", "clock", "words", "customer_id") for option in ("--drop", name)]
    assert document("run", table(data), "--target", "y", *options, "--model", "ols")["request"]["columns"] == ["x"]


def test_dates_of_parquet_are_refused(tmp_path):
    day = datetime.date(2024, 1, 1)
    data = frame(stamp=pd.date_range("2024", periods=40), day=[day + datetime.timedelta(i) for i in range(40)])
    data["list"] = [[1, 2]] * 40
    data.to_parquet(tmp_path / "t.parquet")
    line = refused(tmp_path / "t.parquet")
    assert all(f"--drop {name!r}" in line for name in ("stamp", "day", "list"))


def test_an_identifier_that_is_asked_for_is_taken(table):
    data = frame(id=np.arange(40) + 1)
    assert "is an identifier" in refused(table(data))
    found = document("run", table(data), "--target", "y", "--features", "id", "--model", "ols")
    assert found["request"]["columns"] == ["id"]
    time = document("run", table(data.rename(columns={"id": "time"})), "--target", "y", "--model", "ols")
    assert any("'time' counts the rows" in note for note in time["notes"])


@pytest.mark.parametrize("name", ["paid", "acid", "fluid", "GRID", "Android"])
def test_words_that_end_in_id_are_no_identifiers(name, table):
    data = frame(**{name: np.arange(40) * 3 + 5})
    found = document("run", table(data), "--target", "y", "--model", "ols")
    assert found["request"]["columns"] == ["x", name]


@pytest.mark.parametrize("name", ["customerId", "CustomerID", "ID", "Customer ID", "row", "Unnamed: 0"])
def test_identifiers_by_name_can_be_kept(name, table):
    path = table(frame(**{name: np.arange(40) * 3 + 5}))
    line = refused(path)
    assert "is an identifier by its name" in line
    assert f"--keep {name!r}" in line
    found = document("run", path, "--target", "y", "--model", "ols", "--keep", name)
    assert found["request"]["columns"] == ["x", name]


def test_identifiers_that_rows_share_are_noted(table):
    data = frame(patient_id=np.arange(40) // 4 + 7, siteId=["a", "b"] * 20, price_index=np.arange(40) // 3)
    options = ["run", table(data), "--target", "y", "--model", "ols"]
    number, text = (note for note in document(*options)["notes"] if "identifier" in note)
    assert number == (
        "Column 'patient_id' is an identifier by its name, of 10 values, and is predicted from as a number: if rows of "
        "the same 'patient_id' belong together, --groups 'patient_id'; if its numbers are codes of levels, "
        "--categorical 'patient_id'; if it tells nothing of new rows, --drop 'patient_id'; --keep 'patient_id' takes "
        "it silently."
    )
    assert "'siteId'" in text
    assert "--categorical" not in text
    grouped = document(*options, "--groups", "patient_id", "--keep", "siteId")
    assert not any("identifier" in note for note in grouped["notes"])


def test_codes_are_levels_on_request(table):
    codes = np.array([1, 2, 10] * 14)[:40]
    data = frame(code=codes)
    path = table(data)
    found = document("run", path, "--target", "y", "--model", "ols", "--categorical", "code")
    assert found["request"]["categories"] == {"code": ["1", "10", "2"]}
    X = data[["x"]].assign(ten=(codes == 10) * 1.0, two=(codes == 2) * 1.0)
    model = onefit.PenalizedRegression(lam=0.0)
    expected = quietly(onefit.nested_cv, model, X, data["y"], n_folds=10, random_state=0).estimate
    np.testing.assert_allclose(found["result"]["estimate"], expected, rtol=1e-9)
    names = {}
    exec(found["python"], names)
    np.testing.assert_allclose(names["result"].estimate, found["result"]["estimate"], **EXACT)
    data.loc[0, "code"] = np.nan
    options = ["--categorical", "code", "--impute", "--folds", "4", "--repeats", "1"]
    found = document("run", table(data), "--target", "y", "--model", "ols", *options)
    assert found["request"]["categories"] == {"code": ["1", "10", "2"]}
    assert "is given by --drop and by --categorical" in refused(path, "--drop", "code", "--categorical", "code")
    assert "--categorical: there is no column 'cod'; did you mean 'code'?" in refused(path, "--categorical", "cod")


def test_a_target_of_two_numbers_is_classes_on_request(table):
    data = frame()
    path = table(data.assign(y=(data["x"] + data["y"] > 0) * 1))
    options = ["run", path, "--target", "y", "--folds", "5", "--repeats", "2"]
    numbers, classes = document(*options), document(*options, "--classes")
    note = "The target 'y' has two values, treated as numbers; --classes makes it a classification."
    assert (numbers["result"]["loss"], numbers["notes"].count(note)) == ("squared_error", 1)
    assert (classes["result"]["loss"], classes["notes"].count(note)) == ("zero_one", 0)
    names = {}
    exec(classes["python"], names)
    np.testing.assert_allclose(names["result"].estimate, classes["result"]["estimate"], **EXACT)


def test_the_share_of_wrong_classes_needs_classes(table):
    data = frame()
    path = table(data.assign(y=(data["x"] > 0) * 1))
    line = refused(path, "--loss", "zero_one")
    assert "the target 'y' holds numbers; give --classes" in line
    options = ["--loss", "zero_one", "--classes", "--folds", "4", "--repeats", "1"]
    assert document("run", path, "--target", "y", *options)["result"]["loss"] == "zero_one"


def test_rows_that_occur_more_than_once_are_counted(table):
    data = frame()
    path = table(pd.concat([data, data.iloc[[3, 3, 7]]]))
    found = document("run", path, "--target", "y", "--model", "ols")
    assert [note for note in found["notes"] if "more than once" in note] == [
        "5 rows occur more than once; if they are copies, remove them; if they are repeated measurements, "
        "give --groups."
    ]


def test_numbers_as_names_of_parquet_columns_are_names(tmp_path):
    data = frame().rename(columns={"x": 1, "y": 2})
    data.to_parquet(tmp_path / "t.parquet")
    found = document("run", tmp_path / "t.parquet", "--target", "2", "--model", "ols")
    assert found["request"]["columns"] == ["1"]
    names = {}
    exec(found["python"], names)
    np.testing.assert_allclose(names["result"].estimate, found["result"]["estimate"], **EXACT)


@pytest.mark.parametrize("model", ["ols", "ridge", "lasso"])
def test_a_rare_level_ends_no_model_of_columns(model, table):
    path = table(frame(town=["a", "b"] * 19 + ["a", "rare"]))
    found = document("run", path, "--target", "y", "--model", model, "--folds", "4", "--repeats", "1")
    assert found["result"]["estimate"] > 0
    assert found["result"]["route"] == "gram"
    assert 'handle_unknown="ignore"' in found["python"]


def test_a_rare_level_that_ends_a_spline_without_a_penalty_is_named(table):
    path = table(frame(town=["a", "b"] * 19 + ["a", "rare"]))
    line = refused(path, "--model", "spline", "--lambda", "0")
    assert "The rarest level is 'rare' of 'town', in 1 row(s): give --model ridge, or --drop 'town'." in line


def test_a_column_that_others_make_up_is_named_before_rare_levels(table):
    hour, minute = np.arange(40) % 7, np.arange(40) % 11
    town = ["a", "b"] * 18 + ["a", "rare"] * 2
    path = table(frame(town=town, hour=hour, minute=minute, time=100 * hour + minute))
    line = refused(path, "--model", "additive")
    assert re.search(r"'(hour|minute|time)' is a sum of other columns: give --drop '\1', or --model ridge\.", line)
    assert "rarest" not in line


def test_text_beside_more_columns_than_rows_keeps_a_fast_route(table):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(20, 400)), columns=[f"c{j}" for j in range(400)])
    path = table(wide.assign(town=["a", "b"] * 10, y=rng.normal(size=20)))
    found = document("run", path, "--target", "y")
    assert found["result"]["route"] != "refit"
    assert "the levels are those of all rows" in found["notes"][0]
    plan = onefit_cli(
        "plan",
        table(wide.mask(rng.random(wide.shape) < 0.01).assign(y=1.0 * np.arange(20)), "gaps.csv"),
        "--target",
        "y",
        "--impute",
    )
    assert "features of 20 rows, too many for their Gram matrices" in plan.stdout


def test_constant_columns_are_left_out_with_a_note(table):
    data = frame(one=1, word="same", none=np.nan)
    found = document("run", table(data), "--target", "y", "--model", "ols")
    assert found["request"]["columns"] == ["x"]
    assert [note.split()[1] for note in found["notes"]] == ["'one'", "'word'", "'none'"]
    assert "No column is left" in refused(table(data), "--drop", "x")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        (["1,234", "5", "12,345.5", "999"], "--thousands ,"),
        (["1,5", "2,25", "3", "0,1"], "--decimal ,"),
        (["1.234,5", "1.200,25", "3,5", "10"], "--thousands . --decimal ,"),
        (["1 234", "5", "12 345", "7"], "--thousands ' '"),
        (["1,234", "5,678", "2,345", "3,456"], "(or, if that is a decimal comma, --decimal ,)"),
        (["1", "2", "3", "?"], "--missing '?'"),
    ],
)
def test_numbers_in_other_notations_are_recognised(values, remedy, table):
    data = frame(price=values * 10)
    line = refused(table(data))
    assert "'price'" in line
    assert remedy in line


def test_categories_with_many_levels_are_free_text_unless_allowed(table):
    data = frame(80, town=[f"town {i % 35}" for i in range(80)])
    line = refused(table(data))
    assert "35 distinct values" in line
    assert "--max-levels 35" in line
    assert "--groups 'town'" in line
    assert (
        len(document("run", table(data), "--target", "y", "--max-levels", "40")["request"]["categories"]["town"]) == 35
    )


def test_infinite_numbers_are_refused(table):
    data = frame(z=np.arange(40) % 9.0)
    data.loc[3, "z"] = np.inf
    assert "'z' is infinite in 1 row(s)" in refused(table(data))


# ------------------------------------------------------------------------------------------------- missing values


def holes():
    data = pd.read_csv(HOUSES).drop(columns=["street", "trust"])
    data.loc[[1, 4, 6], "area"] = np.nan
    data.loc[[2, 4], "district"] = None
    return data


def test_missing_values_are_counted_by_column(table):
    line = refused(table(holes()), target="price")
    assert "missing in 4 of 80 rows: 'area' 3, 'district' 2; give --impute" in line


def test_imputation_is_done_anew_in_every_training_set(table):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    path = table(holes())
    options = ["--target", "price", "--impute", "--model", "ols", "--folds", "4", "--repeats", "1"]
    found = document("run", path, *options)
    data = pd.read_csv(path)
    data["garden"] = data["garden"].map(str)
    encoder = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    coded = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), ["area", "rooms", "age"]), (coded, ["district", "garden"])
    )
    model = make_pipeline(columns, LinearRegression())
    X, y = data.drop(columns="price"), data["price"].to_numpy()
    expected = quietly(onefit.nested_cv, model, X, y, n_folds=4, n_repeats=1, random_state=0)
    np.testing.assert_allclose(found["result"]["estimate"], expected.estimate, rtol=1e-12)
    assert found["result"]["exactness"] == "exact"
    assert found["result"]["route"] == "gram"
    assert sum("anew in every training set" in note for note in found["notes"]) == 2
    frozen = document("run", path, *options, "--freeze")
    assert not any("anew" in note for note in frozen["notes"])
    assert frozen["result"]["exactness"] == "given the transformers"
    assert any("given the imputation" in note for note in frozen["notes"])


@pytest.mark.parametrize("value", ["yes", 1])
def test_one_value_or_blank_is_missing_and_not_constant(value, table):
    path = table(frame(extra=[value, None] * 20))
    shown = "'yes'" if value == "yes" else "1.0"
    line = refused(path)
    assert "missing in 20 of 40 rows: 'extra' 20; give --impute" in line
    assert f"'extra' is {shown} or missing: if blank means no (or zero), fill it in" in line
    found = document("run", path, "--target", "y", "--model", "ols", "--impute")
    assert found["request"]["columns"] == ["x"]
    note = f"Column 'extra' is {shown} or missing and was left out: if blank means no (or zero), fill it in."
    assert note in found["notes"]


def test_additive_models_and_comparisons_impute_too(table):
    path = table(holes())
    options = ["--target", "price", "--impute", "--folds", "3", "--repeats", "1"]
    alone = document("run", path, *options, "--model", "additive")["result"]["estimate"]
    models = document("compare", path, *options, "--model", "ols", "--model", "additive")["comparison"]["results"]
    np.testing.assert_allclose(models["additive"]["estimate"], alone, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------- anything

CELLS = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-9, 9).map(lambda number: f"{number:.3g}"),
    st.sampled_from(
        ["", "NA", "a", "b", "True", "False", "1,5", '"', '"q"', "2020-01-01", "inf", "é", "\x1b[1m", "1e400"]
    ),
)
NAMES = st.sampled_from(["x", "y", "y ", "id", "", "<script>", "[bold]", "a,b", "1", "Ω"])


@st.composite
def texts(draw):
    """Tables of few lines, some of them broken."""
    delimiter = draw(st.sampled_from(",;\t"))
    width = draw(st.integers(1, 4))
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique=draw(st.booleans())))
    header = delimiter.join(names if "y" in names else [*names[:-1], "y"])
    columns = [draw(st.sampled_from([CELLS, st.integers(-9, 9).map(str), st.sampled_from("ab")])) for _ in range(width)]
    rows = [delimiter.join(draw(cell) for cell in columns) for _ in range(draw(st.integers(0, 14)))]
    extra = draw(st.sampled_from(["", delimiter, "\n\n", "x"]))
    return "\n".join([header, *rows]) + extra


@given(text=texts(), model=st.sampled_from(["ridge", "ols", "spline"]), impute=st.booleans())
def test_no_table_gives_a_traceback(text, model, impute):
    options = ["run", "-", "--target", "y", "--model", model, "--json", "-", "--folds", "3", "--repeats", "1"]
    outcome = onefit_cli(*options, *(["--impute"] if impute else []), input=text.encode())
    assert outcome.exit_code in (0, 1, 2)
    assert "Traceback" not in outcome.output
    assert "internal error" not in outcome.output
    assert "\x1b" not in outcome.output
    if outcome.exit_code == 0:
        assert json.loads(outcome.stdout)["result"]["estimate"] is not None
