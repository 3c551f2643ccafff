"""Ctrl-C: real processes that get a real signal, once they have said that they are ready for it."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge

import onefit
from forked import Forked
from helpers import data, quietly
from onefit.errors import InterruptedWarning
from onefit.routes.stopped import stopped_after, stopped_in_bias

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups")

HANG = 60
"""Seconds after which a process counts as hanging; on a quiet machine it takes a few."""

# Says "ready" at a fit, and stays there until the signal comes, as do later reports of other threads: who sends it may
# be kept waiting for longer than the job would take.
SCRIPT = '''
import json, signal, sys, time, warnings
import numpy as np
import onefit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

settings = json.loads(sys.argv[1])

class Mean(RegressorMixin, BaseEstimator):
    """Predicts the mean, and takes its time."""

    def __init__(self, scale=1.0, seconds=0.0):
        self.scale, self.seconds = scale, seconds

    def fit(self, X, y):
        time.sleep(self.seconds)
        self.mean_ = self.scale * y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)

came = []

def interrupt(number, frame):
    came.append(number)
    signal.default_int_handler(number, frame)

def report(done, total):
    if done == settings["at"]:
        print("ready", flush=True)
    while settings["waits"] and done >= settings["at"] and not came:
        time.sleep(0.01)

def main():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = X[:, 0] + 1.0
    mean, shared = Mean(seconds=settings["seconds"]), {"random_state": 0, "progress": report, **settings["options"]}
    calls = {
        "nested_cv": lambda: onefit.nested_cv(mean, X, y, **shared),
        "error_curve": lambda: onefit.error_curve(mean, X, y, param_name="scale", param_range=[0.5, 1.0], **shared),
        "compare": lambda: onefit.compare({"mean": mean, "ridge": Ridge(), "half": Mean(0.5)}, X, y, **shared),
        "fast": lambda: onefit.nested_cv(Ridge(), np.tile(X, (100, 1)), np.tile(y, 100), **shared),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = calls[settings["call"]]()
    results = {"nested_cv": lambda: [found], "error_curve": lambda: found.results, "compare": found_values(found)}
    results = results[settings["call"]]()
    print(json.dumps({
        "n_repeats": [each.n_repeats for each in results],
        "estimate": [each.estimate for each in results],
        "reason": results[0].reason,
        "warnings": [str(each.message) for each in caught if each.category is onefit.errors.InterruptedWarning],
    }), flush=True)

def found_values(found):
    return lambda: [found.results[name] for name in ("mean", "ridge", "half")]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)  # which a shell's background jobs, and all they start, ignore
    try:
        main()
    except KeyboardInterrupt:
        print("KeyboardInterrupt", flush=True)
'''


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("interrupt") / "job.py"
    path.write_text(SCRIPT)
    return path


def living(group):
    """Processes of a group that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if own == str(group) and state != "Z":
            found.append(entry.name)
    return found


def run_script(arguments):
    """What Python does with the name of a program and what follows it."""
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


