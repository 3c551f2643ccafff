"""Run engines over the repeats, a block at a time, until they are done or suffice, or the user stops them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TypeAlias, cast

import numpy as np

from ..dropfolds import DropSets
from ..errors import LossOverflowError
from ..folds import Folds, FoldSource
from ..inference.averaged import figures_of, without_noise
from ..inference.chain import Chain, ascending, over_kept
from ..inference.fold_errors import Failure, FoldErrors, PairErrors, RowRoles, SingleErrors, overflowing, summarize
from ..inference.montecarlo import Stopping, is_precise
from ..inference.rowtotals import RowTotals
from ..learners import Learner, Task
from ..metrics.asked import figures_asked, rule_scale_of
from ..typing import FloatArray
from .collected import Collected, first_errors, is_second, spans_of
from .contract import CannotStream, Engine, Outcome, Partitions, Remark, Run, Ticks, Units, Workers
from .engine import TABLE_BYTES, FailureLog, per_block
from .measured import measure, n_figures, n_kept
from .responses import joined
from .sidebyside import SideBySideEngines
from .stopped import stopped_after, stopped_in_bias
from .threads import threads

__all__ = ["OVERFLOW", "RepeatedComputation"]

Summarize: TypeAlias = Callable[[Folds, RowRoles, Chain], FoldErrors]
"""What makes tables of fold errors of what was held out."""

OVERFLOW = "The losses overflow: rescale y (and X), or leave out the model that predicts such."


@dataclass
class RepeatedComputation:
    """Engines side by side on the axis of values, over all repeats.

    Only the small tables of fold errors grow with the repeats: the losses of pairs live for one block. The first repeat
    alone says which chain of values all others are read by, and threads wait for it, so that neither the size of the
    blocks nor the number of threads can change a bit of the answer. What is refitted is kept repeat by repeat: if the
    user stops it, the repeats that are complete stand. A value that fails does so in the repeat where it is found, and
    its numbers are dropped at the end; what it would have been plays no part for the others.
    """

    engines: Sequence[Engine]
    learners: Sequence[Learner]
    task: Task
    partitions: Partitions
    workers: Workers
    ticks: Ticks
    rows: RowRoles = field(init=False)
    side_by_side: SideBySideEngines = field(init=False)

    def __post_init__(self) -> None:
        problem = self.task.problem
        self.rows = RowRoles(problem.relative_weights, problem.groups)
        n_losses = self.task.loss.n_losses(problem.n_outputs)
        self.side_by_side = SideBySideEngines(self.engines, self.rows, problem.n_outputs, n_losses)
        for engine in self._counted:
            engine.tick = self.ticks.advance
            engine.counts_sets = self.partitions.n_repeats == 1 and engine.goes_through_sets

    @property
    def n_values(self) -> int:
        """Values of all engines."""
        return sum(engine.n_values for engine in self.engines)

    @property
    def _streams(self) -> bool:
        """Models side by side are paired row by row, so that there must be tables of all of them."""
        return len(self.engines) == 1 and self.engines[0].streams(self.partitions.source.n_folds)

    @property
    def _has_pairs(self) -> bool:
        source = self.partitions.source
        return not isinstance(source, DropSets) or source.whole.has_pairs

    @property
    def _is_refitted(self) -> bool:
        return any(engine.is_refitted for engine in self.engines)

    @property
    def _stopping(self) -> Stopping:
        return self.partitions.stopping(self._is_refitted)

    @property
    def _counted(self) -> list[Engine]:
        """Engines that count: refits if there are any, as beside them the others take no time."""
        return [engine for engine in self.engines if engine.is_refitted] or list(self.engines)

    @property
    def units(self) -> Units:
        """What progress counts."""
        K, repeats = self.partitions.source.n_folds, self.partitions.n_repeats or self._stopping.most
        n_bias = 0 if self.partitions.bias is None else self.partitions.bias[1]
        with_pairs = self._has_pairs
        total = sum(each.n_units(K, repeats, with_pairs) + each.n_units(K, n_bias, False) for each in self._counted)
        names = {each.units for each in self._counted}
        of_each = sum(each.n_units(K, 1, with_pairs) for each in self._counted) if names == {"repeats"} else 1
        is_most = self.partitions.n_repeats is None
        name = names.pop() if len(names) == 1 else "steps"
        return Units(total, name, of_each, is_most, self.workers.n_threads)

    def run(self) -> Outcome:
        """Compute all repeats, and the partitions of the bias correction."""
        bias, notes = self.partitions.bias, list[str]()
        with ExitStack() as stack:
            for engine in self.engines:
                stack.enter_context(engine.at_work())
            try:
                done = self._collect()
            except CannotStream:
                self.engines[0].can_stream = False
                done = self._collect()
            errors, bias_cv, failures = done.errors, None, list(done.failures)
            if done.is_stopped:
                asked = self.partitions.n_repeats
                of = f"at most {self._stopping.most}" if asked is None else f"{asked}"
                notes.append(stopped_after(errors.n_repeats, of, bias is not None))
            elif bias is not None:
                bias_cv, count = self._mean_cv(*bias, failures)
                if count < bias[1]:
                    notes.append(stopped_in_bias(count, bias[1]))
        failed = first_errors(failures, self.n_values)
        return Outcome(errors, done.totals, bias_cv, failed, tuple(notes), self._remarks())

    def _remarks(self) -> tuple[Remark, ...]:
        """What engines say, with the places that their values have beside those of others."""
        found, first, start = [], self.partitions.source.block(0, 1), 0
        for engine in self.engines:
            for remark in engine.remarks(first):
                found.append(remark if remark.value is None else remark._replace(value=start + remark.value))
            start += engine.n_values
        return tuple(found)

    def _collect(self) -> Collected:
        """Fold errors and row means of the repeats asked for, or of as many as the stopping rule asks for."""
        source, n_repeats, outer = self.partitions.source, self.partitions.n_repeats, sys.exception()
        n_threads = 1 if self._is_refitted else self.workers.n_threads
        step = per_block(8 * self._numbers_of_a_repeat, TABLE_BYTES / n_threads)
        if self.task.metrics and self.n_values > 1:
            step = 1  # a value that fails has no scores in its block, so that which repeats share one must not matter
        if self._streams:
            step = self.engines[0].repeats_at_once(source.n_folds)
        in_place = not self._is_refitted
        done = self._done_before()
        # refits have their own workers, and BLAS as the user has it
        is_free = self._is_refitted and len(self.engines) == 1
        try:
            with nullcontext(map) if is_free else threads(n_threads) as run:
                try:
                    for start, goal in pairwise((0, *(self._stopping.schedule if n_repeats is None else (n_repeats,)))):
                        spans = spans_of(start, goal, step if in_place else 1, 1 if self._streams else n_threads)
                        spans = [span for span in spans if span[0] >= done.n_repeats]
                        if len(self.engines) == 1 and self._has_pairs and spans:
                            self.engines[0].look_ahead(source, spans[0][0], goal)
                        if not done.blocks:
                            done = self._kept(done.plus(*self._compute(spans.pop(0), run), in_place=in_place))
                        # threads begin at once with what they are given, so the chain must be known by now
                        compute = partial(self._compute, run=run, chain=done.blocks[0].chain)
                        for single, errors in map(compute, spans) if self._streams else run(compute, spans):
                            done = self._kept(done.plus(single, errors, in_place))
                        if n_repeats is None and self._suffices(done):
                            break
                except CannotStream:
                    raise  # it goes on with tables
                except BaseException:
                    self.ticks.stop()  # before the threads are waited for
                    raise
        except KeyboardInterrupt as error:
            if in_place or not done.blocks or is_second(error, outer):
                raise
            return Collected(done.totals, done.blocks, done.failures, is_stopped=True)
        return done

    def _done_before(self) -> Collected:
        """Repeats that an earlier call has left in a file, or none."""
        checkpoint = self.partitions.checkpoint if self._is_refitted else None
        found = None if checkpoint is None else checkpoint.load()
        if found is None:
            return Collected(self._no_totals)
        self.ticks.advance(
            sum(each.n_units(self.partitions.source.n_folds, found.n_repeats, True) for each in self._counted)
        )
        return cast(Collected, found)

    def _kept(self, done: Collected) -> Collected:
        """The same, which a later call will find; only refits take so long that this pays."""
        if self.partitions.checkpoint is not None and self._is_refitted:
            self.partitions.checkpoint.save(done)
        return done

    @property
    def _numbers_of_a_repeat(self) -> int:
        """Numbers in the tables of one repeat."""
        K, n, cells = self.partitions.source.n_folds, self.task.problem.n, self.n_values * self.task.problem.n_outputs
        if self.task.metrics:  # scores of every row with each second fold out, and their copies
            return self.n_values * (6 * n_figures(self.task) * K**2 + 4 * n * K * n_kept(self.task))
        return cells * (6 * K**2 + 4 * n)

    @property
    def _no_totals(self) -> RowTotals:
        """Sums over rows to begin with."""
        n, Q = self.task.problem.n, self.task.problem.n_outputs
        if self.task.metrics:
            return RowTotals(n, self.n_values, n_kept(self.task), n_figures(self.task))
        is_only = self.partitions.n_repeats == 1
        return RowTotals(n, self.n_values, Q, self.task.loss.n_losses(Q), is_only=is_only)

    def _held_out(self, folds: Folds, run: Run) -> tuple[PairErrors[SingleErrors], Summarize]:
        """What was held out of a block, and how it is summarized when a chain is known."""
        if self.task.metrics:
            both = zip(self.engines, self.learners, strict=True)
            responses = joined([engine.responses(folds, learner, self.task) for engine, learner in both])
            first_errors(responses.failures, self.n_values)  # raises if nothing is left
            measured = measure(responses, folds, self.task, self.rows, self.n_values)
            return measured.pairs, measured.summarize
        pairs: PairErrors[SingleErrors]
        pairs = self.engines[0].stream(folds, run) if self._streams else self.side_by_side.pairs(folds)
        return pairs, partial(summarize, pairs)

    def _compute(self, span: tuple[int, int], run: Run, chain: Chain | None = None) -> tuple[SingleErrors, FoldErrors]:
        """Held-out rows and fold errors of some repeats; without a chain they say themselves what it is.

        An engine that streams has its own use for the threads of ``run``: parts of the rows.
        """
        folds = self.partitions.source.block(*span)
        pairs, summarized = self._held_out(folds, run)
        if chain is None:
            make_chain = self.engines[0].make_chain if len(self.engines) == 1 else ascending
            # of the first repeat alone: which others are in its block must not matter
            failed = {failure.value for failure in pairs.single.failures if failure.repeat == folds.first}
            first_errors(pairs.single.failures, self.n_values)  # raises if nothing is left
            means = pairs.single.cv_means(self.rows)[0][:, self._figures(1)].mean(axis=1)
            chain = over_kept(make_chain, means, failed | set(np.flatnonzero(~np.isfinite(means))))
        errors = summarized(folds, self.rows, chain)
        if lost := overflowing(figures_of(errors, self._figures()), folds.first):
            if self._streams:
                raise CannotStream  # tables can do without a value
            self._blank(pairs, lost, folds.first)
            errors = summarized(folds, self.rows, chain)
        return pairs.single, errors

    def _blank(self, pairs: PairErrors[SingleErrors], lost: Iterable[tuple[int, int]], first: int) -> None:
        """Put zeros where losses overflow, and note it."""
        log = FailureLog(*(engine.n_values for engine in self.engines))
        for repeat, value in lost:
            log.add(LossOverflowError(OVERFLOW), repeat, (), value)
            pairs.single.blank(repeat - first, value)
            pairs.mean[repeat - first, ..., value, :] = pairs.scatter[repeat - first, ..., value, :] = 0.0
        pairs.single.failures.extend(log.found)
        first_errors(pairs.single.failures, self.n_values)  # raises if nothing is left

    def _suffices(self, done: Collected) -> bool:
        """Whether the repeats so far suffice for every value that can be fitted."""
        kept = np.ones(self.n_values, dtype=bool)
        kept[[failure.value for failure in done.failures]] = False
        errors, scale = done.errors, self.task.loss.scale
        if self.task.metrics:
            errors, first = figures_of(errors, self._figures(1)), self.task.metrics[0]
            errors = without_noise(errors) if first.family == "rank" else errors
            scale = rule_scale_of(first)
        return is_precise(errors, self.task.rule, scale, kept, self._stopping)

    def _figures(self, count: int | None = None) -> slice:
        """Figures of the first so many metrics that were asked for, or of all; all of a loss."""
        return figures_asked(self.task.metrics[:count], self.task.problem.n_outputs, self.task.problem.classes)

    def _singles(self, folds: Folds, run: Run) -> SingleErrors:
        """Errors with single folds out."""
        if self._streams:
            return self.engines[0].stream_singles(folds, run)
        return self.side_by_side.singles(folds)

    def _mean_cv(self, source: FoldSource, count: int, failures: list[Failure]) -> tuple[FloatArray | None, int]:
        """Mean over partitions of their row-mean cross-validation error, (V, R), and of how many partitions.

        If the user stops it, those that are complete stand if they are refitted; None if there is none.
        """
        each = 8 * 4 * source.n * self.n_values * self.task.problem.n_outputs
        step = 1 if self._is_refitted else per_block(each, TABLE_BYTES)
        if self._streams:
            step = self.engines[0].repeats_at_once(source.n_folds)
        means: list[FloatArray] = []
        scored = np.zeros(source.n)
        outer = sys.exception()
        try:
            with threads(self.workers.n_threads) if self._streams else nullcontext(map) as run:
                for start in range(0, count, step):
                    folds = source.block(start, min(start + step, count))
                    single = self._singles(folds, run)
                    failures.extend(failure._replace(is_of_bias=True) for failure in single.failures)
                    means.append(single.cv_means(self.rows))
                    scored += (folds.ids >= 0).sum(axis=0)
        except CannotStream:
            self.engines[0].can_stream = False
            return self._mean_cv(source, count, failures)
        except KeyboardInterrupt as error:
            if not self._is_refitted or is_second(error, outer):
                raise
        if not means:
            return None, 0
        # weights are relative to the rows that the other folds score
        unit = 1.0 if self.rows.weights is None else float(np.average(self.rows.weights, weights=scored))
        return np.concatenate(means).mean(axis=0) / unit, sum(map(len, means))
