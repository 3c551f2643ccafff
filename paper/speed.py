"""Figures 1 to 3: how much faster than refitting, and from which number of folds."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd

import onefit

from .shapes import Shape
from .timing import ROUTES, Settings, measure

__all__ = ["crossover", "figure1", "figure2", "figure3", "rows_of"]

ROWS_A_FOLD = 5
GROUPS = {20: (100, 200, 400, 800), 40: (200, 400, 800, 1600), 80: (400, 800, 1600, 3200)}
"""n/p of the authors' three series in Figure 2, and their n: p doubles with n, from 5 to 40."""
FOLDS = ((1000, 2000, 4000), (10, 20, 50), (5, 10, 20, 50, 100))
"""n, p and K of Figure 3."""
WAYS = ("scikit-learn", "literal", *ROUTES, "auto", "many")


def rows_of(shapes: Iterable[Shape], settings: Settings) -> pd.DataFrame:
    """Measurements of some shapes, with the ratio of refitting to every way."""
    rows = []
    for shape in shapes:
        print(f"  n={shape.n} p={shape.p} K={shape.n_folds}", file=sys.stderr, flush=True)
        rows.append(measure(shape, settings))
    found = pd.DataFrame(rows)
    for way in WAYS:
        found[f"refit/{way}"] = found["refit_s"] / found[f"{way}_s"]
    return found


def figure1(settings: Settings) -> dict[str, pd.DataFrame]:
    """K = n/5, p fixed, n growing."""
    sizes, functions = ((40, 80), (5, 10)) if settings.quick else ((100, 200, 400, 800, 1600), (5, 10, 20, 40))
    shapes = [Shape(n, p, n // ROWS_A_FOLD) for p in functions for n in sizes]
    return {"figure1": rows_of(shapes, settings)}


def figure2(settings: Settings) -> dict[str, pd.DataFrame]:
    """K = n/5, p growing in proportion to n."""
    groups = {8: (40, 80), 16: (80, 160)} if settings.quick else GROUPS
    shapes = [Shape(n, n // ratio, n // ROWS_A_FOLD) for ratio, sizes in groups.items() for n in sizes]
    found = rows_of(shapes, settings)
    found.insert(0, "n/p", found["n"] // found["p"])
    return {"figure2": found}


def figure3(settings: Settings) -> dict[str, pd.DataFrame]:
    """Noise 1, penalty 2, K growing; and where refitting and the formula take the same time."""
    grid = ((60, 120), (10,), (5, 10, 20)) if settings.quick else FOLDS
    shapes = [Shape(n, p, K, noise=1.0, lam=2.0) for n, p, K in product(*grid)]
    found = rows_of(shapes, settings)
    seconds = found[[f"{route}_s" for route in ROUTES]].to_numpy(float)
    found["fastest"] = np.array(ROUTES)[np.nanargmin(seconds, axis=1)]
    chosen = np.where(found["auto_route"] == "gram", found["gram_s"], found["onestep_s"])
    found["choice/fastest"] = chosen / np.nanmin(seconds, axis=1)
    lines = []
    for _, part in found.groupby(["n", "p"]):
        n, p = int(part["n"].iloc[0]), int(part["p"].iloc[0])
        predicted = onefit.breakeven_folds(n, p)
        lines.append(
            {
                "n": n,
                "p": p,
                "predicted": np.nan if predicted is None else predicted,
                "measured": crossover(part["K"], part["refit/literal"]),
                "onestep_against_gram": crossover(part["K"], part["gram_s"] / part["onestep_s"]),
                "gram_against_refit": crossover(part["K"], part["refit/gram"]),
            }
        )
    return {"figure3": found, "figure3_crossover": pd.DataFrame(lines)}


def crossover(folds: pd.Series, ratio: pd.Series) -> str:
    """Number of folds at which a ratio first rises above 1, between two measurements on logarithmic axes."""
    K, level = folds.to_numpy(float), np.log(ratio.to_numpy(float))
    K, level = K[np.isfinite(level)], level[np.isfinite(level)]
    above = np.flatnonzero(level > 0)
    if not len(above):
        return f"after {K[-1]:.0f}"
    first = int(above[0])
    if first == 0:
        return f"before {K[0]:.0f}"
    part = level[first - 1] / (level[first - 1] - level[first])
    return f"{np.exp(np.log(K[first - 1]) + part * np.log(K[first] / K[first - 1])):.1f}"
