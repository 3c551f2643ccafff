"""Progress of long jobs: a callback, or a line on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from .errors import DataError

__all__ = ["Progress", "progress_of"]


class Progress:
    """Counts finished units and reports them at most five times a second."""

    def __init__(self, report: Callable[[int, int], object], total: int) -> None:
        self.report, self.total, self.done = report, total, 0

    def advance(self, units: int) -> None:
        """Count ``units`` more."""
        self.done += units
        self.report(self.done, self.total)


class _Line:
    """A line on standard error that is overwritten."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self.last < 0.2:
            return
        self.last = now
        left = (now - self.start) / max(done, 1) * (total - done)
        end = "\n" if done >= total else ""
        print(f"\ronefit: {done}/{total}, at most {left:.0f} s left ", end=end, file=sys.stderr, flush=True)


def progress_of(progress: object, total: int) -> Progress | None:
    """None for off, True for a line on standard error, or a callable ``(done, total)``."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Progress(_Line(), total)
    if callable(progress):
        return Progress(progress, total)
    raise DataError(f"progress={progress!r} must be True, False, None or a function of (done, total).")
