"""Probabilities of Gaussian classes next to zero and one: their ties are scikit-learn's, which ranks depend on."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.metrics import average_precision_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit
from helpers import quietly
from onefit.errors import DataError, RouteError


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


def behind_steps(name):
    """Naive Bayes as it is, after a scaler, and after steps whose outputs every training set makes anew."""
    if name == "encoded":
        levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return make_pipeline(make_column_transformer((levels, [0]), remainder="passthrough"), GaussianNB())
    return make_pipeline(StandardScaler(), GaussianNB()) if name == "scaled" else GaussianNB()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("n_columns", [40, 400])
@pytest.mark.parametrize("scoring", [["roc_auc"], ["roc_auc_ovr", "neg_log_loss"]])
@pytest.mark.parametrize("name", ["plain", "scaled", "encoded"])
def test_probabilities_of_naive_bayes_that_are_ranked_are_those_of_scikit_learn_to_all_digits(name, scoring, n_columns):
    """Next to zero they keep their digits, next to one they have ties."""
    X, y = many_that_say_the_same(3, n_columns, 2.0 if n_columns == 40 else 0.5)
    X[:, 0] = np.arange(120) % 3
    keywords = {"scoring": scoring, "n_folds": 5, "n_repeats": 1, "random_state": 0}
    fast, slow = both_routes(behind_steps(name), X, y, **keywords)
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)
    for column in ("probability_0", "probability_1"):
        found, expected = (result.heldout[column].to_numpy() for result in (fast, slow))
        assert ((expected > 0) & (expected < 1e-10)).sum() > 3
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-322)
        near = (expected > 1 - 1e-12) & (expected < 1)
        np.testing.assert_allclose(1 - found[near], 1 - expected[near], rtol=0, atol=3e-16)
        np.testing.assert_array_equal(rankdata(found)[found > 0.5], rankdata(expected)[expected > 0.5])


def test_ranks_of_the_first_class_have_ties_too():
    X, y = many_that_say_the_same(4, 40, 2.0)
    scorer = make_scorer(average_precision_score, response_method="predict_proba", pos_label=0)
    fast, slow = both_routes(GaussianNB(), X, y, scoring=scorer, n_folds=5, n_repeats=2, random_state=0)
    assert (slow.heldout["probability_0"] > 1 - 1e-14).sum() > 10
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize(("n_repeats", "total"), [(1, 10), (3, 3)])
def test_progress_comes_to_its_total_once_though_ranks_take_training_sets_twice(n_repeats, total):
    X, y = many_that_say_the_same(5, 12)
    seen = []
    keywords = {"scoring": "roc_auc", "n_folds": 4, "n_repeats": n_repeats, "random_state": 0, "route": "gram"}
    quietly(onefit.nested_cv, GaussianNB(), X, y, progress=lambda *both: seen.append(both), **keywords)
    assert seen[-1] == (total, total)
    assert seen.count(seen[-1]) == 1


def test_a_model_that_knows_nothing_ranks_nothing():
    """Its scores are zero but for the last bits of the codes that they were made of, which tell classes apart."""
    rng = np.random.default_rng(0)
    X, y, folds = np.zeros((30, 1)), np.arange(30) % 2, np.arange(30) % 3
    X[folds == 0, 0] = rng.normal(size=10)  # a constant column without the first fold
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", tol=1e-12))
    weights = rng.uniform(0.5, 2.0, size=30)
    fast, slow = (
        quietly(onefit.nested_cv, model, X, y, folds=folds[None], sample_weight=weights, scoring="roc_auc", route=route)
        for route in ("newton", "refit")
    )
    assert slow.fold_errors.e_out[0, 0] == 0.5
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


def small_scores(alpha, kind=RidgeClassifier):
    """Areas under the ROC curve, from sums and from refits, of scores that are all but zero beside codes of classes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.arange(2000) % 2
    X[:, 0] += y - 0.5
    ids = (np.arange(2000) // 2) % 50
    settings = {"alpha": alpha} if kind is RidgeClassifier else {"alphas": [alpha]}
    model = kind(fit_intercept=False, **settings)
    expected = []
    for fold in range(50):
        test = ids == fold
        fitted = clone(model).fit(X[~test], y[~test])
        expected.append(roc_auc_score(y[test], fitted.decision_function(X[test])))
    return lambda: quietly(onefit.nested_cv, model, X, y, folds=ids[None], scoring="roc_auc"), np.mean(expected)


def test_scores_that_are_small_beside_the_codes_of_classes_are_ranked_by_all_their_digits():
    """By refits, as some of 20,000 pairs of neighbours differ by less than the last bits of the codes."""
    fast, expected = small_scores(1e14)
    result = fast()
    assert result.route == "refit"
    assert result.cv_estimate == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [1e4, 1e9, 1e10, 1e12])
