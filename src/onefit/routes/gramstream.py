"""The gram route for many rows: two passes over them, in blocks, whatever the number of repeats and values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..criteria import AllRows
from ..folds import Folds
from ..inference.chain import Chain
from ..inference.fold_errors import Failure, HeldOut, PairErrors, RowRoles, SingleErrors
from ..inference.row_sums import spread_tables
from ..inference.rowtotals import RowTotals
from ..learners import Task
from ..linalg.precondition import SAMPLE_ROWS, SAMPLE_WIDTHS, Coordinates, precondition, sample_rows
from ..typing import FloatArray
from .collect import N_SPANS, RowBlocks, collect
from .contract import CannotStream, Engine, Run
from .engine import TABLE_BYTES, FailureLog, SetsEngine, per_block
from .rowpasses import Meter, Streaming, has_many_blocks
from .score import Question, Scores, score
from .solve import TrainingSets, solve

__all__ = ["StreamedEngine"]

SOME_ROWS = 1000
"""Enough to tell the size of the losses."""

MOST_BYTES = 8 * TABLE_BYTES
"""What a single repeat may take, beside the rows."""

MOST_CANCELLED = 1e6
"""How much larger increments along the path may be, in a fold, than the spread of the losses that they lead to."""

MOST_REFITTED = 100
"""More training sets that must be fitted from their rows are for the tables."""


class StreamedEngine(Engine):
    """Statistics of all folds in a first pass, losses in a second; tables of all rows if that would lose digits.

    In coordinates from a sample of the rows the Gram matrices of the folds have all their digits; whether that is so is
    seen from their sum. For squared errors the means of all pairs of folds follow from the statistics, so that each row
    meets only its own fold's coefficients.

    Parameters
    ----------
    task : Task
    tables : SetsEngine
        The same with tables of all rows; it fits training sets that statistics cannot tell.
    learner : Streaming
    """

    goes_through_sets = True

    def __init__(self, task: Task, tables: SetsEngine, learner: Streaming) -> None:
        self.tables, self.learner, self.design = tables, learner, learner.design
        self.n_values, self.loss, self.y = tables.n_values, tables.loss, tables.y
        self.problem, self.observed = task.problem, task.problem.y
        self.needs_scatter = "pair scatter" in task.needs
        self.roles = RowRoles(task.problem.relative_weights, task.problem.groups)
        self.can_stream = True
        self._coordinates: Coordinates | None = None

    @property
    def tick(self) -> Callable[[int], None]:
        """Counts units as they are done, whichever way."""
        return self.tables.tick

    @tick.setter
    def tick(self, tick: Callable[[int], None]) -> None:
        self.tables.tick = tick

    @property
    def counts_sets(self) -> bool:
        """Whether it is training sets that are counted."""
        return self.tables.counts_sets

    @counts_sets.setter
    def counts_sets(self, counts: bool) -> None:
        self.tables.counts_sets = counts

    @property
    def units(self) -> str:
        """What is counted."""
        return self.tables.units

    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """How many units there are in so many repeats."""
        return self.tables.n_units(n_folds, n_repeats, with_pairs)

    def make_chain(self, errors: FloatArray) -> Chain:
        """How the values are paired."""
        return self.tables.make_chain(errors)

    def singles(self, folds: Folds) -> HeldOut:
        """From tables of all rows."""
        return self.tables.singles(folds)

    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """From tables of all rows."""
        return self.tables.pairs(folds)

    def streams(self, n_folds: int) -> bool:
        """Whether it goes over the rows in blocks: if there are enough of them."""
        if not self.can_stream or self._bytes_of_a_repeat(n_folds) > MOST_BYTES:
            return False
        return has_many_blocks(self.design.n, self.design.n_columns, n_folds, self.n_values, int(self.y.shape[1]))

    def _bytes_of_a_repeat(self, n_folds: int) -> int:
        """What the statistics, coefficients and sums of a repeat take."""
        Q = int(self.y.shape[1])
        width, columns = self.design.n_columns + Q, self.n_values * Q
        groups = 0 if self.roles.groups is None else int(self.roles.groups.max()) + 1
        tables = 3 * n_folds * width * (width + n_folds * columns)
        return 8 * (tables + (N_SPANS + 1) * groups * columns)

    def repeats_at_once(self, n_folds: int) -> int:
        """How many repeats share a pass: as many as fit in memory."""
        return per_block(self._bytes_of_a_repeat(n_folds), TABLE_BYTES)

    def stream(self, folds: Folds, run: Run) -> PairErrors[SingleErrors]:
        """Fold errors of all pairs; the rows are scored when their spread is asked for."""
        single = self._errors(folds, run, with_pairs=True)
        return PairErrors(single, single.mean, single.scatter)

    def stream_singles(self, folds: Folds, run: Run) -> SingleErrors:
        """The same with single folds out."""
        return self._errors(folds, run, with_pairs=False)

    def _errors(self, folds: Folds, run: Run, with_pairs: bool) -> _Streamed:
        blocks = RowBlocks(self.design, self.y, folds, self.n_values, self.observed, self.roles.groups)
        coordinates = self._prepare()
        statistics = collect(blocks, coordinates, run, self.still_wanted)
        self.learner.remember(None)
        solver = self.learner.solver(statistics, coordinates, folds, run, self.still_wanted)
        if solver is None:
            raise CannotStream
        sets = solve(solver, with_pairs)
        # where squares have lost digits, the pilot was no good, and everything that began from it has lost as many
        if sets.squares is None or len(sets.doubtful) > MOST_REFITTED:
            raise CannotStream
        units = self.n_units(folds.n_folds, folds.n_repeats, with_pairs)
        meter = Meter(self.tick, units, sum(map(len, blocks.spans())) if with_pairs else 0)
        found = _Streamed(self, blocks, folds, sets, run, with_pairs, meter)
        if not found.has_means:
            if self.n_values > 1 or not with_pairs:
                raise CannotStream  # it takes the errors of all values to say how these are paired
            found.score(Chain(np.zeros(1, dtype=np.intp)))
        self.learner.remember(AllRows(coordinates, statistics.total))
        return found

    def still_wanted(self) -> None:
        """Count nothing; raises if nobody waits for the result any more."""
        self.tick(0)

    def _prepare(self) -> Coordinates:
        """Coordinates from a sample of the rows."""
        if self._coordinates is None:
            n = self.design.n
            rows = sample_rows(n, self.design.n_columns, SAMPLE_ROWS, SAMPLE_WIDTHS)
            root, share = self.design.root_weights(rows), len(rows) / n
            sample, y = self.design.block(rows).weighted(root), root[:, None] * self.y[rows]
            self._coordinates = precondition(sample, y, share, *self.learner.penalties(sample, y, share))
        return self._coordinates


class _Streamed:
    """Errors of some repeats: means from the statistics of the folds, where they keep their digits, the rest from rows.

    ``mean`` and ``scatter`` are those of `PairErrors`, or (L, K, 1, V, R) of single folds; scatters, and what else only
    rows can tell, are there when the rows have been scored.
    """

    def __init__(
        self,
        engine: StreamedEngine,
        blocks: RowBlocks,
        folds: Folds,
        sets: TrainingSets,
        run: Run,
        with_pairs: bool,
        meter: Meter,
    ) -> None:
        self.engine, self.blocks, self.folds, self.sets, self.run = engine, blocks, folds, sets, run
        self.meter = meter
        L, K, V, Q = folds.n_repeats, folds.n_folds, *sets.own.shape[3:]
        self.mean, self.scatter = np.full((2, L, K, K if with_pairs else 1, V, engine.loss.n_losses(Q)), np.nan)
        self.failures: list[Failure] = []
        self.has_means = engine.loss.is_squared
        self.scores_pairs = with_pairs and (engine.needs_scatter or not self.has_means)
        self._refitted: dict[tuple[int, int, int], FloatArray] = {}
        self._moments: dict[tuple[int, int, int, int], tuple[FloatArray, FloatArray]] = {}
        self._refit()
        if self.has_means:
            assert sets.squares is not None
            unit = engine.problem.mean_weight
            self.mean[:] = sets.squares / (unit * folds.sizes[:, :, None, None, None])
            self._put_refitted()
        self._scores: Scores | None = None
        self._totals: RowTotals | None = None

    def _refit(self) -> None:
        """Fit the training sets that cannot be had from statistics."""
        engine, log = self.engine, FailureLog(self.engine.n_values)
        for repeat, out, values in self.sets.doubtful:
            residuals = engine.tables.refit(self.folds, repeat, out, values, log)
            for at, (fold, u) in enumerate(zip(out, residuals, strict=True)):
                rows = np.flatnonzero(self.folds.ids[repeat] == fold)
                other = out[len(out) - 1 - at] if self.mean.shape[2] > 1 else 0
                for value, of_value in zip(values, np.moveaxis(u, 1, 0), strict=True):
                    self._moments[repeat, fold, other, value] = engine.tables.moments(
                        of_value, rows, np.ones(len(rows), dtype=bool), np.arange(u.shape[2])
                    )
                    if len(out) == 1:
                        self._refitted[repeat, fold, value] = of_value
        self.failures.extend(log.found)

    def _put_refitted(self) -> None:
        for (repeat, fold, other, value), (mean, scatter) in self._moments.items():
            self.mean[repeat, fold, other, value], self.scatter[repeat, fold, other, value] = mean, scatter

    def blank(self, repeat: int, value: int) -> None:
        """Losses that overflow are for the tables."""
        raise CannotStream

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Row-mean cross-validation error of each repeat, (L, V, R)."""
        sizes = self.folds.sizes[:, :, None, None]
        means: FloatArray = (sizes * self._own_means()).sum(axis=1) / sizes.sum(axis=1)
        return means

    def _own_means(self) -> FloatArray:
        """Mean loss of each fold with it out, (L, K, V, R)."""
        means: FloatArray = self.mean[:, :, 0] if self.mean.shape[2] == 1 else np.einsum("ljjvr->ljvr", self.mean)
        return means

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """What only the rows can tell; fills in the scatters."""
        return spread_tables(self.score(chain).repeats)

    def score(self, chain: Chain) -> Scores:
        """Score the rows, once."""
        if self._scores is None:
            engine, folds = self.engine, self.folds
            V, Q = self.sets.own.shape[3:]
            shift, middle = self._sizes(chain.root)
            self._totals = RowTotals(folds.n, V, Q, self.mean.shape[-1], by_value=True)
            question = Question(
                sets=self.sets,
                loss=engine.loss,
                n_groups=None if engine.roles.groups is None else int(engine.roles.groups.max()) + 1,
                refitted=self._refitted,
                folds=folds,
                chain=chain,
                shift=shift,
                middle=middle,
                with_pairs=self.scores_pairs,
            )
            self._scores = score(self.blocks, engine.roles.weights, question, self._totals, self.run, self.meter.block)
            if len(chain) > 1 and max(each.cancelled() for each in self._scores.repeats) > MOST_CANCELLED:
                raise CannotStream
            self._put_moments(self._scores, shift)
        return self._scores

    def _put_moments(self, scores: Scores, shift: FloatArray) -> None:
        """Means, where the statistics have none, and scatters."""
        counts, own = self.folds.sizes[:, :, None, None].astype(float), np.arange(self.folds.n_folds)
        moments = [each.fold_moments() for each in scores.repeats]
        mean, scatter = (np.stack(parts) for parts in zip(*moments, strict=True))
        if scores.pairs is not None:
            means, scatters = scores.pairs.moments(shift, counts[:, :, None])
            self.scatter[:] = scatters
            if not self.has_means:
                self.mean[:] = means
        self.scatter[:, own, own] = scatter
        if not self.has_means:
            self.mean[:, own, own] = mean
        self._put_refitted()

    def _sizes(self, root: int) -> tuple[FloatArray, FloatArray]:
        """About how large weighted losses are in each fold, (L, K, R), and losses at each value, (L, V, R).

        Without the weights: the rows that are scored may be heavier than others, and about another middle the third
        powers would cancel.
        """
        weights, ids = self.engine.roles.weights, self.folds.ids
        if not self.has_means:
            shift, heaviness = self._guess()
            middle = shift.mean(axis=1) / np.where(heaviness > 0, heaviness, 1.0)[:, None]
            return shift, middle[:, None].repeat(self.sets.own.shape[3], axis=1)
        means = self.cv_means(self.engine.roles)
        if weights is not None:
            means /= np.array([weights[row >= 0].mean() or 1.0 for row in ids])[:, None, None]
        return self._own_means()[:, :, root], means

    def _guess(self) -> tuple[FloatArray, FloatArray]:
        """About how large losses of one value are in each fold, (L, K, R): of some rows, whose mean weight is (L,)."""
        engine, (L, K) = self.engine, self.sets.own.shape[:2]
        found, heaviness = np.empty((L, K, self.mean.shape[-1])), np.ones((L, K))
        for repeat, fold in np.ndindex(L, K):
            rows = np.flatnonzero(self.folds.ids[repeat] == fold)[:SOME_ROWS]
            fitted = engine.design.block(rows).times(self.sets.own[repeat, fold][:, 0])
            losses = engine.loss.of(engine.observed[rows], engine.y[rows] - fitted)
            weights = engine.roles.weights
            found[repeat, fold] = (losses if weights is None else weights[rows, None] * losses).mean(axis=0)
            if weights is not None:
                heaviness[repeat, fold] = weights[rows].mean()
        return found, heaviness.mean(axis=1)

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses; to nothing, they are taken as they are."""
        assert self._totals is not None
        if totals.count.any():
            totals.both += self._totals.both
            totals.count += self._totals.count
        else:
            totals.both, totals.count = self._totals.both, self._totals.count
        self._totals = None
