"""Table 1: the orders in which operations grow, those that are counted at the sizes run, and seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import onefit
from benchmarks.growth import exponent

from .counts import ONE_STEP, REFIT, total
from .shapes import Shape
from .speed import ROWS_A_FOLD, rows_of
from .timing import Settings

__all__ = ["REGIMES", "Regime", "table1"]

METHODS = ("refit", "literal", "gram", "onestep")


@dataclass(frozen=True)
class Regime:
    """One of the paper's four, with p in proportion to n where it grows (its alpha is 1).

    ``orders`` holds the power of n of the leading term: of refitting and of the formula without Woodbury's identity in
    the paper's Table 1; of onefit's routes by the counts in `onefit.plan`.
    """

    name: str
    orders: tuple[int, int, int, int]
    shape: Callable[[int], Shape]
    sizes: tuple[int, ...]
    few: tuple[int, ...]


REGIMES = (
    Regime("K = 10, p = 20", (1, 3, 1, 3), lambda n: Shape(n, 20, 10), (1000, 2000, 4000, 8000), (100, 200)),
    Regime("K = n/5, p = 20", (3, 2, 2, 2), lambda n: Shape(n, 20, n // ROWS_A_FOLD), (200, 400, 800, 1600), (60, 120)),
    Regime("K = 10, p = n/20", (3, 3, 3, 3), lambda n: Shape(n, n // 20, 10), (500, 1000, 2000, 4000), (100, 200)),
    Regime(
        "K = n/5, p = n/20",
        (5, 4, 5, 3),
        lambda n: Shape(n, n // 20, n // ROWS_A_FOLD),
        (200, 400, 800, 1600),
        (100, 200),
    ),
)


def table1(settings: Settings) -> dict[str, pd.DataFrame]:
    """Powers of n by regime and method."""
    lines, parts = [], []
    for regime in REGIMES:
        sizes = regime.few if settings.quick else regime.sizes
        found = rows_of([regime.shape(n) for n in sizes], settings)
        parts.append(found.assign(regime=regime.name))
        for method, order in zip(METHODS, regime.orders, strict=True):
            run = found[np.isfinite(found[f"{method}_s"])]
            if len(run) < 2:
                continue
            flops = [_flops(method, *sizes) for sizes in run[["n", "p", "K"]].itertuples(index=False)]
            lines.append(
                {
                    "regime": regime.name,
                    "method": method,
                    "order": order,
                    "counted": exponent(run["n"], flops),
                    "measured": exponent(run["n"], run[f"{method}_s"]),
                    "from_n": run["n"].min(),
                    "to_n": run["n"].max(),
                }
            )
    return {"table1": pd.DataFrame(lines), "table1_times": pd.concat(parts, ignore_index=True)}


def _flops(method: str, n: int, p: int, K: int) -> float:
    """Counts of the paper for its own two ways, of `onefit.plan` for ours."""
    if method in ("gram", "onestep"):
        return float(onefit.plan(int(n), int(p), int(K)).flops[method])
    return float(total(REFIT if method == "refit" else ONE_STEP, int(n), int(p), int(K)))
