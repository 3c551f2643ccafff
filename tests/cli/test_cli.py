"""The command line computes what the library computes, says it, and writes it; its Python repeats it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import forked
import onefit
from helpers import quietly
from onefit.cli.app import app
from onefit.cli.demo import MODELS as DEMO_MODELS
from onefit.cli.texts import as_options

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ROOT / "tests" / "data" / "cli" / "houses.csv"
EXACT = {"rtol": 1e-12}
DROPPED = ["--drop", "street", "--drop", "trust"]


def onefit_cli(*arguments, **options):
    """What a command prints and returns."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def document(*arguments):
    """The JSON of a command that goes well."""
    outcome = onefit_cli(*arguments, "--json", "-", "--quiet")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def houses(*names):
    """Columns of the table, its categories coded by hand."""
    table = pd.read_csv(HOUSES)
    X = table[["area", "rooms", "age"]].astype(float)
    X["district=north"] = (table["district"] == "north").astype(float)
    X["district=west"] = (table["district"] == "west").astype(float)
    X["garden=True"] = table["garden"].astype(float)
    return (X, table["price"].to_numpy(), *(table[name].to_numpy() for name in names))


def mixed_houses():
    """Columns of the table as they are, truth values as text, and the prices."""
    table = pd.read_csv(HOUSES)
    X = table[["area", "rooms", "age", "district", "garden"]].astype({"area": float, "rooms": float, "age": float})
    return X.assign(garden=table["garden"].map(str)), table["price"].to_numpy()


def after_steps(last, numbers=None):
    """A model of the table behind the steps that the command line sets before it."""
    drop = "first" if isinstance(last, LinearRegression) else None
    encoder = OneHotEncoder(drop=drop, handle_unknown="ignore", sparse_output=False)
    scaler = StandardScaler() if numbers is None else numbers
    columns = make_column_transformer((scaler, ["area", "rooms", "age"]), (encoder, ["district", "garden"]))
    return make_pipeline(columns, last)


def estimate_of(script, folder, monkeypatch, name="result"):
    """What a script computes, run in a folder."""
    monkeypatch.chdir(folder)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script, names)
    return names[name]


# ------------------------------------------------------------------------------------------------------------ run


def centred_kernel(**parameters):
    kernel = KernelRidge(kernel="rbf", **parameters)
    return after_steps(TransformedTargetRegressor(kernel, transformer=StandardScaler()))


