"""Classifiers: RidgeClassifier on the fast routes equals its own refits exactly, any other goes by refitting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import onefit
import reference
from helpers import (
    ROUTES,
    assert_equals_reference,
    data,
    quiet_nested_cv,
    random_folds,
    random_groups,
    random_weights,
)
from onefit.errors import OneFitError
from onefit.folds import RandomFolds

every = pytest.mark.parametrize("route", ROUTES)
NAMES = {2: np.array(["no", "yes"]), 3: np.array(["ash", "oak", "yew"])}


def labelled(n, p, n_classes, seed=0):
    """Columns and text labels that they tell apart only in part."""
    X, y = data(n, p, seed)
    cuts = np.quantile(y, np.arange(1, n_classes) / n_classes)
    noisy = y + 0.7 * np.random.default_rng(seed).standard_normal(n)
    return X, NAMES[n_classes][np.searchsorted(cuts, noisy)]


def assert_equals_own_refits(estimator, X, labels, folds, routes, weights=None, loss="zero_one", **kwargs):
    """Fold errors to the last bit or two, the interval, and the predicted classes; the last route's result."""
    kwargs = kwargs or {"folds": folds}
    given = {} if loss == "zero_one" else {"loss": loss}
    predict = reference.estimator_refitter(estimator, X, labels, weights)
    losses = reference.fold_losses(labels, folds, predict, loss, weights)
    for route in routes:
        result = quiet_nested_cv(estimator, X, labels, sample_weight=weights, route=route, **given, **kwargs)
        assert result.route == route or route == "auto"
        for name in ("e_in", "e_out", "v_out"):
            np.testing.assert_allclose(
                getattr(result.fold_errors, name), getattr(losses, name), rtol=1e-12, atol=1e-14, err_msg=name
            )
        assert_equals_reference(result, losses)
        if len(folds) == 1:
            scored = folds[0] >= 0
            assert (result.heldout["prediction"][scored] == losses.prediction[0][scored]).all()
    return result


# --------------------------------------------------------------------------------- RidgeClassifier


@pytest.mark.sweep(3)
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n", "p", "n_folds", "unscored"), [(40, 3, 5, 0), (43, 4, 6, 3), (24, 40, 4, 0)])
def test_ridge_classifier_equals_its_own_refits(n, p, n_folds, unscored, n_classes, weights):
    X, labels = labelled(n, p, n_classes, seed=n)
    folds = random_folds(n, n_folds, 2, seed=p, unscored=unscored)
    weights = random_weights(n, weights, seed=p)
    assert assert_equals_own_refits(RidgeClassifier(0.8), X, labels, folds, ROUTES, weights).loss == "zero_one"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("p", [2, 20])
def test_ridge_classifier_leaving_two_out_equals_its_own_refits(p, n_classes, weights):
    X, labels = labelled(14, p, n_classes, seed=p)
    w = random_weights(14, weights)
    assert_equals_own_refits(RidgeClassifier(0.8), X, labels, np.arange(14)[None], ROUTES, w, n_folds="n")


@every
@pytest.mark.parametrize("as_labels", [lambda c: c, lambda c: c == 1, lambda c: 3.0 * c - 7, lambda c: c.astype(str)])
def test_labels_may_be_numbers_booleans_or_text(as_labels, route):
    X, labels = labelled(30, 3, 2)
    codes = (labels == "yes").astype(int)
    folds = random_folds(30, 5)
    one = quiet_nested_cv(RidgeClassifier(), X, as_labels(codes), folds=folds, route=route)
    other = quiet_nested_cv(RidgeClassifier(), X, labels, folds=folds, route=route)
    np.testing.assert_array_equal(one.fold_errors.e_in, other.fold_errors.e_in)
    assert one.interval == other.interval
    assert set(one.heldout["prediction"]) <= set(as_labels(codes))


def test_without_intercept_two_classes_equal_refits():
    X, labels = labelled(36, 3, 2)
    estimator = RidgeClassifier(0.8, fit_intercept=False)
    assert_equals_own_refits(estimator, X, labels, random_folds(36, 5, 2), ROUTES)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_folds", [5, 7])
