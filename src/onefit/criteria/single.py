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

import numpy as np
from scipy import linalg

from ..linalg.columns import EPS, Columns, clean, row_space
from ..linalg.jacobi import svd_by_jacobi, svd_of_wide
from ..typing import BoolArray, FloatArray

__all__ = [
    "RowFit",
    "RowPart",
    "Spectrum",
    "criterion_values",
    "edf",
    "search",
    "search_range",
    "spectrum_of_rows",
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
_SQUARED = 1e-8


@dataclass(frozen=True)
class RowPart:
    """What leave-one-out needs of the rows; rows that are not in a training set have U = r0 = 0 and a0 = 1.

    Attributes
    ----------
    U : (B, n, q)
    a0 : (B, n)
    r0 : (B, n, Q)
    """

    U: FloatArray
    a0: FloatArray
    r0: FloatArray

    @classmethod
    def of(cls, U: FloatArray, a0: FloatArray, r0: FloatArray) -> RowPart:
        """The same without rounding errors in rows that the columns reach exactly.

        Such a row, the only one that sees a column, has a0 = r0 = 0, and its residual is a ratio of two numbers as
        small as the penalty.
        """
        is_reached = a0 <= REACHED
        return cls(U, np.where(is_reached, 0.0, a0), np.where(is_reached[..., None], 0.0, r0))

    def is_certain(self) -> BoolArray:
        """In which problems no row is so nearly reached that errors of downdating would be seen in it, (B,)."""
        certain: BoolArray = self.a0.min(axis=1) > NEARLY_REACHED
        return certain


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

    def shrinkage(self, lams: FloatArray) -> FloatArray:
        """Factors f (B, q, V) at ``lams`` (B, V): one is a direction shrunk to nothing."""
        mu, lam = self.mu[:, :, None], lams[:, None, :]
        D = mu + lam
        seen: FloatArray = np.where(D > 0, lam / np.where(D > 0, D, 1.0), 1.0)
        return seen

    def output(self, index: int) -> Spectrum:
        """The same problems with one output only."""
        one = slice(index, index + 1)
        rows = None if self.rows is None else replace(self.rows, r0=self.rows.r0[..., one])
        return replace(self, gamma=self.gamma[..., one], rest=self.rest[..., one], rows=rows)


def edf(spectrum: Spectrum, lams: FloatArray) -> FloatArray:
    """Trace of the hat matrix, (B, V), at ``lams`` (B, V)."""
    freedom: FloatArray = (spectrum.n - spectrum.spare)[:, None] - spectrum.shrinkage(lams).sum(axis=1)
    return freedom


def criterion_values(spectrum: Spectrum, lams: FloatArray, criterion: str) -> FloatArray:
    """A criterion (B, V, Q) at ``lams`` (B, V); infinite where it is not defined."""
    f = spectrum.shrinkage(lams)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = {"gcv": _gcv, "loo": _loo, "reml": _reml}[criterion](spectrum, f)
    return np.where(np.isnan(values), np.inf, values)


def _slopes(spectrum: Spectrum, lams: FloatArray, criterion: str) -> FloatArray:
    """Derivative in ``log lam`` of the criterion's sum over outputs, (B,), at ``lams`` (B,); its sign is what counts.

    A minimum found from values is good to half of the digits, one found from slopes to nearly all.
    """
    f = spectrum.shrinkage(lams[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes = {"gcv": _gcv_slope, "loo": _loo_slope, "reml": _reml_slope}[criterion](spectrum, f)
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


def _row_chunks(spectrum: Spectrum, factors: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """``U^2 factors`` (B, m, V) and ``U (factors gamma)`` (B, m, V, Q), some rows m at a time."""
    assert spectrum.rows is not None
    U = spectrum.rows.U
    (B, n, q), V, Q = U.shape, factors.shape[2], spectrum.gamma.shape[2]
    right = (factors[..., None] * spectrum.gamma[:, :, None]).reshape(B, q, V * Q)
    step = max(16, int(_CHUNK_BYTES // (8 * B * max(q + (Q + 2) * V, 1))))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        part = U[:, rows]
        yield rows, np.square(part) @ factors, (part @ right).reshape(B, -1, V, Q)


def _loo(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    """Mean of ``w_i loo_i^2``, as RidgeCV has it."""
    assert spectrum.rows is not None
    rows, total = spectrum.rows, np.zeros((len(f), f.shape[2], spectrum.gamma.shape[2]))
    for some, a, r in _row_chunks(spectrum, f):
        a += rows.a0[:, some, None]
        r += rows.r0[:, some, None]
        r /= a[..., None]
        total += np.einsum("bmvq,bmvq->bvq", r, r)
    return total / spectrum.n_rows[:, None, None]


def _loo_slope(spectrum: Spectrum, f: FloatArray) -> FloatArray:
    assert spectrum.rows is not None
    rows, total = spectrum.rows, np.zeros(len(f))
    both = np.concatenate([f, f * (1.0 - f)], axis=2)
    for some, a, r in _row_chunks(spectrum, both):
        diagonal, residual = a[..., :1] + rows.a0[:, some, None], r[:, :, 0] + rows.r0[:, some]
        heldout = residual / diagonal
        total += (heldout * (r[:, :, 1] - heldout * a[..., 1:]) / diagonal).sum(axis=(1, 2))
    return total


def search(spectrum: Spectrum, criterion: str) -> FloatArray:
    """The lam (B,) that minimizes the sum of a criterion over the outputs.

    The axis is ``log(lam / sum(mu))``, which does not depend on the units of the data or of the penalty. The best of a
    grid brackets a root of the slope. The ends of the axis are legal answers; of ties the most penalized wins.
    """
    scale = _scale(spectrum)
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
    found = _root(slope, low, high)
    most, least = _ends(scale)
    lams: FloatArray = np.where(found >= axis[0], most, np.where(found <= axis[-1], least, scale * np.exp(found)))
    return lams


def search_range(spectrum: Spectrum) -> tuple[float, float]:
    """The least and the largest penalty that `search` would give for the first problem."""
    most, least = _ends(_scale(spectrum))
    return float(least[0]), float(most[0])


def _ends(scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The most and the least penalized end of the axis."""
    return scale * 10.0 ** AXIS[0], scale * 10.0 ** AXIS[1]


def _scale(spectrum: Spectrum) -> FloatArray:
    """Units of the axis of penalties, (B,)."""
    scale = spectrum.mu.sum(axis=1)
    return np.where(scale > 0, scale, 1.0)


def _root(slope: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
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


@dataclass(frozen=True)
class RowFit:
    """One problem decomposed from its rows: its spectrum, and the map from gamma to coefficients."""

    spectrum: Spectrum
    columns: Columns
    y: FloatArray
    V: FloatArray

    def coefficients(self, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients a (r, Q) and b (k, Q) at one lam for each output, (Q,)."""
        mu = self.spectrum.mu[0][:, None]
        D = mu + lams
        a = self.V @ (np.sqrt(mu) / np.where(D > 0, D, 1.0) * self.spectrum.gamma[0])
        N = self.columns.N
        b = linalg.lstsq(N, self.y - self.columns.E @ a)[0] if N.shape[1] else np.zeros((0, self.y.shape[1]))
        return a, b


def spectrum_of_rows(
    columns: Columns,
    y: FloatArray,
    root: FloatArray | None = None,
    n_rows: int | None = None,
    smallest: float = 0.0,
) -> RowFit:
    """Decompose one problem from its rows, accurate whatever its condition.

    Parameters
    ----------
    columns : Columns
        Design times the roots of the weights, of the rows with a positive weight.
    y : (n, Q) times the roots of the weights
    root : (n,) or None
        The roots of the weights.
    n_rows : int or None
        Number of rows with those of no weight.
    smallest : float
        The smallest penalty that will be asked for. If it is far above the rounding errors of ``E E'``, that matrix is
        decomposed for p >= n in place of E: faster, and accurate enough.
    """
    (n, r), k = columns.E.shape, columns.N.shape[1]
    Q1, R1 = linalg.qr(columns.N, mode="economic", check_finite=False) if k else (np.zeros((n, 0)), np.zeros((0, 0)))
    E, y2 = columns.E - Q1 @ (Q1.T @ columns.E), y - Q1 @ (Q1.T @ y)
    # a column that the free ones explain leaves rounding errors only, which no criterion should see
    E = clean(E, columns.E_size, max(n, r))
    q = min(max(n - k, 0), r)
    is_complete = q == n - k
    U, d, V = _svd(E, Q1, q, is_complete, smallest, columns.is_uneven)
    if not is_complete:
        U = np.where(d > 0, U, 0.0)  # what no column reaches is no direction of theirs, but of the rest
    gamma = U.T @ y2
    r0 = np.zeros_like(y) if is_complete else y2 - U @ gamma
    a0 = np.zeros(n) if is_complete else 1.0 - np.square(Q1).sum(axis=1) - np.square(U).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_det = 2.0 * np.log(np.abs(np.diag(R1))).sum()
        log_weights = 0.0 if root is None else 2.0 * np.log(root).sum()
    spectrum = Spectrum(
        mu=np.square(d)[None],
        gamma=gamma[None],
        rest=np.square(r0).sum(axis=0)[None],
        spare=np.array([float(n - k - q)]),
        n=np.array([float(n)]),
        n_rows=np.array([float(n if n_rows is None else n_rows)]),
        constant=np.array([(log_det - log_weights) / 2]),
        rows=RowPart.of(U[None], a0[None], r0[None]),
    )
    return RowFit(spectrum, columns, y, V)


def _svd(
    E: FloatArray, Q1: FloatArray, q: int, is_complete: bool, smallest: float, is_uneven: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``E = U diag(d) V'`` with q columns in U, orthogonal to Q1; singular values that are rounding errors are zero."""
    n, k = Q1.shape
    if q == 0:
        return np.zeros((n, 0)), np.zeros(0), np.zeros((E.shape[1], 0))
    if not is_complete:
        return _svd_by_columns(E)
    # the complement of Q1 must be spanned: U would else take directions of Q1 for null ones
    W = linalg.qr(Q1, mode="full", check_finite=False)[0][:, k:] if k else np.eye(n)
    inside = W.T @ E if k else E
    if smallest > _SQUARED * np.square(E).sum():
        U, d, V = _svd_of_gram(inside)
    elif is_uneven:
        U, d, V = svd_of_wide(inside)
        seen = row_space(inside)
        d = d if seen is None else np.where(np.arange(len(d)) < seen.basis.shape[1], d, 0.0)
    else:
        U, d, Vt = linalg.svd(inside, full_matrices=False, check_finite=False)
        d, V = np.where(d > max(E.shape) * np.finfo(float).eps * d[0], d, 0.0), Vt.T
    return W @ U, d, V


def _svd_by_columns(E: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """By Jacobi's method: columns in different units keep the digits of the small ones, too."""
    U, d, V = svd_by_jacobi(E)
    if d[-1] <= max(E.shape) * EPS * d[0]:
        seen = row_space(E)
        d = d if seen is None else np.where(np.arange(len(d)) < seen.basis.shape[1], d, 0.0)
    return U, d, V


def _svd_of_gram(E: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from ``E E'``, for penalties far above its rounding errors."""
    e, U = linalg.eigh(E @ E.T, check_finite=False)
    e = np.where(e > len(e) * np.finfo(float).eps * max(e[-1], 0.0), e, 0.0)
    d = np.sqrt(e)
    return U, d, (E.T @ U) / np.where(d > 0, d, np.inf)
