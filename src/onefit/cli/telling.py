"""What people who wait are told, at once and also where nobody sees a bar: the plan, and that something is done."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..running.progress import Bar, time_text
from .texts import as_options

__all__ = ["CommandBar"]

BEAT, BEAT_OF_FILE = 1.0, 10.0
"""Seconds after which it is said that the work goes on, in a terminal and where lines stay."""


class CommandBar(Bar):
    """The bar of a command: it tells the plan in a line that stays, and every ten seconds how far it is in a file.

    A thread looks after that, since single steps may take minutes.
    """

    def __init__(self) -> None:
        super().__init__(sys.stderr, is_asked_for=False)
        self._began, self._count, self._lock = time.monotonic(), (0, 0), threading.RLock()

    def plan(self, words: str, is_long: bool = False) -> None:
        """Say what will be done."""
        with self._lock:
            self._draw(f"plan: {as_options(words)}", "\n")
            self._turn_over()

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
    def at_work(self) -> Iterator[CommandBar]:
        """While the library works."""
        ended = threading.Event()
        thread = threading.Thread(target=self._beat, args=(ended,), daemon=True)
        self._began = time.monotonic()
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()
            with self._lock:
                super().close()

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(BEAT_OF_FILE if self._is_file else BEAT):
            with self._lock:
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
