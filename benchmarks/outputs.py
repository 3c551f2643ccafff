"""Megabytes and seconds of a penalty for each of many outputs: ``python -m benchmarks.outputs 20000``.

`RidgeCV` with ``alpha_per_target=True`` and 20 penalties on 500 rows and 200 columns; ten folds, one repeat, one
thread.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits

import onefit

from .memory import own_peak, resident

__all__ = ["measure"]


def measure(n_outputs: int, n: int = 500, p: int = 200, n_penalties: int = 20) -> tuple[float, float, float]:
    """Megabytes of y, those beyond all that was there before, and seconds of the processor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    Y = X @ rng.normal(size=(p, n_outputs)) / np.sqrt(p) + rng.normal(size=(n, n_outputs))
    before, start = resident(), time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RidgeCV(np.logspace(-1, 4, n_penalties), alpha_per_target=True)
        result = onefit.nested_cv(model, X, Y, n_folds=10, n_repeats=1, random_state=0)
    if result.route != "gram":
        raise RuntimeError(f"{model} was refitted: {result.route_reason}")
    return Y.nbytes / 1e6, own_peak() - before, time.process_time() - start


if __name__ == "__main__":
    for count in map(int, sys.argv[1:]):
        of_y, beyond, seconds = measure(count)
        print(f"{count:,} outputs: y has {of_y:,.0f} MB; {beyond:,.0f} MB beyond it at the peak; {seconds:,.0f} s")
