"""Settings whose data are simulated: their law, and so the true error, is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import onefit

from .analyses import ALL_ROWS_RULES, ALL_RULES, Analysis, Curve, Nested, Outside, Pair
from .before import BEFORE
from .data import AbsoluteError, Data, FreshRows, HuberError, UnequalGroups
from .setting import Setting

__all__ = ["settings"]

FEW, FEWEST = 500, 200
"""Data sets of dear settings, and of the dearest."""
REPEATS = 50
"""With ten folds: enough for the covariance rule, and few for bates' (it needs some 600)."""
FEW_REPEATS = 10
INSIDE = ("covariance", BEFORE, "naive")
FEW_RULES = ("covariance", BEFORE, "corrected_t", "naive")
PENALTIES = tuple(float(value) for value in np.logspace(-1, 3, 17))
LAMBDAS = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
FOLD_LAMBDAS = (1e-6, 1e-4, 1e-2)


def _folds_and_rows(model: str, estimator: Any, repeats: int = REPEATS, **options: Any) -> tuple[Analysis, ...]:
    """All rules with ten folds, and leave two out."""
    return (
        Nested(model, estimator, 10, repeats, ALL_RULES, **options),
        Nested(model, estimator, **options),
    )


def _few_folds(model: str, estimator: Any, folds: int = 5, **options: Any) -> Analysis:
    return Nested(model, estimator, folds, FEW_REPEATS, FEW_RULES, **options)


def _least_squares() -> list[Setting]:
    ols = ("least squares", LinearRegression())
    shapes = {(100, 20): (200, (20,)), (40, 20): (REPEATS, (20,)), (40, 5): (REPEATS, ())}
    shapes |= {(200, 20): (REPEATS, ()), (400, 20): (REPEATS, ())}
    return [
        Setting(
            f"ols-{n}-{p}",
            f"least squares, n = {n}, p = {p}",
            Data.of("make_linear", n=n, p=p, beta=0.0),
            (*_folds_and_rows(*ols, repeats), *(_few_folds(*ols, folds) for folds in (5, *more))),
            0.02,
        )
        for (n, p), (repeats, more) in shapes.items()
    ]


def _ridge() -> list[Setting]:
    """The squares of the coefficients sum to 1, the variance of the noise."""
    return [
        Setting(
            f"ridge-{n}-{p}",
            f"ridge, n = {n}, p = {p}, alpha = {alpha:g}",
            Data.of("make_linear", n=n, p=p, beta=0.5),
            (*_folds_and_rows("ridge", Ridge(alpha)), _few_folds("ridge", Ridge(alpha))),
            0.02,
        )
        for n, p, alpha in ((100, 20, 20.0), (100, 200, 100.0), (40, 100, 50.0))
    ]


def _pairs() -> list[Setting]:
    """Differences between two models of different kinds, fixed in advance."""
    ols, ridge = LinearRegression(), Ridge(20.0)
    lasso, tree = Lasso(0.1), DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    return [
        Setting(
            "pair-100-20",
            "least squares minus ridge with alpha = 20, n = 100, p = 20",
            Data.of("make_linear", n=100, p=20, beta=0.5),
            tuple(Pair("least squares", "ridge", (ols, ridge), K, L) for K, L in (("n", 1), (10, 10), (5, 10))),
            0.03,
        ),
        Setting(
            "pair-refits",
            "lasso minus regression tree, n = 100, p = 5, refitted",
            Data.of("make_linear", n=100, p=5),
            (Pair("lasso", "tree", (lasso, tree), 5, 3, FreshRows(20_000)),),
            0.12,
            FEW,
            25,
        ),
    ]


def _smooth() -> list[Setting]:
    cr, tuned = onefit.SplineRegression(lam=1e-3), onefit.SplineRegression(n_basis=10, lam="reml")
    curve = Curve("FPCR", onefit.FPCR(), "lam", LAMBDAS)
    pairs = tuple(
        Pair(f"FPCR, lam = {a:g}", f"lam = {b:g}", (onefit.FPCR(lam=a), onefit.FPCR(lam=b)))
        for a, b in ((1e-6, 1e-4), (1e-5, 1e-3))
    )
    return [
        Setting(
            "spline",
            "cubic spline of a sine, n = 100",
            Data.of("make_sine", n=100),
            (*_folds_and_rows("lam = 0.001", cr), _few_folds("lam = 0.001", cr)),
            0.045,
        ),
        Setting(
            "spline-reml",
            "cubic spline of a sine, n = 50, lam by REML, tuned inside",
            Data.of("make_sine", n=50),
            (Nested("lam by REML", tuned, 10, 5, INSIDE), Nested("lam by REML", tuned)),
            0.04,
        ),
        Setting(
            "fpcr",
            "FPCR with 10 components on curves, n = 100",
            Data.of("make_signal", n=100, n_points=100),
            (curve, *pairs),
            0.06,
        ),
        Setting(
            "fpcr-folds",
            "FPCR with 10 components on curves, n = 100, 20 folds",
            Data.of("make_signal", n=100, n_points=100),
            tuple(Nested(f"FPCR, lam = {lam:g}", onefit.FPCR(lam=lam), 20, REPEATS, ALL_RULES) for lam in FOLD_LAMBDAS),
            0.08,
        ),
    ]


