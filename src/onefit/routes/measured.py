"""Tables of fold errors of any metrics, from held-out responses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ..errors import DataError
from ..folds import Folds
from ..inference.averaged import with_least_moments
from ..inference.chain import Chain
from ..inference.fold_errors import FoldErrors, HeldOut, PairErrors, RowRoles, summarize
from ..learners import Learner, Task
from ..metrics import Classes, Reduced, Repeat
from ..typing import AnyArray, FloatArray, IntArray
from ..vocabulary import PREDICTIVE
from .responses import Responses, classes_left, of_scores, repeats_of

__all__ = ["Measured", "measure", "n_figures", "n_kept", "time_scores"]

MOST_MADE_UP = 2**22
"""Numbers of made-up predictions that metrics are tried on."""

LONG = 0.1
"""Seconds from which loading does not matter."""


def n_figures(task: Task) -> int:
    """Figures of all metrics."""
    return sum(metric.n_figures(_outputs(task)) for metric in task.metrics)


def n_kept(task: Task) -> int:
    """Numbers that are kept of a row's predictions: one a column of y, its probabilities or standard deviations."""
    Q = task.problem.n_outputs
    more = {"predict_proba": _n_classes(task), PREDICTIVE: Q}
    return Q + sum(count for kind, count in more.items() if kind in task.responses)


def _outputs(task: Task) -> int:
    return task.problem.n_outputs if task.problem.classes is None else 1


def _n_classes(task: Task) -> int:
    return 0 if task.problem.classes is None else len(task.problem.classes)


@dataclass(frozen=True)
class Measured:
    """What the metrics say of a block of repeats, in the form that the rules read.

    ``pairs`` has the influence values in the place of losses, and means of a fold that differ by its changes; the other
    tables are for the metrics that are no means of row losses.
    """

    pairs: PairErrors[HeldOut]
    fold_values: FloatArray
    noise: FloatArray | None
    moments: FloatArray
    is_mean: tuple[bool, ...]

    def summarize(self, folds: Folds, rows: RowRoles, chain: Chain) -> FoldErrors:
        """The tables of fold errors."""
        errors = summarize(self.pairs, folds, rows, chain)
        shares = _shares(folds, rows)
        others = ~np.array(self.is_mean)
        if not others.any():
            return replace(errors, shares=shares)
        missing = {name: np.array(getattr(errors, name)) for name in ("e_in", "v_out", "mse", "pair_scatter")}
        for table in missing.values():
            table[..., others] = np.nan
        e_out = np.where(others, self.fold_values, errors.e_out)
        errors = with_least_moments(errors, self.moments[:, 0], self.moments[:, 1])
        return replace(errors, e_out=e_out, noise=self.noise, shares=shares, **missing)  # type: ignore[arg-type]


def _shares(folds: Folds, rows: RowRoles) -> FloatArray:
    """Weight of each fold among those that are scored, (L, K)."""
    if rows.weights is None:
        sums = folds.sizes.astype(float)
    else:
        padded = np.append(rows.weights, 0.0)
        sums = padded[folds.members].sum(axis=2)
    shares: FloatArray = sums / sums.sum(axis=1, keepdims=True)
    return shares


def measure(responses: Responses, folds: Folds, task: Task, rows: RowRoles, n_values: int) -> Measured:
    """Ask every metric about every repeat of a block; values that could not be fitted are zero."""
    _check_classes(folds, task)
    failed = {failure.value for failure in responses.failures}
    kept = [value for value in range(n_values) if value not in failed]
    L, K, n, V, R = folds.n_repeats, folds.n_folds, folds.n, n_values, n_figures(task)
    single = HeldOut(np.full((L, n, V, n_kept(task)), np.nan), np.full((L, n, V, R), np.nan), responses.failures)
    single.losses[:, :, sorted(failed)] = np.where(folds.ids < 0, np.nan, 0.0)[:, :, None, None]
    mean, scatter = np.zeros((2, L, K, K, V, R))
    fold_values, noise, moments = np.zeros((L, K, V, R)), np.zeros((L, V, V, R)), np.full((L, 2, V, R), np.nan)
    for at, repeat in enumerate(repeats_of(responses, folds, task.problem, rows.weights, kept) if kept else ()):
        _record_predictions(single.residuals[at], repeat, task, kept)
        column = 0
        for metric in task.metrics:
            found = metric.reduce(repeat)
            part = slice(column, column + found.influence.shape[-1])
            column = part.stop
            single.losses[at][:, kept, part] = found.influence
            fold_values[at][:, kept, part] = found.fold_values
            mean[at][:, :, kept, part] = _pseudo_means(found, repeat.rows, rows)
            if found.scatter is not None:
                scatter[at][:, :, kept, part] = found.scatter
            if found.noise is not None:
                noise[at][..., part][np.ix_(np.array(kept), np.array(kept))] = found.noise
            if found.moments is not None:
                moments[at][:, kept, part] = found.moments
    is_mean = tuple(metric.family == "mean" for metric in task.metrics for _ in range(metric.n_figures(_outputs(task))))
    return Measured(PairErrors(single, mean, scatter), fold_values, noise, moments, is_mean)


