"""Ranks of scores within folds: the area under the ROC curve, of two classes or of several by ones and pairs.

Scores of different folds come from different fits and are not compared: the figure of a repeat is the mean of its
folds' values, weighted by their rows, each the share of pairs (a row of either class) that are ordered wrongly, ties
counted half.

The value V_i of a row is the share of rows of the other class *in its own fold* that it is ordered wrongly with. Its
influence is ``theta + (n / n_class)(V_i - mean of V in the class)``, and a little more, so that the variance of a class
is divided by ``n_class - 1``. As a fold has few rows of the other class, V_i has
noise of its own, which makes the variance of the mean too large by ``zeta K / (n_1 n_0)``, zeta the variance of the
single comparisons: `Reduced.noise`. (Values centred by fold would miss the variance between folds instead.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..typing import BoolArray, FloatArray
from .contract import Metric, Reduced, Repeat, Shown
from .orientation import ONE_MINUS
from .ranknoise import comparison_noise
from .rankterms import RankTerm, one_against_one, one_against_rest, two_classes
from .scored import (
    Scored,
    class_sums,
    fold_scales,
    fold_weights,
    folds_of,
    kind_of,
    probabilities,
    to_rows,
    without_class,
)

__all__ = ["RankMetric", "wrong_shares"]


@dataclass(frozen=True)
class RankMetric(Metric):
    """One minus the area under the ROC curve.

    ``multiclass`` is "ovr" (each class against the rest) or "ovo" (each pair of classes), ``weighted`` whether classes
    count by how often they occur; neither matters for two classes.
    """

    name: str
    response: str = "scores"
    multiclass: str = "ovr"
    weighted: bool = False
    shown: Shown = ONE_MINUS
    scale: str = "logit"
    family: str = "rank"

    def n_figures(self, n_outputs: int) -> int:
        """One."""
        return 1

    def terms(self, n_classes: int) -> tuple[RankTerm, ...]:
        """The areas that the figure is a mean of."""
        if n_classes == 2:
            return two_classes()
        if self.multiclass == "ovo":
            return one_against_one(n_classes, self.weighted)
        return one_against_rest(n_classes, self.weighted)

    def reduce(self, repeat: Repeat) -> Reduced:
        """Values of folds, of rows within them, and what a second fold changes in the first."""
        assert repeat.labels is not None
        terms = self.terms(len(repeat.labels))
        if self.multiclass == "ovo" and len(terms) > 1 and repeat.weights is not None:
            raise DataError(
                f"{self.name} takes no sample weights, as in scikit-learn; use roc_auc_ovr, or leave out sample_weight."
            )
        folds = [self._scores(scored, repeat) for scored in folds_of(repeat, self.response)]
        tables = [_FoldTable.of(scored, terms, fold) for fold, scored in enumerate(folds)]
        shares = fold_weights(repeat)
        values = np.stack([table.values[fold] for fold, table in enumerate(tables)])
        theta = np.tensordot(shares, values, 1)
        influence = theta + _influence(folds, tables, terms, shares)
        scales = fold_scales(repeat)
        change = np.stack([scales[j] * (table.values[j] - table.values) for j, table in enumerate(tables)])
        noise = comparison_noise([scored.alone(fold) for fold, scored in enumerate(folds)], terms)
        rows = np.split(influence, np.cumsum([len(scored.weights) for scored in folds])[:-1])
        return Reduced(values[..., None], to_rows(repeat, rows)[..., None], change[..., None], noise[..., None])

    def _scores(self, scored: Scored, repeat: Repeat) -> Scored:
        """A fold with scores (K, m, V, columns) of the terms, all of its classes present."""
        sums = class_sums(scored)
        assert scored.labels is not None
        for label, total in zip(scored.labels, sums, strict=True):
            if total == 0:
                raise without_class(scored, self.name, label)
        kind = kind_of(self.response, repeat)
        response = probabilities(scored, self.name) if kind == "predict_proba" else scored.response
        if kind == "predict":
            response = response[..., None].astype(np.float64)
        if len(sums) == 2:
            response = response[..., -1:]
        if not np.isfinite(response).all():
            raise DataError(
                f"{self.name} needs finite scores, and {kind} of the estimator gave others in {scored.where}."
            )
        return Scored(scored.observed, response, scored.labels, scored.weights, scored.where)


@dataclass(frozen=True)
class _FoldTable:
    """Of one fold its value (K, V), and with it alone out its terms (T, V) and shares of wrong pairs (T, m, V)."""

    values: FloatArray
    by_term: FloatArray
    wrong: FloatArray

    @classmethod
    def of(cls, scored: Scored, terms: Sequence[RankTerm], fold: int) -> _FoldTable:
        """Compare the rows of a fold in every term."""
        classes = scored.observed[:, 0]
        by_term, wrong = [], []
        for term in terms:
            positive, negative = term.positive[classes], term.negative[classes]
            used = positive | negative
            weights = np.where(positive, scored.weights, 0.0)[used]
            means = []
            for some in scored.some(8 * scored.response[0, ..., 0].size):
                shares = wrong_shares(some.response[:, used][..., term.column], positive[used], scored.weights[used])
                means.append(np.moveaxis(shares, -1, 1) @ weights / weights.sum())
            by_term.append(np.concatenate(means))
            own = np.zeros((len(classes), by_term[-1].shape[-1]))
            alone = scored.response[[fold]][:, used][..., term.column]
            own[used] = wrong_shares(alone, positive[used], scored.weights[used])[0]
            wrong.append(own)
        each = np.stack(by_term)
        parts = np.array([term.weight(class_sums(scored)) for term in terms])
        return cls(np.tensordot(parts, each, 1), each[:, fold], np.stack(wrong))


def _influence(
    folds: Sequence[Scored], tables: Sequence[_FoldTable], terms: Sequence[RankTerm], shares: FloatArray
) -> FloatArray:
    """Influence (rows of all folds, V) less theta."""
    classes = np.concatenate([scored.observed[:, 0] for scored in folds])
    weights = np.concatenate([scored.weights for scored in folds])
    wrong = np.concatenate([table.wrong for table in tables], axis=1)
    values = np.tensordot(shares, np.stack([table.by_term for table in tables]), 1)
    sums: FloatArray = np.sum([class_sums(scored) for scored in folds], axis=0)
    influence = np.zeros(wrong.shape[1:])
    for term, shares_wrong, value in zip(terms, wrong, values, strict=True):
        part = term.weight(sums)
        for side in (term.positive[classes], term.negative[classes]):
            total = weights[side].sum()
            mean = weights[side] @ shares_wrong[side] / total
            factor = part * weights.sum() / total * _freedom(weights[side], weights)
            influence[side] += factor * (shares_wrong[side] - mean)
        # Of averages by class frequency: the frequencies are those of a sample, too.
        influence += (term.weight_slopes(sums)[classes] * weights.sum())[:, None] * value
    return influence


def _freedom(side: FloatArray, weights: FloatArray) -> float:
    """What makes the variance about the mean of a class unbiased: sums of squares are divided by n - 1 of all rows.

    With weights numbers of rows are effective ones.
    """
    m, n = (float(w.sum() ** 2 / np.square(w).sum()) for w in (side, weights))
    return float(np.sqrt(m / (m - 1) * (n - 1) / n)) if m > 1 else 1.0


def wrong_shares(scores: FloatArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Share of weight of the other class that each row is ordered wrongly with, (K, m, V) of scores (K, m, V).

    A positive row is wrong with a negative one of a larger score, half wrong with one of the same.
    """
    order = scores.argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    first, last = _ties(ranked)
    shares = np.empty(scores.shape)
    for side, others in ((positive, ~positive), (~positive, positive)):
        other = np.where(others, weights, 0.0)
        below = np.cumsum(
            np.concatenate([np.zeros((scores.shape[0], 1, scores.shape[2])), other[order]], axis=1), axis=1
        )
        middle = (np.take_along_axis(below, first, axis=1) + np.take_along_axis(below, last + 1, axis=1)) / 2
        lower = np.empty(scores.shape)
        np.put_along_axis(lower, order, middle / other.sum(), axis=1)
        shares[:, side] = 1 - lower[:, side] if side is positive else lower[:, side]
    return shares


def _ties(ranked: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """First and last position of the values equal to each one of a sorted axis 1."""
    m = ranked.shape[1]
    at = np.arange(m)[None, :, None]
    new = np.ones(ranked.shape, dtype=bool)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    ends = np.ones(ranked.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    first = np.maximum.accumulate(np.where(new, at, 0), axis=1)
    last = np.flip(np.minimum.accumulate(np.flip(np.where(ends, at, m - 1), axis=1), axis=1), axis=1)
    return first, last
