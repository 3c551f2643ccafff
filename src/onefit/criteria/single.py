r"""GCV, leave-one-out and REML of a path of penalties, on all rows or on many training sets at once.

Every penalized least squares problem ``min ||y - E a - N b||^2 + lam ||a||^2`` (rows times the roots of their
weights) has, once the free columns N are projected out of E, the singular value decomposition
``(I - P_N) E = U diag(mu)^(1/2) V'``. With ``gamma = U'y`` and the shrinkage ``f = lam / (mu + lam)``,

.. math::

    RSS = \rho + \sum f^2 \gamma^2, \quad RSS + lam \|a\|^2 = \rho + \sum f \gamma^2, \quad n - edf = \nu + \sum f,

where rho is what no column reaches of ``y'y``, and nu the dimension of that space. Residuals and the diagonal of
``I - H`` are ``r0 + U f gamma`` and ``a0 + U^2 f``. Sums of non-negative terms: nothing cancels near interpolation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = [
    "RowPart",
    "Spectrum",
    "criterion_values",
    "edf",
    "search",
    "search_range",
]


NEAR_INTERPOLATION = 1e-8
"""GCV is infinite where ``n - edf`` is at most this part of n: 0/0 would decide it."""

AXIS = (8.0, -12.0)
"""Decades of the axis that `search` looks at, relative to the sum of mu; most penalized first."""

AXIS_POINTS = 61
TIED = 1e-12
ACCURACY = 1e-12
MOST_STEPS = 60
_CHUNK_BYTES = 2**20


class Deleting(Protocol):
    """Residuals of rows from fits without them."""

    def residuals(self, rows: list[int], lams: FloatArray) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Residual and its derivative in ``log lam``, (V, Q), of each row; of none without which there is no fit."""

    def output(self, one: slice) -> Deleting:
        """The same with some outputs only."""


@dataclass(frozen=True)
class RowPart:
    """What leave-one-out needs of the rows; rows that are not in a training set have U = r0 = 0 and a0 = 1.

    Attributes
    ----------
    U : (B, n, q)
    a0 : (B, n)
    r0 : (B, n, Q)
    deletions : fits without a row, if there is one problem only
    squares : (B, n, q) of U, or None: they are then made a part at a time
    """

    U: FloatArray
    a0: FloatArray
    r0: FloatArray
    deletions: Deleting | None = None
    squares: FloatArray | None = None

    @classmethod
    def of(cls, U: FloatArray, a0: FloatArray, r0: FloatArray, squares: FloatArray | None = None) -> RowPart:
        """The same without rounding errors in rows that the columns reach exactly.

        Such a row, the only one that sees a column, has a0 = r0 = 0, and its residual is a ratio of two numbers as
        small as the penalty.
        """
        is_reached = a0 <= REACHED
        return cls(U, np.where(is_reached, 0.0, a0), np.where(is_reached[..., None], 0.0, r0), squares=squares)

    def is_certain(self) -> BoolArray:
        """In which problems no row is so nearly reached that errors of downdating would be seen in it, (B,)."""
        certain: BoolArray = self.a0.min(axis=1) > NEARLY_REACHED
        return certain

    def left_out(
        self, some: slice, diagonal: FloatArray, f: FloatArray, lams: FloatArray
    ) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Rows among ``some`` whose ``diagonal`` (1, V, m) is near its rounding errors, with `Deleting.residuals`."""
        if self.deletions is None:
            return
        errors = np.maximum(f[0].max(axis=0, initial=0.0), self.a0.max(initial=0.0))
        near = np.flatnonzero((diagonal[0] < NEAR_ROUNDING * errors[:, None]).any(axis=0))
        if not len(near):
            return
        for row, found in self.deletions.residuals((some.start + near).tolist(), lams[0]).items():
            yield row - some.start, *found


NEAR_ROUNDING = 1e-8
"""Below this part of the largest, one minus a leverage has too few digits even from the rows themselves."""

REACHED = 1e-13
"""What one minus a leverage may be by rounding errors alone."""

NEARLY_REACHED = 1e-5
"""Below this a downdated one minus a leverage has too few digits."""


@dataclass(frozen=True)
class Spectrum:
    """B problems with q penalized directions and Q outputs, each diagonalized for every lam.

    Attributes
    ----------
    mu : (B, q) generalized eigenvalues of the Gram matrix against the penalty; zero for directions that no row sees
    gamma : (B, q, Q) projections of y
    rest : (B, Q) squared length of the part of y that no column reaches
    spare : (B,) dimension of that part, ``n - k - q``
    n : (B,) rows with a positive weight
    n_rows : (B,) all rows: scikit-learn's leave-one-out mean counts those without weight, too
    constant : (B,) part of REML that depends on neither lam nor y
    rows : RowPart or None
    """

    mu: FloatArray
    gamma: FloatArray
    rest: FloatArray
    spare: FloatArray
    n: FloatArray
    n_rows: FloatArray
    constant: FloatArray
    rows: RowPart | None = None

    @classmethod
    def of(
        cls,
        mu: FloatArray,
        gamma: FloatArray,
        rest: FloatArray,
        n: FloatArray,
        n_free: int,
        rows: RowPart | None = None,
    ) -> Spectrum:
        """Problems of n rows (B,) and ``n_free`` free columns, to choose a penalty by.

        What does not move a minimum is left out: the constant of REML, and rows without weight.
        """
        return cls(mu, gamma, rest, n - n_free - mu.shape[1], n, n, np.zeros(len(mu)), rows)

    def shrinkage(self, lams: FloatArray) -> FloatArray:
        """Factors f (B, q, V) at ``lams`` (B, V): one is a direction shrunk to nothing."""
        mu, lam = self.mu[:, :, None], lams[:, None, :]
        D = mu + lam
        seen: FloatArray = np.where(D > 0, lam / np.where(D > 0, D, 1.0), 1.0)
        return seen

    def part(self, some: slice, rows: RowPart) -> Spectrum:
        """Some of the problems, with their rows."""
        tables = {name: getattr(self, name)[some] for name in self.__dataclass_fields__ if name != "rows"}
        return Spectrum(**tables, rows=rows)

    def output(self, index: int) -> Spectrum:
        """The same problems with one output only."""
        return self.outputs(slice(index, index + 1))

    def outputs(self, one: slice) -> Spectrum:
        """The same problems with some outputs only."""
        rows = self.rows
        if rows is not None:
            deletions = None if rows.deletions is None else rows.deletions.output(one)
            rows = replace(rows, r0=rows.r0[..., one], deletions=deletions)
        return replace(self, gamma=self.gamma[..., one], rest=self.rest[..., one], rows=rows)


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


def _ends(scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The most and the least penalized end of the axis."""
    return scale * 10.0 ** AXIS[0], scale * 10.0 ** AXIS[1]


