"""What is wrong with a table is named by file, column and row; what was seen of it before is not lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import onefit
from onefit.errors import DataError
from onefit.routes.streams import survey
from onefit.sources import LocalRunner
from onefit.sources import table as sources_table

pytest.importorskip("pyarrow")
ASKED = {"n_folds": 5, "n_repeats": 2, "random_state": 0}


def part(seed, n=600):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return frame.assign(y=frame["a"] + rng.normal(size=n), team=rng.integers(0, 30, n))


def write(folder, ending, *frames):
    for at, frame in enumerate(frames):
        path = folder / f"part-{at}.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    return folder / f"*.{ending}"


@pytest.mark.parametrize(
    ("ending", "where"),
    [("parquet", "row 617, the first such row"), ("csv", r"row 17 of '.*part-1\.csv'")],
)
def test_a_missing_group_is_named_by_its_row(ending, where, tmp_path):
    wrong = part(1).astype({"team": float})
    wrong.loc[[17, 400], "team"] = np.nan
    first = part(0).astype({"team": float})
    table = onefit.scan(str(write(tmp_path, ending, first, wrong)))
    with pytest.raises(DataError, match=f"Column 'team' is missing in {where}"):
        onefit.nested_cv(Ridge(), table, "y", groups="team", **ASKED)


def test_text_where_numbers_were_is_named_by_file_and_column(tmp_path):
    table = onefit.scan(str(write(tmp_path, "csv", part(0), part(1).assign(b="oops"))))
    with pytest.raises(DataError, match=r"part-1\.csv.*column 'b'.*'oops'"):
        onefit.nested_cv(Ridge(), table, "y", **ASKED)


def test_a_file_that_has_other_rows_in_the_second_pass_is_named(tmp_path, monkeypatch):
    table = onefit.scan(str(write(tmp_path, "parquet", part(0), part(1))))
    reads = []

    def counted(fragment, columns, count):
        reads.append(fragment)
        if len(reads) == 3:
            part(2, 700).to_parquet(tmp_path / "part-1.parquet", index=False)
        return sources_table.check_rows(fragment, columns, count)

    monkeypatch.setattr("onefit.routes.streams.rows.check_rows", counted)
    with pytest.raises(DataError, match=r"part-1\.parquet.*was changed"):
        onefit.nested_cv(Ridge(), table, "y", **ASKED)
    assert len(reads) == 4


def test_a_count_that_was_stopped_goes_on_from_finished_files(tmp_path, monkeypatch):
    table, kept = onefit.scan(str(write(tmp_path, "csv", *map(part, range(4))))), tmp_path / "kept"
    plain = onefit.nested_cv(Ridge(), table, "y", groups="team", **ASKED)
    look, seen = survey._Look.__call__, []

    def stopped(self, piece):
        seen.append(piece.place)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return look(self, piece)

    monkeypatch.setattr(survey._Look, "__call__", stopped)
    with pytest.raises(KeyboardInterrupt):
        onefit.nested_cv(Ridge(), table, "y", groups="team", checkpoint=kept, **ASKED)
    result = onefit.nested_cv(Ridge(), table, "y", groups="team", checkpoint=kept, **ASKED)
    assert seen == [0, 1, 2, 2, 3]
    assert (result.estimate, result.interval) == (plain.estimate, plain.interval)
    with pytest.raises(DataError, match="of another job"):
        onefit.nested_cv(Ridge(), table, "y", checkpoint=kept, **ASKED)


def test_a_first_look_keeps_few_rows_whatever_their_number(monkeypatch):
    frame = part(0, 20_000)
    monkeypatch.setattr(survey, "MOST_DRAWN", 100)
    monkeypatch.setattr("onefit.sources.memoryparts.ROWS_OF_A_FRAGMENT", 1000)
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 1000)
    plan = survey.SurveyPlan(("a", "y"), counted=("team",))
    _, found = survey.survey(onefit.scan(frame), plan, LocalRunner())
    assert 100 <= found.n_drawn <= 200
    drawn = found.frame(("a", "y"), 1000)
    places = np.flatnonzero(np.isin(frame["a"], drawn["a"]))
    assert np.array_equal(frame.loc[places, ["a", "y"]], drawn)
    assert len(np.unique(places // 1000)) > 10
    assert sum(found.counts["team"].values()) == 20_000
