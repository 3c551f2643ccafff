"""PCA and TruncatedSVD: directions of the columns of a training set, from the products between them."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD

from ...errors import RouteError
from ...typing import BoolArray, FloatArray, IntArray
from ..encoding import Block
from ..features import Features, Pattern
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetStatistics
from .table import RawTable, as_block

__all__ = ["principal", "truncated"]

CLEAR = 1e-6
"""Part of the largest eigenvalue that those of kept directions, and what sets them apart from the others, exceed.

Products square the condition: below this part rounding would be seen in the tenth digit.
"""

NEAR = 1e-9
"""Difference of explained variance from what is asked for, up to which scikit-learn decides."""

EXACT_SOLVERS = ("auto", "full", "covariance_eigh")


class _Rotated(Block):
    """The first directions of the products between columns."""

    is_rotated = lacks_signs = True

    def __init__(self, inner: Block, step: PCA | TruncatedSVD) -> None:
        self.inner, self.step = inner, step
        wanted = step.n_components
        self.n_outputs = inner.n_outputs if wanted is None or wanted < 1 else int(wanted)

    def learn(self, sets: SetStatistics) -> Features:
        """Outputs of the columns before it, about what they are decomposed about, in the directions that are kept."""
        found = self.inner.learn(sets)
        products, centre, has_values = self._products(found, sets)
        values, vectors = np.linalg.eigh(products)
        values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1] * has_values[:, :, None]
        n_columns = found.present.sum(axis=1)
        number = self._number(values, n_columns, sets)
        sets.doubt(_is_unclear(values, number, n_columns))
        number = np.minimum(number, values.shape[1])
        R = int(number.max(initial=0))
        present: BoolArray = np.arange(R) < number[:, None]
        by = np.where(present, self._factors(values[:, :R], sets.n), 0.0)
        return _rotated(found, centre, vectors[:, :, :R] * by[:, None], present)

    def _products(self, found: Features, sets: SetStatistics) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Products (S, p, p) between columns, what is subtracted from these (S, p), and which are not zero."""
        raise NotImplementedError

    def _number(self, values: FloatArray, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """How many directions each training set keeps, (S,)."""
        raise NotImplementedError

    def _factors(self, values: FloatArray, n: FloatArray) -> FloatArray:
        """What the outputs are multiplied by, (S, R)."""
        return np.ones_like(values)


class _Principal(_Rotated):
    """PCA."""

    step: PCA

    def _products(self, found: Features, sets: SetStatistics) -> tuple[FloatArray, FloatArray, BoolArray]:
        """About the means."""
        return sets.moments.gram(found), sets.moments.means(found), found.varies

    def _number(self, values: FloatArray, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """As asked for, or as many as explain a part of the variance."""
        wanted, most = self.step.n_components, np.minimum(sets.n.astype(np.intp), n_columns)
        if self.step.svd_solver == "auto":
            sets.doubt(
                np.array([_is_random(self.step, int(n), int(p)) for n, p in zip(sets.n, n_columns, strict=True)])
            )
        if wanted is None:
            return most
        if wanted >= 1 or wanted == 0:
            sets.doubt(wanted > most)
            return np.full(len(values), int(wanted))
        total = values.sum(axis=1, keepdims=True)
        explained = np.cumsum(values, axis=1) / np.where(total > 0, total, 1.0)
        sets.doubt((np.abs(explained - wanted) < NEAR).any(axis=1))
        number: IntArray = (explained <= wanted).sum(axis=1) + 1
        return number

    def _factors(self, values: FloatArray, n: FloatArray) -> FloatArray:
        """To a variance of one, if that is asked for."""
        if not self.step.whiten:
            return np.ones_like(values)
        return np.sqrt((n[:, None] - 1) / np.where(values > 0, values, 1.0))


class _Truncated(_Rotated):
    """TruncatedSVD, which subtracts nothing."""

    step: TruncatedSVD

    def _products(self, found: Features, sets: SetStatistics) -> tuple[FloatArray, FloatArray, BoolArray]:
        """About zero."""
        mean = sets.moments.means(found)
        products = sets.moments.gram(found) + sets.n[:, None, None] * mean[:, :, None] * mean[:, None]
        return products, np.zeros_like(mean), found.present & ~found.is_zero

    def _number(self, values: FloatArray, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """As asked for; there must be more columns."""
        sets.doubt(self.step.n_components >= np.minimum(sets.n, n_columns))
        return np.full(len(values), int(self.step.n_components))


def _is_unclear(values: FloatArray, number: IntArray, n_columns: IntArray) -> BoolArray:
    """Whether rounding may be seen in what is kept, or nothing is."""
    S, p = values.shape
    padded = np.hstack([values, np.zeros((S, 1))])
    at = np.arange(S)
    last, following = padded[at, np.clip(number - 1, 0, p)], padded[at, np.clip(number, 0, p)]
    bound = CLEAR * padded[:, 0]
    is_cut = number < n_columns
    found: BoolArray = (number < 1) | ~(last > bound) | (is_cut & ~(last - following > bound))
    return found


def _rotated(found: Features, centre: FloatArray, vectors: FloatArray, present: BoolArray) -> Features:
    """Outputs ``(x - centre) vectors``, each made of all columns of B that the inner ones are made of."""
    sources = np.unique(found.pattern.source)
    inner = Pattern(np.searchsorted(sources, found.pattern.source), found.pattern.output, found.pattern.n_outputs)
    T = inner.matrices(found.coef, len(sources)) @ vectors
    S, m, R = T.shape
    shift = np.einsum("sp,spr->sr", np.where(found.present, found.shift - centre, 0.0), vectors)
    ends = np.full((S, R), np.inf)
    pattern = Pattern(np.tile(sources, R), np.repeat(np.arange(R), m), R)
    coef = T.swapaxes(1, 2).reshape(S, R * m)
    return Features(pattern, coef, shift, present, -ends, ends, np.full(R, -1)).kept(present)


def _is_random(step: PCA, n: int, p: int) -> bool:
    """Whether svd_solver="auto" of scikit-learn takes a randomized solver for n rows and p columns."""
    if (p <= 1000 and n >= 10 * p) or max(n, p) <= 500:
        return False
    return step.n_components is not None and 1 <= step.n_components < 0.8 * min(n, p)


def principal(step: PCA, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """PCA."""
    inner = as_block(table, fixed)
    if inner.may_be_sparse:
        raise RouteError("PCA may get a sparse matrix, for which it takes another solver")
    if step.n_components == "mle":
        raise RouteError('PCA(n_components="mle") chooses by a criterion of its own')
    if step.svd_solver not in EXACT_SOLVERS:
        raise RouteError(f"PCA(svd_solver={step.svd_solver!r}) is not exact")
    # three folds at least, of which two may be out
    if step.svd_solver == "auto" and any(_is_random(step, n, inner.n_outputs) for n in (fixed.n // 3, fixed.n)):
        raise RouteError('PCA(svd_solver="auto") takes a randomized solver for such a table; "full" is exact')
    return _Principal(inner, step)


def truncated(step: TruncatedSVD, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """TruncatedSVD."""
    if step.algorithm != "arpack" or step.tol > 0:
        raise RouteError('TruncatedSVD is not exact; algorithm="arpack" with tol=0 is')
    return _Truncated(as_block(table, fixed), step)