def _noise() -> list[Setting]:
    def setting(kind: str, title: str) -> Setting:
        absolute: tuple[Analysis, ...] = ()
        if kind in ("t3", "exponential"):
            truth = AbsoluteError(kind)
            absolute = _folds_and_rows("least squares", LinearRegression(), loss="absolute_error", truth=truth)
        return Setting(
            f"noise-{kind}",
            f"least squares, n = 100, p = 20, {title} noise",
            Data.of("make_linear", n=100, p=20, beta=0.0, noise_kind=kind),
            (*_folds_and_rows("least squares", LinearRegression()), *absolute),
            0.015 * (1 + bool(absolute)),
        )

    kinds = {"heteroscedastic": "heteroscedastic", "t5": "t5", "t3": "t3", "exponential": "exponential"}
    huber = Setting(
        "noise-t3-huber",
        "least squares, n = 100, p = 20, t3 noise, Huber's loss",
        Data.of("make_linear", n=100, p=20, beta=0.0, noise_kind="t3"),
        (Nested("least squares", LinearRegression(), loss="huber", truth=HuberError("t3")),),
        0.05,
    )
    return [*(setting(kind, title) for kind, title in kinds.items()), huber]


def _tuned() -> list[Setting]:
    gcv = onefit.PenalizedRegression(lam="gcv")
    outside = Outside("ridge, tuned outside", Ridge(), "alpha", PENALTIES)
    return [
        Setting(
            "tuned-50-20",
            "ridge, n = 50, p = 20, penalty chosen by the data",
            Data.of("make_linear", n=50, p=20, beta=0.5),
            (
                outside,
                Nested("RidgeCV, inside", RidgeCV(PENALTIES)),
                Nested("RidgeCV, inside", RidgeCV(PENALTIES), 10, 5, INSIDE),
                Nested("lam by GCV, inside", gcv),
                Nested("lam by GCV, inside", gcv, 10, 5, INSIDE),
            ),
            0.27,
            FEW,
        ),
        Setting(
            "tuned-40-100",
            "ridge, n = 40, p = 100, penalty chosen by the data",
            Data.of("make_linear", n=40, p=100, beta=0.5),
            (outside, Nested("RidgeCV, inside", RidgeCV(PENALTIES), 10, 2, INSIDE)),
            0.12,
            FEW,
        ),
    ]


def _groups() -> list[Setting]:
    ols = LinearRegression()
    return [
        Setting(
            "groups",
            "least squares, 30 groups of 4 rows with a random effect, p = 5",
            Data.of("make_grouped", n_groups=30, group_size=4, p=5),
            (
                *_folds_and_rows("with groups", ols, with_groups=True),
                *_folds_and_rows("without groups", ols),
            ),
            0.05,
        ),
        Setting(
            "groups-unequal",
            "least squares, 30 groups of 2 to 8 rows with a random effect, p = 5",
            UnequalGroups.of("make_grouped", n_groups=30, group_size=8, p=5),
            _folds_and_rows("with groups", ols, with_groups=True),
            0.05,
        ),
    ]


def _few_groups() -> list[Setting]:
    """Two groups out; five folds of groups where there are more than that many."""
    every, rules = (*ALL_ROWS_RULES, "corrected_t"), ("covariance", BEFORE, "corrected_t")
    ols = LinearRegression()

    def analyses(n_groups: int) -> tuple[Analysis, ...]:
        two_out = Nested("with groups", ols, "n", 1, every, with_groups=True)
        five = Nested("with groups", ols, 5, FEW_REPEATS, rules, with_groups=True)
        return (two_out, five) if n_groups > 5 else (two_out,)

    return [
        Setting(
            f"groups-{n_groups}",
            f"least squares, {n_groups} groups of 8 rows with a random effect, p = 3",
            Data.of("make_grouped", n_groups=n_groups, group_size=8, p=3),
            analyses(n_groups),
            0.01,
        )
        for n_groups in (5, 8, 12, 20)
    ]


def _refits() -> list[Setting]:
    """Five folds and three repeats: 45 fits; and ten folds with three, 165, on fewer data sets."""
    logistic = LogisticRegression(solver="liblinear")
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    neighbours = KNeighborsRegressor(10, algorithm="brute")
    sparse, few = (Data.of("make_linear", n=100, p=p) for p in (20, 5))
    classes, fresh = Data.of("make_logistic", n=100, p=20), {"truth": FreshRows(20_000)}
    models: dict[str, tuple[Any, Data, str, dict[str, Any]]] = {
        "lasso": (Lasso(0.1), sparse, "lasso, n = 100, p = 20", {}),
        "neighbours": (neighbours, few, "10 nearest neighbours, n = 100, p = 5", fresh),
        "tree": (tree, few, "regression tree, n = 100, p = 5", fresh),
        "logistic": (logistic, classes, "logistic, n = 100, p = 20", {"loss": "zero_one"}),
    }
    found: list[Setting] = []
    for name, (model, data, title, options) in models.items():
        five, ten = (Nested(name, model, folds, 3, ALL_RULES, **options) for folds in (5, 10))
        setting = Setting(name, f"{title}, refitted", data, (five,), 0.06, 800, 25)
        found += [setting, replace(setting, name=f"{name}-10", analyses=(ten,), seconds=0.2, replications=FEWEST)]
    return found


def settings() -> list[Setting]:
    """All of them."""
    families = (_least_squares, _ridge, _smooth, _pairs, _noise, _tuned, _groups, _few_groups, _refits)
    return [setting for family in families for setting in family()]
