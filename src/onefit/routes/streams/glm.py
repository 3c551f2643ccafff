"""Generalized linear models of a table: their design, what steps learn of it, and what they weigh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...folds import Folds
from ...learners import GLMLearner, NoFiniteFit, Refusal, fit_newton
from ...linalg.columns import Columns
from ...linalg.precondition import Coordinates
from ...typing import FloatArray
from ...validation import Problem
from ..collect import FoldStatistics
from ..contract import Run
from ..newtonparts import class_factors, feature_maps, penalties_of
from ..solve import SetSolver
from .encoded import Encoder, check_steps, encoder_of
from .glmpasses import GLMRows
from .learning import FoldFeatures
from .models import StreamedModel
from .rows import ReadRows, RowReader

__all__ = ["GLMModel", "glm_model"]


@dataclass(frozen=True)
class _Centred:
    """Columns of numbers about a centre, and a constant if there is an intercept."""

    names: tuple[str, ...]
    centre: FloatArray
    fit_intercept: bool

    def __call__(self, rows: ReadRows) -> Columns:
        X = rows.numbers[self.names]
        if not self.fit_intercept:
            return Columns(X[:, :0], X, np.zeros(0), np.zeros(X.shape[1]))
        design = np.empty((len(X), len(self.names) + 1))
        np.subtract(X, self.centre, out=design[:, :-1])
        design[:, -1] = 1.0
        return Columns(design[:, :0], design, np.zeros(0), np.zeros(design.shape[1]))


class GLMModel(StreamedModel):
    """Logistic, Poisson, Gamma or Tweedie regression, on columns or on what steps learn of them."""

    is_path = True
    iterates = True
    needs_plain = True
    constant = 0  # y is not centred for it

    def __init__(self, learner: GLMLearner, names: tuple[str, ...], encoder: Encoder) -> None:
        self.learner, self.glm, self._encoder = learner, learner, encoder
        self.n_values = learner.n_values
        self.needs_statistics, self.is_numeric = learner.has_steps, not learner.has_steps
        self.names = names if self.is_numeric else encoder.reads(names)
        self.n_columns = encoder.width + int(learner.has_steps or learner.fit_intercept)
        self.values = encoder.values if learner.has_steps else None

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """Fixed features and a constant."""
        if self.is_numeric:
            return _Centred(self.names, self.glm.fixed.centres, self.glm.fit_intercept)
        return self._encoder

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """As they are, so that indicators are counted to the last bit."""
        return Coordinates(np.eye(self.n_columns), np.zeros((self.n_columns, y.shape[1])), 0, 0.0, is_diagonal=True)

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """None: its training sets are iterated in passes of their own."""
        raise NotImplementedError

    @property
    def n_predictors(self) -> int:
        """Linear predictors that have coefficients."""
        return int(self.glm.family.basis.shape[1])

    def seen_by(self, reader: RowReader) -> GLMRows:
        """The rows as its passes see them."""
        glm = self.glm
        return GLMRows(reader, self.rows, glm.family, glm.n_classes, glm.class_weights, glm.is_balanced)

    def features(self, statistics: FoldStatistics | None, folds: Folds) -> FoldFeatures | None:
        """What steps learn from; None if there are none."""
        if statistics is None:
            return None
        return FoldFeatures.of(self.glm.fixed, statistics, folds)

    def maps_of_all(self, features: FoldFeatures | None) -> FloatArray | None:
        """Columns of the fit to all rows from those of the design, (q, p); None if they are the same."""
        if features is None:
            return None
        everything = np.zeros((1, 0), dtype=np.intp)
        learned, _ = features.learn(self.glm.encoding.block, 0, everything, features.moments(0, everything))
        return np.asarray(feature_maps(learned, self.glm.fixed.n_columns, self.glm.fit_intercept)[0])

    def penalty(self, value: int, weight: FloatArray, width: int) -> FloatArray:
        """Of the columns, (S, p), in training sets with these sums of weights."""
        return penalties_of(self.glm, value, weight, width)

    def factors(self, sums: FloatArray) -> FloatArray:
        """Factors (S, G) of the weights of classes in training sets with these sums of weights (S, C)."""
        own = sums if self.glm.is_balanced else sums.sum(axis=1, keepdims=True)
        return class_factors(self.glm, own, sums > 0)

    def start(self, sample: Columns, maps: FloatArray | None, n_rows: int) -> FloatArray:
        """Coefficients (V, c, p) of fits to the sample, as if all rows were like it."""
        glm, family = self.glm, self.glm.family
        B = np.hstack([sample.E, sample.N])
        Z = B if maps is None else B @ maps
        weights = glm.row_weights * (n_rows / len(B))
        sums = np.bincount(glm.classes_of_rows, weights, minlength=glm.n_classes)[None].astype(np.float64)
        factors = self.factors(sums)[0]
        weights = weights * (factors[glm.classes_of_rows] if glm.is_balanced else factors[0])
        found = np.zeros((self.n_values, family.basis.shape[1], Z.shape[1]))
        if glm.fit_intercept:
            found[:, :, -1] = family.start(glm.y, weights)
        theta = found[0]
        for value in map(int, np.argsort(-glm.lams, kind="stable")):  # the stiffest first
            penalty = self.penalty(value, np.array([weights.sum()]), Z.shape[1])[0]
            try:
                theta = fit_newton(Z, glm.y, weights, penalty, family, theta).theta
            except NoFiniteFit:  # of these rows: all of them may have one
                continue
            found[value] = theta
        return found


def glm_model(learner: GLMLearner, problem: Problem, names: tuple[str, ...]) -> GLMModel | Refusal:
    """A generalized linear model that was made of some rows as one for all rows."""
    encoder = encoder_of(learner.fixed, names)
    if isinstance(encoder, Refusal):
        return encoder
    if learner.has_steps:
        refusal = check_steps(learner.fixed, [learner.encoding.block])
        if refusal is not None:
            return refusal
    return GLMModel(learner, names, encoder)
