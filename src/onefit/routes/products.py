"""Products of fixed features with themselves and with y, of which those of training sets are differences."""

from __future__ import annotations

import numpy as np

from ..learners import Moments
from ..linalg import compiled
from ..typing import FloatArray, IntArray

__all__ = ["Products"]


class Products:
    """``B'B`` and ``B'y``, a constant being the last column of B."""

    def __init__(self, gram: FloatArray, right: FloatArray) -> None:
        self.gram, self.right = gram, right

    def without(self, folds: Products, out: IntArray) -> Products:
        """Those of all rows but some folds."""
        right = self.right - folds.right[out[:, 0]]
        for fold in out.T[1:]:
            right -= folds.right[fold]
        gram = np.empty((len(out), *self.gram.shape))
        without_first = dict[int, FloatArray]()  # which pairs of folds share
        for own, (first, *others) in zip(gram, out.tolist(), strict=True):  # one by one they stay in the cache
            if not others:
                np.subtract(self.gram, folds.gram[first], out=own)
                continue
            if first not in without_first:
                without_first = {first: self.gram - folds.gram[first]}
            np.subtract(without_first[first], folds.gram[others[0]], out=own)
            for fold in others[1:]:
                own -= folds.gram[fold]
        return Products(gram, right)

    @np.errstate(
        divide="ignore", invalid="ignore"
    )  # beside a heavy row nothing is left of the others' sums: lost digits
    def moments_without(self, folds: Products, out: IntArray) -> tuple[Moments, FloatArray, FloatArray]:
        """`about_means` of all rows but some folds."""
        if not compiled.is_on():
            return self.without(folds, out).about_means()
        sums, mean, products = compiled.without(self.gram, folds.gram, out)
        right = self.right - folds.right[out[:, 0]]
        for fold in out.T[1:]:
            right -= folds.right[fold]
        n = sums[:, -1]
        y_mean = right[:, -1] / n[:, None]
        return Moments(n, mean, products), right[:, :-1] - sums[:, :-1, None] * y_mean[:, None], y_mean

    def about_means(self) -> tuple[Moments, FloatArray, FloatArray]:
        """Moments of many sets (S,), products with y about the means, and the means of y."""
        n, sums = self.gram[:, -1, -1], self.gram[:, -1, :-1]
        mean, y_mean = sums / n[:, None], self.right[:, -1] / n[:, None]
        products = self.gram[:, :-1, :-1]
        for own, total, centre in zip(products, sums, mean, strict=True):
            own -= np.multiply.outer(total, centre)
        right = self.right[:, :-1] - sums[:, :, None] * y_mean[:, None]
        return Moments(n, mean, products), right, y_mean
