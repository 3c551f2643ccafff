"""Three routes to the same fold errors.

`gram` downdates the training statistics of the folds: p x p systems, best while folds hold more rows than
there are columns. `onestep` is the paper's Proposition 1: deleting rows is a Schur complement of the residual
operator, so the systems have the size of the folds; it serves kernels and p >= n. `refit` fits the
estimator itself on every training set: it serves everything, and the others are tested against it. Tuned estimators
take a gram route of their own, which chooses the penalty anew in every training set (`TunedRoute`); so do models that
learn still more from a training set, such as principal components or several penalties (`LearnedRoute`).
"""

from .base import Route
from .gram import GramRoute
from .learned import LearnedRoute
from .leavetwo import LeaveTwoOut
from .onestep import OneStepRoute
from .plan import Plan, breakeven_folds, plan
from .refit import RefitRoute
from .sidebyside import SideBySide
from .tuned import TunedRoute

__all__ = [
    "GramRoute",
    "LearnedRoute",
    "LeaveTwoOut",
    "OneStepRoute",
    "Plan",
    "RefitRoute",
    "Route",
    "SideBySide",
    "TunedRoute",
    "breakeven_folds",
    "plan",
]
