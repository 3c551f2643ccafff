"""What was found about a result is written once: warnings, summary, notebook, report and command line say the same."""

from __future__ import annotations

import copy
import json
import pickle
import re
import warnings
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit
from helpers import data, quietly
from onefit.copies import class_copy_of, copies_of
from onefit.datasets import make_linear
from onefit.errors import FewGroupsWarning, HeavyTailWarning, InterruptedWarning, MonteCarloWarning, OneFitWarning
from onefit.inference.montecarlo import FAST
from onefit.losses import huber, nonnegative, pinball
from onefit.results import Finding, leaks
from onefit.results.findings import FEW_GROUPS, KINDS
from onefit.results.leaks import unexplained

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(5)
CALM = data(60, 3, 0)
NOISE = RNG.standard_normal((40, 5)), RNG.standard_normal(40)
SMALL = make_linear(n=24, p=19, random_state=0)
FOUR_GROUPS = np.arange(60) % 4


def with_outlier(y):
    """One row far off."""
    return np.where(np.arange(len(y)) == 7, y + 30, y)


def with_lever(X, y):
    """One row so far out in a column that it tips the fit of all others."""
    X, y = X.copy(), y.copy()
    X[7], y[7] = [8.0, 0.0, 0.0], 50.0
    return X, y


def with_target_inside(X, y):
    """A column that is the target in another unit."""
    return np.column_stack([X, 1.8 * y + 32]), y


def one_after_another(n, seed=0, correlation=0.7):
    """Columns without order, and noise in which each row takes after the one before."""
    rng = np.random.default_rng(seed)
    X, noise = rng.standard_normal((n, 3)), rng.standard_normal(n)
    for row in range(1, n):
        noise[row] += correlation * noise[row - 1]
    return X, X.sum(axis=1) + noise


def stop(done, total):
    """As if the user pressed Ctrl-C in the second of four repeats, which have 6 fits each."""
    if done == 8:
        raise KeyboardInterrupt


@dataclass
class Case:
    """A job that has a finding, in Python and on the command line."""

    estimator: object
    X: object
    y: object
    keywords: dict = field(default_factory=dict)
    options: str = ""


CASES = {
    "interrupted": Case(
        HuberRegressor(alpha=0.1),
        *CALM,
        {"n_folds": 3, "n_repeats": 4, "random_state": 0, "progress": stop},
        "--model lasso --folds 3 --repeats 4 --route refit",
    ),
    "leak": Case(LinearRegression(), *with_target_inside(*CALM), {}, "--model ols"),
    "no interval": Case(
        LinearRegression(),
        *NOISE,
        {"n_folds": 5, "n_repeats": 1, "interval": "paper", "random_state": 5},
        "--model ols --folds 5 --repeats 1 --interval paper --seed 5",
    ),
    "training size": Case(LinearRegression(), SMALL.X, SMALL.y, {}, "--model ols"),
    "monte carlo": Case(
        LinearRegression(),
        *CALM,
        {"n_folds": 6, "n_repeats": 2, "interval": "bates", "random_state": 3},
        "--model ols --folds 6 --repeats 2 --interval bates --seed 3",
    ),
    "one partition": Case(
        LinearRegression(),
        *CALM,
        {"n_folds": 6, "n_repeats": 1, "random_state": 1},
        "--model ols --folds 6 --repeats 1 --seed 1",
    ),
    "interpolation": Case(
        LinearRegression(),
        *data(60, 34, 0),
        {"route": "refit", "n_folds": 4, "n_repeats": 2, "random_state": 0},
        "--model ols --route refit --folds 4 --repeats 2",
    ),
    "heavy tails": Case(LinearRegression(), CALM[0], with_outlier(CALM[1]), {}, "--model ols"),
    "leverage": Case(LinearRegression(), *with_lever(*CALM), {}, "--model ols"),
    "few groups": Case(LinearRegression(), *CALM, {"groups": FOUR_GROUPS}, "--model ols --groups part"),
    "dependence": Case(LinearRegression(), *one_after_another(200), {}, "--model ols"),
    "exactness": Case(
        make_pipeline(StandardScaler(), Ridge()), *CALM, {"transformers": "freeze"}, "--model ridge --freeze"
    ),
}


