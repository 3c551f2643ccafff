"""The refit route: the estimator itself on every training set, through joblib."""

from __future__ import annotations

import inspect
import math
import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from ..dropfolds import DropFolds
from ..errors import RefitError
from ..folds import Folds, FoldSource
from ..inference.fold_errors import Failure, HeldOut, PairErrors, empty_pairs, moments
from ..learners import Learner, RefitLearner, Refusal, Task
from ..learners.refitted import fit_parameters
from ..learners.transformed import without_trace
from ..typing import AnyArray, Estimator, FloatArray, IntArray
from .contract import Engine, FoldPlan, Offer, Remark, Workers, ignore
from .fitting import Answer, FitData, RowSet, predictions_or_error, rows_of
from .manysolutions import looks_at, of_refits
from .placing import Future, placed, watched
from .questions import Questions
from .repeats import RepeatedRoute
from .responses import Responses
from .sparsecosts import offer_refits

__all__ = ["RefitEngine", "RefitRoute", "time_one_fit"]

MOST_TASKS = 256
"""Fits between two reports of progress, if the backend cannot hand over results as they come."""


FIRST_TIMED, LONGEST_TIMED = 1000, 2.0
"""Rows of the first fit that is timed, and seconds up to which all rows are fitted to know better."""

T = TypeVar("T")

Call: TypeAlias = tuple[Callable[..., Answer], tuple[object, ...], dict[str, object]]
"""A call that joblib makes."""


