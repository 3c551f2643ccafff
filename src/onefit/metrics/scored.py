"""Rows of a fold with their held-out responses, and sums over them: what all families of metrics start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import DataError
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..vocabulary import PREDICTIVE
from .contract import Repeat

__all__ = [
    "Scored",
    "check_probabilities",
    "class_sums",
    "fold_scales",
    "fold_weights",
    "folds_of",
    "kind_of",
    "probabilities",
    "row_mean",
    "to_rows",
    "with_ties",
    "without_class",
]

TOLERANCE = 1e-6
"""By how much probabilities may miss one: those of single precision do."""

MOST_NUMBERS = 2**22
"""Numbers in a table that is made on the way."""


@dataclass(frozen=True)
class Scored:
    """Held-out rows, with their responses for every second fold at once.

    Attributes
    ----------
    observed : array
        Class numbers (m, 1), or values (m, 1, Q), so that they broadcast with the responses.
    response : array
        (K, m, V, ...) in the form of `Repeat`, or (m, V, ...).
    labels : array or None
    weights : array (m,)
    where : str
        For messages.
    has_blocks : bool
        Whether the fold is a block of rows that follow one another.
    has_groups : bool
        Whether it is of whole groups.
    """

    observed: AnyArray
    response: AnyArray
    labels: AnyArray | None
    weights: FloatArray
    where: str
    has_blocks: bool = False
    has_groups: bool = False

    def alone(self, fold: int) -> Scored:
        """The same rows when their own fold alone is out."""
        return replace(self, response=self.response[fold])

    def some(self, n_each: int) -> Iterator[Scored]:
        """A few second folds at a time, such that tables of so many numbers for each stay small."""
        step = max(1, MOST_NUMBERS // max(1, n_each))
        for first in range(0, len(self.response), step):
            yield replace(self, response=self.response[first : first + step])


def kind_of(response: str, repeat: Repeat) -> str:
    """Which of the responses of a repeat a metric wants."""
    if repeat.labels is None:
        return response if response == PREDICTIVE else "residual"
    if response != "scores" or response in repeat.responses:
        return response
    return "decision_function" if "decision_function" in repeat.responses else "predict_proba"


def folds_of(repeat: Repeat, response: str) -> Iterator[Scored]:
    """The folds of a repeat, one after another."""
    kind = kind_of(response, repeat)
    for fold, rows in enumerate(repeat.rows):
        weights, where = repeat.weights_of(fold), f"fold {fold} of repeat {repeat.number}"
        if not weights.any():
            raise DataError(f"All rows of {where} have weight zero, so that it has no score: use fewer folds.")
        observed, found = repeat.observed[rows][:, None], repeat.responses[kind][fold]
        yield Scored(observed, found, repeat.labels, weights, where, repeat.has_blocks, repeat.groups is not None)


def row_mean(weights: FloatArray, values: FloatArray, n_axes: int = 2) -> FloatArray:
    """Weighted means of values (..., m, ...) along the axis of rows, which ``n_axes`` others follow."""
    means: FloatArray = np.moveaxis(values, -1 - n_axes, -1) @ weights / weights.sum()
    return means


def fold_weights(repeat: Repeat) -> FloatArray:
    """Share of each fold in the sum of the weights of all scored rows, (K,)."""
    sums = np.array([repeat.weights_of(fold).sum() for fold in range(repeat.n_folds)])
    shares: FloatArray = sums / sums.sum()
    return shares


def fold_scales(repeat: Repeat) -> FloatArray:
    """Mean weight of the rows of each fold, (K,): what means over its rows are multiplied by in sums over all rows."""
    return np.array([repeat.weights_of(fold).mean() for fold in range(repeat.n_folds)])


def class_sums(scored: Scored) -> FloatArray:
    """Sums of weights by class, (C,)."""
    n_classes = len(scored.labels) if scored.labels is not None else 0
    return np.bincount(scored.observed[:, 0], weights=scored.weights, minlength=n_classes).astype(np.float64)


def to_rows(repeat: Repeat, values: list[FloatArray]) -> FloatArray:
    """Values of each fold's rows in the order of all rows, NaN for those that are not scored."""
    rows: FloatArray = np.full((repeat.n, *values[0].shape[1:]), np.nan)
    for held_out, own in zip(repeat.rows, values, strict=True):
        rows[held_out] = own
    return rows


def probabilities(scored: Scored, name: str) -> FloatArray:
    """Probabilities (..., C), if that is what they are."""
    chances: FloatArray = scored.response
    check_probabilities(chances, name, f" in {scored.where}")
    return chances


