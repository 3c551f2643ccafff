"""Rows of little or no weight that see far more of the columns than the rows of the fits do.

They are predicted, and next to nothing depends on them. Where a column, or a mixture of columns, is large in them and
all but absent elsewhere, rounding errors of the coefficients that no fit would notice are large in their predictions:
those come from fits of the training sets from their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..folds import Folds
from ..learners import Smoother
from ..linalg.reinsch import ReinschBasis
from ..typing import FloatArray, IntArray
from .engine import FailureLog, per_block, refit_or_log

__all__ = ["far_of_values", "mend_unweighted", "refit_far", "squared_lengths"]


def squared_lengths(basis: ReinschBasis, rows: IntArray, factors: FloatArray) -> FloatArray:
    """Of some rows of the basis in which hat matrices are ``Z diag(factors_v) Z'W``, (V, rows)."""
    squares, step = np.empty((len(factors), len(rows))), per_block(8 * basis.width)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        squares[:, some] = factors @ np.square(basis.take(rows[some])).T
    return squares


def mend_unweighted(
    smoother: Smoother, y: FloatArray, lam: float, squares: FloatArray, r: FloatArray, unit: float = 1.0
) -> IntArray:
    """Residuals r (n, Q) of the fit to all rows, mended in place at rows of no weight if it helps; those that are far.

    ``squares`` are their `squared_lengths`; residuals are in a ``unit``.
    """
    rows, are_far = smoother.unweighted_rows, smoother.are_far(squares)
    if (fitted := smoother.predict_unweighted(y, lam, bool(are_far.any()))) is not None:
        r[rows] = unit * (y[rows] - fitted)
    return rows[are_far]


def far_of_values(
    smoother: Smoother,
    y: FloatArray,
    lams: Sequence[float],
    basis: ReinschBasis,
    factors: FloatArray,
    residuals: FloatArray,
) -> list[IntArray]:
    """The rows that are far at each of some values that share a basis; residuals (n, V, Q) as in `mend_unweighted`.

    Of a basis that many values share, the smallest penalties see the rounding errors of the largest in rows of little
    weight, too.
    """
    light = smoother.light_rows
    of_none, of_light = (squared_lengths(basis, rows, factors) for rows in (smoother.unweighted_rows, light))
    each = zip(lams, of_none, residuals.swapaxes(0, 1), strict=True)
    far = [mend_unweighted(smoother, y, lam, squares, r) for lam, squares, r in each]
    return [np.append(own, light[smoother.are_far(squares)]) for own, squares in zip(far, of_light, strict=True)]


def refit_far(
    smoother: Smoother,
    y: FloatArray,
    lams: Sequence[float] | FloatArray,
    folds: Folds,
    far: Sequence[IntArray],
    values: IntArray,
    u: FloatArray,
    log: FailureLog,
) -> None:
    """Held-out residuals u (L, K, m, V, Q) of the rows that are far at each of the values, in place, from refits."""
    for at, value in enumerate(values.tolist()):
        for repeat, fold in _folds_of(far[at], folds, smoother):
            (residuals,) = refit_or_log(smoother, y, float(lams[at]), folds, repeat, (fold,), value, log)
            place = np.flatnonzero(np.isin(np.flatnonzero(folds.ids[repeat] == fold), far[at]))
            u[repeat, fold, place, at] = residuals[place]


def _folds_of(rows: IntArray, folds: Folds, smoother: Smoother) -> Iterator[tuple[int, int]]:
    """Repeats and folds that hold some of the rows, and whose training sets lack something of the fit to all rows."""
    for repeat, ids in enumerate(folds.ids if len(rows) else ()):
        for fold in np.unique(ids[rows][ids[rows] >= 0]).tolist():
            trained = np.intersect1d(folds.training_rows(repeat, fold), smoother.fitted_rows)
            if len(trained) < len(smoother.fitted_rows):
                yield repeat, fold
