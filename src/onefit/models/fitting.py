"""One penalized fit from a design, a penalty and a way to choose its strength: what the models share."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..checks import check_choice, check_penalty_value
from ..criteria import Spectrum, criterion_values, edf, search, search_range, spectrum_of_rows
from ..errors import DataError, RankWarning
from ..linalg.columns import Columns, Penalty, columns_of, norms, span_beyond_digits
from ..linalg.stacked import fit_stacked
from ..typing import FloatArray
from ..vocabulary import CRITERIA

__all__ = ["Design", "PenalizedFit", "check_lam", "fit_design", "unit_of"]

ORDINARY = (1e-30, 1e30)
"""Largest weights of data that anybody would call ordinary: they are taken as they are."""

MOST_COVARIANCE_COLUMNS = 2000
"""The covariance of more coefficients than this is not computed."""


@dataclass(frozen=True)
class Design:
    """Columns of a model's design, the penalty on their coefficients, and whether there is a constant beside them."""

    X: FloatArray
    penalty: Penalty
    fit_intercept: bool = True


@dataclass(frozen=True)
class PenalizedFit:
    """A fit and what is known of it.

    Attributes
    ----------
    coef : (p, Q)
    intercept : (Q,)
    lam, edf : float
    lam_range : (float, float)
        The penalties between which a criterion would have searched.
    scores : dict of (Q,)
    scale : (Q,)
        ``RSS / (n - edf)``, the variance of the noise; NaN if no degrees of freedom are left for it.
    root : (1 + p, d) or None
        ``root root'`` times the scale is the covariance of intercept (if there is one) and coefficients, in the
        Bayesian sense of Wahba and Silverman; None for too many columns.
    """

    coef: FloatArray
    intercept: FloatArray
    lam: float
    edf: float
    lam_range: tuple[float, float]
    scores: dict[str, FloatArray]
    scale: FloatArray
    root: FloatArray | None

    def in_units(self, unit: float) -> PenalizedFit:
        """The same fit to weights that are ``unit`` times as large, and a penalty with them."""
        squares = {name: values if name == "reml" else values * unit for name, values in self.scores.items()}
        return replace(
            self,
            lam=self.lam * unit,
            lam_range=(self.lam_range[0] * unit, self.lam_range[1] * unit),
            scores=squares,
            scale=self.scale * unit,
            root=None if self.root is None else self.root / np.sqrt(unit),
        )


def unit_of(weights: FloatArray) -> float:
    """A power of two by which weights are divided if they are so large or small that their squares are no numbers."""
    largest = float(weights.max())
    return 1.0 if ORDINARY[0] < largest < ORDINARY[1] else float(2.0 ** np.floor(np.log2(largest)))


def fit_design(
    design: Design, y: FloatArray, weights: FloatArray, lam: float | str, *, minimum_norm: bool = False
) -> PenalizedFit:
    """Fit ``y`` (n, Q); ``lam`` is a number or a criterion.

    ``minimum_norm`` takes the smallest free coefficients where the rows do not determine them, with a warning;
    else they raise a TrainingSetError.
    """
    lam = check_lam(lam)
    if (unit := unit_of(weights)) != 1.0:
        own = lam if isinstance(lam, str) else lam / unit
        return fit_design(design, y, weights / unit, own, minimum_norm=minimum_norm).in_units(unit)
    counted = np.flatnonzero(weights > 0)
    root = np.sqrt(weights[counted])
    design = replace(design, X=design.X[counted])  # the others may be anywhere
    _refuse_span(design, lam)
    columns = columns_of(design.X, design.penalty, design.fit_intercept).weighted(root)
    shift = y[counted].mean(axis=0) if design.fit_intercept else np.zeros(y.shape[1])
    weighted = root[:, None] * (y[counted] - shift)
    to_free = np.eye(columns.N.shape[1])
    if not isinstance(lam, str) and lam == 0 and minimum_norm and columns.at(0.0).dependent():
        return replace(fit_design(_unpenalized(design), y[counted], weights[counted], 1.0, minimum_norm=True), lam=0.0)
    if minimum_norm and columns.dependent():
        to_free = _seen(columns, root, int(design.fit_intercept))
        columns = replace(columns, N=columns.N @ to_free, N_size=np.abs(columns.N_size @ np.abs(to_free)))
    spectrum = spectrum_of_rows(columns.narrow(), weighted, root, len(y)).spectrum
    chosen = _choose(spectrum, lam)
    a, b = fit_stacked(columns, weighted, chosen)
    left = float(len(counted) - edf(spectrum, np.array([[chosen]]))[0, 0])
    rss = np.square(weighted - columns.E @ a - columns.N @ b).sum(axis=0)
    first = int(design.fit_intercept)
    free = to_free @ b
    maps = columns.maps or design.penalty
    coef = maps.coefficients(a, free[first:])
    intercept = shift if columns.centre is None else free[0] + shift - columns.centre @ coef
    return PenalizedFit(
        coef=coef,
        intercept=intercept,
        lam=chosen,
        edf=float(len(counted) - left),
        lam_range=search_range(spectrum),
        scores={name: criterion_values(spectrum, np.array([[chosen]]), name)[0, 0] for name in CRITERIA},
        scale=rss / left if left > 1e-8 * len(counted) else np.full(len(rss), np.nan),
        root=_covariance_root(columns, chosen, replace(design, penalty=maps), to_free),
    )


