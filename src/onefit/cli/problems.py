"""What is wrong with a table: everything that was found, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import DataError

__all__ = ["NotationError", "Problems"]

P = ParamSpec("P")
T = TypeVar("T")
MOST_NAMED = 3
"""Columns with numbers in the same notation that are named; they may be all columns of a table."""


class NotationError(DataError):
    """Numbers of a column in another notation, which is usually that of the whole table."""

    def __init__(self, columns: tuple[str, ...], what: str, example: str, remedy: str) -> None:
        named = ", ".join(map(repr, columns[:MOST_NAMED]))
        more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
        verb = "s" if len(columns) > 1 else "", "" if len(columns) > 1 else "s"
        super().__init__(f"Column{verb[0]} {named}{more} hold{verb[1]} {what}, such as {example!r}; give {remedy}.")
        self.columns, self.what, self.example, self.remedy = columns, what, example, remedy

    def beside(self, other: NotationError) -> NotationError:
        """Both as one."""
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return NotationError(columns, self.what, self.example, self.remedy)


class Problems:
    """Collects what is wrong, so that people need not mend one thing to hear of the next."""

    def __init__(self) -> None:
        self.found: list[str | NotationError] = []

    def add(self, text: str) -> None:
        """Keep one, with its remedy."""
        self.found.append(text)

    def tried(self, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | None:
        """What the function returns; None if it found something wrong."""
        try:
            return function(*arguments, **keywords)
        except NotationError as error:
            self._add_notation(error)
        except DataError as error:
            self.add(str(error))
        return None

    def _add_notation(self, error: NotationError) -> None:
        """Keep one, with the columns that have the same."""
        for place, other in enumerate(self.found):
            if isinstance(other, NotationError) and (other.what, other.remedy) == (error.what, error.remedy):
                self.found[place] = other.beside(error)
                return
        self.found.append(error)

    def refuse(self) -> None:
        """Raise if anything was found."""
        found = list(dict.fromkeys(map(str, self.found)))
        if len(found) == 1:
            raise DataError(found[0])
        if found:
            numbered = " ".join(f"({number}) {text}" for number, text in enumerate(found, 1))
            raise DataError(f"The table has {len(found)} problems: {numbered}")
