"""Counts and positive amounts on the command line: models for them, and what is said of other models."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from test_cli import document, onefit_cli

import onefit
from helpers import quietly

SHORT = ["--folds", "4", "--repeats", "2"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Two columns, a count and an amount."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=120), "city": rng.choice(["x", "y"], 120)})
    mean = np.exp(0.4 * table["size"] + (table["city"] == "x"))
    table["visits"], table["sales"] = rng.poisson(mean), rng.gamma(1.0, mean)
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    table.to_csv(path, index=False)
    return path, table


@pytest.mark.parametrize(
    ("name", "target", "other", "last"),
    [
        ("poisson", "visits", "sales", PoissonRegressor(alpha=0.01, max_iter=1000)),
        ("gamma", "sales", "visits", GammaRegressor(alpha=0.01, max_iter=1000)),
    ],
)
def test_models_of_counts_and_amounts_are_scikit_learns_behind_its_encoders(shop, name, target, other, last):
    path, table = shop
    loss = f"{name}_deviance"
    found = document("run", path, "--target", target, "--drop", other, "--model", name, "--loss", loss, *SHORT)
    encode = make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"])
    )
    expected = quietly(
        onefit.nested_cv, make_pipeline(encode, last), table[["size", "city"]], table[target].to_numpy(float),
        loss=loss, n_folds=4, n_repeats=2, random_state=0,
    )  # fmt: skip
    assert found["result"]["route"] == expected.route == "newton"
    assert found["result"]["estimate"] == pytest.approx(expected.estimate, rel=1e-9)
    assert not [note for note in found["notes"] if "try --model" in note]


@pytest.mark.parametrize(("name", "target", "other"), [("poisson", "visits", "sales"), ("gamma", "sales", "visits")])
def test_the_report_has_the_deviance_the_model_and_the_curve_over_its_penalty(shop, tmp_path, name, target, other):
    path, page = shop[0], tmp_path / "report.html"
    options = ["--target", target, "--drop", other, "--model", name, "--loss", f"{name}_deviance", *SHORT]
    found = document("run", path, *options, "--report", page)
    text = unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8"))))
    assert f"Expect a {name.title()} deviance of about {found['result']['estimate']:.2f}, 95% interval" in text
    assert f"How well can {target} be predicted?" in text
    assert f"{name.title()}Regressor(alpha=0.01, max_iter=1000)" in text
    assert "The error along alpha" in text


def test_the_penalty_can_be_given_and_drawn(shop):
    path, _ = shop
    options = ["--target", "visits", "--drop", "sales", "--model", "poisson"]
    found = document("curve", path, *options, "--lambda", "0.001:1:3", *SHORT)
    np.testing.assert_allclose(found["curve"]["values"], [0.001, 0.0316228, 1.0], rtol=1e-5)
    assert "PoissonRegressor(alpha=0.5, max_iter=1000)" in document("run", path, *options, "--lambda", "0.5")["python"]


@pytest.mark.parametrize(
    ("target", "said"),
    [("visits", "whole numbers from 0 up.*--model poisson"), ("sales", "positive and skewed.*--model gamma")],
)
def test_what_suits_the_target_is_suggested_and_not_assumed(shop, target, said):
    path, _ = shop
    found = document("run", path, "--target", target, "--features", "size", *SHORT)
    assert "PenalizedRegression" in found["python"]
    (note,) = [note for note in found["notes"] if "try --model" in note]
    assert re.search(said, note)


def test_numbers_that_are_neither_get_no_advice(shop, tmp_path):
    _, table = shop
    table = table.assign(year=np.arange(120) % 30 + 1990, height=np.random.default_rng(1).normal(170, 8, 120))
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    for target in ("year", "height", "size"):
        found = document("run", path, "--target", target, "--features", "visits", *SHORT)
        assert not [note for note in found["notes"] if "try --model" in note]


@pytest.mark.parametrize(
    ("name", "target", "said"),
    [
        ("poisson", "size", "predicts counts, and the target has a negative value"),
        ("gamma", "visits", "the target has the value 0; --model poisson takes zeros"),
        ("gamma", "size", "use --model ridge"),
        ("poisson", "city", "holds classes, and --model poisson predicts numbers"),
    ],
)
def test_targets_that_a_model_is_not_made_for_are_refused(shop, name, target, said):
    path, _ = shop
    refused = onefit_cli("run", path, "--target", target, "--features", "sales", "--model", name)
    assert refused.exit_code == 1
    assert said in " ".join(refused.stderr.split())
