"""Options that the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .asking import Penalties, parse_folds, parse_loss, parse_penalties, parse_repeats, parse_values

TABLE, MODEL, FOLDS, OUTPUT = "Table", "Model", "Cross-validation", "Output"

INTERVALS = ("covariance", "bates", "paper", "mlr3", "naive", "corrected_t")
CRITERIA = ("gcv", "loo", "reml")
ROUTES = ("auto", "gram", "onestep", "refit")


def _one_of(choices: tuple[str, ...]) -> Any:
    """A parser of one of several words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise typer.BadParameter(f"{text!r} is none of {', '.join(choices)}")
        return text

    return parse


def _delimiter(text: str) -> str:
    known = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
    character = known.get(text, text)
    if len(character) != 1 or character in '"\r\n':
        raise typer.BadParameter(f"{text!r} must be one character, or tab, comma, semicolon, space, pipe")
    return character


def _mark(text: str) -> str:
    if len(text) != 1 or text.isalnum():
        raise typer.BadParameter(f"{text!r} must be one character, such as a comma")
    return text


def set_debug(ctx: typer.Context, is_on: bool) -> bool:
    """Remember that tracebacks are wanted, for whoever catches an exception."""
    ctx.meta["onefit.debug"] = is_on
    return is_on


def _option(panel: str, *names: str, **rest: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **rest)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV or another delimited text, also .gz, .bz2, .xz, .zst or .zip; Parquet; - is standard input.",
    ),
]
Target = Annotated[str, _option(TABLE, "--target", metavar="COLUMN", help="The column to predict.")]
Features = Annotated[
    list[str] | None,
    _option(TABLE, "--features", metavar="COLUMN", help="A column to predict from; repeat it. Default: all others."),
]
Drop = Annotated[list[str] | None, _option(TABLE, "--drop", metavar="COLUMN", help="A column to leave out; repeat it.")]
Keep = Annotated[
    list[str] | None,
    _option(TABLE, "--keep", metavar="COLUMN", help="A column that is no identifier, whatever its name; repeat it."),
]
Categorical = Annotated[
    list[str] | None,
    _option(TABLE, "--categorical", metavar="COLUMN", help="A column whose numbers are codes of levels; repeat it."),
]
Classes = Annotated[bool, _option(TABLE, "--classes", help="The numbers of the target are classes.")]
Groups = Annotated[
    str | None, _option(TABLE, "--groups", metavar="COLUMN", help="Rows with the same value stay together in a fold.")
]
Weights = Annotated[str | None, _option(TABLE, "--weights", metavar="COLUMN", help="Weights of the rows.")]
Impute = Annotated[
    bool, _option(TABLE, "--impute", help="Fill missing values: medians, most frequent levels; in every training set.")
]
DropMissingTarget = Annotated[
    bool, _option(TABLE, "--drop-missing-target", help="Leave out rows in which the target is missing.")
]
MaxLevels = Annotated[
    int, _option(TABLE, "--max-levels", min=2, help="Text with more distinct values is refused as free text.")
]
Delimiter = Annotated[
    str | None,
    _option(TABLE, "--delimiter", parser=_delimiter, metavar="CHARACTER", help="Between fields. Default: found out."),
]
Encoding = Annotated[str | None, _option(TABLE, "--encoding", help="Of the text, such as latin-1. Default: UTF-8.")]
Decimal = Annotated[
    str, _option(TABLE, "--decimal", parser=_mark, metavar="CHARACTER", help="Before decimals: a point or a comma.")
]
Thousands = Annotated[
    str | None, _option(TABLE, "--thousands", parser=_mark, metavar="CHARACTER", help="Between thousands.")
]
Missing = Annotated[
    list[str] | None,
    _option(TABLE, "--missing", metavar="TEXT", help="A text that stands for a missing value; repeat it."),
]
MODEL_HELP = "ridge, ols, spline, additive, lasso, kernel, fpcr, or package.module:factory."
Model = Annotated[str, _option(MODEL, "--model", metavar="NAME", help=MODEL_HELP)]
Models = Annotated[
    list[str], _option(MODEL, "--model", metavar="NAME", help=f"Two or more: {MODEL_HELP} Repeat the option.")
]
Lambda = Annotated[
    Penalties | None,
    _option(
        MODEL,
        "--lambda",
        parser=parse_penalties,
        metavar="VALUE|LO:HI:COUNT",
        help="One penalty for the model; or the range of the error curve, in even steps of the logarithm.",
    ),
]
Tuned = Annotated[
    str | None,
    _option(
        MODEL,
        "--tuned",
        parser=_one_of(CRITERIA),
        metavar="|".join(CRITERIA),
        help="Criterion that chooses the penalty, in every training set. Default: gcv for ridge, reml for others.",
    ),
]
Freeze = Annotated[
    bool, _option(MODEL, "--freeze", help="Scale and impute once, on all rows: faster, and the result says so.")
]
Param = Annotated[str | None, _option(MODEL, "--param", metavar="NAME", help="Parameter of the curve, with --values.")]
Values = Annotated[
    Any, _option(MODEL, "--values", parser=parse_values, metavar="A,B,C", help="Values of that parameter.")
]
Simpler = Annotated[
    str,
    _option(
        MODEL,
        "--simpler",
        parser=_one_of(("larger", "smaller")),
        metavar="larger|smaller",
        help="Which values of the parameter make the model simpler.",
    ),
]
Folds = Annotated[
    Any, _option(FOLDS, "--folds", parser=parse_folds, metavar="K|n|auto", help="Folds; n leaves two rows out.")
]
Repeats = Annotated[Any, _option(FOLDS, "--repeats", parser=parse_repeats, metavar="L|auto", help="Random partitions.")]
LossOption = Annotated[
    str | None,
    _option(
        FOLDS,
        "--loss",
        parser=parse_loss,
        metavar="NAME",
        help="squared_error, absolute_error, huber, huber:DELTA, pinball, pinball:QUANTILE or zero_one.",
    ),
]
Interval = Annotated[
    str,
    _option(FOLDS, "--interval", parser=_one_of(INTERVALS), metavar="RULE", help=f"{', '.join(INTERVALS)}."),
]
Level = Annotated[float, _option(FOLDS, "--level", metavar="NUMBER", help="Confidence level, between 0 and 1.")]
RouteOption = Annotated[
    str,
    _option(
        FOLDS,
        "--route",
        parser=_one_of(ROUTES),
        metavar="|".join(ROUTES),
        help="How to compute; all routes give the same numbers.",
    ),
]
Seed = Annotated[int, _option(FOLDS, "--seed", min=0, help="Seed of the partitions.")]
Jobs = Annotated[int | None, _option(FOLDS, "--jobs", metavar="N", help="Jobs or threads; -1 is all cores.")]
Report = Annotated[Path | None, _option(OUTPUT, "--report", metavar="FILE.html", help="Write a report.")]
Json = Annotated[
    str | None, _option(OUTPUT, "--json", metavar="FILE.json", help="Write everything as JSON; - is standard output.")
]
Force = Annotated[bool, _option(OUTPUT, "--force", help="Overwrite files that are there.")]
Quiet = Annotated[bool, _option(OUTPUT, "--quiet", help="No progress and no notes.")]
Debug = Annotated[bool, _option(OUTPUT, "--debug", callback=set_debug, help="Show tracebacks.")]