@pytest.fixture(scope="module")
def found():
    """Results and warnings by kind of finding, each computed once."""
    return {kind: recorded(kind) for kind in CASES}


def recorded(kind):
    case = CASES[kind]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneFitWarning)
        result = onefit.nested_cv(case.estimator, case.X, case.y, **case.keywords)
    return result, caught


def kinds(result):
    return [finding.kind for finding in result.findings]


def of_kind(result, kind):
    return next(finding for finding in result.findings if finding.kind == kind)


def visible(page):
    """The text of a page without its scripts, tags and styles."""
    return unescape(re.sub(r"(?s)<script.*?</script>|<style.*?</style>|<[^>]*>", "", page))


# -------------------------------------------------------------------------------------------- every voice, once


def test_every_kind_has_a_case_and_is_on_the_page_with_its_warning():
    assert list(CASES) == list(KINDS)
    page = (ROOT / "docs" / "howto" / "warnings.md").read_text(encoding="utf-8")
    for kind, warning in KINDS.items():
        name = "" if warning is None else f"`{warning.__name__}` "
        assert f"| `{kind}` | {name}|" in page


@pytest.mark.parametrize("kind", CASES)
def test_the_result_has_the_finding_with_a_message_and_findings_in_order(found, kind):
    result, _ = found[kind]
    assert kinds(result).count(kind) == 1
    assert kinds(result) == [each for each in KINDS if each in kinds(result)]
    for finding in result.findings:
        assert finding.message.endswith(".")
        assert finding.remedy == "" or finding.remedy.endswith(".")
        assert finding.text in (finding.message, f"{finding.message} {finding.remedy}")


@pytest.mark.parametrize("kind", CASES)
def test_warnings_are_the_findings_that_have_one_at_the_line_of_the_caller(found, kind):
    result, caught = found[kind]
    expected = [(KINDS[each.kind], each.text) for each in result.findings if KINDS[each.kind] is not None]
    assert [(each.category, str(each.message)) for each in caught] == expected
    assert {each.filename for each in caught} <= {__file__}


@pytest.mark.parametrize("kind", CASES)
def test_summary_and_notebook_say_each_finding_once(found, kind):
    result, _ = found[kind]
    said = [line.removeprefix("note: ") for line in result.summary().splitlines() if line.startswith("note: ")]
    assert said == [finding.text for finding in result.findings]
    for finding in result.findings:
        assert visible(result._repr_html_()).count(finding.text) == 1


@pytest.mark.parametrize("kind", CASES)
def test_the_report_says_each_finding_once(found, kind):
    pytest.importorskip("jinja2")
    from onefit.report import Request, render

    result, caught = found[kind]
    page = visible(render(Request(notes=tuple(str(each.message) for each in caught)), result=result))
    for finding in result.findings:
        assert page.count(finding.text) == 1
    assert "to look at" in page or kind in ("one partition", "exactness")