def time_scores(task: Task, learner: Learner, folds: Folds) -> float:
    """Seconds that the metrics take of one repeat, told by one value of made-up predictions; zero if that fails."""
    K, V, one = folds.n_folds, learner.n_values, learner.at([0])
    shape = (1, K, K, 1, int(folds.sizes.max()) * task.problem.n_outputs)
    if not task.metrics or math.prod(shape) > MOST_MADE_UP:
        return 0.0
    made_up = np.random.default_rng(0).standard_normal(shape)
    pairs = PairErrors(HeldOut(made_up, made_up, []), made_up, made_up)
    found = list[float]()
    while len(found) < 2 and sum(found) < LONG:  # a second time, as the first one loads
        begun = perf_counter()
        try:
            measure(of_scores(pairs, folds, one, task), folds, task, RowRoles(None, None), 1)
        except Exception:  # whatever it is, it will be told when it is run
            return 0.0
        found.append(perf_counter() - begun)
    return V * min(found)


def _check_classes(folds: Folds, task: Task) -> None:
    """Refuse a metric that would be infinite for rows of a class that a training set lacks."""
    classes, strict = task.problem.classes, [m for m in task.metrics if getattr(m, "needs_every_class", False)]
    if classes is None or not strict:
        return
    for repeat in range(folds.n_repeats):
        counts, left = classes_left(folds, repeat, task.problem)
        lacking = np.argwhere((left == 0) & (counts[:, None] > 0))
        if len(lacking):
            fold, other, label = lacking[0]
            held = (int(fold),) if fold == other else tuple(sorted((int(fold), int(other))))
            raise DataError(
                f"{folds.words(repeat, held)} the training set has no row of class {classes[label]}, so that "
                f"{strict[0].name}, a log loss, would be infinite: use fewer folds, stratified ones, or merge rare "
                "classes."
            )


def _pseudo_means(found: Reduced, folds: Sequence[IntArray], rows: RowRoles) -> FloatArray:
    """Mean influence of each fold, less the change by which it falls when another fold joins, (K, K, V, R)."""
    own = np.stack([rows.weigh(found.influence)[members].mean(axis=0) for members in folds])
    means: FloatArray = own[:, None] - found.change
    return means


def _record_predictions(table: FloatArray, repeat: Repeat, task: Task, kept: Sequence[int]) -> None:
    """Write what was predicted of each row with its own fold out: residuals, of codes for classes; what goes with it.

    That is probabilities, or standard deviations.
    """
    Q, classes, values = task.problem.n_outputs, task.loss.classes, np.array(kept)
    for fold, rows in enumerate(repeat.rows):
        own = {kind: parts[fold][fold] for kind, parts in repeat.responses.items()}
        at = np.ix_(rows, values)
        if classes is None:
            table[..., :Q][at] = own["residual"]
            if PREDICTIVE in own:
                table[..., Q:][at] = own[PREDICTIVE][..., 1]
            continue
        table[..., :Q][at] = task.problem.y[rows][:, None] - classes.encode(_decided(own, classes))
        if "predict_proba" in own:
            table[..., Q:][at] = own["predict_proba"]


def _decided(own: Mapping[str, AnyArray], classes: Classes) -> IntArray:
    """Numbers of the classes that are predicted, or that are most probable or best in score if that is all we know."""
    if "predict" in own:
        return own["predict"].astype(np.intp)
    if "predict_proba" in own:
        return np.asarray(own["predict_proba"].argmax(axis=-1), dtype=np.intp)
    for kind in ("decision_function", "scores"):
        if kind in own:
            return classes.decide(own[kind])
    return np.zeros(next(iter(own.values())).shape[:2], dtype=np.intp)
