"""Scores of generalized linear models inside searches, as scikit-learn computes them, for many candidates at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from ..errors import RouteError
from ..typing import AnyArray, FloatArray, IntArray
from .glm_families import Family, Gamma, Normal, Poisson, Tweedie

__all__ = ["GLMScore", "score_of_classes", "score_of_means"]

CLOSE = 1e-9
"""Candidates whose scores differ by less, relative to the best, are told apart by scikit-learn itself."""

Scores: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Of observed values (m,), responses, and weights (m,) of a sum of one: (V,).

Responses are predictions (m, V), probabilities (m, V, C) or decisions (m, V, 1)."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class GLMScore:
    """How candidates are scored.

    Attributes
    ----------
    name : str, as in scikit-learn
    of : Scores
    is_exact : bool
        Whether scores depend on decisions alone, so that scikit-learn's have the same bits.
    exact : Scores or None
        The same with the bits of scikit-learn's, if scores depend on ranks alone; it takes longer.
    is_sum : bool
        Whether scores of splits are added, as in LogisticRegressionCV, rather than averaged.
    is_weighted : bool
        Whether rows count by their weights.
    response : str
        What of a classifier it takes. Ranks are those of decisions: probabilities of one and of next to one are ties.
    """

    name: str
    of: Scores
    is_exact: bool = False
    is_sum: bool = False
    is_weighted: bool = False
    exact: Scores | None = None
    response: str = "predict_proba"

    def means(self, scores: FloatArray) -> FloatArray:
        """What candidates are compared by, (V,), from scores (splits, V)."""
        return np.asarray(scores.sum(axis=0) if self.is_sum else np.average(np.ascontiguousarray(scores.T), axis=1))

    def best(self, scores: FloatArray) -> IntArray:
        """Candidates that may be the best by scores (splits, V), in their order; none if that cannot be told."""
        if not np.isfinite(scores).all():
            return np.zeros(0, dtype=np.intp)
        means = self.means(scores)
        best = int(means.argmax())
        if self.is_exact and not self.is_weighted:
            return np.array([best])
        return np.flatnonzero(means >= means[best] - CLOSE * max(abs(float(means[best])), EPS))


def score_of_classes(name: str | None, classes: AnyArray, is_sum: bool, is_weighted: bool) -> GLMScore:
    """The score of a name for classes."""
    return replace(_of_classes(name, classes, is_sum), is_sum=is_sum, is_weighted=is_weighted)


def _of_classes(name: str | None, classes: AnyArray, is_sum: bool) -> GLMScore:
    """The same for splits that are averaged."""
    n_classes = len(classes)
    has_signs = classes.dtype.kind in "iufb" and set(classes.tolist()) <= {-1, 0, 1}
    name = "accuracy" if name is None else name
    if name == "accuracy":
        return GLMScore(name, _accuracy, is_exact=True)
    if name == "neg_log_loss":
        return GLMScore(name, _neg_log_loss)
    if n_classes == 2 and name == "roc_auc":
        return GLMScore(name, _roc_auc, exact=_its_roc_auc, response="decision_function")
    if n_classes == 2 and name == "neg_brier_score" and (has_signs or is_sum):
        return GLMScore(name, _neg_brier)
    if n_classes == 2 and name == "neg_brier_score":
        raise RouteError("scoring='neg_brier_score' is not a number for these classes unless they are 0 and 1")
    of_two = ", roc_auc, neg_brier_score" if n_classes == 2 else ""
    raise RouteError(f"scoring={name!r} is not one of accuracy, neg_log_loss{of_two}")


def score_of_means(name: str | None, family: Family, is_sum: bool, is_weighted: bool) -> GLMScore:
    """The score of a name for counts and amounts; by default the share of the deviance that is explained."""
    if name is not None and name not in OF_MEANS:
        raise RouteError(f"scoring={name!r} is not one of {', '.join(OF_MEANS)}")
    of: Scores = (lambda y, mean, w: _explained(family, y, mean, w)) if name is None else OF_MEANS[name]
    return GLMScore(name or "d2", of, is_sum=is_sum, is_weighted=is_weighted)


# ----------------------------------------------------------------------------------------------------------- of classes


def _accuracy(y: FloatArray, probabilities: FloatArray, w: FloatArray) -> FloatArray:
    """Shares of right decisions; NaN where one is so close that rounding errors may decide it."""
    two = np.partition(probabilities, -2, axis=-1)[..., -2:]
    is_close = (two[..., 1] - two[..., 0] <= CLOSE).any(axis=0)
    is_right = probabilities.argmax(axis=-1) == y[:, None]
    even = bool((w == w[0]).all())
    shares = is_right.sum(axis=0) / len(y) if even else w @ is_right
    return np.where(is_close, np.nan, shares)


def _neg_log_loss(y: FloatArray, probabilities: FloatArray, w: FloatArray) -> FloatArray:
    own = np.take_along_axis(probabilities, y.astype(np.intp)[:, None, None], axis=-1)[..., 0]
    if len(np.unique(y)) < probabilities.shape[-1]:
        return np.full(probabilities.shape[1], np.nan)  # scikit-learn says what comes of classes that are not there
    return np.asarray(w @ np.log(np.clip(own, EPS, 1.0 - EPS)))


def _neg_brier(y: FloatArray, probabilities: FloatArray, w: FloatArray) -> FloatArray:
    if len(np.unique(y)) < 2:
        return np.full(probabilities.shape[1], np.nan)
    return np.asarray(-(w @ np.square(probabilities[..., 1] - y[:, None])))


def _roc_auc(y: FloatArray, decisions: FloatArray, w: FloatArray) -> FloatArray:
    """NaN where ranks are so close that rounding errors may decide them."""
    scores = decisions[..., 0]
    gaps = np.diff(np.sort(scores, axis=0), axis=0)
    is_close = ((gaps > 0) & (gaps <= CLOSE * np.abs(scores).max(axis=0, initial=1.0))).any(axis=0)
    if len(np.unique(y)) < 2 or is_close.all():
        return np.full(scores.shape[1], np.nan)
    if not (w == w[0]).all():
        return np.where(is_close, np.nan, _its_roc_auc(y, decisions, w))
    n_first = float((y > 0).sum())
    ranks = (y > 0) @ stats.rankdata(scores, axis=0)
    area = (ranks - n_first * (n_first + 1) / 2) / (n_first * (len(y) - n_first))
    return np.where(is_close, np.nan, area)


def _its_roc_auc(y: FloatArray, decisions: FloatArray, w: FloatArray) -> FloatArray:
    """By scikit-learn itself."""
    weights = None if (w == w[0]).all() else w
    return np.array([roc_auc_score(y, each, sample_weight=weights) for each in decisions[..., 0].T])


# ------------------------------------------------------------------------------------------------------------- of means


def _mean_deviance(family: Family, y: FloatArray, mean: FloatArray, w: FloatArray) -> FloatArray:
    """Twice the losses but for a constant, (V,)."""
    eta = mean if isinstance(family, Normal) else np.log(mean)
    return np.asarray([2.0 * w @ family.loss(each[None], y[None]) for each in eta.T])


def _least_deviance(family: Family, y: FloatArray, w: FloatArray) -> float:
    """The same of means that are y themselves, without the logarithm of zero."""
    if isinstance(family, Poisson):
        return float(2.0 * w @ (y - special.xlogy(y, y)))
    if isinstance(family, Gamma):
        return float(2.0 * w @ (1.0 + np.log(y)))
    if isinstance(family, Tweedie):
        power = family.power
        return float(2.0 * w @ (y ** (2.0 - power) * (1.0 / (2.0 - power) - 1.0 / (1.0 - power))))
    return 0.0


def _explained(family: Family, y: FloatArray, mean: FloatArray, w: FloatArray) -> FloatArray:
    """One less the deviance over that of the mean."""
    least = _least_deviance(family, y, w)
    centre = float(w @ y)
    if not isinstance(family, Normal) and centre <= 0:
        return np.full(mean.shape[1], np.nan)
    total = _mean_deviance(family, y, np.full((len(y), 1), centre), w)[0] - least
    if not total > 0:
        return np.full(mean.shape[1], np.nan)
    return np.asarray(1.0 - (_mean_deviance(family, y, mean, w) - least) / total)


def _r2(y: FloatArray, mean: FloatArray, w: FloatArray) -> FloatArray:
    if len(y) < 2:
        return np.full(mean.shape[1], np.nan)
    return _explained(Normal(), y, mean, w)


def _of_family(family: Family) -> Scores:
    def score(y: FloatArray, mean: FloatArray, w: FloatArray) -> FloatArray:
        if family.fault(y).any():
            return np.full(mean.shape[1], np.nan)
        return _least_deviance(family, y, w) - _mean_deviance(family, y, mean, w)

    return score


OF_MEANS: dict[str, Scores] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda y, mean, w: -(w @ np.square(y[:, None] - mean)),
    "neg_root_mean_squared_error": lambda y, mean, w: -np.sqrt(w @ np.square(y[:, None] - mean)),
    "neg_mean_absolute_error": lambda y, mean, w: -(w @ np.abs(y[:, None] - mean)),
    "neg_mean_poisson_deviance": _of_family(Poisson()),
    "neg_mean_gamma_deviance": _of_family(Gamma()),
}