def interrupted(script, call, at, *, to_group=False, seconds=0.0, waits=True, **options):
    """What a process prints after it was interrupted; no process of its group is left.

    One that has workers is a new program, as they end with it.
    """
    settings = {"call": call, "at": at, "seconds": seconds, "waits": waits, "options": options}
    arguments = [str(script), json.dumps(settings)]
    if call == "fast" or options.get("n_jobs", 1) == 1:
        process = Forked(lambda: run_script(arguments))
    else:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        printed, complaints = process.communicate(timeout=HANG)
    finally:
        process.kill()
    deadline = time.monotonic() + HANG
    if Path("/proc").is_dir():
        while living(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert living(process.pid) == []
    assert process.returncode == 0, complaints
    return printed.strip() if printed.strip() == "KeyboardInterrupt" else json.loads(printed)


def expected(call, n_repeats, **options):
    """The same job of so many repeats, not interrupted."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = X[:, 0] + 1.0
    mean = DummyRegressor()
    shared = {"random_state": 0, "n_repeats": n_repeats, "route": "refit", **options}
    if call == "compare":
        found = quietly(onefit.compare, {"mean": mean, "ridge": Ridge()}, X, y, **shared)
        return [found.results[name].estimate for name in ("mean", "ridge")]
    return [quietly(onefit.nested_cv, mean, X, y, **shared).estimate]


# three folds: six fits a repeat
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_complete_repeats_are_the_result(script, n_jobs):
    found = interrupted(script, "nested_cv", at=20, n_folds=3, n_repeats=20, n_jobs=n_jobs)
    assert found["n_repeats"] == [3]
    assert found["estimate"] == pytest.approx(expected("nested_cv", 3, n_folds=3), rel=1e-12)
    note = "topped by the user after 3 of 20 repeats; the figures are from these 3"
    assert found["warnings"] == [f"S{note}."]
    assert found["reason"] == f"s{note}"


def test_the_stopping_rule_s_repeats_count_too(script):
    found = interrupted(script, "nested_cv", at=15, n_folds=3)
    assert found["n_repeats"] == [2]
    assert "after 2 of at most 25 repeats" in found["warnings"][0]


def test_workers_in_the_midst_of_a_fit_end_with_the_job(script):
    """Ctrl-C in a terminal reaches the workers, too; these sleep in a fit."""
    options = {"n_folds": 3, "n_repeats": 500, "n_jobs": 2}
    found = interrupted(script, "nested_cv", at=13, to_group=True, seconds=0.02, waits=False, **options)
    assert 2 <= found["n_repeats"][0] < 500
    assert found["estimate"] == pytest.approx(expected("nested_cv", found["n_repeats"][0], n_folds=3), rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_without_a_complete_repeat_there_is_no_result(script, n_jobs):
    options = {"n_folds": 3, "n_repeats": 20, "n_jobs": n_jobs}
    assert interrupted(script, "nested_cv", at=5, **options) == "KeyboardInterrupt"


def test_a_curve_has_the_repeats_that_are_complete_at_all_values(script):
    found = interrupted(script, "error_curve", at=2 * 6 * 2 + 11, n_folds=3, n_repeats=20)
    assert found["n_repeats"] == [2, 2]
    assert found["estimate"][1] == pytest.approx(expected("nested_cv", 2, n_folds=3)[0], rel=1e-12)


def test_a_comparison_has_the_repeats_that_are_complete_in_all_models(script):
    """Two models are refitted, six times each a repeat: 19 fits are one repeat and the first model of the second."""
    found = interrupted(script, "compare", at=19, n_folds=3, n_repeats=20)
    assert found["n_repeats"] == [1, 1, 1]
    assert found["estimate"][:2] == pytest.approx(expected("compare", 1, n_folds=3), rel=1e-9)
    assert found["warnings"] == ["Stopped by the user after 1 of 20 repeats; the figures are from this one."]


@pytest.mark.parametrize(("at", "partitions"), [(2 * 6 + 1, 0), (2 * 6 + 4, 1)])
def test_partitions_for_the_bias_that_are_complete_stand(script, at, partitions):
    found = interrupted(script, "nested_cv", at=at, n_folds=3, n_repeats=2, bias_folds=5, interval="bates")
    assert found["n_repeats"] == [2]
    bias_folds = partitions or None
    options = {"n_folds": 3, "bias_folds": bias_folds, "interval": "bates"}
    assert found["estimate"] == pytest.approx(expected("nested_cv", 2, **options), rel=1e-12)
    assert f"after {partitions} of 5 partitions for the bias" in found["warnings"][0]


@pytest.mark.parametrize("options", [{"n_folds": "n"}, {"n_folds": "n", "n_jobs": 2}, {"n_folds": 10, "n_jobs": 2}])
def test_a_fast_route_just_stops(script, options):
    assert interrupted(script, "fast", at=1, n_repeats=50, **options) == "KeyboardInterrupt"


def test_an_interruption_of_an_interruption_stops(regression):
    """The second one comes while the first is dealt with: what is complete is not waited for."""
    X, y = regression

    def report(done, total):
        if done == 8:
            try:
                raise KeyboardInterrupt
            finally:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        onefit.nested_cv(Ridge(), X, y, route="refit", n_folds=3, n_repeats=5, progress=report)


def test_an_interruption_that_the_caller_deals_with_is_not_the_first(regression):
    X, y = regression

    def report(done, total):
        if done == 8:
            raise KeyboardInterrupt

    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.warns(InterruptedWarning, match="after 1 of 5 repeats"):
            result = onefit.nested_cv(Ridge(), X, y, route="refit", n_folds=3, n_repeats=5, progress=report)
    assert result.n_repeats == 1


def test_held_out_rows_are_those_of_the_complete_repeats():
    X, y = data(40, 3, seed=5)

    def report(done, total):
        if done == 16:
            raise KeyboardInterrupt

    options = {"route": "refit", "n_folds": 3, "random_state": 1}
    found = quietly(onefit.nested_cv, Ridge(), X, y, n_repeats=9, progress=report, **options)
    whole = quietly(onefit.nested_cv, Ridge(), X, y, n_repeats=2, **options)
    assert found.n_repeats == 2
    np.testing.assert_allclose(found.heldout.to_numpy(), whole.heldout.to_numpy(), rtol=1e-12)
    np.testing.assert_allclose(found.fold_errors.e_in, whole.fold_errors.e_in, rtol=1e-12)
    assert found.interval == pytest.approx(whole.interval, rel=1e-12)


def test_the_notes_say_what_the_figures_are_from():
    assert stopped_after(3, "20", has_bias=False).endswith("after 3 of 20 repeats; the figures are from these 3")
    for_bias = stopped_after(1, "at most 200", has_bias=True)
    assert for_bias.endswith("1 of at most 200 repeats; the figures are from this one, that of the bias too")
    assert stopped_in_bias(0, 4).endswith("0 of 4 partitions for the bias, which is from the repeats themselves")
