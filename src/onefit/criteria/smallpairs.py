r"""GCV and REML of the fit without a pair of rows, from the residual operator of all rows: 2 x 2 Schur complements.

In the basis of `Spectrum`, ``A = A_0 + U diag(f) U'`` and ``A^2 = A_0 + U diag(f^2) U'``, where A_0 is the projection
on what no column reaches. Without the rows J, with ``u = A_JJ^-1 r_J``,

.. math::

    RSS = r'r - 2 u'(Ar)_J + u'(A^2)_JJ u, \quad n - edf = tr A - tr(A_JJ^{-1} (A^2)_JJ),
    \quad RSS + lam \|a\|^2 = y'Ay - u'r_J, \quad |X'X + lam S| \to |X'X + lam S| |A_JJ| .

The derivatives in ``log lam`` follow from ``f' = f (1 - f)``; each of their terms has such a factor, so that they keep
their digits where nothing is left of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..typing import FloatArray

__all__ = ["PairTerms", "Totals", "gcv_of", "reml_of", "slope_of", "solve_pairs"]


@dataclass(frozen=True)
class Totals:
    """Sums over all rows, which broadcast against the pairs: what is left of y, by outputs, and of its dimensions.

    For GCV ``rss`` (Q, ...) is ``r'r`` and ``left`` is ``tr A``. For REML ``rss`` is ``y'Ay``, and of ``left`` only the
    derivative counts: the sum of 1 - f.
    """

    rss: FloatArray
    left: FloatArray


@dataclass(frozen=True)
class PairTerms:
    """Entries of pairs of rows i and j: of A (or its derivative), of A^2, of r and of Ar; those of r by outputs."""

    a_i: FloatArray
    a_j: FloatArray
    a_ij: FloatArray
    b_i: FloatArray
    b_j: FloatArray
    b_ij: FloatArray
    r_i: FloatArray
    r_j: FloatArray
    s_i: FloatArray
    s_j: FloatArray

    @cached_property
    def determinant(self) -> FloatArray:
        """Determinants of the 2 x 2 systems."""
        return self.a_i * self.a_j - self.a_ij * self.a_ij

    @cached_property
    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Entries ii, jj and ij of the inverses."""
        whole = 1.0 / self.determinant
        return self.a_j * whole, self.a_i * whole, -self.a_ij * whole


def solve_pairs(terms: PairTerms, right_i: FloatArray, right_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``A_JJ^-1`` times a right-hand side."""
    x, y, z = terms.inverse
    return x * right_i + z * right_j, z * right_i + y * right_j


def _quadratic(u_i: FloatArray, u_j: FloatArray, m_i: FloatArray, m_j: FloatArray, m_ij: FloatArray) -> FloatArray:
    form: FloatArray = u_i * (u_i * m_i + 2.0 * u_j * m_ij) + u_j * u_j * m_j
    return form


def gcv_of(terms: PairTerms, totals: Totals) -> tuple[FloatArray, FloatArray, FloatArray]:
    """RSS by outputs and ``n - edf`` without the pairs, and RSS over the square of the latter, summed over outputs."""
    u_i, u_j = solve_pairs(terms, terms.r_i, terms.r_j)
    rss = totals.rss - 2.0 * (u_i * terms.s_i + u_j * terms.s_j)
    rss += _quadratic(u_i, u_j, terms.b_i, terms.b_j, terms.b_ij)
    x, y, z = terms.inverse
    left = totals.left - (x * terms.b_i + y * terms.b_j + 2.0 * z * terms.b_ij)
    return rss, left, rss.sum(axis=0) / np.square(left)


def reml_of(terms: PairTerms, totals: Totals, log_f: FloatArray, dimension: float) -> tuple[FloatArray, FloatArray]:
    """Penalized RSS by outputs without the pairs, and REML without its constants, summed over outputs.

    ``log_f`` is the sum of the logarithms of f.
    """
    u_i, u_j = solve_pairs(terms, terms.r_i, terms.r_j)
    penalized = totals.rss - (u_i * terms.r_i + u_j * terms.r_j)
    sizes = len(penalized) * (np.log(terms.determinant) - log_f)
    return penalized, (dimension * np.log(penalized).sum(axis=0) + sizes) / 2.0


def slope_of(
    terms: PairTerms, change: PairTerms, totals: Totals, of_totals: Totals, dimension: float, criterion: str
) -> tuple[FloatArray, FloatArray]:
    """Derivative of a criterion in ``log lam``, up to a positive factor, and the size of the terms that it is made of.

    ``change`` and ``of_totals`` are the derivatives of ``terms`` and ``totals``.
    """
    u_i, u_j = solve_pairs(terms, terms.r_i, terms.r_j)
    x, y, z = terms.inverse
    moved = _quadratic(u_i, u_j, change.a_i, change.a_j, change.a_ij)
    if criterion == "reml":
        penalized = totals.rss - (u_i * terms.r_i + u_j * terms.r_j)
        up = of_totals.rss - 2.0 * (u_i * change.r_i + u_j * change.r_j) + moved
        kept = of_totals.left - (x * change.a_i + y * change.a_j + 2.0 * z * change.a_ij)
        rises, falls = dimension * (up / penalized).sum(axis=0), len(penalized) * kept
        return rises - falls, np.abs(rises) + np.abs(falls)
    rss, left, _ = gcv_of(terms, totals)
    right = (
        change.r_i - change.a_i * u_i - change.a_ij * u_j,
        change.r_j - change.a_j * u_j - change.a_ij * u_i,
    )
    v_i, v_j = solve_pairs(terms, *right)
    e_i = terms.s_i - terms.b_i * u_i - terms.b_ij * u_j
    e_j = terms.s_j - terms.b_j * u_j - terms.b_ij * u_i
    up = of_totals.rss - 2.0 * (v_i * e_i + v_j * e_j + u_i * change.s_i + u_j * change.s_j)
    up += _quadratic(u_i, u_j, change.b_i, change.b_j, change.b_ij)
    # A_JJ^-1 A_JJ' A_JJ^-1
    h_i = x * (x * change.a_i + 2.0 * z * change.a_ij) + z * z * change.a_j
    h_j = y * (y * change.a_j + 2.0 * z * change.a_ij) + z * z * change.a_i
    h_ij = z * (x * change.a_i + y * change.a_j) + (x * y + z * z) * change.a_ij
    less = of_totals.left - (x * change.b_i + y * change.b_j + 2.0 * z * change.b_ij)
    less += h_i * terms.b_i + h_j * terms.b_j + 2.0 * h_ij * terms.b_ij
    rises, falls = up.sum(axis=0), 2.0 * rss.sum(axis=0) * less / left
    return rises - falls, np.abs(rises) + np.abs(falls)