def check_probabilities(chances: FloatArray, name: str, where: str = "") -> None:
    """Refuse what an estimator gives for probabilities (..., C) if it is none."""
    if not chances.size:
        return
    if not np.isfinite(chances).all() or chances.min() < 0 or chances.max() > 1 + TOLERANCE:
        raise DataError(
            f"{name} needs probabilities, and predict_proba of the estimator gave values that are not numbers in "
            f"[0, 1]{where}; calibrate it (CalibratedClassifierCV), or use a metric of its decisions."
        )
    sums = chances.sum(axis=-1)
    worst = float(sums.flat[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > TOLERANCE:
        raise DataError(
            f"{name} needs probabilities, and those of predict_proba sum to {worst:.6g} for a row{where}, not to one; "
            "normalise them in the estimator."
        )


def without_class(scored: Scored, name: str, label: object) -> DataError:
    """The error of a metric that is undefined on a fold which has no row of a class."""
    kind = "StratifiedGroupKFold" if scored.has_groups else "StratifiedKFold"
    remedy = f"use fewer folds, or stratified ones (cv={kind}(5, shuffle=True))."
    if scored.has_blocks:  # which follow the order of the rows, whatever their classes
        remedy = "use fewer blocks or gaps, or a metric that bears it, such as accuracy or the Brier score."
    return DataError(f"{name} is undefined in {scored.where}, which has no row of class {label!s}: {remedy}")


SAME_SCORE = 1e-10
"""Part of a score within which its neighbour is one and the same: rounding errors differ from row to row."""

UNEQUAL_SCORE = 1e-13
"""The same of rows that are known to differ in their columns, of which a small one may decide."""

LAST_BITS = 16 * float(np.finfo(np.float64).eps)
"""Part of a number within which rounding errors leave it: a few, of leverages up to some."""

MOST_PAIRS = 1e8
"""Pairs of rows of which some that are ordered wrongly are no matter."""

USUAL_SCORE = 10.0
"""Scores are of the size of a fold's largest one up to this: a row that is extremely far says nothing of others."""

USUAL_SPREAD = 0.01
"""Part of their size by which scores differ at least, unless a penalty lets them hardly differ from a constant."""


def with_ties(
    scores: FloatArray, codes: FloatArray, *, ranks: bool = False, same: IntArray | None = None
) -> FloatArray:
    """Scores (K, m, ...) of the m rows of a fold, with those that differ by rounding errors only made equal.

    They were differences from ``codes``, whose last bits they have: those of a model that knows nothing are a constant,
    or zero, and those of rows that are the same differ by these bits where the classes do. Where they are to be ranked,
    scores that have too few digits for so many rows are refused. ``same`` (m,) are numbers of rows, those that are the
    same in all columns the same number.
    """
    part_of_size, most = SAME_SCORE, np.inf
    if same is not None:
        _, first, kinds = np.unique(same, return_index=True, return_inverse=True)
        scores = scores[:, first[kinds]] if len(first) < len(same) else scores
        part_of_size, most = UNEQUAL_SCORE, USUAL_SCORE
    order, ranked = _in_order(scores)
    spread = ranked[:, -1:] - ranked[:, :1]
    largest = np.maximum(np.abs(ranked[:, :1]), np.abs(ranked[:, -1:]))
    largest_code = float(np.abs(codes).max(initial=0.0))
    last_bits = LAST_BITS * np.maximum(largest, largest_code)
    taken_for_ties = part_of_size * np.minimum(np.minimum(largest, USUAL_SCORE), spread / USUAL_SPREAD)
    if (taken_for_ties < LAST_BITS * np.maximum(np.minimum(largest, most), largest_code)).any():
        order, ranked = _in_order(_alike_everywhere(scores, largest_code, most))  # equal rows may be farther apart
    is_something = spread > 4 * last_bits
    # errors of the last bits, beside differences between neighbours in the order
    few = is_something & (spread < last_bits * min(scores.shape[1] ** 2, MOST_PAIRS))
    if ranks and few.any():
        raise DataError(
            f"Scores of the rows of a fold differ by {spread[few].min():.1g} at most. They are computed as differences "
            f"from codes of the classes, of the size {last_bits[few].max() / LAST_BITS:.3g}, and have too few digits "
            'left to be ranked by. Use route="refit", a smaller penalty, or columns in smaller units.'
        )
    is_new = np.ones(ranked.shape, dtype=bool)
    usual = np.clip(largest, np.finfo(np.float64).tiny, USUAL_SCORE)
    size = np.maximum(np.maximum(np.abs(ranked[:, 1:]), np.abs(ranked[:, :-1])), usual)
    size = np.minimum(size, spread / USUAL_SPREAD)
    is_new[:, 1:] = (np.diff(ranked, axis=1) > part_of_size * size) & is_something
    return scores if is_new.all() else _merged(order, ranked, is_new)


def _in_order(scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """Places and values of the rows (axis 1) from the lowest."""
    order = scores.argsort(axis=1, kind="stable")
    return order, np.take_along_axis(scores, order, axis=1)


def _merged(order: IntArray, ranked: FloatArray, is_new: BoolArray) -> FloatArray:
    """Values in their own places again, each that of the last new one before it in the order."""
    places = np.arange(ranked.shape[1]).reshape(1, -1, *(1,) * (ranked.ndim - 2))
    first = np.maximum.accumulate(np.where(is_new, places, 0), axis=1)
    found = np.empty_like(ranked)
    np.put_along_axis(found, order, np.take_along_axis(ranked, first, axis=1), axis=1)
    return found


def _alike_everywhere(scores: FloatArray, largest_code: float, most: float) -> FloatArray:
    """Scores with those made equal that differ by last bits of the codes in every training set, as of equal rows.

    Of unequal rows some may be as close in one training set by chance, where a penalty makes all scores small, and
    are not in others. A row that is extremely far takes scores beyond ``most`` nowhere where equal rows are known.
    """
    clearest = np.ptp(scores, axis=1, keepdims=True).argmax(axis=0, keepdims=True)
    order = np.take_along_axis(scores, clearest, axis=0).argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    size = np.clip(np.abs(ranked).max(axis=1, keepdims=True, initial=0.0), largest_code, max(most, largest_code))
    is_new = np.ones((1, *ranked.shape[1:]), dtype=bool)
    is_new[0, 1:] = (np.abs(np.diff(ranked, axis=1)) > LAST_BITS * size).any(axis=0)
    return _merged(order, ranked, is_new)
