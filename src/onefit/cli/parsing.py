"""Texts of options -> values, or one sentence that says what is wrong with them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal, TypeAlias

import typer

from ..vocabulary import LOSS_WORDS, METRIC_HINTS, Folds, Repeats

if TYPE_CHECKING:
    from ..typing import FloatArray

__all__ = [
    "LOSS_FORMS",
    "Penalties",
    "Value",
    "one_of",
    "parse_delimiter",
    "parse_folds",
    "parse_loss",
    "parse_mark",
    "parse_penalties",
    "parse_repeats",
    "parse_scoring",
    "parse_values",
    "whole_number",
]

LOSS_FORMS = {"huber": "huber:DELTA", "pinball": "pinball:QUANTILE"}
"""Losses that take a parameter, and how it is written."""

MOST_VALUES = 1000

Value: TypeAlias = bool | int | float | str | None
"""A value of a parameter, as --values gives it."""


@dataclass(frozen=True)
class Penalties:
    """One penalty, or a range of them in even steps of the logarithm."""

    low: float
    high: float
    count: int

    @property
    def one(self) -> float | None:
        """The penalty, if it is one."""
        return self.low if self.count == 1 else None

    @property
    def code(self) -> str:
        """The range in Python."""
        return f"np.geomspace({self.low!r}, {self.high!r}, {self.count})"

    @property
    def values(self) -> FloatArray:
        """The range."""
        import numpy as np

        return np.geomspace(self.low, self.high, self.count)


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """A parser of one of several words."""
    words = tuple(choices)

    def parse(text: str) -> str:
        if text not in words:
            near = difflib.get_close_matches(text, words, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise typer.BadParameter(f"{text!r} is none of {', '.join(words)}{meant}")
        return text

    return parse


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise typer.BadParameter(f"{text!r} is not a number; {what}")
    return number


def whole_number(least: int, most: int = 10**15) -> Callable[[str], int]:
    """A parser of a whole number in a range, also of 1e6."""

    def parse(text: str) -> int:
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite():
            raise typer.BadParameter(f"{text!r} is no number; give a whole one, such as 1000 or 1e6")
        if number.adjusted() > 20 or number > most:
            raise typer.BadParameter(f"{text!r} is more than any table has; give at most {most:g}".replace("e+", "e"))
        if number < least:
            raise typer.BadParameter(f"{text!r} is too small; give at least {least}")
        if number != int(number):
            raise typer.BadParameter(f"{text!r} is not whole; give a number such as 1000 or 1e6")
        return int(number)

    return parse


def parse_penalties(text: str) -> Penalties:
    """``value`` or ``lo:hi:count``."""
    form = "give one penalty such as 0.5, or lo:hi:count such as 0.001:1000:30"
    parts = text.split(":")
    if len(parts) == 1:
        value = _number(text, form)
        if value < 0:
            raise typer.BadParameter(f"{text!r} is negative; {form}")
        return Penalties(value, value, 1)
    if len(parts) != 3 or not parts[2].isdecimal():
        raise typer.BadParameter(f"{text!r} is not understood; {form}")
    low, high, count = _number(parts[0], form), _number(parts[1], form), int(parts[2])
    if not 0 < low < high or not 2 <= count <= MOST_VALUES:
        raise typer.BadParameter(f"{text!r} needs 0 < lo < hi and a count from 2 to {MOST_VALUES}; {form}")
    return Penalties(low, high, count)


def parse_folds(text: str) -> Folds:
    """A number, "n" or "auto"."""
    words: dict[str, Literal["n", "auto"]] = {"n": "n", "auto": "auto"}
    return words[text] if text in words else _count(text, 3, "n (leave two out) or auto")


def parse_repeats(text: str) -> Repeats:
    """A number or "auto"."""
    return "auto" if text == "auto" else _count(text, 1, "auto")


def _count(text: str, least: int, also: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise typer.BadParameter(f"{text!r} must be a whole number, at least {least}, or {also}")
    return int(text)


def parse_loss(text: str) -> str:
    """A name, with a parameter after a colon for huber and pinball."""
    name, colon, parameter = text.partition(":")
    forms = " or ".join(LOSS_FORMS.values())
    if name not in LOSS_WORDS or (colon and name not in LOSS_FORMS):
        score, loss = METRIC_HINTS.get(name, ("", ""))
        meant = " or ".join(filter(None, [f"--loss {loss}" if loss else "", f"--scoring {score}" if score else ""]))
        if meant:
            raise typer.BadParameter(f"{text!r} is not the name of a loss: give {meant}")
        raise typer.BadParameter(f"{text!r} is unknown; choose {', '.join(LOSS_WORDS)}, {forms}")
    if colon:
        value = _number(parameter, f"give {forms}")
        if value <= 0 or (name == "pinball" and value >= 1):
            raise typer.BadParameter(f"{text!r} needs a positive number, for pinball below 1")
    return text


def parse_scoring(text: str) -> tuple[str, ...]:
    """Names of scores between commas; which of them suit the target is for the library to say."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise typer.BadParameter("give the name of a score, or several such as roc_auc,neg_log_loss")
    return names


def parse_values(text: str) -> tuple[Value, ...]:
    """Values between commas: whole numbers, numbers, True, False, None, or words."""
    found = tuple(_value(part.strip()) for part in text.split(",") if part.strip())
    if len(found) < 2:
        raise typer.BadParameter("give at least two values, such as 1,2,5")
    return found


def _value(text: str) -> Value:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_delimiter(text: str) -> str:
    """One character, or the name of one."""
    known = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
    character = known.get(text, text)
    if len(character) != 1 or character in '"\r\n':
        raise typer.BadParameter(f"{text!r} must be one character, or tab, comma, semicolon, space, pipe")
    return character


def parse_mark(text: str) -> str:
    """One character that is neither letter nor digit."""
    if len(text) != 1 or text.isalnum():
        raise typer.BadParameter(f"{text!r} must be one character, such as a comma")
    return text
