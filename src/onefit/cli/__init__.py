"""The command line: ``onefit run``, ``curve``, ``compare``, ``plan``, ``demo`` and ``config``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

from ..errors import how_to_install
from .ending import CLOSED, INTERRUPTED, Output, OutputError, silence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave Python with its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What stands after ``onefit``; None is the command line.

    Raises
    ------
    SystemExit
        Always: with 0 if all is well, 1 if the input is bad or nothing can be computed, 2 for usage, 130 after Ctrl-C,
        141 if whoever reads standard output stops reading.

    Examples
    --------
    >>> from onefit.cli import main
    >>> main(["plan", "--rows", "500", "--columns", "21", "--folds", "10"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    SystemExit: 0
    """
    try:
        with contextlib.redirect_stdout(Output(sys.stdout)) if sys.stdout is not None else contextlib.nullcontext():
            _run(arguments)
    except OutputError as error:
        print(
            f"onefit: standard output cannot be written: {error}; the answer was not shown. Make room, or lead it "
            "elsewhere.",
            file=sys.stderr,
        )
        silence()
        raise SystemExit(1) from None
    except KeyboardInterrupt:  # while the libraries are imported; later ones are caught where more is known
        print("onefit: stopped; nothing was written", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except (BrokenPipeError, SystemExit) as end:
        # rich and click turn a closed pipe into an exit with 1
        if not isinstance(end, BrokenPipeError) and not isinstance(end.__context__, BrokenPipeError):
            raise
        silence()
        raise SystemExit(CLOSED) from None


def _run(arguments: Sequence[str] | None) -> None:
    """Import the commands and run one of them."""
    try:
        from .app import app
    except ModuleNotFoundError as error:
        print(f"onefit: the library {error.name!r} is missing: {how_to_install('cli')}.", file=sys.stderr)
        raise SystemExit(1) from None
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show must not end the program
            stream.reconfigure(errors="backslashreplace")
    try:
        app(args=None if arguments is None else list(arguments), prog_name="onefit")
    finally:
        sys.stdout.flush()  # here, where a reader that has gone away can still be met
