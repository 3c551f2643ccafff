"""With every scorer name, `cv_estimate` is the mean of the scores that scikit-learn's `cross_validate` gives."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.utils.fixes import parse_version

from helpers import quiet_nested_cv

OLD = parse_version(sklearn.__version__) < parse_version("1.7")
NAMES = set(get_scorer_names())
REFUSED = {name for name in NAMES if name.endswith(("_samples", "max_error", "median_absolute_error"))} | {
    "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
    "homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score",
}  # fmt: skip
NUMBERS = {name for name in NAMES - REFUSED if name.endswith(("_error", "_deviance", "d2_absolute_error_score"))} | {
    "r2", "explained_variance",
}  # fmt: skip
CLASSES = NAMES - REFUSED - NUMBERS
TWO = {"f1", "jaccard", "precision", "recall", "roc_auc", "positive_likelihood_ratio", "neg_negative_likelihood_ratio"}


def two_classes():
    X, y = make_classification(70, 4, flip_y=0.2, random_state=0)
    return LogisticRegression(), X, y, StratifiedKFold(3, shuffle=True, random_state=1)


def three_classes():
    X, y = load_iris(return_X_y=True)
    return LogisticRegression(), X[::3, :2], y[::3], StratifiedKFold(3, shuffle=True, random_state=1)


def counts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    y = np.exp(0.5 + 0.3 * X[:, 0]) + rng.gamma(1.0, size=90)
    return PoissonRegressor(), X, y, KFold(3, shuffle=True, random_state=1)


PROBLEMS = [
    (two_classes, CLASSES - {"top_k_accuracy"}),
    (three_classes, CLASSES - TWO - ({"neg_brier_score"} if OLD else set())),
    (counts, NUMBERS),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(("problem", "names"), PROBLEMS, ids=["two classes", "three classes", "numbers"])
def test_the_mean_of_fold_scores_is_cross_validates(problem, names):
    estimator, X, y, splitter = problem()
    splits = list(splitter.split(X, y))
    sizes = [len(test) for _, test in splits]
    scores = cross_validate(estimator, X, y, scoring=sorted(names), cv=splits)
    for name in sorted(names):
        expected = np.average(scores[f"test_{name}"], weights=sizes)
        if OLD and np.isnan(expected):
            continue  # a likelihood ratio, which scikit-learn defines by now
        result = quiet_nested_cv(estimator, X, y, scoring=name, cv=splits, route="refit")
        assert result.cv_estimate == pytest.approx(expected, rel=1e-12, abs=1e-12), name
        assert result.greater_is_better
