"""Passes over fragments by threads of this process."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import Queue, SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

import joblib

from .streams import Keep, Piece, add_up

__all__ = ["LocalRunner", "read_ahead"]

READ_AHEAD = 2
"""Blocks that are read while others are computed with, of each piece."""

T = TypeVar("T")


@dataclass(frozen=True)
class LocalRunner:
    """Threads, each with a piece at a time; results wait for nobody but their siblings in the tree."""

    n_threads: int = 1

    @property
    def reads_ahead(self) -> bool:
        """If there are cores for it."""
        return self.n_threads == 1 or 2 * self.n_threads <= joblib.cpu_count()

    def sum(
        self,
        task: Callable[[Piece], T],
        pieces: Sequence[Piece],
        add: Callable[[T, T], T],
        tick: Callable[[int], None],
        keep: Keep | None = None,
    ) -> T:
        """The sum over all pieces."""
        return add_up(partial(self._found, task), pieces, add, tick, keep)

    def some(self, task: Callable[[Piece], T], pieces: Sequence[Piece]) -> Iterable[T]:
        """Results in the order of the pieces."""
        return [found for _, found in self._found(task, pieces)]

    def _found(self, task: Callable[[Piece], T], pieces: Sequence[Piece]) -> Iterator[tuple[int, T]]:
        """Places and results in the order of the pieces, of which so many are under way as there are threads."""
        if self.n_threads == 1 or len(pieces) == 1:
            for piece in pieces:
                yield piece.place, task(piece)
            return
        pool, waiting = ThreadPoolExecutor(self.n_threads), deque[tuple[int, Future[T]]]()
        try:
            for piece in pieces:
                waiting.append((piece.place, pool.submit(task, piece)))
                if len(waiting) > self.n_threads:
                    place, future = waiting.popleft()
                    yield place, future.result()
            while waiting:
                place, future = waiting.popleft()
                yield place, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


class _Threads:
    """Threads that wait for work, and are used again: one that is new has no memory of its own yet to read into."""

    def __init__(self) -> None:
        self.idle: list[SimpleQueue[Callable[[], None]]] = []  # appending and popping are atomic

    def start(self, work: Callable[[], None]) -> None:
        """Do it on a thread that is idle, or on a new one."""
        try:
            todo = self.idle.pop()
        except IndexError:
            todo = SimpleQueue()
            Thread(target=self._serve, args=(todo,), daemon=True).start()
        todo.put(work)

    def _serve(self, todo: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            todo.get()()
            self.idle.append(todo)


_threads = _Threads()
if hasattr(os, "register_at_fork"):  # the threads of a process are not there in its children
    os.register_at_fork(after_in_child=_threads.idle.clear)


def read_ahead(items: Iterator[T], depth: int = READ_AHEAD) -> Iterator[T]:
    """The same items, of which some are made by another thread while the last one is in use."""
    ready: Queue[tuple[bool, Any]] = Queue(depth)
    is_over, is_done = Event(), Event()

    def read() -> None:
        try:
            for item in items:
                ready.put((True, item))
                if is_over.is_set():
                    return
            ready.put((False, None))
        except BaseException as error:  # which is raised where the items are asked for
            ready.put((False, error))
        finally:
            is_done.set()

    _threads.start(read)
    try:
        while True:
            has_more, item = ready.get()
            if not has_more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        is_over.set()
        while not is_done.is_set():  # it may wait for room
            while not ready.empty():
                ready.get()
            is_done.wait(0.01)
