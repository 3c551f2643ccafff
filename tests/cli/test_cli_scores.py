"""Scores on the command line: --scoring, losses of probabilities, the best constant, and the Python that repeats it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_cli import document, onefit_cli

import onefit
from helpers import quietly

SHORT = ["--folds", "4", "--repeats", "2", "--quiet"]


@pytest.fixture(scope="module")
def sick(tmp_path_factory):
    """A table of two columns and a class."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 2)), columns=["age", "dose"])
    table["state"] = np.where(rng.random(120) < 1 / (1 + np.exp(-1.5 * table["age"])), "ill", "well")
    path = tmp_path_factory.mktemp("sick") / "sick.csv"
    table.to_csv(path, index=False)
    return path, table


def test_scores_are_those_of_nested_cv_and_are_shown_as_a_table(sick):
    path, table = sick
    options = ["run", path, "--target", "state", "--model", "logistic", "--scoring", "roc_auc,neg_log_loss", *SHORT]
    found, shown = document(*options), onefit_cli(*options).stdout
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    expected = quietly(
        onefit.nested_cv, model, table[["age", "dose"]], table["state"].to_numpy(str),
        scoring=["roc_auc", "neg_log_loss"], n_folds=4, n_repeats=2, random_state=0,
    )  # fmt: skip
    figures = pd.DataFrame(found["result"]["metrics"]).set_index("metric")
    np.testing.assert_allclose(figures["estimate"], expected.metrics["estimate"], rtol=1e-9)
    assert [row["metric"] for row in found["result"]["calibration"]] == ["calibration_slope", "calibration_intercept"]
    assert found["request"]["scoring"] == ["roc_auc", "neg_log_loss"]
    lines = shown.splitlines()
    assert lines[0].startswith("Expect an AUC of about 0.")
    assert lines[1] == "The best constant has 0.5: the whole interval is better"
    assert [line.split()[0] for line in lines[3:6]] == ["metric", "roc_auc", "neg_log_loss"]
    assert [line.split()[0] for line in lines[7:10]] == ["calibration", "slope", "intercept"]


def test_the_python_that_is_printed_repeats_the_scores(sick, capsys, monkeypatch):
    path, _ = sick
    for command, extra in (("run", ["--model", "logistic"]), ("compare", ["--model", "logistic", "--model", "ridge"])):
        found = document(command, path, "--target", "state", *extra, "--scoring", "roc_auc,accuracy", *SHORT)
        monkeypatch.chdir(path.parent)
        names = {}
        quietly(exec, found["python"], names)
        capsys.readouterr()
        kind = {"run": "result", "compare": "comparison"}[command]
        made = names[kind].metrics if command == "run" else names[kind].models
        written = found[kind]["metrics" if command == "run" else "models"]
        np.testing.assert_allclose(made["estimate"], [row["estimate"] for row in written], rtol=1e-9)


def test_scores_of_one_class_mean_1_and_true(sick, monkeypatch):
    path, table = sick
    is_first = table["state"] == sorted(table["state"].unique())[0]
    table.assign(state=is_first * 1).to_csv(path.parent / "codes.csv", index=False)
    table.assign(state=is_first).to_csv(path.parent / "truth.csv", index=False)
    options = ["--target", "state", "--model", "logistic", "--scoring", "recall,average_precision", *SHORT]
    coded = document("run", path.parent / "codes.csv", *options, "--classes")
    true = document("run", path.parent / "truth.csv", *options)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    expected = quietly(
        onefit.nested_cv, model, table[["age", "dose"]], is_first.to_numpy(),
        scoring=["recall", "average_precision"], n_folds=4, n_repeats=2, random_state=0,
    )  # fmt: skip
    for found in (coded, true):
        figures = [row["estimate"] for row in found["result"]["metrics"]]
        np.testing.assert_allclose(figures, expected.metrics["estimate"], rtol=1e-9)
        monkeypatch.chdir(path.parent)
        names = {}
        quietly(exec, found["python"], names)
        np.testing.assert_allclose(names["result"].metrics["estimate"], figures, rtol=1e-9)
    shown = onefit_cli("run", path, *options)
    assert shown.exit_code == 1
    assert "write 1 for the one that is meant and 0 for the other in the table, and give --classes" in shown.stderr
    assert "make_scorer" not in shown.stderr


def test_a_comparison_of_scores_calls_the_larger_better(sick):
    path, table = sick
    table = table.assign(noise=np.random.default_rng(1).normal(size=120))
    table.to_csv(path.parent / "noisy.csv", index=False)
    curve = ["--param", "C", "--values", "0.0001,1", "--simpler", "smaller"]
    options = ["--target", "state", "--model", "logistic", "--scoring", "neg_log_loss,roc_auc", *SHORT]
    found = document("curve", path.parent / "noisy.csv", *options, *curve)["curve"]
    assert found["greater_is_better"]
    assert found["estimate"][1] > found["estimate"][0]
    assert found["selected"]["min"] == 1.0
    assert [row["metric"] for row in found["metrics"]] == ["neg_log_loss", "roc_auc"]
    options = ["compare", path, "--target", "state", "--model", "logistic", "--model", "ridge", *SHORT]
    shown = onefit_cli(*options, "--scoring", "accuracy,roc_auc").stdout
    assert "largest accuracy, but is not told apart" in shown or "predicts best" in shown
    assert shown.count("roc_auc") == 2


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_losses_of_probabilities_have_a_skill(sick, loss):
    path, _ = sick
    shown = onefit_cli("run", path, "--target", "state", "--model", "logistic", "--loss", loss, *SHORT).stdout
    assert "skill" in shown.splitlines()[1]
    refused = onefit_cli("run", path, "--target", "age", "--drop", "state", "--loss", loss)
    assert (refused.exit_code, "is for classes" in refused.stderr) == (1, True)


def test_what_does_not_go_together_is_refused(sick):
    path, _ = sick
    both = onefit_cli("run", path, "--target", "state", "--scoring", "roc_auc", "--loss", "zero_one")
    assert (both.exit_code, "leave one of them out" in both.stderr) == (2, True)
    assert onefit_cli("run", path, "--target", "state", "--scoring", ",").exit_code == 2
    unknown = onefit_cli("run", path, "--target", "state", "--scoring", "auc")
    assert (unknown.exit_code, "roc_auc" in unknown.stderr) == (1, True)
    penalty = onefit_cli("run", path, "--target", "state", "--model", "logistic", "--lambda", "1")
    assert (penalty.exit_code, "--param C" in penalty.stderr) == (1, True)
    numbers = onefit_cli("run", path, "--target", "age", "--drop", "state", "--model", "logistic")
    assert (numbers.exit_code, "predicts classes" in numbers.stderr) == (1, True)
