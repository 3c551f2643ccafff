"""Tables whose rows follow one another: --order, --coords and --ahead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_cli import document, estimate_of, onefit_cli

import onefit
from helpers import quiet_nested_cv

N = 90
RNG = np.random.default_rng(1)
NOISE = np.convolve(RNG.normal(size=N + 4), 0.8 ** np.arange(5), mode="valid")
TABLE = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
TABLE["y"] = TABLE["a"] + TABLE["b"] + NOISE
TABLE["day"] = pd.date_range("2021-03-01", periods=N).astype(str)
TABLE["lon"], TABLE["lat"] = RNG.uniform(5, 7, N), RNG.uniform(45, 46, N)
RIDGE = make_pipeline(StandardScaler(), onefit.PenalizedRegression(lam=1.0))
PLAIN = ["--target", "y", "--lambda", "1", "--features", "a", "--features", "b"]


@pytest.fixture
def path(tmp_path):
    shuffled = TABLE.sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


CASES = {
    "order": (["--order", "day"], onefit.TimeBlocks(order=np.arange(N))),
    "blocks": (["--order", "day", "--folds", "6"], onefit.TimeBlocks(6, order=np.arange(N))),
    "ahead": (["--order", "day", "--ahead", "5"], onefit.RollingOrigin(5)),
    "coords": (["--coords", "lon", "lat", "--folds", "9"], onefit.SpaceBlocks(9, coords=TABLE[["lon", "lat"]])),
}


@pytest.mark.parametrize("name", CASES)
def test_the_folds_are_those_of_the_library_and_of_the_python_that_is_shown(name, path, tmp_path, monkeypatch):
    options, cv = CASES[name]
    found = document("run", path, *PLAIN, *options)
    expected = quiet_nested_cv(RIDGE, TABLE[["a", "b"]], TABLE["y"], cv=cv)
    assert found["result"]["interval"] == pytest.approx(expected.interval, rel=1e-9)
    assert found["result"]["dependence"]["kind"] == expected.dependence.kind
    assert estimate_of(found["python"], tmp_path, monkeypatch).interval == pytest.approx(expected.interval, rel=1e-9)


def test_times_and_places_are_not_predicted_from_unless_they_are_named(path):
    left = document("run", path, "--target", "y", "--order", "day", "--drop", "lon", "--drop", "lat")
    assert "X = table[['a', 'b']]" in left["python"]
    kept = document("run", path, "--target", "y", "--coords", "lon", "lat", "--drop", "day", "--keep", "lon")
    assert "X = table[['a', 'b', 'lon']]" in kept["python"]


def test_the_answer_says_which_error_is_meant(path):
    outcome = onefit_cli("run", path, *PLAIN, "--order", "day", "--ahead", "1")
    assert outcome.exit_code == 0, outcome.output
    assert "forecasts 1 step ahead" in outcome.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--order", "dya"], "did you mean 'day'"),
        (["--coords", "lon", "day"], "must hold a number"),
        (["--order", "day", "--coords", "lon", "lat"], "leave one of them out"),
        (["--coords", "lon", "lat", "--ahead", "3"], "leave one of them out"),
        (["--ahead", "3", "--folds", "5"], "leave --folds out"),
        (["--order", "day", "--folds", "n"], "number of blocks"),
        (["--order", "day", "--groups", "a"], "two ways"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words, path):
    outcome = onefit_cli("run", path, *PLAIN, *options)
    assert outcome.exit_code in (1, 2)
    assert words in " ".join(outcome.stderr.replace("│", " ").split())


@pytest.mark.parametrize(("options", "fits"), [(["--folds", "5"], 15), (["--ahead", "10"], 6)])
def test_the_plan_of_refits_of_rows_in_time_counts_them_and_says_when_their_time_is_known(options, fits, path):
    said = onefit_cli("run", path, *PLAIN, "--order", "day", "--route", "refit", *options).stderr
    (plan,) = [line for line in said.splitlines() if line.startswith("plan: ")]
    assert plan.endswith(f"by refit: {fits} fits, whose time the first ones will tell (asked for)")


def test_a_date_that_cannot_be_read_is_told_without_arguments_of_pandas(tmp_path):
    TABLE.assign(day=[*TABLE["day"][1:], "01.02.21"]).to_csv(tmp_path / "t.csv", index=False)
    outcome = onefit_cli("run", tmp_path / "t.csv", *PLAIN, "--order", "day")
    assert outcome.exit_code == 1
    assert "01.02.21" in outcome.stderr
    assert outcome.stderr.rstrip().endswith("); correct it.")
    assert "passing" not in outcome.stderr
