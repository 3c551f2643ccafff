"""What goes wrong in a command -> one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import sys
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .ending import CLOSED, INTERRUPTED, USAGE, OutputError, silence

__all__ = ["COMMAND", "Command", "Guarded", "will_write"]

COMMAND = "onefit.command"
"""Where the context keeps the command line as it was typed."""

OUTPUTS = "onefit.outputs"
"""Where it keeps the files that are to be written, each with what was there before."""

EXAMPLES = {"FILE.html": "report.html", "FILE.json": "result.json", "K|n|auto": "10", "L|auto": "20", "NUMBER": "0.9"}
"""Values of options whose help names no value that can be typed as it stands."""


class _PlainHelp:
    """Makes ``--help`` look, in the help, like an option that wants no value."""

    # the type of a context is click's, or that of the copy of click which newer versions of typer bring
    def get_help_option(self, ctx: Any) -> Any:
        """The option, without a type."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class Command(_PlainHelp, TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option without its value, and one that is given twice, of which only the last would count."""
        single = {name: each for each in self.params for name in each.opts if not _may_repeat(each)}
        words = args[: args.index("--")] if "--" in args else args
        lacking = _without_value(self.params, words)
        if lacking:
            raise typer.BadParameter(f"{lacking[0]} lacks its value; put it behind, as in {' '.join(lacking)}", ctx)
        given = Counter(single[word].opts[0] for word in (each.partition("=")[0] for each in words) if word in single)
        for name, times in given.items():
            if times > 1:
                between = "; several values go between commas" if "," in (single[name].metavar or "") else ""
                raise typer.BadParameter(f"{name} is given {times} times and counts once{between}", ctx)
        return super().parse_args(ctx, args)


def _may_repeat(parameter: Any) -> bool:
    """Whether it does no harm to give it twice: flags, lists, and arguments, which have no name to give."""
    return not _is_option(parameter) or parameter.multiple or parameter.is_flag


def _is_option(parameter: Any) -> bool:
    """Whether it has a name to give on the command line."""
    return bool(parameter.opts) and parameter.opts[0].startswith("-")


def _without_value(parameters: Iterable[Any], words: list[str]) -> tuple[str, str] | None:
    """The first option behind which there is nothing, or another option, and an example of its value."""
    options = {name: each for each in parameters if _is_option(each) for name in (*each.opts, *each.secondary_opts)}
    position = 0
    while position < len(words):
        name, option = words[position], options.get(words[position])
        wanted = 0 if option is None or option.is_flag or option.count else option.nargs
        values = words[position + 1 : position + 1 + wanted]
        if option is not None and (len(values) < wanted or any(value in options for value in values)):
            example = str(option.metavar or "VALUE")
            return name, EXAMPLES.get(example, example)
        position += 1 + wanted
    return None


class Guarded(_PlainHelp, TyperGroup):
    """Commands whose errors are one line with a remedy; tracebacks are for ``--debug``."""

    def main(self, args: Any = None, prog_name: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line; what is wrong with it is one line, too, where typer would draw a box."""
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()  # type: ignore[attr-defined]
            else:
                _say(_usage_line(error))
            code = int(getattr(error, "exit_code", USAGE))
        return sys.exit(code if isinstance(code, int) else 0) if standalone_mode else code

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


PLAINER = (
    (r"^Invalid value for '(--[\w-]+)[^']*': ", r"\1: "),
    (r"^Invalid value: ", ""),
    (r"^No such option '(--?[\w-]+)'\.?", r"No such option: \1"),  # click quotes the option, typer's own copy does not
    (r"( Did you mean [^?]*\?)\1", r"\1"),  # typer says it, and some versions of click once more
    (r": (Input should be|.* is not) a valid integer.*", " needs a whole number"),
    (r": (Input should be|.* is not) a valid (number|float).*", " needs a number"),
    (r": (Input should be greater than or equal to |.* is not in the range x>=)(\d+)", r" must be at least \2"),
    (
        r"^Got unexpected extra argument\S* \((.*)\)",
        r"\1: that is more than one table; a column goes behind its option, and options such as --impute take no value",
    ),
)
"""What typer and click say, and what is said in its place."""


GRID = "onefit curve with --param and --values, or --lambda lo:hi:count"
HABITS = {
    "--folds": ("n-splits", "n-folds", "nfolds", "cv", "k"),
    "--repeats": ("n-repeats", "n-repeat"),
    "--scoring or --loss": ("metric", "metrics", "score"),
    "--lambda": ("alpha", "penalty", "lam"),
    "--seed": ("random-state",),
    "--jobs": ("n-jobs", "threads"),
    "--level": ("confidence-level", "confidence"),
    "--model": ("estimator", "models"),
    "--target": ("y", "outcome", "label", "response"),
    "--weights": ("sample-weight", "weight"),
    "--report FILE or --json FILE": ("output", "out", "html"),
    GRID: ("param-grid", "params", "param-range"),
}
"""Options of this program, and what people who come from others type in their place."""


def _usual_name(text: str) -> str:
    """The message, with the option that is meant instead of those that are spelled alike."""
    typed = re.match(r"No such option: --([\w-]+)", text)
    for meant, others in HABITS.items():
        if typed and typed[1] in others:
            return f"{typed[0]}; here that is {meant}"
    return text


def _usage_line(error: Any) -> str:
    """What is wrong with the command line, where, and where the options are explained."""
    text = " ".join(error.format_message().split()).rstrip(".")
    for said, plainer in PLAINER:
        text = re.sub(said, plainer, text)
    text = _usual_name(text)
    path = " ".join(["onefit", *getattr(getattr(error, "ctx", None), "command_path", "").split()[1:]])
    return f"{text[:1].lower()}{text[1:]}{' See' if text.endswith('?') else '; see'} {path} --help."


def _is_for_typer(error: Exception) -> bool:
    """Usage errors and exits, whichever copy of click typer has."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _one_line(error: Exception) -> str:
    """Cause and remedy, on one line."""
    from ..errors import OneFitError, how_to_install
    from .texts import as_options

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
        return f"the library {error.name!r} is missing: {how_to_install('cli')}."
    return f"internal error: {type(error).__name__}: {text}; please report it. --debug shows the traceback."


def _say(line: str) -> None:
    from .texts import clean

    with contextlib.suppress(OSError):  # who cannot be told is still given the exit code
        print(f"onefit: {clean(line)}", file=sys.stderr, flush=True)
