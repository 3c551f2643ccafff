"""The coverage study: its truths, its rows, its seeds, its resumption and its results."""

from __future__ import annotations

import io
import json
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, Ridge

import onefit
from helpers import STRICT, quiet_nested_cv, quietly, run_validation
from onefit.datasets import make_grouped, make_linear

ROOT = Path(__file__).resolve().parents[2]
CHEAP = "ols-40-5"


def study(work, n, **options):
    """Figures of the cheapest setting."""
    from validation.progress import Bar
    from validation.work import collect

    return collect({CHEAP: n}, work, options.get("jobs", 1), Bar(io.StringIO()))[CHEAP]


def drawn(name):
    """First data set of a setting, the seed of its folds, and {key: figures} of its rows."""
    from validation.settings import SETTINGS
    from validation.work import Block, figures_of

    setting = SETTINGS[name]
    seeds = np.random.SeedSequence((crc32(name.encode()), 0)).generate_state(2)
    figures = figures_of(Block(name, 0, 1))[0]
    return setting.data.draw(int(seeds[0])), int(seeds[1]), dict(zip(setting.rows(), figures, strict=True))


def direct(simulation, estimator, key, seed, groups=None):
    """Estimate, low and high of a row, by a call of nested_cv."""
    folds = key.folds if key.folds == "n" else int(key.folds)
    options = {"n_folds": folds, "n_repeats": key.repeats, "loss": key.loss, "confidence_level": 0.9, "groups": groups}
    from validation.before import with_rule_before

    with with_rule_before():
        result = quiet_nested_cv(estimator, simulation.X, simulation.y, random_state=seed, **options)
    return result.intervals.loc[key.rule, ["estimate", "low", "high"]].to_numpy(float)


@pytest.mark.parametrize(("kind", "law"), [("t3", stats.t(3, scale=3**-0.5)), ("exponential", stats.expon(loc=-1))])
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 0.5), (0.3, 1.2)])
def test_absolute_and_huber_error_are_the_double_integral_over_noise_and_prediction(kind, law, mean, deviation):
    from validation.data import AbsoluteError, HuberError

    # For fixed noise e, |e + d| has a folded normal mean; Gauss and Legendre's rule on pieces of the noise's quantiles.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.concatenate([-np.geomspace(1e6, 1e-2, 160), np.linspace(-9e-3, 9e-3, 3), np.geomspace(1e-2, 1e6, 160)])
    edges = np.union1d(edges, [-1.0])  # the exponential begins there
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    e = middle[:, None] + half[:, None] * nodes
    u = (e + mean) / deviation
    folded = deviation * (2 * stats.norm.pdf(u) + u * (2 * stats.norm.cdf(u) - 1))
    expected = (half[:, None] * weights * folded * law.pdf(e)).sum()
    assert AbsoluteError(kind).of_normal(mean, deviation) == pytest.approx(expected, rel=STRICT)
    low, high = ((sign * 1.35 - mean - e) / deviation for sign in (-1, 1))  # Huber's loss is square between these
    inside, m = stats.norm.cdf(high) - stats.norm.cdf(low), e + mean
    at_low, at_high = stats.norm.pdf(low), stats.norm.pdf(high)
    square = (m**2 + deviation**2) * inside + deviation**2 * (low * at_low - high * at_high)
    square += 2 * m * deviation * (at_low - at_high)
    linear = m * (stats.norm.sf(high) - stats.norm.cdf(low)) + deviation * (at_high + at_low)
    huber = square / 2 + 1.35 * linear - 1.35**2 / 2 * (1 - inside)
    if kind == "t3":  # the density of the exponential has a jump, which that average of absolute errors feels
        expected = (half[:, None] * weights * huber * law.pdf(e)).sum()
        assert HuberError(kind).of_normal(mean, deviation) == pytest.approx(expected, rel=STRICT)


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
    assert row["width"] == row["median_width"] == row["largest_width"] == 1.0
    assert row["bias"] == pytest.approx(0.1, rel=1e-12)
    assert row["coverage_se"] == pytest.approx(np.sqrt(0.25 * 0.75 / 3), rel=1e-12)
    deviations = [0.1, -0.9, 1.1, 0.1]
    assert row["normal_width"] == pytest.approx(2 * stats.norm.ppf(0.95) * np.std(deviations, ddof=1), rel=1e-12)
    assert row["oracle_width"] == pytest.approx(np.subtract(*np.quantile(deviations, [0.95, 0.05])), rel=1e-12)


