"""Tables 2 and 3: floating point operations by step, for h held-out rows; and their totals f1 and f2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

import onefit

from .timing import Settings

__all__ = ["ONE_STEP", "REFIT", "table2", "table3", "total"]

Steps = Mapping[str, tuple[str, Callable[[Any, Any, Any], Any]]]

# G is the inverse of X'X + S on all rows, h the number of held-out rows: 2n/K for a pair of folds, n/K for one.
# The functions take numbers or symbols.
ONE_STEP: Steps = {
    "G X_J'": ("2 p^2 h", lambda n, p, h: 2 * p**2 * h),
    "X_J G X_J'": ("2 p h^2", lambda n, p, h: 2 * p * h**2),
    "I - H_JJ": ("h^2", lambda n, p, h: h**2),
    "inverse of I - H_JJ": ("h^3/3 + 2 h^2", lambda n, p, h: h**3 / 3 + 2 * h**2),
    "held-out residuals": ("2 h^2", lambda n, p, h: 2 * h**2),
}
REFIT: Steps = {
    "X'X of the training set": ("2 p^2 (n - h)", lambda n, p, h: 2 * p**2 * (n - h)),
    "X'X + S": ("p^2", lambda n, p, h: p**2),
    "inverse of X'X + S": ("p^3/3 + 2 p^2", lambda n, p, h: p**3 / 3 + 2 * p**2),
    "X'y of the training set": ("2 p (n - h)", lambda n, p, h: 2 * p * (n - h)),
    "coefficients": ("2 p^2", lambda n, p, h: 2 * p**2),
    "predictions of held-out rows": ("2 p h", lambda n, p, h: 2 * p * h),
    "held-out residuals": ("h", lambda n, p, h: h),
}
REFERENCE = (1000, 20, 20)
"""Rows, functions and folds at which the steps are evaluated: one of Figure 3's."""
FIGURE3 = [(n, p, K) for n in (1000, 2000, 4000) for p in (10, 20, 50) for K in (5, 10, 20, 50, 100)]


def total(steps: Steps, n: Any, p: Any, K: Any) -> Any:
    """All steps for K(K-1)/2 pairs of folds and K folds: the paper's f1 (one-step) and f2 (refit)."""
    pair, fold = (sum(count(n, p, h) for _, count in steps.values()) for h in (2 * n / K, n / K))
    return pair * K * (K - 1) / 2 + fold * K


def _by_step(steps: Steps) -> pd.DataFrame:
    """Each step for a pair of folds, a fold, and a whole repeat at the reference shape."""
    n, p, K = REFERENCE
    rows = []
    for step, (formula, count) in steps.items():
        pair, fold = count(n, p, 2 * n / K), count(n, p, n / K)
        rows.append((step, formula, pair, fold, pair * K * (K - 1) / 2 + fold * K))
    found = pd.DataFrame(rows, columns=["step", "flops", "pair", "fold", "repeat"])
    found.loc[len(found)] = ["total", "", *found[["pair", "fold", "repeat"]].sum()]
    found["share"] = found["repeat"] / found["repeat"].iloc[-1]
    return found.assign(n=n, p=p, K=K)


def table2(_: Settings) -> dict[str, pd.DataFrame]:
    """Steps of the one-step formula."""
    return {"table2": _by_step(ONE_STEP)}


def table3(settings: Settings) -> dict[str, pd.DataFrame]:
    """Steps of refitting; and the totals of both beside the counts by which `onefit.plan` goes."""
    rows = []
    for n, p, K in FIGURE3[:3] if settings.quick else FIGURE3:
        flops = onefit.plan(n, p, K).flops
        rows.append(
            {
                "n": n,
                "p": p,
                "K": K,
                "paper_refit": total(REFIT, n, p, K),
                "paper_one_step": total(ONE_STEP, n, p, K),
                "plan_refit": flops["refit"],
                "plan_onestep": flops["onestep"],
                "plan_gram": flops["gram"],
            }
        )
    return {"table3": _by_step(REFIT), "table3_plan": pd.DataFrame(rows)}
