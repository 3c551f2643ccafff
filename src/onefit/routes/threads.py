"""Threads that compute side by side, and leave BLAS one thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, ClassVar

from threadpoolctl import ThreadpoolController

__all__ = ["threads"]


@contextmanager
def threads(n_threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """A map, by threads that leave BLAS one thread each: also a single one, as BLAS rounds by its number of threads."""
    with _one_blas_thread():
        if n_threads == 1:
            yield map
            return
        pool = ThreadPoolExecutor(n_threads)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)


class _Blas:
    """How many hold BLAS to one thread: the limit is the process's, so the first sets it and the last restores it."""

    lock: ClassVar[Lock] = Lock()
    users: ClassVar[int] = 0
    limits: ClassVar[ThreadpoolController | None] = None


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads in this process: to look for them takes longer than many a job."""
    return ThreadpoolController()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    with _Blas.lock:
        if _Blas.users == 0:
            _Blas.limits = _libraries().limit(limits=1, user_api="blas")
        _Blas.users += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.users -= 1
            if _Blas.users == 0 and _Blas.limits is not None:
                _Blas.limits.restore_original_limits()
