"""Several penalties, chosen jointly by GCV or REML: Newton's method from a scan of the axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..typing import FloatArray
from .coordinates import Roots, coordinates_of
from .known import KnownReml, Ubre
from .points import GRID, LEAST, MOST, SMALLEST_NORMAL, GcvPoint, GuardedGcv, Point, RemlPoint, StrictGcv, eigen, inside
from .reduced import Reduced, Statistics, coefficients_at, reduce, statistics_of_rows
from .single import criterion_values
from .spectrum import Spectrum

__all__ = [
    "JOINT_CRITERIA",
    "KNOWN_SCALE",
    "Choice",
    "Statistics",
    "choose_jointly",
    "coefficients_at",
    "coordinates_of",
    "criterion",
    "statistics_of_rows",
]

JOINT_CRITERIA = ("gcv", "reml")

KNOWN_SCALE = {"gcv": "ubre", "reml": "known reml"}
"""What stands for a criterion where the variance of the noise is known to be one, times the weights."""

_POINTS: dict[str, type[Point]] = {"reml": RemlPoint, "gcv": GcvPoint, "known reml": KnownReml, "ubre": Ubre}
_BY_SHIFT = {name: plain for plain, name in KNOWN_SCALE.items()}

_SINGULAR = 1e-9

STEP_LIMIT = 5.0
"""Newton's method changes no ``log lam`` by more than this in a step."""

SMALL_STEP = 1e-6
"""The error after a step is about its square: this step is the last one."""

FLAT_STEP = 0.1
"""The criterion is flat where a step longer than this gains nothing."""

SCAN_EVERY = 4
"""Steps that are still long may be on an endless slope, one unit at a time: the axes are scanned again."""

MOST_STEPS = 60
MOST_HALVINGS = 30
MOST_ROUNDS = 8
FEW_POINTS, MANY_POINTS, MOST_WORK = 60, 400, 1e11
"""A search decomposes the problem at so many points at most: the fewer, the more operations each of them takes."""


@dataclass(frozen=True)
class Choice:
    """Penalties that a criterion chose.

    Attributes
    ----------
    lams : (T,)
    at_end : (T,) "most" or "least" for a penalty at that end of its axis, else ""
    converged : False if the steps did not suffice, or if GCV has no minimum but where the fit nearly interpolates
    """

    lams: FloatArray
    at_end: tuple[str, ...]
    converged: bool


def _check_kind(kind: str) -> None:
    if kind not in _POINTS:
        raise DataError(f"There is no criterion {kind!r} for several penalties; choose 'gcv' or 'reml'.")


def criterion(statistics: Statistics, roots: Roots, rho: FloatArray, kind: str) -> tuple[float, FloatArray, FloatArray]:
    """Return a criterion, summed over the outputs, with its derivatives in ``rho = log lam``.

    Parameters
    ----------
    statistics : Statistics
    roots : tuple of (r_t, d)
        Of full row rank, each on its own columns; or their `coordinates_of`, which many problems can share.
    rho : (T,)
    kind : {"reml", "gcv", "known reml", "ubre"}

    Returns
    -------
    value : float
        Infinite where GCV would be 0/0; the derivatives are then NaN.
    gradient : (T,)
    hessian : (T, T)

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.multiple import criterion, statistics_of_rows
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> statistics = statistics_of_rows(x, np.array([[-1.0], [1.0], [1.0]]))
    >>> value, gradient, hessian = criterion(statistics, (np.eye(1),), np.log([2.0]), "gcv")
    >>> round(value, 12), gradient.round(12).tolist()  # 3 RSS/(3 - edf)^2 with RSS = 3/2 and edf = 1/2
    (0.72, [0.096])
    """
    _check_kind(kind)
    problem = reduce(statistics, roots)
    return _POINTS[kind](problem, problem.place(rho)).report()


