"""Progress of long jobs: a callback, or a bar with the expected time on standard error."""

from __future__ import annotations

import math
import multiprocessing
import os
import reprlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import ClassVar, TextIO, cast

import numpy as np

from ..errors import DataError
from ..metrics.givenlosses import takes_two
from ..routes import Units

__all__ = [
    "TOO_LONG",
    "Bar",
    "Progress",
    "Stopped",
    "Units",
    "about_text",
    "check_progress",
    "fine_time_text",
    "time_text",
]

PATIENCE = 1.0
"""Seconds that a job may take without a bar, unless the user asks for one."""

REFRESH, REFRESH_FILE = 0.1, 10.0
"""Seconds between two looks of the bar, and between two lines where nothing can be written over, as in a file."""

LONG = 5.0
"""Seconds of refits from which a line says in advance how many there are and how long they take."""

DAY, YEAR, MOST_YEARS = 86_400.0, 365.25 * 86_400.0, 1000
TOO_LONG = "more than a thousand years"
"""What is said of times beyond that: no figure there would be believed."""

LONGEST, SHORTEST = 30, 8
"""Blocks of a bar; what does not fit beside the shortest one is left out."""

Report = Callable[[int, int], object]


class Stopped(Exception):
    """Ends a thread for whose result nobody waits any more."""


class Progress:
    """Counts finished units, from any thread, and reports them as (done, total); ``None`` reports nothing.

    Reports come one at a time and never go back; the first is (0, total), and the last, of a job that ends well, is
    (total, total). One that the user stopped does not end so, whatever is left of it.
    """

    def __init__(self, report: Report | None) -> None:
        self.report, self.done, self.total, self.before = report, 0, 0, 0
        self.was_interrupted = False
        self._lock, self._is_stopped = Lock(), False

    def plan(self, words: str, is_long: bool = False) -> None:
        """Tell what will be done, before it is begun, if that is wanted."""
        if isinstance(self.report, Bar):
            self.report.plan(words, is_long)

    @contextmanager
    def running(self, units: Units) -> Iterator[None]:
        """While the job runs; its end may come before the total, by a stopping rule or by the user."""
        with self._counting(self.before, self.before + units.total, units):
            yield
            if not self.was_interrupted:
                self._tell(self.total)

    @contextmanager
    def piloting(self, own: int, units: Units) -> Iterator[None]:
        """While a pilot of so many units runs, before the job of which ``units`` are expected."""
        with self._counting(0, own + units.total, units):
            yield
        self.before = own

    @contextmanager
    def _counting(self, done: int, total: int, units: Units) -> Iterator[None]:
        self.done, self.total, self._is_stopped = done, total, False
        bar = self.report if isinstance(self.report, Bar) else None
        try:
            if bar is not None:
                bar.units = units
            self._tell(done)
            yield
        finally:
            if bar is not None:
                bar.close()

    def advance(self, units: int) -> None:
        """Count ``units`` more; raises `Stopped` once the job has been stopped."""
        with self._lock:
            if self._is_stopped:
                raise Stopped
            before, self.done = self.done, min(self.done + units, self.total)
            if before < self.done < self.total:
                self._tell(self.done)

    def stop(self) -> None:
        """Let threads that still count end."""
        self._is_stopped = True

    def _tell(self, done: int) -> None:
        if self.report is not None:
            self.report(done, self.total)


