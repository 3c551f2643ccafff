"""The study of ranks computes what onefit does, from sums."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeClassifier

import onefit


def test_estimates_and_standard_errors_are_those_of_onefit():
    """Of one model, and of a difference, whose covariance terms onefit multiplies by the root of 1 - 2/K."""
    from validation.ranks import Samples, simulate

    K, classes = 5, (15, 25)
    samples = Samples.draw(np.random.default_rng(4), 2, classes, 1.0, 2)
    found = simulate(samples, K)
    for data_set in range(2):
        X = np.concatenate([samples.positive[data_set], samples.negative[data_set]])
        y = np.repeat([1, 0], classes)
        folds = np.empty((2, 40), dtype=int)
        for repeat in range(2):
            for start, count, order in ((0, 15, samples.orders[0]), (15, 25, samples.orders[1])):
                folds[repeat, start + order[repeat, data_set]] = np.arange(count) // (count // K)
        models = {"all": RidgeClassifier(), "half": _on_half()}
        result = onefit.compare(models, X, y, scoring="roc_auc", folds=folds, progress=False)
        one, both = found["all columns"], found["all - half"]
        single = result.results["all"]
        np.testing.assert_allclose(single.estimate, 1 - one.estimate[data_set], rtol=1e-9)
        np.testing.assert_allclose(single.standard_error**2, one.variance(np.sqrt(0.6))[data_set], rtol=1e-9)
        pair = result.differences.iloc[0]
        np.testing.assert_allclose(abs(pair["estimate"]), abs(both.estimate[data_set]), rtol=1e-9)
        np.testing.assert_allclose(pair["standard_error"] ** 2, both.variance(np.sqrt(0.6))[data_set], rtol=1e-9)


def _on_half():
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(ColumnTransformer([("half", "passthrough", list(range(5)))]), RidgeClassifier())


def test_the_study_has_a_row_for_every_rule(monkeypatch):
    from validation import ranks

    monkeypatch.setattr(ranks, "CLASSES", ((20, 20),))
    monkeypatch.setattr(ranks, "SIGNALS", (1.0,))
    table = ranks.study(100, 0)
    assert set(table["rule"]) == {"as losses", "b^2", "b", "root b", "1", "satterthwaite"}
    assert table["coverage"].between(0.5, 1).all()
    assert "root b" in ranks.report(table)