@pytest.mark.parametrize("kind", CASES)
def test_the_command_line_its_json_and_its_report_say_each_finding_once(kind, tmp_path, monkeypatch):
    for name in ("rich", "jinja2", "typer"):
        pytest.importorskip(name)
    from typer.testing import CliRunner

    from onefit.cli.app import app
    from onefit.cli.texts import as_options

    case, table, real = CASES[kind], tmp_path / "table.csv", onefit.nested_cv
    frame = pd.DataFrame(case.X).add_prefix("x").assign(y=case.y)
    if kind == "few groups":
        frame["part"] = FOUR_GROUPS
    frame.to_csv(table, index=False)
    if kind == "interrupted":
        monkeypatch.setattr(onefit, "nested_cv", lambda *a, **k: real(*a, **{**k, "progress": stop}))
    files = ["--json", tmp_path / "a.json", "--report", tmp_path / "a.html", "--quiet"]
    options = ["run", table, "--target", "y", *case.options.split(), *files]
    outcome = CliRunner().invoke(app, [str(option) for option in options])
    assert outcome.exit_code == (130 if kind == "interrupted" else 0), outcome.stderr
    findings = [Finding(**each) for each in json.loads((tmp_path / "a.json").read_text())["result"]["findings"]]
    page = visible((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert kind in [finding.kind for finding in findings]
    for finding in findings:
        text = as_options(finding.text)
        assert outcome.stdout.count(f"Note: {text}\n") == (KINDS[finding.kind] is None)
        assert outcome.stderr.count(f"warning: {text}\n") == (KINDS[finding.kind] is not None)
        assert (outcome.stdout + outcome.stderr).count(text) == 1
        assert page.count(finding.text) == 1


@pytest.mark.parametrize("command", ["curve --model ridge --lambda 0.1:10:3", "compare --model ols --model ridge"])
def test_curves_and_comparisons_of_the_command_line_say_what_was_found_for_the_best(command, tmp_path):
    for name in ("rich", "jinja2", "typer"):
        pytest.importorskip(name)
    from typer.testing import CliRunner

    from onefit.cli.app import app

    table = tmp_path / "table.csv"
    pd.DataFrame(CALM[0]).add_prefix("x").assign(y=CALM[1], part=FOUR_GROUPS).to_csv(table, index=False)
    name, *options = command.split()
    files = ["--json", tmp_path / "a.json", "--report", tmp_path / "a.html"]
    arguments = [name, table, "--target", "y", "--groups", "part", *options, *files]
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.stderr
    whole = json.loads((tmp_path / "a.json").read_text())
    of_each = [whole["curve"]] if name == "curve" else list(whole["comparison"]["results"].values())
    (finding,) = of_each[0]["findings"]
    assert finding["kind"] == "few groups"
    assert finding["message"].startswith("There are only 4 groups")
    assert all(each["findings"] == [finding] for each in of_each)
    text = Finding(**finding).text
    assert (outcome.stdout + outcome.stderr).count(text) == 1
    assert visible((tmp_path / "a.html").read_text(encoding="utf-8")).count(text) == 1


def test_the_line_on_the_method_is_the_same_in_summary_and_notebook(found):
    for result, _ in found.values():
        line = next(line for line in result.summary().splitlines() if line.startswith("rule "))
        assert line in visible(result._repr_html_())
    result = found["one partition"][0]
    method = "rule covariance, 6 folds, 1 repeat, route gram (exact), Monte Carlo error of the half-width"
    assert f"{method} unknown (one repeat)" in result.summary()


# ------------------------------------------------------------------------------------------------ what is found


def test_a_clean_result_has_no_findings():
    for keywords in ({}, {"n_folds": 10, "random_state": 0}, {"groups": np.arange(60) % 20}):
        result = onefit.nested_cv(LinearRegression(), *CALM, **keywords)  # a warning would be an error
        assert result.findings == ()
        assert "note:" not in result.summary()


def test_the_reason_of_the_result_is_among_its_findings_and_empty_without_one(found):
    for kind in ("no interval", "training size"):
        result, _ = found[kind]
        assert result.reason == of_kind(result, kind).text
    stopped = found["interrupted"][0]
    assert stopped.reason == "stopped by the user after 1 of 4 repeats; the figures are from this one"
    assert of_kind(stopped, "interrupted").message == f"S{stopped.reason[1:]}."
    assert all(found[kind][0].reason == "" for kind in ("monte carlo", "heavy tails", "few groups", "exactness"))


@pytest.mark.parametrize("weights", [None, np.arange(60) % 3])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1e-9), make_pipeline(StandardScaler(), Ridge(1e-9))])
def test_a_column_that_is_the_target_is_found_if_its_noise_is_below_one_part_in_a_hundred_thousand(model, weights):
    X, y = with_target_inside(*CALM)
    noise = np.random.default_rng(1).standard_normal(len(y)) * y.std()
    small = 2.0 ** -np.arange(5, 25)
    found = [
        "leak" in kinds(quietly(onefit.nested_cv, model, X, y + each * noise, sample_weight=weights)) for each in small
    ]
    first = found.index(True)
    assert found == [False] * first + [True] * (len(small) - first)
    assert 1e-5 / 2 <= small[first] <= 2e-5  # the root of the limit


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "gaps", "steps"])
def test_a_column_in_other_units_of_the_target_is_named_though_a_penalty_leaves_some_of_it(kind):
    """An R² of 0.9999, in which nothing was found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 30.0 + X[:, 0] + rng.normal(size=200)
    X[:, 1] = 5.0 - 2.5 * y
    model, name, table = Ridge(10.0), "1", X
    if kind in ("frame", "gaps"):
        table, name = pd.DataFrame({"kind": list("ab") * 100, "size": X[:, 0], "price": X[:, 1]}), "'price'"
        model = make_pipeline(make_column_transformer((OneHotEncoder(), ["kind"]), remainder=SimpleImputer()), model)
    if kind == "gaps":
        table.loc[3, "price"] = np.nan
        table["size"] = table["size"].astype("Float64")
        y[3] = 30.0
    elif kind == "sparse":
        table = sparse.csr_array(X)
    elif kind == "steps":
        model = RandomForestRegressor(20, max_features=1.0, random_state=0)
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0}
    result = quietly(onefit.nested_cv, model, table, y, **settings)
    assert 0.99 < result.r2.estimate < 1 - 1e-10
    assert of_kind(result, "leak").message.startswith(f"Column {name} is y in other units")
    without = quietly(onefit.nested_cv, Ridge(), np.delete(X, 1, axis=1), y, **settings)
    assert "leak" not in kinds(without)
    # where it is no straight line, nothing is told
    X[:, 1] = np.exp(y / 30)
    assert "leak" not in kinds(quietly(onefit.nested_cv, Ridge(1e-3), X, y, **settings))


def test_columns_are_held_to_each_output_and_rows_that_do_not_count_are_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    X[:, 2], X[:, 3], X[:, 0] = -1e200 * y[:, 1], y[:, 1], 1e9
    np.testing.assert_array_equal(copies_of(X, y, None), [-1, 2, -1])
    weights = np.arange(50) % 5 + 0.0
    X[weights == 0, 1] = 9.0
    X[weights > 0, 1] = 1e-200 * y[weights > 0, 2]
    np.testing.assert_array_equal(copies_of(X, y, weights), [-1, 2, 1])
    np.testing.assert_array_equal(copies_of(X[:8], y[:8], None), [-1, -1, -1])  # too few to tell
    np.testing.assert_array_equal(copies_of(X.astype(str), y, None), [-1, -1, -1])
    np.testing.assert_array_equal(copies_of(X, np.full((50, 1), 1.0), None), [-1])


def test_leaks_are_told_by_output_and_not_of_constants():
    X, y = with_target_inside(*CALM)
    noisy = np.column_stack([y, y + 0.1 * CALM[0][:, 0] ** 2, np.ones(60)])
    result = quietly(onefit.nested_cv, LinearRegression(), X, noisy)
    assert of_kind(result, "leak").outputs == (0,)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "gaps", "auc", "trees", "three"])
def test_a_column_that_is_the_class_in_other_words_is_named(kind):
    """A column of codes beside a diagnosis: an error rate of nearly zero, in which nothing was found."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"] if kind == "three" else ["b", "a"], 40)
    X = rng.normal(size=(len(y), 3))
    X[:, 1] = 9.0 - 4.0 * (y == "a") - 7.0 * (y == "b")
    model, table, name, scoring = RidgeClassifier(1e-3), X, "1", None
    if kind in ("frame", "gaps", "auc"):
        table, name = pd.DataFrame({"size": X[:, 0], "code": np.where(y == "a", "+", "-")}), "'code'"
        table["code"] = table["code"].mask(rng.random(len(y)) < 0.02) if kind == "gaps" else table["code"]
        text = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
        model = make_pipeline(make_column_transformer((text, ["code"]), remainder="passthrough"), LogisticRegression())
        scoring = "roc_auc" if kind == "auc" else None
    elif kind == "sparse":
        table = sparse.csr_array(X)
    elif kind in ("trees", "three"):
        model = RandomForestClassifier(20, random_state=0)
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "scoring": scoring}
    result = quietly(onefit.nested_cv, model, table, y, **settings)
    assert of_kind(result, "leak").message.startswith(f"Column {name} is y in other words")
    apart = X[:, [0, 2]] + 9.0 * (y == "a")[:, None] + 18.0 * (y == "b")[:, None]
    without = quietly(onefit.nested_cv, RidgeClassifier(), apart, y, **settings | {"scoring": None})
    assert without.cv_estimate < 0.02 or kind == "three"
    assert "leak" not in kinds(without)  # classes may lie apart
    is_dropped = make_pipeline(make_column_transformer(("passthrough", [0])), RidgeClassifier())
    assert "leak" not in kinds(quietly(onefit.nested_cv, is_dropped, X, y, **settings | {"scoring": None}))


