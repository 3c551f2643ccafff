"""How the errors of two folds move together when each joins the training set of the other."""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray
from .chain import Chain

__all__ = ["covariance_terms"]


def covariance_terms(change: FloatArray, weight: FloatArray, chain: Chain) -> tuple[FloatArray, FloatArray]:
    """Sum over pairs of folds of w_j w_k B_jk B_kj, corrected for the centring of B: of values, and of increments.

    ``change[l, j, k]`` (L, K, K, V) is the change of fold j's error when k joins its training set, zero for j = k. B
    centres it within column k over j != k: what k does to everyone is not a covariance between j and k.
    """
    w_j, w_k = weight[:, :, None], weight[:, None, :]
    itself = np.eye(weight.shape[1], dtype=bool)
    shrunk = (1.0 - w_j / (1.0 - w_k)) * (1.0 - w_k / (1.0 - w_j))
    shrunk[:, itself] = 1.0  # with three folds it may be zero there
    factor = (w_j * w_k / shrunk)[..., None]

    def centred(table: FloatArray) -> FloatArray:
        B: FloatArray = table - (w_j[..., None] * table).sum(axis=1, keepdims=True) / (1.0 - w_k)[..., None]
        B[:, itself] = 0.0
        return B

    B = centred(change)
    own: FloatArray = (factor * B * B.swapaxes(1, 2)).sum(axis=(1, 2))
    B = B if len(chain) == 1 else centred(chain.increments(change, axis=3))
    L, V = len(change), change.shape[3]
    crossed = (factor * B).reshape(L, -1, V).swapaxes(1, 2) @ B.swapaxes(1, 2).reshape(L, -1, V)
    return own, (crossed + crossed.swapaxes(1, 2)) / 2