def test_standard_errors_of_widths_are_those_of_many_normal_samples():
    from validation.summary import _row

    rng = np.random.default_rng(0)
    drawn_rows = []
    for _ in range(400):
        deviation, log_width = rng.standard_normal((2, 400))
        one = np.zeros(400)
        drawn_rows.append(_row(np.column_stack([one, deviation, one, np.exp(0.3 * log_width)]), True, 0.9))
    table = pd.DataFrame(drawn_rows)
    for name in ("median_width", "oracle_width", "normal_width"):
        ratio = np.sqrt(np.mean(table[f"{name}_se"] ** 2)) / table[name].std()
        assert 0.85 < ratio < 1.15, name  # 400 samples: the deviation is known to 3.5%, four times that


def test_means_are_left_out_where_the_loss_has_no_variance():
    from validation.settings import SETTINGS
    from validation.summary import summarize

    setting = SETTINGS["noise-t3"]
    figures = np.tile([[[1.0, 1.1, 0.5, 1.5]], [[1.0, 1.2, 0.5, 1.5]]], (1, len(setting.rows()), 1))
    table = summarize(setting, figures).set_index("loss")
    for name in ("width", "bias", "bias_se", "normal_width"):
        assert table.loc["squared_error", name].isna().all()
        assert table.loc["absolute_error", name].notna().all()
    assert table[["median_width", "oracle_width", "coverage"]].notna().all(axis=None)


@pytest.mark.slow
def test_the_result_does_not_depend_on_interruption_blocks_or_jobs(tmp_path):
    from validation.settings import SETTINGS

    whole = study(tmp_path / "one", 60)
    partial = study(tmp_path / "two", 50)
    resumed = study(tmp_path / "two", 60, jobs=2)
    assert whole.shape == (60, len(SETTINGS[CHEAP].rows()), 4)
    np.testing.assert_array_equal(whole[:50], partial)
    np.testing.assert_array_equal(whole, resumed)
    np.testing.assert_array_equal(whole[7], SETTINGS[CHEAP].replicate(7))


def test_finished_blocks_are_not_computed_again(tmp_path):
    from validation import work
    from validation.settings import SETTINGS

    first = study(tmp_path, 3)
    path = work.blocks_of(SETTINGS[CHEAP], 3)[0].path(tmp_path)
    marked = np.concatenate([first[:1], first[1:] + 1])  # the first replication is computed again, and must agree
    np.save(path, marked)
    np.testing.assert_array_equal(study(tmp_path, 3), marked)
    assert sorted(file.name for file in path.parent.iterdir()) == ["00000-00003.npy", "facts.json"]  # nothing in part
    np.save(path, first * (1 + 1e-8))
    with pytest.raises(SystemExit, match=r"replication 0 of ols-40-5, computed again, differs by more than 1e-09"):
        study(tmp_path, 3)
    np.save(path, first)
    facts = path.parent / "facts.json"
    facts.write_text(facts.read_text().replace('"confidence_level": 0.9,', '"confidence_level": 0.95,'))
    with pytest.raises(SystemExit, match="made by other code"):
        study(tmp_path, 3)


def test_partial_results_of_another_setting_are_not_taken_up():
    from dataclasses import replace

    from validation.data import Data
    from validation.settings import SETTINGS

    setting = SETTINGS[CHEAP]
    other = replace(setting, data=Data.of("make_linear", n=40, p=6, beta=0.0))
    assert other.digest != setting.digest
    assert replace(setting, seconds=9.0).digest == setting.digest
    assert replace(setting, level=0.95).digest != setting.digest


def test_digests_are_the_same_in_every_process():
    from validation.settings import SETTINGS

    assert not any(" at 0x" in repr(setting.analyses) for setting in SETTINGS.values())  # the address of an object