RIDGE = make_pipeline(StandardScaler(), onefit.PenalizedRegression(lam="gcv"))
CASES = {
    "ridge": ([], after_steps(RidgeCV(np.logspace(-2, 5, 29)))),
    "ridge at a penalty": (["--lambda", "3"], after_steps(Ridge(alpha=3.0))),
    "ridge by reml": (
        ["--tuned", "reml", "--folds", "4", "--repeats", "1"],
        after_steps(onefit.PenalizedRegression(lam="reml")),
    ),
    "ols": (["--model", "ols"], after_steps(LinearRegression(), "passthrough")),
    "lasso": (
        ["--model", "lasso", "--lambda", "0.5", "--folds", "4", "--repeats", "1"],
        after_steps(Lasso(alpha=0.5, max_iter=10000)),
    ),
    "kernel": (
        ["--model", "kernel", "--lambda", "0.1", "--folds", "4", "--repeats", "1"],
        centred_kernel(alpha=0.1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_run_gives_the_numbers_of_nested_cv(name):
    options, estimator = CASES[name]
    found = document("run", HOUSES, "--target", "price", *DROPPED, *options)["result"]
    X, y = mixed_houses()
    repeats = {"n_folds": 4, "n_repeats": 1} if "--repeats" in options else {}
    expected = quietly(onefit.nested_cv, estimator, X, y, random_state=0, **repeats)
    np.testing.assert_allclose(
        [found["estimate"], *found["interval"]], [expected.estimate, *expected.interval], **EXACT
    )


def test_splines_get_dummies():
    found = document("run", HOUSES, "--target", "price", *DROPPED, "--model", "spline")["result"]
    expected = quietly(onefit.nested_cv, onefit.SplineRegression(lam="reml"), *houses(), random_state=0)
    np.testing.assert_allclose(found["estimate"], expected.estimate, **EXACT)


def test_groups_weights_loss_rule_and_level_reach_nested_cv():
    options = ["--groups", "street", "--weights", "trust", "--loss", "huber:20", "--interval", "bates"]
    options += ["--level", "0.9", "--folds", "5", "--repeats", "3", "--seed", "4", "--model", "ols"]
    found = document("run", HOUSES, "--target", "price", *options)["result"]
    X, y, street, trust = houses("street", "trust")
    expected = quietly(
        onefit.nested_cv,
        LinearRegression(),
        X,
        y,
        groups=street,
        sample_weight=trust,
        loss=onefit.losses.huber(20.0),
        interval="bates",
        confidence_level=0.9,
        n_folds=5,
        n_repeats=3,
        random_state=4,
    )
    np.testing.assert_allclose(
        [found["estimate"], *found["interval"]], [expected.estimate, *expected.interval], **EXACT
    )


def test_factors_of_an_additive_model_are_its_columns_of_zeros_and_ones():
    found = document("run", HOUSES, "--target", "price", *DROPPED, "--model", "additive", "--folds", "5")
    assert "onefit.factor('district', levels=['east', 'north', 'west'])" in found["python"]
    X, y = houses()
    terms = [onefit.smooth("area"), onefit.linear("rooms"), onefit.smooth("age")]
    terms += [onefit.linear(name) for name in X.columns[3:]]
    expected = quietly(onefit.nested_cv, onefit.AdditiveModel(terms), X, y, n_folds=5, random_state=0)
    np.testing.assert_allclose(found["result"]["estimate"], expected.estimate, rtol=1e-9)


def test_text_targets_are_classes(tmp_path):
    table = pd.read_csv(HOUSES)
    table["dear"] = np.where(table["price"] > table["price"].median(), "yes", "no")
    table.drop(columns=["price", "street"]).to_csv(tmp_path / "t.csv", index=False)
    found = document("run", tmp_path / "t.csv", "--target", "dear", "--drop", "trust", "--repeats", "2")["result"]
    X, _ = mixed_houses()
    model = after_steps(RidgeClassifierCV(np.logspace(-3, 5, 25)))
    expected = quietly(onefit.nested_cv, model, X, table["dear"].to_numpy(str), n_repeats=2, random_state=0)
    assert found["loss"] == "zero_one"
    np.testing.assert_allclose(found["estimate"], expected.estimate, **EXACT)
    refused = onefit_cli("run", tmp_path / "t.csv", "--target", "dear", "--model", "ols")
    assert refused.exit_code == 1
    assert "use --model ridge, --model logistic, or a factory" in refused.stderr


def test_fpcr_takes_the_columns_in_order(tmp_path):
    sim = onefit.datasets.make_signal(60, random_state=0)
    table = pd.DataFrame(sim.X, columns=[f"t{j}" for j in range(sim.X.shape[1])])
    table.assign(y=sim.y).to_csv(tmp_path / "curves.csv", index=False)
    options = ["--target", "y", "--model", "fpcr", "--lambda", "0.001", "--folds", "5", "--repeats", "2"]
    found = document("run", tmp_path / "curves.csv", *options)["result"]
    X = pd.read_csv(tmp_path / "curves.csv").drop(columns="y")
    y = pd.read_csv(tmp_path / "curves.csv")["y"]
    model = onefit.FPCR(lam=0.001)
    expected = quietly(onefit.nested_cv, model, X, y, n_folds=5, n_repeats=2, random_state=0)
    np.testing.assert_allclose(found["estimate"], expected.estimate, **EXACT)


def test_factories_of_the_user_come_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "mine_for_cli.py").write_text(
        "from sklearn.linear_model import LinearRegression\n"
        "def factory():\n    return LinearRegression()\n"
        "ready = LinearRegression()\n"
        "def broken():\n    raise RuntimeError('no data')\n"
        "nothing = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    X, y = houses()
    expected = quietly(onefit.nested_cv, LinearRegression(), X, y).estimate
    for attribute in ("factory", "ready", "LinearRegression"):
        found = document("run", HOUSES, "--target", "price", *DROPPED, "--model", f"mine_for_cli:{attribute}")
        np.testing.assert_allclose(found["result"]["estimate"], expected, **EXACT)
        repeated = estimate_of(found["python"], tmp_path, monkeypatch)
        np.testing.assert_allclose(repeated.estimate, expected, **EXACT)
    for attribute, cause in [("broken", "no data"), ("nothing", "no fit and predict"), ("absent", "has no")]:
        refused = onefit_cli("run", HOUSES, "--target", "price", "--model", f"mine_for_cli:{attribute}", *DROPPED)
        assert refused.exit_code == 1
        assert cause in refused.stderr


# ----------------------------------------------------------------------------------------------- curve and compare


def test_curve_gives_the_numbers_of_error_curve():
    found = document("curve", HOUSES, "--target", "price", *DROPPED, "--lambda", "0.01:100:7", "--folds", "5")["curve"]
    X, y = mixed_houses()
    model = after_steps(Ridge())
    path = {"param_name": "ridge__alpha", "param_range": np.geomspace(0.01, 100, 7)}
    expected = quietly(onefit.error_curve, model, X, y, n_folds=5, random_state=0, **path)
    np.testing.assert_allclose(found["estimate"], expected.estimate, **EXACT)
    np.testing.assert_allclose(found["difference"]["low"], expected.difference.low, rtol=1e-9, atol=1e-9)
    assert found["selected"]["one_se"] == expected.select("one_se")
    assert found["indistinguishable"] == list(expected.indistinguishable())


@pytest.mark.parametrize(
    ("span", "told"),
    [
        ("1e-6:1e5:12", ["0.000001", "0.0001", "0.1", "1", "1,000", "100,000"]),
        ("1e-9:1:10", ["1.000e-09", "1.000e-04", "1.000e-01", "1.000e+00"]),
    ],
)
def test_values_along_a_curve_have_one_form(span, told):
    options = ["--lambda", span, "--folds", "5", "--repeats", "1"]
    output = onefit_cli("curve", HOUSES, "--target", "price", *DROPPED, *options).stdout
    table = output[output.index("from the best  ") :].partition("\n\n")[0]
    column = [line.split()[0] for line in table.splitlines()[1:]]
    assert [text for text in column if text in told] == told
    assert len({"e" in text for text in column}) == 1


def test_curve_takes_any_parameter_by_its_short_name():
    options = ["--model", "kernel", "--param", "gamma", "--values", "0.01,0.1,1", "--simpler", "smaller"]
    found = document("curve", HOUSES, "--target", "price", *DROPPED, *options, "--folds", "4", "--repeats", "1")
    assert found["curve"]["param_name"] == "transformedtargetregressor__regressor__gamma"
    X, y = mixed_houses()
    model = centred_kernel(gamma=0.1)
    expected = quietly(onefit.nested_cv, model, X, y, n_folds=4, n_repeats=1, random_state=0).estimate
    np.testing.assert_allclose(found["curve"]["estimate"][1], expected, **EXACT)


def test_run_sets_the_curve_on_the_folds_of_the_result(tmp_path):
    options = ["--lambda", "0.5:2:3", "--folds", "6", "--repeats", "4", "--json", tmp_path / "r.json"]
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, *options)
    assert outcome.exit_code == 0
    found = json.loads((tmp_path / "r.json").read_text())
    X, y = mixed_houses()
    model = after_steps(Ridge(alpha=1.0))
    expected = quietly(onefit.nested_cv, model, X, y, n_folds=6, n_repeats=4, random_state=0)
    np.testing.assert_allclose(found["curve"]["estimate"][1], expected.estimate, rtol=1e-9)


def test_compare_gives_the_numbers_of_compare():
    models = ["--model", "ridge", "--model", "ols", "--model", "additive"]
    found = document("compare", HOUSES, "--target", "price", *DROPPED, *models, "--folds", "5")["comparison"]
    X, y = houses()
    terms = [onefit.smooth("area"), onefit.linear("rooms"), onefit.smooth("age")]
    terms += [onefit.linear(name) for name in X.columns[3:]]
    estimators = {"ridge": RIDGE, "ols": LinearRegression(), "additive": onefit.AdditiveModel(terms)}
    expected = quietly(onefit.compare, estimators, X, y, n_folds=5, random_state=0)
    figures = [[row["estimate"], row["low"], row["high"]] for row in found["differences"]]
    np.testing.assert_allclose(figures, expected.differences[["estimate", "low", "high"]].to_numpy(), rtol=1e-9)
    assert [row["model"] for row in found["models"]] == list(expected.models.index)


# ------------------------------------------------------------------------------------------ the Python that repeats it


@pytest.mark.parametrize(
    "options",
    [
        [*DROPPED],
        [*DROPPED, "--model", "additive", "--folds", "5", "--tuned", "gcv"],
        ["--groups", "street", "--weights", "trust", "--model", "ols", "--loss", "pinball:0.8", "--folds", "5"],
        [*DROPPED, "--drop", "rooms", "--lambda", "2", "--level", "0.8"],
        ["--features", "area", "--features", "age", "--model", "spline", "--lambda", "5"],
    ],
    ids=["ridge", "additive", "groups", "fixed", "spline"],
)
def test_the_python_repeats_the_estimate(options, tmp_path, monkeypatch):
    (tmp_path / "houses.csv").write_bytes(HOUSES.read_bytes())
    monkeypatch.chdir(tmp_path)
    found = document("run", "houses.csv", "--target", "price", *options)
    again = estimate_of(found["python"], tmp_path, monkeypatch)
    expected = [found["result"]["estimate"], *found["result"]["interval"]]
    np.testing.assert_allclose([again.estimate, *again.interval], expected, **EXACT)


def test_the_python_of_a_difficult_table_runs_by_itself(tmp_path, monkeypatch):
    table = pd.read_csv(HOUSES).drop(columns=["street", "trust"])
    table.loc[[3, 9], "area"] = np.nan
    table.loc[[5], "district"] = None
    table.loc[[7], "price"] = np.nan
    table = table.rename(columns={"area": "it's <b>", "district": 'a "quoted" name'})
    table.to_csv(tmp_path / "odd.csv.gz", index=False, sep=";", decimal=",", encoding="latin-1")
    options = ["--decimal", ",", "--encoding", "latin-1", "--impute", "--drop-missing-target", "--repeats", "2"]
    found = document("run", tmp_path / "odd.csv.gz", "--target", "price", *options, "--lambda", "1", "--folds", "4")
    again = estimate_of(found["python"], tmp_path, monkeypatch)
    np.testing.assert_allclose(again.estimate, found["result"]["estimate"], **EXACT)
    assert found["result"]["route"] == "gram"


@pytest.mark.parametrize("command", ["curve", "compare"])
def test_the_python_of_curves_and_comparisons_repeats_them(command, tmp_path, monkeypatch):
    options = {"curve": ["--lambda", "0.1:10:3"], "compare": ["--model", "ridge", "--model", "ols"]}[command]
    found = document(command, HOUSES, "--target", "price", *DROPPED, *options, "--folds", "4")
    again = estimate_of(found["python"], tmp_path, monkeypatch, {"compare": "comparison"}.get(command, command))
    if command == "curve":
        np.testing.assert_allclose(again.estimate, found["curve"]["estimate"], **EXACT)
    else:
        expected = [row["estimate"] for row in found["comparison"]["differences"]]
        np.testing.assert_allclose(again.differences["estimate"], expected, **EXACT)


# ------------------------------------------------------------------------------------------------------------ output


def test_the_first_line_is_the_answer_in_one_sentence():
    options = ["run", HOUSES, "--target", "price", *DROPPED, "--folds", "5", "--repeats", "3"]
    outcome, found = onefit_cli(*options), document(*options)["result"]
    estimate, low, high = (f"{value:,.0f}" for value in (found["estimate"], *found["interval"]))
    answer = f"Expect a squared error of about {estimate}, 95% interval {low} to {high}"
    estimate, low, high = (f"{found['r2'][key]:.3f}" for key in ("estimate", "low", "high"))
    assert outcome.stdout.splitlines()[0] == f"{answer}; R2 {estimate} ({low} to {high})"
    assert "\x1b" not in outcome.stdout
    for rule in onefit.nested_cv(LinearRegression(), *houses(), n_folds=5, n_repeats=3, random_state=0).intervals.index:
        assert re.search(rf"^{rule}\b", outcome.stdout, re.MULTILINE)


def test_results_go_to_standard_output_and_the_rest_to_standard_error():
    options = ["run", HOUSES, "--target", "price", *DROPPED, "--model", "ols"]
    loud, quiet = onefit_cli(*options), onefit_cli(*options, "--quiet")
    assert loud.stdout == quiet.stdout
    assert loud.stderr.startswith("note: Categorical: 'district', 'garden'.")
    assert quiet.stderr == ""


def test_warnings_of_the_library_are_one_line_each():
    options = ["--interval", "bates", "--folds", "5", "--repeats", "1", "--model", "ols", "--quiet"]
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, *options)
    assert outcome.exit_code == 0
    assert [line[:9] for line in outcome.stderr.splitlines()] == ["warning: "]
    assert "one random partition" in outcome.stderr


def test_messages_of_the_library_name_options_of_the_command():
    options = ["--interval", "bates", "--folds", "5", "--repeats", "1", "--model", "ols", "--quiet"]
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, *options)
    assert "--interval covariance" in outcome.stderr
    wrong = onefit_cli(
        "run", HOUSES, "--target", "price", *DROPPED, "--model", "lasso", "--route", "onestep", "--quiet"
    )
    assert wrong.exit_code == 1
    assert "--route refit" in wrong.stderr


