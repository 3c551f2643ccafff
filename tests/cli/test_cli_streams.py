"""Streams that fail or wait: full disks, and pipes that nobody writes to."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from forked import command
from onefit.cli import main
from onefit.cli.group import _one_line
from onefit.errors import OneFitError
from onefit.files import write_whole

HOUSES = Path(__file__).parents[1] / "data" / "cli" / "houses.csv"
RUN = ["run", str(HOUSES), "--target", "price", "--drop", "street", "--drop", "trust", "--folds", "5", "--quiet"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="devices and pipes of a Unix")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


class Ended(NamedTuple):
    """What a command said, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def onefit(*arguments, **streams):
    """A command in a process of its own."""
    program = command(*arguments, **streams)
    said = program.communicate(timeout=120)
    return Ended(program.returncode, *said)


def onefit_anew(*arguments, **streams):
    """The same in a new Python, which ends by itself."""
    return subprocess.run([sys.executable, "-m", "onefit", *arguments], text=True, timeout=120, **streams)


@full
@pytest.mark.parametrize(
    ("start", "arguments"),
    [
        (onefit, RUN),
        (onefit, [*RUN, "--json", "-"]),
        (onefit, ["plan", "--rows", "500", "--columns", "20"]),
        (onefit, ["config"]),
        (onefit, ["--version"]),
        (onefit, ["--help"]),
        (onefit_anew, ["--version"]),
        pytest.param(onefit_anew, RUN, marks=pytest.mark.slow),
    ],
    ids=lambda given: " ".join(given[:1] + given[-1:]) if isinstance(given, list) else given.__name__,
)
def test_a_full_disk_behind_standard_output_is_named(start, arguments):
    with open("/dev/full", "w") as nowhere:
        run = start(*arguments, stdout=nowhere, stderr=subprocess.PIPE)
    assert run.returncode == 1
    assert "onefit: standard output cannot be written: No space left on device" in run.stderr
    assert "internal error" not in run.stderr
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr


@full
def test_files_are_written_before_standard_output_fails(tmp_path):
    with open("/dev/full", "w") as nowhere:
        run = onefit(*RUN, "--json", str(tmp_path / "a.json"), stdout=nowhere, stderr=subprocess.PIPE)
    assert run.returncode == 1
    assert (tmp_path / "a.json").stat().st_size > 100


@full
def test_notes_that_cannot_be_shown_do_not_cost_the_answer():
    with open("/dev/full", "w") as nowhere:
        run = onefit(*RUN[:-1], stdout=subprocess.PIPE, stderr=nowhere)
    assert run.returncode == 0
    assert run.stdout.startswith("Expect a squared error")


def test_a_full_disk_behind_a_file_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def fail(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OneFitError, match="cannot be written: No space left on device; give another place"):
        write_whole(tmp_path / "report.html", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_elsewhere_is_no_internal_error():
    assert "make room" in _one_line(OSError(errno.ENOSPC, "No space left on device"))


def test_standard_output_is_what_it_was_after_a_command(capsys):
    before = sys.stdout
    with pytest.raises(SystemExit) as end:
        main(["plan", "--rows", "500", "--columns", "20"])
    assert (end.value.code, sys.stdout is before) == (0, True)
    assert "flops" in capsys.readouterr().out


def test_a_pipe_without_a_writer_is_named_and_ctrl_c_ends_it_quietly(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    program = command("run", str(tmp_path / "pipe.csv"), "--target", "price")
    assert program.stderr.readline() == f"onefit: waiting for the pipe {str(tmp_path / 'pipe.csv')!r}\n"
    program.send_signal(signal.SIGINT)
    _, rest = program.communicate(timeout=30)
    assert (program.returncode, rest) == (130, "onefit: stopped; nothing was written\n")


def test_standard_input_that_nobody_writes_to_is_named():
    program = command("run", "-", "--target", "price", stdin=subprocess.PIPE)
    assert program.stderr.readline() == "onefit: waiting for standard input\n"
    out, _ = program.communicate(HOUSES.read_text(encoding="utf-8"), timeout=60)
    assert program.returncode == 0
    assert out.startswith("Expect a squared error")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_pipe_is_read_when_somebody_writes_to_it(tmp_path, ending):
    path = tmp_path / f"pipe{ending}"
    os.mkfifo(path)
    content = HOUSES.read_bytes() if ending == ".csv" else gzip.compress(HOUSES.read_bytes())
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    run = onefit("run", str(path), *RUN[2:])
    writer.join()
    assert run.stdout == onefit(*RUN).stdout
    assert "waiting" not in run.stderr


def test_parquet_is_not_read_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    run = onefit("run", str(tmp_path / "pipe.parquet"), "--target", "y")
    assert run.returncode == 1
    assert "is a pipe, and Parquet" in run.stderr