@pytest.mark.parametrize("name", ["fpcr", "groups", "noise-t3", "ols-400-20", "tuned-50-20"])
def test_only_the_rule_of_the_paper_may_have_no_interval(name):
    for key, figures in drawn(name)[2].items():
        assert np.isfinite(figures[:2]).all()
        assert np.isfinite(figures).all() or key.rule == "paper"
        assert not figures[2] > figures[1]
        assert not figures[3] < figures[1]


@pytest.mark.parametrize("name", ["groups", "groups-unequal", "noise-t3", "noise-t3-huber", "ols-40-5"])
def test_rows_of_nested_cv_are_those_of_direct_calls(name):
    from validation.data import AbsoluteError, HuberError

    simulation, seed, rows = drawn(name)
    model = LinearRegression().fit(simulation.X, simulation.y)
    beta = simulation.mean(np.eye(simulation.X.shape[1]))
    # The columns are independent and N(0, 1).
    squared = simulation.best_error + np.square(model.coef_ - beta).sum() + model.intercept_**2
    for key, figures in rows.items():
        groups = simulation.groups if key.model == "with groups" else None
        truths = {"absolute_error": AbsoluteError("t3"), "huber": HuberError("t3")}
        truth = truths[key.loss](simulation, model) if key.loss in truths else squared
        expected = [truth, *direct(simulation, LinearRegression(), key, seed, groups)]
        np.testing.assert_allclose(figures, expected, rtol=STRICT)


def test_rows_with_and_without_groups_differ():
    rows = drawn("groups")[2]
    named = {(key.model, key.rule, key.folds): figures for key, figures in rows.items()}
    for (model, rule, folds), figures in named.items():
        if model == "with groups" and (rule, folds) != ("naive", "n"):
            assert (np.abs(figures[2:] / named["without groups", rule, folds][2:] - 1) > 1e-6).all()


def test_groups_are_cut_to_sizes_of_two_to_eight():
    from validation.data import UnequalGroups

    law = {"n_groups": 200, "group_size": 8, "p": 3}
    cut, whole = UnequalGroups.of("make_grouped", **law).draw(5), make_grouped(**law, random_state=5)
    sizes = np.bincount(cut.groups)
    assert (len(sizes), set(sizes)) == (200, set(range(2, 9)))
    for group, size in enumerate(sizes):
        np.testing.assert_array_equal(cut.X[cut.groups == group], whole.X[whole.groups == group][:size])
        np.testing.assert_array_equal(cut.y[cut.groups == group], whole.y[whole.groups == group][:size])


def test_rows_of_a_curve_and_of_pairs_are_those_of_direct_calls():
    from validation.analyses import Pair
    from validation.simulated import LAMBDAS

    s, seed, rows = drawn("fpcr")
    options = {"n_folds": "n", "confidence_level": 0.9}
    truth = {lam: s.true_error(onefit.FPCR(lam=lam).fit(s.X, s.y)) for lam in LAMBDAS}
    curve = onefit.error_curve(onefit.FPCR(), s.X, s.y, param_name="lam", param_range=LAMBDAS, **options)
    found = list(rows.values())
    expected = np.column_stack([list(truth.values()), curve.estimate, curve.low, curve.high])
    np.testing.assert_allclose(found[:6], expected, rtol=STRICT)
    for (a, b), figures in zip(((1e-6, 1e-4), (1e-5, 1e-3)), found[6:], strict=True):
        models = {lam: onefit.FPCR(lam=lam) for lam in (a, b)}
        table = onefit.compare({str(lam): model for lam, model in models.items()}, s.X, s.y, **options).to_frame()
        sign = 1 if (str(a), str(b)) in table.index else -1
        row = table.loc[(str(a), str(b)) if sign == 1 else (str(b), str(a))]
        ends = sorted([sign * row["low"], sign * row["high"]])
        np.testing.assert_allclose(figures, [truth[a] - truth[b], sign * row["estimate"], *ends], rtol=STRICT)
        # The estimates by themselves say the same difference, but for what their log scale does to it.
        alone = np.subtract(*(curve.estimate[LAMBDAS.index(lam)] for lam in (a, b)))
        assert np.sign(alone) == np.sign(figures[1])
        turned = Pair("b", "a", (models[b], models[a])).run(s, seed, 0.9)[0]
        np.testing.assert_allclose(turned, -figures[[0, 1, 3, 2]], rtol=STRICT)