def choose_jointly(statistics: Statistics, roots: Roots, kind: str, lams: FloatArray | None = None) -> Choice:
    """Choose the penalties that minimize a criterion, summed over the outputs.

    A scan of a shift common to all penalties, then of one axis after the other, finds where Newton's method starts.
    At its end every axis is scanned again, and a lower value is followed. The axes do not depend on the units of
    the data or of the penalties. Their ends are legal answers; of ties the most penalized end wins. With one row more
    than free directions both criteria are constant, so that it wins at once.

    GCV is 0/0 where the fit interpolates, and can be lowest there. So a guard lifts it where fewer than a tenth of the
    rows are left as degrees of freedom, ``n - edf < n/10``. If it is still lowest there, a local minimum of GCV away
    from it is taken; if none is found, the minimum with the guard, and ``converged`` is False.

    Parameters
    ----------
    statistics : Statistics
    roots : tuple of (r_t, d)
        Of full row rank, each on its own columns; or their `coordinates_of`, which many problems can share.
    kind : {"reml", "gcv", "known reml", "ubre"}
        The last two take the variance of the noise as one: REML that knows it, and the unbiased risk in place of GCV.
    lams : (T,) or None
        Penalties that are given, positive, and NaN for those to be chosen; None is all of them. If all are given, they
        are the choice, and nothing is decomposed.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.multiple import choose_jointly, statistics_of_rows
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> design = np.hstack([np.ones((20, 1)), x, x**2 - np.mean(x**2)])
    >>> roots = np.eye(3)[[1]], np.eye(3)[[2]]  # a penalty on the slope, and one on the curvature
    >>> y = x + 0.1 * (-1.0) ** np.arange(20)[:, None]
    >>> choice = choose_jointly(statistics_of_rows(design, y), roots, "reml")
    >>> choice.at_end
    ('', 'most')
    """
    if lams is not None and not np.isnan(lams).any():
        return Choice(lams, ("",) * len(lams), True)
    _check_kind(kind)
    problem = reduce(statistics, roots, lams)
    rho, converged = np.full(problem.n_terms, MOST), True
    if problem.n - problem.coordinates.k > 1 and problem.open.any():
        rho, converged = _best(problem, kind)
    rho = inside(problem, rho)
    ends = np.where(rho == MOST, "most", np.where(rho == LEAST, "least", ""))
    found = problem.lams(rho) if lams is None else np.where(problem.open, problem.lams(rho), lams)
    return Choice(found, tuple(np.where(problem.open, ends, "").tolist()), converged)


def _best(problem: Reduced, kind: str) -> tuple[FloatArray, bool]:
    """Where a criterion is best, and whether that is a minimum of it."""
    if kind != "gcv":
        at, converged = _minimize(_start(problem, _POINTS[kind], _BY_SHIFT.get(kind, kind)))
        return at.rho, converged
    guarded, converged = _minimize(_start(problem, GuardedGcv, kind))
    if not guarded.is_guarded:
        return guarded.rho, converged
    strict, _ = _minimize(_start(problem, StrictGcv, kind))
    local, converged = _newton(GuardedGcv(problem, strict.rho), scans=False)
    return (guarded.rho, False) if local.is_guarded or not converged else (local.rho, True)


def _most_points(problem: Reduced) -> int:
    """At how many points a search may decompose the problem."""
    q, r = problem.E.shape
    return int(np.clip(MOST_WORK / max((q + r) * q * q, 1), FEW_POINTS, MANY_POINTS))


def _minimize(at: Point) -> tuple[Point, bool]:
    """Newton's method, and again from wherever the scan of an axis finds a lower value."""
    for _ in range(MOST_ROUNDS):
        at, converged = _newton(at)
        at, moved = _sweep(at)
        if not moved:
            return at, converged
    return at, False


