"""The options that commands share: one field each, in the order of the help; ``with_options`` makes options of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..vocabulary import (
    CRITERIA,
    LOSS_WORDS,
    MAX_FITS,
    ROUTES,
    RULE_WORDS,
    SIMPLER,
    Folds,
    Repeats,
    RouteName,
    RuleName,
    Simpler,
)
from .parsing import (
    LOSS_FORMS,
    Penalties,
    Value,
    one_of,
    parse_delimiter,
    parse_folds,
    parse_loss,
    parse_mark,
    parse_penalties,
    parse_repeats,
    parse_scoring,
    parse_values,
)
from .signatures import Only, Waived

__all__ = [
    "DASK",
    "MODELS",
    "STANDARD_INPUT",
    "Debugging",
    "Files",
    "Models",
    "Roles",
    "Source",
    "Validation",
    "Writing",
]

STANDARD_INPUT = "-"
PARQUET = (".parquet", ".pq")
ENGINES = HERE, DASK = ("here", "dask")
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")

MODELS = ("ridge", "ols", "spline", "additive", "lasso", "kernel", "fpcr", "logistic", "poisson", "gamma")
MODEL_HELP = f"{', '.join(MODELS)}, or package.module:factory."
*FIRST_LOSSES, LAST_LOSS = [form for name in LOSS_WORDS for form in (name, LOSS_FORMS.get(name)) if form is not None]

_table, _model, _validation, _output = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Table", "Model", "Cross-validation", "Output")
)


def _choice(panel: Callable[..., Any], name: str, words: Iterable[str], **keywords: Any) -> Any:
    """An option that takes one of a few words, which the help lists."""
    return panel(name, parser=one_of(words), metavar="|".join(words), **keywords)


ONE_MODEL, CURVE, SEVERAL_MODELS = Only("run", "curve", "plan"), Only("curve"), Only("compare", is_required=True)
ANSWERS = Only("run", "curve", "compare", "demo")
WITHOUT_TABLE = Waived("plan")


@dataclass(frozen=True)
class Roles:
    """What the user says of the columns."""

    target: Annotated[str, _table("--target", metavar="COLUMN", help="The column to predict."), WITHOUT_TABLE]
    groups: Annotated[
        str | None, _table("--groups", metavar="COLUMN", help="Rows with the same value stay together in a fold.")
    ] = None
    weights: Annotated[str | None, _table("--weights", metavar="COLUMN", help="Weights of the rows.")] = None
    features: Annotated[
        tuple[str, ...],
        _table("--features", metavar="COLUMN", help="A column to predict from; repeat it. Default: all others."),
    ] = ()
    drop: Annotated[tuple[str, ...], _table("--drop", metavar="COLUMN", help="A column to leave out; repeat it.")] = ()
    keep: Annotated[
        tuple[str, ...],
        _table("--keep", metavar="COLUMN", help="A column that is no identifier, whatever its name; repeat it."),
    ] = ()
    categorical: Annotated[
        tuple[str, ...],
        _table("--categorical", metavar="COLUMN", help="A column whose numbers are codes of levels; repeat it."),
    ] = ()
    classes: Annotated[bool, _table("--classes", metavar="", help="The numbers of the target are classes.")] = False
    impute: Annotated[
        bool,
        _table(
            "--impute", metavar="", help="Fill missing values: medians, most frequent levels; in every training set."
        ),
    ] = False
    drop_missing_target: Annotated[
        bool, _table("--drop-missing-target", metavar="", help="Leave out rows in which the target is missing.")
    ] = False
    max_levels: Annotated[
        int, _table("--max-levels", min=2, metavar="N", help="Text with more distinct values is refused as free text.")
    ] = 30
    order: Annotated[
        str | None,
        _table("--order", metavar="COLUMN", help="Times: rows follow one another, and blocks of time are held out."),
    ] = None
    coords: Annotated[
        tuple[str, str] | None,
        _table("--coords", metavar="LON LAT", help="Two columns that say where rows are: blocks of the map."),
    ] = None


@dataclass(frozen=True)
class Source:
    """Where the data are and how they are written; None is to be found out."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV or other text, also packed; Parquet; a directory, or a glob in quotes; - is standard input.",
        ),
        WITHOUT_TABLE,
    ]
    delimiter: Annotated[
        str | None,
        _table("--delimiter", parser=parse_delimiter, metavar="CHARACTER", help="Between fields. Default: found out."),
    ] = None
    encoding: Annotated[
        str | None, _table("--encoding", metavar="NAME", help="Of the text, such as latin-1. Default: UTF-8.")
    ] = None
    decimal: Annotated[
        str,
        _table("--decimal", parser=parse_mark, metavar="CHARACTER", help="Before decimals: a point or a comma."),
    ] = "."
    thousands: Annotated[
        str | None, _table("--thousands", parser=parse_mark, metavar="CHARACTER", help="Between thousands.")
    ] = None
    missing: Annotated[
        tuple[str, ...],
        _table("--missing", metavar="TEXT", help="A text that stands for a missing value; repeat it."),
    ] = ()
    engine: Annotated[
        str,
        _choice(
            _table,
            "--engine",
            ENGINES,
            help="What reads files that stay on disk: this process, or Dask's workers, whatever their size.",
        ),
    ] = HERE
    scheduler: Annotated[
        str | None,
        _table("--scheduler", metavar="ADDRESS", help="Of Dask, tcp://...:8786. Default: processes on this machine."),
    ] = None

    @property
    def name(self) -> str:
        """What people call it."""
        return "standard input" if self.data == STANDARD_INPUT else self.data

    @property
    def is_parquet(self) -> bool:
        """Whether the name says Parquet."""
        return self.data != STANDARD_INPUT and Path(self.data).suffix.lower() in PARQUET

    @property
    def compression(self) -> str:
        """Ending of a compressed file, else empty."""
        suffix = Path(self.data).suffix.lower()
        return suffix if suffix in COMPRESSIONS else ""


