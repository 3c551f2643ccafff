"""Discriminant analysis and naive Bayes behind encoders and imputers: scores of refits of the whole pipeline."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import onefit
from helpers import assert_same_results, quietly, random_folds
from onefit.errors import RefitError, TrainingSetError
from onefit.folds import Folds
from onefit.learners import Learner, Task, adapt
from onefit.metrics import find_loss
from onefit.routes.encodedclasses import EncodedClassesEngine
from onefit.routes.engine import FailureLog
from onefit.validation import check_problem

CLASSIFIERS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(reg_param=0.3),
    GaussianNB(),
    GaussianNB(var_smoothing=0.01),
]
KINDS = ["plain", "offset", "scales", "rare", "copies"]


def table(n, n_classes, seed, kind="plain"):
    """Numbers with gaps, two factors, and classes that depend on both."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 3))
    y = rng.permutation(np.arange(n) % n_classes)
    numbers[:, 0] += y
    if kind == "offset":
        numbers += 1e6
    if kind == "scales":
        numbers *= [1e-6, 1.0, 1e6]
    if kind == "copies":
        numbers[n // 2 :] = numbers[: n - n // 2]
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    T = pd.DataFrame(numbers, columns=["a", "b", "c"])
    T["f"] = np.where(rng.random(n) < 0.3, "u", rng.choice(list("vwx"), n)).astype(object)
    if kind == "rare":
        T.loc[rng.integers(n), "f"] = "seldom"
    T["g"] = rng.choice(["A", "B"], n)
    return T, y


def steps(which):
    """Some of the pipelines that people have."""
    numbers = make_pipeline(SimpleImputer(strategy="median" if which == "dropped" else "mean"), StandardScaler())
    drop = "first" if which == "dropped" else None
    levels = OneHotEncoder(drop=drop, handle_unknown="ignore", sparse_output=False)
    both = make_column_transformer((numbers, ["a", "b", "c"]), (levels, ["f", "g"]))
    return {
        "dropped": both,
        "all levels": both,
        "components": make_pipeline(both, PCA(3)),
        "selected": make_pipeline(both, SelectKBest(f_classif, k=3)),
        "indicators": make_column_transformer((SimpleImputer(add_indicator=True), ["a", "b", "c"])),
        "range": make_pipeline(make_column_transformer((SimpleImputer(), ["a", "b", "c"])), MinMaxScaler()),
    }[which]


STEPS = ["dropped", "all levels", "components", "selected", "indicators", "range"]


def sets_of(estimator, T, y, weights=None, n_folds=4, seed=0):
    problem = check_problem([estimator], T, y, weights)
    task = Task(problem, find_loss(None, problem.classes), None)
    learner = adapt(estimator, task)
    assert isinstance(learner, Learner), learner
    engine = EncodedClassesEngine(task, learner)
    folds = Folds(random_folds(len(y), n_folds, seed=seed), n_folds)
    return engine.sets(folds, range(1), FailureLog(1))


@pytest.mark.filterwarnings("ignore")  # of scikit-learn: collinear columns
@given(
    st.integers(0, 10**6),
    st.sampled_from(CLASSIFIERS),
    st.sampled_from([2, 3]),
    st.sampled_from(STEPS),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_scores_are_those_of_refits_of_the_pipeline(seed, classifier, n_classes, which, kind, has_weights):
    T, y = table(48, n_classes, seed, kind)
    is_weighted = has_weights and isinstance(classifier, GaussianNB)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, 48) if is_weighted else None
    sets = sets_of(make_pipeline(steps(which), classifier), T, y, weights, seed=seed)
    for out in ([[0]], [[3]], [[0, 2]], [[1, 3]]):
        try:
            expected = sets.from_rows(np.array(out[0]))
        except RefitError:
            with pytest.raises((RefitError, TrainingSetError), match=r"held out|folds? "):
                sets.residuals(np.array(out))
            continue
        scale = np.maximum(1.0, np.abs(expected))
        np.testing.assert_allclose(sets.residuals(np.array(out))[0] / scale, expected / scale, atol=1e-8)


@pytest.mark.parametrize("which", STEPS)
@pytest.mark.parametrize("classifier", CLASSIFIERS[:5], ids=str)
def test_ordinary_training_sets_are_not_left_to_scikit_learn(classifier, which, monkeypatch):
    T, y = table(120, 2, 3)
    sets = sets_of(make_pipeline(steps(which), classifier), T, y)
    automatic = classifier.get_params().get("shrinkage") == "auto"
    monkeypatch.setattr(type(sets), "from_rows", lambda *_: pytest.fail("an ordinary set was left to scikit-learn"))
    if not (automatic and which in ("all levels", "indicators")):  # then a level may be constant in a class
        sets.residuals(np.array([[0, 1]]))


@pytest.mark.parametrize("classifier", [LinearDiscriminantAnalysis(), GaussianNB()], ids=str)
def test_figures_probabilities_groups_and_jobs_are_those_of_refits(classifier):
    T, y = table(60, 3, 5)
    model = make_pipeline(steps("all levels"), classifier)
    keywords = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "scoring": ["neg_log_loss", "accuracy"]}
    keywords["groups"] = np.arange(60) // 2
    fast = quietly(onefit.nested_cv, model, T, y, **keywords)
    assert fast.route == "gram"
    assert_same_results(fast, quietly(onefit.nested_cv, model, T, y, route="refit", **keywords))
    again = quietly(onefit.nested_cv, model, T, y, n_jobs=2, **keywords)
    assert np.array_equal(fast.heldout.iloc[:, 1:], again.heldout.iloc[:, 1:])


