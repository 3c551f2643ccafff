"""Progress of long jobs: a callback, or a line on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .errors import DataError

__all__ = ["Progress", "check_progress"]


class Progress:
    """Counts finished units and reports them as (done, total); ``None`` reports nothing."""

    def __init__(self, report: Callable[[int, int], object] | None, total: int) -> None:
        self.report, self.total, self.done = report, total, 0

    def advance(self, units: int) -> None:
        """Count ``units`` more."""
        self.done = min(self.done + units, self.total)
        if self.report is not None and self.done < self.total:
            self.report(self.done, self.total)

    def finish(self) -> None:
        """Report the end, which a stopping rule may reach before the total."""
        if self.report is not None:
            self.report(self.total, self.total)


class _Line:
    """A line on standard error, overwritten at most five times a second."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self.last < 0.2:
            return
        self.last = now
        left = f"at most {(now - self.start) / max(done, 1) * (total - done):.0f} s left"
        message = "done" if done >= total else f"{done}/{total}, {left}"
        print(f"\ronefit: {message:<40}", end="\n" if done >= total else "", file=sys.stderr, flush=True)


def check_progress(progress: Any) -> Callable[[int, int], object] | None:
    """None for off, a line on standard error for True, or the callable itself."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Line()
    if callable(progress):
        report: Callable[[int, int], object] = progress
        return report
    raise DataError(f"progress={progress!r} must be True, False, None or a function of (done, total).")
