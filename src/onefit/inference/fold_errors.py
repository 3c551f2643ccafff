"""Held-out losses of a block of repeats, and the small tables that the interval rules read.

Shapes: repeats L, folds K, rows n, parameter values V, outputs Q; the last two axes are always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import OneFitError
from ..folds import Folds
from ..typing import BoolArray, FloatArray, IntArray
from .chain import Chain
from .foldcovariance import covariance_terms
from .rowtotals import RowTotals
from .skewness import skewness_of_mean

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


LOSSES_AT_ONCE = 2**17
"""Losses of a repeat that are taken together."""

TABLES_AT_ONCE = 2**16
"""Entries of the tables of pairs, of several outputs, that are reduced at once: what the caches hold."""


class Failure(NamedTuple):
    """A value that could not be fitted in a repeat with some folds out."""

    repeat: int
    out: tuple[int, ...]
    value: int
    error: OneFitError
    is_of_bias: bool = False

    @property
    def order(self) -> tuple[bool, int, int, tuple[int, ...], int]:
        """Which is told before others, whichever thread found it; partitions of the bias come after the repeats."""
        return self.is_of_bias, self.repeat, len(self.out), self.out, self.value


@dataclass(frozen=True)
class HeldOut:
    """Residual (L, n, V, Q) and loss (L, n, V, R) of every row when its own fold is out; NaN for rows never scored.

    R is Q, or 1 if the outputs are the scores of classes. Where a value could not be fitted the tables hold numbers
    that mean nothing, but spoil no other value, and ``failures`` say so. Both may be parts of one table, ``both``.
    """

    residuals: FloatArray
    losses: FloatArray
    failures: list[Failure] = field(default_factory=list)
    both: FloatArray | None = None

    @classmethod
    def empty(cls, folds: Folds, n_values: int, n_outputs: int, n_losses: int) -> HeldOut:
        """Tables to be filled."""
        shape = (folds.n_repeats, folds.n, n_values)
        if n_outputs == 1:
            return cls(np.full((*shape, n_outputs), np.nan), np.full((*shape, n_losses), np.nan))
        # of many outputs they are large: one value's lie together, and a single repeat's become the sums over repeats
        both = np.full((folds.n_repeats, n_values, folds.n, n_outputs + n_losses), np.nan).swapaxes(1, 2)
        return cls(both[..., :n_outputs], both[..., n_outputs:], both=both)

    def blank(self, repeat: int, value: int) -> None:
        """Put zeros where a value has no numbers."""
        for table in (self.residuals, self.losses):
            cell = table[repeat, :, value]
            cell[~np.isnan(cell)] = 0.0

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Row-mean cross-validation error of each repeat, (L, V, R)."""
        weighed = rows.weigh(self.losses)
        means: FloatArray = weighed.mean(axis=1)
        if np.isnan(means).any():
            missing = np.isnan(weighed)
            with np.errstate(invalid="ignore"):  # a metric that does not exist has no mean
                means = np.where(missing, 0.0, weighed).sum(axis=1) / (~missing).sum(axis=1)
        return means

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """``row_variance`` and the other tables of `FoldErrors` that are sums over rows."""
        tables = spread_of_losses(self.losses, rows, chain)
        if rows.groups is None:  # then the spread between units is that of rows
            return {"row_variance": tables["total"], **tables}
        scored = (~np.isnan(self.losses[:, :, 0, 0])).sum(axis=1)[:, None, None]
        return {"row_variance": np.nanvar(rows.weigh(self.losses), axis=1, ddof=1) / scored, **tables}

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses, repeat by repeat: so sums do not depend on the size of the blocks."""
        missing = np.isnan(self.losses[:, :, 0, 0])
        if totals.is_only and self.both is not None:
            totals.both, totals.count = self.both[0], (~missing[0]).astype(np.float64)
            return
        for sums, tables in ((totals.residuals, self.residuals), (totals.losses, self.losses)):  # views
            is_first = not totals.count.any()
            for table in np.where(missing[..., None, None], 0.0, tables) if missing.any() else tables:
                if is_first:  # to add to zeros would touch their memory twice
                    sums[:] = table
                else:
                    sums += table
                is_first = False
        totals.count += (~missing).sum(axis=0)


@dataclass(frozen=True)
class RowRoles:
    """What the fold errors must know of the rows: relative weights w_i / mean(w), and groups numbered from 0."""

    weights: FloatArray | None = None
    groups: IntArray | None = None

    @classmethod
    def of(cls, weights: FloatArray | None, groups: IntArray | None) -> RowRoles:
        """From the weights as given; their mean is over all rows."""
        return cls(None if weights is None else weights / weights.mean(), groups)

    def weigh(self, losses: FloatArray) -> FloatArray:
        """Losses (..., n, V, R) times the relative weights of their rows."""
        return losses if self.weights is None else losses * self.weights[:, None, None]

    def totals(self, values: FloatArray) -> FloatArray:
        """Sums over groups of (n, ...), or the rows themselves without groups."""
        if self.groups is None:
            return values
        sums = np.zeros((int(self.groups.max()) + 1, *values.shape[1:]), dtype=values.dtype)
        np.add.at(sums, self.groups, values)
        return sums


class SingleErrors(Protocol):
    """What is known of the rows of a block of repeats, each with its own fold out: tables, or a pass over the rows."""

    @property
    def failures(self) -> list[Failure]:
        """Values that could not be fitted."""

    def blank(self, repeat: int, value: int) -> None:
        """Put zeros where a value has no numbers."""

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Row-mean cross-validation error of each repeat, (L, V, R)."""

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """``row_variance`` and the other tables of `FoldErrors` that are sums over rows."""

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses."""


S = TypeVar("S", bound=SingleErrors, covariant=True)


@dataclass(frozen=True)
class PairErrors(Generic[S]):
    """What a route computes for a block of repeats.

    ``mean[l, j, k]`` is the mean (weighted) loss on fold j when folds j and k are out, ``mean[l, j, j]`` when j alone
    is; ``scatter`` is the sum of squares about that mean. Both (L, K, K, V, R).
    """

    single: S
    mean: FloatArray
    scatter: FloatArray


def empty_pairs(
    folds: Folds, n_values: int, n_outputs: int, n_losses: int, n_moments: int | None = None
) -> PairErrors[HeldOut]:
    """Tables to be filled; those of pairs may hold other numbers than one a loss."""
    shape = (folds.n_repeats, folds.n_folds, folds.n_folds, n_values, n_losses if n_moments is None else n_moments)
    single = HeldOut.empty(folds, n_values, n_outputs, n_losses)
    return PairErrors(single, np.full(shape, np.nan), np.full(shape, np.nan))


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


def moments(losses: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sum of squares about it over axis -2, the rows of a fold, with the padding left out.

    ``present`` is (..., rows, 1) and broadcasts against ``losses`` (..., rows, columns).
    """
    if present.all():
        mean: FloatArray = losses.mean(axis=-2)
        deviation = losses - mean[..., None, :]
    else:
        mean = np.where(present, losses, 0.0).sum(axis=-2) / present.sum(axis=-2)
        deviation = np.where(present, losses - mean[..., None, :], 0.0)
    return mean, np.einsum("...mq,...mq->...q", deviation, deviation)


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
    covariance, paired_covariance = np.empty((L, V, R)), np.empty((L, V, V, R))
    weight, step = sizes / sizes.sum(axis=1, keepdims=True), max(1, TABLES_AT_ONCE // (V * K**2))
    for start in range(0, R, step):
        some = slice(start, min(start + step, R))
        change = np.moveaxis(e_out[:, :, None, :, some] - pairs.mean[..., some], 4, 1)  # outputs as repeats
        b = change.shape[1]
        terms = covariance_terms(change.reshape(L * b, K, K, V), np.repeat(weight, b, axis=0), chain)
        covariance[..., some] = np.moveaxis(terms[0].reshape(L, b, V), 1, 2)
        paired_covariance[..., some] = np.moveaxis(terms[1].reshape(L, b, V, V), 1, 3)
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


def overflowing(errors: FoldErrors, first: int) -> list[tuple[int, int]]:
    """Repeats (counted from ``first`` on) and values whose losses are too large to be squared."""
    with np.errstate(over="ignore", invalid="ignore"):
        lost = ~np.isfinite(np.square(errors.raw)).all(axis=2)
    return [(first + int(repeat), int(value)) for repeat, value in np.argwhere(lost)]


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


def spread_of_losses(losses: FloatArray, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
    """``total``, ``cross``, ``weight`` and the paired ones of `FoldErrors`, from losses (L, n, V, R)."""
    _, n, V, R = losses.shape
    step = max(1, LOSSES_AT_ONCE // (n * V))
    if step < R:  # a few outputs at a time, which stay in the caches; the same whatever repeats are in the block
        each = [spread_of_losses(losses[..., start : start + step], rows, chain) for start in range(0, R, step)]
        weight = {"weight": each[0]["weight"]}
        return {name: np.concatenate([part[name] for part in each], axis=-1) for name in each[0]} | weight
    weights = np.ones(n) if rows.weights is None else rows.weights
    if rows.groups is None and not np.isnan(losses).any():
        return _spread_between(rows.weigh(losses), weights, rows.groups, chain)
    parts = []
    for table in losses:
        scored = ~np.isnan(table).all(
            axis=(1, 2)
        )  # a metric that does not exist, as of calibration, is NaN in all rows
        groups = None if rows.groups is None else np.unique(rows.groups[scored], return_inverse=True)[1]
        weighted = weights[scored, None, None] * table[scored]
        parts.append(_spread_between(weighted[None], weights[scored], groups, chain))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _spread_between(
    weighted: FloatArray, weights: FloatArray, groups: IntArray | None, chain: Chain
) -> dict[str, FloatArray]:
    """The same for weighted losses (L, n, V, R) of rows that are all scored."""
    part = RowRoles(None, groups)
    B = part.totals(weights - weights.mean())
    scale = len(B) / (len(B) - 1) / len(weights) ** 2

    def between(values: FloatArray) -> FloatArray:
        """Totals of groups (L, G, V, R) about their mean."""
        centred = values - values.mean(axis=1, keepdims=True)
        return centred if groups is None else np.stack([part.totals(table) for table in centred])

    A = between(weighted)
    about_mean = A - (weighted.sum(axis=1) / weights.sum())[:, None] * B[:, None, None] if B.any() else A
    tables = {
        "skewness": skewness_of_mean(about_mean),
        "total": scale * np.einsum("lgvr,lgvr->lvr", A, A),
        "cross": scale * np.einsum("lgvr,g->lvr", A, B),
        "weight": np.full(len(weighted), scale * (B @ B)),
    }
    if len(chain) == 1:  # its only increment is the value itself
        return tables | {"paired_total": tables["total"][:, None], "paired_cross": tables["cross"]}
    A = between(chain.increments(weighted, axis=2))
    by_output = np.moveaxis(A, 3, 1)  # (L, R, G, V)
    paired_total = np.moveaxis(by_output.swapaxes(2, 3) @ by_output, 1, 3)
    return tables | {"paired_total": scale * paired_total, "paired_cross": scale * np.einsum("lgvr,g->lvr", A, B)}


def _over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is NaN where the denominator is not positive."""
    quotient: FloatArray = np.where(denominator > 0, numerator / np.maximum(denominator, 1.0), np.nan)
    return quotient


def concatenate(blocks: Sequence[FoldErrors]) -> FoldErrors:
    """Tables of several blocks of repeats as one."""
    tables = {
        # in C order whatever the blocks had: the order of summation follows the layout, and must not follow the blocks
        field.name: np.ascontiguousarray(np.concatenate([getattr(block, field.name) for block in blocks]))
        for field in fields(FoldErrors)
        if field.name not in ("n_rows", "n_groups", "chain", "is_ranked") and getattr(blocks[0], field.name) is not None
    }
    return replace(blocks[0], **tables)  # type: ignore[arg-type]
