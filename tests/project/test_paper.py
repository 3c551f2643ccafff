"""The paper made again: Proposition 2 by algebra, the figures' models by refits, and the command on small grids."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onefit
from helpers import (
    optional,
    quiet_nested_cv,
)
from onefit.datasets import make_signal, make_sine
from reference import quartic

sympy = optional("sympy")

ROOT = Path(__file__).resolve().parents[2]


# ------------------------------------------------------------------------------------ Proposition 2


def test_the_quartic_is_the_difference_of_the_counts_of_tables_2_and_3():
    from paper.counts import ONE_STEP, REFIT, total

    n, p, K = sympy.symbols("n p K", positive=True)
    difference = 6 * K**2 * (total(REFIT, n, p, K) - total(ONE_STEP, n, p, K))
    assert sympy.expand(difference - quartic(n, p, K)) == 0


def test_the_steps_add_up_to_the_totals_that_the_paper_prints():
    from paper.counts import ONE_STEP, REFIT

    n, p, h = sympy.symbols("n p h", positive=True)
    one_step, refit = (sum(count(n, p, h) for _, count in steps.values()) for steps in (ONE_STEP, REFIT))
    assert sympy.expand(one_step - (2 * p**2 * h + 2 * p * h**2 + h**3 / 3 + 5 * h**2)) == 0
    assert sympy.expand(refit - (2 * p**2 * (n - h) + p**3 / 3 + 5 * p**2 + 2 * p * n + h)) == 0


@pytest.mark.parametrize("n", [20, 100, 1000, 4000])
@pytest.mark.parametrize("p", [1, 5, 20, 50, 300])
def test_breakeven_is_the_smallest_root_between_2_and_n(n, p):
    K = sympy.Symbol("K")
    roots = [float(root.evalf(30)) for root in sympy.Poly(quartic(n, p, K), K).real_roots()]
    inside = sorted(root for root in roots if 2 <= root <= n)
    found = onefit.breakeven_folds(n, p)
    if inside:
        assert found == pytest.approx(inside[0], rel=1e-9)
    else:
        assert found == (None if quartic(n, p, n) > 0 else np.inf)


# --------------------------------------------------------------------------------- Figures 1 to 3


@pytest.mark.parametrize(
    "sizes", [(60, 5, 12), (60, 20, 12), (120, 10, 5, 1.0, 2.0), (400, 40, 80), (1600, 40, 20)], ids=str
)
def test_every_way_gives_the_fold_errors_of_the_spline_itself(sizes):
    from benchmarks.measure import difference_of
    from benchmarks.sweep import sample
    from paper.peers import PEERS
    from paper.shapes import DATA, Shape

    shape = Shape(*sizes)
    sim = make_sine(shape.n, noise=shape.noise, random_state=np.random.default_rng(DATA))
    spline = onefit.SplineRegression(n_basis=shape.p, basis="tp", lam=shape.lam)
    folds = shape.folds()
    expected = quiet_nested_cv(spline, sim.X, sim.y, folds=folds).fold_errors
    for route in ("gram", "onestep"):
        found = quiet_nested_cv(shape.estimator, shape.X, shape.y, folds=folds, route=route).fold_errors
        np.testing.assert_allclose(found.e_in, expected.e_in, rtol=1e-9)
        np.testing.assert_allclose(found.e_out, expected.e_out, rtol=1e-9)
    for prepare in PEERS.values():
        some = sample(lambda prepare=prepare: prepare(shape.system), folds[0], 0.1)
        assert difference_of(some, (expected.e_in, expected.e_out)) <= 1e-9


def test_rotated_coordinates_are_of_the_same_fit_with_normal_equations_of_the_identity():
    from paper.shapes import Shape

    shape = Shape(80, 12, 16)
    X, S = shape.system.X, shape.system.penalty
    np.testing.assert_allclose(X.T @ X + S, np.eye(12), atol=1e-12)
    fitted = shape.estimator.fit(shape.X, shape.y).predict(shape.X)
    np.testing.assert_allclose(X @ (X.T @ shape.y), fitted, rtol=1e-9, atol=1e-11)


def test_the_first_partition_does_not_depend_on_the_number_of_repeats():
    from paper.shapes import Shape

    shape = Shape(60, 5, 12)
    np.testing.assert_array_equal(shape.folds()[0], shape.folds(10)[0])
    assert (np.bincount(shape.folds()[0]) == 5).all()


def test_ways_that_disagree_stop_the_run():
    from paper.timing import agreed

    assert agreed("refit", 9e-10) == 9e-10
    for difference in (1.1e-9, np.nan):
        with pytest.raises(AssertionError, match="refit differs from onefit"):
            agreed("refit", difference)


def test_a_sample_is_extended_by_its_medians():
    from benchmarks.sweep import Sample
    from paper.timing import proportional

    found = Sample(4, preparation=0.5, singles=[1.0, 3.0, 100.0], pairs=[10.0])
    assert proportional(found) == 0.5 + 4 * 3.0 + 6 * 10.0
    assert proportional(found, 200) == 0.5 + 200 * (4 * 3.0 + 6 * 10.0)  # prepared once


def test_the_crossover_is_interpolated_on_logarithmic_axes():
    from paper.speed import crossover

    K = pd.Series([5, 10, 20, 40])
    assert crossover(K, (K / 15.0) ** 2) == "15.0"
    assert crossover(K, K / 1.0) == "before 5"
    assert crossover(K, K / 100.0) == "after 40"


def test_data_and_partitions_have_seeds_of_their_own():
    from paper.shapes import DATA, partitions

    default, of_data = partitions(60, 12, 1), partitions(60, 12, 1, DATA)
    assert (default != of_data).any()
    np.testing.assert_array_equal(default, partitions(60, 12, 1))


def test_a_route_that_was_not_run_is_not_counted_as_slower(quick):
    from paper.words import describe_folds, describe_rows

    found = pd.read_csv(quick[0] / "results" / "figure1.csv").assign(gram_s=1.0, onestep_s=2.0)
    assert f"faster than onestep in {len(found)} of {len(found)} shapes (single" in describe_rows({"figure1": found})
    found.loc[0, "gram_s"] = np.nan
    text = describe_rows({"figure1": found})
    assert f"faster than onestep in {len(found) - 1} of {len(found) - 1} shapes (1 left out" in text
    folds = pd.read_csv(quick[0] / "results" / "figure3.csv").assign(fastest="gram", auto_route="gram")
    folds.loc[0, ["gram_s", "auto_route", "choice/fastest"]] = [np.nan, "onestep", np.nan]
    lines = pd.read_csv(quick[0] / "results" / "figure3_crossover.csv")
    text = describe_folds({"figure3": folds, "figure3_crossover": lines})
    assert f"routes in {len(folds) - 1} of {len(folds) - 1} shapes (1 left out" in text


def test_figure_2_has_the_authors_sizes():
    from paper.speed import GROUPS

    assert all([n // ratio for n in sizes] == [5, 10, 20, 40] for ratio, sizes in GROUPS.items())
    assert max(max(sizes) for sizes in GROUPS.values()) == 3200


# ------------------------------------------------------------------------------------------ Figure 4


def test_the_unit_of_the_penalty_is_the_one_norm_of_evenly_spaced_splines():
    from paper.selection import FULL, mgcv_scale

    # the second differences of cubic B-splines a step h apart: 8/3, -3/2, 0, 1/6 over h^3, whose sizes sum to 6
    assert mgcv_scale() == pytest.approx(6 * (37 / 1.002) ** 3, rel=1e-9)
    np.testing.assert_allclose(FULL.lams[[0, -1]] * mgcv_scale(), [1e-2, 10**2.5], rtol=1e-12)
    assert (FULL.values, FULL.repeats, FULL.bias, FULL.tests) == (100, 200, 40, 1000)


@pytest.mark.parametrize("p", [5, 10])
def test_nested_cv_of_figure_4_equals_refits_at_some_penalties(p):
    from paper.selection import FULL, QUICK, system_at
    from paper.shapes import partitions

    sim = make_signal(100, noise=0.1, random_state=0)
    folds = partitions(100, 20, QUICK.repeats, 1)
    for lam in FULL.lams[[0, 60, 99]]:
        model = onefit.FPCR(n_basis=40, n_components=p, lam=lam)
        found = quiet_nested_cv(model, sim.X, sim.y, folds=folds).fold_errors
        system = system_at(sim, p, lam)
        for repeat, ids in enumerate(folds):
            e_in, e_out = refitted(system, ids)
            np.testing.assert_allclose(found.e_in[repeat], e_in, rtol=1e-9)
            np.testing.assert_allclose(found.e_out[repeat], e_out, rtol=1e-9)


def refitted(system, ids):
    """e_in and e_out by least squares on stacked rows, one training set at a time."""
    K = ids.max() + 1

    def losses(out):
        train = ~np.isin(ids, out)
        rows = np.vstack([system.X[train], system.root])
        target = np.append(system.y[train], np.zeros(len(system.root)))
        return (system.y - system.X @ np.linalg.lstsq(rows, target, rcond=None)[0]) ** 2

    e_out = [losses([j])[ids == j].mean() for j in range(K)]
    table = np.array([[losses([j, k])[ids == k].sum() if k != j else 0.0 for k in range(K)] for j in range(K)])
    return table.sum(axis=1) / [(ids != j).sum() for j in range(K)], e_out


# --------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Folder of a quick run, and what the repository's own results were before it."""
    from paper.__main__ import main

    folder = tmp_path_factory.mktemp("paper")
    before = state()
    main(["--quick", "--output", str(folder)])
    return folder, before