@pytest.mark.parametrize("has_weights", [False, True])
def test_rows_that_are_the_same_are_ties_whatever_the_penalty_leaves_of_their_scores(alpha, has_weights):
    """Last bits of the codes, which differ between the classes, would break them: an area of 0.67 instead of 0.64."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 3)).astype(float)
    y = (rng.random(400) < 0.3 + 0.3 * X[:, 0]).astype(int)
    weights = rng.uniform(0.5, 2.0, size=400) if has_weights else None
    keywords = {"scoring": "roc_auc", "n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": weights}
    fast, slow = both_routes(RidgeClassifierCV(alphas=[alpha]), X, y, **keywords)
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


def test_scores_that_have_too_few_digits_beside_the_codes_of_classes_are_not_ranked():
    fast, _ = small_scores(1e17, RidgeClassifierCV)
    with pytest.raises(DataError, match="too few digits left to be ranked by"):
        fast()


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("unit", [1e-4, 1e-6])
def test_scores_that_a_penalty_lets_hardly_differ_from_a_constant_are_ranked(unit, share):
    """Columns in large units, an intercept: what makes scores differ is 1e-9 of them, and no tie."""
    rng = np.random.default_rng(0)
    X = unit * rng.normal(size=(400, 5))
    y = X[:, 0] + unit * rng.normal(size=400)
    y = (y > np.quantile(y, 1 - share)).astype(int)
    keywords = {"scoring": "roc_auc", "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast, slow = both_routes(RidgeClassifierCV(alphas=[1.0]), X, y, **keywords)
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize("seed", [11, 20, 23])
def test_classes_that_nothing_tells_apart_are_ties_on_disk_too(seed, tmp_path):
    """What was left of an iteration over the table decided rows of zeros: 2 of 35 in a pair of folds."""
    rng = np.random.default_rng(seed)
    y, X = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)], np.zeros((60, 1))
    rows = rng.choice(60, 5, replace=False)
    X[rows, 0] = rng.normal(size=5)
    pd.DataFrame({"x": X[:, 0], "y": y}).to_parquet(tmp_path / "table.parquet")
    keywords = {"folds": (rng.permutation(60) % 4)[None], "loss": "zero_one"}
    model = LogisticRegression(class_weight="balanced")
    in_memory = quietly(onefit.nested_cv, model, X, y, route="newton", **keywords)
    on_disk = quietly(onefit.nested_cv, model, onefit.scan(tmp_path / "table.parquet"), "y", **keywords)
    np.testing.assert_allclose(on_disk.fold_errors.e_in, in_memory.fold_errors.e_in, rtol=1e-13)


@pytest.mark.parametrize("is_searched", [False, True])
def test_classes_that_nothing_tells_apart_are_not_told_apart_by_what_an_iteration_left(is_searched):
    """Rows of zeros are predicted as the first of two classes whose scores are equal (fuzz case 500007439)."""
    codes = "12102011110101220202120200220012120021010212210121"
    folds = np.array([[int(code) for code in codes]])
    words = {"e": "elm", "o": "oak", "a": "ash"}
    y = np.array([words[letter] for letter in "eoaoeeoeoeoaaaaaaeoaooeaaaaoaeaooeaeeaeeaooaaeoeea"])
    X = np.zeros((50, 1))
    X[[30, 36, 42], 0] = 0.87269568, 0.48994727, -0.90403526
    model = LogisticRegression(C=0.4082220527778368, class_weight="balanced")
    if is_searched:
        model = GridSearchCV(model, {"C": [model.C]}, scoring="neg_log_loss", cv=2)
    result = quietly(onefit.nested_cv, model, X, y, folds=folds, loss="zero_one", route="newton")
    # what a refit in extended precision gives, with 33 and 34 held-out rows a pair of folds
    np.testing.assert_allclose(result.fold_errors.e_in, [[25 / 34, 19 / 33, 22 / 33]], rtol=1e-14)


@pytest.mark.parametrize("wanted", [{"loss": "zero_one"}, {"scoring": "balanced_accuracy"}])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=1e-14, fit_intercept=False),
        LogisticRegression(C=1e-14, class_weight="balanced"),
        RidgeClassifier(alpha=1e14, fit_intercept=False),
        make_pipeline(
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            RidgeClassifier(alpha=1e15, fit_intercept=False),
        ),
    ],
)
def test_scores_that_are_lost_beside_codes_decide_nothing(model, wanted):
    """They were all taken for ties, and every row for one of the first class: an error of 0.45 instead of 0.13."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(60, 2)) + 0.0
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    fold = np.arange(60) % 5
    settings = {"folds": [fold]} | wanted
    result = quietly(onefit.nested_cv, model, X, y, **settings)
    assert result.route == "refit"
    assert "lost beside codes of the classes" in result.route_reason
    is_wrong = [clone(model).fit(X[fold != k], y[fold != k]).predict(X[fold == k]) != y[fold == k] for k in range(5)]
    assert np.mean(is_wrong) < 0.3
    if "loss" in wanted:
        assert result.cv_estimate == pytest.approx(np.mean(is_wrong))
    with pytest.raises(RouteError, match="lost beside codes of the classes"):
        quietly(
            onefit.nested_cv,
            model,
            X,
            y,
            route="newton" if isinstance(model, LogisticRegression) else "gram",
            **settings,
        )


