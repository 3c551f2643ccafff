"""What is wrong with a table: everything that was found, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import DataError

__all__ = ["Problems"]

P = ParamSpec("P")
T = TypeVar("T")


class Problems:
    """Collects what is wrong, so that people need not mend one thing to hear of the next."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, text: str) -> None:
        """Keep one, with its remedy."""
        self.found.append(text)

    def tried(self, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | None:
        """What the function returns; None if it found something wrong."""
        try:
            return function(*arguments, **keywords)
        except DataError as error:
            self.add(str(error))
            return None

    def refuse(self) -> None:
        """Raise if anything was found."""
        found = list(dict.fromkeys(self.found))
        if len(found) == 1:
            raise DataError(found[0])
        if found:
            numbered = " ".join(f"({number}) {text}" for number, text in enumerate(found, 1))
            raise DataError(f"The table has {len(found)} problems: {numbered}")
