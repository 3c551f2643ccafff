"""The command line: ``onefit run``, ``curve``, ``compare``, ``plan``, ``demo`` and ``config``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
        Always: with 0 if all is well, 1 if the input is bad or nothing can be computed, 2 for usage, 130 after Ctrl-C.

    Examples
    --------
    >>> from onefit.cli import main
    >>> main(["plan", "--rows", "500", "--columns", "21", "--folds", "10"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    SystemExit: 0
    """
    try:
        from .app import app
    except ModuleNotFoundError as error:
        print(f'onefit: the library {error.name!r} is missing; install it: pip install "onefit[cli]".', file=sys.stderr)
        raise SystemExit(1) from None
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show must not end the program
            stream.reconfigure(errors="backslashreplace")
    app(args=None if arguments is None else list(arguments), prog_name="onefit")
