"""Data of a job on the workers of a cluster: placed there once, and not sent with every fit."""

from __future__ import annotations

import threading
from _thread import interrupt_main
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from joblib.parallel import get_active_backend

from ..errors import ClusterError

__all__ = ["Future", "placed", "watched"]

T = TypeVar("T")

Future: TypeAlias = Any
"""Of Dask: what stands for an object that is on the workers, in calls that are made there."""


LOOK = 0.5
"""Seconds between two looks whether the scheduler is still there."""


def _client() -> Any:
    """The client of joblib's backend, if that is Dask; else None."""
    backend, _ = get_active_backend()
    return getattr(backend, "client", None) if type(backend).__name__ == "DaskDistributedBackend" else None


def placed(data: T) -> T | Future:
    """A copy of the data on every worker, if joblib's backend is Dask; else the data themselves.

    joblib scatters large arguments by itself, but only arrays, to one worker, and anew in every call.
    """
    client = _client()
    if client is None:
        return data
    try:
        return client.scatter(data, broadcast=True, hash=False)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise ClusterError(
            f"The rows could not be placed on the Dask cluster at {client.scheduler.address} ({error}). "
            "Start workers and a new Client, and call again."
        ) from error


@contextmanager
def watched() -> Iterator[None]:
    """End what goes on inside if joblib's backend is Dask and its scheduler is lost: joblib would wait for ever."""
    client = _client()
    if client is None or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can be interrupted
        return
    address, is_over, lost = client.scheduler.address, threading.Event(), threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK):
            if client.status != "running":
                lost.set()
                interrupt_main()
                return

    watcher = threading.Thread(target=look, daemon=True, name="onefit-scheduler")
    watcher.start()
    try:
        yield
    except (KeyboardInterrupt, CancelledError):
        if not lost.is_set() and client.status == "running":
            raise
        lost.set()
    finally:
        is_over.set()
        watcher.join()
    if lost.is_set():
        raise ClusterError(
            f"The Dask scheduler at {address} was lost, or closed, while it fitted. Connect to a new one, Client(...), "
            "and call again; with checkpoint= finished repeats are not lost."
        )
