"""The page on the command line prints what stands there, and names every option."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from test_cli import HOUSES, onefit_cli

from onefit.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```console\n\$ onefit ([^\n]*)\n(.*?)^```$", PAGE)


def without_seconds(text):
    """A text without what depends on the machine or its kernels."""
    return re.sub(r"about [\d.e-]+ s|should be [\d.]+ times", "about some", text)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_page_prints_what_stands_there(command, printed, tmp_path, monkeypatch):
    (tmp_path / "houses.csv").write_bytes(HOUSES.read_bytes())
    monkeypatch.chdir(tmp_path)
    outcome = onefit_cli(*shlex.split(command))
    said = outcome.stdout or outcome.stderr
    lines = [line.rstrip() for line in without_seconds(said).splitlines()]
    assert lines == without_seconds(printed).splitlines()


def test_the_page_has_an_example_of_each_command():
    assert {command.split()[0] for command, _ in EXAMPLES} == {"run", "curve", "compare", "plan"}


def test_the_page_names_every_option():
    import typer

    commands = typer.main.get_command(app).commands.values()
    names = {name for command in commands for each in command.params for name in each.opts if name.startswith("--")}
    of_plan = {"--rows", "--values"}
    assert sorted(name for name in names - {"--help"} - of_plan if name not in PAGE) == ["--output"]
