"""The report: what it says, that nothing in it can run, and that it opens nothing."""

import builtins
import dataclasses
import itertools
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from onefit.display.estimators import last_step, short_name
from onefit.display.numbers import Digits, column_texts, interval_text, number_text, percent
from onefit.errors import DataError, HeavyTailWarning, OneFitError
from onefit.losses import nonnegative
from onefit.report import Request, render, write_report
from onefit.report.charts import label_text, name_lines, predictions
from onefit.report.checks import checks, largest_losses
from onefit.report.curve_chart import CurveData, curve_chart
from onefit.report.facts import coefficients, computed, fitted_facts, tiles
from onefit.report.page import script_safe
from onefit.report.palette import PALETTES
from onefit.report.sections import sections
from onefit.report.subject import Subject
from onefit.report.tables import differences, influential
from onefit.report.words import answer, remarks

ROOT = Path(__file__).resolve().parents[2]
EVIL = "</script><script>window.ran = 1</script><!--\u2028<img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=["a", "b", "c", EVIL], index=[f"r{i}" for i in range(60)])
    return X, 100 * (X.to_numpy() @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(60))


@pytest.fixture(scope="module")
def result(data):
    return onefit.nested_cv(Ridge(1.0), *data, n_folds=5, n_repeats=4, random_state=0)


@pytest.fixture(scope="module")
def curve(data):
    X, y = data
    values = np.logspace(-2, 4, 13)
    return onefit.error_curve(
        onefit.PenalizedRegression(), X, y, param_name="lam", param_range=values, n_folds=5, n_repeats=8, random_state=0
    )


@pytest.fixture(scope="module")
def comparison(data):
    models = {"ridge": Ridge(1.0), "mean <b>": Ridge(1e9), "least squares": LinearRegression()}
    return onefit.compare(models, *data, n_folds=5, n_repeats=2, random_state=0)


def subject(result=None, curve=None, comparison=None, y=None, **request):
    return Subject(Request(**request), result, curve, comparison, None, y)


