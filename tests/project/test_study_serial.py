"""The study of rows that follow one another: its truths and its table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers import quietly
from validation import serial


def test_the_error_elsewhere_is_that_of_many_new_rows():
    data = serial.draw("AR .8 / .8", "ridge", 100, 1)
    fitted = serial.model_of("ridge").fit(data.X, data.y)
    beta = data.function[: data.X.shape[1]] / np.sqrt(data.X.shape[1])
    assert data.elsewhere(fitted) == pytest.approx(1 + np.square(fitted.coef_ - beta).sum() + fitted.intercept_**2)
    rng = np.random.default_rng(0)
    for model in ("ridge", "spline"):
        data = serial.draw("AR .5 / .5", model, 200, 1)
        fitted = serial.model_of(model).fit(data.X, data.y)
        new = rng.normal(size=(200_000, data.X.shape[1]))
        function = np.sin(2 * new[:, 0]) if model == "spline" else new @ beta
        simulated = 1 + np.square(quietly(fitted.predict, new) - function).mean()
        assert quietly(data.elsewhere, fitted) == pytest.approx(simulated, rel=0.02)


@pytest.mark.parametrize("name", serial.SETTINGS)
def test_errors_and_columns_have_unit_variances(name):
    drawn = serial.SETTINGS[name].errors(100, 400, np.random.default_rng(0))
    assert drawn.shape == (100, 400)
    assert np.square(drawn).mean() == pytest.approx(1.0, abs=0.15)


def test_the_summary_counts_what_is_covered():
    table = pd.concat([serial.study(name, range(1 + (name == "AR .8 / .8")), rows=(100,)) for name in serial.SETTINGS])
    found = serial.summary(table)
    assert set(found["datasets"]) == {1, 2}
    assert set(found["setting"]) == set(serial.SETTINGS)
    assert set(found["target"]) == {"elsewhere", "gaps", "ahead", "difference"}
    one = found[(found["setting"] == "AR .8 / .8") & (found["model"] == "least squares")].set_index("method")
    mine = table[(table["setting"] == "AR .8 / .8") & (table["model"] == "least squares")]
    mine = mine[mine["method"] == "random folds"]
    inside = (mine["low"] <= mine["truth"]) & (mine["truth"] <= mine["high"])
    assert one.loc["random folds", "coverage"] == inside.mean()


def test_the_study_goes_on_from_what_is_kept_and_refuses_what_other_code_made(monkeypatch, tmp_path):
    monkeypatch.setattr(serial, "WORK", tmp_path)
    monkeypatch.setattr(serial, "AT_ONCE", 1)
    monkeypatch.setattr(serial, "ROWS", (100,))
    name, kept = "season / AR .5", serial.Kept(only_blocks=True)
    for first in (5000, 5001):
        kept.compute(name, first)
    assert sorted(set(kept.table()["seed"])) == [5000, 5001]
    assert len(serial.Kept().table()) == 0
    kept.check(name)
    path = kept.path(name, 5000)
    table = pd.read_csv(path)
    table.assign(low=table["low"] * 1.001).to_csv(path, index=False)
    with pytest.raises(SystemExit, match="other code"):
        kept.check(name)


def test_lines_of_more_data_sets_take_the_place_of_others():
    table = pd.read_csv(serial.RESULT)
    assert serial.merged([table, table.head(3)]).reset_index(drop=True).equals(table)
    more = table[table["method"] == "SpaceBlocks"].assign(datasets=10_000, coverage=0.5)
    found = serial.merged([table, more])
    assert len(found) == len(table)
    assert (found[found["method"] == "SpaceBlocks"]["coverage"] == 0.5).all()
    assert (found[found["method"] != "SpaceBlocks"]["datasets"] < 10_000).all()
