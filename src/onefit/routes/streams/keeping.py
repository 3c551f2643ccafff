"""Metrics that need all held-out scores of a repeat at once, such as ranks: those of a table are kept, if they are few.

A pass over the rows has the scores of every row, with its own fold out and with each second one; what is made of them
is what is made of scores in memory. They are n rows times repeats, folds, values and outputs, and no more than
`MOST_KEPT` bytes of them are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import DataError
from ...folds import Folds
from ...inference.averaged import figures_of, without_noise
from ...inference.chain import Chain
from ...inference.fold_errors import Failure, FoldErrors, RowRoles
from ...inference.rowtotals import RowTotals
from ...learners import Learner, Task
from ...linalg.columns import Columns
from ...metrics.asked import figures_asked, rule_scale_of
from ...metrics.losses import Classes
from ...metrics.scored import with_ties
from ...sources import Piece
from ...typing import AnyArray, FloatArray, IntArray
from ...validation import Problem
from ..collect import Chunk
from ..measured import measure
from ..responses import Responses, unseen_classes, without_unseen
from ..solve import JoinedSets
from ..threads import threads
from .measuring import Chances, chances_of
from .models import IN_MEMORY
from .passes import RowsOf
from .rows import RowReader
from .summary import RowSummary, SummaryPlan

__all__ = ["KeepTask", "KeptRows", "KeptScoring", "add_kept", "refuse_many"]

MOST_KEPT = 2**29
"""Bytes of scores that are kept."""


def refuse_many(metrics: Sequence[str], n_rows: int, shape: tuple[int, int, int, int]) -> None:
    """Refuse tables whose scores, by repeats, folds, values and outputs, would take too much memory."""
    needed = 8.0 * n_rows * np.prod(shape)
    if needed > MOST_KEPT:
        L, K, V, _ = shape
        raise DataError(
            f"{' and '.join(metrics)} need all held-out scores at once, here {needed / 1e9:.1f} GB ({n_rows:,} rows, "
            f"{L} repeats, {K} folds, {V} values with the best constant), and at most {MOST_KEPT / 1e9:.1f} GB are "
            f"kept. Ask for fewer folds or repeats, or {IN_MEMORY}."
        )


@dataclass(frozen=True)
class KeptRows:
    """Of consecutive rows: residuals (b, L, K, V, Q) of scores, y (b, Q), folds (L, b), weights, groups."""

    residuals: FloatArray
    observed: FloatArray
    ids: IntArray
    weights: FloatArray | None
    groups: IntArray | None


def add_kept(one: dict[int, KeptRows], other: dict[int, KeptRows]) -> dict[int, KeptRows]:
    """By pieces."""
    return {**one, **other}


@dataclass(frozen=True)
class KeepTask:
    """The scores of the rows of a piece."""

    reader: RowReader
    designs: tuple[RowsOf, ...]
    sets: JoinedSets

    def __call__(self, piece: Piece) -> dict[int, KeptRows]:
        """All of them."""
        parts = list[KeptRows]()
        with threads(1):
            for rows in self.reader.rows(piece):
                columns = [part for design in self.designs for part in _parts(design(rows))]
                table = np.hstack([*columns, rows.observed - self.reader.target.middle])
                residuals = np.stack([self._residuals(at, ids, table) for at, ids in enumerate(rows.ids)], axis=1)
                for values, family in self.sets.links:
                    observed = rows.observed[:, None, None, None]
                    residuals[..., values, :] = observed - family.predicted(-residuals[..., values, :])
                parts.append(KeptRows(residuals, rows.observed, rows.ids, rows.weights, rows.groups))
        return {piece.place: _joined(parts)} if parts else {}

    def _residuals(self, repeat: int, ids: IntArray, table: FloatArray) -> FloatArray:
        """Of one repeat, (b, K, V, Q)."""
        _, K, _, V, Q = self.sets.own.shape
        found = np.empty((len(ids), K, V, Q))
        for fold in np.unique(ids):
            some = ids == fold
            found[some] = (table[some] @ self.sets.pair_residuals[repeat, fold]).reshape(-1, K, V, Q)
        return found


def _parts(columns: Columns) -> tuple[FloatArray, FloatArray]:
    return columns.E, columns.N


def _joined(parts: Sequence[KeptRows]) -> KeptRows:
    """One after the other."""

    def whole(name: str, axis: int = 0) -> AnyArray | None:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.concatenate(each, axis=axis)

    names = ("residuals", "observed", "ids", "weights", "groups")
    return KeptRows(*(whole(name, 1 if name == "ids" else 0) for name in names))  # type: ignore[arg-type]


@dataclass(frozen=True)
class KeptScoring:
    """What is asked, and of whom.

    Attributes
    ----------
    task : Task
        Of some rows; its metrics are asked of all.
    learners : tuple of Learner
        One after the other on the axis of values, before the constant.
    """

    task: Task
    learners: tuple[Learner, ...]

    def first(self, errors: FoldErrors) -> tuple[FoldErrors, str]:
        """Tables of the first metric, of which the answer speaks, and its scale."""
        metric = self.task.metrics[0]
        classes = self.task.problem.classes
        own = figures_of(errors, figures_asked([metric], self.task.problem.n_outputs, classes))
        return without_noise(own) if metric.family == "rank" else own, rule_scale_of(metric)

    def errors(
        self,
        kept: dict[int, KeptRows],
        n_folds: int,
        chain: Chain,
        failures: list[Failure],
        plan: SummaryPlan,
        middle: FloatArray,
    ) -> tuple[FoldErrors, RowSummary, FloatArray, RowRoles]:
        """Fold errors, sums over rows, mean influences (n, V, R) of the rows, and what these weigh."""
        rows = _joined([kept[place] for place in sorted(kept)])
        problem, classes = self.task.problem, self.task.loss.classes
        labels = None if classes is None else classes.labels[classes.decide(rows.observed)]
        problem = replace(problem, X=None, y=rows.observed, weights=rows.weights, groups=rows.groups, labels=labels)
        task = replace(self.task, problem=problem)
        folds = Folds(rows.ids, n_folds)
        V = rows.residuals.shape[3]
        roles = RowRoles(rows.weights, rows.groups)
        responses = Responses([self._table(rows, folds, repeat, problem) for repeat in range(len(rows.ids))], failures)
        measured = measure(responses, folds, task, roles, V)
        errors = measured.summarize(folds, roles, chain)
        single = measured.pairs.single
        influence = single.losses.mean(axis=0)
        return errors, self._summary(rows, single.residuals, single.losses, plan, middle), influence, roles

    def _table(self, rows: KeptRows, folds: Folds, repeat: int, problem: Problem) -> dict[str, list[AnyArray]]:
        """By kind, responses (K, m, V, ...) of every fold."""
        classes = self.task.loss.classes
        kinds = {"residual"} if classes is None else set(self.task.responses)
        found: dict[str, list[AnyArray]] = {kind: [] for kind in kinds}
        unseen = unseen_classes(folds, repeat, problem)
        for fold in range(folds.n_folds):
            members = folds.members[repeat, fold, : folds.sizes[repeat, fold]]
            residuals = rows.residuals[members, repeat].swapaxes(0, 1)
            for kind in kinds:
                own = _response(kind, rows.observed[members], residuals, classes, self._chances)
                found[kind].append(own if unseen is None else without_unseen(own, kind, unseen[fold]))
        return found

    @property
    def _chances(self) -> tuple[Chances, ...]:
        return chances_of(self.learners, 1)

    @staticmethod
    def _summary(
        rows: KeptRows, residuals: FloatArray, influence: FloatArray, plan: SummaryPlan, middle: FloatArray
    ) -> RowSummary:
        """As the pass over a table that keeps no rows has it."""
        _, n, V, _ = influence.shape
        Q = rows.observed.shape[1]
        totals = RowTotals(n, V, Q, influence.shape[-1])
        totals.residuals[:] = residuals[..., :Q].sum(axis=0)
        totals.losses[:] = influence.sum(axis=0)
        nothing = np.zeros((n, 0))
        columns = Columns(nothing, nothing, np.zeros(0), np.zeros(0))
        y = rows.observed - middle
        summary = plan.begin()
        summary.put(Chunk(columns, y, rows.ids, rows.weights, rows.groups, rows.observed, 0), totals)
        return summary


def _response(
    kind: str, y: FloatArray, residuals: FloatArray, classes: Classes | None, chances: tuple[Chances, ...]
) -> AnyArray:
    """One kind of response of a fold's rows, from residuals (K, m, V, Q)."""
    if classes is None:
        return residuals
    scores = y[:, None] - residuals
    if kind == "predict":
        return classes.decide(scores)
    # rows are predicted by products of their columns, so that those of equal rows differ by last bits only
    scores = with_ties(scores, y, ranks=kind == "scores", same=np.arange(len(y)))
    if kind != "predict_proba":
        return scores
    return np.concatenate([each.of(scores[..., each.values, :]) for each in chances], axis=-2)
