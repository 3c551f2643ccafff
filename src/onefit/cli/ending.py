"""How a command ends when it is stopped."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TextIO, TypeVar

__all__ = ["CLOSED", "INTERRUPTED", "USAGE", "Output", "OutputError", "silence"]

P = ParamSpec("P")
T = TypeVar("T")

USAGE, INTERRUPTED, CLOSED = 2, 130, 141
"""Exit codes: a command line that is not understood, Ctrl-C, and nobody reads standard output any more; a shell's."""


def silence() -> None:
    """Lead standard output nowhere, so that Python does not complain at its end that nobody reads it."""
    with contextlib.suppress(OSError, ValueError):  # not a true file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class OutputError(Exception):
    """Standard output cannot be written to, though somebody may read it: a full disk, as a rule."""


class Output:
    """A stream that tells its own errors from those of other files; one that nobody reads is another matter."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        return _told(self._stream.write, text)

    def flush(self) -> None:
        """Write what was held back."""
        _told(self._stream.flush)


def _told(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    try:
        return function(*arguments, **keywords)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error
