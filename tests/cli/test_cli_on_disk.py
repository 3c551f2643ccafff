"""Directories and globs on the command line; tables that would fill the memory stay on disk, and say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_cli import document, estimate_of, onefit_cli

from onefit.cli import streaming


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for part in range(3):
        frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
        frame["city"], frame["team"] = rng.choice(["x", "y", "z"], 400), rng.integers(0, 50, 400)
        frame["y"] = frame["a"] + (frame["city"] == "x") + rng.normal(size=400)
        frame.to_parquet(tmp_path / "data" / f"part-{part}.parquet")
    return tmp_path / "data"


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(streaming, "free_memory", lambda: 1e4)


def test_a_directory_is_what_its_files_are_together(folder):
    options = ("--target", "y", "--drop", "team", "--seed", 0)
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    whole.to_parquet(folder.parent / "all.parquet")
    found = document("run", folder / "*.parquet", *options)["result"]
    assert found == document("run", folder.parent / "all.parquet", *options)["result"]


def test_a_table_that_is_large_stays_on_disk_and_its_script_gives_the_same(folder, little_memory, monkeypatch):
    options = ("--target", "y", "--groups", "team", "--seed", 0, "--folds", 5, "--repeats", 2)
    outcome = onefit_cli("run", folder, *options)
    assert "they stay on disk and are read twice" in outcome.stderr
    found = document("run", folder, *options)
    assert found["request"]["rows"] == 1200
    result = estimate_of(found["python"], folder.parent, monkeypatch)
    assert result.estimate == found["result"]["estimate"]
    assert "onefit.scan" in found["python"]


def test_curves_comparisons_plans_and_reports_of_tables_on_disk(folder, little_memory, tmp_path):
    options = (folder / "*.parquet", "--target", "y", "--drop", "team", "--seed", 0, "--folds", 5, "--repeats", 2)
    says = "more than a quarter of the free memory: they stay on disk"
    assert says in onefit_cli("curve", *options, "--lambda", "1:100:3").stderr
    curve = document("curve", *options, "--lambda", "1:100:3")["curve"]
    assert np.isfinite(curve["estimate"]).all()
    compared = onefit_cli("compare", *options, "--model", "ridge", "--model", "ols", "--report", tmp_path / "r.html")
    assert compared.exit_code == 0, compared.stderr
    assert says in compared.stderr
    assert (tmp_path / "r.html").stat().st_size > 10_000
    plan = onefit_cli("plan", *options)
    assert plan.exit_code == 0, plan.stderr
    assert says in plan.stderr
    assert "1200 rows" in plan.stdout.replace(",", "")


@pytest.mark.parametrize(
    ("target", "model", "options"),
    [
        ("y", "lasso", ("--scoring", "r2")),
        ("won", "logistic", ("--scoring", "roc_auc,neg_log_loss")),
        ("won", "ridge", ()),
        ("visits", "poisson", ("--loss", "poisson_deviance")),
        ("paid", "gamma", ()),
    ],
)
def test_scores_classes_counts_and_amounts_on_disk(folder, little_memory, monkeypatch, target, model, options):
    rng = np.random.default_rng(1)
    for path in folder.iterdir():
        frame = pd.read_parquet(path)
        signal = frame.pop("y").to_numpy()
        made = {
            "y": signal,
            "won": np.where(signal + rng.logistic(size=400) > 0, "yes", "no"),
            "visits": rng.poisson(np.exp(signal / 3)),
            "paid": rng.gamma(2.0, np.exp(signal / 3)),
        }
        frame[target] = made[target]
        frame.to_parquet(path)
    asked = ("--target", target, "--model", model, *options, "--seed", 0, "--folds", 5, "--repeats", 2)
    found = document("run", folder, *asked, "--drop", "team")
    again = estimate_of(found["python"], folder.parent, monkeypatch)
    assert again.estimate == found["result"]["estimate"]
    low, high = found["result"]["interval"]
    assert low < again.estimate < high
    assert again.route == {"lasso": "gram", "ridge": "gram"}.get(model, "newton")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "additive"), "--model additive needs the rows in memory"),
        (("--order", "a"), "--order needs the rows in memory"),
        (("--tuned", "gcv"), "table.sample"),
    ],
)
def test_what_needs_rows_in_memory_is_refused_in_one_line(folder, little_memory, options, words):
    outcome = onefit_cli("run", folder, "--target", "y", *options, "--quiet")
    assert outcome.exit_code == 1
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_table_with_a_gap_leaves_no_file_behind(folder, little_memory, tmp_path):
    last = pd.read_parquet(folder / "part-2.parquet")
    last.loc[7, "y"] = np.nan
    last.to_parquet(folder / "part-2.parquet")
    written = ("--report", tmp_path / "r.html", "--json", tmp_path / "r.json")
    outcome = onefit_cli("run", folder, "--target", "y", "--drop", "team", "--quiet", *written)
    assert outcome.exit_code == 1
    assert "The target 'y' is missing in row 807, the first such row" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_no_file_is_found(tmp_path):
    outcome = onefit_cli("run", tmp_path / "none-*.parquet", "--target", "y", "--quiet")
    assert outcome.exit_code == 1
    assert "There is no file" in outcome.stderr
