"""How a command ends when it is stopped."""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["CLOSED", "INTERRUPTED", "silence"]

INTERRUPTED, CLOSED = 130, 141
"""Exit codes after Ctrl-C, and if whoever reads standard output goes away: those of a shell."""


def silence() -> None:
    """Lead standard output nowhere, so that Python does not complain at its end that nobody reads it."""
    with contextlib.suppress(OSError, ValueError):  # not a true file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
