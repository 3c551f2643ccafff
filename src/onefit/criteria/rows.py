"""One problem decomposed from its rows, and the same without one of them.

A row that the fit all but reaches, as it alone sees a column, has a residual and a diagonal entry of ``I - H`` as small
as the penalty beside the column. Where that is near the rounding errors of U, their ratio, its leave-one-out residual,
is lost, and comes from a decomposition without the row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg.columns import EPS, Columns, clean, norms, row_space
from ..linalg.jacobi import svd_by_jacobi, svd_of_wide
from ..linalg.rowspace import joined
from ..typing import BoolArray, FloatArray
from .single import AXIS
from .spectrum import NEAR_DEPENDENT, NEAR_ROUNDING, NEAR_UNEVEN, RowPart, Spectrum

__all__ = ["Deletions", "RowFit", "spectrum_of_rows"]

_SQUARED = 1e-8

SHRUNK = 1e-8
"""Part of the smallest penalty below which an eigenvalue of the Gram matrix is as good as none."""

MOST_WORK = 2e8
"""Products in all decompositions without a row, some seconds at most; more rows are left out of one decomposition."""

MOST_MAGNIFIED = 1e5
"""How much rounding errors may grow where rows that were left out together are put back."""

ALONG = 1e-3
"""Cosine with a free column that no direction of the others has, which are orthogonal to it: rounding errors may."""


@dataclass(frozen=True)
class RowFit:
    """One problem decomposed from its rows: its spectrum, the map from gamma to coefficients, and columns seen."""

    spectrum: Spectrum
    columns: Columns
    y: FloatArray
    V: FloatArray
    seen: BoolArray

    def coefficients(self, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients a (r, Q) and b (k, Q) at one lam for each output, (Q,)."""
        mu = self.spectrum.mu[0][:, None]
        D = mu + lams
        a = self.V @ (np.sqrt(mu) / np.where(D > 0, D, 1.0) * self.spectrum.gamma[0])
        N = self.columns.N
        b = linalg.lstsq(N, self.y - self.columns.E @ a)[0] if N.shape[1] else np.zeros((0, self.y.shape[1]))
        return a, b


