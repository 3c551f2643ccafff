"""Several penalties in one fit: put together at given strengths, or chosen jointly, also in every training set."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from scipy import linalg

from ..criteria.multiple import Choice, choose_jointly
from ..criteria.reduced import Roots, Statistics, coefficients_at, coordinates_of, statistics_of_rows
from ..errors import DataError, RouteError, SmoothnessWarning, TrainingSetError
from ..learners import Coefficients, SmoothedLearner, Smoother, TrainingStatistics
from ..linalg.columns import Penalty, norms
from ..typing import FloatArray, IntArray
from .terms import Part, SmoothPart

__all__ = ["AdditiveLearner", "check_path", "choose_from_rows", "joint_penalty"]


def joint_penalty(roots: Sequence[FloatArray], lams: FloatArray) -> Penalty:
    """``sum_t lam_t S_t`` with ``S_t = root_t'root_t``, each on columns of its own, side by side.

    Each root is decomposed by itself: however different the strengths are, no term drowns in the errors of another.
    """
    maps = [Penalty.of_root(root) for root in roots]
    penalized, free = [], []
    for lam, each in zip(lams, maps, strict=True):
        assert each.penalized is not None
        if lam > 0:
            penalized.append(each.penalized / np.sqrt(lam))
            free.append(each.free)
        else:
            penalized.append(each.penalized[:, :0])
            free.append(np.hstack([each.penalized, each.free]))
    return Penalty(linalg.block_diag(*penalized), linalg.block_diag(*free))


def _penalized(roots: Sequence[FloatArray], lams: FloatArray) -> IntArray:
    """Places of the terms that have a penalty, or will have one where ``lams`` is NaN."""
    return np.array([t for t, root in enumerate(roots) if len(root) and lams[t] != 0], dtype=np.intp)


def _choose(statistics: Statistics, roots: Roots, lams: FloatArray, kind: str) -> Choice:
    """Fill in the penalties that are NaN."""
    if not np.isnan(lams).any():
        return Choice(lams, ("",) * len(lams), True)
    return choose_jointly(statistics, roots, kind, lams)


def choose_from_rows(
    columns: FloatArray, y: FloatArray, weights: FloatArray, roots: Sequence[FloatArray], lams: FloatArray, kind: str
) -> Choice:
    """Fill in the penalties that are NaN for columns (n, p), whether or not the rows determine the fit.

    Of the free columns only their span matters, so an orthonormal basis of what the rows see takes their place. Warns
    if the criterion does not decide.
    """
    used = _penalized(roots, lams)
    maps = [Penalty.of_root(roots[t] if t in used else roots[t][:0]) for t in range(len(roots))]
    seen = weights > 0
    root, mass = np.sqrt(weights[seen])[:, None], weights[seen]
    columns = columns[seen] - np.average(columns[seen], axis=0, weights=mass)
    free = columns @ linalg.block_diag(*(each.free for each in maps))
    span = _span(root * np.hstack([np.ones((len(columns), 1)), free]))
    penalized = [each.penalized for each in maps if each.penalized is not None]
    E = root * (columns @ linalg.block_diag(*penalized))
    ends = np.cumsum([span.shape[1], *(penalized[t].shape[1] for t in used)])
    eye = np.eye(ends[-1])
    centred = root * (y[seen] - np.average(y[seen], axis=0, weights=mass))
    statistics = statistics_of_rows(np.hstack([span, E]), centred)
    choice = _choose(statistics, tuple(eye[a:b] for a, b in pairwise(ends)), lams[used], kind)
    if not choice.converged:
        _warn_undecided(kind, columns.shape)
    filled, at_end = lams.copy(), np.full(len(lams), "", dtype=object)
    filled[used], at_end[used] = choice.lams, choice.at_end
    return Choice(filled, tuple(at_end), choice.converged)


def _warn_undecided(kind: str, shape: tuple[int, ...]) -> None:
    remedy = 'lam="reml", ' if kind == "gcv" else ""
    warnings.warn(
        f'lam="{kind}" has no clear minimum for {shape[1]} functions in {shape[0]} rows, so the fit may follow the '
        f"noise. Use {remedy}fewer terms, a smaller n_basis or more rows.",
        SmoothnessWarning,
        stacklevel=4,
    )


def check_path(parts: Sequence[Part]) -> None:
    """Refuse a path of penalties that moves no smooth term; one that moves some of them needs refits."""
    own = [part.lam is not None for part in parts if isinstance(part, SmoothPart)]
    if all(own):
        raise DataError(
            "lam changes nothing here: no smooth term takes the lam of the model. Leave lam out of smooth(...), or let "
            "the curve run over another parameter."
        )
    if any(own):
        raise RouteError(
            "a smooth term has a lam of its own, which does not move along the path; for a fast route leave it out of "
            "smooth(...)"
        )


def _span(N: FloatArray) -> FloatArray:
    """Orthonormal basis of the span of columns, whatever their scales."""
    length = norms(N)
    U, s, _ = linalg.svd(N / np.where(length > 0, length, 1.0), full_matrices=False)
    basis: FloatArray = U[:, s > 10 * max(N.shape) * np.finfo(float).eps * s[0]]
    return basis


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
        super().__init__(smoother)
        self.kind, self._hint = kind, hint
        self.X = np.hstack([np.ones((len(columns), 1)), columns - columns[smoother.fitted_rows].mean(axis=0)])
        used, d = _penalized(roots, lams), self.X.shape[1]
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
            lams = _choose(statistics, self._coordinates, self.lams, self.kind).lams
            return coefficients_at(statistics, self._coordinates, lams)
        except TrainingSetError as error:
            raise TrainingSetError(f"{error} {self._hint}".strip()) from error