def test_class_that_a_training_set_lacks_is_as_in_refits(n_folds, n_classes):
    """Two rows of the last class, in one fold of five or two of seven: with them out nobody has seen it."""
    X, labels = labelled(30, 3, n_classes, seed=5)
    last, other = NAMES[n_classes][-1], NAMES[n_classes][0]
    labels = np.where(labels == last, other, labels)
    labels[[4, 9]] = last
    folds = (np.arange(30) % n_folds)[None]
    assert len(set(folds[0, [4, 9]])) == (1 if n_folds == 5 else 2)
    assert_equals_own_refits(RidgeClassifier(0.8), X, labels, folds, ROUTES)


@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(class_weight="balanced"),
        RidgeClassifier(class_weight={"yew": 3.0}),
        RidgeClassifier(fit_intercept=False),
        RidgeClassifier(positive=True),
    ],
    ids=["balanced", "class weights", "no intercept", "positive"],
)
def test_what_changes_the_smoother_goes_by_refitting(estimator):
    X, labels = labelled(36, 3, 3)
    folds = random_folds(36, 4)
    assert assert_equals_own_refits(estimator, X, labels, folds, ["auto"]).route == "refit"
    for route in ("gram", "onestep"):
        with pytest.raises(onefit.errors.RouteError, match="refit"):
            quiet_nested_cv(estimator, X, labels, folds=folds, route=route)


def test_default_is_leave_two_out_on_a_fast_route():
    X, labels = labelled(40, 3, 3)
    result = quiet_nested_cv(RidgeClassifier(), X, labels)
    assert (result.n_folds, result.route, result.n_repeats) == (40, "onestep", 1)


@pytest.mark.parametrize("n_folds", [5, "n"])
def test_callable_loss_sees_labels(n_folds):
    """Missing a yew costs three times as much as any other mistake."""
    n = 14 if n_folds == "n" else 20
    X, labels = labelled(n, 2, 3)

    def cost(observed, predicted):
        assert set(observed) | set(predicted) <= set(NAMES[3])
        return np.where(observed == "yew", 3.0, 1.0) * (observed != predicted)

    folds = (np.arange(n) if n_folds == "n" else np.arange(n) % 5)[None]
    assert assert_equals_own_refits(RidgeClassifier(), X, labels, folds, ROUTES, loss=cost).loss == "cost"


# ------------------------------------------------------------------------------------ other classifiers


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0), KNeighborsClassifier(3)],
    ids=["logistic", "tree", "knn"],
)
def test_other_classifiers_have_the_errors_of_refits(estimator, n_classes):
    X, labels = labelled(30, 3, n_classes)
    weights = None if isinstance(estimator, KNeighborsClassifier) else random_weights(30, "positive")
    result = assert_equals_own_refits(estimator, X, labels, random_folds(30, 4), ["auto"], weights)
    routes = {LogisticRegression: "newton", DecisionTreeClassifier: "refit", KNeighborsClassifier: "neighbours"}
    assert result.route == routes[type(estimator)]


# --------------------------------------------------------------------------------------------- the folds


@given(st.integers(9, 80), st.integers(2, 5), st.integers(3, 9), st.integers(0, 2**32 - 1))
def test_random_folds_spread_every_class_evenly(n, n_classes, n_folds, seed):
    strata = np.random.default_rng(seed).integers(0, n_classes, n)
    folds = RandomFolds(n, n_folds, seed, strata=strata).block(0, 3)
    assert (np.ptp(folds.sizes, axis=1) <= 1).all()
    for row in folds.ids:
        for c in range(n_classes):
            assert np.ptp(np.bincount(row[strata == c], minlength=n_folds)) <= 1


def training_sets_seen(X, labels, **kwargs):
    """Row numbers of every training set of a classifier; the rows carry their numbers in column 0."""
    seen = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(X[:, 0].astype(int))
            return super().fit(X, y)

    quiet_nested_cv(Spy(1), np.column_stack([np.arange(len(X)), X]), labels, **kwargs)
    return seen


@pytest.mark.parametrize("bias_folds", [None, 2])
def test_every_fold_that_is_drawn_has_its_share_of_every_class(bias_folds):
    X, labels = labelled(47, 2, 2)
    labels[:9], labels[9:] = "yes", "no"
    sets = training_sets_seen(
        X, labels, n_folds=4, n_repeats=2, random_state=0, bias_folds=bias_folds, interval="bates"
    )
    held_out = [np.setdiff1d(np.arange(47), rows) for rows in sets]
    singles = [rows for rows in held_out if len(rows) < 16]
    assert len(singles) == 4 * 2 + (0 if bias_folds is None else 4 * 2)
    assert {int((labels[rows] == "yes").sum()) for rows in singles} == {2, 3}


