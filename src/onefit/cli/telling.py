"""What people who wait are told, at once and also where nobody sees a bar: the plan, and that something is done."""

from __future__ import annotations

import sys

from ..running.waiting import WatchedBar
from .texts import as_options

__all__ = ["CommandBar"]

BEAT, BEAT_OF_FILE = 1.0, 10.0
"""Seconds after which it is said that the work goes on, in a terminal and where lines stay."""


class CommandBar(WatchedBar):
    """The bar of a command: it tells the plan in a line that stays, and in a terminal, too, that the work goes on."""

    def __init__(self) -> None:
        super().__init__(sys.stderr, is_asked_for=False)

    @property
    def beat(self) -> float:
        """Seconds after which it is said that the work goes on."""
        return BEAT_OF_FILE if self._is_file else BEAT

    def plan(self, words: str, is_long: bool = False) -> None:
        """Say what will be done."""
        with self._lock:
            self._draw(f"plan: {as_options(words)}", "\n")
            self._turn_over()