def state():
    """Bytes of what the full run writes."""
    paths = [ROOT / "docs" / "paper.md", *(ROOT / "paper" / "results").glob("*")]
    return {path: path.read_bytes() for path in [*paths, *(ROOT / "docs" / "images" / "paper").glob("*")]}


def test_a_quick_run_writes_every_table_and_picture_and_leaves_the_versioned_ones_alone(quick):
    from paper.experiments import EXPERIMENTS

    folder, before = quick
    tables = {f"{table}.csv" for experiment in EXPERIMENTS.values() for table in experiment.tables}
    assert {path.name for path in (folder / "results").iterdir()} == tables | {"run.csv"}
    drawn = {f"{name}.png" for name, experiment in EXPERIMENTS.items() if experiment.draw is not None}
    pictures = list((folder / "images" / "paper").iterdir())
    assert {path.name for path in pictures} == drawn
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert state() == before


def test_the_page_has_a_block_for_every_experiment_and_a_quick_run_fills_it(quick):
    from paper.experiments import EXPERIMENTS
    from paper.page import names_of

    assert names_of((ROOT / "docs" / "paper.md").read_text(encoding="utf-8")) == ["run", *EXPERIMENTS]
    written = (quick[0] / "paper.md").read_text(encoding="utf-8")
    assert "Not run yet" not in written
    assert all(f"images/paper/{path.name}" in written for path in (quick[0] / "images" / "paper").iterdir())


