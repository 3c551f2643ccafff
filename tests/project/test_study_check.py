"""``python -m validation.check``: whether the code at hand gives the figures that the pages of the studies have."""

from __future__ import annotations

import json

import numpy as np
import pytest

from validation import check
from validation.fingerprints import STUDIES, needs_tables
from validation.settings import SETTINGS


def test_every_case_of_every_study_is_stored_once():
    stored = check.read()
    for study, cases in STUDIES.items():
        known = [case for of_commit in stored[study].values() for case in of_commit]
        assert sorted(known) == sorted(cases)
    assert {case.split()[0] for case in STUDIES["coverage"]} == set(SETTINGS)


def test_intervals_of_two_settings_are_those_of_the_study():
    assert check.compare([("coverage", "ols-40-20 0"), ("coverage", "ridge-40-100 0"), ("r2", "real-diabetes")]) == []


@pytest.mark.slow
def test_intervals_of_all_settings_are_those_of_the_studies():
    assert check.compare(check.chosen(["*"], check.have_tables())) == []


def test_what_moved_by_more_than_a_millionth_is_named(monkeypatch, tmp_path, capsys):
    path, case = tmp_path / "stored.json", "AR 0 / 0, 200"
    asked = ["--only", f"serialranks/{case}", "--file", str(path)]
    figures = check.compute("serialranks", case)
    check.main([*asked, "--write", "--commit", "abc"])
    check.main(asked)
    assert "1 data sets" in capsys.readouterr().out
    moved = [[value * (1 + 2e-6) for value in line] for line in figures]
    monkeypatch.setitem(STUDIES, "serialranks", {case: lambda: moved})
    with pytest.raises(SystemExit):
        check.main(asked)
    assert f"serialranks/{case} differs by 2.0e-06" in capsys.readouterr().out


def test_difference_is_over_the_largest_number_of_a_line_and_minds_what_is_not_there():
    assert check.difference([[1.0, 4.0, np.nan]], [[1.0, 4.0 + 4e-5, None]]) == pytest.approx(1e-5, rel=1e-4)
    assert check.difference([[0.0, 0.0]], [[0.0, 0.0]]) == 0.0
    for other in ([[1.0, None]], [[1.0, 2.0], [1.0, 2.0]], [[1.0]]):
        assert check.difference([[1.0, 2.0]], other) == np.inf
    assert check.difference([[0.0, 1.0]], [[0.0, 0.0]]) == np.inf


def test_a_case_belongs_to_the_commit_that_wrote_it_last(tmp_path):
    path = tmp_path / "stored.json"
    check.write(path, "old", {("r2", "real-mpg"): [[1.0, np.nan]], ("r2", "real-delays"): [[1 / 3]]})
    check.write(path, "new", {("r2", "real-mpg"): [[2.0]]})
    assert json.loads(path.read_text()) == {
        "r2": {"old": {"real-delays": [[0.3333333333]]}, "new": {"real-mpg": [[2.0]]}}
    }
    check.write(path, "new", {("r2", "real-delays"): [[3.0]]})
    assert list(check.read(path)["r2"]) == ["new"]


def test_a_word_that_names_nothing_is_an_error():
    with pytest.raises(SystemExit, match="'coverage/nothing' names no data set"):
        check.main(["--only", "r2", "coverage/nothing"])


def test_what_is_not_stored_is_named(tmp_path, capsys):
    assert check.compare([("r2", "real-mpg")], tmp_path / "nothing.json") == [("r2", "real-mpg")]
    assert "r2/real-mpg is not stored" in capsys.readouterr().out


def test_without_their_packages_real_tables_are_left_out(monkeypatch, capsys):
    assert [needs_tables(name) for name in ("real-mpg 1", "real-cancer 0", "real-diabetes", "ols-40-20 0")] == [
        True,
        False,
        False,
        False,
    ]
    monkeypatch.setattr(check, "find_spec", lambda name: None)
    check.main(["--only", "r2"])
    out = capsys.readouterr().out
    assert "11 data sets of real tables are left out" in out
    assert "r2: 1 data sets" in out
