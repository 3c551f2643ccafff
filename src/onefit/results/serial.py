"""Figures of folds for rows that follow one another, and what a result says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dropfolds import DropSets
from ..inference.correlation import Decay
from ..inference.figures import Neighbours
from ..inference.fold_errors import FoldErrors
from ..inference.intervals import Interval
from ..inference.longrun import by_cosines
from ..inference.serial import degrees_of_differences, serial_differences, serial_interval
from ..metrics import Asked
from ..running.dependent import decays_of
from ..running.job import Job
from ..typing import AnyArray, FloatArray, IntArray
from .dependence import Dependence, SerialKnown

__all__ = ["SerialFigures"]

SQUARED = ("squared_error", "neg_mean_squared_error")
"""Losses whose correlation follows from that of the residuals."""


class SerialFigures:
    """Intervals and differences by the rule for rows that follow one another, at all values at once."""

    def __init__(self, job: Job, asked: Asked, errors: FoldErrors, predictions: FloatArray, losses: FloatArray) -> None:
        assert job.dependent is not None
        self.dependent, self.errors, self.job = job.dependent, errors, job
        self.rows, self.level = job.rows, job.confidence_level
        self.losses = losses if asked.family != "rank" else self._halved(losses)
        self.decays = self._decays(job.problem.y[:, None] - predictions[..., : job.problem.n_outputs])
        is_squared = asked.kind in SQUARED and asked.classes is None and asked.family == "mean"
        self.interval, self.long_run = serial_interval(
            errors,
            self.losses,
            self.dependent.serial,
            self.rows,
            self.level,
            asked.rule_scale,
            self.decays if is_squared else None,
        )

    @property
    def blocks(self) -> IntArray:
        """The fold that scores each row, -1 if none does."""
        source = self.dependent.source
        ids: IntArray = source.whole.ids[0] if isinstance(source, DropSets) else source.ids[0]
        return ids

    def _halved(self, influence: FloatArray) -> FloatArray:
        """Influence values of ranks whose sums over folds are what folds add to the figure.

        A comparison of two rows stands in the values of both, so that their sums over folds are twice that. Between
        single rows this makes no difference, but slow cosines see folds as wholes.
        """
        source, ids = self.dependent.source, self.blocks
        weights = np.ones(len(ids)) if self.rows.weights is None else self.rows.weights
        centre = np.average(influence[ids >= 0], axis=0, weights=weights[ids >= 0])
        halved = influence.copy()
        for fold in range(source.n_folds):
            inside = ids == fold
            halved[inside] -= (np.average(influence[inside], axis=0, weights=weights[inside]) - centre) / 2
        return halved

    def _decays(self, residuals: FloatArray) -> list[list[Decay]]:
        """Of the pilot where there was one, at the values that are computed; else of the held-out residuals."""
        given = self.dependent.serial.decays
        if given is None:
            return decays_of(residuals, self.dependent.serial.arrangement)
        return given if len(given) == residuals.shape[1] else [given[value] for value in self.job.values]

    @property
    def degrees(self) -> float:
        """Of the t quantile of differences."""
        return degrees_of_differences(self.errors, self.dependent.serial)

    @property
    def neighbours(self) -> Neighbours:
        """What R2 must know."""
        arrangement = self.dependent.serial.arrangement

        def variance(gaps: FloatArray, rows: IntArray) -> FloatArray:
            return by_cosines(gaps, arrangement, rows)

        return Neighbours(variance, self.long_run.total, self.degrees)

    def difference(self, first: IntArray, second: IntArray) -> Interval:
        """Differences between values."""
        serial = self.dependent.serial
        return serial_differences(self.errors, self.losses, first, second, serial, self.rows, self.level)

    @property
    def effective(self) -> FloatArray:
        """Effective number of rows, (V, R)."""
        n, found = float(self.errors.n_scored), self.long_run
        ratio = np.divide(found.plain, found.total, out=np.ones(found.plain.shape), where=found.total > 0)
        return n * np.minimum(ratio, 1.0)

    @property
    def rho(self) -> FloatArray:
        """Correlations, (V, Q)."""
        return np.array([[decay.rho for decay in by_output] for by_output in self.decays])

    def known(self, value: int) -> SerialKnown:
        """What findings of one value are made from."""
        n, K = self.errors.n_scored, self.errors.n_folds
        return SerialKnown(self.dependent, n, K, self.rho[value], self.effective[value])

    def dependence(self, value: int, pick: Callable[[AnyArray], Any]) -> Dependence:
        """What the result of one value says."""
        found = self.dependent
        correlation = pick(self.rho) if self.job.loss.classes is None else float(self.rho[value].max())
        return Dependence(
            found.kind,
            found.meaning,
            correlation,
            found.buffer,
            pick(self.effective),
            found.training_rows,
            found.serial.arrangement.places_of_rows,
            self.blocks,
        )