@pytest.mark.parametrize("name", ["figure1", "figure2", "figure3", "table1_times"])
def test_tables_of_times_say_what_was_sampled_and_that_all_ways_agree(quick, name):
    found = pd.read_csv(quick[0] / "results" / f"{name}.csv")
    assert (found["training_sets"] == found["K"] * (found["K"] + 1) // 2).all()
    for way in ("refit", "scikit-learn", "literal"):
        assert found[f"{way}_sampled"].between(1, found["training_sets"]).all()
        assert (found[f"{way}_s"] > 0).all()
    np.testing.assert_allclose(found["refit/literal"], found["refit_s"] / found["literal_s"], rtol=1e-8)
    assert (found["difference"] <= 1e-9).all()
    assert set(found["auto_route"]) <= {"gram", "onestep"}


def test_the_table_of_crossovers_has_the_predicted_break_even(quick):
    found = pd.read_csv(quick[0] / "results" / "figure3_crossover.csv")
    expected = [onefit.breakeven_folds(n, p) for n, p in zip(found["n"], found["p"], strict=True)]
    np.testing.assert_allclose(found["predicted"], expected, rtol=1e-9)


def test_figure_4_has_the_true_error_and_quantiles_of_test_sets_in_order(quick):
    found = pd.read_csv(quick[0] / "results" / "figure4a.csv")
    sim = make_signal(100, noise=0.1, random_state=0)
    row = found.iloc[3]
    model = onefit.FPCR(n_basis=40, n_components=int(row["components"]), lam=row["lam"]).fit(sim.X, sim.y)
    assert row["true"] == pytest.approx(sim.true_error(model), rel=1e-8)
    quantiles = found[["test_2.5", "test_25", "test_50", "test_75", "test_97.5"]].to_numpy()
    assert (np.diff(quantiles, axis=1) > 0).all()
    X, y = sim.sample(100 * 50, random_state=3)
    errors = ((y - model.predict(X)) ** 2).reshape(50, 100).mean(axis=1)
    assert row["test_50"] == pytest.approx(np.median(errors), rel=1e-8)


def test_some_experiments_alone_keep_the_record_of_the_others(quick, tmp_path):
    from paper.__main__ import main

    folder = tmp_path / "copy"
    shutil.copytree(quick[0], folder)
    before = (folder / "results" / "figure1.csv").read_bytes()
    main(["--quick", "--only", "table3,table2", "--output", str(folder)])
    assert (folder / "results" / "figure1.csv").read_bytes() == before
    record = pd.read_csv(folder / "results" / "run.csv")
    assert list(record["experiment"]) == [
        "figure1", "figure2", "figure3", "figure4a", "figure4b", "table1", "table2", "table3",
    ]  # fmt: skip


def test_an_unknown_experiment_is_refused_with_the_names_that_exist(capsys):
    from paper.__main__ import main

    with pytest.raises(SystemExit):
        main(["--only", "figure9"])
    assert "unknown: figure9; choose from figure1" in capsys.readouterr().err


def test_a_page_without_its_markers_is_an_error():
    from paper.page import write_blocks

    page = "<!-- a: written by python -m paper -->\nold\n<!-- end of a -->\n"
    assert "\nnew\n" in write_blocks(page, {"a": "new"})
    assert "old" not in write_blocks(page, {"a": "new"})
    with pytest.raises(ValueError, match="0 blocks named 'b'"):
        write_blocks(page, {"b": "new"})
