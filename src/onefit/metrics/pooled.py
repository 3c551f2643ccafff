"""Any other function of (y, response): average precision, and scorers of one's own.

Theta is the function of all held-out predictions of a repeat. The influence of a row is ``(n - 1)(theta - theta without
it)``, the jackknife. With more rows than `MOST_BLOCKS` blocks of rows are left out, drawn once and for all by chance:
if a block has q rows, the mean influence of its rows is ``(n - q)(theta - theta without it) / q``, and every row of it
gets ``sqrt(q)`` times that, so that the variance of the values is that of single rows. Rows of a group stay together,
and q then counts groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, OneFitError
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from .contract import Metric, Reduced, Repeat, Shown
from .orientation import NEGATED
from .scored import Scored, folds_of, kind_of, to_rows, without_class

__all__ = ["MOST_BLOCKS", "PooledMetric"]

MOST_BLOCKS = 200
"""How often, at most, a function is computed with rows left out, for each repeat and value."""


@dataclass(frozen=True)
class _Called:
    """What a function is called with."""

    observed: AnyArray
    response: AnyArray
    weights: FloatArray

    @classmethod
    def together(cls, parts: Sequence[_Called]) -> _Called:
        """Parts one after the other."""
        return cls(
            np.concatenate([part.observed for part in parts]),
            np.concatenate([part.response for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def without(self, out: BoolArray) -> _Called:
        """Some rows left out."""
        return _Called(self.observed[~out], self.response[~out], self.weights[~out])


@dataclass(frozen=True)
class PooledMetric(Metric):
    """A function of all held-out predictions of a repeat.

    Attributes
    ----------
    function : callable
        Of (y, response), and of ``sample_weight`` if ``takes_weights``; it gets labels, and of two classes one column
        of scores or probabilities, as scikit-learn's scorers do.
    sign : int
        1 if its value is the figure that is shown, -1 if minus it is: the sign of scikit-learn's scorers.
    positive : int
        Number of the class, of two, that scores and probabilities speak of.
    needs_positives : bool
        Whether it means nothing in a fold without rows of that class.
    """

    name: str
    function: Callable[..., Any]
    response: str = "predict"
    sign: int = 1
    scale: str = "identity"
    shown: Shown = NEGATED
    takes_weights: bool = False
    positive: int = 1
    needs_positives: bool = False
    family: str = "pooled"

    def n_figures(self, n_outputs: int) -> int:
        """One, of a target of one column."""
        if n_outputs > 1:
            raise DataError(
                f"{self.name} is a function of all predictions, and would mix the {n_outputs} columns of y; onefit "
                "gives a figure for each. Use a metric that has one for each column, or one column of y at a time."
            )
        return 1

    def reduce(self, repeat: Repeat) -> Reduced:
        """The function with blocks of rows left out, and with each fold's predictions replaced."""
        if repeat.labels is None:
            self.n_figures(repeat.observed.shape[1])
        if repeat.weights is not None and not self.takes_weights:
            raise DataError(
                f"{self.name} takes no sample_weight, and there are weights. Leave them out, or use a metric that does."
            )
        folds = list(folds_of(repeat, self.response))
        if self.needs_positives and repeat.labels is not None:
            self._check_positives(folds, repeat.labels)
        kind, blocks = kind_of(self.response, repeat), _blocks(repeat)
        found = [self._of_value(folds, repeat, kind, value, blocks) for value in range(repeat.n_values)]
        values, influence, change = (np.stack(tables, axis=-1)[..., None] for tables in zip(*found, strict=True))
        rows = np.split(influence, np.cumsum([len(scored.weights) for scored in folds])[:-1])
        return Reduced(values, to_rows(repeat, rows), change)

    def _of_value(
        self, folds: Sequence[Scored], repeat: Repeat, kind: str, value: int, blocks: _Blocks
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For one value of the parameter: values of folds (K,), influence (rows,), change (K, K)."""
        K, where = len(folds), f"repeat {repeat.number}"
        own = [self._call(scored, fold, kind, value) for fold, scored in enumerate(folds)]
        pooled = _Called.together(own)
        theta = self._loss(pooled, where)
        values = np.array([self._loss(part, scored.where) for part, scored in zip(own, folds, strict=True)])
        influence = theta + self._jackknife(pooled, blocks, theta, where)
        change = np.zeros((K, K))
        for fold, second in np.argwhere(~np.eye(K, dtype=bool)):
            other = self._call(folds[fold], second, kind, value)
            loss = self._loss(_Called.together([*own[:fold], other, *own[fold + 1 :]]), where)
            change[fold, second] = pooled.weights.sum() / len(other.weights) * (theta - loss)
        return values, influence, change

    def _call(self, scored: Scored, second: int, kind: str, value: int) -> _Called:
        """What the function is called with for one fold."""
        response, observed = scored.response[second, :, value], scored.observed[:, 0]
        if scored.labels is None:
            return _Called(observed[:, 0], (observed - response)[:, 0], scored.weights)
        if kind == "predict":
            return _Called(scored.labels[observed], scored.labels[response], scored.weights)
        if response.shape[-1] == 2:
            response = response[:, self.positive]
        elif response.shape[-1] == 1:  # the score of the second class
            response = response[:, 0] if self.positive == 1 else -response[:, 0]
        return _Called(scored.labels[observed], response, scored.weights)

    def _check_positives(self, folds: Sequence[Scored], labels: AnyArray) -> None:
        for scored in folds:
            if not (scored.observed == self.positive).any():
                raise without_class(scored, self.name, labels[self.positive])

    def _loss(self, called: _Called, where: str) -> float:
        """The function's value, in the orientation of a loss."""
        options = {"sample_weight": called.weights} if self.takes_weights else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.function(called.observed, called.response, **options)
            figure = np.asarray(found, dtype=np.float64)
        except OneFitError as error:
            raise DataError(f"The metric {self.name} is undefined in {where}: {error}.") from error
        except Exception as error:
            raise DataError(
                f"The metric {self.name} failed on the held-out predictions of {where}: {type(error).__name__}: "
                f"{error}. It is called with (y, prediction) of some rows and must return one number."
            ) from error
        if figure.shape != ():
            raise DataError(
                f"The metric {self.name} returned an array of shape {figure.shape}; it must return one number."
            )
        if not np.isfinite(figure):
            raise DataError(f"The metric {self.name} is {figure:g} on the held-out predictions of {where}.")
        return float(self.shown.sign * (self.sign * figure - self.shown.origin))

    def _jackknife(self, pooled: _Called, blocks: _Blocks, theta: float, where: str) -> FloatArray:
        """Influence of rows less theta, about its weighted mean."""
        influence = np.zeros(len(pooled.weights))
        total = pooled.weights.sum()
        for block in np.unique(blocks.of_row):
            out = blocks.of_row == block
            gone = pooled.weights[out].sum()
            if gone > 0:
                loss = self._loss(pooled.without(out), f"{where} without {out.sum()} of its rows")
                influence[out] = np.sqrt(blocks.units[block]) * (total - gone) / gone * (theta - loss)
        centred: FloatArray = influence - pooled.weights @ influence / total
        return centred


@dataclass(frozen=True)
class _Blocks:
    """Rows that are left out together: the block of each scored row, and the units (rows or groups) in each block."""

    of_row: IntArray
    units: IntArray


def _blocks(repeat: Repeat) -> _Blocks:
    """Deal the units to blocks; always alike, so that values and repeats are comparable row by row."""
    rows = np.concatenate(list(repeat.rows))
    units = np.arange(repeat.n) if repeat.groups is None else repeat.groups
    numbers, of_row = np.unique(units[rows], return_inverse=True)
    n_blocks = min(len(numbers), MOST_BLOCKS)
    dealt = np.random.default_rng(0).permutation(len(numbers)) % n_blocks
    return _Blocks(dealt[of_row], np.bincount(dealt, minlength=n_blocks))