def test_groups_come_before_classes():
    X, labels = labelled(40, 2, 2)
    groups = random_groups(40, 10)
    for rows in training_sets_seen(X, labels, n_folds=4, n_repeats=1, groups=groups, random_state=0):
        assert not set(groups[rows]) & set(groups[np.setdiff1d(np.arange(40), rows)])


# ------------------------------------------------------------------------------------------- held-out rows


@every
def test_heldout_prediction_is_the_class_predicted_most_often(route):
    X, labels = labelled(40, 3, 3, seed=3)
    folds = random_folds(40, 4, 5, unscored=0)
    heldout = quiet_nested_cv(RidgeClassifier(), X, labels, folds=folds, route=route).heldout
    predict = reference.estimator_refitter(RidgeClassifier(), X, labels)
    losses = reference.fold_losses(labels, folds, predict, "zero_one")
    for i in range(40):
        counts = {name: int((losses.prediction[:, i] == name).sum()) for name in NAMES[3]}
        assert counts[heldout["prediction"][i]] == max(counts.values())
    np.testing.assert_allclose(heldout["loss"], losses.plain.mean(axis=0), atol=1e-14)


@every
def test_row_that_is_never_scored_has_no_prediction(route):
    X, labels = labelled(30, 3, 2)
    folds = random_folds(30, 4, unscored=3)
    heldout = quiet_nested_cv(RidgeClassifier(), X, labels, folds=folds, route=route).heldout
    missing = folds[0] < 0
    assert heldout[missing].isna().all(axis=None)
    assert not heldout[~missing].isna().any(axis=None)


# ---------------------------------------------------------------------------------------------- errors


X, LABELS = labelled(24, 2, 2)


@pytest.mark.parametrize("estimator", [RidgeClassifier(), LogisticRegression()], ids=["ridge", "logistic"])
@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.full(24, "yes"), "only one class, 'yes';"),
        (np.zeros(24, dtype=int), "only one class, 0;"),
        (np.where(np.arange(24) == 5, None, LABELS.astype(object)), "missing in 1 row"),
        (np.where(np.arange(24) % 7 == 5, np.nan, np.arange(24) % 2), "missing in 3 row"),
        (np.column_stack([LABELS, LABELS]), "shape"),
        (np.linspace(0, 1, 24), "fractions"),
        (LABELS[:-1], "24 rows and y has 23"),
        (None, "None"),
    ],
    ids=["one class", "zeros", "None", "nan", "two columns", "fractions", "short", "no y"],
)
def test_impossible_labels_are_refused(y, match, estimator):
    with pytest.raises(OneFitError, match=match):
        quiet_nested_cv(estimator, X, y, n_folds=4, n_repeats=1)


def test_column_of_labels_is_a_vector():
    one, other = (quiet_nested_cv(RidgeClassifier(), X, y, n_folds="n") for y in (LABELS, LABELS[:, None]))
    assert one.interval == other.interval


def test_a_class_that_a_training_set_lacks_comes_last_in_top_k():
    labels = np.repeat(["a", "b", "c"], [30, 27, 3])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 6 * np.searchsorted(["a", "b", "c"], labels)[:, None]
    X[::7] *= 3  # so far out that scores of the classes that were seen are beyond -1, the code of any other
    held_out = [np.r_[0:10, 30:39, 57:60], np.r_[10:20, 39:48], np.r_[20:30, 48:57]]
    cv = [(np.setdiff1d(np.arange(60), fold), fold) for fold in held_out]
    fast, slow = (
        quiet_nested_cv(RidgeClassifier(), X, labels, scoring="top_k_accuracy", cv=cv, route=route)
        for route in ("gram", "refit")
    )
    np.testing.assert_allclose(fast.metrics, slow.metrics, rtol=1e-12)
    fitted = RidgeClassifier().fit(X[cv[0][0]], labels[cv[0][0]])  # without a row of class c
    own = fitted.decision_function(X[held_out[0]])
    assert own.max() > 1
    expected = np.isin(labels[held_out[0]], ["a", "b"]).mean()  # whichever of the two is first, both are among two
    np.testing.assert_allclose(fast.fold_errors.e_out[0, 0], expected)
