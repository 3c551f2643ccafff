"""The criteria that users know, of a smoother's path on all rows."""

from __future__ import annotations

import numpy as np

from ..criteria import criterion_values, edf, spectrum_of_rows
from ..typing import FloatArray
from ..vocabulary import CRITERIA
from .smoother import KernelSmoother, Smoother, SparseSmoother

__all__ = ["smoother_scores"]

MOST_DENSE_BYTES = 2**28
"""A sparse design up to this size is made dense for its scores; beyond it they are NaN."""


def smoother_scores(smoother: Smoother, y: FloatArray) -> dict[str, FloatArray]:
    """Scores "gcv", "loo" and "reml" and the degrees of freedom "edf", each (V, Q), from one decomposition.

    Infinite where a criterion is not defined at a value (GCV near interpolation, REML without a penalty); NaN
    where it has no meaning at all: REML of a kernel, whose features have no unit.
    """
    V, Q = smoother.n_values, y.shape[1]
    scores = {name: np.full((V, Q), np.nan) for name in (*CRITERIA, "edf")}
    if isinstance(smoother, SparseSmoother) and 8 * smoother.n * smoother.width > MOST_DENSE_BYTES:
        return scores
    rows = smoother.heavy
    root = smoother.root_weights(rows)
    columns = smoother.take(rows).weighted(root).narrow()
    weighted = root[:, None] * smoother.centre(y)[rows]
    smallest = float(smoother.lams.min())
    fit = spectrum_of_rows(columns, weighted, root, smoother.n, smallest)
    for outputs, lams in smoother.outputs(Q):
        scores["edf"][:, outputs] = edf(fit.spectrum, lams[None])[0][:, None]
        for name in CRITERIA:
            if name != "reml" or not isinstance(smoother, KernelSmoother):
                scores[name][:, outputs] = criterion_values(fit.spectrum, lams[None], name)[0][:, outputs]
    return scores