class Reader(HTMLParser):
    """Elements of a page with their attributes, texts of scripts left out."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.tables, self._cell, self._skip = [], [], None, False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._skip = tag in ("script", "style")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        self._cell = [] if tag in ("td", "th") else None

    def handle_data(self, text):
        if self._cell is not None:
            self._cell.append(text)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append("".join(self._cell))
            self._cell = None

    def table(self, first):
        return next(table for table in self.tables if table[0][0] == first)


def assert_ids_are_unique(elements):
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def charts(page):
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1)
    return json.loads(block)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3214.6, "3,215"), (0.48213, "0.4821"), (-12345.6, "−12,346"), (2.5e-7, "2.5 × 10⁻⁷"), (3e12, "3 × 10¹²"),
     (0.0, "0"), (7, "7"), (12345, "12,345"), (np.nan, "–"), (np.inf, "∞"), ("rbf", "rbf"),
     (True, "True"), (None, "None")],
)  # fmt: skip
def test_one_number_is_written_for_people(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("figures", "texts"),
    [
        ((3214.6, 2874.4, 3597.1), ("3,215", "2,874", "3,597")),
        ((0.4821, 0.4234, 0.5413), ("0.482", "0.423", "0.541")),
        ((0.04, -12.3, 14.9), ("0", "−12", "15")),
        ((1.5e-6, 1.2e-6, 1.9e-6), ("1.5 × 10⁻⁶", "1.2 × 10⁻⁶", "1.9 × 10⁻⁶")),
        ((5.2513, np.nan, np.nan), ("5.251", "–", "–")),
    ],
)
def test_interval_has_the_digits_that_its_width_bears(figures, texts):
    assert interval_text(*figures) == texts


def test_a_number_that_rounds_to_zero_has_no_sign_and_shares_have_two_digits():
    assert Digits(2).text(-0.001) == "0.00"
    assert [percent(share) for share in (0.95, 0.0213, 0.0004, 0.0)] == ["95%", "2.1%", "less than 0.1%", "0%"]


def test_answer_is_the_sentence_with_the_numbers_of_the_result(result):
    low, high = result.interval
    r2 = [f"{value:.2f}".replace("-", "−") for value in result.r2]
    assert answer(subject(result), 0) == (
        f"Expect a squared error of about {result.estimate:,.0f}, 95% interval {low:,.0f} to {high:,.0f}; "
        f"R² {r2[0]} ({r2[1]} to {r2[2]})."
    )


def test_answer_of_a_curve_is_that_of_the_chosen_value_with_its_warning(curve):
    told = subject(curve=curve, chosen="one_se")
    place = list(curve.values).index(curve.select("one_se"))
    assert f"At lam = {number_text(curve.values[place])}, expect a squared error" in answer(told, 0)
    assert f"about {curve.results[place].estimate:,.0f}," in answer(told, 0)
    assert "covers less often than it says" in render(Request(chosen="one_se"), curve=curve)


def test_answer_of_a_comparison_names_the_best_and_those_that_cannot_be_told_from_it(comparison):
    best = comparison.models.index[0]
    page = unescape(render(comparison=comparison))
    assert f"{best} has the smallest error" in page
    table = comparison.differences
    pairs = [pair for pair in table.index if best in pair and table.loc[pair, "low"] <= 0 <= table.loc[pair, "high"]]
    others = [next(name for name in pair if name != best) for pair in pairs]
    assert others
    assert f"do not tell {best} from {' or '.join(others)}." in page


def test_table_of_rules_has_every_rule_with_its_numbers_and_marks_the_chosen_one(result):
    page = render(result=result)
    rows = Reader(page).table("rule")[1:]
    assert [row[0] for row in rows] == list(result.intervals.index)
    half = np.median((result.intervals["high"] - result.intervals["low"]) / 2)
    assert half > 10  # hence no decimals
    for row, (_, figures) in zip(rows, result.intervals.iterrows(), strict=True):
        assert row[1:5] == [f"{value:,.0f}" for value in figures]
    assert re.search(r'<tr class="strong"><th scope="row">covariance</th>', page)
    assert page.count('<tr class="strong">') == 1


def test_chart_of_rules_has_the_same_numbers(result):
    traces = charts(render(result=result))["chart-rules-0"]["data"]
    drawn = {
        name: trace["x"][i] for trace in traces for i, name in enumerate(re.findall("<b>(.*?)</b>", str(trace["text"])))
    }
    assert drawn == pytest.approx(result.intervals["estimate"].to_dict(), rel=1e-6)
    own = next(trace for trace in traces if trace["marker"]["color"] == "@chosen")
    assert own["x"][0] + own["error_x"]["array"][0] == pytest.approx(result.interval[1], rel=1e-6)
    assert own["x"][0] - own["error_x"]["arrayminus"][0] == pytest.approx(result.interval[0], rel=1e-6)


def test_curve_chart_has_the_curve_its_band_the_paired_band_and_the_indistinguishable_stretch(curve):
    figure = charts(render(curve=curve))["chart-curve-0"]
    bands = [trace for trace in figure["data"] if trace.get("fill")]
    lines = [trace for trace in figure["data"] if trace.get("text")]
    assert [line["yaxis"] for line in lines] == ["y", "y2"]
    np.testing.assert_allclose(lines[0]["y"], curve.estimate, rtol=1e-6)
    np.testing.assert_allclose(lines[1]["y"], curve.difference.estimate, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(bands[0]["y"], [*curve.low, *curve.high[::-1]], rtol=1e-6)
    np.testing.assert_allclose(
        bands[1]["y"], [*curve.difference.low, *curve.difference.high[::-1]], rtol=1e-6, atol=1e-12
    )
    shaded = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]
    inside = [value for value in curve.values if any(shape["x0"] < value < shape["x1"] for shape in shaded)]
    np.testing.assert_array_equal(inside, curve.indistinguishable())


def test_band_has_a_gap_where_a_value_could_not_be_fitted():
    error = (np.array([3.0, np.nan, 2.0, 2.5]),) * 3
    data = CurveData([1, 2, 3, 4], error, error, None, np.zeros(4, bool), {2: ["min"]}, "k", "squared_error")
    bands = [trace["x"] for trace in curve_chart(data, log=False)["data"] if trace.get("fill")]
    assert bands == [[1, 1], [3, 4, 4, 3]] * 2


def test_zero_on_a_log_axis_keeps_its_place_and_name():
    error = (np.array([3.0, 2.0, 2.5]),) * 3
    data = CurveData([0, 1, 100], error, error, np.array([5.0, 3.0, 1.0]), np.ones(3, bool), {1: ["min"]}, "lam", "x")
    figure = curve_chart(data, log=True)
    assert figure["layout"]["xaxis"]["ticktext"][0] == "0"
    assert 0 < figure["layout"]["xaxis"]["tickvals"][0] < 1
    line = next(trace for trace in figure["data"] if trace.get("text"))
    assert line["text"][0].startswith("<b>lam 0</b>, edf 5")


def test_selected_values_and_scores_are_in_the_tables(curve):
    reader = Reader(render(curve=curve))
    chosen = {
        row[0]: row for row in reader.table("rule")[1:] if row[0] in ("min", "one_se", "gcv", "loo", "reml", "kfold")
    }
    assert {rule: row[1] for rule, row in chosen.items()} == {rule: number_text(curve.select(rule)) for rule in chosen}
    assert set(chosen) == {"min", "one_se", "gcv", "loo", "reml", "kfold"}
    table = reader.table("lam")
    assert table[0] == [
        "lam",
        "edf",
        "squared error",
        "difference from the best",
        "gcv",
        "loo",
        "reml",
        "kfold",
        "verdict",
    ]
    assert [row[4] for row in table[1:]] == [number_text(float(value), 5) for value in curve.scores["gcv"]]
    close = [row[0] for row in table[1:] if row[-1] == "too close to call"]
    assert close == [number_text(value) for value in curve.indistinguishable()]


def test_every_output_has_its_answer_its_sections_and_charts(two_outputs):
    X, y = two_outputs
    frame = pd.DataFrame(y, columns=["one", EVIL])
    result = onefit.nested_cv(Ridge(0.01), X, frame, n_folds=12, n_repeats=3, random_state=0)
    page = render(result=result, y=frame)
    rows = Reader(page).table("output")[1:]
    assert [row[0] for row in rows] == ["one", EVIL]
    assert [row[1].split(" ")[0] for row in rows] == [
        interval_text(*each)[0] for each in zip(result.estimate, *result.interval, strict=True)
    ]
    assert {"chart-rules-0", "chart-rules-1", "chart-rows-0", "chart-rows-1"} <= set(charts(page))
    assert page.count('<details class="output"') == 2
    assert_ids_are_unique(Reader(page).elements)


def test_largest_losses_are_listed_with_their_rows_and_shares(data, result):
    page = render(Request(target="price"), result=result, y=data[1])
    rows = Reader(page).table("row")
    assert rows[0] == ["row", "price", "held-out prediction", "loss", "share of the total"]
    largest = result.heldout["loss"].nlargest(10)
    assert [row[0] for row in rows[1:]] == list(largest.index)
    assert [row[4] for row in rows[1:]] == [f"{100 * v:.1f}%" for v in largest / result.heldout["loss"].sum()]


def test_heavy_tails_are_found_when_the_library_warns_and_only_then(data, result):
    assert [check.status for check in checks(subject(result), 0) if check.title.startswith("Tails")] == ["fine"]
    X, y = data
    wild = y.copy()
    wild[3] += 1e5
    with pytest.warns(HeavyTailWarning):
        heavy = onefit.nested_cv(Ridge(1.0), X, wild, n_folds=5, n_repeats=4, random_state=0)
    told = checks(subject(heavy), 0)
    assert {check.title for check in told if check.status == "look"} >= {"Tails of the losses", "Influential rows"}
    assert "row r3" in next(check.text for check in told if check.title == "Influential rows")
    assert "to look at" in render(result=heavy)


def test_shares_leave_out_rows_that_were_never_scored():
    order, shares = largest_losses(np.array([1.0, np.nan, 3.0]))
    assert order.tolist() == [2, 0]
    assert shares.tolist() == [0.75, 0.25]


def test_monte_carlo_error_of_one_partition_is_unknown_and_of_leave_two_out_zero(data):
    one = onefit.nested_cv(Ridge(1.0), *data, n_folds=5, n_repeats=1, random_state=0)
    two_out = onefit.nested_cv(Ridge(1.0), *data, n_folds="n")
    told = [
        next(check for check in checks(subject(each), 0) if check.title == "Random partitions")
        for each in (one, two_out)
    ]
    assert [check.status for check in told] == ["note", "fine"]
    assert "unknown" in told[0].text
    assert "same numbers" in told[1].text


def test_result_without_an_interval_says_so_and_why():
    rng = np.random.default_rng(0)
    for seed in range(60):
        X = rng.standard_normal((40, 5))
        with pytest.warns(onefit.errors.OneFitWarning):
            result = onefit.nested_cv(
                Ridge(1.0), X, rng.standard_normal(40), n_folds=5, n_repeats=1, interval="paper", random_state=seed
            )
        if np.isnan(result.interval[0]):
            break
    page = unescape(render(result=result))
    assert "the rule “paper” gives no interval here" in page
    assert result.reason in page
    assert "nan" not in re.sub(r"(?s)<script.*?</script>|<style.*?</style>", "", page).lower().replace("finance", "")


def test_classifier_is_told_in_shares_with_its_confusion_table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 0, "yes", "<no>")
    result = onefit.nested_cv(RidgeClassifier(), X, y, n_folds=5, n_repeats=4, random_state=0)
    page = render(result=result, y=y)
    low, high = (100 * end for end in result.interval)
    said = f"about {100 * result.estimate:.1f}% of predictions to be wrong, 95% interval {low:.1f}% to {high:.1f}%"
    assert said in page
    table = Reader(page).table("observed")
    assert table[0] == ["observed", "predicted <no>", "predicted yes"]
    expected = pd.crosstab(y, result.heldout["prediction"].to_numpy()).to_numpy()
    assert [[int(cell) for cell in row[1:]] for row in table[1:]] == expected.tolist()


def test_comparison_tables_have_the_models_and_all_pairs(comparison):
    reader = Reader(render(comparison=comparison))
    assert [row[0] for row in reader.table("model")[1:]] == list(comparison.models.index)
    rows = reader.table("first − second")[1:]
    assert [row[0] for row in rows] == [f"{a} − {b}" for a, b in comparison.differences.index]
    for row, (_, figures) in zip(rows, comparison.differences.iterrows(), strict=True):
        assert tuple(row[1:4]) == interval_text(figures["estimate"], figures["low"], figures["high"])


def test_user_text_is_escaped_everywhere(data, result, curve):
    X, y = data
    fitted = make_pipeline(StandardScaler(), Ridge(1.0)).fit(X, y)
    request = Request(
        title=EVIL,
        data=EVIL,
        target=EVIL,
        model=EVIL,
        details={EVIL: EVIL},
        command=EVIL,
        python=EVIL,
        notes=(EVIL,),
        chosen=EVIL,
    )
    page = render(request, result=result, curve=curve, fitted=fitted, y=y)
    reader = Reader(page)
    assert sum(tag == "script" for tag, _ in reader.elements) == 3
    assert not any(tag == "img" for tag, _ in reader.elements)
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert EVIL in unescape(page)
    assert reader.table("column")[1:]  # coefficients by the names of the columns, that one among them
    assert EVIL in [row[0] for row in reader.table("column")]


def test_labels_of_charts_show_markup_as_text():
    assert label_text("<b>x</b>&amp;\n y") == "&lt;b&gt;x&lt;/b&gt;&amp;amp; y"
    assert label_text("x" * 40) == "x" * 31 + "…"


def test_json_in_a_script_cannot_end_it_and_comes_back_whole():
    text = script_safe({"a": EVIL, "b": [np.float64(1.5), np.nan, np.int64(3)], "c": np.array([1.0, np.inf])})
    assert re.fullmatch(r"[ -~]*", text)
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": EVIL, "b": [1.5, None, 3], "c": [1.0, None]}


def test_page_is_self_contained_and_its_policy_names_its_scripts(result):
    page = render(result=result)
    reader = Reader(page)
    policy = next(attributes["content"] for _, attributes in reader.elements if attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    links = [attributes.get("src") or attributes.get("href") for _, attributes in reader.elements]
    assert all(link.startswith(("#", "data:")) for link in links if link)
    assert page.count("window.drawChart = ") == 1


def test_the_page_is_small(result, curve, comparison, data):
    assert len(render(result=result, curve=curve, comparison=comparison, y=data[1]).encode()) < 1_500_000


def test_the_paragraph_for_a_paper_has_the_figures_and_what_it_cites(result, curve, comparison):
    page = unescape(render(result=result))
    assert result.methods() in page
    assert "doi:10.1080/01621459.2023.2197686" in page
    assert comparison.methods() in unescape(render(comparison=comparison))
    assert curve.methods() in unescape(render(curve=curve))


def test_headings_are_in_order_and_tables_and_charts_are_labelled(result, curve, comparison, data):
    page = render(result=result, curve=curve, comparison=comparison, y=data[1])
    elements = Reader(page).elements
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in elements if tag == "th")
    assert all(attributes["aria-label"] for _, attributes in elements if attributes.get("class") == "chart")
    assert_ids_are_unique(elements)
    assert ("html", {"lang": "en"}) in elements


def test_charts_have_no_words_that_the_script_of_the_page_does_not_know(result, curve, comparison, data):
    """The figures are plain data: what stands in them must be drawn by charts.js."""
    figures = charts(render(result=result, curve=curve, comparison=comparison, y=data[1]))
    assert set(figures) == {"chart-rules-0", "chart-curve-0", "chart-models-0", "chart-pairs-0", "chart-rows-0"}
    script = (ROOT / "src/onefit/report/templates/charts.js").read_text(encoding="utf-8")

    def words(value):
        if isinstance(value, dict):
            return set(value).union(*map(words, value.values()))
        return set().union(*map(words, value)) if isinstance(value, list) else set()

    used = {word for figure in figures.values() for word in words(figure)}
    assert {word for word in used if not re.search(rf"\b{word}\b", script)} == set()


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("behind", ["page", "card"])
def test_texts_have_the_contrast_that_wcag_asks_for(scheme, behind):
    palette = PALETTES[scheme]
    for name in ("text", "muted", "chosen", "good", "look", *(f"selected-{i}" for i in range(6))):
        light, dark = sorted((luminance(palette[name]), luminance(palette[behind])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name


def test_both_schemes_have_the_same_names():
    assert set(PALETTES["light"]) == set(PALETTES["dark"])


def test_python_that_repeats_it_gives_the_same_numbers(data, result, curve):
    X, y = data
    page = render(Request(seed=0), result=result)
    script = unescape(re.search(r'<pre id="python"[^>]*><code>(.*?)</code>', page, re.DOTALL).group(1))
    names = {"estimator": Ridge(1.0), "X": X, "y": y}
    exec(script, names)
    assert names["result"].interval == result.interval
    page = render(Request(seed=0), curve=curve)
    script = unescape(re.search(r'<pre id="python"[^>]*><code>(.*?)</code>', page, re.DOTALL).group(1))
    names = {"estimator": onefit.PenalizedRegression(), "X": X, "y": y}
    exec(script, names)
    assert names["curve"].values.tolist() == curve.values.tolist()
    np.testing.assert_allclose(names["curve"].high, curve.high, rtol=1e-12)


def test_fitted_model_shows_its_penalty_edf_and_coefficients(data, result):
    X, y = data
    fitted = onefit.PenalizedRegression(lam="gcv").fit(X, y)
    page = render(result=result, fitted=fitted)
    assert f"<dt>Penalty</dt><dd>{number_text(float(fitted.lam_))}</dd>" in page
    assert f"<dt>Effective degrees of freedom</dt><dd>{number_text(float(fitted.edf_))}</dd>" in page
    assert [row[0] for row in Reader(page).table("column")[1:3]] == [
        X.columns[i] for i in np.argsort(-np.abs(fitted.coef_))[:2]
    ]


def test_a_sentence_on_how_the_penalty_was_chosen_is_said_in_place_of_a_rule(result, curve):
    page = render(Request(chosen="By gcv, anew in every training set."), result=result, curve=curve)
    assert "<p>By gcv, anew in every training set.</p>" in page
    assert "“min” (smallest estimated error) would choose" in page


def test_nothing_to_report_and_rows_that_do_not_match_are_refused(result):
    with pytest.raises(DataError, match="give `result`, `curve` or `comparison`"):
        render()
    with pytest.raises(DataError, match="`y` has 3 rows and the result 60"):
        render(result=result, y=[1, 2, 3])


def test_report_is_written_whole_and_not_over_another(tmp_path, result):
    path = write_report(tmp_path / "report.html", result=result)
    text = path.read_text(encoding="utf-8")
    assert text.endswith("</html>")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OneFitError, match="exists"):
        write_report(path, result=result)
    assert write_report(path, Request(title="again"), result=result, force=True) == path
    assert "<title>again</title>" in path.read_text(encoding="utf-8")


def test_a_file_name_that_is_no_text_does_no_harm(tmp_path, result):
    path = write_report(tmp_path / "report.html", Request(data="caf\udce9.csv"), result=result)
    assert "caf?.csv" in path.read_text(encoding="utf-8")


def test_missing_libraries_are_named_with_the_remedy(monkeypatch, result):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("jinja2"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(OneFitError, match=r'pip install "\.\[cli\]"` in the copy of the repository'):
        render(result=result)


def test_many_points_are_thinned_but_the_worst_are_all_drawn():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((9000, 2))
    y = X[:, 0] + rng.standard_normal(9000)
    result = onefit.nested_cv(Ridge(1.0), X, y, n_folds=5, n_repeats=2, random_state=0)
    points = charts(render(result=result, y=y))["chart-rows-0"]["data"][1]
    assert 1000 < len(points["x"]) <= 3020
    worst = result.heldout["loss"].nlargest(20).index
    np.testing.assert_allclose(points["y"][-20:], y[worst], rtol=1e-6)


def test_sections_come_in_the_order_of_the_question(result, curve, comparison):
    def names(**given):
        return [section.name for section in sections(subject(**given), 0)]

    assert names(result=result) == ["rules", "diagnostics"]
    assert names(curve=curve) == ["curve", "rules", "diagnostics"]
    assert names(result=result, curve=curve) == ["rules", "curve", "diagnostics"]
    assert names(comparison=comparison) == ["comparison", "rules", "diagnostics"]


FAR = np.array([1700000012.3, 1700000055.1, 1700000099.7])


def test_values_far_from_zero_stay_apart_in_charts_hover_texts_and_tables():
    assert json.loads(script_safe({"x": FAR})) == {"x": FAR.tolist()}
    figure = predictions(["a", "b", "c"], FAR, FAR - 0.5, np.ones(3), {"loss": "loss", "target": "t"})
    said = [text.split("<br>")[1] for text in figure["data"][1]["text"]]
    assert said[0] == "observed 1,700,000,012.3, predicted 1,700,000,011.8"
    assert len(set(said)) == 3
    assert column_texts(FAR)[:2] == ["1,700,000,012.3", "1,700,000,055.1"]
    assert interval_text(1700000055.1, 1700000012.3, 1700000097.9) == (
        "1,700,000,055", "1,700,000,012", "1,700,000,098"
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: TransformedTargetRegressor(model),
        lambda model: make_pipeline(StandardScaler(), TransformedTargetRegressor(model)),
        lambda model: TransformedTargetRegressor(make_pipeline(StandardScaler(), model)),
    ],
)
def test_the_model_itself_is_found_in_pipelines_and_under_transformed_targets(data, wrap):
    fitted = wrap(onefit.PenalizedRegression(lam=3.0)).fit(*data)
    assert isinstance(last_step(fitted), onefit.PenalizedRegression)
    assert ("Penalty", "3") in fitted_facts(fitted)
    table = coefficients(fitted)
    assert {row.cells[0] for row in table.rows} == set(data[0].columns)
    assert ("target as transformed" in table.caption) == ("Transformed" in repr(fitted))


def test_coefficients_have_the_names_of_the_table_unless_two_would_be_the_same(data):
    X, y = data[0][["a", "b"]], data[1]
    scaled = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    fitted = make_pipeline(scaled, LogisticRegression()).fit(X, np.where(y > 0, "high", "low"))
    assert {row.cells[0] for row in coefficients(fitted).rows} == {"a", "b"}
    assert coefficients(fitted).caption.endswith(", above zero for low")
    twice = make_column_transformer((StandardScaler(), ["a"]), ("passthrough", ["a"]))
    fitted = make_pipeline(twice, Ridge()).fit(X, y)
    assert {row.cells[0] for row in coefficients(fitted).rows} == {"standardscaler__a", "passthrough__a"}


def test_a_comparison_with_other_folds_than_the_answer_says_so(data, result, comparison):
    told = "They were compared with 5 folds and 2 repeats, and the answer above is of 5 folds and 4 repeats"
    assert told in render(result=result, comparison=comparison)
    assert "They were compared" not in render(comparison=comparison)
    same = onefit.nested_cv(Ridge(1.0), *data, n_folds=5, n_repeats=2, random_state=0)
    assert "They were compared" not in render(result=same, comparison=comparison)


def test_names_in_charts_break_between_words_and_pairs_show_both():
    assert name_lines("KNeighborsClassifier(n_neighbors=15)") == ["KNeighborsClassifier", "(n_neighbors=15)"]
    assert name_lines("LinearDiscriminantAnalysis − LogisticRegression(C=1.0)") == [
        "LinearDiscriminantAna…",
        "− LogisticRegression(…",
    ]
    assert name_lines("a" * 30) == ["a" * 22, "a" * 8]
    assert name_lines("a short name of a model that is rather long in words") == [
        "a short name of a",
        "model that is rather …",
    ]
    assert name_lines("ridge − forest") == ["ridge − forest"]


def test_a_long_pair_in_a_table_is_not_cut(data):
    models = {"a model with a name of many words": Ridge(1.0), "another model with many words": Ridge(9.0)}
    page = render(comparison=onefit.compare(models, *data, n_folds=5, n_repeats=2, random_state=0))
    assert '<th scope="row" class="long">a model with a name of many words − another' in unescape(page)


def test_short_words_take_no_more_room_than_they_need(comparison):
    page = render(comparison=comparison)
    assert re.search(r'<td class="words">(onestep|gram)</td>', page)
    assert re.search('<td class="words long">this library.{1,9}s own', page)


def test_parameter_goes_by_its_short_name_and_by_the_full_one_once_in_how_it_was_computed(curve):
    told = subject(curve=dataclasses.replace(curve, param_name="penalizedregression__lam"))
    shown = repr((sections(told, 0), answer(told, 0), remarks(told, 0), tiles(told)))
    assert "penalizedregression__lam" not in shown
    assert "The error along lam" in shown
    assert repr(computed(told)).count("penalizedregression__lam") == 1
    assert "Parameter" not in dict(computed(subject(curve=curve)))
    assert short_name("a__b__alpha") == "alpha"


def test_the_name_of_a_users_loss_is_text_in_the_hover_of_predictions():
    one = np.ones(2)
    figure = predictions(["a", "b"], one, one, one, {"loss": "<img src=x>", "target": "t"})
    assert all(text.endswith("<br>&lt;img src=x&gt; 1") for text in figure["data"][1]["text"])


def test_caption_says_how_rows_are_counted(result):
    def caption_and_check(labels):
        told = subject(dataclasses.replace(result, heldout=result.heldout.set_axis(labels)))
        return influential(told, 0).caption, next(c.text for c in checks(told, 0) if c.title == "Influential rows")

    caption, check = caption_and_check(pd.RangeIndex(60))
    assert "rows count from 0, as in the index" in caption
    assert "(rows count from 0)" in check
    for labels in (pd.RangeIndex(1, 61), result.heldout.index):
        caption, check = caption_and_check(labels)
        assert "rows go by the index" in caption
        assert "count from 0" not in check


def with_pairs(comparison, low, high):
    return dataclasses.replace(comparison, differences=comparison.differences.assign(low=low, high=high))


def test_no_winner_is_announced_that_the_pairs_deny_or_do_not_know(comparison):
    best, *others = comparison.models.index
    for ends in ((-1.0, 1.0), (np.nan, np.nan)):
        told = subject(comparison=with_pairs(comparison, *ends))
        said = answer(told, 0)
        assert f"{best} has the smallest error, but is not told apart from " in said
        assert all(name in said for name in others)
        assert {row.cells[-1] for row in differences(told, 0).rows} == {"cannot be told apart"}
    sure = subject(comparison=with_pairs(comparison, -2.0, -1.0))
    assert f"{best} has the smallest error: expect" in answer(sure, 0)


def test_a_choice_on_the_same_rows_is_a_remark_and_a_thing_to_look_at(result, curve, comparison):
    for given, what in (({"curve": curve}, "value"), ({"comparison": comparison}, "best model")):
        told = subject(**given)
        start = f"The {what} was chosen on the same rows that gave the interval, which therefore covers less often"
        assert any(text.startswith(start) for text in remarks(told, 0))
        assert any(check.status == "look" and check.text.startswith(start) for check in checks(told, 0))
    assert not any("chosen on the same rows" in check.text for check in checks(subject(result, curve), 0))
    page = render(curve=curve)
    assert "All checks passed" not in page
    assert "to look at" in page


def test_r2_that_reaches_zero_is_a_thing_to_look_at(result):
    r2 = result.r2._replace(low=np.float64(-0.1))
    told = checks(subject(dataclasses.replace(result, r2=r2)), 0)
    assert [check.status for check in told if check.title == "R²"] == ["look"]
    assert not any(check.title == "R²" for check in checks(subject(result), 0))


def test_tails_are_looked_at_only_where_the_library_does(data):
    X, y = data
    wild = y.copy()
    wild[3] += 1e5

    def squared_error(y, prediction):  # undeclared, and under the name of the library's own
        return np.square(y - prediction)

    keywords = {"n_folds": 5, "n_repeats": 4, "random_state": 0}
    silent = onefit.nested_cv(Ridge(1.0), X, wild, loss=squared_error, **keywords)  # a warning would be an error
    assert silent.loss == "squared_error"
    with pytest.warns(HeavyTailWarning):
        declared = onefit.nested_cv(Ridge(1.0), X, wild, loss=nonnegative(squared_error), **keywords)
    calm = onefit.nested_cv(Ridge(1.0), X, y, loss=nonnegative(squared_error), **keywords)
    told = [
        [check.status for check in checks(subject(each), 0) if check.title.startswith("Tails")]
        for each in (silent, declared, calm)
    ]
    assert told == [[], ["look"], ["fine"]]
