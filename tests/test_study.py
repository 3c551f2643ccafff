"""The coverage study: its truths, its seeds, its resumption, its table; and the stopping rule that it leans on."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from helpers import warned_nested_cv
from onefit.datasets import make_linear
from onefit.errors import MonteCarloWarning

ROOT = Path(__file__).resolve().parents[1]
CHEAP = "ols-40-5"


@pytest.fixture(autouse=True)
def _root_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the processes of joblib
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "validation"]:
        del sys.modules[name]


def run_main(*arguments):
    """What ``python -m validation`` does, in this process and one job."""
    from validation.__main__ import main

    main(["--jobs", "1", *map(str, arguments)])


def study(work, n, **options):
    """Figures of the cheapest setting."""
    from validation.progress import Bar
    from validation.settings import SETTINGS
    from validation.work import collect

    return collect([SETTINGS[CHEAP]], n, work, options.get("jobs", 1), Bar(io.StringIO()))[CHEAP]


@pytest.mark.parametrize(("kind", "law"), [("t3", stats.t(3, scale=3**-0.5)), ("exponential", stats.expon(loc=-1))])
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 0.5), (0.3, 1.2)])
def test_absolute_error_is_the_double_integral_over_noise_and_prediction(kind, law, mean, deviation):
    from validation.data import AbsoluteError

    # For fixed noise e, |e + d| has a folded normal mean; Gauss and Legendre's rule on pieces of the noise's quantiles.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.concatenate([-np.geomspace(1e6, 1e-2, 160), np.linspace(-9e-3, 9e-3, 3), np.geomspace(1e-2, 1e6, 160)])
    edges = np.union1d(edges, [-1.0])  # the exponential begins there
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    e = middle[:, None] + half[:, None] * nodes
    u = (e + mean) / deviation
    folded = deviation * (2 * stats.norm.pdf(u) + u * (2 * stats.norm.cdf(u) - 1))
    expected = (half[:, None] * weights * folded * law.pdf(e)).sum()
    assert AbsoluteError(kind).of_normal(mean, deviation) == pytest.approx(expected, rel=1e-9)


def test_absolute_error_of_a_fit_agrees_with_fresh_rows():
    from validation.data import AbsoluteError

    simulation = make_linear(60, 5, noise_kind="exponential", random_state=0)
    model = LinearRegression().fit(simulation.X, simulation.y)
    X, y = simulation.sample(400_000, random_state=1)
    losses = np.abs(y - model.predict(X))
    z = (AbsoluteError("exponential")(simulation, model) - losses.mean()) / (losses.std() / np.sqrt(losses.size))
    assert abs(z) < 4


def test_error_from_fresh_rows_agrees_with_the_exact_one_where_that_is_known():
    from validation.data import EXACT, FreshRows

    simulation = make_linear(60, 5, random_state=0)
    model = LinearRegression().fit(simulation.X, simulation.y)
    exact = EXACT(simulation, model)
    # The distance from the mean is normal with this variance, so that its square has twice the variance squared.
    se = (exact - 1) * np.sqrt(2 / 50_000)
    assert abs(FreshRows()(simulation, model) - exact) < 4 * se


def test_a_row_counts_misses_on_each_side_and_missing_intervals():
    from validation.settings import SETTINGS
    from validation.summary import summarize

    setting = SETTINGS[CHEAP]
    one = np.array([[1.0, 1.1, 0.5, 1.5], [2.0, 1.1, 0.5, 1.5], [0.0, 1.1, 0.5, 1.5], [1.0, 1.1, np.nan, np.nan]])
    row = summarize(setting, np.repeat(one[:, None], len(setting.rows()), axis=1)).iloc[0]
    assert list(row[["coverage", "miss_above", "miss_below", "no_interval"]]) == [0.25, 0.25, 0.25, 0.25]
    assert row["coverage_mean"] == 0.75  # the mean error is 1
    assert row["width"] == 1.0
    assert row["bias"] == pytest.approx(0.1, rel=1e-12)
    assert row["coverage_se"] == pytest.approx(np.sqrt(0.25 * 0.75 / 3), rel=1e-12)
    assert row["oracle_width"] == pytest.approx(
        2 * stats.norm.ppf(0.95) * np.std([0.1, -0.9, 1.1, 0.1], ddof=1), rel=1e-12
    )


def test_the_result_does_not_depend_on_interruption_blocks_or_jobs(tmp_path):
    from validation.settings import SETTINGS

    whole = study(tmp_path / "one", 60)
    partial = study(tmp_path / "two", 50)
    resumed = study(tmp_path / "two", 60, jobs=2)
    assert whole.shape == (60, len(SETTINGS[CHEAP].rows()), 4)
    np.testing.assert_array_equal(whole[:50], partial)
    np.testing.assert_array_equal(whole, resumed)
    np.testing.assert_array_equal(whole[7], SETTINGS[CHEAP].replicate(7))


def test_finished_blocks_are_not_computed_again(tmp_path, monkeypatch):
    from validation import work
    from validation.settings import SETTINGS

    first = study(tmp_path, 3)
    path = work.blocks_of(SETTINGS[CHEAP], 3)[0].path(tmp_path)
    np.save(path, first + 1)
    np.testing.assert_array_equal(study(tmp_path, 3), first + 1)
    assert sorted(file.name for file in path.parent.iterdir()) == ["00000-00003.npy"]  # no half-written file is left


def test_partial_results_of_another_setting_are_not_taken_up():
    from dataclasses import replace

    from validation.data import Data
    from validation.settings import SETTINGS

    setting = SETTINGS[CHEAP]
    other = replace(setting, data=Data.of("make_linear", n=40, p=6, beta=0.0))
    assert other.digest != setting.digest
    assert replace(setting, seconds=9.0).digest == setting.digest


def test_digests_are_the_same_in_every_process():
    from validation.settings import SETTINGS

    assert not any(" at 0x" in repr(setting.analyses) for setting in SETTINGS.values())  # the address of an object


@pytest.mark.parametrize("name", ["fpcr", "groups", "noise-t3", "spline-reml", "tuned-50-20"])
def test_every_kind_of_analysis_gives_ordered_intervals_about_its_estimate(name):
    from validation.settings import SETTINGS
    from validation.work import Block, figures_of

    figures = figures_of(Block(name, 0, 1))[0]
    assert figures.shape == (len(SETTINGS[name].rows()), 4)
    there = np.isfinite(figures).all(axis=1)
    truth, estimate, low, high = figures[there].T
    assert there.mean() >= 0.7
    assert ((low < estimate) & (estimate < high)).all()
    errors = np.array([key.target == "error" for key in SETTINGS[name].rows()])[there]
    assert (truth[errors] > 0).all()


def test_rows_are_told_apart_by_their_keys():
    from validation.settings import SETTINGS

    keys = [(name, key) for name, setting in SETTINGS.items() for key in setting.rows()]
    assert len(set(keys)) == len(keys)


def test_every_reference_belongs_to_a_row():
    from validation.reference import REFERENCE
    from validation.settings import SETTINGS
    from validation.summary import KEY

    known = pd.read_csv(REFERENCE, dtype={"folds": str})
    rows = {(name, *key.fields().values()) for name, setting in SETTINGS.items() for key in setting.rows()}
    assert set(known[KEY].itertuples(index=False, name=None)) <= rows
    assert known["se"].between(0.005, 0.008).all()


def test_a_difference_beyond_three_standard_errors_is_listed():
    from validation.reference import REFERENCE, report
    from validation.summary import KEY

    known = pd.read_csv(REFERENCE, dtype={"folds": str}).head(4)
    table = known[[*KEY, "coverage", "width"]].assign(coverage_se=0.006, width_se=0.01)
    assert report(table).startswith("4 rows have a reference in reference.csv; 0 differ")
    table.loc[1, "coverage"] -= 4 * np.hypot(0.006, known.loc[1, "se"])
    assert "4 rows" in report(table)
    assert "-4.0 se" in report(table)
    assert len(report(table).splitlines()) == 2


def test_quick_run_writes_only_where_told(tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "validation").rglob("*.csv")}
    run_main("--quick", "--only", CHEAP, "--output", tmp_path / "out")
    out = capsys.readouterr().out
    assert "4 rows have a reference" in out
    table = pd.read_csv(tmp_path / "out" / "coverage.csv")
    assert set(table["replications"]) == {2}
    about = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert about["command"] == "python -m validation --quick"
    assert about["settings"][CHEAP]["data"] == {"maker": "onefit.datasets.make_linear", "n": 40, "p": 5, "beta": 0.0}
    run_main("--table", "--output", tmp_path / "out")
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(table)
    assert before == {path: path.stat().st_mtime_ns for path in (ROOT / "validation").rglob("*.csv")}


def test_settings_that_are_run_later_join_those_that_are_there(tmp_path, capsys):
    for name in ("ols-40-5", "ols-40-20", "ols-40-5"):
        run_main("--quick", "--only", name, "--output", tmp_path)
    table = pd.read_csv(tmp_path / "coverage.csv")
    assert list(dict.fromkeys(table["setting"])) == ["ols-40-20", "ols-40-5"]
    assert not table.duplicated(["setting", "rule", "folds"]).any()


def test_an_unknown_setting_is_refused_by_name(capsys):
    with pytest.raises(SystemExit):
        run_main("--only", "ols-41-5")
    assert "no setting ols-41-5" in capsys.readouterr().err


def test_list_names_every_setting(capsys):
    from validation.settings import SETTINGS

    run_main("--list")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SETTINGS)


def test_progress_says_what_is_left():
    from validation.progress import Bar, clock

    stream = io.StringIO()
    bar = Bar(stream)
    bar.start(100.0, 50.0)
    bar.advance("ols-40-5", 25.0, 3.0)
    assert clock(125.4) == "2:05"
    first, second = stream.getvalue().splitlines()
    assert "50% is already there" in first
    assert " 75%" in second
    assert second.endswith("ols-40-5")


def test_table_goes_between_its_markers(tmp_path):
    from validation.settings import SETTINGS
    from validation.summary import summarize
    from validation.table import BEGIN, END, insert, markdown

    setting = SETTINGS[CHEAP]
    figures = np.stack([setting.replicate(at) for at in range(3)])
    table = summarize(setting, figures)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert insert(page, table)
    assert not insert(page, table)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    assert len({line.count("|") for line in markdown(table).splitlines()}) == 1
    page.write_text("no markers")
    with pytest.raises(ValueError, match="add them"):
        insert(page, table)


def test_the_page_holds_the_table_of_the_results():
    from validation.summary import read
    from validation.table import BEGIN, END, markdown, shortened

    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == markdown(shortened(read(ROOT / "validation" / "results")))


def test_monte_carlo_error_of_averages_falls_with_the_root_of_the_repeats():
    from validation.montecarlo import needed

    table = pd.DataFrame(
        {"rule": "covariance", "repeats": [1, 4, 16], "relative_error": [0.2, 0.1, 0.05], "no_interval": 0.0}
    )
    assert needed(table, "covariance") == pytest.approx(16, rel=1e-12)
    assert needed(table, "covariance", target=0.025) == pytest.approx(64, rel=1e-12)


def test_quick_monte_carlo_gives_its_table_and_picture(tmp_path, capsys):
    run_main("--montecarlo", "--quick", "--output", tmp_path)
    table = pd.read_csv(tmp_path / "montecarlo.csv")
    assert len(table) == 5 * 3
    assert (tmp_path / "trust-montecarlo.png").stat().st_size > 10_000
    assert "covariance" in capsys.readouterr().out


def half_width(result):
    return (result.interval[1] - result.interval[0]) / 2


@pytest.mark.slow
def test_automatic_repeats_keep_their_promise_of_five_percent():
    """Root mean square over data sets and seeds of the half-width's error, against 2,000 repeats."""
    errors, repeats = [], []
    for data_set in range(40):
        s = make_linear(100, 20, beta=0.0, random_state=data_set)
        reference = half_width(
            warned_nested_cv(LinearRegression(), s.X, s.y, n_folds=10, n_repeats=2000, random_state=999)[0]
        )
        for seed in range(3):
            result, _ = warned_nested_cv(LinearRegression(), s.X, s.y, n_folds=10, random_state=seed)
            errors.append(half_width(result) / reference - 1)
            repeats.append(result.n_repeats)
    assert np.sqrt(np.mean(np.square(errors))) < 0.05
    assert np.median(repeats) <= 10  # the other rules that use the repeats end at 200: next test
    assert max(repeats) < 50


@pytest.mark.parametrize("rule", ["bates", "paper", "mlr3"])
def test_automatic_repeats_warn_at_their_limit(rule):
    s = make_linear(400, 20, beta=0.0, random_state=0)
    result, warned = warned_nested_cv(LinearRegression(), s.X, s.y, n_folds=10, interval=rule, random_state=0)
    assert result.n_repeats == 200
    assert result.monte_carlo_error > 0.10
    assert "limit of 200" in warned[MonteCarloWarning]


def test_covariance_rule_is_settled_where_the_others_are_not():
    s = make_linear(400, 20, beta=0.0, random_state=0)
    result, warned = warned_nested_cv(LinearRegression(), s.X, s.y, n_folds=10, random_state=0)
    assert result.n_repeats <= 10
    assert result.monte_carlo_error < 0.05
    assert warned == {}
