"""What was asked for, and what it is in Python."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Annotated

import typer

from ..vocabulary import MAX_FITS
from .options import DASK, MODELS, STANDARD_INPUT, Debugging, Files, Models, Roles, Source, Validation, Writing
from .signatures import COMMAND_NAME

__all__ = ["Ask", "check_usage"]


@dataclass(frozen=True)
class _Table:
    """The table, before all else."""

    roles: Roles
    source: Source


@dataclass(frozen=True)
class Ask(Debugging, Writing, Files, Validation, Models, _Table):
    """All that a command was told; a dataclass takes the fields of its last base first, and so does the help."""

    command: Annotated[str, COMMAND_NAME] = field(kw_only=True)

    def keywords(self) -> dict[str, int | float | str | list[str] | None]:
        """Keywords of the public functions that are plain values and not the default."""
        given: dict[str, tuple[int | float | str | list[str] | None, float | str | list[str] | None]] = {
            "n_folds": (self.folds, "auto"),
            "n_repeats": (self.repeats, "auto"),
            "max_fits": (self.max_fits, MAX_FITS),
            "confidence_level": (self.level, 0.95),
            "interval": (self.interval, "covariance"),
            "transformers": ("freeze" if self.freeze else "refit", "refit"),
            "route": (self.route, "auto"),
            "random_state": (self.seed, None),
            "n_jobs": (self.jobs, None),
            "scoring": (self.scores, []),
        }
        return {name: value for name, (value, default) in given.items() if value != default}

    @property
    def scores(self) -> str | list[str]:
        """The scores as scoring= takes them: one by its name."""
        return self.scoring[0] if len(self.scoring) == 1 else list(self.scoring)

    def loss_code(self) -> str:
        """The loss in Python; empty for the default."""
        if self.loss is None:
            return ""
        name, _, parameter = self.loss.partition(":")
        return f"onefit.losses.{name}({float(parameter)!r})" if parameter else repr(name)


def check_usage(ask: Ask) -> None:
    """Refuse what does not go together, and models that there are not, before a table is read."""
    for name in ask.models:
        _check_model(name)
    if ask.loss is not None and ask.scoring:
        raise typer.BadParameter("--scoring is greater the better and --loss smaller the better; leave one of them out")
    if ask.lam is not None and ask.tuned is not None:
        raise typer.BadParameter("--lambda fixes the penalty and --tuned chooses it; leave one of them out")
    if ask.source.scheduler is not None and ask.source.engine != DASK:
        raise typer.BadParameter("--scheduler is the address of a Dask scheduler; give --engine dask with it")
    if ask.source.engine == DASK and ask.source.data == STANDARD_INPUT:
        raise typer.BadParameter("--engine dask reads files, and - is standard input; name a file or a directory")
    roles = ask.roles
    if roles.order is not None and roles.coords is not None:
        raise typer.BadParameter("--order says that rows follow in time and --coords in space; leave one of them out")
    if ask.ahead is not None and roles.coords is not None:
        raise typer.BadParameter("--ahead forecasts along time, and --coords are places; leave one of them out")
    if roles.groups is not None and (roles.order is not None or roles.coords is not None or ask.ahead is not None):
        raise typer.BadParameter("--groups and --order, --coords or --ahead are two ways to hold rows together")
    if ask.ahead is not None and ask.folds != "auto":
        raise typer.BadParameter("--ahead has an origin for each stretch of its horizon; leave --folds out")
    if ask.folds == "n" and (roles.order is not None or roles.coords is not None):
        raise typer.BadParameter("--folds takes a number of blocks beside --order and --coords")
    if not 0 < ask.level < 1:
        raise typer.BadParameter("--level must lie between 0 and 1, for example 0.95")
    if ask.jobs == 0:
        raise typer.BadParameter("--jobs must be a positive number, or -1 for all cores")
    if ask.command == "compare" and len(set(ask.models)) < max(2, len(ask.models)):
        raise typer.BadParameter("--model must be given at least twice, each time another one")
    if ask.command == "plan" and ask.range is not None:
        raise typer.BadParameter("--lambda takes one penalty here; without it, the penalty is chosen")
    if ask.command == "curve":
        if (ask.param is None) != (not ask.values):
            raise typer.BadParameter("--param and --values go together")
        if ask.param is None and ask.lam is not None:
            raise typer.BadParameter("--lambda needs a range for a curve: lo:hi:count")
        if ask.param is not None and ask.range is not None:
            raise typer.BadParameter("--param and a range of --lambda are two curves; leave one of them out")


def _check_model(name: str) -> None:
    if ":" in name or name in MODELS:
        return
    near = difflib.get_close_matches(name.lower(), MODELS, 1)
    raise typer.BadParameter(
        f"--model: {name!r} is none of {', '.join(MODELS)}, nor of Python, such as "
        f"sklearn.ensemble:RandomForestRegressor{f'; did you mean {near[0]!r}?' if near else ''}"
    )