def scale_of(spectrum: Spectrum) -> FloatArray:
    """Units of the axis of penalties, (B,)."""
    scale = spectrum.mu.sum(axis=1)
    return np.where(scale > 0, scale, 1.0)


def bracketed_root(slope: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Where a function that is negative below and positive above changes its sign, in each bracket (Chandrupatla).

    Without a change of sign the bracket shrinks to the end at which it points.
    """
    a, b = high.copy(), low.copy()
    f_a, f_b = slope(a), slope(b)
    f_a, f_b = np.where(f_a > 0, f_a, np.finfo(float).tiny), np.where(f_b < 0, f_b, -np.finfo(float).tiny)
    t = np.full(len(a), 0.5)
    for _ in range(MOST_STEPS):
        x = a + t * (b - a)
        f_x = slope(x)
        is_a = np.sign(f_x) == np.sign(f_a)
        c, f_c = np.where(is_a, a, b), np.where(is_a, f_a, f_b)
        b, f_b = np.where(is_a, b, a), np.where(is_a, f_b, f_a)
        a, f_a = x, f_x
        width = np.abs(b - a)
        done = (width <= ACCURACY) | (f_a == 0)
        if done.all():
            break
        t = np.where(done, 0.0, _next_step(a, b, c, f_a, f_b, f_c))
    return np.where(np.abs(f_a) <= np.abs(f_b), a, b)


def _next_step(
    a: FloatArray, b: FloatArray, c: FloatArray, f_a: FloatArray, f_b: FloatArray, f_c: FloatArray
) -> FloatArray:
    """Part of the way from a to b: by inverse quadratic interpolation where that is safe, else half of it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        safe = (np.square(phi) < xi) & (np.square(1.0 - phi) < 1.0 - xi)
        quadratic = f_a / (f_b - f_a) * f_c / (f_b - f_c)
        quadratic += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        least = 0.5 * ACCURACY / np.abs(b - a)
        t: FloatArray = np.where(safe & np.isfinite(quadratic), quadratic, 0.5)
        return np.clip(t, np.minimum(least, 0.5), 1.0 - np.minimum(least, 0.5))
