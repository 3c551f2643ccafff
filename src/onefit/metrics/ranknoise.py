"""Noise of comparisons within folds: by how much it makes the variance of rank values too large."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..typing import FloatArray, IntArray
from .rankterms import RankTerm
from .scored import Scored, class_sums

__all__ = ["comparison_noise"]

MOST_ROWS = 200
"""Rows of a class in a fold whose comparisons are looked at; a variance needs no more."""


def comparison_noise(folds: Sequence[Scored], terms: Sequence[RankTerm]) -> FloatArray:
    """Excess covariance (V, V) of the mean of the influence values, from scores (m, V, columns) of K folds.

    A pair of rows, one of class a and one of b, enters the figure as ``sum_t c_t h_t``, h_t the comparison of term t
    (0, 1/2 or 1) and ``c_t = K weight_t / (N_t+ N_t-)``, N the numbers of rows on either side. The row values count the
    variance of that sum once for either row, in the figure it stands once; what is between the two is
    ``(n_a n_b / K) var(sum)`` for each pair of classes. With two classes it is ``zeta K / (n_1 n_0)``. With weights,
    numbers of rows are effective ones, (sum w)^2 / sum w^2.
    """
    sums: FloatArray = np.sum([class_sums(scored) for scored in folds], axis=0)
    squares = np.zeros(len(sums))
    for scored in folds:
        squares += np.bincount(scored.observed[:, 0], weights=scored.weights**2, minlength=len(sums))
    n_values = folds[0].response.shape[1]
    noise = np.zeros((n_values, n_values))
    for a, b in combinations(range(len(sums)), 2):
        spread = _spread(folds, [_seen_from(term, a, b, sums) for term in terms], a, b)
        noise += len(folds) * squares[a] * squares[b] * spread
    return noise


def _seen_from(term: RankTerm, a: int, b: int, sums: FloatArray) -> tuple[int, float, bool]:
    """Column, coefficient (over K), and whether class a is the positive one, of a term that compares a and b."""
    across = term.weight(sums) / (sums[term.positive].sum() * sums[term.negative].sum())
    if term.positive[a] and term.negative[b]:
        return term.column, across, True
    if term.positive[b] and term.negative[a]:
        return term.column, across, False
    return term.column, 0.0, True


def _spread(folds: Sequence[Scored], terms: Sequence[tuple[int, float, bool]], a: int, b: int) -> FloatArray:
    """Covariance (V, V) of what pairs of rows of classes a and b add to the figure."""
    n_values = folds[0].response.shape[1]
    total, mean, product = 0.0, np.zeros(n_values), np.zeros((n_values, n_values))
    for scored in folds:
        first, second = (_some_rows(scored, which) for which in (a, b))
        weights = np.outer(scored.weights[first], scored.weights[second]).ravel()
        added = np.zeros((len(first), len(second), n_values))
        for column, coefficient, is_first in terms:
            if coefficient:
                scores = scored.response[..., column]
                one, other = scores[first][:, None], scores[second][None]
                wrong = ((one < other) if is_first else (one > other)) + 0.5 * (one == other)
                added += coefficient * (wrong - 0.5)
        rows = added.reshape(len(weights), -1)
        total += weights.sum()
        mean += weights @ rows
        product += (rows.T * weights) @ rows
    mean /= total
    spread: FloatArray = product / total - np.outer(mean, mean)
    return spread


def _some_rows(scored: Scored, which: int) -> IntArray:
    """Positions of rows of a class, evenly spaced ones if there are many."""
    rows = np.flatnonzero(scored.observed[:, 0] == which)
    if len(rows) <= MOST_ROWS:
        return rows
    picks: IntArray = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)]
    return picks
