"""Several penalties that are chosen jointly and anew in every training set, from its triangular factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ..criteria.coordinates import coordinates_of
from ..criteria.multiple import choose_jointly
from ..criteria.reduced import Statistics, coefficients_at
from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .smoother import Smoother
from .statistics import Coefficients, SmoothedLearner, TrainingStatistics

__all__ = ["AdditiveLearner", "penalized_terms"]

SEARCH_SECONDS = {"reml": 1.2e-3, "gcv": 1.7e-3}
"""Of the iterations for one training set, each of which is many small steps whatever the number of columns, as
`python -m benchmarks --plan-models` has them."""


def penalized_terms(roots: Sequence[FloatArray], lams: FloatArray) -> IntArray:
    """Places of the terms that have a penalty, or will have one where ``lams`` is NaN."""
    return np.array([t for t, root in enumerate(roots) if len(root) and lams[t] != 0], dtype=np.intp)


class AdditiveLearner(SmoothedLearner):
    """A model with several penalties that are chosen anew in every training set, from its statistics.

    Parameters
    ----------
    smoother : Smoother
        The model on all rows, for its scores and weights.
    columns : array (n, p)
        The columns of all terms.
    roots : list of (r_t, p_t)
        Root of the penalty on the columns of each term, one after the other.
    lams : array (T,)
        Penalties; NaN for those to be chosen, zero for terms without one.
    kind : {"reml", "gcv"}
    hint : str, default=""
        What may be wrong if a training set does not determine the fit.
    """

    reason = "the penalties are chosen jointly in every training set, from its triangular factor"
    n_values = 1

    def __init__(
        self,
        smoother: Smoother,
        columns: FloatArray,
        roots: Sequence[FloatArray],
        lams: FloatArray,
        kind: str,
        hint: str = "",
    ) -> None:
        super().__init__(smoother, columns, smoother.mean_of(columns))
        self.kind, self._hint, self.search_seconds = kind, hint, SEARCH_SECONDS[kind]
        used, d = penalized_terms(roots, lams), self.n_columns
        ends = np.cumsum([1, *(root.shape[1] for root in roots)])
        wide = [np.zeros((len(roots[t]), d)) for t in used]
        for t, root in zip(used, wide, strict=True):
            root[:, ends[t] : ends[t + 1]] = roots[t]
        # measured against an eigendecomposition of this size: about 1200/d and at least 10
        self.steps = max(10, 1200 // d)
        self.lams, self._coordinates = lams[used], coordinates_of(tuple(wide), d)

    def at(self, values: Sequence[int]) -> Self:
        """Itself: there is one value."""
        return self

    def fit(self, statistics: TrainingStatistics) -> Coefficients:
        """Coefficients (B, 1, 1 + p, Q) of the constant and the columns."""
        B, _, d = statistics.R.shape
        found = np.zeros((B, 1, d, statistics.z.shape[2]))
        for b in range(B):
            one = Statistics(statistics.R[b], statistics.z[b], statistics.rest[b], int(statistics.n[b]))
            found[b, 0] = self._fit(one)
        return Coefficients(found)

    def _fit(self, statistics: Statistics) -> FloatArray:
        """Coefficients (1 + p, Q) of one training set."""
        try:
            lams = choose_jointly(statistics, self._coordinates, self.kind, self.lams).lams
            return coefficients_at(statistics, self._coordinates, lams)
        except TrainingSetError as error:
            raise TrainingSetError(f"{error} {self._hint}".strip()) from error
