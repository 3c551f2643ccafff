"""The commands: each reads, calls the library and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .asking import Ask, check_usage
from .ending import INTERRUPTED
from .group import COMMAND, Command, Guarded, will_write
from .options import STANDARD_INPUT, Debugging, Writing
from .parsing import whole_number
from .reading import begin, tell_loading
from .signatures import with_options

if TYPE_CHECKING:
    from .answering import Answer

__all__ = ["app"]

app = typer.Typer(
    cls=Guarded,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How well will this model predict? The error on new data, with an honest interval.",
    epilog="Exit codes: 0 done, 1 bad input or cannot be computed, 2 usage, 130 stopped, 141 output closed.",
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"onefit {version('onefit')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Answer for all commands."""


def _finish(ctx: typer.Context, answer: Answer) -> None:
    """Print and write."""
    from .document import write_json
    from .showing import show_answer
    from .texts import as_options, show_lines

    ask, command = answer.ask, ctx.meta[COMMAND]
    show_lines("warning", [as_options(line) for line in answer.warnings])
    try:
        # files first: whoever reads standard output may stop reading
        _write_files(ctx, answer)
    finally:
        if ask.json == STANDARD_INPUT:
            write_json(answer, command)
        else:
            show_answer(answer)
    if answer.was_interrupted:
        raise typer.Exit(INTERRUPTED)


def _write_files(ctx: typer.Context, answer: Answer) -> None:
    """Write the report and the JSON; if one cannot be written, the other one still is."""
    from .document import write_json, write_report_of
    from .texts import show_lines

    ask, errors = answer.ask, []
    json = None if ask.json == STANDARD_INPUT else ask.json
    will_write(ctx, (ask.report, json))
    for path, write in ((json, write_json), (ask.report, write_report_of)):
        if path is None:
            continue
        try:
            write(answer, ctx.meta[COMMAND])
        except Exception as error:  # raised below, when the other one is safe
            errors.append(error)
        else:
            show_lines("wrote", [] if ask.quiet else [str(path)])
    if errors:
        raise errors[0]


@app.command(cls=Command)
@with_options
def run(ctx: typer.Context, ask: Ask) -> None:
    """Tell how well one model predicts a column of a table, with an interval."""
    check_usage(ask)
    begin(ask.source, ask.quiet)
    from .answering import answer_run

    _finish(ctx, answer_run(ask))


@app.command(cls=Command)
@with_options
def curve(ctx: typer.Context, ask: Ask) -> None:
    """Draw the error of one model along its penalty, or along another parameter."""
    check_usage(ask)
    begin(ask.source, ask.quiet)
    from .answering import answer_curve

    _finish(ctx, answer_curve(ask))


@app.command(cls=Command)
@with_options
def compare(ctx: typer.Context, ask: Ask) -> None:
    """Compare two or more models on the same folds, by paired differences."""
    check_usage(ask)
    begin(ask.source, ask.quiet)
    from .answering import answer_compare

    _finish(ctx, answer_compare(ask))


@app.command(cls=Command)
@with_options
def plan(
    *,
    rows: Annotated[
        int | None, typer.Option("--rows", parser=whole_number(3), metavar="N", help="Rows, without a table.")
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option(
            "--columns", parser=whole_number(1), metavar="N", help="Columns of the design, the intercept among them."
        ),
    ] = None,
    n_values: Annotated[
        int | None,
        typer.Option("--values", parser=whole_number(1), metavar="N", help="Values of a parameter, without a table."),
    ] = None,
    ask: Ask,
) -> None:
    """Say which route would be taken, why, and what it and refits would cost: for a table, or for rows and columns."""
    check_usage(ask)
    if ask.source.data and ask.roles.target and rows is columns is n_values is None:
        begin(ask.source, ask.quiet)
        from .answering import answer_plan
        from .texts import as_options, show_lines

        answer, found = answer_plan(ask)
        show_lines("warning", [as_options(line) for line in answer.warnings])
        typer.echo(as_options(str(found)))
        return
    if ask.source.data or ask.roles.target or rows is None or columns is None:
        raise typer.BadParameter("give a table with --target, or --rows and --columns without a table")
    tell_loading("loading libraries", ask.quiet)
    import onefit

    from .streaming import memory_notes
    from .texts import show_lines

    folds = {"auto": 10, "n": rows}.get(str(ask.folds), ask.folds)
    repeats = 1 if ask.repeats == "auto" else ask.repeats
    typer.echo(str(onefit.plan(rows, columns, int(folds), int(repeats), n_values or 1)))
    show_lines("note", memory_notes(rows, columns))


@app.command(cls=Command)
@with_options
def demo(
    ctx: typer.Context,
    *,
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Where report and table go.")] = Path(),
    writing: Writing,
    debugging: Debugging,
) -> None:
    """Show it all on a table of houses with text and gaps, and write a report; needs no network."""
    tell_loading("loading libraries", writing.quiet)
    from .demo import REPORT, TABLE, run_demo

    will_write(ctx, [output / REPORT, output / TABLE])
    run_demo(output, writing.force, writing.quiet, ctx.meta[COMMAND])


@app.command(cls=Command)
@with_options
def config(debugging: Debugging) -> None:
    """Show versions, and whether the compiled kernels are used."""
    import onefit

    onefit.show_config()
