"""Sentences and LaTeX tables for a paper: their figures are those of the tables, in characters that LaTeX knows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quietly
from onefit.display.numbers import interval_text

N = 30
ALPHAS = np.array([0.1, 1.0, 30.0])
MODELS = {"ridge_1": Ridge(1.0), "tree": DecisionTreeRegressor(max_depth=2, random_state=0), "ols": LinearRegression()}


def problem(n_outputs=1, scale=1.0):
    X, y = data(N, 3, seed=0, n_outputs=None if n_outputs == 1 else n_outputs)
    return X, scale * y if n_outputs == 1 else pd.DataFrame(scale * y, columns=["dose_a", "b"])


def compared(n_outputs=1, **options):
    return quietly(onefit.compare, MODELS, *problem(n_outputs), n_folds=5, n_repeats=2, random_state=0, **options)


def curved(n_outputs=1, values=ALPHAS, scale=1.0, **options):
    return quietly(
        onefit.error_curve, Ridge(), *problem(n_outputs, scale), param_name="alpha", param_range=values, **options
    )


def rows(latex):
    """Cells of every row of a tabular, the heading first; all rows have as many cells as there are columns."""
    found = [line.removesuffix(" " + "\\" * 2).split(" & ") for line in latex.splitlines() if line.endswith("\\" * 2)]
    width = len(re.search(r"tabular}{(l+r+)}", latex)[1])
    assert all(len(row) == width or "multicolumn" in row[0] for row in found)
    return found


def math(text):
    return f"${text.replace(',', '{,}').replace('−', '-')}$"


def expected(row):
    estimate, low, high = (math(text) for text in interval_text(row["estimate"], row["low"], row["high"]))
    return [estimate, f"{low} to {high}"]


def test_latex_of_a_comparison_has_the_models_and_below_them_all_pairs():
    comparison = compared()
    found = rows(comparison.to_latex())
    models = [[name.replace("_", "\\_"), *expected(row)] for name, row in comparison.models.iterrows()]
    pairs = [
        [f"{first} $-$ {second}".replace("_", "\\_"), *expected(row)]
        for (first, second), row in comparison.differences.iterrows()
    ]
    assert found[0] == ["model", "squared error", "95\\% interval"]
    assert found[1:4] == models
    assert found[5:] == pairs
    assert len(pairs) == 3


def test_latex_of_a_comparison_has_every_metric_and_output():
    comparison = compared(2, scoring=["r2", "neg_mean_absolute_error"])
    found = rows(comparison.to_latex())
    assert len(found) == 1 + 3 * 2 * 2 + 1 + 3 * 2
    assert "ridge\\_1, R$^2$ of dose\\_a" in [row[0] for row in found]
    assert found[13] == ["\\multicolumn{3}{l}{paired difference of R$^2$, first minus second}"]


def test_sentences_of_a_comparison_say_who_was_refitted_and_how_the_best_differs_from_each():
    comparison = compared()
    text = comparison.methods()
    best = comparison.models.index[0]
    assert (
        "3 models was compared on the same rows and folds by nested cross-validation (Bates et al. 2024) with "
        "5 folds and 2 repeats" in text
    )
    assert "by refitting the model in every training set for tree," in text
    for (first, second), row in comparison.differences.iterrows():
        estimate, low, high = interval_text(row["estimate"], row["low"], row["high"])
        sentence = f"{estimate} (95% confidence interval {low} to {high}) for {first} − {second}"
        assert (sentence in text) == (first == best)


def test_sentences_name_the_rule_of_differences_where_it_is_another_than_that_of_the_models():
    text = compared(interval="corrected_t").methods()
    assert "with intervals by Nadeau and Bengio's (2003) corrected t." in text
    assert "The paired difference, with intervals by the covariance rule of onefit" in text
    assert "The paired difference was" in compared().methods()


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_latex_of_a_curve_has_each_value_and_its_difference_from_the_best(n_outputs):
    curve = curved(n_outputs)
    found = rows(curve.to_latex())
    table = curve.to_frame()
    assert len(found) == 1 + len(table)
    best = np.atleast_1d(curve.best) + np.arange(n_outputs) * len(ALPHAS)
    for at, (cells, (_, row)) in enumerate(zip(found[1:], table.iterrows(), strict=True)):
        assert cells[-4:-2] == expected(row)
        difference = row.filter(like="difference_").rename(lambda name: name.removeprefix("difference_"))
        assert cells[-2:] == (["best", ""] if at in best else expected(difference))
    assert [row[-5] for row in found[1:4]] == ["$0.1$", "$1$", "$30$"]


def test_sentences_of_a_curve_have_the_best_value_and_those_not_told_from_it():
    curve = curved()
    text = curve.methods()
    estimate, low, high = interval_text(*(part[curve.best] for part in (curve.estimate, curve.low, curve.high)))
    assert "Generalization at 3 values of alpha (0.1 to 30)" in text
    assert f"{estimate} (95% confidence interval {low} to {high}) at alpha {curve.values[curve.best]:g};" in text
    assert f"{len(curve.indistinguishable())} of 3 values" in text
    assert text.count("Of ") == 0
    assert "Of dose_a, the best estimate" in curved(2).methods()


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_latex_has_no_character_that_a_plain_latex_does_not_know(scale):
    X, y = problem(scale=scale)
    curve = curved(scale=scale)
    result = quietly(onefit.nested_cv, Ridge(), X, y, n_folds=5, n_repeats=1, random_state=0)
    for latex in (curve.to_latex(), result.to_latex()):
        assert latex.isascii()
        assert re.search(r"\d \\times 10\^\{-?\d+\}\$", latex)


def test_a_value_that_cannot_be_fitted_has_dashes():
    curve = quietly(
        onefit.error_curve, Ridge(), *problem(), param_name="alpha", param_range=[-1e6, 1.0], route="refit", n_folds=5
    )
    assert curve.reasons[0]
    assert rows(curve.to_latex())[1][1:] == ["--", "--", "--", "--"]


def test_papers_have_losses_with_the_sign_that_papers_print():
    names = ["neg_mean_absolute_error", "r2"]
    scored, lossy = (compared(scoring=names), compared(loss="absolute_error"))
    assert "(negative)" not in scored.methods() + scored.to_latex()
    assert [row[1:] for row in rows(scored.to_latex())[-3:]] == [row[1:] for row in rows(lossy.to_latex())[-3:]]
    assert scored.methods() == lossy.methods()
    by_score, by_loss = curved(scoring="neg_mean_absolute_error"), curved(loss="absolute_error")
    assert by_score.to_latex() == by_loss.to_latex()
    assert by_score.methods() == by_loss.methods()
    result = next(iter(scored.results.values()))
    assert result.estimate < 0  # as scikit-learn has it
    assert "The estimated absolute error was 0." in result.methods()


def test_signs_of_scores_that_users_name_are_left_alone():
    scoring = {"neg_predictive": "neg_mean_absolute_error"}
    result = quietly(onefit.nested_cv, Ridge(), *problem(), scoring=scoring, n_folds=5, n_repeats=1, random_state=0)
    assert "The estimated neg predictive was −" in result.methods()