def test_a_level_that_only_predicted_rows_have_is_as_a_refit_treats_it():
    """Such rows are off the plane in which all levels sum to one: which level is left out would matter."""
    T, y = table(60, 2, 7)
    T.loc[0, "f"] = "seldom"
    sets = sets_of(make_pipeline(steps("all levels"), LinearDiscriminantAnalysis()), T, y)
    for fold in range(4):
        found, expected = sets.residuals(np.array([[fold]]))[0], sets.from_rows(np.array([fold]))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_directions_that_tol_cuts_off_are_left_to_refits():
    T, y = table(60, 3, 1)
    for model in (
        LinearDiscriminantAnalysis(tol=0.3),
        make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(tol=0.3)),
    ):
        X = T[["a", "b", "c"]].fillna(0.0)
        result = quietly(onefit.nested_cv, model, X, y, n_folds=3, n_repeats=1, random_state=0)
        assert result.route == "refit"
        assert "tol" in result.route_reason


def test_naive_bayes_where_every_class_is_extremely_far_is_left_to_scikit_learn():
    """Squared distances of 1e9 that cancel: rounding errors of the scales would show in the probabilities."""
    y = np.arange(40) % 2
    T = pd.DataFrame({"x": np.random.default_rng(0).normal(size=40) + y, "f": "u", "g": "u"})
    T.loc[y == 0, "f"], T.loc[y == 1, "g"] = "v", "v"
    T.loc[:1, ["f", "g"]] = "w"
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["x"]), (OneHotEncoder(sparse_output=False), ["f", "g"])),
        GaussianNB(),
    )
    T.loc[2:3, ["f", "g"]] = "w"
    sets = sets_of(model, T, y)
    for fold in range(4):
        found, expected = sets.residuals(np.array([[fold]]))[0], sets.from_rows(np.array([fold]))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True])
def test_naive_bayes_where_no_column_varies_in_a_training_set_is_refused(scaled):
    """Scikit-learn's variances are those of rounding errors there, and so are its probabilities."""
    X = np.tile([0.9196452116249083, 0.0, 0.0], (40, 1))
    X[:10, 1:] = np.random.default_rng(0).normal(size=(10, 2))
    ids, y = np.arange(40) // 10, np.arange(40) % 3 // 2
    model = make_pipeline(StandardScaler(), GaussianNB()) if scaled else GaussianNB()
    with pytest.raises(RefitError, match=r"with fold\(s\) 0 held out \(30 training rows\).*no column varies"):
        quietly(onefit.nested_cv, model, X, y, folds=ids, loss="log_loss", sample_weight=1.0 + np.arange(40) % 2)


@pytest.mark.filterwarnings("error")
def test_naive_bayes_whose_weights_leave_out_a_class_gives_it_no_probability_and_warns_of_nothing():
    rng = np.random.default_rng(0)
    X, ids, y = rng.normal(size=(60, 2)), np.arange(60) % 3, np.arange(60) // 3 % 3
    weights = np.where((y == 2) & (ids != 0), 0.0, 1.0)
    X[:, 0] = np.where(ids == 0, X[:, 0], 0.3)  # so that scikit-learn decides
    keywords = {"folds": ids, "loss": "brier", "sample_weight": weights}
    fast = onefit.nested_cv(GaussianNB(), X, y, **keywords)
    with np.errstate(divide="ignore"):
        slow = onefit.nested_cv(GaussianNB(), X, y, route="refit", **keywords)
    np.testing.assert_allclose(fast.heldout["probability_2"], slow.heldout["probability_2"], atol=1e-12)
    assert not fast.heldout["probability_2"][ids == 0].any()
