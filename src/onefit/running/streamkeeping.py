"""Sums of finished pieces of a table in a file, so that passes that were stopped go on where they ended."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib

from ..errors import DataError
from ..routes.checkpoint import Checkpoint
from ..sources import Fragment, Table

__all__ = ["StreamCheckpoint", "stream_checkpoint"]

SECONDS = 10.0
"""Between two times that the file is written."""


class StreamCheckpoint:
    """A file with the sums of all passes of one job, as far as they are complete."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._passes: dict[str, dict[tuple[int, int], Any]] = checkpoint.load() or {}
        self._written = time.monotonic()

    def keep(self, name: str) -> _Pass:
        """Where the sums of a pass are kept."""
        return _Pass(self, name)

    def of(self, name: str) -> dict[tuple[int, int], Any]:
        """Sums of a pass that an earlier call has left."""
        return dict(self._passes.get(name, {}))

    def note(self, name: str, nodes: dict[tuple[int, int], Any]) -> None:
        """Hear of the sums of a pass, which are written now and then."""
        self._passes[name] = nodes
        if time.monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> None:
        """Write all that is known, if anything is."""
        if not self._passes:
            return
        self._checkpoint.save(self._passes)
        self._written = time.monotonic()


class _Pass:
    def __init__(self, file: StreamCheckpoint, name: str) -> None:
        self._file, self._name = file, name

    def load(self) -> dict[tuple[int, int], Any]:
        """Sums that an earlier call has left."""
        return self._file.of(self._name)

    def save(self, nodes: dict[tuple[int, int], Any]) -> None:
        """Keep these, now and then."""
        self._file.note(self._name, nodes)


def stream_checkpoint(path: object, table: Table, is_seeded: bool, parts: Sequence[object]) -> StreamCheckpoint:
    """The file that was named, for this very job: the files of the table and what else it is made of."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"checkpoint={path!r} must be the path of a file.")
    path = Path(path)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise DataError(f"checkpoint={str(path)!r} must be a file in a directory that exists.")
    if not is_seeded:
        raise DataError("checkpoint needs random_state=, or folds: else a second call would draw other partitions.")
    versions = [metadata.version(name) for name in ("onefit", "numpy", "scikit-learn")]
    try:
        fingerprint = joblib.hash(([_stamp(each) for each in table.fragments], versions, list(parts)))
    except DataError:
        raise
    except Exception as error:  # whatever an estimator holds that cannot be pickled
        raise DataError(f"checkpoint cannot tell this job from others: {type(error).__name__}: {error}.") from error
    return StreamCheckpoint(Checkpoint(path, str(fingerprint)))


def _stamp(fragment: Fragment) -> object:
    """What tells a fragment from others, and from a later one of the same name."""
    inner = getattr(fragment, "fragment", None)
    if inner is not None:
        vectors = getattr(fragment, "vectors", {})
        return _stamp(inner), joblib.hash(dict(vectors)), fragment.n_rows
    location = getattr(fragment, "location", None)
    if location is None:
        raise DataError(
            "checkpoint tells files from others by their size and time, and this table is in memory; leave it out."
        )
    return fragment.name, location.path, location.stamp
