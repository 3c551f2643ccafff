"""Callables (estimator, X, y) that score a fitted estimator themselves: known only by refits, a number a fold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, OneFitError
from ..typing import AnyArray, FloatArray
from .contract import Metric, Reduced, Repeat, Shown
from .orientation import NEGATED
from .scored import fold_scales, fold_weights, to_rows

__all__ = ["EstimatorScorer", "refuse_bare"]


@dataclass(frozen=True)
class EstimatorScorer(Metric):
    """A callable (estimator, X, y) whose value is greater the better.

    Nothing is known of single rows, so that the variance is that of the values of the folds: every row has its fold's,
    about the mean and times the root of the number of rows in a fold. ``response`` is a name of its own, under which
    the responses are the values that `score_rows` gives.
    """

    name: str
    function: Callable[..., Any]
    scale: str = "identity"
    shown: Shown = NEGATED
    family: str = "pooled"

    @property
    def response(self) -> str:  # type: ignore[override]
        """Its own kind, since no other metric has it."""
        return f"score by {self.name}"

    def n_figures(self, n_outputs: int) -> int:
        """One, whatever the target."""
        return 1

    def score_rows(self, fitted: Any, X: Any, y: AnyArray) -> FloatArray:
        """The score of a fitted estimator on some rows, once for each of them."""
        try:
            score = np.asarray(self.function(fitted, X, y), dtype=np.float64)
        except OneFitError:
            raise
        except Exception as error:
            raise DataError(
                f"The scorer {self.name} failed: {type(error).__name__}: {error}. It is called with (estimator, X, y) "
                "and must return one number."
            ) from error
        if score.shape != () or not np.isfinite(score):
            found = f"an array of shape {score.shape}" if score.shape else f"{score:g}"
            raise DataError(f"The scorer {self.name} returned {found}; it must return one number that is finite.")
        return np.full(len(y), float(score))

    def reduce(self, repeat: Repeat) -> Reduced:
        """Values of folds, and what a second fold changes in them."""
        tables = [-np.asarray(part)[:, 0] for part in repeat.responses[self.response]]  # (K, V) of each fold
        own = np.stack([table[fold] for fold, table in enumerate(tables)])
        shares, scales = fold_weights(repeat), fold_scales(repeat)
        theta = shares @ own
        rows = [
            np.broadcast_to(theta + np.sqrt(len(held_out)) * (value - theta), (len(held_out), len(theta)))
            for held_out, value in zip(repeat.rows, own, strict=True)
        ]
        influence = to_rows(repeat, rows)
        weights = np.ones(repeat.n) if repeat.weights is None else repeat.weights
        scored = ~np.isnan(influence[:, 0])
        influence += theta - weights[scored] @ influence[scored] / weights[scored].sum()
        change = np.stack([scales[fold] * (table[fold] - table) for fold, table in enumerate(tables)])
        return Reduced(own[..., None], influence[..., None], change[..., None])


def refuse_bare(function: Callable[..., Any], name: str) -> None:
    """Refuse a function of (y, prediction), which scikit-learn calls a metric and not a scorer."""
    module = str(getattr(function, "__module__", ""))
    is_metric = module.startswith("sklearn.metrics.") and not module.startswith("sklearn.metrics._scorer")
    if not is_metric:
        try:
            inspect.signature(function).bind(None, None, None)
        except ValueError:
            return  # built in, and does not tell
        except TypeError:
            is_metric = True
        else:
            first = next(iter(inspect.signature(function).parameters), "")
            is_metric = first in ("y", "y_true")
    if is_metric:
        known = _scorer_of_function(function)
        remedy = (
            f"use scoring={known!r}."
            if known
            else (
                f"wrap it as make_scorer({name}), with greater_is_better=False if smaller is better and "
                'response_method="predict_proba" if it is of probabilities, or give a loss of single rows as loss=.'
            )
        )
        raise DataError(
            f"scoring={name} is a function of (y, prediction), and a scorer is one of (estimator, X, y): {remedy}"
        )


def _scorer_of_function(function: object) -> str:
    """The shortest name of a scorer of scikit-learn that is made of a function, if there is one.

    It knows which response the function needs and which way is better: make_scorer(roc_auc_score) is of classes.
    """
    from sklearn.metrics import get_scorer, get_scorer_names  # here: it takes as long to load as all of onefit

    names = [name for name in get_scorer_names() if getattr(get_scorer(name), "_score_func", None) is function]
    return min(names, key=len, default="")
