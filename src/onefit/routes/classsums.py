"""Counts, means and scatters of classes in folds, and in training sets, which are sums over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from ..typing import FloatArray, IntArray

__all__ = ["ClassSums"]


@dataclass(frozen=True)
class ClassSums:
    """Of F sets of rows and C classes.

    Sums over sets only add what is positive: nothing is subtracted that could cancel.

    Attributes
    ----------
    n : (F, C)
    mean : (F, C, p)
    squares : (F, C, p), (F, p, p) or (F, C, p, p)
        About the means: sums of squares, of products over all classes, or of products by class.
    scatter : {"diagonal", "pooled", "classes"}
        Which of them.
    """

    n: FloatArray
    mean: FloatArray
    squares: FloatArray
    scatter: str

    @classmethod
    def of_folds(
        cls,
        X: FloatArray,
        sets: IntArray,
        n_sets: int,
        classes: IntArray,
        n_classes: int,
        weights: FloatArray | None,
        scatter: str,
    ) -> ClassSums:
        """Of the rows of each fold, ``sets`` (L, n) being the number of every row's in each of L partitions."""
        n, p = X.shape
        key = (sets * n_classes + classes).ravel()
        order = np.argsort(key, kind="stable")
        places, rows = np.arange(n_sets * n_classes + 1), order % n
        sorted_key = key[order]
        ends = np.searchsorted(sorted_key, places)
        w = np.ones(len(rows)) if weights is None else weights[rows]
        member = sparse.csr_matrix((w, np.arange(len(rows)), ends), shape=(n_sets * n_classes, len(rows)))
        count = np.bincount(sorted_key, w, minlength=n_sets * n_classes).astype(np.float64)
        Z = X[rows]
        mean = (member @ Z) / np.where(count > 0, count, 1.0)[:, None]
        Z -= mean[sorted_key]
        if scatter == "diagonal":
            squares = (member @ np.square(Z)).reshape(n_sets, n_classes, p)
        else:
            Z *= np.sqrt(w)[:, None]
            step = n_classes if scatter == "pooled" else 1
            spans = ends[::step]
            parts = np.zeros((len(spans) - 1, p, p))
            for at, (start, stop) in enumerate(pairwise(spans)):
                if stop > start + 1:
                    np.matmul(Z[start:stop].T, Z[start:stop], out=parts[at])
            squares = parts if scatter == "pooled" else parts.reshape(n_sets, n_classes, p, p)
        return cls(count.reshape(n_sets, n_classes), mean.reshape(n_sets, n_classes, p), squares, scatter)

    def part(self, start: int, stop: int) -> ClassSums:
        """Those of some sets."""
        some = slice(start, stop)
        return ClassSums(self.n[some], self.mean[some], self.squares[some], self.scatter)

    @classmethod
    def joined(cls, parts: Sequence[ClassSums]) -> ClassSums:
        """Sets of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        n, mean, squares = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("n", "mean", "squares")
        )
        return cls(n, mean, squares, parts[0].scatter)

    def together(self, kept: FloatArray) -> ClassSums:
        """Of B unions of the sets, ``kept`` (B, F) being one for those that belong to it, else zero."""
        B, (F, C, p) = len(kept), self.mean.shape
        n = kept @ self.n
        total = kept @ (self.n[..., None] * self.mean).reshape(F, -1)
        mean = total.reshape(B, C, p) / np.where(n > 0, n, 1.0)[..., None]
        apart = self.mean - mean[:, None]  # (B, F, C, p)
        apart *= np.sqrt(kept[:, :, None] * self.n)[..., None]
        squares = (kept @ self.squares.reshape(F, -1)).reshape(B, *self.squares.shape[1:])
        if self.scatter == "classes":
            apart = apart.swapaxes(1, 2)
            squares += apart.swapaxes(2, 3) @ apart
        elif self.scatter == "diagonal":
            squares += np.einsum("bfcp,bfcp->bcp", apart, apart)
        else:
            apart = apart.reshape(B, F * C, p)
            squares += apart.swapaxes(1, 2) @ apart
        return ClassSums(n, mean, squares, self.scatter)

    def overall(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (F, p) over all classes."""
        total = self.n.sum(axis=1)
        mean = np.einsum("fc,fcp->fp", self.n, self.mean) / total[:, None]
        sums = {"diagonal": "fcp->fp", "pooled": "fpp->fp", "classes": "fcpp->fp"}
        within = np.einsum(sums[self.scatter], self.squares)
        between = np.einsum("fc,fcp->fp", self.n, np.square(self.mean - mean[:, None]))
        return mean, (within + between) / total[:, None]
