"""What is timed: a method takes a case and partitions of its rows, and returns e_in and e_out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

import onefit
from onefit.errors import OneFitWarning

from .cases import Case
from .literal import literal
from .refits import normal_equations, scikit_learn
from .sweep import Errors, HeldOut, sweep

__all__ = ["PEERS", "ROUTES", "Peer", "run_onefit"]

ROUTES = ("gram", "onestep", "auto")


@dataclass(frozen=True)
class Peer:
    """A way to do without onefit; a sampled one runs the first few partitions and is scaled up."""

    name: str
    prepare: Callable[[NDArray[np.float64], NDArray[np.float64], float], HeldOut]
    sampled: bool

    def folds(self, case: Case) -> NDArray[np.intp]:
        """The partitions of the case that this peer runs."""
        return case.folds[: case.refit_repeats] if self.sampled else case.folds

    def run(self, case: Case) -> Errors:
        """e_in and e_out of those partitions, everything computed from X and y."""
        return sweep(self.prepare(case.X, case.y, case.lam), self.folds(case))


PEERS = (
    Peer("scikit-learn Ridge, refitted", scikit_learn, sampled=True),
    Peer("NumPy normal equations, refitted", normal_equations, sampled=True),
    Peer("NumPy Proposition 1, literal", literal, sampled=False),
)


def run_onefit(case: Case, route: str) -> onefit.NestedCVResult:
    """The whole of `onefit.nested_cv`, its intervals included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)  # few repeats are meant here
        return onefit.nested_cv(Ridge(alpha=case.lam), case.X, case.y, folds=case.folds, route=route)
