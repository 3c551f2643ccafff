"""Models, data and settings -> the job that the public functions run."""

from __future__ import annotations

from ..running.contenders import Contender
from ..running.job import Job
from ..running.makejob import make_job
from ..running.settings import Settings
from ..running.streaming import make_streamed_job
from ..sources import Table, is_dask, scan
from ..typing import Data, Rows

__all__ = ["job_of"]


def job_of(contenders: list[Contender], X: Data, y: Rows | str, settings: Settings) -> Job:
    """A job on rows in memory, or on a table."""
    X = scan(X) if is_dask(X) else X
    make = make_streamed_job if isinstance(X, Table) else make_job
    return make(contenders, X, y, settings)  # type: ignore[arg-type]
