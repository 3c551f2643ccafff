"""Long calls from Python where nobody sees a bar: a line now and then, on every route."""

import io
import sys
import threading

import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quietly
from onefit.running import waiting
from onefit.running.waiting import WatchedBar

X, Y = data(60, 4, seed=0)
FEW = {"n_folds": 5, "n_repeats": 2, "random_state": 0}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def lines_of(monkeypatch, estimator, progress, function=onefit.nested_cv, stream=None, **others):
    """What is written of a call that takes three beats, or half a second."""
    stream, beats, show = stream or io.StringIO(), threading.Semaphore(0), WatchedBar._show_life
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(waiting, "REFRESH_FILE", 0.01)
    monkeypatch.setattr(WatchedBar, "_show_life", lambda bar: (show(bar), beats.release()))
    is_slow = iter([True])

    def slow(y, prediction):
        if next(is_slow, False):
            for _ in range(3):
                beats.acquire(timeout=30 if progress is not False and not stream.isatty() else 0.1)
        return (y - prediction) ** 2

    quietly(function, estimator, X, Y, loss=slow, progress=progress, **FEW, **others)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("progress", [None, True])
@pytest.mark.parametrize("estimator", [Ridge(), DecisionTreeRegressor(max_depth=2)], ids=["fast", "refits"])
def test_a_long_call_says_now_and_then_that_it_goes_on(monkeypatch, estimator, progress):
    lines = lines_of(monkeypatch, estimator, progress)
    assert sum("onefit: at work for" in line or "left" in line or "0%" in line for line in lines) >= 3
    assert any("done in" in line for line in lines) == (progress is True)


def test_so_do_comparisons_and_curves(monkeypatch):
    assert len(lines_of(monkeypatch, {"a": Ridge(), "b": Ridge(10.0)}, None, onefit.compare)) >= 3
    grid = {"param_name": "alpha", "param_range": [1.0, 2.0]}
    assert len(lines_of(monkeypatch, Ridge(), None, onefit.error_curve, **grid)) >= 3


def test_nobody_watches_in_a_terminal_or_for_people_who_want_silence(monkeypatch):
    watched = []
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(WatchedBar, "_watch", lambda bar, *ended: watched.append(bar))
    assert lines_of(monkeypatch, Ridge(), False) == []
    lines_of(monkeypatch, Ridge(), None, stream=Terminal())
    assert watched == []


def test_the_thread_ends_with_the_call_also_by_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    before = threading.active_count()
    quietly(onefit.nested_cv, Ridge(), X, Y, **FEW)
    with pytest.raises(onefit.errors.OneFitError):
        onefit.nested_cv(Ridge(), X, Y, n_folds=1)
    assert threading.active_count() == before


def test_where_no_thread_can_begin_the_call_goes_on(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    expected = quietly(onefit.nested_cv, Ridge(), X, Y, progress=False, **FEW).estimate
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert quietly(onefit.nested_cv, Ridge(), X, Y, **FEW).estimate == expected