def _start(problem: Reduced, point: type[Point], kind: str) -> Point:
    """Best point of a scan along a common shift, then each axis; where rows are few, also from the most penalized."""
    at, _ = _sweep(point(problem, inside(problem, np.full(problem.n_terms, _common_shift(problem, kind)))))
    if problem.spare >= len(problem.E) and problem.open.all():
        return at
    other, _ = _sweep(point(problem, inside(problem, np.full(problem.n_terms, MOST))))
    return at if at.value <= other.value else other


def _common_shift(problem: Reduced, kind: str) -> float:
    """Where all penalties are best if they are the same on their axes."""
    # of the squares: good enough to start from
    mu, U = eigen(problem.E @ problem.E.T)
    gamma, n = (U.T @ problem.z)[None], np.array([float(problem.n)])
    spectrum = Spectrum.of(np.maximum(mu, 0.0)[None], gamma, problem.rest[None], n, problem.coordinates.k)
    return float(GRID[np.argmin(criterion_values(spectrum, np.exp(GRID)[None], kind)[0].sum(axis=1))])


def _sweep(at: Point, is_exact: bool = False) -> tuple[Point, bool]:
    """Each axis in turn to the best point of its grid, if that is better; of ties the most penalized end wins.

    Decomposed once, at its end, unless that is not as good as it seemed: then at every move.
    """
    scan, moved = at, 0
    for term in np.flatnonzero(at.problem.open).tolist():
        values = scan.along(term)
        best = int(values.argmin())
        least = min(float(values[best]), scan.value)
        if values[0] <= least + scan.tolerance:
            best = 0
        elif values[best] >= scan.value - scan.tolerance:
            continue
        if scan.rho[term] != GRID[best]:
            rho = scan.rho.copy()
            rho[term] = GRID[best]
            scan, moved = scan.moved(rho) if is_exact else scan.shifted(term, best), moved + 1
    if scan.is_exact:
        return scan, moved > 0
    there = at.moved(scan.rho)
    return (there, True) if there.value <= at.value + moved * at.tolerance else _sweep(at, is_exact=True)


def _newton(at: Point, scans: bool = True) -> tuple[Point, bool]:
    """Newton's method in the box; a penalty that is at an end stays there."""
    gain = np.inf
    for n_steps in range(MOST_STEPS):
        if at.made[0] >= _most_points(at.problem):
            break
        free = at.problem.open & (at.rho > LEAST) & (at.rho < MOST)
        if not free.any() or np.isinf(at.value):
            return at, True
        gradient, hessian = at.derivatives()
        step = np.zeros_like(at.rho)
        step[free] = _step(gradient[free], hessian[free][:, free])
        size, gain = float(np.abs(step).max()), -float(gradient @ step) / 2
        if size <= SMALL_STEP:
            return at.moved(at.rho + step), True
        if size > FLAT_STEP and gain < at.tolerance / 100:
            return at, True  # the scan of the axes decides
        if scans and size > FLAT_STEP and n_steps % SCAN_EVERY == SCAN_EVERY - 1:
            at, moved = _sweep(at)
            if moved:
                continue
        lower = _lower(at, step)
        if lower is None:
            break
        at = lower
    return at, gain <= at.tolerance  # short steps along a valley may go on forever


def _step(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Newton's step with the Hessian made positive definite, limited in length."""
    unit = np.sqrt(np.maximum(np.abs(hessian.diagonal()), SMALLEST_NORMAL))
    w, P = eigen(hessian / unit / unit[:, None])
    step: FloatArray = -(P @ ((P.T @ (gradient / unit)) / np.maximum(np.abs(w), _SINGULAR))) / unit
    return step * min(1.0, STEP_LIMIT / max(float(np.abs(step).max()), SMALLEST_NORMAL))


def _lower(at: Point, step: FloatArray) -> Point | None:
    """The first point on the way, halved again and again, that is not higher; None if there is none."""
    for _ in range(min(MOST_HALVINGS, _most_points(at.problem) - at.made[0])):
        there = at.moved(at.rho + step)
        if there.value <= at.value + at.tolerance / 100:
            return there
        step = step / 2
    return None
