"""Finished repeats in a file, so that a job that was stopped goes on where it ended.

The file begins with a line that names its format and the job: a fingerprint of the data, the estimators, the folds and
the settings. What follows is read only if that is the same.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError

__all__ = ["Checkpoint"]

MAGIC = "onefit checkpoint 1"


@dataclass(frozen=True)
class Checkpoint:
    """A file for the finished repeats of one job.

    Attributes
    ----------
    path : Path
    job : str
        Fingerprint of the job.
    """

    path: Path
    job: str

    @property
    def _head(self) -> bytes:
        return f"{MAGIC} {self.job}\n".encode()

    def load(self) -> Any:
        """What was saved last; None if there is no file yet."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"checkpoint={str(self.path)!r} cannot be read: {error}.") from error
        head, _, rest = content.partition(b"\n")
        if not head.startswith(MAGIC.encode()):
            raise DataError(
                f"checkpoint={str(self.path)!r} is no checkpoint of this version of onefit; name another file."
            )
        if head + b"\n" != self._head:
            raise DataError(
                f"checkpoint={str(self.path)!r} is of another job: its data, estimators, folds or settings differ. "
                "Name another file, or remove this one."
            )
        try:
            return pickle.loads(rest)
        except Exception as error:
            raise DataError(f"checkpoint={str(self.path)!r} is damaged ({error}); remove it.") from error

    def save(self, state: Any) -> None:
        """Put a new state in the place of the last one: whole, or not at all."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self._head)
                pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)
            os.replace(name, self.path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(name)
            if isinstance(error, OSError):
                raise DataError(f"checkpoint={str(self.path)!r} cannot be written: {error}.") from error
            raise
