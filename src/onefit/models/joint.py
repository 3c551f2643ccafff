"""Several penalties in one fit: read as they are given, put together at given strengths, or chosen jointly."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import linalg

from ..checks import check_choice, check_penalty_value
from ..criteria.multiple import JOINT_CRITERIA, Choice, choose_jointly
from ..criteria.reduced import statistics_of_rows
from ..errors import DataError, RouteError, SmoothnessWarning
from ..learners.additive import penalized_terms
from ..linalg.columns import Penalty, norms
from ..typing import FloatArray
from .fitting import PenalizedFit
from .parts import Part, SmoothPart

__all__ = [
    "check_path",
    "choice_of_rows",
    "choose_from_rows",
    "edf_by_part",
    "joint_penalty",
    "read_strengths",
    "warn_undecided",
]


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


def choose_from_rows(
    columns: FloatArray, y: FloatArray, weights: FloatArray, roots: Sequence[FloatArray], lams: FloatArray, kind: str
) -> Choice:
    """Fill in the penalties that are NaN for columns (n, p), whether or not the rows determine the fit.

    Warns if the criterion does not decide.
    """
    choice = choice_of_rows(columns, y, weights, roots, lams, kind)
    if not choice.converged:
        warn_undecided(kind, columns[weights > 0].shape)
    return choice


def choice_of_rows(
    columns: FloatArray, y: FloatArray, weights: FloatArray, roots: Sequence[FloatArray], lams: FloatArray, kind: str
) -> Choice:
    """The same without a warning.

    Of the free columns only their span matters, so an orthonormal basis of what the rows see takes their place.
    """
    used = penalized_terms(roots, lams)
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
    choice = choose_jointly(statistics, tuple(eye[a:b] for a, b in pairwise(ends)), kind, lams[used])
    filled, at_end = lams.copy(), np.full(len(lams), "", dtype=object)
    filled[used], at_end[used] = choice.lams, choice.at_end
    return Choice(filled, tuple(at_end), choice.converged)


def warn_undecided(kind: str, shape: tuple[int, ...], stacklevel: int = 4) -> None:
    """Say that a criterion has no clear minimum."""
    remedy = 'lam="reml", ' if kind == "gcv" else ""
    warnings.warn(
        f'lam="{kind}" has no clear minimum for {shape[1]} functions in {shape[0]} rows, so the fit may follow the '
        f"noise. Use {remedy}fewer terms, a smaller n_basis or more rows.",
        SmoothnessWarning,
        stacklevel=stacklevel,
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


def read_strengths(given: object, parts: Sequence[Part]) -> tuple[FloatArray, str]:
    """Penalties of all terms, NaN for those to be chosen and zero for terms without one; and the criterion."""
    smooths = [part for part in parts if isinstance(part, SmoothPart)]
    if isinstance(given, str) and given == "loo":
        raise DataError('lam="loo" cannot choose several penalties; use "gcv", which approximates it, or "reml".')
    if not isinstance(given, str | numbers.Real | list | tuple | np.ndarray):
        raise DataError(
            f'lam={given!r} must be "reml" or "gcv", a number, zero or larger, or a list with one for each smooth term.'
        )
    criterion = check_choice("lam", given, JOINT_CRITERIA) if isinstance(given, str) else "reml"
    if isinstance(given, str):
        values = [np.nan] * len(smooths)
    elif isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 1):
        values = [check_penalty_value("lam", value) for value in given]
    else:
        values = [check_penalty_value("lam", given)] * len(smooths)
    if len(values) != len(smooths):
        raise DataError(
            f"lam has {len(values)} entries, and there are {len(smooths)} smooth terms; give one number for each."
        )
    own = iter(value if part.lam is None else part.lam for part, value in zip(smooths, values, strict=True))
    lams = [next(own) if isinstance(part, SmoothPart) else 0.0 for part in parts]
    return np.array([lam if len(part.root) else 0.0 for part, lam in zip(parts, lams, strict=True)]), criterion


def edf_by_part(parts: Sequence[Part], D: FloatArray, weights: FloatArray, fit: PenalizedFit) -> list[float]:
    """Degrees of freedom of each term: sums over its columns of the diagonal of ``(X'WX + S)^-1 X'WX``."""
    if fit.root is None:
        return [np.nan] * len(parts)
    C = np.sqrt(weights)[:, None] * np.hstack([np.ones((len(D), 1)), D])
    diagonal = ((C @ fit.root @ fit.root.T) * C).sum(axis=0)[1:]
    ends = np.cumsum([part.size for part in parts])[:-1]
    return [float(own.sum()) for own in np.split(diagonal, ends)]


def _span(N: FloatArray) -> FloatArray:
    """Orthonormal basis of the span of columns, whatever their scales."""
    length = norms(N)
    U, s, _ = linalg.svd(N / np.where(length > 0, length, 1.0), full_matrices=False)
    basis: FloatArray = U[:, s > 10 * max(N.shape) * np.finfo(float).eps * s[0]]
    return basis
