"""The first pass over a table: statistics of its folds, and from them the coefficients of all training sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import RouteError, TrainingSetError
from ...folds import Folds
from ...linalg.precondition import Coordinates
from ...linalg.weights import MOST_RATIO_OF_SUMS, why_lost
from ...typing import FloatArray
from ..collect import FoldStatistics
from ..engine import FailureLog
from ..repeats import first_errors
from ..solve import TrainingSets, solve
from ..threads import threads
from .glm import GLMModel
from .glmfit import GLMPasses
from .models import IN_MEMORY, NOT_UNIQUE, StreamedModel
from .outcome import Sample, StreamedFolds
from .passes import Collected, CollectTask, add_collected
from .pathcriteria import path_criteria
from .rows import RowReader
from .searched import SearchedModel

__all__ = ["FirstPass", "refuse_doubtful"]

MOST_LOOKS = 3
"""First passes until coordinates are good enough for all rows; a second one is rare."""


@dataclass(frozen=True)
class FirstPass:
    """All training sets of the models of a job, in some repeats.

    Attributes
    ----------
    models : sequence of StreamedModel
    sample : Sample
    n_rows : int
    reader : RowReader
        Of these repeats.
    folds : StreamedFolds
    run : function
        Makes a pass: of a task, how results are added, and the name of the pass.
    tick : function
        Raises if nobody waits for the result any more.
    """

    models: Sequence[StreamedModel]
    sample: Sample
    n_rows: int
    reader: RowReader
    folds: StreamedFolds
    run: Callable[[Any, Any, str], Any]
    tick: Callable[[], None]

    def train(self) -> tuple[Collected, list[TrainingSets], dict[str, FloatArray] | None]:
        """Statistics, coefficients of all training sets, and criteria of a path if all models have statistics.

        Statistics are collected again, in better coordinates, where digits were lost.
        """
        places = [at for at, model in enumerate(self.models) if model.needs_statistics]
        models, coordinates = [self.models[at] for at in places], self._coordinates(places)
        for look in range(MOST_LOOKS):
            collected = self._collect(models, coordinates, look)
            _check_weights(collected)
            with threads(1):
                found = {
                    at: self._solved(model, collected, at, coordinates[at], f"model {places[at]}, look {look}")
                    for at, model in enumerate(models)
                    if not model.iterates
                }
            lost = [at for at, sets in found.items() if sets is None or sets.squares is None]
            if not [at for at in lost if found[at] is None or look == 0]:
                break
            for at in lost:
                coordinates[at] = models[at].better(coordinates[at], collected.statistics[at])
        else:
            raise TrainingSetError(NOT_UNIQUE)
        criteria = None
        if places == list(range(len(self.models))):
            seen = self.n_rows if self.reader.weights is None else collected.weights.positive
            criteria = path_criteria(self.models, collected.statistics, coordinates, seen)
        sets = {places[at]: each for at, each in found.items() if each is not None}
        for at, model in enumerate(self.models):
            if isinstance(model, GLMModel):
                statistics = collected.statistics[places.index(at)] if at in places else None
                sets[at] = self._iterated(at, model, statistics)
        return collected, [sets[at] for at in range(len(self.models))], criteria

    def _coordinates(self, places: Sequence[int]) -> list[Coordinates]:
        """From the sample, for models at some places."""
        share, root = len(self.sample.y) / self.n_rows, self.sample.root()
        return [self.models[at].coordinates(self.sample.designs[at], self.sample.y, root, share) for at in places]

    def _collect(self, models: Sequence[StreamedModel], coordinates: Sequence[Coordinates], look: int) -> Collected:
        """Statistics of models in these coordinates."""
        task = CollectTask(
            self.reader,
            tuple(model.rows for model in models),
            tuple(coordinates),
            tuple(model.needs_plain for model in models),
            tuple(model.values for model in models),
        )
        name = f"statistics of {len(self.reader.repeats)} repeats, look {look}"
        collected: Collected = self.run(task, add_collected, name)
        return collected

    def _solved(
        self, model: StreamedModel, collected: Collected, at: int, coordinates: Coordinates, where: str
    ) -> TrainingSets | None:
        """All training sets of a model from its statistics, the ``at``-th; None if these have lost their digits."""
        statistics, folds = collected.statistics[at], self.folds
        if model.counts_seen and self.reader.weights is not None:
            folds = folds.seeing(collected.seen)
        if isinstance(model, SearchedModel):
            name = f"{where} of {len(self.reader.repeats)} repeats"
            return solve(model.searching(statistics, coordinates, folds, self.reader, self.run, name), with_pairs=True)
        solver = model.solver(statistics, coordinates, folds, map, self.tick)
        return None if solver is None else solve(solver, with_pairs=True)

    def _iterated(self, at: int, model: GLMModel, statistics: FoldStatistics | None) -> TrainingSets:
        """All training sets of a model that takes passes of its own."""
        where = f"model {at} of {len(self.reader.repeats)} repeats"
        passes = GLMPasses(model, self.reader, self.folds, statistics, self.run, where)
        return passes.fit(self.sample.designs[at], self.n_rows)


def _check_weights(collected: Collected) -> None:
    """Refuse weights that sums over rows do not tell, which the sample may not have shown."""
    if reason := why_lost(collected.weights.ends, MOST_RATIO_OF_SUMS):
        raise RouteError(f"The rows stay where they are, and sums over them do not tell: {reason}, or {IN_MEMORY}.")


def refuse_doubtful(
    models: Sequence[StreamedModel], sets: Sequence[TrainingSets], folds: Folds, log: FailureLog
) -> None:
    """Note values of models at which a training set cannot be had from statistics."""
    first = 0
    for model, each in zip(models, sets, strict=True):
        for repeat, out, values in each.doubtful:
            error = TrainingSetError(
                f"{folds.words(repeat, out)}: the training set does not determine the fit, or so nearly not that "
                "sums over its rows have lost the digits. Drop such columns, use a larger penalty, or read a part "
                "into memory: table.sample(n, random_state)."
            )
            for value in values:
                log.add(error, folds.first + repeat, out, first + value)
        first += model.n_values
    first_errors([each for each in log.found if each.value < first - 1], first - 1)  # raises if nothing is left
