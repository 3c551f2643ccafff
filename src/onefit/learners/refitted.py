"""Estimators that are fitted again on every training set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

from ..typing import Estimator
from .contract import Learner, Refusal

__all__ = ["RefitLearner"]


class RefitLearner(Learner):
    """Estimators, one a parameter value.

    Parameters
    ----------
    estimators : sequence of estimators
    refusal : Refusal
        Why they are refitted.
    frozen : function, default=None
        Of an estimator: the one to fit in its place, with what it would take from all rows fixed, and the exactness of
        that. Asked only if they are really refitted.
    """

    def __init__(
        self,
        estimators: Sequence[Estimator],
        refusal: Refusal = Refusal("asked for"),  # noqa: B008  (frozen)
        frozen: Callable[[Estimator], tuple[Estimator, str]] | None = None,
    ) -> None:
        self._given, self.refusal, self._freeze = tuple(estimators), refusal, frozen

    @property
    def n_values(self) -> int:
        """Number of estimators."""
        return len(self._given)

    @cached_property
    def _frozen(self) -> list[tuple[Estimator, str]]:
        return [(each, self._exactness) if self._freeze is None else self._freeze(each) for each in self._given]

    @property
    def estimators(self) -> list[Estimator]:
        """What is fitted."""
        return [estimator for estimator, _ in self._frozen]

    @property
    def exactness(self) -> str:
        """That of the first: they differ in a parameter only."""
        return self._frozen[0][1]

    def at(self, values: Sequence[int]) -> Self:
        """The estimators at some of the values."""
        return type(self)([self._given[value] for value in values], self.refusal, self._freeze)
