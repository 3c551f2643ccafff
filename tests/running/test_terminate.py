"""A process that is ended by a signal takes its workers with it: real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc").is_dir() or os.name != "posix", reason="signals, and /proc to look at"
)

MODEL = '''
import time
from sklearn.base import BaseEstimator, RegressorMixin

class Slow(RegressorMixin, BaseEstimator):
    """Predicts zero, and takes its time."""

    def fit(self, X, y):
        open(f"fit-{__import__('os').getpid()}", "w").close()
        time.sleep(600 if len(X) < 24 else 0.01)
        return self

    def predict(self, X):
        return 0.0 * X[:, 0] if hasattr(X, "shape") and not hasattr(X, "columns") else 0.0 * X.iloc[:, 0].to_numpy()
'''
SCRIPT = """
import numpy as np, onefit, slow
if __name__ == "__main__":
    X = np.random.default_rng(0).standard_normal((30, 2))
    onefit.nested_cv(slow.Slow(), X, X[:, 0], n_folds=3, n_repeats=2, n_jobs=2)
"""
SOON = 3.0
"""Seconds that workers may outlive their parent; they look for it twice a second."""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def workers(folder):
    """Processes that have begun to fit."""
    return [int(path.name.removeprefix("fit-")) for path in folder.glob("fit-*")]


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def started(tmp_path):
    """Starts a program with two workers, and waits until both fit."""
    (tmp_path / "slow.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    table = np.random.default_rng(0).standard_normal((30, 3))
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,y", comments="")
    programs = []

    def start(arguments):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path[1:]])}
        program = subprocess.Popen(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        programs.append(program)
        assert wait_until(lambda: len(workers(tmp_path)) == 2, 240), program.stderr.read1()
        assert all(alive(pid) for pid in workers(tmp_path))
        return program

    yield start
    for pid in [*(program.pid for program in programs if program.poll() is None), *workers(tmp_path)]:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    for program in programs:
        program.communicate()


COMMAND = ["-m", "onefit", "run", "t.csv", "--target=y", "--model=slow:Slow", "--folds=3", "--repeats=2", "--jobs=2"]


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        pytest.param(["script.py"], signal.SIGKILL, id="script, SIGKILL", marks=pytest.mark.slow),
        pytest.param(["script.py"], signal.SIGTERM, id="script, SIGTERM", marks=pytest.mark.slow),
        pytest.param(COMMAND, signal.SIGTERM, id="command line, SIGTERM"),
        pytest.param(COMMAND, signal.SIGKILL, id="command line, SIGKILL", marks=pytest.mark.slow),
    ],
)
def test_workers_end_with_their_parent(started, tmp_path, arguments, number):
    program = started(arguments)
    program.send_signal(number)
    assert program.wait(10) == -number
    assert wait_until(lambda: not any(alive(pid) for pid in workers(tmp_path)), SOON)
