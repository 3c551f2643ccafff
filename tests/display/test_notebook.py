"""Results in a notebook: small HTML tables, escaped, that need no other library."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from onefit.display.html import MOST_ROWS, selections
from onefit.display.numbers import interval_text, number_text

EVIL = "<script>alert(1)</script>"


class Cells(HTMLParser):
    """Cells of all tables, row by row, and the tags of the text."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self._open = [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, text):
        if self._open and self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += text

    def handle_endtag(self, tag):
        assert self._open.pop() == tag


def test_result_shows_the_error_its_root_and_r2_with_their_intervals(regression):
    result = onefit.nested_cv(Ridge(0.1), *regression, n_folds=5, n_repeats=8, random_state=0)
    rows = Cells(result._repr_html_()).rows
    assert rows[0] == ["", "estimate", "95% from", "to"]
    assert rows[1] == ["squared error", *interval_text(result.estimate, *result.interval)]
    assert rows[2] == ["root mean squared error", *interval_text(*result.rmse)]
    assert rows[3] == ["R²", *interval_text(*result.r2)]
    assert "5 folds, 8 repeats, route" in result._repr_html_()


def test_every_output_has_its_rows_and_names_are_escaped(two_outputs):
    X, y = two_outputs
    frame = pd.DataFrame(y, columns=["one", EVIL])
    result = onefit.nested_cv(Ridge(0.01), X, frame, n_folds=12, n_repeats=3, random_state=0)
    cells = Cells(result._repr_html_())
    assert [row[0] for row in cells.rows[1::3]] == ["one: squared error", f"{EVIL}: squared error"]
    assert "script" not in cells.tags


def test_curve_shows_what_each_rule_selects_and_how_much_is_too_close_to_call(regression):
    X, y = regression
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=np.logspace(-3, 3, 13))
    rows = Cells(curve._repr_html_()).rows[1:]
    shown = {rule: row[1] for row in rows for rule in row[0].split(", ")}
    assert shown == {rule: number_text(curve.select(rule)) for rule in ("min", "one_se", "gcv", "loo", "reml", "kfold")}
    best = selections(curve)
    assert [row[2] for row in rows] == [
        interval_text(curve.estimate[at], curve.low[at], curve.high[at])[0] for at in best
    ]
    assert f"{len(curve.indistinguishable())} of 13 values cannot be told from the best one" in curve._repr_html_()


def test_curve_of_a_pipeline_has_the_short_name_of_its_parameter_in_the_header(regression):
    model, values = make_pipeline(StandardScaler(), Ridge()), [0.1, 1.0, 10.0]
    curve = onefit.error_curve(model, *regression, param_name="ridge__alpha", param_range=values, n_folds=5)
    assert Cells(curve._repr_html_()).rows[0][1] == "alpha"
    assert curve._repr_html_().count("ridge__alpha") == 1


def test_curve_over_names_has_no_edf_and_shows_the_names():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    curve = onefit.error_curve(
        Ridge(),
        X,
        X[:, 0] + rng.standard_normal(30),
        param_name="fit_intercept",
        param_range=[True, False],
        route="refit",
    )
    assert {"True", "False"} >= {row[1] for row in Cells(curve._repr_html_()).rows[1:]}


def test_comparison_shows_models_and_pairs(regression):
    models = {EVIL: Ridge(0.1), "least squares": LinearRegression()}
    comparison = onefit.compare(models, *regression, n_folds="n")
    cells = Cells(comparison._repr_html_())
    assert [row[0] for row in cells.rows] == [
        "",
        *comparison.models.index,
        "",
        " − ".join(comparison.differences.index[0]),
    ]
    row = comparison.differences.iloc[0]
    assert cells.rows[-1][1:] == list(interval_text(row["estimate"], row["low"], row["high"]))
    assert "script" not in cells.tags


def test_plan_shows_every_route_and_the_one_taken():
    plan = onefit.plan(500, 20, 10)
    rows = Cells(plan._repr_html_()).rows
    assert [row[0] for row in rows[1:]] == ["gram (taken)", "onestep", "refit"]
    assert [row[1] for row in rows[1:]] == [f"{count:.3g}" for count in plan.flops.values()]


def test_long_tables_end_and_say_where_the_rest_is():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 2)), rng.uniform(size=(50, 30))
    result = onefit.nested_cv(Ridge(100.0), X, Y, n_folds="n")
    text = result._repr_html_()
    assert len(Cells(text).rows) == MOST_ROWS + 1
    assert "30 more rows: see to_frame()" in text


def test_summary_notebook_and_command_line_write_the_same_figures_with_the_same_digits():
    from onefit.cli.showing import sentence

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    result = onefit.nested_cv(Ridge(), X, 50 * X[:, 0] + 20 * rng.standard_normal(60), random_state=0)
    error, r2 = (interval_text(each[0], *each[1:]) for each in ((result.estimate, *result.interval), result.r2))
    assert len(r2[0].partition(".")[2]) == 3  # the half-width, of some hundredths, bears as many
    first, *lines = result.summary().splitlines()
    assert first == "squared error {}, 95% interval {} to {}".format(*error)
    assert "  R2 {} ({} to {})".format(*r2) in lines
    said = "Expect a squared error of about {}, 95% interval {} to {}; R2 {} ({} to {})"
    assert sentence(result) == said.format(*error, *r2)
    cells = Cells(result._repr_html_()).rows
    assert ["squared error", *error] in cells
    assert ["R²", *r2] in cells


def test_tables_need_neither_jinja2_nor_plotly_nor_matplotlib():
    code = """
import sys
for name in ("jinja2", "plotly", "matplotlib"):
    sys.modules[name] = None
import numpy as np, onefit
from sklearn.linear_model import Ridge
X = np.random.default_rng(0).standard_normal((40, 3))
print(onefit.nested_cv(Ridge(), X, X @ [1, 2, 3] + X[:, 0] ** 2)._repr_html_())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.match("<div><table>.*</table>", run.stdout, re.DOTALL)


def test_the_sentence_about_the_best_constant_has_the_minus_of_the_table():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 12)), rng.standard_normal(30)
    result = onefit.nested_cv(LinearRegression(), X, y, scoring="r2", n_folds=5, n_repeats=2, random_state=0)
    page = result._repr_html_()
    assert re.search(r"the best constant has −0\.\d+; skill −\d", page)
    assert not re.search(r"-\d", page)
