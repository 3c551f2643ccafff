"""A bar on standard error, with the time that is left."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Bar", "clock"]

WIDTH = 30


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


class Bar:
    """Progress in expected seconds of work, so that cheap and dear settings count as they should."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.total = self.missing = self.done = self.spent = 0.0
        self.began = time.monotonic()

    def start(self, total: float, missing: float) -> None:
        """Say what there is to do, and what is left of it."""
        self.total, self.missing = total, missing
        self._write(f"{100 * (1 - missing / total) if total else 100:.0f}% is already there")

    def advance(self, name: str, cost: float, seconds: float) -> None:
        """Count a finished block."""
        self.done += cost
        self.spent += seconds
        elapsed = time.monotonic() - self.began
        left = elapsed * (self.missing - self.done) / self.done
        self._write(f"{clock(elapsed)} gone, about {clock(left)} left; {name}")

    def close(self) -> None:
        """End the line."""
        self.stream.write("\n")

    def _write(self, text: str) -> None:
        share = 1 - (self.missing - self.done) / self.total if self.total else 1.0
        full = int(WIDTH * share)
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * share:3.0f}%  {text}"
        terminal = self.stream.isatty()
        self.stream.write(f"\r\x1b[2K{line}" if terminal else f"{line}\n")
        self.stream.flush()
