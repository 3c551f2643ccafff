"""What goes wrong in a command -> one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from .ending import CLOSED, INTERRUPTED, OutputError, silence

__all__ = ["COMMAND", "Guarded", "will_write"]

COMMAND = "onefit.command"
"""Where the context keeps the command line as it was typed."""

OUTPUTS = "onefit.outputs"
"""Where it keeps the files that are to be written, each with what was there before."""


class Guarded(TyperGroup):
    """Commands whose errors are one line with a remedy; tracebacks are for ``--debug``."""

    # the type of a context is click's, or that of the copy of click which newer versions of typer bring
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep what was typed, for the report."""
        ctx.meta[COMMAND] = shlex.join(["onefit", *args])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say(f"stopped; {_written(ctx)}")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            silence()
            raise typer.Exit(CLOSED) from None
        except Exception as error:
            if _is_for_typer(error) or isinstance(error, OutputError):
                raise
            if ctx.meta.get("onefit.debug"):
                traceback.print_exc()
            _say(_one_line(error))
            raise typer.Exit(1) from None


def will_write(ctx: typer.Context, paths: Iterable[str | Path | None]) -> None:
    """Remember what stands where files will be written, so that an interrupt can tell whether they were."""
    ctx.meta[OUTPUTS] = {str(path): _file_number(path) for path in paths if path is not None}


def _file_number(path: str | Path) -> int | None:
    """What tells a file from the one that replaces it."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _written(ctx: typer.Context) -> str:
    """Which files are new."""
    new = [repr(path) for path, before in ctx.meta.get(OUTPUTS, {}).items() if _file_number(path) != before]
    return f"{' and '.join(new) or 'nothing'} {'were' if len(new) > 1 else 'was'} written"


def _is_for_typer(error: Exception) -> bool:
    """Usage errors and exits, whichever copy of click typer has."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _one_line(error: Exception) -> str:
    """Cause and remedy, on one line."""
    from ..errors import OneFitError
    from .showing import as_options

    text = " ".join(str(error).split())
    if isinstance(error, OneFitError):
        return as_options(text)
    if isinstance(error, MemoryError):
        return "not enough memory for these data; use fewer rows or columns, or --folds 10 in place of leave two out."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"no room is left for a file that is needed ({text}); make room, or, if it is one of --jobs, set TMPDIR or "
            "JOBLIB_TEMP_FOLDER to another folder."
        )
    if isinstance(error, ModuleNotFoundError):
        return f'the library {error.name!r} is missing; install it: pip install "onefit[cli]".'
    return f"internal error: {type(error).__name__}: {text}; please report it. --debug shows the traceback."


def _say(line: str) -> None:
    from .showing import clean

    with contextlib.suppress(OSError):  # who cannot be told is still given the exit code
        print(f"onefit: {clean(line)}", file=sys.stderr, flush=True)
