"""Data of a job on the workers of a cluster: placed there once, and not sent with every fit."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from joblib.parallel import get_active_backend

from ..errors import RefitError

__all__ = ["Future", "placed"]

T = TypeVar("T")

Future: TypeAlias = Any
"""Of Dask: what stands for an object that is on the workers, in calls that are made there."""


def placed(data: T) -> T | Future:
    """A copy of the data on every worker, if joblib's backend is Dask; else the data themselves.

    joblib scatters large arguments by itself, but only arrays, to one worker, and anew in every call.
    """
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    if type(backend).__name__ != "DaskDistributedBackend" or client is None:
        return data
    try:
        return client.scatter(data, broadcast=True, hash=False)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise RefitError(
            f"The rows could not be placed on the Dask cluster at {client.scheduler.address} ({error}). "
            "Start workers and a new Client, and call again."
        ) from error
