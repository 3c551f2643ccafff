"""Generalized cross-validation and degrees of freedom along a path of penalties, from sums over all rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from ...criteria import Spectrum, criterion_values, edf
from ...linalg.precondition import Coordinates
from ...typing import FloatArray
from ..collect import FoldStatistics
from .models import PathModel, StreamedModel

__all__ = ["path_criteria"]

DEPENDENT = 1e-6
"""Part of the largest eigenvalue of the products of all columns that the least one must exceed."""


def path_criteria(
    models: Sequence[StreamedModel],
    statistics: Sequence[FoldStatistics],
    coordinates: Sequence[Coordinates],
    n_seen: float,
) -> dict[str, FloatArray] | None:
    """By "gcv" and "edf", (V + 1, Q), the last value being the constant, which has none; None if a model has none.

    ``n_seen`` rows have a weight.
    """
    if not all(isinstance(model, PathModel) for model in models[:-1]):
        return None
    gcv, degrees = list[FloatArray](), list[FloatArray]()
    for model, own, where in zip(models[:-1], statistics, coordinates, strict=False):
        assert isinstance(model, PathModel)
        spectrum, lams = _spectrum(own, where, n_seen), model.smoother.lams[:, 0][None]
        if spectrum is None:
            return None
        gcv.append(criterion_values(spectrum, lams, "gcv")[0])
        degrees.append(np.broadcast_to(edf(spectrum, lams)[0][:, None], gcv[-1].shape))
    last = np.full((1, gcv[0].shape[1]), np.nan)
    return {"gcv": np.vstack([*gcv, last]), "edf": np.vstack([*degrees, last])}


def _spectrum(statistics: FoldStatistics, coordinates: Coordinates, n_seen: float) -> Spectrum | None:
    """All rows, diagonalized for every penalty: with ``G = LL'`` and ``L^-1 P L^-T = U diag(theta) U'``.

    None if columns nearly depend on each other, so that G does not tell.
    """
    d = len(coordinates.T)
    total, free = statistics.total, d - coordinates.n_penalized
    G, of_rest = total[:d, :d], total[:d, d:]
    ends = linalg.eigvalsh(G)[[0, -1]]
    if not ends[0] > DEPENDENT * ends[1]:
        return None
    start = np.linalg.solve(coordinates.T, coordinates.pilot)  # SciPy's warns of columns of other units
    L = linalg.cholesky(G, lower=True)
    P = linalg.solve_triangular(L, coordinates.penalty, lower=True)
    theta, U = linalg.eigh(linalg.solve_triangular(L, P.T, lower=True))
    both = np.hstack([of_rest + G @ start, of_rest])
    gamma = U.T @ linalg.solve_triangular(L, both, lower=True)
    Q = of_rest.shape[1]
    rest = np.diag(total[d:, d:]) - np.square(gamma[:, Q:]).sum(axis=0)
    mu = 1.0 / np.maximum(theta[free:], np.finfo(float).tiny)  # theta ascends, and is zero for free columns
    n = np.array([float(n_seen)])
    return Spectrum.of(mu[None], gamma[None, free:, :Q], np.maximum(rest, 0.0)[None], n, free)