def test_an_option_that_counts_once_is_not_given_twice():
    twice = onefit_cli("run", HOUSES, "--target", "price", "--scoring", "r2", "--scoring=neg_mean_absolute_error")
    assert twice.exit_code == 2
    assert twice.stderr == (
        "onefit: --scoring is given 2 times and counts once; several values go between commas; see onefit run --help.\n"
    )
    assert "--target is given 2 times" in onefit_cli("run", HOUSES, "--target", "a", "--target", "b").stderr
    assert "counts once" not in onefit_cli("run", HOUSES, "--drop", "trust", "--drop", "street", "--quiet").stderr


def test_keywords_with_numbers_and_reasons_of_routes_are_options_too():
    assert as_options('use n_folds=10. Or n_repeats="auto", other=3') == "use --folds 10. Or --repeats auto, other=3"
    assert as_options("TimeBlocks(n_blocks=10) needs 30; give n_blocks=4") == "--folds 10 needs 30; give --folds 4"
    assert as_options("use loss='brier', where smaller is better") == "use --loss brier, where smaller is better"
    assert "--freeze" in as_options("; GridSearchCV over Ridge, with few splits, is found without")
    models = ["--model", "ols", "--model", "additive", "--quiet"]
    outcome = onefit_cli("compare", HOUSES, "--target", "price", *DROPPED, *models)
    reason = next(line for line in outcome.stdout.splitlines() if line.startswith("Why this route"))
    assert "--folds auto took" in reason
    assert "n_folds" not in reason