def _refuse_span(design: Design, lam: float | str) -> None:
    """Refuse columns of such different sizes that a fit would have no digits left."""
    mixes = design.penalty.penalized is not None
    if span := span_beyond_digits(norms(design.X), mixes, 0.0 if isinstance(lam, str) else lam):
        raise DataError(
            f"The sizes of the columns span a ratio of {span:.1g}, beyond all digits of a fit; scale the columns."
        )


def _unpenalized(design: Design) -> Design:
    """The same design with every coefficient free."""
    p = design.X.shape[1]
    return Design(design.X, Penalty(np.zeros((p, 0)), np.eye(p)), design.fit_intercept)


def check_lam(lam: object) -> float | str:
    """A penalty or a criterion."""
    if isinstance(lam, str):
        return check_choice("lam", lam, CRITERIA)
    if not isinstance(lam, numbers.Real | np.ndarray):
        raise DataError(f"lam={lam!r} must be a number, zero or larger, or one of {', '.join(map(repr, CRITERIA))}.")
    return check_penalty_value("lam", lam)


def _choose(spectrum: Spectrum, lam: float | str) -> float:
    return float(search(spectrum, lam)[0]) if isinstance(lam, str) else lam


def _seen(columns: Columns, root: FloatArray, first: int) -> FloatArray:
    """Directions (k, k') of the free coefficients that the rows see, the intercept among them."""
    N = columns.N[:, first:] / root[:, None]
    if first:
        N = N - (np.square(root) @ N) / np.square(root).sum()
    spread = np.ptp(N, axis=0)
    scaled = N / np.where(spread > 0, spread, 1.0)
    _, s, Vt = linalg.svd(scaled, full_matrices=False)
    rank = int((s > 10 * max(N.shape) * np.finfo(float).eps * s[0]).sum())
    warnings.warn(
        f"The rows do not determine {N.shape[1] - rank} of the {N.shape[1]} unpenalized directions of this model, such "
        "as the straight lines in its terms; of all fits that are equally good the smallest is taken. Use fewer "
        "columns or more rows.",
        RankWarning,
        stacklevel=4,
    )
    inner = Vt[:rank].T / np.where(spread > 0, spread, 1.0)[:, None]
    return np.asarray(linalg.block_diag(np.eye(first), inner))


def _covariance_root(columns: Columns, lam: float, design: Design, to_free: FloatArray) -> FloatArray | None:
    """Root of the inverse of the penalized Gram matrix, in coefficients."""
    (n, r), k = columns.E.shape, columns.N.shape[1]
    if r + k > MOST_COVARIANCE_COLUMNS:
        return None
    stacked = np.zeros((n + r, r + k))
    stacked[:n, :r], stacked[:n, r:] = columns.E, columns.N
    stacked[n + np.arange(r), np.arange(r)] = np.sqrt(lam)
    R = linalg.qr(stacked, mode="r")[0][: r + k]
    diagonal = np.abs(np.diag(R))
    to_coef = _to_coefficients(design, columns.centre, to_free)
    if len(diagonal) < r + k or (diagonal <= np.finfo(float).eps * diagonal.max(initial=0.0)).any():
        return np.full((len(to_coef), r + k), np.inf)
    root: FloatArray = linalg.solve_triangular(R, to_coef.T, trans="T").T
    return root


def _to_coefficients(design: Design, centre: FloatArray | None, to_free: FloatArray) -> FloatArray:
    """Map from penalized and free coordinates to intercept and coefficients; ``centre`` was taken off the columns."""
    penalty, p, first = design.penalty, design.X.shape[1], int(design.fit_intercept)
    penalized = np.eye(p) if penalty.penalized is None else penalty.penalized
    r, k = penalized.shape[1], penalty.free.shape[1]
    T = np.zeros((first + p, r + first + k))
    T[first:, :r], T[first:, r + first :] = penalized, penalty.free
    if centre is not None:
        T[0] = -centre @ T[1:]
        T[0, r] = 1.0
    to_coef: FloatArray = T @ linalg.block_diag(np.eye(r), to_free)
    return to_coef