@pytest.mark.parametrize("alpha", [1e8, 1e10])
@pytest.mark.parametrize("is_binary", [True, False])
def test_equal_rows_are_ties_however_small_a_penalty_makes_the_scores(is_binary, alpha):
    """Last bits of the codes, which differ between classes, are larger than what a share of the spread allows for."""
    X = np.random.default_rng(0).normal(size=(60, 1))
    X[30:33] = X[:3]  # a row of either class, in the same fold
    if is_binary:
        X = (X > 0).astype(float)
    y, ids = np.arange(60) // 30, np.arange(60) % 5
    keywords = {"folds": ids[None], "scoring": "roc_auc"}
    slow = quietly(onefit.nested_cv, RidgeClassifier(alpha=alpha), X, y, route="refit", **keywords)
    for model in (RidgeClassifierCV(alphas=[alpha]), RidgeClassifier(alpha=alpha)):
        fast = quietly(onefit.nested_cv, model, X, y, **keywords)
        assert fast.route == ("refit" if type(model) is RidgeClassifier else "gram")
        np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("model", [RidgeClassifier(), LogisticRegression(tol=1e-12, max_iter=10_000)])
def test_rows_that_differ_in_a_column_of_small_units_are_no_ties(model, unit, kind):
    """A coarse column and a fine one whose coefficient a penalty shrinks: an area of 0.68 instead of 0.82."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    X = np.c_[rng.integers(0, 2, 80), unit * z]
    X[:4] = X[4:8]  # of which some are the same
    y = (X[:, 0] + z + rng.normal(size=80) > 0.5).astype(int)
    ids = np.empty(80, dtype=int)
    for label in (0, 1):
        ids[y == label] = np.arange((y == label).sum()) % 5
    table = pd.DataFrame(X, columns=["coarse", "fine"]) if kind == "frame" else X
    settings = {"folds": ids[None], "scoring": "roc_auc"}
    fast, slow = (quietly(onefit.nested_cv, model, table, y, route=route, **settings) for route in ("auto", "refit"))
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)
    if unit >= 1e-4:
        assert fast.route != "refit"
    else:
        assert ("'fine'" if kind == "frame" else "column 1") in fast.route_reason


def coarse_and_fine(unit):
    """A table of two levels and a column in small units, classes, and folds with both."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    X = np.c_[rng.integers(0, 2, 80), unit * z]
    X[:4] = X[4:8]
    y = (X[:, 0] + z + rng.normal(size=80) > 0.5).astype(int)
    ids = np.empty(80, dtype=int)
    for label in (0, 1):
        ids[y == label] = np.arange((y == label).sum()) % 5
    return X, y, ids[None]