def test_r2_close_to_one_has_the_digits_that_tell_it_from_one(tmp_path):
    x = np.linspace(0, 1, 40)
    y = x + 1e-4 * np.random.default_rng(0).normal(size=40)
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    first = onefit_cli("run", tmp_path / "t.csv", "--target", "y", "--model", "ols").stdout.splitlines()[0]
    assert re.search(r"R2 0\.9999\d+ \(0\.9999\d+ to 0\.9999\d+\)$", first)


def test_compare_calls_no_model_best_that_is_not_told_apart(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(-1, 1, size=(60, 2)), columns=["a", "b"])
    table["line"] = table["a"] + 0.1 * rng.normal(size=60)
    table["wave"] = np.cos(3 * table["a"]) + 0.05 * rng.normal(size=60)
    table.to_csv(tmp_path / "t.csv", index=False)
    models = ["--model", "ols", "--model", "additive", "--folds", "5", "--repeats", "10", "--quiet"]
    for target, other in [("line", "wave"), ("wave", "line")]:
        options = ["compare", tmp_path / "t.csv", "--target", target, "--drop", other, *models]
        lines, found = onefit_cli(*options).stdout.splitlines(), document(*options)["comparison"]
        difference, best = found["differences"][0], found["models"][0]["model"]
        differs = difference["low"] > 0 or difference["high"] < 0
        assert differs == (target == "wave")
        other_model = {"ols": "additive", "additive": "ols"}[best]
        verdict = (
            f"{best} predicts best: expect"
            if differs
            else f"{best} has the smallest error, but is not told apart from {other_model}: expect"
        )
        assert lines[0].startswith(verdict)
        assert lines[1].startswith("The best constant has")
        assert lines[2] == "The best was chosen on the same rows, so its interval covers less often than it says."


