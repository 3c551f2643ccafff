"""The calibration of the warnings runs, and its settings are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from validation import warnings as calibration
from validation.warnings import FEW_GROUPS, NOISES, SETTINGS, Setting, report, study


@pytest.mark.parametrize("name", [name for name in NOISES if name not in ("t1.5", "t2.5", "t3", "lognormal 1.5")])
def test_noises_have_mean_zero_and_variance_one(name):
    draws = NOISES[name](np.random.default_rng(0), (400_000,))
    assert draws.mean() == pytest.approx(0, abs=0.01)
    assert draws.var() == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_true_error_is_that_on_new_rows(loss):
    setting = Setting("squared error", "laplace", 40, loss=loss)
    rng = np.random.default_rng(2)
    X, noise, _ = setting.draw(rng, 40)
    fitted = LinearRegression().fit(X, X.sum(axis=1) + noise)
    new, new_noise, _ = setting.draw(rng, 200_000)
    wrong = np.abs(new.sum(axis=1) + new_noise - fitted.predict(new))
    fresh = NOISES["laplace"](np.random.default_rng(0), (200_000,))
    expected = np.mean(wrong**2 if loss == "squared_error" else wrong)
    assert setting.error(fitted, fresh) == pytest.approx(expected, rel=0.02)


def test_groups_have_the_sizes_asked_for():
    _, noise, groups = Setting("groups", "gaussian", 50, 0.3, sizes=(2, 30)).draw(np.random.default_rng(0), 50)
    counts = np.bincount(groups)
    assert len(noise) == counts.sum()
    assert (counts.min(), counts.max()) == (2, 30)


def test_the_study_has_a_row_a_setting_and_the_report_a_line_a_family():
    settings = [SETTINGS[0], Setting("groups", "lognormal 1.5", 30, 0.3), FEW_GROUPS[0]]
    table = study(settings, 2, 1)
    assert list(table["family"]) == [setting.family for setting in settings]
    assert table["few groups"].tolist() == [0.0, 0.0, 1.0]
    table.loc[1, ["coverage", "heavy tails"]] = 0.5, 0.75
    text = report(table)
    assert "groups: 1 settings cover less than 85%, and 75% of their data sets are warned of" in text
    assert "few groups: silent in Gaussian data" in text


def test_the_command_prints_the_table(capsys, monkeypatch):
    monkeypatch.setattr(calibration, "SETTINGS", [])
    monkeypatch.setattr(calibration, "FEW_GROUPS", FEW_GROUPS[:1])
    calibration.main(["--family", "few groups", "--replications", "2", "--jobs", "1"])
    assert "corrected_t" in capsys.readouterr().out
