"""The benchmarks run, on small cases, and their methods agree with onefit: they cannot rot."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_main(capsys, *arguments):
    """What ``python -m benchmarks`` prints."""
    from benchmarks.__main__ import main

    main(["--quick", *arguments])
    return capsys.readouterr().out


@pytest.mark.parametrize("sizes", [(61, 3, 5, 4), (20, 30, 5, 2), (61, 3, 5, 2, 6), (25, 3, 25), (25, 3, 25, 1, 4)])
def test_every_method_gives_the_same_fold_errors(sizes):
    from benchmarks.cases import Case
    from benchmarks.measure import TOLERANCE, measure

    case = Case(*sizes)
    route, timings = measure(case, 10.0, 1e9)  # time enough for every training set
    assert route in {"gram", "onestep"}
    assert {"onefit", "twin", "scikit-learn", "NumPy", "Proposition 1", "gemm"} <= set(timings)
    assert ("search" in timings) == (case.n_values > 1 or case.leaves_two_out)
    assert all(timing.seconds > 0 for timing in timings.values())
    assert all(timings[name].difference <= TOLERANCE for name in ("twin", "scikit-learn", "NumPy", "Proposition 1"))


def test_a_tuned_case_agrees_with_ridge_cv():
    from benchmarks.cases import Case
    from benchmarks.measure import TOLERANCE, measure

    _, timings = measure(Case(40, 3, 4, 1, 5, tuned=True), 10.0, 1e9)
    assert timings["scikit-learn"].difference <= TOLERANCE
    assert timings["search"].difference is None


@pytest.mark.parametrize("sizes", [(20, 30, 5), (20, 30, 5, 1, 4, True), (20, 30, 5, 1, 4)])
def test_a_scaled_case_agrees_with_a_pipeline(sizes):
    from benchmarks.cases import Case
    from benchmarks.measure import TOLERANCE, measure

    route, timings = measure(Case(*sizes, scaled=True), 10.0, 1e9)
    assert (route, set(timings)) == ("gram", {"onefit", "twin", "scikit-learn"})
    assert timings["scikit-learn"].difference <= TOLERANCE


def test_methods_that_disagree_stop_the_benchmark():
    from benchmarks.cases import Case
    from benchmarks.measure import time_peer
    from benchmarks.ours import errors_of, run
    from benchmarks.refits import scikit_learn

    case = Case(40, 3, 4)
    e_in, e_out = errors_of(case, run(case))
    assert time_peer("Ridge", scikit_learn, case, (e_in, e_out), 10.0).difference <= 1e-12
    with pytest.raises(AssertionError, match=r"Ridge differs from onefit by 1\.0e-06"):
        time_peer("Ridge", scikit_learn, case, (e_in, e_out / (1 + 1e-6)), 10.0)


def test_a_sample_extends_to_all_training_sets_by_proportion():
    from benchmarks.sweep import Sample

    found = Sample(4, preparation=0.5, singles=[1.0, 3.0], pairs=[10.0])
    assert found.seconds(n_repeats=3) == 0.5 + 3 * (4 * 2.0 + 6 * 10.0)
    assert found.seconds(n_repeats=3, n_values=7) == 7 * found.seconds(n_repeats=3)


def test_a_sample_stops_when_its_budget_is_spent_and_keeps_whole_folds_only():
    from benchmarks.cases import Case
    from benchmarks.refits import normal_equations
    from benchmarks.sweep import sample

    case = Case(40, 3, 5)
    short = sample(lambda: normal_equations(case), case.folds[0], 0.0)
    assert (list(short.e_out), list(short.e_in), len(short.pairs)) == ([0], [], 1)
    whole = sample(lambda: normal_equations(case), case.folds[0], 60.0)
    assert (len(whole.e_out), len(whole.e_in), len(whole.pairs)) == (5, 5, 20)


@pytest.mark.slow
def test_quick_run_prints_every_bar_and_every_section(capsys):
    from benchmarks.cases import QUICK, SECTIONS

    printed = run_main(capsys)
    assert set(QUICK) == set(SECTIONS)
    assert all(name in printed for name in QUICK)
    for bar in ("at least 300 x", "at most 6 x", "at least 20 x", "at least 1000 x", "at least 50 x"):
        assert bar in printed
    assert "at least 1.6 x" in printed
    assert "at most 0.2 s" in printed


def test_every_learner_is_held_to_refits(capsys):
    printed = run_main(capsys, "--learners")
    assert "Lasso, 40 rows, 8 columns" in printed
    assert "curve of 2 values of n_components" in printed


def test_blocks_of_time_are_timed_beside_plain_folds(capsys):
    printed = run_main(capsys, "--series")
    assert printed.count("time over plain folds") == 4
    assert "memory that a buffer of 150 steps takes" in printed


@pytest.mark.slow
def test_rows_on_disk_are_measured_in_processes_of_their_own(capsys):
    printed = run_main(capsys, "--scale", "--parts", "abc")
    assert "(a) array, 3,000 x 5, K=4, 2 repeats, 3 penalties: memory beside the array" in printed
    assert "(b) Parquet, 3,000 x 5, K=4, 2 repeats, 3 penalties: peak of memory" in printed
    assert "(c) Parquet, 4,000 x 3, K=10, two repeats: a pass over reading the columns" in printed


@pytest.mark.cluster
@pytest.mark.slow
def test_workers_are_measured_beside_one(capsys):
    assert "two workers faster than one, by the clock" in run_main(capsys, "--scale", "--parts", "d")


def test_a_table_on_disk_has_the_rows_and_columns_that_were_asked_for(tmp_path):
    import onefit
    from benchmarks.scaledata import GROUP, write_mixed, write_numbers

    table = onefit.scan(write_numbers(tmp_path / "numbers", GROUP + 10, 3))
    assert table.shape == (GROUP + 10, 4)
    mixed = onefit.scan(write_mixed(tmp_path / "mixed", 1_000))
    assert [column.kind for column in mixed.fields].count("text") == 3
    assert mixed.n_rows == 1_000


def test_a_bar_holds_on_its_own_side():
    from benchmarks.bars import Bar

    assert Bar("ratio", 250.0, 250).verdict == "pass"
    assert Bar("ratio", 249.0, 250).verdict == "FAIL"
    assert Bar("seconds", 0.2, 0.2, at_least=False).verdict == "pass"
    assert Bar("seconds", 0.3, 0.2, at_least=False).verdict == "FAIL"


@pytest.mark.slow
def test_memory_counts_the_data_of_a_process_of_its_own():
    from benchmarks.cases import Case
    from benchmarks.memory import peaks

    case = Case(200_000, 20, 3)
    assert peaks([case])[case] > case.n * case.p * 8 / 1e6  # X; of its basis a block of rows at a time


def test_a_large_case_is_marked_only_where_memory_should_be_small():
    from benchmarks.cases import Case
    from benchmarks.measure import Timing
    from benchmarks.table import Line

    timings = {"onefit": Timing(1.0), "scikit-learn": Timing(250.0, 1e-12)}
    tall, wide = Line(Case(1000, 5, 10), "gram", timings, 1001.0), Line(Case(5, 1000, 5), "gram", timings, 1001.0)
    assert tall.is_large
    assert not wide.is_large
    assert "1001 (!)" in tall.cells()
    assert "250" in tall.cells()


def test_plan_and_calibration_run(capsys):
    assert "shapes" in run_main(capsys, "--plan")
    assert "2 jobs" in run_main(capsys, "--plan-models")
    printed = run_main(capsys, "--calibrate")
    assert printed.count('"gram"') == printed.count('"onestep"') == 2


def test_calibration_finds_the_costs_behind_times_that_follow_them():
    from benchmarks.ours import widths
    from benchmarks.planning import Cell, fit_costs, grid
    from onefit.routes.costs import Shape
    from onefit.routes.plan import work

    truth = {"call": 2e6, "decompositions": 0.3, "entries": 4.0, "operators": 0.05}
    cells = []
    for case in grid(quick=False):
        terms = work(Shape(*widths(case), np.ceil(case.n / case.n_folds)))["onestep"]
        cells.append(Cell(case, {"onestep": 1e-9 * sum(truth[name] * terms[name] for name in truth)}, "onestep"))
    costs, factor = fit_costs(cells, "onestep")
    assert factor == pytest.approx(1.0, abs=1e-9)
    assert {name: cost for name, cost in costs.items() if cost > 1e-6} == pytest.approx(truth, rel=1e-6)


@pytest.mark.slow
def test_growth_is_drawn_with_the_exponents_of_a_power(tmp_path, capsys):
    from benchmarks.growth import exponent

    sizes = np.array([10.0, 20.0, 40.0, 80.0])
    assert exponent(sizes, 3 * sizes**1.5) == pytest.approx(1.5, abs=1e-12)
    path = tmp_path / "growth.png"
    assert "rows n: onefit" in run_main(capsys, "--growth", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_every_kernel_is_timed_with_every_instruction_set_and_the_setting_comes_back(capsys):
    from onefit.linalg import compiled

    before = compiled.instructions()
    text = run_main(capsys, "--kernels")
    assert compiled.instructions() == before
    if not compiled.is_there():
        assert text == "There are no compiled kernels.\n"
        return
    names = {"collect", "systems", "residuals", "predict", "score", "moments", "fold_pairs", "row_pairs"}
    assert {line.split()[0].rstrip(",") for line in text.splitlines()[1:]} == names


def test_sparse_choice_and_its_calibration_run(capsys):
    assert "3 sparse shapes" in run_main(capsys, "--sparse")
    printed = run_main(capsys, "--sparse", "--calibrate")
    assert "GRAM: Mapping" in printed
    assert "REFIT: Mapping" in printed


def test_a_sparse_choice_is_judged_by_the_best_unless_it_is_short():
    from benchmarks.sparse import QUICK, SHAPES, SparseCell

    assert len(set(SHAPES)) == 20
    bad = SparseCell(QUICK[0], {"auto": 0.9, "refit": 0.5, "gram": 0.8}, "gram")
    assert bad.ratio == pytest.approx(1.8)
    assert bad.line()[-1] == "FAIL"
    assert SparseCell(QUICK[0], {"auto": 0.5, "refit": 0.5}, "refit").line()[-1] == "pass"
    assert SparseCell(QUICK[0], {"auto": 0.009, "refit": 0.001}, "gram").line()[-1] == "short"


def test_generalized_linear_models_are_timed_and_agree_with_refits(capsys):
    assert run_main(capsys, "--glm").count("faster than refits") == 3


def test_the_table_of_the_first_page_says_how_each_model_is_computed(capsys):
    from benchmarks.everyday import MODELS

    printed = run_main(capsys, "--everyday")
    assert printed.count("no refits") == 3
    assert "every pair of rows left out" in printed
    speed = (ROOT / "docs/speed.md").read_text(encoding="utf-8")
    table = re.search(r"(?s)\| your model \|.*?\n\n", speed)[0]
    assert [line.split(" | ")[0] for line in table.strip().splitlines()[2:]] == [f"| {model.name}" for model in MODELS]