def test_json_is_valid_and_says_what_was_asked(tmp_path):
    path = tmp_path / "out.json"
    options = ["--target", "price", *DROPPED, "--model", "spline", "--folds", "n", "--json", path]
    outcome = onefit_cli("run", HOUSES, *options)
    assert outcome.exit_code == 0

    def refuse(word):
        raise AssertionError(word)

    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert found["schema"] == 1
    assert (found["command"], found["request"]["target"], found["request"]["rows"]) == ("run", "price", 80)
    assert found["request"]["categories"] == {"district": ["east", "north", "west"], "garden": ["False", "True"]}
    assert found["versions"]["onefit"] == onefit.__version__
    assert found["request"]["command_line"].startswith(f"onefit run {HOUSES} --target price")
    assert found["result"]["intervals"][1]["rule"] == "bates"
    assert found["result"]["intervals"][1]["low"] is None


def test_a_header_with_a_script_is_text_in_the_report(tmp_path):
    table = pd.read_csv(HOUSES).drop(columns=["street", "trust", "district", "garden"])
    name = "<script>alert(1)</script>"
    table.rename(columns={"area": name, "price": f"{name} y"}).to_csv(tmp_path / "bad.csv", index=False)
    report = tmp_path / "r.html"
    outcome = onefit_cli("run", tmp_path / "bad.csv", "--target", f"{name} y", "--report", report)
    assert outcome.exit_code == 0, outcome.stderr
    page = report.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_control_characters_of_a_header_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "t.csv").write_text("a\x1b[2J,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(30)))
    outcome = onefit_cli("run", tmp_path / "t.csv", "--target", "nope")
    assert outcome.exit_code == 1
    assert "\x1b" not in outcome.output


# ------------------------------------------------------------------------------------------------------- files


def test_nothing_is_overwritten_without_force(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("mine")
    options = ["run", HOUSES, "--target", "price", *DROPPED, "--model", "ols", "--json", path]
    with monkeypatch.context() as patch:
        patch.setattr(onefit, "nested_cv", lambda *a, **k: pytest.fail("computed before the check"))
        refused = onefit_cli(*options)
    assert refused.exit_code == 1
    assert "exists and is not overwritten" in refused.stderr
    assert path.read_text() == "mine"
    assert onefit_cli(*options, "--force").exit_code == 0
    assert json.loads(path.read_text())["schema"] == 1
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("place", ["absent/out.json", "."])
def test_places_that_cannot_be_written_are_refused_before_computing(place, tmp_path, monkeypatch):
    monkeypatch.setattr(onefit, "nested_cv", lambda *a, **k: pytest.fail("computed before the check"))
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, "--json", tmp_path / place)
    assert outcome.exit_code == 1
    assert len(outcome.stderr.splitlines()) == 1


def test_files_are_written_though_nobody_reads_the_output(tmp_path, monkeypatch):
    def closed(answer):
        raise BrokenPipeError

    monkeypatch.setattr("onefit.cli.showing.show_answer", closed)
    path = tmp_path / "out.json"
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, "--model", "ols", "--json", path)
    assert outcome.exit_code == 141
    assert json.loads(path.read_text())["command"] == "run"


def test_one_output_that_fails_does_not_cost_the_other(tmp_path, monkeypatch):
    def fail(answer, command):
        raise onefit.errors.OneFitError("no space left")

    both = ["--json", tmp_path / "out.json", "--report", tmp_path / "out.html"]
    options = ["run", HOUSES, "--target", "price", *DROPPED, "--model", "ols", *both]
    for name, kept in [("write_json", "out.html"), ("write_report_of", "out.json")]:
        with monkeypatch.context() as patch:
            patch.setattr(f"onefit.cli.document.{name}", fail)
            outcome = onefit_cli(*options)
        assert outcome.exit_code == 1
        assert outcome.stdout.startswith("Expect a squared error")
        assert outcome.stderr.splitlines()[-1] == "onefit: no space left"
        assert [each.name for each in tmp_path.iterdir()] == [kept]
        (tmp_path / kept).unlink()


def test_a_file_name_that_is_not_utf8_loses_no_output(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"h\xff.csv")
    with open(path, "wb") as file:
        file.write(HOUSES.read_bytes())
    both = ["--json", tmp_path / "out.json", "--report", tmp_path / "out.html"]
    outcome = onefit_cli("run", os.fsdecode(path), "--target", "price", *DROPPED, "--model", "ols", *both)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["request"]["data"] == os.fsdecode(path)
    assert "h\\udcff.csv" in (tmp_path / "out.html").read_text("utf-8")
    assert json.loads(onefit_cli("run", os.fsdecode(path), "--target", "price", *DROPPED, "--json", "-").stdout)


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_interrupt_while_writing_says_what_was_written(force, tmp_path, monkeypatch):
    def stop(answer, command):
        raise KeyboardInterrupt

    report, path = tmp_path / "out.html", tmp_path / "out.json"
    if force:
        report.write_text("old")
        path.write_text("old")
    monkeypatch.setattr("onefit.cli.document.write_report_of", stop)
    both = ["--json", path, "--report", report, *force]
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, "--model", "ols", *both)
    assert outcome.exit_code == 130
    assert outcome.stderr.splitlines()[-1] == f"onefit: stopped; {str(path)!r} was written"
    assert json.loads(path.read_text())["schema"] == 1


