"""The examples that are run as scripts, and the page on the models: what they print is true."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import onefit
from helpers import DATA, quiet_nested_cv
from onefit import FPCR, SplineRegression
from onefit.datasets import load_motorcycle, make_signal

ROOT = Path(__file__).resolve().parents[1]
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
    each = [onefit.nested_cv(SplineRegression(knots=knots), X, y, **run).estimate for knots in ("refit", None)]
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


# -------------------------------------------------------------------------------------- the page


def test_the_page_on_the_models_prints_what_stands_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    snippets = re.findall(r"(?ms)^```python\n(.*?)^```\n\n((?:    [^\n]*\n)+)", page)
    assert len(snippets) == page.count("```python") == 6
    names = {}
    for code, expected in snippets:
        exec(code, names)
        printed = capsys.readouterr().out
        assert printed.splitlines() == [line[4:] for line in expected.splitlines()]
    assert is_picture(tmp_path / "terms.png")
    assert is_picture(tmp_path / "omega.png")


def test_the_page_on_the_models_names_tests_and_files_that_exist():
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) >= 5
    assert [name for name in named if f"def {name}(" not in sources] == []
    assert all((ROOT / path).exists() for path in re.findall(r"`(?:python )?((?:tests|examples)/\w+\.py)`", page))
    assert all((ROOT / "docs" / path).exists() for path in re.findall(r"\]\((images/[^)]+|guide\.md)", page))
