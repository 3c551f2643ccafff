"""Leave-one-out at listed penalties in many training sets, whose rows are never held all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..typing import BoolArray, FloatArray
from .single import Spectrum

__all__ = ["SetRows", "loo_on_grid"]

CACHED_BYTES = 2**18
"""Rows of so many training sets at a time are in the nearest caches from the first product to the last."""


@dataclass(frozen=True)
class SetRows:
    """Rows of training sets in the directions of their spectra, not yet made: those that are out are to be blank.

    Attributes
    ----------
    back : (B, d, d), the free directions first: ``back Z'`` are the rows in an orthogonal basis of the training set
    Z : (n, d)
    rest : (n, Q) what the columns do not reach of y in all rows
    of_rest : (B, d, Q) what the directions of a training set reach of it
    is_out : (B, n)
    """

    back: FloatArray
    Z: FloatArray
    rest: FloatArray
    of_rest: FloatArray
    is_out: BoolArray


def loo_on_grid(spectrum: Spectrum, rows: SetRows, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave-one-out (B, V, Q) at ``lams`` (B, V), and the smallest one minus a leverage of a fit without penalty, (B,).

    With the free directions, which nothing shrinks, before the others, ``a = 1 - U^2 (1 - f)`` and
    ``r = rest + U (f gamma - of_rest)``: each is one product for all penalties. A diagonal that is far from zero at no
    penalty, as the caller must see to, cancels no more here than a sum of positive terms would.
    """
    f = spectrum.shrinkage(lams).swapaxes(1, 2)
    (B, V, q), (n, d), Q = f.shape, rows.Z.shape, rows.rest.shape[1]
    kept = np.ones((B, V + 1, d))
    np.subtract(1.0, f, out=kept[:, :V, d - q :])
    right = np.repeat(-rows.of_rest.swapaxes(1, 2)[:, None], V, axis=1)  # (B, V, Q, d)
    right[..., d - q :] += f[:, :, None] * spectrum.gamma.swapaxes(1, 2)[:, None]
    right = right.reshape(B, V * Q, d)
    stays = np.where(rows.is_out, 0.0, 1.0)
    Zt, rest = np.ascontiguousarray(rows.Z.T), np.ascontiguousarray(rows.rest.T)
    step = max(1, CACHED_BYTES // (8 * max(n, 1) * (d + (V + 1) * (Q + 1))))
    space = np.empty((min(step, B), d, n))
    values, least = np.empty((B, V, Q)), np.empty(B)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, B, step):
            some = slice(start, min(start + step, B))
            U = np.matmul(rows.back[some], Zt, out=space[: some.stop - start])
            U *= stays[some, None]
            r = (right[some] @ U).reshape(len(U), V, Q, n)
            r += (stays[some, None] * rest)[:, None]
            a = kept[some] @ np.square(U, out=U)
            np.subtract(1.0, a, out=a)
            least[some] = a[:, -1].min(axis=1)
            r /= a[:, :-1, None]
            values[some] = np.einsum("bvqm,bvqm->bvq", r, r)
    values /= spectrum.n_rows[:, None, None]
    return np.where(np.isnan(values), np.inf, values), least
