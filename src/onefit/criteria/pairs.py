"""The penalties that GCV and REML choose without each pair of rows, from the spectrum of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray
from .roots import bracketed_root, chebyshev_nodes, chebyshev_root
from .single import AXIS, AXIS_POINTS, scale_of, search
from .smallpairs import PairTerms, Totals, gcv_of, reml_of, slope_of, solve_pairs
from .spectrum import Spectrum

__all__ = ["PAIR_CRITERIA", "PairSearch"]

PAIR_CRITERIA = ("gcv", "reml")
"""Criteria that are functions of the spectrum alone; leave-one-out would need all rows for each pair."""

SINGULAR = 1e-3
"""A pair whose smaller eigenvalue is below this where the penalty is least is computed otherwise."""

KEPT = 1e-3
"""So is one that takes more than all but this part of what is left, or leaves less of the degrees of freedom."""

UNSURE = 1e-7
"""So is one whose slope, or its change, is below this part of the terms that it is made of."""

CHUNK, AXIS_CHUNK = 4096, 256
"""Pairs at a time, and those for which the caches hold the criterion at the whole axis."""

CACHED = 2**15
"""Numbers of all pairs in all directions at a time, which the caches are to hold as well."""

N_NODES, NEARBY = 8, 0.35
"""Nodes of the slope about the penalty of all rows, and how far they reach in ``log lam``: few pairs are beyond."""

LONG = 64
"""Pairs in a run from which on slices are faster than taking rows one by one."""

SMALL_STEP = 1e-7
"""The error after a step is about its square: if it is no longer than this, it is the last one."""


@dataclass(frozen=True)
class PairSearch:
    """What `search` would find without each pair of rows.

    The criterion of each pair is computed on the axis of all rows, which brackets its minimum as the pair's own would.
    Of these pairs the slope is interpolated about the penalty of all rows, and a last step from the root is taken with
    the slope itself; pairs whose root is elsewhere are searched one by one. Pairs that might have several minima of
    nearly the same value, or lose digits, are not sure.

    Attributes
    ----------
    spectrum : of all rows, one problem, with its rows
    N : (n, k) orthonormal basis of the free columns
    criterion : one of PAIR_CRITERIA
    """

    spectrum: Spectrum
    N: FloatArray
    criterion: str

    @cached_property
    def _U(self) -> FloatArray:
        assert self.spectrum.rows is not None
        return np.ascontiguousarray(self.spectrum.rows.U[0])

    @cached_property
    def _gamma(self) -> FloatArray:
        """Projections of y, outputs first."""
        return np.ascontiguousarray(self.spectrum.gamma[0].T)

    @cached_property
    def _r0(self) -> FloatArray:
        assert self.spectrum.rows is not None
        return np.ascontiguousarray(self.spectrum.rows.r0[0].T)

    @property
    def _dimension(self) -> float:
        return float(self.spectrum.n[0] - 2.0 - self.N.shape[1])

    @cached_property
    def _axis(self) -> FloatArray:
        """``log lam`` on the axis of all rows, most penalized first."""
        axis: FloatArray = np.log(scale_of(self.spectrum)[0]) + np.log(10.0) * np.linspace(*AXIS, AXIS_POINTS)
        return axis

    @cached_property
    def _by_axis(self) -> _Shared:
        return _Shared(self, self._axis, with_slopes=False)

    @cached_property
    def _nearby(self) -> _Shared:
        """At Chebyshev's nodes about the penalty of all rows, in rising order."""
        middle = float(np.log(search(self.spectrum, self.criterion)[0]))
        return _Shared(self, middle + NEARBY * chebyshev_nodes(N_NODES), with_slopes=True)

    def residuals(self, i: IntArray, j: IntArray) -> tuple[FloatArray, BoolArray]:
        """Residuals (P, 2, Q) of rows i and j from the fits without both, and which of them are sure."""
        found, is_sure = np.zeros((len(i), 2, len(self._gamma))), np.zeros(len(i), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = int(np.clip(CACHED // max(self._U.shape[1], 1), AXIS_CHUNK, CHUNK))
            for start in range(0, len(i), step):
                some = slice(start, start + step)
                pairs = _Pairs(self, i[some], j[some])
                rho, is_sure[some] = pairs.search()
                terms, _ = pairs.terms(rho, with_slopes=False)
                u_i, u_j = solve_pairs(terms[0], terms[0].r_i, terms[0].r_j)
                found[some, 0], found[some, 1] = u_i.T, u_j.T
        is_sure &= np.isfinite(found).all(axis=(1, 2))
        return found, is_sure

    def best_on_axis(self, terms: PairTerms) -> tuple[IntArray, BoolArray]:
        """The best of the axis for some pairs, and whether it is the only one that can be, and known well enough."""
        totals = self._by_axis.totals
        # A grows with the penalty, so that its least eigenvalue is that of the least penalty
        is_sure = terms.determinant[:, -1] > SINGULAR * (terms.a_i[:, -1] + terms.a_j[:, -1])
        if self.criterion == "gcv":
            rss, left, values = gcv_of(terms, totals)
            is_sure &= (left > KEPT * self.spectrum.n[0]).all(axis=1)
            is_sure &= (rss > KEPT * totals.rss).all(axis=(0, 2))
        else:
            rss, values = reml_of(terms, totals, self._by_axis.log_f, self._dimension)
            is_sure &= (rss > KEPT * totals.rss).all(axis=(0, 2))
        best = values.argmin(axis=1)
        is_sure &= np.isfinite(values).all(axis=1) & (best < AXIS_POINTS - 2)
        return best, is_sure & ~_is_contested(values, best)

    def totals(self, f: FloatArray) -> tuple[Totals, Totals]:
        """What the criterion needs of all rows at shrinkages f (..., q), and its derivatives."""
        squares, change = np.square(self._gamma), f * (1.0 - f)
        rest = self.spectrum.rest[0].reshape(-1, *(1,) * (f.ndim - 1))

        def of_outputs(factors: FloatArray) -> FloatArray:
            return np.stack([factors @ each for each in squares])

        if self.criterion == "gcv":
            left, falls = self.spectrum.spare[0] + f.sum(axis=-1), change.sum(axis=-1)
            return Totals(rest + of_outputs(f * f), left), Totals(of_outputs(2.0 * f * change), falls)
        return Totals(rest + of_outputs(f), np.zeros(1)), Totals(of_outputs(change), (1.0 - f).sum(axis=-1))

    def shrinkage(self, rho: FloatArray) -> FloatArray:
        """Factors f (..., q) at ``log lam``."""
        lam = np.exp(rho)[..., None]
        f: FloatArray = lam / (self.spectrum.mu[0] + lam)
        return f

    def factors(self, f: FloatArray, with_slopes: bool) -> list[FloatArray]:
        """What A and its square, and the derivatives of both, are made of."""
        change = f * (1.0 - f)
        return [f, f * f, change, 2.0 * f * change] if with_slopes else [f, f * f]


class _Shared:
    """What rows and pairs have at some values of ``log lam`` that all pairs share."""

    def __init__(self, of: PairSearch, rho: FloatArray, with_slopes: bool) -> None:
        self.rho = rho
        f = of.shrinkage(rho)
        self.totals, self.of_totals = of.totals(f[None])  # an axis for the pairs
        self.log_f = np.log(f).sum(axis=-1)
        assert of.spectrum.rows is not None
        self.factors = of.factors(f, with_slopes)
        squares, a0 = np.square(of._U), of.spectrum.rows.a0[0][:, None]
        # A and A^2 hold what no column reaches, their derivatives do not
        self.diagonals = [squares @ g.T + (a0 if at < 2 else 0.0) for at, g in enumerate(self.factors)]
        r0 = of._r0[:, :, None]
        self.sides = [
            np.stack([of._U @ (g * gamma).T for gamma in of._gamma]) + (r0 if at < 2 else 0.0)
            for at, g in enumerate(self.factors)
        ]
        self.stacked = np.ascontiguousarray(np.concatenate(self.factors).T)

    def terms(
        self, i: IntArray | slice, j: IntArray | slice, products: FloatArray, between: FloatArray
    ) -> list[PairTerms]:
        """Entries (P, values) of pairs, and their derivatives if there are some."""
        crossed = np.split(products @ self.stacked, len(self.factors), axis=1)
        for entries in crossed[:2]:
            entries += between[:, None]
        found = []
        for at in range(0, len(self.factors), 2):
            a, b, r, s = self.diagonals[at], self.diagonals[at + 1], self.sides[at], self.sides[at + 1]
            of_rows = a[i], a[j], crossed[at], b[i], b[j], crossed[at + 1]
            found.append(PairTerms(*of_rows, r[:, i], r[:, j], s[:, i], s[:, j]))
        return found


class _Pairs:
    """Some pairs of rows, each at a penalty of its own."""

    def __init__(self, of: PairSearch, i: IntArray, j: IntArray) -> None:
        self.of, self.i, self.j = of, i, j
        self.U_i, self.U_j = of._U[i], of._U[j]
        self.products = self.U_i * self.U_j
        self.free = (of.N[i] * of.N[j]).sum(axis=1)
        self.sq_i, self.sq_j = np.square(self.U_i), np.square(self.U_j)
        self.along_i, self.along_j = self.U_i * of._gamma[:, None], self.U_j * of._gamma[:, None]
        self.between = -self.free - self.products.sum(axis=1)

    def part(self, some: IntArray) -> _Pairs:
        """Some of them."""
        return _Pairs(self.of, self.i[some], self.j[some])

    def terms(self, rho: FloatArray, with_slopes: bool) -> tuple[list[PairTerms], FloatArray]:
        """Entries (P,) at each pair's own ``log lam``, and the shrinkages there."""
        of, f = self.of, self.of.shrinkage(rho)
        assert of.spectrum.rows is not None
        a0, r0 = of.spectrum.rows.a0[0], of._r0
        entries, sides = [], []
        for at, g in enumerate(of.factors(f, with_slopes)):
            own = at < 2  # A and A^2 hold what no column reaches, their derivatives do not
            starts = (a0[self.i], a0[self.j], self.between) if own else (0.0, 0.0, 0.0)
            sums = (np.einsum("pq,pq->p", g, each) for each in (self.sq_i, self.sq_j, self.products))
            entries.append([total + start for total, start in zip(sums, starts, strict=True)])
            at_i, at_j = (r0[:, self.i], r0[:, self.j]) if own else (0.0, 0.0)
            both = [np.einsum("pq,cpq->cp", g, each) for each in (self.along_i, self.along_j)]
            sides.append([both[0] + at_i, both[1] + at_j])
        found = [
            PairTerms(*entries[at], *entries[at + 1], *sides[at], *sides[at + 1]) for at in range(0, len(sides), 2)
        ]
        return found, f

    def slopes(self, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`slope_of` at each pair's own ``log lam``."""
        (terms, change), f = self.terms(rho, with_slopes=True)
        totals, of_totals = self.of.totals(f)
        return slope_of(terms, change, totals, of_totals, self.of._dimension, self.of.criterion)

    def search(self) -> tuple[FloatArray, BoolArray]:
        """``log lam`` of each pair, and which are sure."""
        best, is_sure = self._best_on_axis()
        rho = np.full(len(best), self.of._axis[0])
        is_done = ~is_sure
        if (best > 1).any() and self.of._axis[2] > self.of._nearby.rho[-1]:
            near, is_good = self._nearby_roots()
            inside = is_good & (best > 1) & self._brackets(best, near)
            rho[inside], is_done = near[inside], is_done | inside
        others = np.flatnonzero(~is_done)
        if len(others):
            rho[others], is_sure[others] = self.part(others)._one_by_one(best[others])
        return rho, is_sure

    def _brackets(self, best: IntArray, rho: FloatArray) -> BoolArray:
        """Whether ``log lam`` is between the neighbours of the best on the axis."""
        axis = self.of._axis
        return (rho < axis[np.maximum(best - 1, 0)]) & (rho > axis[np.minimum(best + 1, AXIS_POINTS - 1)])

    def _best_on_axis(self) -> tuple[IntArray, BoolArray]:
        """The best of the axis, and whether it is the only one that can be, and known well enough."""
        best, is_sure = np.empty(len(self.i), dtype=np.intp), np.empty(len(self.i), dtype=bool)
        ends = np.flatnonzero((np.diff(self.i) != 0) | (np.diff(self.j) != 1)) + 1
        is_long = len(self.i) > LONG * (len(ends) + 1)
        starts = [0, *(ends.tolist() if is_long else ())]
        for first, stop in zip(starts, [*starts[1:], len(self.i)], strict=True):
            for start in range(first, stop, AXIS_CHUNK):
                some = slice(start, min(start + AXIS_CHUNK, stop))
                rows: tuple[IntArray | slice, IntArray | slice] = self.i[some], self.j[some]
                if is_long:  # the same i, and j in order: views in place of copies
                    i, j = int(self.i[start]), int(self.j[start])
                    rows = slice(i, i + 1), slice(j, j + some.stop - start)
                (terms,) = self.of._by_axis.terms(*rows, self.products[some], self.between[some])
                best[some], is_sure[some] = self.of.best_on_axis(terms)
        return best, is_sure

    def _one_by_one(self, best: IntArray) -> tuple[FloatArray, BoolArray]:
        """Roots of the slope about the best of the axis, or the most penalized end of a pair's own."""
        axis = self.of._axis
        most = np.log(self._scales()) + np.log(10.0) * AXIS[0]
        high = np.where(best > 1, axis[np.maximum(best - 1, 0)], most)
        low = axis[np.minimum(best + 1, AXIS_POINTS - 1)]
        at_high, size_high = self.slopes(high)
        at_low, size_low = self.slopes(low)
        is_end = (best <= 1) & (at_high < 0)
        is_sure = (np.abs(at_high) > UNSURE * size_high) & (np.abs(at_low) > UNSURE * size_low)
        is_sure &= (at_low < 0) & (is_end | (at_high > 0))
        inner = np.flatnonzero(~is_end & is_sure)
        if len(inner):
            part = self.part(inner)
            most[inner] = bracketed_root(lambda rho: part.slopes(rho)[0], low[inner], high[inner])
        return most, is_sure

    def _scales(self) -> FloatArray:
        """Units of each pair's own axis: sums of the eigenvalues without it."""
        mu, N = self.of.spectrum.mu[0], self.of.N
        n_i, n_j = 1.0 - np.square(N[self.i]).sum(axis=1), 1.0 - np.square(N[self.j]).sum(axis=1)
        k_i, k_j, k_ij = (np.square(self.U_i) @ mu, np.square(self.U_j) @ mu, self.products @ mu)
        taken = n_j * k_i + n_i * k_j + 2.0 * self.free * k_ij
        scales: FloatArray = mu.sum() - taken / (n_i * n_j - self.free * self.free)
        return scales

    def _nearby_roots(self) -> tuple[FloatArray, BoolArray]:
        """Roots of the interpolated slope about the penalty of all rows, with a last step from the slope itself."""
        shared = self.of._nearby
        terms, change = shared.terms(self.i, self.j, self.products, self.between)
        values, size = slope_of(terms, change, shared.totals, shared.of_totals, self.of._dimension, self.of.criterion)
        values = values / size.max(axis=1, keepdims=True)
        is_up = values > 0
        is_good = ~is_up[:, 0] & is_up[:, -1] & (np.diff(is_up.astype(np.int8), axis=1) >= 0).all(axis=1)
        x, steepness = chebyshev_root(values, is_up)
        middle = (shared.rho[0] + shared.rho[-1]) / 2
        rho = middle + NEARBY * x
        exact, _ = self.slopes(rho)
        step = -NEARBY * exact / (steepness * size.max(axis=1))
        is_good &= (np.abs(step) < SMALL_STEP) & (steepness > UNSURE)
        return rho + np.where(is_good, step, 0.0), is_good


def _is_contested(values: FloatArray, best: IntArray) -> BoolArray:
    """Whether another local minimum of values (P, V) might be the best on an axis that is shifted a little."""
    bordered = np.pad(values, ((0, 0), (1, 1)), mode="reflect")
    is_least = (values <= bordered[:, :-2]) & (values <= bordered[:, 2:])
    contested: BoolArray = np.zeros(len(values), dtype=bool)
    several = np.flatnonzero(is_least.sum(axis=1) > 1)
    if len(several):
        # a parabola through three points is lower than the least of them by at most an eighth of this
        bend = bordered[several, :-2] + bordered[several, 2:] - 2.0 * values[several]
        own, rows = best[several], np.arange(len(several))
        most = values[several, own] + np.abs(bend[rows, own]) / 2
        low = np.where(is_least[several], values[several] - np.abs(bend) / 2, np.inf)
        low[rows, own] = np.inf
        contested[several] = (low <= most[:, None]).any(axis=1)
    return contested
