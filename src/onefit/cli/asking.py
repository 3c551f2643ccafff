"""What was asked for: options, parsed and checked, and what they are in Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from .reading import Source

__all__ = [
    "Ask",
    "Penalties",
    "Roles",
    "parse_folds",
    "parse_loss",
    "parse_penalties",
    "parse_repeats",
    "parse_values",
]

LOSSES = ("squared_error", "absolute_error", "huber", "pinball", "zero_one")
MOST_VALUES = 1000


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
    def values(self) -> Any:
        """The range."""
        import numpy as np

        return np.geomspace(self.low, self.high, self.count)


@dataclass(frozen=True)
class Roles:
    """What the user says of the columns."""

    target: str
    groups: str | None = None
    weights: str | None = None
    drop: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    impute: bool = False
    drop_missing_target: bool = False
    max_levels: int = 30
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    classes: bool = False


@dataclass(frozen=True)
class Ask:
    """All that a command was told."""

    command: str
    source: Source
    roles: Roles
    models: tuple[str, ...]
    penalties: Penalties | None
    tuned: str | None
    folds: int | str
    repeats: int | str
    loss: str | None
    interval: str
    level: float
    freeze: bool
    route: str
    jobs: int | None
    seed: int
    report: Path | None
    json: str | None
    force: bool
    quiet: bool
    param: str | None = None
    values: tuple[Any, ...] = ()
    simpler: str = "larger"

    @property
    def lam(self) -> float | None:
        """The one penalty that was given."""
        return None if self.penalties is None else self.penalties.one

    @property
    def range(self) -> Penalties | None:
        """The range of penalties that was given."""
        return None if self.penalties is None or self.penalties.one is not None else self.penalties

    @property
    def wants_file(self) -> bool:
        """Whether a report or JSON is to be written."""
        return self.report is not None or self.json is not None

    def keywords(self) -> dict[str, Any]:
        """Keywords of the public functions that are plain values and not the default."""
        given = {
            "n_folds": (self.folds, "auto"),
            "n_repeats": (self.repeats, "auto"),
            "confidence_level": (self.level, 0.95),
            "interval": (self.interval, "covariance"),
            "transformers": ("freeze" if self.freeze else "refit", "refit"),
            "route": (self.route, "auto"),
            "random_state": (self.seed, None),
            "n_jobs": (self.jobs, None),
        }
        return {name: value for name, (value, default) in given.items() if value != default}

    def loss_code(self) -> str:
        """The loss in Python; empty for the default."""
        if self.loss is None:
            return ""
        name, _, parameter = self.loss.partition(":")
        return f"onefit.losses.{name}({float(parameter)!r})" if parameter else repr(name)


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise typer.BadParameter(f"{text!r} is not a number; {what}")
    return number


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


def parse_folds(text: str) -> int | str:
    """A number, "n" or "auto"."""
    if text in ("n", "auto"):
        return text
    return _count(text, 3, "n (leave two out) or auto")


def parse_repeats(text: str) -> int | str:
    """A number or "auto"."""
    return text if text == "auto" else _count(text, 1, "auto")


def _count(text: str, least: int, also: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise typer.BadParameter(f"{text!r} must be a whole number, at least {least}, or {also}")
    return int(text)


def parse_loss(text: str) -> str:
    """A name, with a parameter after a colon for huber and pinball."""
    name, colon, parameter = text.partition(":")
    if name not in LOSSES or (colon and name not in ("huber", "pinball")):
        raise typer.BadParameter(f"{text!r} is unknown; choose {', '.join(LOSSES)}, huber:DELTA or pinball:QUANTILE")
    if colon:
        value = _number(parameter, "give huber:DELTA or pinball:QUANTILE")
        if value <= 0 or (name == "pinball" and value >= 1):
            raise typer.BadParameter(f"{text!r} needs a positive number, for pinball below 1")
    return text


def parse_values(text: str) -> tuple[Any, ...]:
    """Values between commas: whole numbers, numbers, True, False, None, or words."""
    found = tuple(_value(part.strip()) for part in text.split(",") if part.strip())
    if len(found) < 2:
        raise typer.BadParameter("give at least two values, such as 1,2,5")
    return found


def _value(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