def decompose_rows(
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
        d = np.where(norms(Q1.T @ U) < ALONG, d, 0.0)
        U = np.where(d > 0, U, 0.0)  # what no column reaches is no direction of theirs, but of the rest
    gamma = U.T @ y2
    r0, a0, inside = np.zeros_like(y), np.zeros(n), U
    if not is_complete:
        # a direction that every penalty shrinks to nothing may be made of rounding errors: it counts to what is left
        least = smallest if smallest > 0 else 10.0 ** AXIS[1] * np.square(d).sum()
        inside = np.where(np.square(d) > SHRUNK * least, U, 0.0)
        r0 = y2 - inside @ (inside.T @ y2)
        a0 = 1.0 - np.square(Q1).sum(axis=1) - np.square(inside).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_det = 2.0 * np.log(np.abs(np.diag(R1))).sum()
        log_weights = 0.0 if root is None else 2.0 * np.log(root).sum()
    spectrum = Spectrum(
        mu=np.square(d)[None],
        gamma=gamma[None],
        rest=np.square(np.zeros_like(y) if is_complete else y2 - U @ gamma).sum(axis=0)[None],
        spare=np.array([float(n - k - q)]),
        n=np.array([float(n)]),
        n_rows=np.array([float(n if n_rows is None else n_rows)]),
        constant=np.array([(log_det - log_weights) / 2]),
        rows=RowPart.of(inside[None], a0[None], r0[None]),
    )
    return RowFit(spectrum, columns, y, V, np.asarray(E.any(axis=0)))


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
    """By Jacobi's method: columns in different units keep the digits of the small ones, too.

    Columns in proportion to each other are one: no row sees the difference of two, and what rounding errors make of it
    in vectors V of small singular values would be large beside the units of other columns.
    """
    U, d, V = svd_by_jacobi(E)
    if d[-1] > max(E.shape) * EPS * d[0]:
        return U, d, V
    one = joined(E)
    if n_less := E.shape[1] - len(one.size):
        U, d, V = svd_by_jacobi(one.design)
        U, d, V = np.pad(U, ((0, 0), (0, n_less))), np.pad(d, (0, n_less)), np.pad(one.spread(V), ((0, 0), (0, n_less)))
    seen = row_space(E)
    return U, d if seen is None else np.where(np.arange(len(d)) < seen.basis.shape[1], d, 0.0), V


def _svd_of_gram(E: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from ``E E'``, for penalties far above its rounding errors."""
    e, U = linalg.eigh(E @ E.T, check_finite=False)
    e = np.where(e > len(e) * np.finfo(float).eps * max(e[-1], 0.0), e, 0.0)
    d = np.sqrt(e)
    return U, d, (E.T @ U) / np.where(d > 0, d, np.inf)


class _Path(NamedTuple):
    """A residual ``constant - sum_q parts_q mu_q / (mu_q + lam)``: (Q,), (q, Q) and (q,)."""

    constant: FloatArray
    parts: FloatArray
    mu: FloatArray


@dataclass(frozen=True)
class Deletions:
    """One problem, of which rows can be left out: columns and y times the roots of the weights."""

    columns: Columns
    y: FloatArray
    smallest: float
    paths: dict[int, _Path | None]
    blocks: list[_Block]

    @property
    def most(self) -> int:
        """Rows up to which a decomposition for each takes no longer than it may."""
        n, r = self.columns.E.shape
        return int(MOST_WORK // max(n * r * min(n, r), 1))

    @classmethod
    def of(cls, columns: Columns, y: FloatArray, smallest: float) -> Deletions:
        """With no row left out yet."""
        return cls(columns, y, smallest, {}, [])

    def output(self, one: slice) -> Deletions:
        """The same with some outputs only."""
        return Deletions.of(self.columns, self.y[:, one], self.smallest)

    def residuals(self, rows: list[int], lams: FloatArray) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Residuals of rows, each when it is left out, and derivatives in ``log lam``, (V, Q) at ``lams`` (V,).

        Of a row that the free columns alone reach there are none, as there is no fit without it.
        """
        block = self._block(rows) if len(rows) > self.most and lams.min() > 0 else None
        together = None if block is None else block.residuals(rows, lams)
        if together is not None:
            return together
        found = {}
        for row in rows:
            if row not in self.paths:
                without = self._without([row])
                self.paths[row] = None if without is None else without.path()
            path = self.paths[row]
            if path is not None:
                kept = path.mu / (path.mu + lams[:, None])  # (V, q)
                found[row] = path.constant - kept @ path.parts, (kept * (1.0 - kept)) @ path.parts
        return found

    def _block(self, rows: list[int]) -> _Block | None:
        """All of these rows, and those of earlier calls, left out; None if the others do not determine a fit."""
        if not self.blocks or not set(rows) <= set(self.blocks[-1].rows):
            together = sorted(set(rows).union(*(block.rows for block in self.blocks)))
            without = self._without(together)
            if without is None:
                return None
            self.blocks[:] = [without]
        return self.blocks[-1]

    def _without(self, rows: list[int]) -> _Block | None:
        others = np.delete(np.arange(len(self.y)), rows)
        E, N = self.columns.E, self.columns.N
        # without the rows, what is large in them alone is no measure of rounding errors
        size = self.columns.E_size - norms(E) + norms(E[others]) if self.columns.is_own else self.columns.E_size
        columns = replace(self.columns.rows(others), E_size=np.maximum(size, norms(E[others])))
        if columns.dependent():
            return None
        y = self.y[others]
        fit = decompose_rows(columns, y, smallest=self.smallest)
        r, k = E.shape[1], N.shape[1]
        free = linalg.lstsq(columns.N, np.hstack([columns.E, y]))[0] if k else np.zeros((0, r + y.shape[1]))
        explained = N[rows] @ free
        known = fit.spectrum.mu[0] > 0
        return _Block(
            rows=rows,
            E=E[rows] - explained[:, :r],
            y=self.y[rows] - explained[:, r:],
            N=linalg.lstsq(columns.N.T, N[rows].T)[0].T if k else np.zeros((len(rows), 0)),
            V=np.where(fit.seen[:, None], fit.V, 0.0)[:, known],
            mu=fit.spectrum.mu[0][known],
            gamma=fit.spectrum.gamma[0][known],
        )


@dataclass(frozen=True)
class _Block:
    """Rows that are left out together, as the fit to the others sees them.

    E (k, r) and y (k, Q) are less what the free columns explain; ``NN'`` is what these add to the variance of
    predictions. V (r, q), mu and gamma are of the others.
    """

    rows: list[int]
    E: FloatArray
    y: FloatArray
    N: FloatArray
    V: FloatArray
    mu: FloatArray
    gamma: FloatArray

    def path(self) -> _Path:
        """Of a single row."""
        along = self.E[0] @ self.V / np.sqrt(self.mu)
        return _Path(self.y[0], along[:, None] * self.gamma, self.mu)

    def residuals(self, rows: list[int], lams: FloatArray) -> dict[int, tuple[FloatArray, FloatArray]] | None:
        """`Deletions.residuals` of some of the rows, with the others of the block put back.

        None if rows of the block nearly determine each other, so that they have to be left out one by one.

        Held-out residuals e of the block have the covariance ``S = I + NN' + E (E_o'E_o + lam I)^-1 E'``, and that of
        row i with only i out is ``(S^-1 e)_i / (S^-1)_ii``. With S scaled to a diagonal of ones, rows that are the only
        ones to see a large column keep their digits.
        """
        places = [self.rows.index(row) for row in rows]
        B = self.E @ self.V
        unseen = self.E - B @ self.V.T
        unseen -= (unseen @ self.V) @ self.V.T
        fixed, only = np.eye(len(self.E)) + self.N @ self.N.T, unseen @ unseen.T
        values, slopes = np.empty((2, len(lams), *self.y.shape))
        for at, lam in enumerate(lams):
            D = self.mu + lam
            S = fixed + (B / D) @ B.T + only / lam
            change = -((B * (lam / np.square(D))) @ B.T + only / lam)
            e = self.y - (B * (np.sqrt(self.mu) / D)) @ self.gamma
            e_change = (B * (np.sqrt(self.mu) * lam / np.square(D))) @ self.gamma
            size = np.sqrt(np.diag(S))[:, None]
            inverse = _inverse(S / (size * size.T))
            if not np.abs(inverse).max() < MOST_MAGNIFIED:
                return None
            moved = inverse @ (change / (size * size.T)) @ inverse
            diagonal = np.diag(inverse)[:, None]
            solved = inverse @ (e / size)
            values[at] = size * solved / diagonal
            slopes[at] = size * (inverse @ (e_change / size) - moved @ (e / size)) / diagonal
            slopes[at] += values[at] * np.diag(moved)[:, None] / diagonal
        return {row: (values[:, place], slopes[:, place]) for row, place in zip(rows, places, strict=True)}


def _inverse(S: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix; infinite if it has none."""
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(S, check_finite=False), np.eye(len(S))))
    except linalg.LinAlgError:
        return np.full(S.shape, np.inf)


def spectrum_of_rows(
    columns: Columns,
    y: FloatArray,
    root: FloatArray | None = None,
    n_rows: int | None = None,
    smallest: float = 0.0,
) -> RowFit:
    """`decompose_rows`, with rows that can be left out where leave-one-out needs it."""
    fit = decompose_rows(columns, y, root, n_rows, smallest)
    rows = fit.spectrum.rows
    assert isinstance(rows, RowPart)
    near = NEAR_ROUNDING
    if columns.is_uneven:
        near = NEAR_UNEVEN if fit.spectrum.mu.all() else NEAR_DEPENDENT
    rows = replace(rows, deletions=Deletions.of(columns, y, smallest), near=near)
    return replace(fit, spectrum=replace(fit.spectrum, rows=rows))
