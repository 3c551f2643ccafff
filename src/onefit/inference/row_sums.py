"""Sums over rows that come in blocks, of which the tables of `FoldErrors` are made."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from ..typing import FloatArray, IntArray
from .chain import Chain

__all__ = ["RowSums", "spread_tables"]


class RowSums:
    """What the losses of one repeat add up to, by folds, and by groups if there are any.

    All sums of squares and products, over the rows of a fold, of the columns ``1``, ``w - 1`` and the increments of the
    losses along the chain, are one product of matrices. Losses are times the relative weights w of their rows. Those at
    the root of the chain are taken about ``shift`` (R,), near their mean, so that nothing cancels. Parts that were
    filled apart from each other, in blocks of rows, are merged in order.
    """

    def __init__(self, chain: Chain, shift: FloatArray, n_folds: int, n_groups: int | None) -> None:
        V, n_losses = len(chain), len(shift)
        self.chain, self.shift = chain, shift
        self.products = np.zeros((n_folds, n_losses, V + 2, V + 2))
        self.by_group = None if n_groups is None else np.zeros((n_groups, V, n_losses))
        self.group_weights, self.group_sizes = np.zeros((2, n_groups or 0))

    def add(
        self,
        losses: FloatArray,
        parts: Iterable[tuple[int, slice]],
        weights: FloatArray | None,
        groups: IntArray | None,
        space: FloatArray,
    ) -> None:
        """Take in the weighted losses (b, V, R) of rows sorted by folds, whose ``parts`` are given.

        ``space`` (2, at least b, V + 2) is to compute in.
        """
        parts, root, V = list(parts), self.chain.root, len(self.chain)
        table = space[0, : len(losses)]
        of_parents = space[1].ravel()[: len(losses) * V].reshape(-1, V)
        table[:, 0] = 1.0
        table[:, 1] = 0.0 if weights is None else weights - 1.0  # the mean of all is one
        for output in range(losses.shape[2]):
            levels = losses[:, :, output]
            np.take(levels, self.chain.parents, axis=1, out=of_parents, mode="clip")
            np.subtract(levels, of_parents, out=table[:, 2:])
            np.subtract(levels[:, root], self.shift[output], out=table[:, 2 + root])
            for fold, part in parts:
                self.products[fold, output] += table[part].T @ table[part]
        if groups is not None and self.by_group is not None and parts:
            scored = slice(parts[0][1].start, None)
            self._add_groups(losses[scored] - self.shift, table[scored, 1], groups[scored])

    def _add_groups(self, about: FloatArray, beside: FloatArray, groups: IntArray) -> None:
        assert self.by_group is not None
        count = len(self.by_group)
        members = sparse.csr_matrix((np.ones(len(groups)), groups, np.arange(len(groups) + 1)), (len(groups), count)).T
        self.by_group += (members @ about.reshape(len(groups), -1)).reshape(self.by_group.shape)
        self.group_sizes += np.bincount(groups, minlength=count)
        self.group_weights += np.bincount(groups, beside, minlength=count)

    def merge(self, other: RowSums) -> None:
        """Add another part."""
        self.products += other.products
        self.group_weights += other.group_weights
        self.group_sizes += other.group_sizes
        if self.by_group is not None and other.by_group is not None:
            self.by_group += other.by_group

    def fold_moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean of the losses of each fold and sum of squares about it, (K, V, R)."""
        means, scatters = _levels(self.products, self.chain)
        return np.moveaxis(means, 1, 2) + self.shift, np.moveaxis(scatters, 1, 2)

    @property
    def _whole(self) -> FloatArray:
        whole: FloatArray = self.products.sum(axis=0)
        return whole

    @property
    def row_variance(self) -> FloatArray:
        """Variance (n - 1) of the losses over n, (V, R)."""
        whole = self._whole
        n = whole[0, 0, 0]
        scatter: FloatArray = _levels(whole, self.chain)[1].T / (n - 1) / n
        return scatter

    def between(self) -> tuple[FloatArray, FloatArray, float, FloatArray, FloatArray]:
        """``total``, ``cross``, ``weight``, ``paired_total`` and ``paired_cross`` of `FoldErrors` for this repeat."""
        if self.by_group is not None:
            return self._between_groups(self.by_group)
        whole = self._whole
        n = whole[0, 0, 0]
        scale = n / (n - 1) / n**2
        centred = scale * (whole[:, 1:, 1:] - np.einsum("ri,rj->rij", whole[:, 0, 1:], whole[:, 0, 1:]) / n)
        paired_total, paired_cross = np.moveaxis(centred[:, 1:, 1:], 0, 2), centred[:, 0, 1:].T
        X = self.chain.levels
        total = scale * _levels(whole, self.chain)[1].T
        return total, X @ paired_cross, float(centred[0, 0, 0]), paired_total, paired_cross

    def _between_groups(self, sums: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray, FloatArray]:
        seen = self.group_sizes > 0
        count, n = int(seen.sum()), self.group_sizes.sum()
        scale = count / (count - 1) / n**2
        share = self.group_sizes[seen] / n
        A = sums[seen] - share[:, None, None] * sums.sum(axis=0)
        B = self.group_weights[seen] - share * self.group_weights.sum()
        total, cross = scale * np.einsum("gvr,gvr->vr", A, A), scale * np.einsum("gvr,g->vr", A, B)
        A = self.chain.increments(A, axis=1)
        paired_total = scale * np.einsum("gvr,gur->vur", A, A, optimize=True)
        return total, cross, scale * float(B @ B), paired_total, scale * np.einsum("gvr,g->vr", A, B)


def _levels(products: FloatArray, chain: Chain) -> tuple[FloatArray, FloatArray]:
    """Means (..., V) and sums of squares about them of the losses themselves, from products of their increments."""
    X, n = chain.levels, products[..., :1, 0]
    sums = products[..., 0, 2:]
    centred = products[..., 2:, 2:] - sums[..., :, None] * sums[..., None, :] / n[..., None]
    scatter = np.einsum("va,...ab,vb->...v", X, centred, X, optimize=True)
    return sums @ X.T / n, np.maximum(scatter, 0.0)


def spread_tables(repeats: list[RowSums]) -> dict[str, FloatArray]:
    """The tables of `FoldErrors` that are sums over rows, one row a repeat."""
    names = ("total", "cross", "weight", "paired_total", "paired_cross")
    columns = zip(*(each.between() for each in repeats), strict=True)
    tables = {
        name: np.stack([np.asarray(cell) for cell in column]) for name, column in zip(names, columns, strict=True)
    }
    return {"row_variance": np.stack([each.row_variance for each in repeats]), **tables}