@pytest.mark.parametrize("unit", [1e-3, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("kind", ["sparse", "steps", "searched", "tuned"])
@pytest.mark.parametrize("model", [RidgeClassifier(), LogisticRegression(tol=1e-12, max_iter=10_000)])
def test_rows_that_differ_in_small_units_are_no_ties_in_other_containers_either(model, kind, unit):
    """A sparse matrix, what steps make, and penalties that are chosen: an area of 0.58 instead of 0.74."""
    X, y, ids = coarse_and_fine(unit)
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if kind == "sparse":
        X = sparse.csr_array(X)
    elif kind == "steps":
        model = make_pipeline(make_column_transformer((levels, [0]), remainder="passthrough"), model)
    elif kind == "searched":
        name, values = next((name, values) for name, values in GRIDS.items() if name in model.get_params())
        model = GridSearchCV(model, {name: values}, cv=3)
    else:
        model = RidgeClassifierCV()
    fast, slow = (
        quietly(onefit.nested_cv, model, X, y, folds=ids, scoring="roc_auc", route=r) for r in ("auto", "refit")
    )
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)
    if unit <= 1e-6 and kind != "tuned":
        assert fast.route == "refit"


GRIDS = {"alpha": [1.0, 10.0], "C": [0.1, 1.0]}


def test_columns_that_a_penalty_holds_near_zero_are_no_matter_where_no_rows_hang_on_them():
    """Rows differ in another column already."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 1.0, 1e-7]
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    for table, route in ((X, "gram"), (sparse.csr_array(X), "gram")):
        both = [
            quietly(
                onefit.nested_cv, RidgeClassifier(), table, y, scoring="roc_auc", n_folds=5, random_state=0, route=r
            )
            for r in (route, "refit")
        ]
        np.testing.assert_allclose(*(each.metrics.to_numpy(float) for each in both), rtol=1e-11)


@pytest.mark.parametrize("unit", [1e-3, 1e-5, 1e-6])
def test_rows_that_naive_bayes_hardly_tells_apart_are_no_ties(unit):
    """A coarse column, and a fine one that smoothing hides but for 1e-9 of the log odds (fuzz case 530005552)."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    X = np.c_[rng.integers(0, 2, 80), unit * z]
    y = (X[:, 0] + z + rng.normal(size=80) > 0.5).astype(int)
    ids = np.empty(80, dtype=int)
    for label in (0, 1):
        ids[y == label] = np.arange((y == label).sum()) % 5
    keywords = {"folds": ids[None], "scoring": ["roc_auc", "average_precision"]}
    fast, slow = (
        quietly(onefit.nested_cv, GaussianNB(var_smoothing=1e-2), X, y, route=route, **keywords)
        for route in ("auto", "refit")
    )
    assert fast.route == ("gram" if unit == 1e-3 else "refit")
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)


GAUSSIAN = {
    "linear": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
    "eigen": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    "equivariant": LinearDiscriminantAnalysis(),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.5),
    "Bayes": GaussianNB(var_smoothing=1e-2),
    "centred": make_pipeline(StandardScaler(with_std=False), QuadraticDiscriminantAnalysis(reg_param=0.5)),
    "imputed": make_pipeline(SimpleImputer(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)),
    "scaled": make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.5)),
    "scaled last": make_pipeline(
        SimpleImputer(), StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    ),
}


