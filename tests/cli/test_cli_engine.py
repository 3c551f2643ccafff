"""--engine dask: workers of Dask read the files, and the answer is that of this process."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_cli import document, onefit_cli

from onefit.cli import streaming

OPTIONS = ("--target", "y", "--seed", 0, "--folds", 5, "--repeats", 2)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for part in range(3):
        frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
        frame["y"] = frame["a"] + rng.normal(size=400)
        frame.to_parquet(tmp_path / "data" / f"part-{part}.parquet")
    return tmp_path / "data"


def test_a_scheduler_without_the_engine_is_refused(folder):
    outcome = onefit_cli("run", folder, *OPTIONS, "--scheduler", "tcp://127.0.0.1:1")
    assert outcome.exit_code == 2
    assert "--engine dask" in outcome.stderr


def test_an_engine_that_nobody_knows_is_refused(folder):
    assert onefit_cli("run", folder, *OPTIONS, "--engine", "spark").exit_code == 2


def test_standard_input_is_not_read_by_workers():
    outcome = onefit_cli("run", "-", *OPTIONS, "--engine", "dask")
    assert outcome.exit_code == 2
    assert "name a file" in outcome.stderr


@pytest.mark.cluster
def test_workers_give_the_answer_of_this_process(cluster, folder, monkeypatch):
    dask = ("--engine", "dask", "--scheduler", cluster.scheduler.address)
    outcome = onefit_cli("run", folder / "*.parquet", *OPTIONS, *dask)
    assert outcome.exit_code == 0, outcome.stderr
    assert "which stay with Dask's workers and are read twice" in outcome.stderr
    there = document("run", folder / "*.parquet", *OPTIONS, *dask)
    assert f"on_dask(Client('{cluster.scheduler.address}'))" in there["python"]
    refused = onefit_cli("run", folder, *OPTIONS, *dask, "--model", "spline")
    assert "--engine dask leaves them to workers" in refused.stderr
    monkeypatch.setattr(streaming, "free_memory", lambda: 1e4)
    here = document("run", folder / "*.parquet", *OPTIONS)
    assert there["result"] == here["result"]


@pytest.mark.cluster
def test_curves_comparisons_and_plans_of_workers_are_those_of_this_process(cluster, folder, monkeypatch):
    dask = ("--engine", "dask", "--scheduler", cluster.scheduler.address)
    penalties, models = ("--lambda", "1:100:3"), ("--model", "ridge", "--model", "ols")
    asked = {"curve": penalties, "compare": models}
    there = {name: document(name, folder, *OPTIONS, *more, *dask) for name, more in asked.items()}
    plan = onefit_cli("plan", folder, *OPTIONS, *dask)
    assert plan.exit_code == 0, plan.stderr
    assert "which stay with Dask's workers" in plan.stderr
    monkeypatch.setattr(streaming, "free_memory", lambda: 1e4)
    for name, more in asked.items():
        here = document(name, folder, *OPTIONS, *more)
        assert {**here, "request": 0, "python": 0, "notes": 0} == {**there[name], "request": 0, "python": 0, "notes": 0}


@pytest.mark.cluster
def test_a_scheduler_that_does_not_answer_is_named(folder, monkeypatch):
    from onefit.cli import engine

    monkeypatch.setattr(engine, "PATIENCE", 1)
    outcome = onefit_cli("run", folder, *OPTIONS, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert outcome.exit_code == 1
    assert "No Dask scheduler answers at tcp://127.0.0.1:1" in outcome.stderr
