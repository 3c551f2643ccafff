"""Repeats that are complete, what failed in them, and which are computed together."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass

from ..errors import OneFitError
from ..inference.fold_errors import Failure, FoldErrors, SingleErrors, concatenate
from ..inference.rowtotals import RowTotals

__all__ = ["Collected", "first_errors", "is_second", "spans_of"]


@dataclass(frozen=True)
class Collected:
    """Fold errors of complete repeats, sums over their held-out rows, what failed, and whether the user stopped it."""

    totals: RowTotals
    blocks: tuple[FoldErrors, ...] = ()
    failures: tuple[Failure, ...] = ()
    is_stopped: bool = False

    @property
    def n_repeats(self) -> int:
        """Repeats that are complete."""
        return sum(block.n_repeats for block in self.blocks)

    @property
    def errors(self) -> FoldErrors:
        """The fold errors as one table."""
        return concatenate(self.blocks)

    def plus(self, single: SingleErrors, errors: FoldErrors, in_place: bool) -> Collected:
        """With a block more; not in place if what is complete must survive an interruption at any moment."""
        totals = self.totals if in_place else deepcopy(self.totals)
        single.add_to(totals)
        return Collected(totals, (*self.blocks, errors), (*self.failures, *single.failures))


def first_errors(failures: Iterable[Failure], n_values: int) -> dict[int, OneFitError]:
    """By value, what went wrong first; raises it, with the place of the value, if none is left."""
    errors: dict[int, OneFitError] = {}
    for failure in sorted(failures, key=lambda failure: failure.order):
        errors.setdefault(failure.value, failure.error)
    if len(errors) == n_values:
        value, error = next(iter(errors.items()))
        error.place = value
        raise error
    return errors


def is_second(error: BaseException, outer: BaseException | None) -> bool:
    """Whether the user has interrupted what another interruption had set going; ``outer`` was there before."""
    earlier = error.__context__
    if earlier is None or earlier is outer:
        return False
    return isinstance(earlier, KeyboardInterrupt) or is_second(earlier, outer)


def spans_of(start: int, goal: int, step: int, n_threads: int) -> list[tuple[int, int]]:
    """Repeats of each block; for threads the first by itself, which they wait for, and then some blocks for each."""
    if n_threads == 1:
        return [(low, min(low + step, goal)) for low in range(start, goal, step)]
    first = 1 if start == 0 else start
    each = max(1, min(step, -(-(goal - first) // (4 * n_threads))))
    later = [(low, min(low + each, goal)) for low in range(first, goal, each)]
    return [(start, first), *later] if first > start else later
