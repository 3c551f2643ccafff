"""Peers in R: a job of `peers.R` on data that are handed over in a file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onefit.typing import AnyArray, FloatArray

from .line import Absent

__all__ = ["Found", "run_r"]

SCRIPT = Path(__file__).with_name("peers.R")
MISSING = 3
"""What the script exits with if a package is not there."""


@dataclass(frozen=True)
class Found:
    """The package with its version, the processor's seconds of the best run, and the figures."""

    peer: str
    seconds: float
    values: FloatArray


def run_r(job: str, X: FloatArray, y: FloatArray, ids: AnyArray, budget: float, numbers: Sequence[float]) -> Found:
    """One job; `Absent` if there is no R, or not the package."""
    program = shutil.which("Rscript")
    if program is None:
        raise Absent(f"R's {job} is left out: there is no Rscript")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.bin"
        np.column_stack([ids + 1.0, y, X]).T.tofile(data)  # by columns, as R has them
        sizes = [*map(str, X.shape), repr(float(budget))]
        command = [program, "--vanilla", str(SCRIPT), job, str(data), *sizes, *(repr(float(v)) for v in numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == MISSING:
        raise Absent(f"R's {job} is left out: the package is not installed")
    if done.returncode:
        raise RuntimeError(f"R's {job} ended with {done.returncode}: {done.stderr.strip()}")
    peer, seconds, *values = done.stdout.split("\n")
    return Found(f"R's {peer}", float(seconds), np.array([float(value) for value in values if value]))