class RefitRoute(RepeatedRoute):
    """Every estimator with ``fit`` and ``predict``: what all other routes are tested against."""

    name = "refit"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """Whatever the estimator takes, which nobody knows but of sparse designs: else any other offer is better."""
        (learner,) = learners
        if not isinstance(learner, RefitLearner):
            return Refusal("it is for estimators themselves")
        if plan.is_trial:
            return Refusal("a refit without every two rows would take too long")
        return offer_refits(learner, task, plan) or Offer(math.inf, str(learner.refusal))

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Look at the estimators."""
        assert isinstance(learner, RefitLearner)
        return RefitEngine(task, learner.estimators, workers.n_jobs)


class RefitEngine(Engine):
    """Fits the estimators themselves.

    The backend is joblib's: ``joblib.parallel_config`` chooses threads, processes or a cluster. One estimator
    a parameter value; K(K+1)/2 training sets a repeat. ``tick`` counts fits. A value that fails is fitted to the end of
    the repeat, and then no more.
    """

    is_refitted = True
    units = "fits"

    def __init__(self, task: Task, estimators: Sequence[Estimator], n_jobs: int | None = None) -> None:
        problem = task.problem
        self.problem, self.estimators, self.loss = problem, list(estimators), task.loss.of_predictions()
        self.n_jobs, self.tick = n_jobs, ignore
        self._failed, self._errors = set[int](), dict[int, RefitError]()
        self._questions = Questions.of_task(task)
        self.n_values = len(self.estimators)
        self._weights = problem.relative_weights
        self._kept: Parallel | None = None
        self._ahead: Iterator[Answer] | None = None
        self._n_ahead = 0
        # fails if one cannot be weighted at all
        parameters = [fit_parameters(estimator, problem.weights, problem.groups) for estimator in self.estimators]
        self.data = FitData(task.source, problem.target, parameters)
        self._placed: FitData | Future = self.data

    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """Number of fits."""
        return self.n_values * n_repeats * (n_folds * (n_folds + 1) // 2 if with_pairs else n_folds)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep the workers from one call to the next: then blocks can be small."""
        with watched(), _workers(self.n_jobs) as self._kept:
            self._placed = placed(self.data)
            try:
                yield
            finally:
                self._end_ahead()
                self._kept, self._placed = None, self.data

    def look_ahead(self, source: FoldSource, start: int, goal: int) -> None:
        """Begin with the pairs of these repeats, which `pairs` is then asked for one by one.

        So the workers need not wait for each other at the end of every repeat.
        """
        self._end_ahead()
        if self._kept is not None and self._kept.return_generator:
            repeats = (source.block(repeat, repeat + 1) for repeat in range(start, goal))
            tasks = ((folds, task) for folds in repeats for task in self._tasks(folds, _with_pairs(folds.n_folds)))
            self._ahead = self._kept(self._fit(folds, *task) for folds, task in tasks)
            self._n_ahead = self.n_units(source.n_folds, goal - start, with_pairs=True)

    def _end_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        _end(ahead or ())

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        Q = self.problem.n_outputs
        single = HeldOut.empty(folds, self.n_values, Q, self.loss.n_losses(Q))
        out = [(j,) for j in range(folds.n_folds)]
        self._end_ahead()  # that was for pairs
        for repeat, held, value, (residuals,) in self._residual_parts(folds, out, single.failures):
            self._record(single, folds, repeat, held[0], value, residuals)
        return single

    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """The same, and the losses of each fold with it and another out."""
        Q, K = self.problem.n_outputs, folds.n_folds
        pairs = empty_pairs(folds, self.n_values, Q, self.loss.n_losses(Q))
        for repeat, held, value, parts in self._residual_parts(folds, _with_pairs(K), pairs.single.failures):
            if len(held) == 1:
                self._record(pairs.single, folds, repeat, held[0], value, parts[0])
            for fold, other, residuals in zip(held, reversed(held), parts, strict=True):
                rows = np.flatnonzero(folds.ids[repeat] == fold)
                losses = self.loss.of(self.problem.y[rows], residuals)
                if self._weights is not None:
                    losses = losses * self._weights[rows, None]
                result = moments(losses, np.ones((len(rows), 1), dtype=bool))
                pairs.mean[repeat, fold, other, value], pairs.scatter[repeat, fold, other, value] = result
        return pairs

    def _record(self, single: HeldOut, folds: Folds, repeat: int, fold: int, value: int, residuals: FloatArray) -> None:
        rows = np.flatnonzero(folds.ids[repeat] == fold)
        y = self.problem.y[rows]
        single.residuals[repeat, rows, value] = y + residuals if self.loss.is_of_predictions else residuals
        single.losses[repeat, rows, value] = self.loss.of(y, residuals)

    def _tasks(self, folds: Folds, out: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...], int]]:
        return [(r, held, v) for r in range(folds.n_repeats) for held in out for v in range(self.n_values)]

    def responses(self, folds: Folds, learner: Learner, task: Task) -> Responses:
        """What the estimators say to every fold with it, and with it and another, out."""
        K, found = folds.n_folds, Responses([{} for _ in range(folds.n_repeats)])
        # what failed before is not fitted again, and has no scores in these repeats either
        found.failures += [Failure(folds.first, (), value, self._errors[value]) for value in sorted(self._failed)]
        has_pairs = not isinstance(folds, DropFolds) or folds.has_pairs
        out = _with_pairs(K) if has_pairs else [(fold,) for fold in range(K)]
        for repeat, held, value, parts in self._run(folds, out, found.failures, self._read):
            for fold, other, part in zip(held, reversed(held), parts or (), strict=parts is not None):
                for kind, answer in part.items():
                    tables = found.tables[repeat]
                    if kind not in tables:
                        tables[kind] = self._empty_responses(folds, repeat, answer)
                    tables[kind][fold][other if has_pairs else slice(None), :, value] = answer
        return found

    def _empty_responses(self, folds: Folds, repeat: int, like: AnyArray) -> list[AnyArray]:
        """Tables (K, m_j, V, ...) to be filled with answers like this one, a fold each."""
        sizes = folds.sizes[repeat]
        return [np.zeros((folds.n_folds, size, self.n_values, *like.shape[1:]), dtype=like.dtype) for size in sizes]

    def _read(self, rows: IntArray, answer: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Answers of a fit as metrics take them: residuals for numbers, numbers of classes for classes."""
        read = {kind: part for kind, part in answer.items() if kind != "predict"}
        if "predict" in answer and self.loss.classes is None:
            read["residual"] = self._residuals(rows, answer["predict"])
        elif "predict" in answer:
            read["predict"] = self._class_numbers(answer["predict"])
        return read

    def _residual_parts(
        self, folds: Folds, out: Sequence[tuple[int, ...]], failures: list[Failure]
    ) -> Iterator[tuple[int, tuple[int, ...], int, list[FloatArray]]]:
        """Held-out residuals of every training set, zero where a value has failed."""
        found = self._run(folds, out, failures, lambda rows, answer: self._residuals(rows, answer["predict"]))
        for repeat, held, value, parts in found:
            if parts is None:
                parts = [self.problem.y[folds.ids[repeat] == fold] * -self.loss.is_of_predictions for fold in held]
            yield repeat, held, value, parts

    def _run(
        self,
        folds: Folds,
        out: Sequence[tuple[int, ...]],
        failures: list[Failure],
        read: Callable[[IntArray, Mapping[str, AnyArray]], T],
    ) -> Iterator[tuple[int, tuple[int, ...], int, list[T] | None]]:
        """What is read of every training set's answers, as they come: (repeat, folds out, value, that of each fold).

        Where a value has failed it is None, from then on whatever the fits say: so it does not matter which of them
        were under way.
        """
        tasks, failed = self._tasks(folds, out), set(self._failed)
        with closing(self._predictions(folds, tasks)) as answers:
            for (repeat, held, value), parts in zip(tasks, answers, strict=True):
                self.tick(1)
                tests, found = [np.flatnonzero(folds.ids[repeat] == fold) for fold in held], None
                if value not in failed:
                    try:
                        found = [read(*each) for each in zip(tests, _unless_error(parts), strict=True)]
                    except RefitError as error:
                        failed.add(value)
                        if len(failed) == self.n_values:
                            raise  # no value is left
                        self._errors[value] = error
                        failures.append(Failure(folds.first + repeat, held, value, error))
                yield repeat, held, value, found
        self._failed = failed

    def _predictions(
        self, folds: Folds, tasks: Sequence[tuple[int, tuple[int, ...], int]]
    ) -> Generator[Answer, None, None]:
        """What the fits predict, in the order of the tasks; to be closed, which ends fits that are under way."""
        if self._ahead is not None:
            yield from islice(self._ahead, len(tasks))
            self._n_ahead -= len(tasks)
            if self._n_ahead == 0:
                next(self._ahead, None)  # lets joblib finish; to close it instead would end the workers
            return
        with nullcontext(self._kept) if self._kept is not None else _workers(self.n_jobs) as parallel:
            step = len(tasks) if parallel.return_generator else MOST_TASKS
            for start in range(0, len(tasks), step):
                results = parallel(self._fit(folds, *task) for task in tasks[start : start + step])
                try:
                    yield from islice(results, None)  # which nobody closes but `_end`: joblib would tell of it
                finally:
                    _end(results)

    def _fit(self, folds: Folds, repeat: int, held: tuple[int, ...], value: int, data: FitData | None = None) -> Call:
        """One fit, for joblib, to these data or where they are placed; nothing for a value that has failed."""
        if value in self._failed:
            nothing: Call = delayed(list)()
            return nothing
        fit: Call = delayed(predictions_or_error)(
            self.n_values == 1,
            os.getpid(),
            self.estimators[value],
            value,
            self._placed if data is None else data,
            RowSet.of(folds.training_rows(repeat, *held), folds.n),
            [RowSet.of(np.flatnonzero(folds.ids[repeat] == fold), folds.n) for fold in held],
            self._questions,
            f"repeat {folds.first + repeat} with fold(s) {', '.join(map(str, held))} held out",
        )
        return fit

    def residuals(self, folds: Folds, repeat: int, held: tuple[int, ...]) -> list[FloatArray]:
        """Residuals (rows, Q) of the folds that one training set leaves out, from a fit here and now."""
        fit, arguments, _ = self._fit(folds, repeat, held, 0, self.data)
        tests = [np.flatnonzero(folds.ids[repeat] == fold) for fold in held]
        answers = [answer["predict"] for answer in _unless_error(fit(*arguments))]
        start = self.problem.y if self.loss.is_of_predictions else np.zeros_like(self.problem.y)
        return [start[rows] + self._residuals(rows, answer) for rows, answer in zip(tests, answers, strict=True)]

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """Whether solutions of a lasso differ, in a training set or two."""
        return of_refits(self.estimators, self.data, *looks_at(first, self.n_values))

    def _residuals(self, rows: IntArray, predictions: AnyArray) -> FloatArray:
        """Residuals (rows, Q), of the codes if the predictions are classes."""
        y, classes = self.problem.y[rows], self.loss.classes
        if classes is None:
            values = np.asarray(predictions, dtype=np.float64).reshape(y.shape)
        else:
            values = classes.encode(self._class_numbers(predictions))
        return -values if self.loss.is_of_predictions else y - values

    def _class_numbers(self, predictions: AnyArray) -> IntArray:
        """Numbers of the classes that are predicted."""
        assert self.loss.classes is not None
        labels = self.loss.classes.labels
        index = np.searchsorted(labels, predictions)
        if not np.array_equal(labels[np.minimum(index, len(labels) - 1)], predictions):
            raise RefitError("The classifier predicts a class that is not in y.")
        return index


def _workers(n_jobs: int | None) -> Parallel:
    """Workers that hand over results as they come, if the backend can do that."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)


def _end(results: Iterable[Answer]) -> None:
    """Stop the fits whose results nobody wants any more."""
    if isinstance(results, Generator) and inspect.getgeneratorstate(results) != inspect.GEN_CLOSED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib tells how many tasks were cancelled
            results.close()


def _with_pairs(K: int) -> list[tuple[int, ...]]:
    """Folds that are out, of all K(K+1)/2 training sets."""
    return [(j, k) if k > j else (j,) for j in range(K) for k in range(j, K)]


def _unless_error(parts: Answer) -> list[dict[str, AnyArray]]:
    """The answers of a fit, if it did not fail."""
    if isinstance(parts, RefitError):
        raise parts
    return parts


def time_one_fit(task: Task, estimator: Estimator) -> float | None:
    """Seconds that a fit to all rows takes, or would take by a fit to some of them; None if it fails."""
    n = task.problem.n
    some = np.linspace(0, n - 1, min(n, FIRST_TIMED)).astype(np.intp)
    try:
        with without_trace():
            expected = _seconds(task, estimator, some) * n / len(some)
            # a second time, as the first one loads and compiles
            return expected if expected > LONGEST_TIMED else _seconds(task, estimator, np.arange(n))
    except Exception:  # whatever it is, it will be told when it is run
        return None


def _seconds(task: Task, estimator: Estimator, rows: IntArray) -> float:
    """Of one fit to some rows."""
    fitted = clone(estimator, safe=False)
    parameters = fit_parameters(estimator, task.problem.weights, task.problem.groups)
    extra = {name: values[rows] for name, values in parameters.items()}
    start = time.perf_counter()
    fitted.fit(rows_of(estimator, task.source, rows, rows), task.problem.target[rows], **extra)
    return time.perf_counter() - start