def test_tuned_outside_is_judged_at_the_penalty_of_the_smallest_estimate():
    from validation.simulated import PENALTIES

    s, _, rows = drawn("tuned-50-20")
    figures = next(figures for key, figures in rows.items() if key.model == "ridge, tuned outside")
    curve = quietly(
        onefit.error_curve,
        Ridge(),
        s.X,
        s.y,
        param_name="alpha",
        param_range=PENALTIES,
        n_folds="n",
        confidence_level=0.9,
    )
    chosen = curve.select("min")
    at = int(np.argmin(curve.estimate))
    assert PENALTIES[at] == chosen != PENALTIES[0]
    truth = s.true_error(Ridge(chosen).fit(s.X, s.y))
    np.testing.assert_allclose(figures, [truth, curve.estimate[at], curve.low[at], curve.high[at]], rtol=STRICT)


def test_rows_are_told_apart_by_their_keys():
    from validation.settings import SETTINGS

    keys = [(name, key) for name, setting in SETTINGS.items() for key in setting.rows()]
    assert len(set(keys)) == len(keys)


def test_quick_run_writes_only_where_told(tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "validation").rglob("*.csv")}
    run_validation("--quick", "--only", CHEAP, "--output", tmp_path / "out")
    assert "has the results" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "out" / "coverage.csv")
    assert set(table["replications"]) == {2}
    about = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert about["settings"][CHEAP]["command"].startswith("python -m validation --jobs 1 --quick --only")
    assert about["settings"][CHEAP]["versions"][0]["numpy"] == np.__version__
    assert about["settings"][CHEAP]["data"] == {"maker": "onefit.datasets.make_linear", "n": 40, "p": 5, "beta": 0.0}
    run_validation("--table", "--output", tmp_path / "out")
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(table.query("rule == 'covariance'"))
    assert before == {path: path.stat().st_mtime_ns for path in (ROOT / "validation").rglob("*.csv")}


def test_settings_that_are_run_later_join_those_that_are_there(tmp_path, capsys):
    from validation import work

    run_validation("--quick", "--only", "ols-40-5", "--output", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "version", lambda _: "another")
        run_validation("--quick", "--only", "ols-40-20", "--output", tmp_path)
    run_validation("--quick", "--only", "ols-40-5", "--replications", 3, "--output", tmp_path)
    about = json.loads((tmp_path / "coverage.json").read_text())["settings"]
    assert {name: facts["replications"] for name, facts in about.items()} == {"ols-40-20": 2, "ols-40-5": 3}
    assert [facts["versions"][0]["numpy"] for facts in about.values()] == ["another", np.__version__]
    table = pd.read_csv(tmp_path / "coverage.csv")
    assert list(dict.fromkeys(table["setting"])) == ["ols-40-20", "ols-40-5"]
    assert not table.duplicated(["setting", "rule", "folds"]).any()


def test_results_of_more_data_sets_are_not_replaced_but_what_is_there_can_be_summarized(tmp_path, monkeypatch):
    from validation import __main__ as command

    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    options = ("--only", CHEAP, "--work", tmp_path / "work")
    run_validation(*options, "--replications", 4)
    with pytest.raises(SystemExit, match="has 4 data sets of ols-40-5, and 3 would replace them"):
        run_validation(*options, "--replications", 3)
    run_validation(*options, "--replications", 3, "--output", tmp_path / "other")
    run_validation(*options, "--as-is", "--replications", 4)
    about = json.loads((tmp_path / "results" / "coverage.json").read_text())["settings"][CHEAP]
    assert (about["replications"], "--as-is" in about["command"], about["digest"]) == (
        4,
        True,
        command.SETTINGS[CHEAP].digest,
    )


def test_an_unknown_setting_is_refused_by_name(capsys):
    with pytest.raises(SystemExit):
        run_validation("--only", "ols-41-5")
    assert "no setting ols-41-5" in capsys.readouterr().err


def test_list_names_every_setting(capsys):
    from validation.settings import SETTINGS

    run_validation("--list")
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
