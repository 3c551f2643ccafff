"""Leave-one-out at listed penalties in many training sets, whose rows are never held all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..typing import BoolArray, FloatArray
from .spectrum import Spectrum

__all__ = ["SetRows", "loo_on_grid"]

CACHED_BYTES = 2**18
"""Rows of so many training sets at a time are in the nearest caches from the first product to the last."""

OUTPUTS_BYTES = 2**22
"""Of the residuals of a training set at all penalties: of many outputs, so many at a time."""


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
    stays = np.where(rows.is_out, 0.0, 1.0)
    Zt, rest = np.ascontiguousarray(rows.Z.T), np.ascontiguousarray(rows.rest.T)
    width = min(Q, max(1, OUTPUTS_BYTES // (8 * max(n, 1) * V)))
    step = max(1, CACHED_BYTES // (8 * max(n, 1) * (d + (V + 1) * (Q + 1))))
    space = np.empty((2, min(step, B), d, n))
    values, least = np.empty((B, V, Q)), np.empty(B)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, B, step):
            some = slice(start, min(start + step, B))
            U = np.matmul(rows.back[some], Zt, out=space[0, : some.stop - start])
            U *= stays[some, None]
            a = kept[some] @ np.square(U, out=space[1, : some.stop - start])
            np.subtract(1.0, a, out=a)
            least[some] = a[:, -1].min(axis=1)
            for first in range(0, Q, width):
                part = slice(first, first + width)
                r = (_right(spectrum, rows, f, some, part) @ U).reshape(len(U), V, -1, n)
                r += (stays[some, None] * rest[part])[:, None]
                r /= a[:, :-1, None]
                values[some, :, part] = np.einsum("bvqm,bvqm->bvq", r, r)
    values /= spectrum.n_rows[:, None, None]
    return np.where(np.isnan(values), np.inf, values), least


def _right(spectrum: Spectrum, rows: SetRows, f: FloatArray, some: slice, part: slice) -> FloatArray:
    """``f gamma - of_rest`` of some training sets and outputs at all penalties, (b, V Q, d)."""
    V, q = f.shape[1:]
    right = np.repeat(-rows.of_rest[some, :, part].swapaxes(1, 2)[:, None], V, axis=1)
    right[..., right.shape[3] - q :] += f[some, :, None] * spectrum.gamma[some, :, part].swapaxes(1, 2)[:, None]
    return right.reshape(len(right), -1, right.shape[3])
