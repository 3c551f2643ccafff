"""The reference itself, held to R's numbers: what every other test leans on."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from helpers import FOLD_ERRORS, oracle


@pytest.mark.parametrize(("name", "n_repeats"), [("A1", 10), ("A2", 1), ("A3_negmse", 5), ("B", 10)])
def test_reference_refits_equal_the_oracle(name, n_repeats):
    case = oracle(name).first(n_repeats)
    rows = case.by_lambda[:1] if name == "A2" else case.by_lambda  # a refit of 100 x 150 takes 70 ms
    for position, row in enumerate(rows):
        losses = reference.fold_losses(case.y, case.folds, reference.refitter(case.X, case.y, row["lambda"]))
        for quantity in (*FOLD_ERRORS, "mse"):
            expected = case.expected(position, quantity)
            np.testing.assert_allclose(getattr(losses, quantity), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["A1", "A3_negmse", "B"])
def test_reference_interval_rules_equal_the_oracle(name):
    case = oracle(name)
    for row in case.by_lambda:
        predict = reference.refitter(case.X, case.y, row["lambda"])
        losses = reference.fold_losses(case.y, case.folds, predict)
        bias_cv = reference.cv_error(case.y, case.bias_folds, predict)
        np.testing.assert_allclose(bias_cv, row["bias_cv_means"], rtol=1e-11)
        for rule in ("bates", "paper"):
            interval = getattr(reference, rule)(losses, 0.9, bias_cv)
            expected = [row[rule][key] for key in ("err_hat", "ci_lo", "ci_hi")]
            actual = [interval.estimate, interval.low, interval.high]
            np.testing.assert_allclose(actual, np.array(expected, float), rtol=1e-11)


def test_extended_precision_refit_interpolates_as_the_penalty_vanishes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 25)), rng.standard_normal(10)
    rows = np.arange(10)
    np.testing.assert_allclose(reference.refit_predictions(X, y, rows, rows, 1e-12), y, rtol=1e-10)
    centred = X[:9] - X[:9].mean(axis=0)
    minimum_norm = np.linalg.pinv(centred) @ (y[:9] - y[:9].mean())
    expected = y[:9].mean() + (X[9] - X[:9].mean(axis=0)) @ minimum_norm
    np.testing.assert_allclose(reference.refit_predictions(X, y, rows[:9], [9], 1e-12), [expected], rtol=1e-10)
