"""Progress: what is counted, and the bar that shows it."""

from __future__ import annotations

import dataclasses
import io
import itertools
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quiet_nested_cv, quietly
from onefit.errors import DataError, OneFitWarning
from onefit.routes import leavetwo
from onefit.running import progress as module
from onefit.running.progress import Bar, Progress, Stopped, Units, check_progress

X, Y = data(60, 4, seed=0)
TREE = DecisionTreeRegressor(max_depth=2, random_state=0)
FEW = {"n_folds": 5, "n_repeats": 4, "random_state": 0}


def reports(function, *args, **kwargs):
    """What a callable was told."""
    seen = []
    quietly(function, *args, progress=lambda done, total: seen.append((done, total)), **kwargs)
    return seen


# ------------------------------------------------------------------------------------------------ what is counted

CASES = {
    "repeats": (onefit.nested_cv, (Ridge(), X, Y), FEW, 4),
    "repeats in threads": (onefit.nested_cv, (Ridge(), X, Y), FEW | {"n_jobs": 2}, 4),
    "repeats, at most": (onefit.nested_cv, (Ridge(), X, Y), {"n_folds": 5, "random_state": 0}, 200),
    "repeats and partitions for the bias": (onefit.nested_cv, (Ridge(), X, Y), FEW | {"bias_folds": 3}, 7),
    "gram with a fold a row": (onefit.nested_cv, (Ridge(), X, Y), {"n_folds": "n", "route": "gram"}, 60 * 61 // 2),
    "sparse with a fold a row": (onefit.nested_cv, (Ridge(), sparse.csr_matrix(X), Y), {"n_folds": "n"}, 60 * 61 // 2),
    "repeats at three values": (
        onefit.error_curve,
        (Ridge(), X, Y),
        {**FEW, "n_folds": 20, "param_name": "alpha", "param_range": [1.0, 2.0, 3.0]},
        12,
    ),
    "tuned, by repeats": (onefit.nested_cv, (RidgeCV(), X, Y), FEW, 4),
    "tuned, by training sets": (onefit.nested_cv, (RidgeCV(), X, Y), {"n_folds": "n"}, 60 * 61 // 2),
    "learned, by repeats": (onefit.nested_cv, (onefit.AdditiveModel(), X, Y), FEW, 4),
    "fits": (onefit.nested_cv, (TREE, X, Y), FEW, 4 * 15),
    "fits and those for the bias": (onefit.nested_cv, (TREE, X, Y), FEW | {"bias_folds": 2}, 4 * 15 + 2 * 5),
    "fits in processes": (onefit.nested_cv, (TREE, X, Y), FEW | {"n_jobs": 2}, 4 * 15),
    "fits at two values": (
        onefit.error_curve,
        (TREE, X, Y),
        {**FEW, "param_name": "max_depth", "param_range": [1, 2]},
        4 * 15 * 2,
    ),
    "models, one of them refitted": (onefit.compare, ({"ridge": Ridge(), "tree": TREE}, X, Y), FEW, 4 * 15),
    "models, none of them refitted": (onefit.compare, ({"ridge": Ridge(), "tuned": RidgeCV()}, X, Y), FEW, 8),
}


@pytest.mark.parametrize("case", CASES)
def test_reports_rise_from_zero_to_the_total_which_comes_once(case):
    function, args, kwargs, total = CASES[case]
    seen = reports(function, *args, **kwargs)
    assert seen[0] == (0, total)
    assert seen[-1] == (total, total)
    done = [each for each, _ in seen]
    assert all(a < b for a, b in itertools.pairwise(done))
    assert {of for _, of in seen} == {total}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("alpha", [1.0, np.array([1.0, 2.0])], ids=["one penalty", "a penalty for each output"])
def test_leave_two_out_counts_every_tile(n_jobs, alpha):
    Z, y = data(400, 3, seed=1, n_outputs=2)
    seen = reports(onefit.nested_cv, Ridge(alpha=alpha), Z, y, n_folds="n", n_jobs=n_jobs)
    passes, cells = (1, 2) if np.ndim(alpha) == 0 else (2, 1)
    side = -(-400 // leavetwo.tile_side(cells))
    total = passes * side * (side + 1) // 2
    assert seen == [(done, total) for done in range(total + 1)]


def test_fits_are_reported_one_by_one():
    assert [done for done, _ in reports(onefit.nested_cv, TREE, X, Y, **FEW)] == list(range(61))


def test_counting_changes_no_number():
    told = quiet_nested_cv(RidgeCV(), X, Y, progress=lambda done, total: None, **FEW)
    silent = quiet_nested_cv(RidgeCV(), X, Y, progress=False, **FEW)
    assert told.interval == silent.interval


def test_threads_are_counted_one_at_a_time():
    seen, busy = [], threading.Lock()

    def report(done, total):
        assert busy.acquire(blocking=False)
        seen.append(done)
        busy.release()

    progress = Progress(report)
    with progress.running(Units(4001)):
        workers = [threading.Thread(target=lambda: [progress.advance(1) for _ in range(1000)]) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert seen == list(range(4002))


def test_a_job_that_was_stopped_ends_the_threads_that_count():
    progress = Progress(None)
    with progress.running(Units(10)):
        progress.advance(1)
        progress.stop()
        with pytest.raises(Stopped):
            progress.advance(0)


# -------------------------------------------------------------------------------------------------------- the bar


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self._encoding = encoding

    encoding = property(lambda self: self._encoding)

    def isatty(self):
        return True


class Clock:
    """Seconds that pass when told to."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    return found


def run(bar, clock, seconds, units, until):
    """A job that takes so long for each unit."""
    progress = Progress(bar)
    with progress.running(units):
        for _ in range(until):
            clock.now += seconds
            progress.advance(1)


def test_the_bar_shows_share_count_and_time_left(clock):
    bar = Bar(Terminal(), is_asked_for=True)
    bar.units = Units(27, "repeats")
    line = bar.line(12, 27, 6.4)
    assert line == f"onefit  {'█' * 13}{'░' * 17}  44%  12/27 repeats  about 8 s left"
    assert len(line) <= 79


def test_the_bar_says_how_long_a_repeat_takes_if_a_rule_stops_them_before(clock):
    bar = Bar(Terminal(), is_asked_for=True)
    bar.units = Units(200 * 50, "repeats", each=50, is_most=True)
    assert bar.line(5000, 10000, 20.0).endswith("░  100 of at most 200 repeats  0.2 s each")
    assert bar.line(100, 10000, 400.0).endswith("░  2 of at most 200 repeats  3 min each")
    assert bar.line(0, 10000, 4.0).endswith("░  0 of at most 200 repeats")
    bar.units = dataclasses.replace(bar.units, planned=30.0)
    assert bar.line(0, 10000, 100.0).endswith("░  0 of at most 200 repeats  30 s each, by the plan")
    assert bar.line(100, 10000, 400.0).endswith("░  2 of at most 200 repeats  3 min each")


@pytest.mark.parametrize(("model", "is_known"), [(Ridge(), True), (TREE, False)])
def test_the_bar_is_told_what_a_repeat_takes_by_the_plan(model, is_known, monkeypatch):
    seen, running = [], Progress.running
    monkeypatch.setattr(Progress, "running", lambda self, units: seen.append(units.planned) or running(self, units))
    quietly(onefit.nested_cv, model, X, Y, progress=False, **FEW)
    plan = onefit.plan_for(model, X, Y, **FEW)
    assert seen == [pytest.approx(plan.seconds[plan.choice] / FEW["n_repeats"] if is_known else 0.0)]


def test_the_bar_says_at_most_of_fits_that_a_rule_may_spare(clock):
    bar = Bar(Terminal(), is_asked_for=True)
    bar.units = Units(150, "fits", is_most=True)
    assert bar.line(30, 150, 10.0).endswith("20%  30/150 fits  at most 40 s left")


def test_a_stream_without_unicode_gets_a_plain_bar(clock):
    line = Bar(Terminal("ascii"), is_asked_for=True).line(1, 2, 1.0)
    assert line.isascii()
    assert "#-" in line


@pytest.mark.parametrize("columns", [20, 30, 45, 60, 200])
def test_the_bar_fits_into_the_terminal(clock, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    bar = Bar(Terminal(), is_asked_for=True)
    bar.units = Units(27, "training sets")
    line = bar.line(12, 27, 500.0)
    assert len(line) < columns
    assert "44%" in line


def test_short_jobs_have_no_bar_and_long_ones_leave_none(clock):
    stream = Terminal()
    run(Bar(stream, is_asked_for=False), clock, 0.1, Units(9, "fits"), 9)
    assert stream.getvalue() == ""
    run(Bar(stream, is_asked_for=False), clock, 0.5, Units(9, "fits"), 9)
    shown = stream.getvalue().split("\r")
    assert "2/9 fits  about 4 s left" in shown[1]
    assert shown[-2].strip() == ""  # written over
    assert shown[-1] == ""


def test_a_bar_that_was_asked_for_comes_at_once_and_says_when_it_is_done(clock):
    stream = Terminal()
    run(Bar(stream, is_asked_for=True), clock, 0.01, Units(300, "fits"), 300)
    shown = stream.getvalue().split("\r")
    assert "0%  0/300 fits" in shown[1]
    assert shown[-1].rstrip(" \n").endswith("done in 3 s")
    assert shown[-1].endswith("\n")


def test_in_a_file_the_bar_is_a_line_now_and_then(clock):
    stream = io.StringIO()
    run(Bar(stream, is_asked_for=True), clock, 1.0, Units(25, "fits"), 25)
    lines = stream.getvalue().splitlines()
    assert [line.split("  ")[-2] for line in lines[1:3]] == ["10/25 fits", "20/25 fits"]
    assert len(lines) == 4
    assert "\r" not in stream.getvalue()


def test_an_error_clears_the_bar(clock):
    stream = Terminal()
    bar = Bar(stream, is_asked_for=True)
    with pytest.raises(ZeroDivisionError), Progress(bar).running(Units(3)):
        raise ZeroDivisionError
    assert stream.getvalue().endswith(" \r")
    run(Bar(stream, is_asked_for=True), clock, 1.0, Units(3), 3)  # the next one has its turn
    assert "done in" in stream.getvalue()


def test_of_two_bars_at_once_one_is_shown(clock):
    first, second = Terminal(), Terminal()
    with Progress(Bar(first, is_asked_for=True)).running(Units(3)):
        run(Bar(second, is_asked_for=True), clock, 1.0, Units(3), 3)
    assert second.getvalue() == ""


# ------------------------------------------------------------------------------------------- the line before long jobs


def test_a_long_job_says_once_how_many_fits_and_how_long_also_in_a_file(clock):
    stream = io.StringIO()
    run(Bar(stream, is_asked_for=False), clock, 0.4, Units(150, "fits", is_most=True), 150)
    assert stream.getvalue() == "onefit: at most 150 fits, which would take about 60 s\n"


def test_the_line_comes_by_the_first_fits(clock):
    stream = io.StringIO()
    run(Bar(stream, is_asked_for=False), clock, 200.0, Units(45, "fits"), 1)
    assert stream.getvalue() == "onefit: 45 fits, about 2.5 h\n"


def test_in_a_terminal_the_line_stays_above_the_bar(clock):
    stream = Terminal()
    run(Bar(stream, is_asked_for=False), clock, 0.9, Units(15, "fits"), 15)
    before, after = stream.getvalue().split("\n")
    assert before.rstrip().endswith("onefit: 15 fits, about 14 s")
    assert "3/15 fits" in after


@pytest.mark.parametrize(
    ("seconds", "units"),
    [(0.04, Units(120, "fits")), (1.0, Units(60, "repeats"))],
    ids=["not long", "no refits"],
)
def test_other_jobs_are_not_announced(clock, seconds, units):
    stream = io.StringIO()
    run(Bar(stream, is_asked_for=False), clock, seconds, units, units.total)
    assert stream.getvalue() == ""


def test_the_start_of_workers_is_not_taken_for_the_time_of_fits(clock):
    stream = io.StringIO()
    with (progress := Progress(Bar(stream, is_asked_for=False))).running(Units(100, "fits", at_once=2)):
        clock.now += 3.0
        for _ in range(100):
            progress.advance(1)
            clock.now += 0.01
    assert stream.getvalue() == ""


def test_a_job_of_refits_is_announced_unless_the_user_wants_silence(clock, monkeypatch):
    class Slow(DecisionTreeRegressor):
        def fit(self, X, y):
            clock.now += 1.0
            return super().fit(X, y)

    for progress, expected in ((None, "onefit: 60 fits, about 60 s\n"), (False, ""), (lambda done, total: None, "")):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        quiet_nested_cv(Slow(max_depth=2), X, Y, progress=progress, **FEW)
        assert stream.getvalue() == expected


# --------------------------------------------------------------------------------------------- whether there is one


def test_a_bar_comes_by_itself_in_terminals_and_notebooks_only(monkeypatch, clock):

    def shows(stream, progress=None):
        """Whether a job of three seconds, which is not long, shows a bar."""
        monkeypatch.setattr(sys, "stderr", stream)
        run(check_progress(progress), clock, 1.0, Units(3, "fits"), 3)
        return stream.getvalue() != ""

    assert not shows(io.StringIO())
    assert shows(io.StringIO(), progress=True)
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert shows(io.StringIO())
    shell.kernel = None  # IPython in a terminal that is piped
    assert not shows(io.StringIO())
    assert shows(Terminal())
    assert not shows(Terminal(), progress=False)


def test_a_process_of_many_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    worker = types.SimpleNamespace(name="LokyProcess-1")
    monkeypatch.setattr(module.multiprocessing, "current_process", lambda: worker)
    assert check_progress(None) is None


@pytest.mark.parametrize("progress", [None, True])
def test_without_standard_error_the_job_goes_on(monkeypatch, progress):
    monkeypatch.setattr(sys, "stderr", None)
    assert check_progress(progress) is None
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert np.isfinite(quiet_nested_cv(Ridge(), X, Y, progress=progress).estimate)


def test_nonsense_is_refused():
    with pytest.raises(DataError, match="progress='yes' must be True, False, None or a function"):
        onefit.nested_cv(Ridge(), X, Y, progress="yes")


def test_nothing_is_written_where_nobody_looks(capfd):
    quiet_nested_cv(Ridge(), X, Y)
    quiet_nested_cv(TREE, X, Y, **FEW)
    assert capfd.readouterr() == ("", "")


# ----------------------------------------------------------------------------------------------- large matrices


def test_a_large_kernel_speaks_of_its_matrix_once_and_not_again_when_it_leaves_two_out(monkeypatch):
    monkeypatch.setattr(leavetwo, "LARGE_BYTES", 0)
    monkeypatch.setattr(leavetwo, "KERNEL_BYTES", 0)  # as if the kernel had spoken
    few, target = data(12, 20, seed=3)

    def said(estimator):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OneFitWarning)
            onefit.nested_cv(estimator, few, target, n_folds="n", loss="absolute_error")
        return sum("holds some matrices" in str(each.message) for each in caught)

    assert said(KernelRidge(alpha=1.0, kernel="rbf")) == 0
    assert said(Ridge()) == 1
