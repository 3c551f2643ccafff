"""The commands: each reads, calls the library and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .asking import Ask, Roles
from .ending import INTERRUPTED
from .group import COMMAND, Guarded, will_write
from .reading import Source

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
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Answer for all commands."""


def _ask(command: str, given: dict[str, Any]) -> Ask:
    """What a command was told, from its arguments."""
    several = ("drop", "features", "missing", "keep", "categorical")
    drop, features, missing, keep, categorical = (tuple(given[name] or ()) for name in several)
    source = Source(given["data"], given["delimiter"], given["encoding"], given["decimal"], given["thousands"], missing)
    roles = Roles(
        given["target"],
        given["groups"],
        given["weights"],
        drop,
        features,
        given["impute"],
        given["drop_missing_target"],
        given["max_levels"],
        keep,
        categorical,
        given["classes"],
    )
    models = given["model"]
    same = ("tuned", "folds", "repeats", "loss", "interval", "level", "freeze", "route", "jobs", "seed")
    ask = Ask(
        command=command,
        source=source,
        roles=roles,
        models=tuple(models) if isinstance(models, list) else (models,),
        penalties=given.get("penalty"),
        **{name: given[name] for name in same},
        **{name: given[name] for name in ("report", "json", "force", "quiet")},
        param=given.get("param"),
        values=given.get("values") or (),
        simpler=given.get("simpler", "larger"),
    )
    _check_usage(ask)
    return ask


def _check_usage(ask: Ask) -> None:
    """What does not go together."""
    if ask.lam is not None and ask.tuned is not None:
        raise typer.BadParameter("--lambda fixes the penalty and --tuned chooses it; leave one of them out")
    if not 0 < ask.level < 1:
        raise typer.BadParameter("--level must lie between 0 and 1, for example 0.95")
    if ask.jobs == 0:
        raise typer.BadParameter("--jobs must be a positive number, or -1 for all cores")
    if ask.command == "compare" and len(set(ask.models)) < max(2, len(ask.models)):
        raise typer.BadParameter("--model must be given at least twice, each time another one")
    if ask.command == "curve":
        if (ask.param is None) != (not ask.values):
            raise typer.BadParameter("--param and --values go together")
        if ask.param is None and ask.lam is not None:
            raise typer.BadParameter("--lambda needs a range for a curve: lo:hi:count")
        if ask.param is not None and ask.range is not None:
            raise typer.BadParameter("--param and a range of --lambda are two curves; leave one of them out")


def _finish(ctx: typer.Context, answer: Answer) -> None:
    """Print and write."""
    from .document import write_json
    from .reading import STANDARD_INPUT
    from .showing import as_options, show_answer, show_lines

    ask, command = answer.ask, ctx.meta[COMMAND]
    if not ask.quiet:
        show_lines("note", answer.notes)
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
    from .reading import STANDARD_INPUT
    from .showing import show_lines

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


@app.command()
def run(
    ctx: typer.Context,
    data: o.Data,
    target: o.Target,
    model: o.Model = "ridge",
    penalty: o.Lambda = None,
    tuned: o.Tuned = None,
    freeze: o.Freeze = False,
    folds: o.Folds = "auto",
    repeats: o.Repeats = "auto",
    loss: o.LossOption = None,
    interval: o.Interval = "covariance",
    level: o.Level = 0.95,
    route: o.RouteOption = "auto",
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    groups: o.Groups = None,
    weights: o.Weights = None,
    features: o.Features = None,
    drop: o.Drop = None,
    keep: o.Keep = None,
    categorical: o.Categorical = None,
    classes: o.Classes = False,
    impute: o.Impute = False,
    drop_missing_target: o.DropMissingTarget = False,
    max_levels: o.MaxLevels = 30,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = ".",
    thousands: o.Thousands = None,
    missing: o.Missing = None,
    report: o.Report = None,
    json: o.Json = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Tell how well one model predicts a column of a table, with an interval."""
    ask = _ask("run", locals())
    from .answering import answer_run

    _finish(ctx, answer_run(ask))


@app.command()
def curve(
    ctx: typer.Context,
    data: o.Data,
    target: o.Target,
    model: o.Model = "ridge",
    penalty: o.Lambda = None,
    param: o.Param = None,
    values: o.Values = None,
    simpler: o.Simpler = "larger",
    tuned: o.Tuned = None,
    freeze: o.Freeze = False,
    folds: o.Folds = "auto",
    repeats: o.Repeats = "auto",
    loss: o.LossOption = None,
    interval: o.Interval = "covariance",
    level: o.Level = 0.95,
    route: o.RouteOption = "auto",
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    groups: o.Groups = None,
    weights: o.Weights = None,
    features: o.Features = None,
    drop: o.Drop = None,
    keep: o.Keep = None,
    categorical: o.Categorical = None,
    classes: o.Classes = False,
    impute: o.Impute = False,
    drop_missing_target: o.DropMissingTarget = False,
    max_levels: o.MaxLevels = 30,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = ".",
    thousands: o.Thousands = None,
    missing: o.Missing = None,
    report: o.Report = None,
    json: o.Json = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Draw the error of one model along its penalty, or along another parameter."""
    ask = _ask("curve", locals())
    from .answering import answer_curve

    _finish(ctx, answer_curve(ask))


@app.command()
def compare(
    ctx: typer.Context,
    data: o.Data,
    target: o.Target,
    model: o.Models,
    freeze: o.Freeze = False,
    folds: o.Folds = "auto",
    repeats: o.Repeats = "auto",
    loss: o.LossOption = None,
    interval: o.Interval = "covariance",
    level: o.Level = 0.95,
    route: o.RouteOption = "auto",
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    groups: o.Groups = None,
    weights: o.Weights = None,
    features: o.Features = None,
    drop: o.Drop = None,
    keep: o.Keep = None,
    categorical: o.Categorical = None,
    classes: o.Classes = False,
    impute: o.Impute = False,
    drop_missing_target: o.DropMissingTarget = False,
    max_levels: o.MaxLevels = 30,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = ".",
    thousands: o.Thousands = None,
    missing: o.Missing = None,
    report: o.Report = None,
    json: o.Json = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Compare two or more models on the same folds, by paired differences."""
    ask = _ask("compare", {**locals(), "tuned": None})
    from .answering import answer_compare

    _finish(ctx, answer_compare(ask))


@app.command()
def plan(
    rows: Annotated[int, typer.Option("--rows", min=3, help="Rows of the table.")],
    columns: Annotated[int, typer.Option("--columns", min=1, help="Columns of the design, the intercept among them.")],
    folds: Annotated[int, typer.Option("--folds", min=3, help="Folds.")] = 10,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Random partitions.")] = 1,
    values: Annotated[int, typer.Option("--values", min=1, help="Values of a parameter.")] = 1,
    debug: o.Debug = False,
) -> None:
    """Say what each route would cost, which one is taken, and why."""
    import onefit

    typer.echo(str(onefit.plan(rows, columns, folds, repeats, values)))


@app.command()
def demo(
    ctx: typer.Context,
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Where the report goes.")] = Path(),
    force: o.Force = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Show it all on data that come with scikit-learn, and write a report; needs no network."""
    from .demo import REPORT, run_demo

    will_write(ctx, [output / REPORT])
    run_demo(output, force, quiet, ctx.meta[COMMAND])


@app.command()
def config(debug: o.Debug = False) -> None:
    """Show versions, and whether the compiled kernels are used."""
    import onefit

    onefit.show_config()
