"""Figures of speed in README and documentation are those of files that ``python -m benchmarks --evidence`` writes."""

from __future__ import annotations

import contextlib
import json
import re
import sys

import pytest

from benchmarks.evidence import PARTS, ROOT, Part, gather, read_results
from benchmarks.pages import BLOCKS, COMMAND, PAGES, bar_table, needs, peer_table, render, source, span
from paper.page import names_of

MACHINE = {"python": "3.11", "versions": {"numpy": "2"}, "kernel": None, "gemm": 50.0}


def result(*runs, others=0.0, command="python -m benchmarks --some"):
    return {"command": command, "date": "2026-01-02", "others": others, "machine": MACHINE, "runs": list(runs)}


def bar(figure, **keywords):
    return {"name": "job", "figure": figure, "bar": 10, "at_least": True, "unit": "x", "counts": True, **keywords}


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_what_was_measured(page):
    assert (ROOT / page).read_text(encoding="utf-8") == render(ROOT, read_results())[page]


def test_every_file_is_of_a_part_and_its_command():
    for name, found in read_results().items():
        assert found["command"].endswith(PARTS[name].command)
        assert len(found["runs"]) == PARTS[name].runs


def test_every_block_has_a_page_and_every_part_that_it_needs_exists():
    shown = {name for page in PAGES for name in names_of((ROOT / page).read_text(encoding="utf-8"), COMMAND)}
    assert shown == set(BLOCKS)
    assert {part for name in shown for part in needs(name)} <= set(PARTS)


def test_every_benchmark_that_a_page_names_is_a_part_of_the_evidence_or_no_measurement():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        option
        for page in pages
        for option in re.findall(r"python -m benchmarks (--[a-z]+)", page.read_text(encoding="utf-8"))
    }
    measured = {word for part in PARTS.values() for word in part.command.split() if word.startswith("--")}
    assert named - measured <= {"--calibrate", "--kernels", "--evidence"}


def test_a_range_has_both_ends_once():
    assert span([12.3, 10.1, 11.0]) == "10 to 12"
    assert span([3.001, 3.002]) == "3"


def test_a_bar_that_some_runs_miss_is_neither_passed_nor_failed():
    table = bar_table(result([bar(12.0)], [bar(9.0)], [bar(11.0)]))
    assert "| job | 9 to 12 x | at least 10 x | 2 of 3 runs |" in table
    assert "| 5 to 6 x | at least 10 x | FAIL |" in bar_table(result([bar(5.0)], [bar(6.0)]))
    assert "| 5 x | at least 10 x |  |" in bar_table(result([bar(5.0, counts=False)]))


def test_peers_have_a_range_and_the_busy_machine_is_named():
    line = {"question": "PLS", "peer": "ikpls", "gives": "errors"}
    table = peer_table(result([{**line, "ratio": 0.31}], [{**line, "ratio": 0.42}], others=1.25))
    assert "| PLS | ikpls | 0.31 to 0.42 | errors |" in table
    assert table.endswith("on 2026-01-02, beside other processes that used up to 1.2 cores.")
    assert "nothing else at work" in source(result([], others=0.02))


def test_a_part_is_measured_in_processes_of_its_own_and_kept(tmp_path, monkeypatch, capsys):
    code = "import json, sys; json.dump([{'a': 1}], open(sys.argv[sys.argv.index('--json') + 1], 'w'))"

    def argv(part, quick, records, pictures):
        return [sys.executable, "-c", code if "glm" in part.command else "1/0", "--json", str(records)]

    monkeypatch.setattr(Part, "argv", argv)
    monkeypatch.setitem(gather.__globals__, "gemm_speed", lambda: 5e10)
    with pytest.raises(SystemExit, match="not measured: series"):
        gather("series,glm", folder=tmp_path)
    kept = json.loads((tmp_path / "glm.json").read_text())
    assert kept["runs"] == [[{"a": 1}]] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["glm.json"]
    printed = capsys.readouterr().err
    assert "series FAILED: ['ZeroDivisionError: division by zero']" in printed
    assert "minutes on an idle core" in printed
    with pytest.raises(SystemExit, match="no part speed"):
        gather("speed", folder=tmp_path)


def test_peers_that_are_installed_agree_with_onefit_and_the_others_are_named():
    from benchmarks.peers import pls
    from benchmarks.peers.line import Absent, library
    from benchmarks.peers.outputs import peers

    with pytest.raises(Absent, match=r"no-such-peer is left out .*pip install"):
        library("no-such-peer", "no_such_peer")
    for measure in [*peers(True, 0.0), *list(pls.peers(True, 0.0))[:1]]:
        with contextlib.suppress(Absent):
            assert measure().ratio > 0
