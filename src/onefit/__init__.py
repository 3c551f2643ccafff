"""How well will this model predict? Nested cross-validation, exactly, from one fit.

>>> import onefit
>>> from sklearn.datasets import load_diabetes
>>> from sklearn.linear_model import Ridge
>>> X, y = load_diabetes(return_X_y=True)
>>> result = onefit.nested_cv(Ridge(alpha=0.1), X, y, random_state=0)
"""

from importlib.metadata import version as _version

from . import datasets, errors, losses
from .api import compare, error_curve, nested_cv
from .comparison import Comparison
from .config import show_config
from .curve import ErrorCurve
from .models import FPCR, AdditiveModel, PenalizedRegression, SignalRegression, SplineRegression
from .models.terms import factor, linear, smooth
from .results import NestedCVResult
from .routes import Plan, breakeven_folds, plan

__version__ = _version("onefit")
__all__ = [
    "FPCR",
    "AdditiveModel",
    "Comparison",
    "ErrorCurve",
    "NestedCVResult",
    "PenalizedRegression",
    "Plan",
    "SignalRegression",
    "SplineRegression",
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
    "show_config",
    "smooth",
]
