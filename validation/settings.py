"""The settings of the study."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import onefit

from .analyses import ALL_RULES, Analysis, Curve, Figures, Key, Nested, Outside, Pair
from .data import AbsoluteError, Data, FreshRows, HuberError, UnequalGroups

__all__ = ["SETTINGS", "Setting"]

MANY, FEW = 2000, 300
FEWER = 50
"""Repeats where the design does not ask for 200."""
PENALTIES = tuple(float(value) for value in np.logspace(-1, 3, 17))
LAMBDAS = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
FOLD_LAMBDAS = (1e-6, 1e-4, 1e-2)


@dataclass(frozen=True)
class Setting:
    """A law of data and what is done with each data set."""

    name: str
    title: str
    data: Data
    analyses: tuple[Analysis, ...]
    seconds: float
    """Measured cost of a replication, for the time left that the progress bar shows."""
    replications: int = MANY
    block: int = 50

    @property
    def digest(self) -> str:
        """Changes with the name, the data, the analyses and the version of onefit.

        It cannot see code that changed within a version: `validation.work.take_up` computes a replication again.
        """
        known = repr((self.name, self.data, self.analyses, onefit.__version__))
        return hashlib.sha256(known.encode()).hexdigest()[:12]

    def rows(self) -> list[Key]:
        """The rows of the study that it gives."""
        return [key for analysis in self.analyses for key in analysis.rows()]

    def replicate(self, replication: int) -> Figures:
        """Figures of all rows on one data set; the seeds depend on the name and the replication alone."""
        seeds = np.random.SeedSequence((crc32(self.name.encode()), replication)).generate_state(2)
        simulation = self.data.draw(int(seeds[0]))
        return np.concatenate([analysis.run(simulation, int(seeds[1])) for analysis in self.analyses])


def _folds_and_rows(model: str, estimator: Any, repeats: int = 200, **options: Any) -> tuple[Analysis, ...]:
    """All rules with ten folds, and leave two out."""
    return (
        Nested(model, estimator, 10, repeats, ALL_RULES, **options),
        Nested(model, estimator, **options),
    )


def _least_squares() -> list[Setting]:
    more = tuple(Nested("least squares", LinearRegression(), folds, FEWER, ALL_RULES) for folds in (5, 20))
    shapes = {
        (100, 20): (200, more),
        (40, 20): (200, ()),
        (40, 5): (200, ()),
        (200, 20): (FEWER, ()),
        (400, 20): (30, ()),
    }
    cost = {(100, 20): 0.09, (200, 20): 0.06}
    return [
        Setting(
            f"ols-{n}-{p}",
            f"least squares, n = {n}, p = {p}",
            Data.of("make_linear", n=n, p=p, beta=0.0),
            (*_folds_and_rows("least squares", LinearRegression(), repeats), *others),
            cost.get((n, p), 0.02),
        )
        for (n, p), (repeats, others) in shapes.items()
    ]


def _ridge() -> list[Setting]:
    """The squares of the coefficients sum to 1, the variance of the noise."""
    return [
        Setting(
            f"ridge-{n}-{p}",
            f"ridge, n = {n}, p = {p}, alpha = {alpha:g}",
            Data.of("make_linear", n=n, p=p, beta=0.5),
            _folds_and_rows("ridge", Ridge(alpha), repeats),
            0.035,
        )
        for n, p, alpha, repeats in ((100, 20, 20.0, FEWER), (100, 200, 100.0, 200), (40, 100, 50.0, FEWER))
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
            _folds_and_rows("lam = 0.001", cr, FEWER),
            0.045,
        ),
        Setting(
            "spline-reml",
            "cubic spline of a sine, n = 50, lam by REML, tuned inside",
            Data.of("make_sine", n=50),
            (Nested("lam by REML", tuned, 10, 5, ("covariance", "naive")), Nested("lam by REML", tuned)),
            0.2,
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
            tuple(Nested(f"FPCR, lam = {lam:g}", onefit.FPCR(lam=lam), 20, FEWER, ALL_RULES) for lam in FOLD_LAMBDAS),
            0.08,
        ),
    ]


def _noise() -> list[Setting]:
    def setting(kind: str, title: str) -> Setting:
        absolute: tuple[Analysis, ...] = ()
        if kind in ("t3", "exponential"):
            truth = AbsoluteError(kind)
            absolute = _folds_and_rows("least squares", LinearRegression(), FEWER, loss="absolute_error", truth=truth)
        return Setting(
            f"noise-{kind}",
            f"least squares, n = 100, p = 20, {title} noise",
            Data.of("make_linear", n=100, p=20, beta=0.0, noise_kind=kind),
            (*_folds_and_rows("least squares", LinearRegression(), 200 if kind == "t3" else FEWER), *absolute),
            0.035 * (1 + bool(absolute)),
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
    inside = ("covariance", "naive")
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
                Nested("RidgeCV, inside", RidgeCV(PENALTIES), 10, 5, inside),
                Nested("lam by GCV, inside", gcv),
                Nested("lam by GCV, inside", gcv, 10, 5, inside),
            ),
            0.4,
        ),
        Setting(
            "tuned-40-100",
            "ridge, n = 40, p = 100, penalty chosen by the data",
            Data.of("make_linear", n=40, p=100, beta=0.5),
            (outside, Nested("RidgeCV, inside", RidgeCV(PENALTIES), 10, 2, inside)),
            0.2,
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
                *_folds_and_rows("with groups", ols, FEWER, with_groups=True),
                *_folds_and_rows("without groups", ols, FEWER),
            ),
            0.05,
        ),
        Setting(
            "groups-unequal",
            "least squares, 30 groups of 2 to 8 rows with a random effect, p = 5",
            UnequalGroups.of("make_grouped", n_groups=30, group_size=8, p=5),
            _folds_and_rows("with groups", ols, FEWER, with_groups=True),
            0.05,
        ),
    ]


def _refits() -> list[Setting]:
    logistic = LogisticRegression(solver="liblinear")
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    sparse, few = (Data.of("make_linear", n=100, p=p) for p in (20, 5))
    models: dict[str, tuple[Any, Data, str, dict[str, Any], float]] = {
        "lasso": (Lasso(0.1), sparse, "lasso, n = 100, p = 20", {}, 3.0),
        "neighbours": (
            KNeighborsRegressor(10, algorithm="brute"),
            few,
            "10 nearest neighbours, n = 100, p = 5",
            {"truth": FreshRows()},
            3.2,
        ),
        "tree": (tree, few, "regression tree, n = 100, p = 5", {"truth": FreshRows()}, 3.2),
        "logistic": (
            logistic,
            Data.of("make_logistic", n=100, p=20),
            "logistic, n = 100, p = 20",
            {"loss": "zero_one"},
            3.5,
        ),
    }
    return [
        Setting(
            name,
            f"{title}, refitted",
            data,
            (
                Nested(name, model, 10, 5, ("covariance", "naive"), **options),
                Nested(name, model, 10, 20, ALL_RULES, **options),
                Nested(name, model, 10, 1, ("bates",), **options),
            ),
            seconds,
            FEW,
            5,
        )
        for name, (model, data, title, options, seconds) in models.items()
    ]


SETTINGS = {
    setting.name: setting
    for family in (_least_squares, _ridge, _smooth, _noise, _tuned, _groups, _refits)
    for setting in family()
}
