"""The results of a curve, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from .nested import NestedCVResult

__all__ = ["ResultsByValue"]


class ResultsByValue(Sequence[NestedCVResult | None]):
    """What stands in ``curve.results``: a sequence that is read like a tuple.

    A result has tables of all rows, findings and all rules, which take longer than the curve if there are many values
    and outputs, and of which most are never looked at.

    Parameters
    ----------
    n_values : int
    make : mapping of int to function
        By place, what makes the result; there is none where a value could not be fitted.
    """

    def __init__(self, n_values: int, make: Mapping[int, Callable[[], NestedCVResult]]) -> None:
        self._n_values, self._make = n_values, make
        self._made = dict[int, NestedCVResult]()

    def __len__(self) -> int:
        return self._n_values

    @overload
    def __getitem__(self, place: int) -> NestedCVResult | None: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[NestedCVResult | None, ...]: ...

    def __getitem__(self, place: int | slice) -> NestedCVResult | tuple[NestedCVResult | None, ...] | None:
        """The result at a place, or a tuple of those at some."""
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        at = range(len(self))[place]
        if at not in self._make:
            return None
        if at not in self._made:
            self._made[at] = self._make[at]()
        return self._made[at]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the results themselves, and no data."""
        return tuple, (tuple(self),)
