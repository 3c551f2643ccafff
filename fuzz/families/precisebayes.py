"""Naive Bayes in extended precision: scores of far rows are large in all classes, and so are their rounding errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

__all__ = ["PreciseGaussianNB"]

LONG = np.longdouble


class PreciseGaussianNB(GaussianNB):
    """Scikit-learn's, with scores as differences, column by column: what is the same in all classes cancels."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseGaussianNB:
        """Priors, means and variances; a constant has no other mean, and no variance."""
        super().fit(X, y, sample_weight)
        X = np.asarray(X, dtype=LONG)
        weights = np.ones(len(X), dtype=LONG) if sample_weight is None else np.asarray(sample_weight, dtype=LONG)
        moved = X - X[0]
        epsilon = LONG(self.var_smoothing) * (np.square(moved).mean(axis=0) - np.square(moved.mean(axis=0))).max()
        self.means_, self.vars_, counts = [], [], []
        for label in self.classes_:
            seen = (np.asarray(y) == label) & (weights > 0)
            w, own = weights[seen][:, None], X[seen]
            counts.append(w.sum())
            if not len(own):  # without weight a class has scikit-learn's values for nothing, and no probability
                self.means_.append(np.zeros(X.shape[1], dtype=LONG))
                self.vars_.append(np.zeros(X.shape[1], dtype=LONG) + epsilon)
                continue
            shift = ((own - own[0]) * w).sum(axis=0) / w.sum()
            self.means_.append(own[0] + shift)
            self.vars_.append((np.square(own - own[0] - shift) * w).sum(axis=0) / w.sum() + epsilon)
        self.logs_ = np.log(np.array(counts) / sum(counts))
        return self

    def _joint_log_likelihood(self, X: Any) -> Any:
        """Less that of the first class."""
        X = np.asarray(X, dtype=LONG)
        m0, v0 = self.means_[0], self.vars_[0]
        found = []
        for mean, variance, log in zip(self.means_, self.vars_, self.logs_, strict=True):
            odds = np.square(X - m0) / v0 - np.square(X - mean) / variance
            odds = np.where(variance == v0, (mean - m0) * (2 * X - m0 - mean) / variance, odds)
            found.append(log + (odds - np.log(variance / v0)).sum(axis=1) / 2)
        return np.stack(found, axis=1).astype(np.float64)
