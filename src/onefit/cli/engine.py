"""Whoever reads a table: this process, or Dask's workers."""

from __future__ import annotations

from ..errors import ClusterError, DataError, how_to_install
from ..sources import Table
from .options import DASK, Source

__all__ = ["on_dask", "scan_code", "uses_dask"]

PATIENCE = 20
"""Seconds to wait for a scheduler."""


def uses_dask(source: Source) -> bool:
    """Whether workers of Dask are to read."""
    return source.engine == DASK


def scan_code(source: Source) -> str:
    """The Python that makes the table."""
    code = f"table = onefit.scan({source.data!r})"
    if not uses_dask(source):
        return code
    address = "" if source.scheduler is None else repr(source.scheduler)
    return f"from distributed import Client\n\n{code}.on_dask(Client({address}))"


def on_dask(table: Table, source: Source) -> Table:
    """The table as the workers read it, of the scheduler that is named or of processes here."""
    try:
        from distributed import Client
    except ImportError as error:
        raise DataError(f"--engine dask needs Dask, which is not installed: {how_to_install('dask')}.") from error
    address = source.scheduler
    try:
        client = Client(timeout=PATIENCE) if address is None else Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {address or 'the configured address'} ({error}). Start one (dask scheduler, "
            "dask worker), or leave --scheduler out for processes on this machine."
        ) from error
    if not client.scheduler_info()["workers"]:
        client.close()
        raise ClusterError(f"The Dask scheduler at {address} has no workers; start some: dask worker {address}.")
    return table.on_dask(client)