@dataclass(frozen=True)
class Models:
    """What is to predict."""

    model: Annotated[str, _model("--model", metavar="NAME", help=MODEL_HELP), ONE_MODEL] = "ridge"
    several: Annotated[
        tuple[str, ...],
        _model("--model", metavar="NAME", help=f"Two or more: {MODEL_HELP} Repeat the option."),
        SEVERAL_MODELS,
    ] = ()
    penalties: Annotated[
        Penalties | None,
        _model(
            "--lambda",
            parser=parse_penalties,
            metavar="VALUE|LO:HI:COUNT",
            help="One penalty for the model; or the range of the error curve, in even steps of the logarithm.",
        ),
        ONE_MODEL,
    ] = None
    param: Annotated[
        str | None, _model("--param", metavar="NAME", help="Parameter of the curve, with --values."), CURVE
    ] = None
    values: Annotated[
        tuple[Value, ...],
        _model("--values", parser=parse_values, metavar="A,B,C", help="Values of that parameter."),
        CURVE,
    ] = ()
    simpler: Annotated[
        Simpler,
        _choice(
            _model,
            "--simpler",
            SIMPLER,
            help="Which values of the parameter make the model simpler.",
        ),
        CURVE,
    ] = "larger"
    tuned: Annotated[
        str | None,
        _choice(
            _model,
            "--tuned",
            CRITERIA,
            help="Criterion that chooses the penalty, in every training set. Default: gcv for ridge (with text or "
            "gaps, and of classes, loo), reml for others.",
        ),
        ONE_MODEL,
    ] = None
    freeze: Annotated[
        bool, _model("--freeze", metavar="", help="Scale, encode and impute once, on all rows; the result says so.")
    ] = False

    @property
    def models(self) -> tuple[str, ...]:
        """Their names."""
        return self.several or (self.model,)

    @property
    def lam(self) -> float | None:
        """The one penalty that was given."""
        return None if self.penalties is None else self.penalties.one

    @property
    def range(self) -> Penalties | None:
        """The range of penalties that was given."""
        return None if self.penalties is None or self.penalties.one is not None else self.penalties


@dataclass(frozen=True)
class Validation:
    """How the error is estimated."""

    folds: Annotated[
        Folds, _validation("--folds", parser=parse_folds, metavar="K|n|auto", help="Folds; n leaves two rows out.")
    ] = "auto"
    ahead: Annotated[
        int | None,
        _validation(
            "--ahead", min=1, metavar="H", help="The error of forecasts H steps ahead, along --order if given."
        ),
    ] = None
    repeats: Annotated[
        Repeats, _validation("--repeats", parser=parse_repeats, metavar="L|auto", help="Random partitions.")
    ] = "auto"
    max_fits: Annotated[
        int,
        _validation(
            "--max-fits", min=1, metavar="N", help="Refits that --repeats auto may take, each model and value."
        ),
    ] = MAX_FITS
    loss: Annotated[
        str | None,
        _validation("--loss", parser=parse_loss, metavar="NAME", help=f"{', '.join(FIRST_LOSSES)} or {LAST_LOSS}."),
    ] = None
    scoring: Annotated[
        tuple[str, ...],
        _validation(
            "--scoring",
            parser=parse_scoring,
            metavar="A,B,C",
            help="Scores by scikit-learn's names, such as roc_auc,neg_log_loss; the first is the one compared.",
        ),
    ] = ()
    interval: Annotated[
        RuleName,
        _validation(
            "--interval",
            parser=one_of(RULE_WORDS),
            metavar="RULE",
            help=f"{', '.join(RULE_WORDS)}; the table of results says what each is.",
        ),
    ] = "covariance"
    level: Annotated[float, _validation("--level", metavar="NUMBER", help="Confidence level, between 0 and 1.")] = 0.95
    route: Annotated[
        RouteName,
        _choice(
            _validation,
            "--route",
            ROUTES,
            help="How to compute; all routes give the same numbers.",
        ),
    ] = "auto"
    seed: Annotated[int, _validation("--seed", min=0, metavar="N", help="Seed of the partitions.")] = 0
    jobs: Annotated[int | None, _validation("--jobs", metavar="N", help="Jobs or threads; -1 is all cores.")] = None


@dataclass(frozen=True)
class Files:
    """What is to be written."""

    report: Annotated[Path | None, _output("--report", metavar="FILE.html", help="Write a report."), ANSWERS] = None
    json: Annotated[
        str | None,
        _output("--json", metavar="FILE.json", help="Write everything as JSON; - is standard output."),
        ANSWERS,
    ] = None

    @property
    def wants_file(self) -> bool:
        """Whether a report or JSON is to be written."""
        return self.report is not None or self.json is not None


@dataclass(frozen=True)
class Writing:
    """How it is written and told."""

    force: Annotated[bool, _output("--force", metavar="", help="Overwrite files that are there."), ANSWERS] = False
    quiet: Annotated[bool, _output("--quiet", metavar="", help="No progress and no notes."), ANSWERS] = False


def set_debug(ctx: typer.Context, is_on: bool) -> bool:
    """Remember that tracebacks are wanted, for whoever catches an exception."""
    ctx.meta["onefit.debug"] = is_on
    return is_on


@dataclass(frozen=True)
class Debugging:
    """What every command has."""

    debug: Annotated[bool, _output("--debug", metavar="", callback=set_debug, help="Show tracebacks.")] = False
