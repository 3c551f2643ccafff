"""The small tables that the interval rules read, from the held-out losses of a block of repeats.

Shapes: repeats L, folds K, rows n, parameter values V, outputs Q; the last two axes are always there. What routes
compute is in `heldout`, what rows weigh in `rowroles`, how losses spread between them in `rowspread`; all of it is had
from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np

from ..folds import Folds
from ..typing import FloatArray, IntArray
from .chain import Chain
from .foldcovariance import covariance_terms
from .heldout import Failure, HeldOut, PairErrors, SingleErrors, empty_pairs, moments
from .rowroles import RowRoles
from .rowspread import spread_of_losses

__all__ = [
    "Failure",
    "FoldErrors",
    "HeldOut",
    "PairErrors",
    "RowRoles",
    "SingleErrors",
    "concatenate",
    "empty_pairs",
    "less_noise",
    "moments",
    "overflowing",
    "spread_of_losses",
    "summarize",
]

TABLES_AT_ONCE = 2**16
"""Entries of the tables of pairs, of several outputs, that are reduced at once: what the caches hold."""

MOST_SUMMED = 2.0**16
"""Times as large as losses may be what is made of them and squared: sums over folds, factors of the rules."""


@dataclass(frozen=True)
class FoldErrors:
    """The tables of fold errors, one row a repeat; the only thing that grows with the repeats.

    Attributes
    ----------
    sizes : (L, K) rows in each fold
    n_rows : int, all rows, including those never scored
    n_groups : int or None, number of groups that are scored in the first repeat
    e_in, e_out, v_out : (L, K, V, Q) as the paper defines them; v_out is NaN for folds of one row
    mse : (L, V, Q) the paper's mean over folds of (e_in - e_out)^2 - v_out/n_j
    raw : (L, V, Q) mean of all pair-held-out losses
    cv : (L, V, Q) row mean of the single-held-out losses
    pair_scatter : (L, V, Q) sum of squares of the pair-held-out losses about ``raw``
    row_variance : (L, V, Q) variance (n - 1) of the single-held-out losses, over n, as if rows were independent
    total, cross, weight : (L, V, Q), (L, V, Q), (L,) the same between groups, as a polynomial; see `sampling`
    skewness : (L, V, Q) of the mean of these losses, or of the sums of groups; see `inference.skewness`
    covariance : (L, V, Q) covariance term of the covariance rule
    chain : the increments between values, of which the next two are made
    paired_total, paired_cross, paired_covariance : (L, V, V, Q), (L, V, Q), (L, V, V, Q), of all pairs of increments
    shares : (L, K) or None, weight of each fold, if the errors of the folds are not means of what `cv` is the mean of
    noise : (L, V, V, Q) or None, what ``total`` and the variances of differences have in excess as rows were compared
        within folds; see `metrics.Reduced`. `inference.averaged` takes it off ``total``, and `paired` off differences
    is_ranked : bool, whether the figures are ranks, which know of a fit only the order that it gives
    """

    sizes: IntArray
    n_rows: int
    n_groups: int | None
    e_in: FloatArray
    e_out: FloatArray
    v_out: FloatArray
    mse: FloatArray
    raw: FloatArray
    cv: FloatArray
    pair_scatter: FloatArray
    row_variance: FloatArray
    total: FloatArray
    cross: FloatArray
    weight: FloatArray
    skewness: FloatArray
    covariance: FloatArray
    chain: Chain
    paired_total: FloatArray
    paired_cross: FloatArray
    paired_covariance: FloatArray
    shares: FloatArray | None = None
    noise: FloatArray | None = None
    is_ranked: bool = False

    def sampling(self, centre: FloatArray) -> FloatArray:
        """v/n of the covariance rule, (L, V, Q).

        Between groups, ``G/(G-1) sum_g (sum_{i in g} (z_i - zbar))^2 / n^2`` with ``z_i = w_i (l_i - c) / mean(w)``;
        without groups it is the variance of z over n, without weights it does not depend on the centre c.
        """
        return self._in_centre(self.total, self.cross, centre)

    def paired(self, first: IntArray, second: IntArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
        """v/n and the covariance term, (L, D, Q), of the differences between values ``first`` and ``second``, (D,)."""
        X = self.chain.levels
        X = X[first] - X[second]
        total = np.einsum("va,labq,vb->lvq", X, self.paired_total, X, optimize=True)
        if self.is_ranked and self.noise is not None:
            own = np.eye(len(self.chain))[first] - np.eye(len(self.chain))[second]
            total = less_noise(total, np.einsum("va,labq,vb->lvq", own, self.noise, own, optimize=True))
        cross = np.einsum("va,laq->lvq", X, self.paired_cross)
        covariance = np.einsum("va,labq,vb->lvq", X, self.paired_covariance, X, optimize=True)
        return self._in_centre(total, cross, centre), covariance

    def _in_centre(self, total: FloatArray, cross: FloatArray, centre: FloatArray) -> FloatArray:
        variance: FloatArray = total - 2 * centre * cross + np.square(centre) * self.weight[:, None, None]
        positive: FloatArray = np.maximum(variance, 0.0)
        return positive

    @property
    def n_repeats(self) -> int:
        """Number of repeats L."""
        return int(self.sizes.shape[0])

    @property
    def n_units(self) -> int:
        """Independent units that are scored: groups, or rows."""
        return self.n_scored if self.n_groups is None else self.n_groups

    @property
    def n_folds(self) -> int:
        """Number of folds K."""
        return int(self.sizes.shape[1])

    @property
    def n_scored(self) -> int:
        """Rows that are scored in each repeat (the fewest, if repeats differ)."""
        return int(self.sizes.sum(axis=1).min())


def less_noise(variance: FloatArray, noise: FloatArray) -> FloatArray:
    """A variance less an estimate of what is too much in it; at least a twentieth stays, as that may exceed it."""
    return np.maximum(variance - noise, variance / 20)


def overflowing(errors: FoldErrors, first: int) -> list[tuple[int, int]]:
    """Repeats (counted from ``first`` on) and values whose losses are too large to be squared and summed."""
    with np.errstate(over="ignore", invalid="ignore"):
        lost = ~np.isfinite(np.square(MOST_SUMMED * errors.raw)).all(axis=2)
    return [(first + int(repeat), int(value)) for repeat, value in np.argwhere(lost)]


def concatenate(blocks: Sequence[FoldErrors]) -> FoldErrors:
    """Tables of several blocks of repeats as one."""
    tables = {
        # in C order whatever the blocks had: the order of summation follows the layout, and must not follow the blocks
        field.name: np.ascontiguousarray(np.concatenate([getattr(block, field.name) for block in blocks]))
        for field in fields(FoldErrors)
        if field.name not in ("n_rows", "n_groups", "chain", "is_ranked") and getattr(blocks[0], field.name) is not None
    }
    return replace(blocks[0], **tables)  # type: ignore[arg-type]


def summarize(pairs: PairErrors[SingleErrors], folds: Folds, rows: RowRoles, chain: Chain) -> FoldErrors:
    """Reduce the held-out losses of a block to the tables of fold errors."""
    K, spread = folds.n_folds, pairs.single.spread(rows, chain)  # first: it may be what fills in the scatters
    L, _, _, V, R = pairs.mean.shape
    size = folds.sizes.astype(float)[:, :, None, None]  # (L, K, 1, 1)
    scored = size.sum(axis=1)  # (L, 1, 1)
    own = np.arange(K)
    e_out = pairs.mean[:, own, own]
    v_out = _over(pairs.scatter[:, own, own], size - 1)
    e_in = np.empty((L, K, V, R))
    raw, pair_scatter = np.empty((2, L, V, R))
    sizes = folds.sizes.astype(float)
    step = max(1, TABLES_AT_ONCE // K**2)  # outputs; the same whatever repeats are in the block
    for value, start in product(range(V), range(0, R, step)):
        some = slice(start, start + step)
        reduced = _reduce_pairs(pairs.mean[..., value, some], pairs.scatter[..., value, some], sizes)
        e_in[:, :, value, some], raw[:, value, some], pair_scatter[:, value, some] = reduced
    covariance, paired_covariance = _covariances(e_out, pairs.mean, sizes, chain)
    return FoldErrors(
        sizes=folds.sizes,
        n_rows=folds.n,
        n_groups=None if rows.groups is None else len(np.unique(rows.groups[folds.ids[0] >= 0])),
        e_in=e_in,
        e_out=e_out,
        v_out=v_out,
        mse=np.mean(np.square(e_in - e_out) - v_out / size, axis=1),
        raw=raw,
        cv=(e_out * size).sum(axis=1) / scored,
        pair_scatter=pair_scatter,
        **spread,
        covariance=covariance,
        chain=chain,
        paired_covariance=paired_covariance,
        is_ranked=False,
    )


def _covariances(e_out: FloatArray, mean: FloatArray, sizes: FloatArray, chain: Chain) -> tuple[FloatArray, FloatArray]:
    """The covariance term (L, V, R), and that of all pairs of increments (L, V, V, R)."""
    L, K, _, V, R = mean.shape
    covariance, paired_covariance = np.empty((L, V, R)), np.empty((L, V, V, R))
    weight, step = sizes / sizes.sum(axis=1, keepdims=True), max(1, TABLES_AT_ONCE // (V * K**2))
    for start in range(0, R, step):
        some = slice(start, min(start + step, R))
        change = np.moveaxis(e_out[:, :, None, :, some] - mean[..., some], 4, 1)  # outputs as repeats
        b = change.shape[1]
        terms = covariance_terms(change.reshape(L * b, K, K, V), np.repeat(weight, b, axis=0), chain)
        covariance[..., some] = np.moveaxis(terms[0].reshape(L, b, V), 1, 2)
        paired_covariance[..., some] = np.moveaxis(terms[1].reshape(L, b, V, V), 1, 3)
    return covariance, paired_covariance


def _reduce_pairs(
    mean: FloatArray, scatter: FloatArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """e_in (L, K, R), raw and pair scatter (L, R) of tables (L, K, K, R) and fold sizes (L, K)."""
    K = sizes.shape[1]
    scored = sizes.sum(axis=1, keepdims=True)
    others = np.where(np.eye(K, dtype=bool), 0.0, 1.0)[..., None]
    rows = sizes[:, :, None, None]
    weighted = mean * others * rows  # rows of fold j times mean[j, k]
    e_in = weighted.sum(axis=1) / (scored - sizes)[..., None]  # over the scored folds other than the one that is out
    raw = weighted.sum(axis=(1, 2)) / (scored * (K - 1))
    between = rows * np.square(mean - raw[:, None, None])
    return e_in, raw, ((scatter + between) * others).sum(axis=(1, 2))


def _over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is NaN where the denominator is not positive."""
    quotient: FloatArray = np.where(denominator > 0, numerator / np.maximum(denominator, 1.0), np.nan)
    return quotient
