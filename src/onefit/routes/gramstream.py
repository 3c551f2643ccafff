"""The gram route for many rows: two passes over them, in blocks, whatever the number of repeats and values."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from ..criteria import AllRows
from ..folds import Folds
from ..inference.chain import Chain
from ..inference.fold_errors import Failure, PairErrors, RowRoles, RowTotals, SingleErrors
from ..inference.row_sums import spread_tables
from ..learners import DesignSmoother, Task
from ..linalg.precondition import SAMPLE_ROWS, SAMPLE_WIDTHS, Coordinates, precondition, sample_rows
from ..linalg.reinsch import middle_penalty
from ..typing import FloatArray
from .collect import N_SPANS, RowBlocks, collect, numbers_of_a_row, rows_of_a_block
from .contract import CannotStream, Run
from .engine import TABLE_BYTES, FailureLog, per_block, refit_or_log
from .gramtables import GramEngine
from .score import Question, Scores, score
from .solve import TrainingSets, solve

__all__ = ["StreamedEngine", "can_stream", "has_many_blocks", "is_tall_enough"]

LEAST_BLOCKS = 8
"""With fewer blocks of rows than this, tables of all of them are as fast."""

LEAST_ROWS_A_COLUMN = 50
"""With fewer rows for each column than this, products of columns take most of the time either way."""

MOST_RATIO = 1e8
"""Largest ratio of penalties that share coordinates: those at the ends lose its root."""

SOME_ROWS = 1000
"""Enough to tell the size of the losses."""

MOST_BYTES = 8 * TABLE_BYTES
"""What a single repeat may take, beside the rows."""

MOST_CANCELLED = 1e6
"""How much larger increments along the path may be, in a fold, than the spread of the losses that they lead to."""

MOST_REFITTED = 100
"""More training sets that must be fitted from their rows are for the tables."""


def can_stream(smoother: DesignSmoother, task: Task) -> bool:
    """Whether there are so many rows that passes over them pay, and whether all that is asked follows from two."""
    lams = smoother.lams[:, 0]
    is_one_path = smoother.lams.shape[1] == 1 and (lams.max() <= MOST_RATIO * lams.min() or lams.max() == 0)
    weights, own = task.problem.weights, smoother.weights
    is_weighted_alike = own is weights or (own is not None and weights is not None and np.array_equal(own, weights))
    knows_pairing = task.loss.is_squared or smoother.n_values == 1
    has_no_light_rows = own is None or bool((own > 0).all())
    is_tall = is_tall_enough(smoother.n, smoother.n_columns)
    return is_one_path and is_weighted_alike and knows_pairing and has_no_light_rows and is_tall


def is_tall_enough(n: int, width: int) -> bool:
    """Whether there are enough rows for each column."""
    return width < n // LEAST_ROWS_A_COLUMN


def has_many_blocks(n: int, width: int, n_folds: int, n_values: int, n_outputs: int = 1) -> bool:
    """Whether the rows make enough blocks."""
    return n >= LEAST_BLOCKS * rows_of_a_block(numbers_of_a_row(width, n_values, n_outputs), n_folds)


class StreamedEngine(GramEngine):
    """Statistics of all folds in a first pass, losses in a second; tables of all rows if that would lose digits.

    In coordinates from a sample of the rows the Gram matrices of the folds have all their digits; whether that is so is
    seen from their sum. For squared errors the means of all pairs of folds follow from the statistics, so that each row
    meets only its own fold's coefficients.
    """

    def __init__(self, task: Task, smoother: DesignSmoother) -> None:
        super().__init__(task.problem, smoother, task.loss)
        self.design, self.problem, self.observed = smoother, task.problem, task.problem.y
        self.needs_scatter = "pair scatter" in task.needs
        self.roles = RowRoles.of(task.problem.weights, task.problem.groups)
        self.can_stream = True
        self._coordinates: Coordinates | None = None

    def streams(self, n_folds: int) -> bool:
        """Whether it goes over the rows in blocks: if there are enough of them."""
        if not self.can_stream or self._bytes_of_a_repeat(n_folds) > MOST_BYTES:
            return False
        return has_many_blocks(self.design.n, self.design.n_columns, n_folds, self.n_values, int(self.y.shape[1]))

    @property
    def _width(self) -> int:
        """Numbers in a row, y among them."""
        return self.design.n_columns + int(self.y.shape[1])

    def _bytes_of_a_repeat(self, n_folds: int) -> int:
        """What the statistics, coefficients and sums of a repeat take."""
        columns = self.n_values * int(self.y.shape[1])
        groups = 0 if self.roles.groups is None else int(self.roles.groups.max()) + 1
        tables = 3 * n_folds * self._width * (self._width + n_folds * columns)
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
        blocks = RowBlocks(self.design, self.y, folds.n_folds)
        coordinates = self._prepare()
        statistics = collect(blocks, coordinates, folds, run, self.still_wanted)
        sets = solve(statistics, coordinates, self.design.lams[:, 0], with_pairs, self.still_wanted)
        self.design.all_rows = None
        # where squares have lost digits, the pilot was no good, and everything that began from it has lost as many
        if sets is None or sets.squares is None or len(sets.doubtful) > MOST_REFITTED:
            raise CannotStream
        units = self.n_units(folds.n_folds, folds.n_repeats, with_pairs)
        meter = _Meter(self.tick, units, sum(map(len, blocks.spans())) if with_pairs else 0)
        found = _Streamed(self, blocks, folds, sets, run, with_pairs, meter)
        if not found.has_means:
            if self.n_values > 1 or not with_pairs:
                raise CannotStream  # it takes the errors of all values to say how these are paired
            found.score(Chain(np.zeros(1, dtype=np.intp)))
        self.design.all_rows = AllRows(coordinates, statistics.total)
        return found

    def still_wanted(self) -> None:
        """Count nothing; raises if nobody waits for the result any more."""
        self.tick(0)

    def _prepare(self) -> Coordinates:
        """Coordinates from a sample of the rows."""
        if self._coordinates is None:
            n = self.design.n
            rows = sample_rows(n, self.design.n_columns, SAMPLE_ROWS, SAMPLE_WIDTHS)
            root, lams = self.design.root_weights(rows), self.design.lams[:, 0]
            sample = self.design.take(rows).weighted(root)
            tau = middle_penalty(lams)
            y = root[:, None] * self.y[rows]
            self._coordinates = precondition(sample, y, len(rows) / n, tau, float(lams.min()))
        return self._coordinates


class _Meter:
    """Counts the units of some repeats as blocks of rows are done: half of them when the first pass is."""

    def __init__(self, count: Callable[[int], None], units: int, n_blocks: int) -> None:
        self._count, self._left, self._n_blocks, self._done, self._told = count, units, n_blocks, 0, 0
        self._lock = Lock()
        first = units // 2 if n_blocks else units
        self._left -= first
        count(first)

    def block(self) -> None:
        """A block of the second pass is done; raises if nobody waits for the result any more."""
        with self._lock:
            self._done += 1
            due = self._left * self._done // self._n_blocks
            more, self._told = due - self._told, due
        self._count(more)


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
        meter: _Meter,
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
            weights = engine.problem.weights
            scale = 1.0 if weights is None else float(weights.mean())
            self.mean[:] = sets.squares / (scale * folds.sizes[:, :, None, None, None])
            self._put_refitted()
        self._scores: Scores | None = None
        self._totals: RowTotals | None = None

    def _refit(self) -> None:
        """Fit the training sets that cannot be had from statistics."""
        engine, log = self.engine, FailureLog(self.engine.n_values)
        for repeat, out, value in self.sets.doubtful:
            lam = float(engine.design.lams[value, 0])
            residuals = refit_or_log(engine.design, engine.y, lam, self.folds, repeat, out, value, log)
            for at, (fold, u) in enumerate(zip(out, residuals, strict=True)):
                rows = np.flatnonzero(self.folds.ids[repeat] == fold)
                other = out[len(out) - 1 - at]
                found = engine.moments(u, rows, np.ones(len(u), dtype=bool), np.arange(u.shape[1]))
                self._moments[repeat, fold, other if self.mean.shape[2] > 1 else 0, value] = found
                if len(out) == 1:
                    self._refitted[repeat, fold, value] = u
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
            shift = self._own_means()[:, :, chain.root] if self.has_means else self._guess()
            self._totals = RowTotals(folds.n, V, Q, self.mean.shape[-1], by_value=True)
            question = Question(
                sets=self.sets,
                folds=folds,
                loss=engine.loss,
                observed=engine.observed,
                roles=engine.roles,
                refitted=self._refitted,
                chain=chain,
                shift=shift,
                middle=self.cv_means(engine.roles) if self.has_means else shift[:, :1].repeat(V, axis=1),
                with_pairs=self.scores_pairs,
            )
            self._scores = score(self.blocks, question, self._totals, self.run, self.meter.block)
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

    def _guess(self) -> FloatArray:
        """About how large the losses of a single value are in each fold, (L, K, R): of some of its rows."""
        engine, (L, K) = self.engine, self.sets.own.shape[:2]
        found = np.empty((L, K, self.mean.shape[-1]))
        for repeat, fold in np.ndindex(L, K):
            rows = np.flatnonzero(self.folds.ids[repeat] == fold)[:SOME_ROWS]
            fitted = engine.design.take(rows).times(self.sets.own[repeat, fold][:, 0])
            losses = engine.loss.of(engine.observed[rows], engine.y[rows] - fitted)
            weights = engine.roles.weights
            found[repeat, fold] = (losses if weights is None else weights[rows, None] * losses).mean(axis=0)
        return found

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses; to nothing, they are taken as they are."""
        assert self._totals is not None
        if totals.count.any():
            totals.both += self._totals.both
            totals.count += self._totals.count
        else:
            totals.both, totals.count = self._totals.both, self._totals.count
        self._totals = None