def test_columns_are_held_to_classes_where_rows_count_and_it_is_no_accident():
    codes = np.arange(40) % 2
    frame = pd.DataFrame(
        {"one": 1.0, "more": np.arange(40), "near": codes, "list": [[1]] * 40, "text": list("yn") * 20}
    )
    frame.loc[3, "near"] = 0
    assert class_copy_of(frame, codes, None) == 4
    assert class_copy_of(frame, codes, (np.arange(40) != 3) + 0.0) == 2
    assert class_copy_of(frame.assign(near=frame["near"].mask(np.arange(40) < 25)), codes, None) == 4  # too few of them
    assert class_copy_of(frame.to_numpy(dtype=object)[:, [1, 4]], codes, None) == 1
    assert class_copy_of(frame[["text"]][:8], codes[:8], None) == -1  # too few to tell
    assert class_copy_of(["a text"] * 40, codes, None) == -1
    assert class_copy_of(frame[["one"]], np.zeros(40, dtype=int), None) == -1


def test_predictions_far_from_any_value_are_no_leak_and_no_warning_of_numpy():
    """A row of which training sets know nothing, and a function that magnifies it, of values as small as 1e-50."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X[7] = 400.0, 0.0
    y = np.exp(X[:, 0] + 0.1 * rng.normal(size=60))
    y[7] = 3.0
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    with np.errstate(over="raise"):
        result = quietly(
            onefit.nested_cv, model, X, 1e-50 * y, loss="absolute_error", n_folds=5, n_repeats=2, random_state=0
        )
    assert result.heldout["prediction"].max() > 1e100 * y.max()
    assert "leak" not in kinds(result)


def test_what_predictions_leave_is_the_same_in_blocks_of_outputs(monkeypatch):
    """And that of averages over the rows that count."""
    rng = np.random.default_rng(3)
    y, weights = rng.normal(size=(9, 5)), rng.integers(0, 3, size=9).astype(float)
    predictions = y + 0.1 * rng.normal(size=y.shape)
    predictions[2, 1] = np.nan
    y[:, 4] = 1.0
    expected = []
    for own, predicted in zip(y.T, predictions.T, strict=True):
        w = weights * np.isfinite(predicted)
        spread = np.average((own - np.average(own, weights=w)) ** 2, weights=w)
        expected.append(np.average(np.nan_to_num(own - predicted) ** 2, weights=w) / spread if np.ptp(own) else np.nan)
    whole = unexplained(y, predictions, weights)
    monkeypatch.setattr(leaks, "ENTRIES", 20)
    assert unexplained(y, predictions, weights) == pytest.approx(expected, rel=1e-12, nan_ok=True)
    assert whole == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_a_job_that_was_stopped_is_told_to_go_on(found):
    stopped = found["interrupted"][0]
    assert of_kind(stopped, "one partition").remedy == "The job was stopped: let it go on for longer."


@pytest.mark.parametrize(("interval", "kind"), [("covariance", "one partition"), ("bates", "monte carlo")])
def test_one_partition_is_a_warning_only_for_rules_that_depend_on_it_much(interval, kind):
    result = quietly(onefit.nested_cv, LinearRegression(), *CALM, n_folds=5, n_repeats=1, interval=interval)
    assert [each for each in kinds(result) if each in ("one partition", "monte carlo")] == [kind]
    if kind == "monte carlo":
        remedy = 'Use more repeats, or interval="covariance", which needs far fewer.'
        assert of_kind(result, kind).remedy == remedy


def test_the_monte_carlo_error_is_found_above_its_limit_only():
    X, y = data(60, 8, 3)
    for n_repeats in (2, 5, 50):
        shared = {"n_folds": 6, "n_repeats": n_repeats, "interval": "paper", "random_state": 1}
        result = quietly(onefit.nested_cv, LinearRegression(), X, y, **shared)
        assert ("monte carlo" in kinds(result)) == (result.monte_carlo_error > FAST.tolerated)


def test_groups_are_few_below_twenty_and_a_job_says_so_once():
    X, y = CALM
    assert FEW_GROUPS == 20
    for count in (4, FEW_GROUPS - 1, FEW_GROUPS):
        result = quietly(onefit.nested_cv, LinearRegression(), X, y, groups=np.arange(60) % count)
        assert ("few groups" in kinds(result)) == (count < FEW_GROUPS)
        if count < FEW_GROUPS:
            assert f"There are only {count} groups" in of_kind(result, "few groups").message
    models = {"ols": LinearRegression(), "ridge": Ridge()}
    with pytest.warns(FewGroupsWarning) as caught:
        comparison = onefit.compare(models, X, y, groups=FOUR_GROUPS)
    assert [each.category for each in caught].count(FewGroupsWarning) == 1
    assert all("few groups" in kinds(each) for each in comparison.results.values())


def cubed(y, prediction):
    return np.abs(y - prediction) ** 3


@pytest.mark.parametrize(
    ("loss", "scale"),
    [
        ("squared_error", "log"), ("absolute_error", "log"), ("huber", "log"), (huber(2.0), "log"),
        ("pinball", "log"), (pinball(0.9), "log"), (nonnegative(cubed), "log"), (cubed, "identity"),
    ],
)  # fmt: skip
def test_the_scale_is_that_of_the_loss_and_tails_are_found_on_the_log_scale_only(loss, scale):
    X, y = CALM
    result = quietly(onefit.nested_cv, LinearRegression(), X, with_outlier(y), loss=loss)
    assert result.scale == scale
    assert ("heavy tails" in kinds(result)) == (scale == "log")
    (low, high), c, s = result.interval, result.estimate, result.standard_error
    df = min(len(y) - 1, max(3, (c * result.inflation / s) ** 2))
    if scale == "log":  # Hall's ends may be wider
        t = stats.t.ppf(0.975, df)
        assert low <= c * np.exp(-t * s / c) * (1 + 1e-9)
        assert high >= c * np.exp(t * s / c) * (1 - 1e-9)
    else:  # the losses are skewed to the right, so that Hall's is the wider one there
        assert low == pytest.approx(c - stats.t.ppf(0.975, len(y) - 1) * s)
        assert high > 2 * c - low


def test_the_scale_of_zero_one_loss_is_the_logit():
    X, y = CALM
    result = quietly(onefit.nested_cv, RidgeClassifier(), X, y > 3)
    assert (result.loss, result.scale) == ("zero_one", "logit")


# ------------------------------------------------------------------------------------------- tails and leverage


def test_the_absolute_error_is_a_remedy_only_where_its_losses_are_calm():
    X, y = CALM
    rng = np.random.default_rng(3)
    t3 = X.sum(axis=1) + np.random.default_rng(0).standard_t(3, 60)
    wild = X.sum(axis=1) + np.exp(2.0 * rng.standard_normal(60))
    offered = []
    for target, loss in ((t3, None), (wild, None), (wild, "huber"), (with_outlier(y), "absolute_error")):
        result = quietly(onefit.nested_cv, LinearRegression(), X, target, loss=loss)
        remedy = of_kind(result, "heavy tails").remedy
        offered.append('Consider loss="absolute_error"' in remedy)
        assert "result.heldout" in remedy
    assert offered == [True, False, False, False]


def test_tails_of_groups_are_found_in_their_sums_and_in_their_rows():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 6)
    X = rng.standard_normal((240, 3))
    calm = X.sum(axis=1) + rng.standard_normal(40)[groups] + rng.standard_normal(240)
    assert onefit.nested_cv(LinearRegression(), X, calm, groups=groups).findings == ()
    one_group = calm + 12.0 * (groups == 5)
    heavy_rows = calm + rng.standard_t(2, 240)
    for y in (one_group, heavy_rows):
        result = quietly(onefit.nested_cv, LinearRegression(), X, y, groups=groups)
        assert of_kind(result, "heavy tails").message.startswith("A few groups carry much")


def test_weights_that_are_equal_change_no_finding_and_one_large_weight_is_found():
    X, y = CALM
    noisy = with_outlier(y)
    plain = quietly(onefit.nested_cv, LinearRegression(), X, noisy)
    weighted = quietly(onefit.nested_cv, LinearRegression(), X, noisy, sample_weight=np.full(60, 3.0))
    assert [finding.kind for finding in plain.findings] == [finding.kind for finding in weighted.findings]
    unweighted = quietly(onefit.nested_cv, LinearRegression(), X, noisy, sample_weight=np.where(noisy == y, 1.0, 1e-6))
    assert "heavy tails" not in kinds(unweighted)


def test_leverage_is_what_deleting_the_row_does_and_names_it():
    X, y = with_lever(*CALM)
    result = quietly(onefit.nested_cv, LinearRegression(), pd.DataFrame(X, index=[f"r{i}" for i in range(60)]), y)
    message = of_kind(result, "leverage").message
    others = np.arange(60) != 7
    without = quietly(onefit.nested_cv, LinearRegression(), X[others], y[others]).cv_estimate
    assert message.startswith(f"Without row r7 the cross-validation error would be {without:.3g}, ")
    moved = (result.cv_estimate - without) / result.standard_error
    assert moved > 1
    assert f"moves the estimate by {moved:.3g} standard errors" in message
    in_groups = quietly(onefit.nested_cv, LinearRegression(), X, y, groups=np.arange(60) // 2)
    assert "Without the group of row 6 " in of_kind(in_groups, "leverage").message


def test_a_row_is_not_blamed_where_folds_hold_several_or_units_are_few():
    X, y = with_lever(*CALM)
    ten = quietly(onefit.nested_cv, LinearRegression(), X, y, n_folds=10, random_state=0)
    few = quietly(onefit.nested_cv, LinearRegression(), X, y, groups=np.arange(60) // 4)
    assert "leverage" not in kinds(ten) + kinds(few)


# ------------------------------------------------------------------------------------------------ order of the rows


def test_rows_that_follow_one_another_are_found_and_shuffled_ones_are_not():
    X, y = one_after_another(200)
    shuffled = np.random.default_rng(0).permutation(200)
    blocks = np.arange(200) // 8
    several = np.column_stack([y[shuffled], y])
    for keywords in ({}, {"n_folds": 10, "n_repeats": 2}, {"loss": "absolute_error"}, {"sample_weight": np.ones(200)}):
        settings = {"random_state": 0, **keywords}
        assert "dependence" in kinds(quietly(onefit.nested_cv, LinearRegression(), X, y, **settings))
        result = quietly(onefit.nested_cv, LinearRegression(), X[shuffled], y[shuffled], **settings)
        assert "dependence" not in kinds(result)
    assert "dependence" not in kinds(quietly(onefit.nested_cv, LinearRegression(), X, y, groups=blocks))
    result = quietly(onefit.nested_cv, LinearRegression(), X, several)
    assert of_kind(result, "dependence").outputs == (1,)


def test_the_order_of_rows_says_nothing_when_they_are_sorted_by_y_few_or_classes():
    X, y = one_after_another(200)
    order = np.argsort(y)
    for sign in (1, -1):
        silent = quietly(onefit.nested_cv, Ridge(1e4), X[order][::sign], y[order][::sign])
        assert "dependence" not in kinds(silent)
    assert "dependence" not in kinds(quietly(onefit.nested_cv, LinearRegression(), X[:29], y[:29]))
    assert "dependence" not in kinds(quietly(onefit.nested_cv, RidgeClassifier(), X, y > 0))
    assert "dependence" not in kinds(quietly(onefit.nested_cv, LinearRegression(), X, X.sum(axis=1)))


def test_every_value_of_a_curve_and_model_of_a_comparison_has_its_own_order_of_rows():
    X, y = one_after_another(200)
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.1, 1.0])
    assert all("dependence" in kinds(each) for each in curve.results)
    comparison = onefit.compare({"ols": LinearRegression(), "ridge": Ridge()}, X, y)
    assert all("dependence" in kinds(each) for each in comparison.results.values())


# ------------------------------------------------------------------------------- curves, comparisons, outputs, copies


def test_a_curve_warns_of_its_best_value_and_every_value_has_its_own_findings():
    X, y = CALM
    shared = {"n_folds": 6, "n_repeats": 2, "interval": "bates", "random_state": 3}
    alphas = [1e-3, 1.0, 1e4]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneFitWarning)
        curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=alphas, **shared)
    warned = [(each.category, str(each.message)) for each in caught]
    assert warned == [(KINDS[f.kind], f.text) for f in curve.results[curve.best].findings]
    assert MonteCarloWarning in {category for category, _ in warned}
    assert {each.filename for each in caught} == {__file__}
    for alpha, each in zip(alphas, curve.results, strict=True):
        assert each.findings == quietly(onefit.nested_cv, Ridge(alpha), X, y, **shared).findings
    assert len({each.findings for each in curve.results}) > 1


def test_a_comparison_warns_for_each_model_and_once_that_it_was_stopped():
    X, y = CALM
    models = {"ols": LinearRegression(), "huber": HuberRegressor(alpha=0.1)}
    with pytest.warns(HeavyTailWarning) as caught:
        comparison = onefit.compare(models, X, with_outlier(y), n_folds=3, n_repeats=40, random_state=0)
    assert [each.category for each in caught].count(HeavyTailWarning) == 2
    with pytest.warns(InterruptedWarning) as caught:
        comparison = onefit.compare(models, X, y, n_folds=3, n_repeats=4, random_state=0, progress=stop)
    assert [each.category for each in caught].count(InterruptedWarning) == 1
    assert {each.filename for each in caught} == {__file__}
    assert all(kinds(each)[0] == "interrupted" for each in comparison.results.values())


def test_of_several_outputs_the_report_shows_tails_where_they_are():
    pytest.importorskip("jinja2")
    from onefit.report import Request
    from onefit.report.checks import SHOWN, checks
    from onefit.report.subject import Subject

    assert set(SHOWN) == set(KINDS)
    X, y = CALM
    result = quietly(onefit.nested_cv, LinearRegression(), X, np.column_stack([y, with_outlier(y)]))
    assert kinds(result) == ["heavy tails", "leverage"]
    assert [finding.outputs for finding in result.findings] == [(1,), (1,)]
    told = [checks(Subject(Request(), result, None, None, None, None), q) for q in range(2)]
    tails = [next(check for check in each if check.title.startswith("Tails")) for each in told]
    assert [check.status for check in tails] == ["fine", "look"]
    assert tails[1].text == result.findings[0].text


def test_findings_are_plain_in_a_dictionary_and_survive_copies(found):
    for result, _ in found.values():
        assert result.to_dict()["scale"] == result.scale
        plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))["findings"]
        assert plain == [{"kind": f.kind, "message": f.message, "remedy": f.remedy} for f in result.findings]
        for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            assert again.findings == result.findings
            assert again.scale == result.scale
