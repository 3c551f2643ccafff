"""Probabilities of Gaussian classes next to zero and one: their ties are scikit-learn's, which ranks depend on."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

import onefit
from helpers import quietly


def both_routes(model, X, y, **keywords):
    return [quietly(onefit.nested_cv, model, X, y, route=route, **keywords) for route in ("gram", "refit")]


def many_that_say_the_same(seed, n_columns=400, noise=0.5):
    """Columns that are one, and are counted as if each were news: odds of 1e300, and often wrong."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=120)
    y = (z + rng.normal(size=120) > 0).astype(int)
    return 10 * z[:, None] + noise * rng.normal(size=(120, n_columns)), y


@pytest.mark.parametrize("seed", range(3))
def test_ranks_of_naive_bayes_have_the_ties_of_probabilities_that_are_zero_in_scikit_learn(seed):
    """Those from 1e-308 down to 5e-324 are not yet."""
    X, y = many_that_say_the_same(seed)
    keywords = {"scoring": ["roc_auc", "average_precision"], "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast, slow = both_routes(GaussianNB(), X, y, **keywords)
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize("seed", range(2))
def test_probabilities_of_quadratic_discriminant_analysis_next_to_zero_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=300)
    y = (z + 2 * rng.normal(size=300) > 0).astype(int)
    X = 60 * z[:, None] + [1.0, 0.5] * rng.normal(size=(300, 2)) * (1 + 20 * y[:, None])
    keywords = {"scoring": ["roc_auc_ovr", "neg_log_loss"], "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast, slow = both_routes(QuadraticDiscriminantAnalysis(), X, y, **keywords)
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)
    found, expected = (result.heldout["probability_0"].to_numpy() for result in (fast, slow))
    assert ((expected > 0) & (expected < 1e-308)).any()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-322)
