"""The error curve against refits, and leave two out against ten folds: lines of text for ``python -m benchmarks``."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV

import onefit
from onefit.errors import OneFitWarning
from onefit.folds import RandomFolds

from .cases import Case
from .measure import best_of
from .refits import scikit_learn
from .sweep import sweep

__all__ = ["curve_lines", "refit_seconds"]


def refit_seconds(case: Case) -> float:
    """Seconds that a loop of scikit-learn's Ridge takes for one repeat at one value."""
    return best_of(lambda: sweep(scikit_learn(case.X, case.y, case.lam), case.folds[:1]), 1.0)[0]


def curve_lines(quick: bool) -> list[str]:
    """Ratios for a path of penalties; raises if the curve and refits disagree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)
        return [_against_refits(quick), _leave_two_out(quick), _tuned(quick)]


def _against_refits(quick: bool) -> str:
    case = Case(1000, 40, 10, 10 if quick else 200, 1)
    alphas = np.logspace(-2, 4, 50)
    seconds, curve = best_of(
        lambda: onefit.error_curve(
            Ridge(), case.X, case.y, param_name="alpha", param_range=alphas, folds=case.folds, route="gram"
        ),
        0.0,
    )
    e_in, _ = sweep(scikit_learn(case.X, case.y, float(alphas[20])), case.folds[:1])
    result = curve.results[20]
    difference = float(np.abs(result.fold_errors.e_in[:1] / e_in - 1).max())
    if not difference <= 1e-8:
        raise AssertionError(f"the curve differs from refits by {difference:.1e}")
    refits = refit_seconds(case) * case.n_repeats * len(alphas)
    return (
        f"error_curve, n={case.n} p={case.p} K={case.n_folds} L={case.n_repeats}, {len(alphas)} values: "
        f"{refits / seconds:.0f} times faster than scikit-learn refits (extrapolated from one repeat at one value), "
        f"difference {difference:.0e}"
    )


def _leave_two_out(quick: bool) -> str:
    case = Case(500 if quick else 2000, 40, 10, 20, 1)
    alphas = np.logspace(-2, 4, 50)
    arguments = {"param_name": "alpha", "param_range": alphas}
    folded, _ = best_of(lambda: onefit.error_curve(Ridge(), case.X, case.y, folds=case.folds, **arguments), 0.0)
    two_out, _ = best_of(lambda: onefit.error_curve(Ridge(), case.X, case.y, n_folds="n", **arguments), 0.0)
    return (
        f"leave-two-out curve, n={case.n} p={case.p}, {len(alphas)} values: the time of {two_out / folded:.1f} curves "
        f"with K=10 L=20"
    )


def _tuned(quick: bool) -> str:
    case = Case(500, 20, 10, 1 if quick else 3, 1)
    estimator = RidgeCV(alphas=np.logspace(-2, 4, 20))
    ids = RandomFolds(case.n, case.n_folds, entropy=0).block(0, case.n_repeats).ids
    fast, ours = best_of(lambda: onefit.nested_cv(estimator, case.X, case.y, folds=ids), 1.0)
    slow, theirs = best_of(lambda: onefit.nested_cv(estimator, case.X, case.y, folds=ids, route="refit"), 0.0)
    difference = float(np.abs(ours.fold_errors.e_in / theirs.fold_errors.e_in - 1).max())
    return (
        f"RidgeCV tuned in every training set, n={case.n} p={case.p} K={case.n_folds}, 20 values: {slow / fast:.0f} "
        f"times faster than its own refits, difference {difference:.0e}"
    )
