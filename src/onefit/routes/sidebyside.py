"""Tables of several engines on the same folds, one after the other on the axis of parameter values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ..inference.fold_errors import HeldOut, PairErrors

__all__ = ["joined_pairs", "joined_singles"]


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
