"""A bar for people who wait where nobody sees one, as in a file: a line now and then, whatever a single step takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self, TextIO

import numpy as np

from .progress import REFRESH_FILE, Bar, check_progress, time_text

__all__ = ["WatchedBar", "while_at_work"]


class WatchedBar(Bar):
    """A bar that also says every ten seconds how far it is where nothing can be written over.

    A thread looks after that, since single steps may take minutes.
    """

    def __init__(self, stream: TextIO, is_asked_for: bool) -> None:
        super().__init__(stream, is_asked_for)
        self._began, self._count, self._lock = time.monotonic(), (0, 0), threading.RLock()

    @property
    def beat(self) -> float | None:
        """Seconds after which it is said that the work goes on; None if that is not wanted."""
        return REFRESH_FILE if self._is_file else None

    def plan(self, words: str, is_long: bool = False) -> None:
        """Say what will be done, if it takes long."""
        with self._lock:
            super().plan(words, is_long)

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is."""
        with self._lock:
            self._count = done, total
            super().__call__(done, total)

    def close(self) -> None:
        """Clear the line."""
        with self._lock:
            self._count = (0, 0)
            super().close()

    @contextmanager
    def at_work(self) -> Iterator[Self]:
        """While the library works."""
        if self.beat is None:
            yield self
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended, self.beat), daemon=True)
        self._began = time.monotonic()
        with suppress(RuntimeError):  # where there are no threads, or no more of them, nobody watches
            thread.start()
        try:
            yield self
        finally:
            ended.set()
            if thread.ident is not None:
                thread.join()
            with self._lock:
                super().close()

    def _watch(self, ended: threading.Event, beat: float) -> None:
        while not ended.wait(beat):
            with self._lock:
                if time.monotonic() - self._last >= beat / 2:  # it may just have been said
                    self._show_life()

    def _show_life(self) -> None:
        """How far it is, or, before anything is counted, how long it has been."""
        (done, total), now = self._count, time.monotonic()
        line = (
            self.line(done, total, now - self._start)
            if total
            else f"onefit: at work for {time_text(now - self._began)}"
        )
        self._last = now
        self._draw(line, "\n" if self._is_file else "")
        if self._is_file:
            self._turn_over()

    def _turn_over(self) -> None:
        """Let others write lines: what was written stays."""
        if self._is_drawing and not self._shown:
            self._is_drawing = False
            Bar._turn.release()


@contextmanager
def while_at_work(progress: object) -> Iterator[object]:
    """What a public function reports to while it works: a bar that is watched, if it is to make one."""
    made = check_progress(progress) if progress is None or isinstance(progress, bool | np.bool_) else None
    if not isinstance(made, Bar):
        yield progress
        return
    with WatchedBar(made.stream, made.is_asked_for).at_work() as bar:
        yield bar