def test_the_table_itself_is_never_overwritten(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(HOUSES.read_bytes())
    outcome = onefit_cli("run", path, "--target", "price", "--json", path, "--force")
    assert outcome.exit_code == 1
    assert path.read_bytes() == HOUSES.read_bytes()
    both = tmp_path / "x"
    assert "same file" in onefit_cli("run", path, "--target", "price", "--json", both, "--report", both).stderr


# ------------------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "x.csv"],
        ["run", "x.csv", "--target", "y", "--lambda", "5:1:3"],
        ["run", "x.csv", "--target", "y", "--lambda", "some"],
        ["run", "x.csv", "--target", "y", "--lambda", "1", "--tuned", "gcv"],
        ["run", "x.csv", "--target", "y", "--tuned", "aic"],
        ["run", "x.csv", "--target", "y", "--folds", "2"],
        ["run", "x.csv", "--target", "y", "--level", "95"],
        ["run", "x.csv", "--target", "y", "--loss", "cubic"],
        ["run", "x.csv", "--target", "y", "--interval", "wald"],
        ["run", "x.csv", "--target", "y", "--delimiter", "::"],
        ["run", "x.csv", "--target", "y", "--jobs", "0"],
        ["curve", "x.csv", "--target", "y", "--param", "alpha"],
        ["curve", "x.csv", "--target", "y", "--lambda", "3"],
        ["compare", "x.csv", "--target", "y", "--model", "ridge"],
        ["compare", "x.csv", "--target", "y", "--model", "ridge", "--model", "ridge"],
        ["plan", "--rows", "10"],
        ["plan", HOUSES],
        ["plan", HOUSES, "--target", "price", "--rows", "10", "--columns", "2"],
        ["unknown"],
    ],
)
def test_wrong_usage_ends_with_two(arguments):
    outcome = onefit_cli(*arguments)
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--model", "ols", "--lambda", "1"], "ols has no penalty"),
        (["--model", "ols", "--lambda", "1:10:3"], "ols has no penalty"),
        (["--model", "lasso", "--tuned", "gcv"], "by none of these"),
        (["--model", "additive", "--tuned", "loo"], "by reml or gcv"),
        (["--model", "fpcr"], "'district' is categorical"),
        (["--model", "no.such:thing"], "cannot be imported"),
        (["--folds", "500"], "from 3 to 80"),
    ],
)
def test_what_cannot_be_computed_ends_with_one_and_one_line(options, cause):
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, *options)
    assert outcome.exit_code == 1
    last = outcome.stderr.splitlines()[-1]
    assert last.startswith("onefit: ")
    assert cause in last
    assert "Traceback" not in outcome.output


def test_unexpected_exceptions_are_one_line_and_debug_shows_the_traceback(monkeypatch):
    def fail(*arguments, **keywords):
        raise ZeroDivisionError("of our own making")

    monkeypatch.setattr(onefit, "nested_cv", fail)
    options = ["run", HOUSES, "--target", "price", *DROPPED, "--quiet"]
    short, long = onefit_cli(*options), onefit_cli(*options, "--debug")
    assert (short.exit_code, long.exit_code) == (1, 1)
    assert short.stderr.count("\n") == 1
    assert "internal error: ZeroDivisionError: of our own making; please report it" in short.stderr
    assert "Traceback" in long.stderr


def test_interrupts_end_with_130(monkeypatch):
    def stop(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(onefit, "nested_cv", stop)
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED)
    assert outcome.exit_code == 130
    assert outcome.stdout == ""


def test_what_was_complete_at_an_interrupt_is_printed(monkeypatch):
    real, partial = onefit.nested_cv, onefit.errors.InterruptedWarning

    def stopped(*arguments, **keywords):
        warnings.warn("stopped by the user after 3 of 20 repeats", partial, stacklevel=2)
        return real(*arguments, **keywords)

    monkeypatch.setattr(onefit, "nested_cv", stopped)
    outcome = onefit_cli("run", HOUSES, "--target", "price", *DROPPED, "--model", "ols")
    assert outcome.exit_code == 130
    assert outcome.stdout.startswith("Expect a squared error")
    assert "warning: stopped by the user after 3 of 20 repeats" in outcome.stderr


# ------------------------------------------------------------------------------------------------- other commands


def test_plan_prints_the_plan():
    outcome = onefit_cli("plan", "--rows", 500, "--columns", 21, "--folds", 10, "--repeats", 200, "--values", 5)
    assert outcome.exit_code == 0
    assert outcome.stdout.strip() == str(onefit.plan(500, 21, 10, 200, 5))
    assert onefit_cli("plan", "--rows", 5, "--columns", 2, "--folds", 10).exit_code == 1


