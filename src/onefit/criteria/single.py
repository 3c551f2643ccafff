"""GCV, leave-one-out and REML of a path of penalties, and where they are least, of many problems at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..typing import FloatArray
from .roots import bracketed_root
from .spectrum import Spectrum

__all__ = ["criterion_values", "edf", "largest_of_search", "scale_of", "search", "search_range"]

NEAR_INTERPOLATION = 1e-8
"""GCV is infinite where ``n - edf`` is at most this part of n: 0/0 would decide it."""

AXIS = (8.0, -12.0)
"""Decades of the axis that `search` looks at, relative to the sum of mu; most penalized first."""

AXIS_POINTS = 61
TIED = 1e-12
_CHUNK_BYTES = 2**20


def edf(spectrum: Spectrum, lams: FloatArray) -> FloatArray:
    """Trace of the hat matrix, (B, V), at ``lams`` (B, V)."""
    freedom: FloatArray = (spectrum.n - spectrum.spare)[:, None] - spectrum.shrinkage(lams).sum(axis=1)
    return freedom


def criterion_values(spectrum: Spectrum, lams: FloatArray, criterion: str) -> FloatArray:
    """A criterion (B, V, Q) at ``lams`` (B, V); infinite where it is not defined."""
    f = spectrum.shrinkage(lams)
    Q, step = spectrum.gamma.shape[2], max(1, _CHUNK_BYTES // (8 * max(f.size, 1)))
    if criterion == "loo" and step < Q:  # a few outputs at a time, as each value has all of their rows
        parts = (spectrum.outputs(slice(start, start + step)) for start in range(0, Q, step))
        return np.concatenate([criterion_values(part, lams, criterion) for part in parts], axis=2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = _loo(spectrum, f, lams) if criterion == "loo" else {"gcv": _gcv, "reml": _reml}[criterion](spectrum, f)
    return np.where(np.isnan(values), np.inf, values)


def _slopes(spectrum: Spectrum, lams: FloatArray, criterion: str) -> FloatArray:
    """Derivative in ``log lam`` of the criterion's sum over outputs, (B,), at ``lams`` (B,); its sign is what counts.

    A minimum found from values is good to half of the digits, one found from slopes to nearly all.
    """
    f = spectrum.shrinkage(lams[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if criterion == "loo":
            slopes = _loo_slope(spectrum, f, lams[:, None])
        else:
            slopes = {"gcv": _gcv_slope, "reml": _reml_slope}[criterion](spectrum, f)
    return np.where(np.isnan(slopes), 0.0, slopes)


def _weighted(spectrum: Spectrum, factors: FloatArray) -> FloatArray:
    """Sums over directions of ``factors`` (B, q, V) times gamma^2, (B, V, Q)."""
    sums: FloatArray = factors.swapaxes(1, 2) @ np.square(spectrum.gamma)
    return sums


def _gcv(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    rss = spectrum.rest[:, None] + _weighted(spectrum, np.square(f))
    left = (spectrum.spare[:, None] + f.sum(axis=1))[..., None]
    n = spectrum.n[:, None, None]
    return np.where(left > NEAR_INTERPOLATION * n, n * rss / np.square(left), np.inf)


def _gcv_slope(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    change = f * (1.0 - f)
    rss = (spectrum.rest[:, None] + _weighted(spectrum, np.square(f))).sum(axis=(1, 2))
    rss_slope = 2.0 * _weighted(spectrum, f * change).sum(axis=(1, 2))
    left = spectrum.spare + f.sum(axis=(1, 2))
    slope = rss_slope - 2.0 * rss * change.sum(axis=(1, 2)) / left
    return np.where(left > NEAR_INTERPOLATION * spectrum.n, slope, -1.0)


def _reml(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    """mgcv's: ``(n-k)/2 (1 + log(2 pi phi)) + (log|X'X + lam S| - log|lam S|_+)/2``.

    In penalized and free coordinates the determinants of the penalty cancel, and so does every direction that no row
    sees: ``log|N'N| - sum log f`` is left.
    """
    dimension = (spectrum.spare + spectrum.mu.shape[1])[:, None, None]
    penalized = spectrum.rest[:, None] + _weighted(spectrum, f)
    fit = dimension / 2 * (1.0 + np.log(2.0 * np.pi * penalized / dimension))
    values: FloatArray = fit + (spectrum.constant[:, None] - np.log(f).sum(axis=1) / 2)[..., None]
    return values


def _reml_slope(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    dimension = spectrum.spare + spectrum.mu.shape[1]
    penalized = spectrum.rest[:, None] + _weighted(spectrum, f)
    ratio = (_weighted(spectrum, f * (1.0 - f)) / penalized).sum(axis=(1, 2))
    n_outputs = spectrum.gamma.shape[2]
    slope: FloatArray = dimension * ratio - n_outputs * (1.0 - f).sum(axis=(1, 2))
    return slope


def _row_chunks(spectrum: Spectrum, factors: FloatArray) -> Iterator[tuple[slice, slice, FloatArray, FloatArray]]:
    """``U^2 factors`` (b, V, m) and ``U (factors gamma)`` (b, V, Q, m), some problems b and rows m at a time.

    The rows are the last axis, so that whatever is done to them runs through memory in order.
    """
    assert spectrum.rows is not None
    U, squares = spectrum.rows.U, spectrum.rows.squares
    (B, n, q), V, Q = U.shape, factors.shape[2], spectrum.gamma.shape[2]
    turned = factors.swapaxes(1, 2)
    right = (turned[:, :, None] * spectrum.gamma.swapaxes(1, 2)[:, None]).reshape(B, V * Q, q)
    most = _CHUNK_BYTES // (8 * max(q + (Q + 2) * V, 1))
    n_rows = int(np.clip(most, 16, n)) if n > 16 else max(n, 1)
    step = max(1, int(most // n_rows))
    for first in range(0, B, step):
        some = slice(first, min(first + step, B))
        for start in range(0, n, n_rows):
            rows = slice(start, min(start + n_rows, n))
            part = U[some, rows].swapaxes(1, 2)
            squared = np.square(part) if squares is None else squares[some, rows].swapaxes(1, 2)
            yield some, rows, turned[some] @ squared, (right[some] @ part).reshape(len(part), V, Q, -1)


def _loo(spectrum: Spectrum, f: FloatArray, lams: FloatArray) -> FloatArray:
    """Mean of ``w_i loo_i^2``, as RidgeCV has it."""
    assert spectrum.rows is not None
    rows, total = spectrum.rows, np.zeros((len(f), f.shape[2], spectrum.gamma.shape[2]))
    r0 = rows.r0.swapaxes(1, 2)
    for some, at, a, r in _row_chunks(spectrum, f):
        a += rows.a0[some, None, at]
        r += r0[some, None, :, at]
        r /= a[:, :, None]
        for row, residuals, _ in rows.left_out(at, a, f, lams):
            r[0, ..., row] = residuals
        total[some] += np.einsum("bvqm,bvqm->bvq", r, r)
    return total / spectrum.n_rows[:, None, None]


def _loo_slope(spectrum: Spectrum, f: FloatArray, lams: FloatArray) -> FloatArray:
    assert spectrum.rows is not None
    rows, total = spectrum.rows, np.zeros(len(f))
    r0 = rows.r0.swapaxes(1, 2)
    for some, at, a, r in _row_chunks(spectrum, np.concatenate([f, f * (1.0 - f)], axis=2)):
        diagonal, residual = a[:, :1] + rows.a0[some, None, at], r[:, 0] + r0[some, :, at]
        heldout = residual / diagonal
        slopes = heldout * (r[:, 1] - heldout * a[:, 1:]) / diagonal
        for row, residuals, derivative in rows.left_out(at, diagonal, f, lams):
            slopes[0, :, row] = residuals[0] * derivative[0]
        total[some] += slopes.sum(axis=(1, 2))
    return total


def search(spectrum: Spectrum, criterion: str) -> FloatArray:
    """The lam (B,) that minimizes the sum of a criterion over the outputs.

    The axis is ``log(lam / sum(mu))``, which does not depend on the units of the data or of the penalty. The best of a
    grid brackets a root of the slope. The ends of the axis are legal answers; of ties the most penalized wins.
    """
    scale = scale_of(spectrum)
    axis = np.log(10.0) * np.linspace(*AXIS, AXIS_POINTS)
    with np.errstate(invalid="ignore"):
        totals = criterion_values(spectrum, scale[:, None] * np.exp(axis), criterion).sum(axis=2)
        least = totals.min(axis=1, keepdims=True)
        near = totals <= least + TIED * np.abs(least)
    index = np.argmax(near | (totals == least), axis=1)
    at = axis[index]

    def slope(rho: FloatArray) -> FloatArray:
        return _slopes(spectrum, scale * np.exp(rho), criterion)

    here = slope(at)
    step = axis[0] - axis[1]
    low = np.where(here > 0, np.maximum(at - step, axis[-1]), at)
    high = np.where(here < 0, np.minimum(at + step, axis[0]), at)
    found = bracketed_root(slope, low, high)
    most, least = _ends(scale)
    lams: FloatArray = np.where(found >= axis[0], most, np.where(found <= axis[-1], least, scale * np.exp(found)))
    return lams


def search_range(spectrum: Spectrum) -> tuple[float, float]:
    """The least and the largest penalty that `search` would give for the first problem."""
    most, least = _ends(scale_of(spectrum))
    return float(least[0]), float(most[0])


def largest_of_search(size: float) -> float:
    """The largest penalty that `search` would give for eigenvalues of the sum ``size``."""
    return float(_ends(np.array([size]))[0][0])


def _ends(scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The most and the least penalized end of the axis."""
    return scale * 10.0 ** AXIS[0], scale * 10.0 ** AXIS[1]


def scale_of(spectrum: Spectrum) -> FloatArray:
    """Units of the axis of penalties, (B,)."""
    scale = spectrum.mu.sum(axis=1)
    return np.where(scale > 0, scale, 1.0)
