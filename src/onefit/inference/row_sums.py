"""Sums over rows that come in blocks, of which the tables of `FoldErrors` are made."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from ..typing import FloatArray, IntArray
from .chain import Chain
from .skewness import ThirdSums, skewness_of_mean

__all__ = ["RowSums", "spread_tables"]


class RowSums:
    """What the losses of one repeat add up to, by folds, and by groups if there are any.

    All sums of squares and products, over the rows of a fold, of the columns ``1``, ``w - 1`` and the increments of the
    losses along the chain, are one product of matrices. Losses are times the relative weights w of their rows. Those at
    the root of the chain are taken about ``shift`` (K, R), near the mean of each fold, so that nothing cancels, and
    third powers about ``middle`` (V, R). Parts that were filled apart from each other, in blocks of rows, are merged in
    order.
    """

    def __init__(self, chain: Chain, shift: FloatArray, middle: FloatArray, n_groups: int | None) -> None:
        V, (K, R) = len(chain), shift.shape
        self.chain, self.shift = chain, shift
        self.products = np.zeros((K, R, V + 2, V + 2))
        self.by_group = None if n_groups is None else np.zeros((n_groups, V, R))
        self.thirds = ThirdSums(middle)
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
        scored = slice(parts[0][1].start if parts else len(losses), None)
        table = space[0, : len(losses)]
        of_parents = space[1].ravel()[: len(losses) * V].reshape(-1, V)
        table[:, 0] = 1.0
        table[:, 1] = 0.0 if weights is None else weights - 1.0  # the mean of all is one
        for output in range(losses.shape[2]):
            levels = losses[:, :, output]
            np.take(levels, self.chain.parents, axis=1, out=of_parents, mode="clip")
            np.subtract(levels, of_parents, out=table[:, 2:])
            for fold, part in parts:
                np.subtract(levels[part, root], self.shift[fold, output], out=table[part, 2 + root])
                self.products[fold, output] += table[part].T @ table[part]
            if groups is None:
                mine = None if weights is None else weights[scored]
                self.thirds.add(output, levels[scored], mine, (table[scored, 2:], of_parents[scored]))
        if groups is not None and parts:
            self._add_groups(losses[scored] - self._middle, table[scored, 1], groups[scored])

    @property
    def _middle(self) -> FloatArray:
        """What the sums of groups are taken about, (R,): a fold means nothing to them."""
        middle: FloatArray = np.median(self.shift, axis=0)
        return middle

    def _add_groups(self, about: FloatArray, beside: FloatArray, groups: IntArray) -> None:
        assert self.by_group is not None
        seen, places = np.unique(groups, return_inverse=True)
        ends = np.arange(len(groups) + 1)
        members = sparse.csr_matrix((np.ones(len(groups)), places, ends), (len(groups), len(seen))).T
        sums = members @ about.reshape(len(groups), -1)
        self.by_group[seen] += sums.reshape(len(seen), *about.shape[1:])
        self.group_sizes[seen] += np.bincount(places)
        self.group_weights[seen] += np.bincount(places, beside)

    def merge(self, other: RowSums) -> None:
        """Add another part."""
        self.products += other.products
        self.thirds.merge(other.thirds)
        self.group_weights += other.group_weights
        self.group_sizes += other.group_sizes
        if self.by_group is not None and other.by_group is not None:
            self.by_group += other.by_group

    def fold_moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean of the losses of each fold and sum of squares about it, (K, V, R)."""
        _, means, scatters = self._by_fold()
        X = self.chain.levels
        levels = np.einsum("va,...ab,vb->...v", X, scatters[..., 1:, 1:], X, optimize=True)
        return np.moveaxis(means[..., 1:] @ X.T, 1, 2), np.moveaxis(np.maximum(levels, 0.0), 1, 2)

    def cancelled(self) -> float:
        """Largest ratio of the increments that a value's losses are made of, in a fold, to the spread of the losses.

        A fold may think otherwise of the best value; where that value's losses are far larger there, digits are lost.
        """
        parts = np.einsum("va,kraa->krv", np.abs(self.chain.levels), self._by_fold()[2][..., 1:, 1:])
        spread = np.moveaxis(self.fold_moments()[1], 1, 2)
        return float((parts / np.where(spread > 0, spread, np.inf)).max())

    def _by_fold(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of each fold; means of ``w - 1`` and the increments, (K, R, V + 1), and products about them."""
        n = self.products[:, 0, 0, 0]
        sums = self.products[..., 0, 1:]
        count = n[:, None, None]
        centred = self.products[..., 1:, 1:] - sums[..., :, None] * sums[..., None, :] / count[..., None]
        means = sums / count
        means[..., 1 + self.chain.root] += self.shift
        return n, means, centred

    def _over_folds(self) -> tuple[float, FloatArray]:
        """Number of rows, and products (R, V + 1, V + 1) of ``w - 1`` and the increments about their means."""
        n, means, centred = self._by_fold()
        share = (n / n.sum())[:, None, None]
        gaps = means - (share * means).sum(axis=0)
        between = np.einsum("k,kri,krj->rij", n, gaps, gaps, optimize=True)
        return float(n.sum()), centred.sum(axis=0) + between

    def tables(self) -> dict[str, FloatArray | float]:
        """The tables of `FoldErrors` that are sums over rows, for this repeat."""
        n, products = self._over_folds()
        X = self.chain.levels
        scatter = np.einsum("va,rab,vb->vr", X, products[:, 1:, 1:], X, optimize=True)
        row_variance = np.maximum(scatter, 0.0) / (n - 1) / n
        if self.by_group is not None:
            return {"row_variance": row_variance, **self._between_groups(self.by_group)}
        scale = n / (n - 1) / n**2
        cross = scale * products[:, 0, 1:].T
        return {
            "row_variance": row_variance,
            "total": row_variance,
            "skewness": self.thirds.skewness(),
            "cross": X @ cross,
            "weight": scale * float(products[0, 0, 0]),
            "paired_total": scale * np.moveaxis(products[:, 1:, 1:], 0, 2),
            "paired_cross": cross,
        }

    def _between_groups(self, sums: FloatArray) -> dict[str, FloatArray | float]:
        seen = self.group_sizes > 0
        count, n = int(seen.sum()), self.group_sizes.sum()
        scale = count / (count - 1) / n**2
        share = self.group_sizes[seen] / n
        A = sums[seen] - share[:, None, None] * sums.sum(axis=0)
        B = self.group_weights[seen] - share * self.group_weights.sum()
        c = (sums.sum(axis=0) + n * self._middle) / (self.group_weights.sum() + n)
        steps = self.chain.increments(A, axis=1)
        return {
            "skewness": skewness_of_mean((A - c * B[:, None, None])[None])[0],
            "total": scale * np.einsum("gvr,gvr->vr", A, A),
            "cross": scale * np.einsum("gvr,g->vr", A, B),
            "weight": scale * float(B @ B),
            "paired_total": scale * np.einsum("gvr,gur->vur", steps, steps, optimize=True),
            "paired_cross": scale * np.einsum("gvr,g->vr", steps, B),
        }


def spread_tables(repeats: list[RowSums]) -> dict[str, FloatArray]:
    """The tables of `FoldErrors` that are sums over rows, one row a repeat."""
    tables = [each.tables() for each in repeats]
    return {name: np.stack([np.asarray(each[name]) for each in tables]) for name in tables[0]}
