"""One job of the benchmarks of scale, in a process of its own: ``python -m benchmarks.scalejob KIND NUMBERS...``.

It prints what it took as JSON: seconds of the processor and of the clock, and the peak of memory in megabytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .cases import Case, alphas
from .memory import ROOT, own_peak, resident

__all__ = ["ask", "flops_of"]


def ask(kind: str, *arguments: object) -> dict[str, float]:
    """Run a job and read what it says."""
    command = [sys.executable, "-m", "benchmarks.scalejob", kind, *map(str, arguments)]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | single)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def flops_of(n: int, p: int, K: int, L: int, V: int) -> float:
    """Operations of a job on a table: products of columns in each repeat, and predictions at each value.

    A row adds p^2 / 2 products to its fold's statistics in every repeat, and meets its own fold's p coefficients at
    every value; a product and a sum are two operations.
    """
    width = p + 2  # the constant and y
    return n * L * (width**2 + 2.0 * V * width)


def _timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    clock, processor = time.perf_counter(), time.process_time()
    found = call()
    return time.process_time() - processor, time.perf_counter() - clock, found


def _curve(X: Any, y: Any, K: int, L: int, V: int) -> Any:
    from sklearn.linear_model import Ridge

    import onefit

    shape = {"n_folds": K, "n_repeats": L, "random_state": 0, "progress": False}
    if V == 1:
        return onefit.nested_cv(Ridge(), X, y, **shape)
    return onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=alphas(V), **shape)


def memory(n: int, p: int, K: int, L: int, V: int) -> dict[str, float]:
    """A curve over an array in memory, beside one fit of scikit-learn to it, and what it needs beside the array."""
    from sklearn.linear_model import Ridge

    import onefit

    case = Case(n, p, K, L, V)
    X, y = case.X, case.y
    before = resident()
    processor, clock, found = _timed(lambda: _curve(onefit.scan(X), y, K, L, V))
    beside = own_peak() - before
    fit, _, _ = _timed(lambda: Ridge().fit(X, y))
    one = found.results[0] if V > 1 else found
    return {"seconds": processor, "clock": clock, "beside": beside, "fit": fit, "estimate": float(one.estimate)}


def parquet(folder: str, K: int, L: int, V: int) -> dict[str, float]:
    """A curve over files."""
    import onefit

    table = onefit.scan(folder)
    processor, clock, found = _timed(lambda: _curve(table, "y", K, L, V))
    one = found.results[0] if V > 1 else found
    return {"seconds": processor, "clock": clock, "peak": own_peak(), "estimate": float(one.estimate)}


def read(folder: str) -> dict[str, float]:
    """Reading all columns of files into arrays, and nothing else."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    def run() -> None:
        for path in sorted(Path(folder).glob("*.parquet")):
            for batch in pq.ParquetFile(path).iter_batches(2**16):
                rows = np.empty((batch.num_rows, batch.num_columns))
                for at, column in enumerate(batch.columns):
                    if pa.types.is_floating(column.type):  # texts are decoded, and stay what they are
                        rows[:, at] = column.to_numpy(zero_copy_only=False)

    processor, clock, _ = _timed(run)
    return {"seconds": processor, "clock": clock, "peak": own_peak()}


def blocks(folder: str) -> dict[str, float]:
    """The same by the blocks of onefit's own tables, in little memory."""
    import onefit

    def run() -> None:
        table = onefit.scan(folder)
        for block in table.blocks():
            block.numbers(table.columns)

    processor, clock, _ = _timed(run)
    return {"seconds": processor, "clock": clock, "peak": own_peak()}


def gemm() -> dict[str, float]:
    """Operations a second of a matrix product."""
    from .measure import gemm_speed

    return {"speed": gemm_speed(1500)}


def mixed(folder: str, K: int, L: int) -> dict[str, float]:
    """Numbers that are scaled and texts that are coded anew in every training set, before a ridge regression."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import onefit

    table = onefit.scan(folder)
    texts = [each.name for each in table.fields if each.kind == "text"]
    numbers = [each.name for each in table.fields if each.kind == "number" and each.name != "y"]
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(ColumnTransformer([("text", coded, texts), ("number", StandardScaler(), numbers)]), Ridge())
    shape: dict[str, Any] = {"n_folds": K, "n_repeats": L, "random_state": 0, "progress": False}
    processor, clock, found = _timed(lambda: onefit.nested_cv(model, table, "y", **shape))
    return {"seconds": processor, "clock": clock, "peak": own_peak(), "estimate": float(found.estimate)}


def dask(folder: str, workers: int, K: int, L: int, V: int, runs: int) -> dict[str, float]:
    """A curve over files that the workers of a cluster read: the shortest of some runs by the clock, and the seconds
    of the processor that the busiest worker spent in it. Pieces wait for a free worker, so that none is idle."""
    import dask
    import distributed

    import onefit

    with (
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0}),
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        table = onefit.scan(folder).on_dask()
        _curve(table, "y", K, 1, 1)  # workers import and read once before they are timed
        clock, busiest, estimate = float("inf"), float("inf"), float("nan")
        for _ in range(runs):
            before = client.run(time.process_time)
            _, seconds, found = _timed(lambda: _curve(table, "y", K, L, V))
            after = client.run(time.process_time)
            clock = min(clock, seconds)
            busiest = min(busiest, max(after[name] - before[name] for name in before))
            estimate = float((found.results[0] if V > 1 else found).estimate)
    return {"clock": clock, "busiest": busiest, "estimate": estimate}


KINDS: dict[str, Callable[..., dict[str, float]]] = {
    "memory": memory,
    "parquet": parquet,
    "read": read,
    "blocks": blocks,
    "gemm": gemm,
    "mixed": mixed,
    "dask": dask,
}


if __name__ == "__main__":
    kind, *given = sys.argv[1:]
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        print(json.dumps(KINDS[kind](*(int(each) if each.isdigit() else each for each in given))))
