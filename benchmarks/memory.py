"""Megabytes that a case needs at its peak, BLAS and compiled workspaces included: a process for each.

``python -m benchmarks.memory n p K L V tuned scaled`` prints the peak of a process that runs the case and nothing else.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from .cases import Case
from .ours import run

__all__ = ["BASELINE", "peak_megabytes", "peaks"]

BASELINE = Case(20, 2, 4)
ROOT = Path(__file__).resolve().parents[1]


def own_peak() -> float:
    """Most megabytes that this process has held.

    Linux hands ru_maxrss of the parent down to its children, so it would tell of the benchmark's own process; VmHWM
    does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1e3
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def resident() -> float:
    """Megabytes that this process holds now; its peak, where nobody tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return own_peak()
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return float(line.split()[1]) / 1e3


def peak_megabytes(case: Case) -> float:
    """Peak of a process of its own: interpreter, libraries, data and computation."""
    numbers = (case.n, case.p, case.n_folds, case.n_repeats, case.n_values, int(case.tuned), int(case.scaled))
    command = [sys.executable, "-m", "benchmarks.memory", *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return float(done.stdout)


def peaks(cases: list[Case]) -> dict[Case, float]:
    """Megabytes of each case beyond those of a tiny one: its data and its computation."""
    least = peak_megabytes(BASELINE)
    return {case: max(0.0, peak_megabytes(case) - least) for case in cases}


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    with threadpool_limits(limits=1):
        run(Case(*given[:5], *map(bool, given[5:])))
    print(own_peak())
