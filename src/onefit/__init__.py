"""How well will this model predict? Nested cross-validation, exactly, from one fit.

>>> import onefit
>>> from sklearn.datasets import load_diabetes
>>> from sklearn.linear_model import Ridge
>>> X, y = load_diabetes(return_X_y=True)
>>> result = onefit.nested_cv(Ridge(alpha=0.1), X, y, random_state=0)
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, errors, losses
    from .api import compare, error_curve, nested_cv, plan_for
    from .config import show_config
    from .models import FPCR, AdditiveModel, PenalizedRegression, SignalRegression, SplineRegression
    from .models.terms import factor, linear, smooth
    from .neighbourhoods import Gaps, Neighbourhoods, RollingOrigin, SpaceBlocks, TimeBlocks
    from .results import Comparison, ErrorCurve, NestedCVResult, Plan, breakeven_folds, plan
    from .sources import Table, scan

__version__ = _version("onefit")
__all__ = [
    "FPCR",
    "AdditiveModel",
    "Comparison",
    "ErrorCurve",
    "Gaps",
    "Neighbourhoods",
    "NestedCVResult",
    "PenalizedRegression",
    "Plan",
    "RollingOrigin",
    "SignalRegression",
    "SpaceBlocks",
    "SplineRegression",
    "Table",
    "TimeBlocks",
    "breakeven_folds",
    "compare",
    "datasets",
    "error_curve",
    "errors",
    "factor",
    "linear",
    "losses",
    "nested_cv",
    "plan",
    "plan_for",
    "scan",
    "show_config",
    "smooth",
]

# Imported when first asked for, so that the command line can print its help without loading scikit-learn.
_HOMES = {
    "api": ("compare", "error_curve", "nested_cv", "plan_for"),
    "config": ("show_config",),
    "models": ("FPCR", "AdditiveModel", "PenalizedRegression", "SignalRegression", "SplineRegression"),
    "models.terms": ("factor", "linear", "smooth"),
    "neighbourhoods": ("Gaps", "Neighbourhoods", "RollingOrigin", "SpaceBlocks", "TimeBlocks"),
    "results": ("Comparison", "ErrorCurve", "NestedCVResult", "Plan", "breakeven_folds", "plan"),
    "sources": ("Table", "scan"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("datasets", "errors", "losses"):
        return _import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
