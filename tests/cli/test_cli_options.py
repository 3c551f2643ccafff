"""Options are fields of dataclasses: each reaches its own field, in the commands that have it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from onefit.cli.app import app
from onefit.cli.asking import Ask
from onefit.cli.options import Models, Roles, Source
from onefit.cli.parsing import Penalties
from onefit.cli.signatures import COMMAND_NAME, Only, with_options

TABLE = "t.csv --target y --groups g --weights w --features a --features b --drop c --keep d --categorical e --classes"
READING = "--impute --drop-missing-target --max-levels 7 --delimiter tab --encoding latin-1 --decimal , --thousands ."
FOLDS = "--freeze --folds n --repeats 3 --loss huber:2 --interval bates --level 0.9 --route gram --seed 5 --jobs 2"
OUTPUT = "--report r.html --json - --force --quiet --debug"
COMMON = f"{TABLE} {READING} --missing ? --missing NA {FOLDS} {OUTPUT}"


def everything(command, **models):
    """What COMMON asks for."""
    return Ask(
        roles=Roles("y", "g", "w", ("a", "b"), ("c",), ("d",), ("e",), True, True, True, 7),
        source=Source("t.csv", "\t", "latin-1", ",", ".", ("?", "NA")),
        freeze=True,
        folds="n",
        repeats=3,
        loss="huber:2",
        interval="bates",
        level=0.9,
        route="gram",
        seed=5,
        jobs=2,
        report=Path("r.html"),
        json="-",
        force=True,
        quiet=True,
        debug=True,
        command=command,
        **models,
    )


def asked(monkeypatch, command, line):
    """What a command makes of its command line."""
    seen = []

    def answer(ask):
        seen.append(ask)
        raise typer.Exit(7)

    monkeypatch.setattr(f"onefit.cli.answering.answer_{command}", answer)
    monkeypatch.setattr("onefit.cli.app.begin", lambda source, is_quiet: None)  # there is no file
    outcome = CliRunner().invoke(app, [command, *line.split()])
    assert outcome.exit_code == 7, outcome.output
    return seen[0]


@pytest.mark.parametrize(
    ("command", "line", "models"),
    [
        ("run", "--model lasso --lambda 0.5", {"model": "lasso", "penalties": Penalties(0.5, 0.5, 1)}),
        ("run", "--tuned loo", {"tuned": "loo"}),
        (
            "curve",
            "--param p --values 1,0.5,None,x --simpler smaller --tuned reml",
            {"param": "p", "values": (1, 0.5, None, "x"), "simpler": "smaller", "tuned": "reml"},
        ),
        ("curve", "--model kernel --lambda 1:100:3", {"model": "kernel", "penalties": Penalties(1.0, 100.0, 3)}),
        ("compare", "--model ridge --model ols", {"several": ("ridge", "ols")}),
    ],
)
def test_every_option_reaches_its_field(monkeypatch, command, line, models):
    assert asked(monkeypatch, command, f"{COMMON} {line}") == everything(command, **models)


def test_scores_are_a_list_of_names(monkeypatch):
    line = "t.csv --target y --scoring roc_auc,neg_log_loss"
    expected = Ask(Roles("y"), Source("t.csv"), command="run", scoring=("roc_auc", "neg_log_loss"))
    assert asked(monkeypatch, "run", line) == expected
    assert expected.keywords()["scoring"] == ["roc_auc", "neg_log_loss"]


@pytest.mark.parametrize(("command", "line"), [("run", ""), ("curve", ""), ("compare", "--model ols --model lasso")])
def test_what_is_not_given_keeps_the_default_of_its_field(monkeypatch, command, line):
    ask = asked(monkeypatch, command, f"t.csv --target y {line}")
    models = {"several": ("ols", "lasso")} if command == "compare" else {}
    assert ask == Ask(Roles("y"), Source("t.csv"), command=command, **models)
    assert ask.models == (("ols", "lasso") if command == "compare" else ("ridge",))


def test_options_of_some_commands_name_commands_that_there_are():
    names = {each.callback.__name__ for each in app.registered_commands}
    hints = get_type_hints(Models, include_extras=True).values()
    only = [mark for hint in hints for mark in get_args(hint) if isinstance(mark, Only)]
    assert only
    assert {name for mark in only for name in mark.commands} <= names


@dataclasses.dataclass(frozen=True)
class Inner:
    where: Annotated[str, typer.Argument()]
    depth: Annotated[int, typer.Option("--depth")] = 2


@dataclasses.dataclass(frozen=True)
class Outer:
    name: Annotated[str, typer.Option("--name")]
    inner: Inner
    command: Annotated[str, COMMAND_NAME]
    words: Annotated[tuple[str, ...], typer.Option("--word")] = ()
    half: Annotated[float, typer.Option("--half", parser=lambda text: float(text) / 2)] = 0.5
    here: Annotated[bool, typer.Option("--here"), Only("walk")] = False
    there: Annotated[bool, typer.Option("--there"), Only("run")] = True


def test_a_new_command_takes_dataclasses_inside_dataclasses_and_options_of_its_own():
    own, seen = typer.Typer(), []

    @own.command()
    @with_options
    def walk(ctx: typer.Context, *, fast: Annotated[bool, typer.Option("--fast")] = False, outer: Outer) -> None:
        seen.append((ctx.command.name, fast, outer))

    line = "home --name n --word a --word b --half 3 --here --depth 4 --fast"
    assert CliRunner().invoke(own, line.split()).exit_code == 0
    assert seen == [("walk", True, Outer("n", Inner("home", 4), "walk", ("a", "b"), 1.5, True, True))]
    assert CliRunner().invoke(own, [*line.split(), "--there"]).exit_code == 2
    lacking = CliRunner().invoke(own, [])
    assert (lacking.exit_code, "where" in lacking.output.lower(), "--name" in lacking.output) == (2, True, False)


def test_two_options_of_one_name_are_refused_when_the_command_is_made():
    def walk(first: Outer, second: Outer) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name"):
        with_options(walk)