def test_plan_of_more_than_a_machine_holds_says_so_in_words():
    outcome = onefit_cli("plan", "--rows", "1e12", "--columns", 10)
    assert outcome.exit_code == 0
    assert "n=1,000,000,000,000 rows" in outcome.stdout
    assert "more than a thousand years" in outcome.stdout  # by systems of 1e11 rows
    assert "more than a million times faster" in outcome.stdout
    assert not re.search(r"\d{4} ?(h|days|years)", outcome.stdout)
    assert "1,000,000,000,000 rows of 10 numbers take 80 TB, and this machine has" in outcome.stderr
    assert "take fewer columns" in onefit_cli("plan", "--rows", 1000, "--columns", "1e11").stderr
    assert onefit_cli("plan", "--rows", 500, "--columns", 10).stderr == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0", "is too small; give at least 3"),
        ("-5", "is too small; give at least 3"),
        ("1.5e1.5", "is no number; give a whole one"),
        ("nan", "is no number; give a whole one"),
        ("3.5", "is not whole; give a number such as 1000"),
        ("1e300", "is more than any table has; give at most 1e15"),
        ("1e999999999", "is more than any table has; give at most 1e15"),
    ],
)
def test_sizes_that_no_table_has_are_one_line(given, said):
    outcome = onefit_cli("plan", "--rows", given, "--columns", 10)
    assert outcome.exit_code == 2
    assert outcome.stderr == f"onefit: --rows: {given!r} {said}{outcome.stderr.partition(said)[2]}"
    assert outcome.stderr.count("\n") == 1


def test_plan_of_a_table_is_that_of_the_job():
    outcome = onefit_cli("plan", HOUSES, "--target", "price", *DROPPED, "--repeats", 3)
    assert outcome.exit_code == 0
    X, y = mixed_houses()
    plan = onefit.plan_for(after_steps(RidgeCV(np.logspace(-2, 5, 29))), X, y, n_repeats=3, random_state=0)
    assert (plan.choice, plan.n_fits) == ("gram", 165)
    for line in ("n=80 rows, p=5 columns, K=10 folds, L=3 repeats:", " -> gram ", "165 fits", plan.reason):
        assert line in outcome.stdout
    assert "anew in every training set" in outcome.stderr
    refused = onefit_cli("plan", HOUSES, "--target", "price", *DROPPED, "--lambda", "1:10:3")
    assert refused.exit_code == 2
    assert "takes one penalty" in refused.stderr
    assert "--report" not in onefit_cli("plan", "--help").stdout