class Bar:
    """A line on a stream, written over as the job goes on.

    If nobody has asked for it, it begins after a second and does not stay, and where nothing can be written over there
    is none (`waiting.WatchedBar` has lines there); but refits that will take long are announced, everywhere, in a line
    that stays.

    Parameters
    ----------
    stream : text stream
    is_asked_for : bool
        Whether it is shown at once, and its last state stays.
    """

    _turn: ClassVar[Lock] = Lock()  # two bars in one line can be read by nobody

    def __init__(self, stream: TextIO, is_asked_for: bool) -> None:
        self.stream, self.is_asked_for, self.units = stream, is_asked_for, Units(0)
        self._start, self._last, self._shown, self._is_drawing = time.monotonic(), -REFRESH_FILE, 0, False
        self._full, self._empty = _blocks(stream)
        self._is_file = not _is_seen(stream)
        self._first: tuple[int, float] | None = None
        self._is_announced = is_asked_for

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` units are done."""
        now = time.monotonic()
        if done == 0:
            self._start, self._first = now, None
        elapsed = now - self._start
        if self._first is None and (self.units.at_once == 1 or done >= self.units.at_once):
            self._first = done, elapsed
        self._announce(done, total, elapsed)
        if done >= total:
            if self.is_asked_for:
                self._draw(f"onefit  {self._full * SHORTEST}  done in {time_text(elapsed)}", "\n")
        elif now - self._last >= self._refresh and (self.is_asked_for or (elapsed >= PATIENCE and not self._is_file)):
            self._last = now
            self._draw(self.line(done, total, elapsed), "\n" if self._is_file else "")

    def _announce(self, done: int, total: int, elapsed: float) -> None:
        """Say once how many fits there are and about how long they take, if the first ones tell that it is long."""
        if self._is_announced or self.units.name != "fits" or done >= total:
            return
        if self._first is None or done - self._first[0] < self.units.at_once or elapsed - self._first[1] < PATIENCE:
            return
        seconds = elapsed + self._left(done, total, elapsed)
        if seconds > LONG:
            self._is_announced = True
            start = f"at most {total} fits, which would take" if self.units.is_most else f"{total} fits,"
            self._draw(f"onefit: {start} about {time_text(seconds)}", "\n")

    def plan(self, words: str, is_long: bool = False) -> None:
        """Be told what will be done; a bar in a terminal says it by its units, unless it is said to take long."""
        if is_long:
            self._draw(f"onefit: {words}", "\n")

    def _left(self, done: int, total: int, elapsed: float) -> float:
        """Seconds to come, by the pace so far; infinite if it is not known.

        Where several are fitted at once, those that come back first have waited for their workers to begin: they do
        not count.
        """
        count, since = self._first or (0, 0.0)
        return (elapsed - since) / (done - count) * (total - done) if done > count else math.inf

    @property
    def _refresh(self) -> float:
        return REFRESH_FILE if self._is_file else REFRESH

    def line(self, done: int, total: int, elapsed: float) -> str:
        """The bar, the share, the count and the time left, as far as they fit."""
        part, words = done / total, self._words(done, total, elapsed)
        room = _width(self.stream) - 1  # in the last column some terminals begin a new line
        while len(words) > 1 and len("  ".join(["onefit", *words])) + 2 + SHORTEST > room:
            del words[1]  # the count, and then the time
        words = [word for word in words if word]
        length = min(LONGEST, max(room - len("  ".join(["onefit", *words])) - 2, 1))
        filled = int(length * part)
        return "  ".join(["onefit", self._full * filled + self._empty * (length - filled), *words])

    def _words(self, done: int, total: int, elapsed: float) -> list[str]:
        """Share, count and time left; where a rule stops repeats, mostly long before the last, the time of one.

        Until there is a pace, times are those of the plan.
        """
        each, name, seconds = self.units.each, self.units.name, self._left(done, total, elapsed)
        planned = ""
        if math.isinf(seconds) and self.units.planned:
            seconds, planned = self.units.planned * (total - done) / each, ", by the plan"
        is_known = math.isfinite(seconds) and done < total
        if self.units.is_most and name == "repeats":
            pace = fine_time_text(seconds / (total - done) * each) if is_known else ""
            return [f"{done // each} of at most {total // each} repeats", f"{pace} each{planned}" if pace else ""]
        about = "at most" if self.units.is_most else "about"
        left = f"{about} {time_text(seconds)} left{planned}" if math.isfinite(seconds) else ""
        return [f"{int(100 * done / total)}%", f"{done // each}/{total // each} {name}", left]

    def close(self) -> None:
        """Clear what was not finished."""
        if self._shown:
            self._draw("", "\r")
        if self._is_drawing:
            self._is_drawing = False
            Bar._turn.release()

    def _draw(self, text: str, end: str = "") -> None:
        """Write over the line; a stream that cannot be written to is nothing to stop for."""
        if not self._is_drawing and not Bar._turn.acquire(blocking=False):
            return
        self._is_drawing = True
        try:
            self.stream.write(f"{'' if self._is_file else chr(13)}{text:<{self._shown}}{end}")
            self.stream.flush()
        except (OSError, ValueError):  # closed, or gone
            pass
        self._shown = 0 if end else len(text)


def check_progress(progress: object) -> Report | None:
    """What reports: the callable itself, a bar for True, none for False; None is a bar that hides from files."""
    if isinstance(progress, np.bool_):
        progress = bool(progress)
    if progress is None or progress is True:
        stream = sys.stderr  # None if there is no console
        return Bar(stream, progress is True) if stream is not None and (progress or _is_first()) else None
    if progress is False:
        return None
    if takes_two(progress):
        return cast(Report, progress)
    raise DataError(
        f"progress={reprlib.repr(progress)} must be True, False, None or a function that can be called with "
        "(done, total)."
    )


def _is_first() -> bool:
    """Whether this process is nobody's worker."""
    return multiprocessing.current_process().name == "MainProcess"


def _is_seen(stream: TextIO) -> bool:
    """Whether a stream is a terminal or a notebook's, and this process nobody's worker."""
    if not _is_first():
        return False
    try:
        is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, OSError, ValueError):
        return False
    return is_terminal or _in_notebook()


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython is not None and getattr(get_ipython(), "kernel", None) is not None


def _blocks(stream: TextIO) -> tuple[str, str]:
    """Characters for done and to come that the stream can write."""
    try:
        "█░".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#", "-"
    return "█", "░"


def _width(stream: TextIO) -> int:
    """Columns of the terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):
        return shutil.get_terminal_size().columns


def fine_time_text(seconds: float) -> str:
    """A time to two digits, which a short one keeps."""
    return f"{seconds:.2g} s" if seconds < 99.5 else time_text(seconds)


def time_text(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 3 * DAY:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / DAY:.0f} days" if seconds < 2 * YEAR else f"{seconds / YEAR:.0f} years"


def about_text(seconds: float, write: Callable[[float], str] = time_text) -> str:
    """An estimated time; beyond what anybody waits for, only that."""
    return TOO_LONG if seconds >= MOST_YEARS * YEAR else f"about {write(seconds)}"
