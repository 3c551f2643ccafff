"""Tables of several engines on the same folds, one after the other on the axis of parameter values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..inference.fold_errors import HeldOut, PairErrors, RowRoles, moments
from .contract import Engine

__all__ = ["joined_pairs", "joined_singles", "pairs_of"]


def pairs_of(engine: Engine, folds: Folds, rows: RowRoles) -> PairErrors[HeldOut]:
    """What an engine makes of some folds; where no pairs are fitted, a second fold out changes nothing."""
    if not isinstance(folds, DropFolds) or folds.has_pairs:
        return engine.pairs(folds)
    single = engine.singles(folds)
    K, losses = folds.n_folds, rows.weigh(single.losses[0])
    mean, scatter = np.empty((2, 1, K, K, *losses.shape[1:]))
    for fold in range(K):
        own = losses[folds.members[0, fold, : folds.sizes[0, fold]]]
        flat = own.reshape(len(own), -1)
        found = moments(flat, np.ones((len(own), 1), dtype=bool))
        mean[0, fold], scatter[0, fold] = (each.reshape(losses.shape[1:]) for each in found)
    return PairErrors(single, mean, scatter)


def joined_pairs(parts: Sequence[PairErrors[HeldOut]]) -> PairErrors[HeldOut]:
    """Losses with two folds out."""
    if len(parts) == 1:
        return parts[0]
    return PairErrors(
        joined_singles([part.single for part in parts]),
        np.concatenate([part.mean for part in parts], axis=3),
        np.concatenate([part.scatter for part in parts], axis=3),
    )


def joined_singles(parts: Sequence[HeldOut]) -> HeldOut:
    """Rows with their own fold out."""
    if len(parts) == 1:
        return parts[0]
    starts = accumulate((part.losses.shape[2] for part in parts), initial=0)
    return HeldOut(
        np.concatenate([part.residuals for part in parts], axis=2),
        np.concatenate([part.losses for part in parts], axis=2),
        [
            failure._replace(value=start + failure.value)
            for start, part in zip(starts, parts, strict=False)
            for failure in part.failures
        ],
    )