def test_config_and_version(capsys):
    assert onefit_cli("config").stdout.startswith(f"onefit {onefit.__version__} on Python")
    assert onefit_cli("--version").stdout == f"onefit {onefit.__version__}\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, with a forest of few trees, and the folder that it wrote to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "onefit.cli.demo.MODELS", DEMO_MODELS.replace("RandomForestRegressor(60,", "RandomForestRegressor(3,")
        )
        folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
        return onefit_cli("demo", "--output", folder), folder


def test_the_demo_answers_compares_and_says_what_it_wrote(demo):
    outcome, folder = demo
    assert outcome.exit_code == 0, outcome.stderr
    report, table = folder / "onefit-demo.html", folder / "onefit-demo.csv"
    assert outcome.stdout.splitlines()[-2:] == [
        f"Wrote {report}: open it in a browser",
        f"Wrote {table}: try onefit run {table} --target price --impute",
    ]
    names = {}
    exec(DEMO_MODELS, names)
    expected = onefit.nested_cv(names["ridge"], names["X"], names["y"], random_state=0).rmse
    said = re.search(r"off by about ([\d.]+) thousand .* interval ([\d.]+) to ([\d.]+)\)", outcome.stdout)
    np.testing.assert_allclose([float(each) for each in said.groups()], list(expected), atol=0.05)
    assert said.group(0)[:20] in report.read_text(encoding="utf-8")
    assert "ridge - forest" in outcome.stdout
    assert outcome.stderr.count("plan: ") == 2


def test_the_demo_overwrites_nothing_and_its_table_can_be_read(demo):
    _, folder = demo
    again = onefit_cli("demo", "--output", folder)
    assert again.exit_code == 1
    assert "exists" in again.stderr
    found = document("run", folder / "onefit-demo.csv", "--target", "price", "--impute")
    assert found["request"]["rows"] == 300


def test_the_python_of_the_demo_makes_what_it_shows():
    from onefit.cli.demo import PYTHON

    assert PYTHON.startswith(DEMO_MODELS)
    calls = [line for line in PYTHON.splitlines() if "onefit." in line and "(" in line]
    assert [call.split("onefit.")[1].partition("(")[0] for call in calls] == [
        "datasets.make_houses",
        "nested_cv",
        "compare",
    ]


# ------------------------------------------------------------------------------------------------- true processes


def python(*arguments, **options):
    environment = {**os.environ, "NO_COLOR": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False, **options)


def test_a_table_from_standard_input_in_a_true_process(tmp_path, monkeypatch):
    options = ["run", "-", "--target", "price", *DROPPED, "--model", "ols", "--json", "out.json"]
    ran = python("-m", "onefit", *options, input=HOUSES.read_bytes(), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(b"Expect a squared error of about")
    model = after_steps(LinearRegression(), "passthrough")
    expected = quietly(onefit.nested_cv, model, *mixed_houses(), random_state=0).estimate
    found = json.loads((tmp_path / "out.json").read_text())
    np.testing.assert_allclose(found["result"]["estimate"], expected, **EXACT)
    monkeypatch.setattr(sys, "stdin", io.StringIO(HOUSES.read_text(encoding="utf-8")))
    again = estimate_of(found["python"], tmp_path, monkeypatch)
    np.testing.assert_allclose(again.estimate, expected, **EXACT)


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_a_process_ends_with_its_exit_code():
    process = forked.command("run", "no_such.csv", "--target", "y")
    said = process.communicate()
    assert (process.returncode, said[0]) == (1, "")
    assert said[1] == "onefit: There is no file 'no_such.csv'; check the name and the folder.\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_a_process_with_130(tmp_path, monkeypatch):
    (tmp_path / "slow_for_cli.py").write_text(
        "import time\nfrom sklearn.linear_model import LinearRegression\n"
        "class Slow(LinearRegression):\n"
        "    def fit(self, X, y):\n        print('fitting', flush=True)\n        time.sleep(60)\n"
    )
    monkeypatch.chdir(tmp_path)
    process = forked.command("run", HOUSES, "--target", "price", *DROPPED, "--model", "slow_for_cli:Slow")
    assert process.stdout.readline() == "fitting\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "onefit: stopped; nothing was written"
    assert "Traceback" not in said
    assert "done" not in said


def test_help_versions_and_files_that_are_not_there_need_no_scikit_learn():
    code = (
        "import runpy, sys\n"
        "asked = (['run', '--help'], 0), (['--version'], 0), (['run'], 2), (['run', 'no.csv', '--target', 'y'], 1)\n"
        "for arguments, expected in asked:\n"
        "    sys.argv = ['onefit', *arguments]\n"
        "    try:\n        runpy.run_module('onefit', run_name='__main__')\n"
        "    except SystemExit as end:\n        assert end.code == expected\n"
        "print(sorted({'sklearn', 'pandas', 'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    ran = python("-c", code)
    assert ran.returncode == 0, ran.stderr
    assert b"--target" in ran.stdout
    assert b"There is no file 'no.csv'" in ran.stderr
    assert ran.stdout.splitlines()[-1] == b"[]"


@pytest.mark.parametrize("asked", [["run", "table.csv", "--target", "a"], ["plan", "--rows", "50", "--columns", "3"]])
def test_libraries_that_are_to_be_loaded_are_told_first_where_output_is_piped(asked, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,x\n2,y\n")
    ran = python("-m", "onefit", *asked, cwd=tmp_path)
    assert ran.stderr.splitlines()[0].startswith(b"onefit: loading libraries"), ran.stderr


def test_libraries_that_are_there_are_not_told_of_nor_is_anything_if_silence_is_wanted(monkeypatch, capsys):
    from onefit.cli.reading import tell_loading

    tell_loading("loading", False)
    assert capsys.readouterr().err == ""
    monkeypatch.delitem(sys.modules, "sklearn")
    tell_loading("loading", True)
    assert capsys.readouterr().err == ""
    tell_loading("loading", False)
    assert capsys.readouterr().err == "onefit: loading\n"


def test_ctrl_c_while_starting_ends_with_130_and_one_line(monkeypatch, capsys):
    from onefit import cli

    class Stop:
        def find_spec(self, name, path=None, target=None):
            if name == "onefit.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "onefit.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Stop(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        cli.main(["plan"])
    assert end.value.code == 130
    assert capsys.readouterr().err == "onefit: stopped; nothing was written\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--help"],
        pytest.param(["run", str(HOUSES), "--target", "price", *DROPPED], marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_goes_away_ends_a_true_process_with_141(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "onefit", *arguments]
        ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False)
    finally:
        os.close(writing)
    assert ran.returncode == 141
    assert b"Traceback" not in ran.stderr
    assert b"BrokenPipe" not in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes of a Unix")
def test_a_reader_that_goes_away_ends_a_command_with_141():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        process = forked.command("run", HOUSES, "--target", "price", *DROPPED, stdout=nobody)
        _, said = process.communicate()
    assert process.returncode == 141
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, capsys):
    from onefit import cli

    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "onefit.cli.app")
    for name in [name for name in sys.modules if name.startswith("onefit.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 1
    assert 'pip install ".[cli]"` in the copy of the repository' in capsys.readouterr().err
    assert isinstance(cli, types.ModuleType)


def test_few_groups_are_warned_of(tmp_path):
    table = pd.read_csv(HOUSES)
    options = ["--target", "price", "--drop", "street", "--drop", "trust", "--groups", "part", "--model", "ols"]
    said = []
    for n_groups in (4, 20):
        table["part"] = np.arange(len(table)) % n_groups
        table.to_csv(tmp_path / "t.csv", index=False)
        said.append(onefit_cli("run", tmp_path / "t.csv", *options).stderr)
    assert "warning: There are only 4 groups" in said[0]
    assert "groups" not in said[1]