@pytest.mark.parametrize("asked", ["two classes", "three classes", "scorer"])
@pytest.mark.parametrize("unit", [1e-3, 1e-6, 1e-7])
@pytest.mark.parametrize("kind", GAUSSIAN)
def test_rows_that_gaussian_classes_tell_apart_by_small_units_are_no_ties(kind, unit, asked):
    """What shrinks covariances hides a fine column from products of digits: an area of 0.65 instead of 0.74."""
    X, y, ids = coarse_and_fine(unit)
    settings = {"folds": ids, "scoring": "roc_auc"}
    if asked == "three classes":
        y = y + (np.arange(80) // 5 % 2) * y
        settings["scoring"] = "roc_auc_ovr"
    elif asked == "scorer":
        settings["scoring"] = make_scorer(roc_auc_score, response_method="predict_proba")
    fast, slow = (
        quietly(onefit.nested_cv, GAUSSIAN[kind], X, y, route=route, **settings) for route in ("auto", "refit")
    )
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)
    if unit == 1e-3 or kind in ("equivariant", "scaled", "scaled last"):
        assert fast.route == "gram"
    else:
        assert fast.route == "refit"
        assert "column 1 is so small beside a " in fast.route_reason


@pytest.mark.parametrize("unit", [1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("asked", ["three classes", "scorer", "decisions"])
def test_rows_that_differ_in_small_units_are_no_ties_of_probabilities_either(asked, unit):
    """Those were ties if their scores differed by 1e-10: an area of 0.56 instead of 0.67."""
    X, y, ids = coarse_and_fine(unit)
    response = "decision_function" if asked == "decisions" else "predict_proba"
    scoring = make_scorer(roc_auc_score, response_method=response)
    if asked == "three classes":
        y, scoring = y + (np.arange(80) // 5 % 2) * y, "roc_auc_ovr"
    model = LogisticRegression(solver="newton-cholesky", tol=1e-14)
    fast, slow = (
        quietly(onefit.nested_cv, model, X, y, folds=ids, scoring=scoring, route=route) for route in ("auto", "refit")
    )
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)
    assert fast.route == ("newton" if unit == 1e-3 else "refit")


def test_densities_that_a_regularization_makes_one_decide_classes_by_all_their_digits():
    """Every row was taken for one of the first class: an error of 0.5 instead of 0.22."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = 1e-7 * (rng.normal(size=(100, 3)) + y[:, None])
    model, ids = QuadraticDiscriminantAnalysis(reg_param=0.5, priors=[0.5, 0.5]), (np.arange(100) // 2 % 5)[None]
    fast, slow = (
        quietly(onefit.nested_cv, model, X, y, folds=ids, loss="zero_one", route=r) for r in ("auto", "refit")
    )
    assert fast.cv_estimate == slow.cv_estimate < 0.4
    assert "a reg_param of 0.5" in fast.route_reason


def test_levels_of_two_kinds_of_missing_values_are_no_ties():
    """An encoder has a column for None and one for NaN: an area of 0.66 instead of 0.69."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 200)
    table = pd.DataFrame({"kind": pd.Series(np.array([None, np.nan, "a"], dtype=object)[level], dtype=object)})
    y = (level + 2 * rng.normal(size=200) > 1).astype(int)
    model = make_pipeline(OneHotEncoder(sparse_output=False, handle_unknown="ignore"), LogisticRegression(tol=1e-12))
    keywords = {"scoring": "roc_auc", "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast, slow = (quietly(onefit.nested_cv, model, table, y, route=route, **keywords) for route in ("newton", "refit"))
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize("asked", [{"scoring": "neg_log_loss"}, {"loss": "brier"}, {"scoring": "roc_auc_ovr"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_row_that_is_extremely_far_makes_no_ties_of_others(asked, seed):
    """A column that is nearly always zero: probabilities of its fold were made equal, a log loss of 5.6 for 6.4."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = np.c_[rng.normal(size=60) + y, np.zeros(60)]
    X[[7, 20, 22, 24], 1] = 1e4, 3.0, 5.0, 2.0
    folds = (np.arange(60) // 3 % 5)[None]
    fast, slow = (
        quietly(onefit.nested_cv, GaussianNB(), X, y, folds=folds, route=r, **asked) for r in ("gram", "refit")
    )
    np.testing.assert_allclose(fast.fold_errors.e_out, slow.fold_errors.e_out, rtol=1e-11)
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-11)
