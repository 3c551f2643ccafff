"""Discriminant analysis and naive Bayes from sums over classes: scores and decisions of scikit-learn's refits."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from sklearn.base import clone
from sklearn.covariance import OAS, ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import make_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

import onefit
from helpers import assert_same_results, quietly, random_folds
from onefit.errors import DataError, RefitError
from onefit.folds import Folds
from onefit.learners import ClassMoments, Learner, Task, adapt
from onefit.learners.covariances import ledoit_wolf_shares
from onefit.learners.discriminant import quadratic_counts_mean, svd_counts_classes
from onefit.learners.naivebayes import _odds
from onefit.metrics import find_loss
from onefit.routes.classes import ClassesEngine
from onefit.routes.classsums import ClassSums
from onefit.routes.engine import FailureLog
from onefit.validation import check_problem

HAS_EIGEN = "solver" in QuadraticDiscriminantAnalysis().get_params()
CLASSIFIERS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr"),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.3),
    *([QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")] if HAS_EIGEN else []),
    GaussianNB(),
    GaussianNB(var_smoothing=0.1),
]


def classes(n, p, n_classes, seed, kind="plain"):
    """Rows of classes that are apart in the first column, each class with rows enough."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 2, p) + rng.integers(-5, 5, p)
    if kind == "correlated":
        X = X @ rng.normal(size=(p, p))
    if kind == "whole":
        X = rng.integers(0, 3, (n, p)).astype(float)
    if kind == "outlier":
        X[rng.integers(n)] *= 100.0
    if kind == "copy":
        X[:, -1] = X[:, 0]
    y = rng.permutation(np.arange(n) % n_classes)
    X[:, 0] += y * X[:, 0].std()
    return X, y


def engine_of(estimator, X, y, weights=None):
    problem = check_problem([estimator], X, y, weights)
    task = Task(problem, find_loss(None, problem.classes), None)
    learner = adapt(estimator, task)
    assert isinstance(learner, Learner), learner
    return ClassesEngine(task, learner)


def training_sets(engine, K, seed=0):
    folds = Folds(random_folds(len(engine.y), K, seed=seed), K)
    sets = engine.sets(folds, range(1), FailureLog(1))
    every = [np.array([[j]]) for j in range(K)] + [np.array([[j, k]]) for j in range(K) for k in range(j + 1, K)]
    return sets, every


@given(
    st.integers(0, 10**6),
    st.sampled_from(CLASSIFIERS),
    st.sampled_from([2, 3]),
    st.sampled_from(["plain", "correlated", "whole", "outlier", "copy"]),
    st.booleans(),
    st.sampled_from([None, StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False)]),
)
def test_scores_are_those_of_a_refit(seed, classifier, n_classes, kind, has_priors, scaler):
    X, y = classes(48, 3, n_classes, seed, kind)
    if has_priors:
        priors = np.random.default_rng(seed).dirichlet(np.full(n_classes, 5.0))
        classifier = type(classifier)(**{**classifier.get_params(), "priors": priors})
    estimator = classifier if scaler is None else make_pipeline(scaler, classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn: collinear columns
        sets, every = training_sets(engine_of(estimator, X, y), 4, seed)
        for out in every:
            try:
                expected = sets.from_rows(out[0])
            except RefitError as error:
                with pytest.raises(RefitError) as caught:
                    sets.residuals(out)
                assert str(caught.value) == str(error)  # noqa: PT017  (both are compared)
                continue
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(sets.residuals(out)[0] / scale, expected / scale, atol=1e-8)


@pytest.mark.parametrize("rest", [0.0, 3.0])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_a_column_that_a_training_set_has_nothing_of_leaves_the_scores_of_a_refit(estimator, rest):
    """What rounding leaves of its variance, about a mean of all rows that is not zero, is no variance."""
    X, y = classes(60, 3, 2, seed=5)
    folds = random_folds(60, 4, seed=0)
    X[:, 2] = rest
    X[np.flatnonzero(folds == 1)[0], 2] += 0.7938257028616387
    keywords = {"folds": folds, "scoring": ["accuracy", "neg_log_loss"]}
    try:
        expected = quietly(onefit.nested_cv, estimator, X, y, route="refit", **keywords)
    except (DataError, RefitError):
        pytest.skip("a refit fails")
    found = quietly(onefit.nested_cv, estimator, X, y, **keywords)
    np.testing.assert_allclose(found.metrics, expected.metrics, rtol=1e-9)


OFFSETS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr"),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    LinearDiscriminantAnalysis(solver="eigen"),
    make_pipeline(StandardScaler(with_mean=False), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("has_priors", [False, True])
@pytest.mark.parametrize("estimator", OFFSETS, ids=str)
def test_an_offset_of_a_column_changes_nothing_of_a_linear_analysis(estimator, has_priors, n_classes):
    """Scikit-learn's solvers lsqr and eigen lose its digits; so the figures are those of the columns moved back."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % n_classes
    X[:, 0] += y
    if has_priors:
        last = clone(estimator[-1] if isinstance(estimator, Pipeline) else estimator)
        last.set_params(priors=np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2))
        estimator = make_pipeline(*estimator[:-1], last) if isinstance(estimator, Pipeline) else last
    keywords = {"folds": random_folds(60, 5, seed=0), "scoring": ["accuracy", "neg_log_loss", "neg_brier_score"]}
    for offset in (1e4, 1e6, 1e8):
        moved = X + np.r_[0, 0, 0, offset]
        found = quietly(onefit.nested_cv, estimator, moved, y, route="gram", **keywords)
        expected = quietly(onefit.nested_cv, estimator, moved - np.r_[0, 0, 0, offset], y, route="gram", **keywords)
        np.testing.assert_allclose(found.metrics, expected.metrics, rtol=1e-9)
        at = found.heldout.filter(like="probability").columns
        np.testing.assert_allclose(found.heldout[at], expected.heldout[at], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("offset", [0.0, 30.0, 1e4])
def test_decisions_of_many_classes_are_about_the_origin_of_the_solver(solver, offset):
    """What all classes have in common is part of them in scikit-learn, and of what a score function is given."""
    X, y = classes(60, 3, 3, seed=2)
    X[:, 1] += offset

    def mean_square(y_true, scores):
        return np.square(scores).mean()

    scoring = make_scorer(mean_square, response_method="decision_function")
    keywords = {"folds": random_folds(60, 4, seed=0), "scoring": scoring}
    estimator = LinearDiscriminantAnalysis(solver=solver)
    found = quietly(onefit.nested_cv, estimator, X, y, route="gram", **keywords)
    expected = quietly(onefit.nested_cv, estimator, X, y, route="refit", **keywords)
    np.testing.assert_allclose(found.metrics, expected.metrics, rtol=1e-8)


def test_an_offset_leaves_no_training_set_to_scikit_learn(monkeypatch):
    """Times in seconds: a variance that is small beside the column's squares is known about its mean."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, size=80)
    X[:, 1] = 1.7e9 + 1e3 * X[:, 1] + 500.0 * y
    engine = engine_of(QuadraticDiscriminantAnalysis(), X, y)
    sets, every = training_sets(engine, 4)
    monkeypatch.setattr(type(sets), "from_rows", lambda *_: pytest.fail("a set was left to scikit-learn"))
    for out in every:
        assert np.isfinite(sets.residuals(out)).all()


def test_rows_that_rounding_errors_tell_apart_are_ranked_as_by_a_refit():
    """Without two of the folds the column is zero, and classes with the same variance differ by their shares alone."""
    rng = np.random.default_rng(1)
    X, y, folds = np.zeros((43, 1)), rng.choice(["ash", "elm", "oak"], 43), np.arange(43) % 3
    X[[0, 2, 5, 11], 0] = [-136.9412994, 384.09635998, 564.52479084, 150.3]
    keywords = {"folds": folds, "scoring": ["neg_log_loss", "roc_auc_ovr"]}
    model = QuadraticDiscriminantAnalysis(reg_param=0.4146)
    found, refits = (quietly(onefit.nested_cv, model, X, y, route=route, **keywords) for route in ("gram", "refit"))
    np.testing.assert_allclose(found.metrics, refits.metrics, rtol=1e-9)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_plain_training_sets_are_not_left_to_scikit_learn(classifier, monkeypatch):
    X, y = classes(60, 3, 3, 1)
    for estimator in (classifier, make_pipeline(StandardScaler(), classifier)):
        engine = engine_of(estimator, X, y)
        sets, every = training_sets(engine, 4)
        expected = [sets.from_rows(out[0]) for out in every]
        monkeypatch.setattr(type(sets), "from_rows", lambda *_: pytest.fail("a plain set was left to scikit-learn"))
        for out, residuals in zip(every, expected, strict=True):
            np.testing.assert_allclose(sets.residuals(out)[0], residuals, rtol=1e-8, atol=1e-9)
        monkeypatch.undo()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS[::3], ids=str)
def test_figures_are_those_of_refits(classifier, n_classes):
    X, y = classes(60, 3, n_classes, 2)
    keywords = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.nested_cv, classifier, X, y, **keywords)
    assert fast.route == "gram"
    assert_same_results(fast, quietly(onefit.nested_cv, classifier, X, y, route="refit", **keywords))


def test_weights_groups_rows_never_scored_and_one_row_folds():
    X, y = classes(24, 2, 2, 3)
    weights = np.random.default_rng(0).uniform(0.5, 2, 24)
    folds = random_folds(24, 4, 2, unscored=3)
    for keywords in ({"folds": folds, "sample_weight": weights}, {"n_folds": "n", "sample_weight": weights}):
        fast = quietly(onefit.nested_cv, GaussianNB(), X, y, **keywords)
        assert fast.route == "gram"
        assert_same_results(fast, quietly(onefit.nested_cv, GaussianNB(), X, y, route="refit", **keywords))
    groups = np.arange(24) // 2
    keywords = {"groups": groups, "n_folds": "n"}
    fast = quietly(onefit.nested_cv, LinearDiscriminantAnalysis(), X, y, **keywords)
    assert_same_results(fast, quietly(onefit.nested_cv, LinearDiscriminantAnalysis(), X, y, route="refit", **keywords))


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (LinearDiscriminantAnalysis(solver="lsqr"), "shrinkage", [0.0, 0.1, 0.9]),
        (QuadraticDiscriminantAnalysis(), "reg_param", [0.0, 0.1, 0.9]),
        (make_pipeline(StandardScaler(), GaussianNB()), "gaussiannb__var_smoothing", [1e-9, 0.1, 1.0]),
    ],
)
def test_a_curve_is_one_pass(estimator, name, values):
    X, y = classes(60, 3, 3, 4)
    keywords = {"param_name": name, "param_range": values, "n_folds": 4, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.error_curve, estimator, X, y, **keywords)
    slow = quietly(onefit.error_curve, estimator, X, y, route="refit", **keywords)
    for one, other in zip(fast.results, slow.results, strict=True):
        assert one.route == "gram"
        assert_same_results(one, other)


@pytest.mark.skipif(not HAS_EIGEN, reason="no shrinkage before scikit-learn 1.8")
def test_a_solver_without_shrinkage_refuses_it_as_refits_do():
    X, y = classes(60, 3, 2, 4)
    shrunk = [QuadraticDiscriminantAnalysis(shrinkage=0.3), LinearDiscriminantAnalysis(shrinkage=0.3)]
    for estimator in (*shrunk, make_pipeline(StandardScaler(), shrunk[0])):
        with pytest.raises(RefitError, match="shrinkage not supported"):  # was left out in silence by the first
            quietly(onefit.nested_cv, estimator, X, y, n_folds=4, n_repeats=2)
    with pytest.raises(RefitError, match="shrinkage not supported"):
        quietly(
            onefit.error_curve, QuadraticDiscriminantAnalysis(), X, y, param_name="shrinkage", param_range=[0.1, 0.9]
        )


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_and_decisions_come_from_scores(classifier, n_classes):
    X, y = classes(60, 3, n_classes, 5)
    learner = engine_of(classifier, X, y).learner
    fitted = classifier.fit(X[:40], y[:40])
    scores = learner.scores_of(fitted, X[40:])
    np.testing.assert_allclose(learner.respond("predict_proba", scores), fitted.predict_proba(X[40:]), atol=1e-12)
    if "decision_function" in learner.responses:
        decision = fitted.decision_function(X[40:])
        np.testing.assert_allclose(learner.respond("decision_function", scores).reshape(decision.shape), decision)
    with pytest.raises(NotImplementedError):
        learner.respond("predict_log_proba", scores)


@pytest.mark.parametrize("classifier", [GaussianNB(), QuadraticDiscriminantAnalysis()], ids=str)
def test_a_probability_near_zero_keeps_its_digits_whichever_of_two_classes_it_is_of(classifier):
    """As one less the other, 5e-15 was 2% off, and the log loss of a heavy row 0.05%."""
    Z = np.random.default_rng(5).normal(size=(20, 2))
    X, y = np.vstack([Z, Z + 2.0]), np.repeat([0, 1], 20)
    learner = engine_of(classifier, X, y).learner
    fitted = classifier.fit(X, y)
    along = np.linspace(-12.0, 12.0, 60)[:, None] * np.ones(2)
    expected = fitted.predict_proba(along)
    for column in expected.T:
        assert ((column > 1e-15) & (column < 1e-13)).any()
    found = learner.respond("predict_proba", learner.scores_of(fitted, along))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-30)


def lives_in_one_row(n_classes, rest):
    """A column that is the same in all rows but the seventh; its folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.permutation(np.arange(60) % n_classes)
    X[:, 0] += y
    X[:, 1] = rest
    X[7, 1] += 1e4
    return X, y, random_folds(60, 5, seed=0)


@pytest.mark.parametrize("rest", [0.0, 0.1, 1e3 / 3])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("step", [None, StandardScaler(with_std=False)], ids=str)
def test_a_column_that_is_the_same_in_all_classes_tells_none_apart_however_far_a_row_is(step, n_classes, rest):
    """Its squared distance is 1e17 from every class: scikit-learn's probabilities are one, or noise."""
    X, y, folds = lives_in_one_row(n_classes, rest)
    model = GaussianNB() if step is None else make_pipeline(step, GaussianNB())
    train = folds[0] != folds[0, 7]
    expected = GaussianNB().fit(X[train, :1], y[train]).predict_proba(X[7:8, :1])[0]
    for scoring in ("neg_log_loss", "roc_auc_ovr"):
        result = quietly(onefit.nested_cv, model, X, y, folds=folds, scoring=scoring)
        assert result.route == "gram"
        found = result.heldout.filter(like="probability").to_numpy()[7]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_far_row_that_classes_tell_apart_has_the_probabilities_of_scikit_learn(n_classes):
    """Half as far from one class as from another, beside a column that is the same in both."""
    X, y, folds = lives_in_one_row(n_classes, 0.1)
    X[:, 0] *= 1.0 + y
    X[7, 0] = 1e3
    expected = quietly(onefit.nested_cv, GaussianNB(), X, y, folds=folds, scoring="accuracy", route="refit")
    found = quietly(onefit.nested_cv, GaussianNB(), X, y, folds=folds, scoring="accuracy", route="gram")
    np.testing.assert_allclose(found.metrics, expected.metrics, rtol=1e-12)


def test_differences_of_joint_log_probabilities_are_exact():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    X *= 1.0 + np.c_[y, y == 2, 1e-3 * y]
    fitted = GaussianNB().fit(X, y)
    joint = fitted.predict_joint_log_proba(3.0 * X)
    for one, other in ((0, 1), (2, 0), (1, 2)):
        np.testing.assert_allclose(_odds(fitted, 3.0 * X, one, other), joint[:, one] - joint[:, other], atol=1e-11)


@pytest.mark.parametrize("step", [None, StandardScaler(with_std=False)], ids=str)
def test_weights_that_scikit_learn_takes_for_none_are_refused_with_the_remedy(step):
    X, y = classes(60, 3, 2, 5)
    model = GaussianNB() if step is None else make_pipeline(step, GaussianNB())
    keywords = {"n_folds": 5, "n_repeats": 1, "random_state": 0, "loss": "log_loss"}
    tiny = np.full(60, 1e-11)
    with pytest.raises(DataError, match="Multiply sample_weight"):
        onefit.nested_cv(model, X, y, sample_weight=tiny, **keywords)
    found = quietly(onefit.nested_cv, model, X, y, sample_weight=tiny / tiny.mean(), **keywords)
    np.testing.assert_allclose(found.estimate, quietly(onefit.nested_cv, model, X, y, **keywords).estimate, rtol=1e-12)
    refits = quietly(onefit.nested_cv, model, X, y, sample_weight=tiny, route="refit", **keywords)
    assert refits.estimate > 1.2 * found.estimate  # what scikit-learn says, if it is asked


def test_a_training_set_in_which_a_class_weighs_next_to_nothing_is_left_to_scikit_learn():
    X, y = classes(60, 3, 2, 5)
    weights = np.where(y == 1, 1e-12, 1.0)
    weights[np.flatnonzero(y == 1)[:1]] = 1.0  # without it the class has no weight for scikit-learn
    keywords = {"folds": random_folds(60, 5, seed=0), "loss": "log_loss", "sample_weight": weights}
    fast, slow = (quietly(onefit.nested_cv, GaussianNB(), X, y, route=route, **keywords) for route in ("gram", "refit"))
    assert_same_results(fast, slow)


def test_bits_do_not_depend_on_jobs():
    X, y = classes(90, 4, 2, 6)
    keywords = {"n_folds": 6, "n_repeats": 9, "random_state": 0}
    for estimator in (LinearDiscriminantAnalysis(), GaussianNB()):
        one, four = (onefit.nested_cv(estimator, X, y, n_jobs=jobs, **keywords) for jobs in (1, 4))
        assert one.estimate == four.estimate
        assert one.interval == four.interval


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()), "covariance_estimator is fitted anew"),
        (GaussianNB(priors=[1.0, 0.0]), "priors are not a positive number for each class"),
        (make_pipeline(QuantileTransformer(n_quantiles=5), GaussianNB()), "QuantileTransformer"),
    ],
)
def test_what_is_refitted_has_its_reason(estimator, reason):
    X, y = classes(30, 2, 2, 7)
    with np.errstate(divide="ignore"):
        result = quietly(onefit.nested_cv, estimator, X, y, n_folds=3, n_repeats=1)
    assert result.route == "refit"
    assert reason in result.route_reason


def test_too_few_rows_for_a_covariance_are_refitted_with_the_reason():
    X, y = classes(30, 25, 2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = quietly(onefit.nested_cv, LinearDiscriminantAnalysis(), X, y, n_folds=5, n_repeats=1)
    assert result.route == "refit"
    assert "no more rows than columns" in result.route_reason
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    keywords = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    fast = quietly(onefit.nested_cv, shrunk, X, y, **keywords)
    assert fast.route == "gram"
    assert_same_results(fast, quietly(onefit.nested_cv, shrunk, X, y, route="refit", **keywords))


@pytest.mark.parametrize("step", [None, StandardScaler()])
def test_a_value_that_fails_in_a_training_set_leaves_the_others_their_figures(step):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 2
    X[y == 1, 4] = X[y == 1, 3]  # the covariance of this class is singular
    last = QuadraticDiscriminantAnalysis()
    model, before = (last, "") if step is None else (make_pipeline(step, last), "quadraticdiscriminantanalysis__")
    keywords = {"param_range": [0.0, 0.1, 0.5], "n_folds": 4, "n_repeats": 1, "random_state": 0}
    fast, slow = (
        quietly(onefit.error_curve, model, X, y, param_name=f"{before}reg_param", route=route, **keywords)
        for route in ("gram", "refit")
    )
    assert fast.results[1].route == "gram"
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-9)
    try:
        quietly(last.fit, X, y)  # scikit-learn 1.6 warns, and fits
        is_refused = False
    except linalg.LinAlgError:
        is_refused = True
    assert np.isnan(fast.estimate).tolist() == [is_refused, False, False]
    assert fast.reasons == slow.reasons
    if is_refused:
        with pytest.raises(RefitError, match="not full rank"):
            quietly(onefit.nested_cv, model, X, y, n_folds=4, n_repeats=1, route="gram")


def test_fixed_transformers_may_stand_before_it():
    X, y = classes(60, 3, 2, 9)
    estimator = make_pipeline(FunctionTransformer(np.arctan), LinearDiscriminantAnalysis())
    keywords = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.nested_cv, estimator, X, y, **keywords)
    assert fast.route == "gram"
    assert_same_results(fast, quietly(onefit.nested_cv, estimator, X, y, route="refit", **keywords))


def test_one_class_in_a_training_set_is_what_a_refit_makes_of_it():
    X, _ = classes(20, 2, 2, 10)
    y = np.r_[np.zeros(16), 1, 1, 1, 1].astype(int)
    folds = np.r_[np.arange(16) % 2 + 1, 0, 0, 3, 3]  # folds 0 and 3 have all of class 1
    with pytest.raises(RefitError, match=r"fold\(s\) 0, 3 held out \(16 training rows\).*greater than one"):
        onefit.nested_cv(QuadraticDiscriminantAnalysis(reg_param=0.5), X[:, :1], y, folds=folds)
    fast = quietly(onefit.nested_cv, GaussianNB(), X, y, folds=folds)
    assert_same_results(fast, quietly(onefit.nested_cv, GaussianNB(), X, y, folds=folds, route="refit"))


def test_a_class_that_a_training_set_lacks_is_never_predicted():
    X, y = classes(30, 2, 3, 11)
    folds = np.where(y == 2, np.where(np.cumsum(y == 2) % 2, 0, 1), np.arange(30) % 2 + 2)
    for estimator in (LinearDiscriminantAnalysis(), GaussianNB()):
        fast = quietly(onefit.nested_cv, estimator, X, y, folds=folds)
        assert fast.route == "gram"
        assert_same_results(fast, quietly(onefit.nested_cv, estimator, X, y, folds=folds, route="refit"))


def test_weights_that_fit_does_not_take_are_refused():
    X, y = classes(20, 2, 2, 12)
    with pytest.raises(DataError, match="takes no sample_weight"):
        onefit.nested_cv(LinearDiscriminantAnalysis(), X, y, sample_weight=np.ones(20))


def test_sums_over_folds_are_those_of_the_rows_together():
    X, y = classes(40, 3, 3, 13)
    sets, weights = np.arange(40) % 5, np.random.default_rng(1).uniform(0.5, 2, 40)
    kept = np.array([[1.0, 0, 1, 1, 0]])
    rows = np.isin(sets, [0, 2, 3])
    for scatter in ("diagonal", "pooled", "classes"):
        found = ClassSums.of_folds(X, sets, 5, y, 3, weights, scatter).together(kept)
        each = [np.cov(X[rows & (y == c)].T, aweights=weights[rows & (y == c)], ddof=0) for c in range(3)]
        products = np.array([cov * weights[rows & (y == c)].sum() for c, cov in enumerate(each)])
        expected = {
            "diagonal": np.einsum("cpp->cp", products),
            "pooled": products.sum(axis=0),
            "classes": products,
        }
        np.testing.assert_allclose(found.squares[0], expected[scatter], rtol=1e-12, atol=1e-12)


def test_shrinkage_is_ledoit_and_wolfs():
    X, y = classes(50, 4, 2, 14, "correlated")
    scatter = np.array([[np.cov(X[y == c].T, ddof=0) for c in range(2)]])
    mean = np.array([[X[y == c].mean(axis=0) for c in range(2)]])
    n = np.array([[25.0, 25.0]])
    inside = np.ones((1, 50), dtype=bool)
    moments = ClassMoments(n, n.sum(axis=1), mean, None, None, scatter, lambda: (mean[:, 0],) * 2, lambda: inside)
    expected = [ledoit_wolf(StandardScaler().fit_transform(X[y == c]))[1] for c in range(2)]
    np.testing.assert_allclose(ledoit_wolf_shares(X, y, scatter, moments)[0], expected, rtol=1e-9)


def test_divisors_are_those_of_the_installed_scikit_learn():
    X, y = classes(30, 2, 2, 15)
    covariance = sum(np.cov(X[y == c].T, ddof=0) * 15 for c in range(2)) / (28 if svd_counts_classes() else 30)
    slope = linalg.solve(covariance, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    np.testing.assert_allclose(LinearDiscriminantAnalysis().fit(X, y).coef_[0], slope)
    variance = np.linalg.eigvalsh(np.cov(X[y == 0].T, ddof=1 if quadratic_counts_mean() else 0))
    np.testing.assert_allclose(np.sort(QuadraticDiscriminantAnalysis().fit(X, y).scalings_[0]), variance)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(7, weights="distance"), LinearDiscriminantAnalysis(), GaussianNB()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_metrics_of_probabilities_are_those_of_refits(estimator, n_classes):
    X, y = classes(60, 3, n_classes, 16)
    scoring = ["neg_log_loss", "roc_auc" if n_classes == 2 else "roc_auc_ovr", "accuracy"]
    keywords = {"scoring": scoring, "n_folds": 4, "n_repeats": 2, "random_state": 0}
    fast, slow = (quietly(onefit.nested_cv, estimator, X, y, route=route, **keywords) for route in ("auto", "refit"))
    assert fast.route in ("gram", "neighbours")
    columns = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(fast.metrics[columns].to_numpy(float), slow.metrics[columns].to_numpy(float), rtol=1e-8)


def test_rows_that_are_extremely_far_away_do_not_change_the_probabilities_of_others():
    """A column that is constant in a class gives log odds of 1e9; those of other rows keep their digits beside them."""
    X, y = classes(60, 3, 2, 11)
    X[:, 2] = 0.0
    X[np.flatnonzero(y == 1)[:4], 2] = 1.0
    keywords = {"n_folds": 4, "n_repeats": 1, "random_state": 0, "scoring": "neg_log_loss"}
    fast = quietly(onefit.nested_cv, GaussianNB(), X, y, **keywords)
    assert fast.route == "gram"
    assert_same_results(fast, quietly(onefit.nested_cv, GaussianNB(), X, y, route="refit", **keywords))


def sure_of_wrong_classes(n_classes):
    """Twenty columns that say the same, and are counted as if each were news: rows are wrong with odds of 1e14."""
    rng = np.random.default_rng(6)
    y = np.arange(240) % n_classes
    return (1.3 * y + rng.normal(size=240))[:, None] + 0.4 * rng.normal(size=(240, 20)), y


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ranks_of_naive_bayes_have_the_ties_of_probabilities_that_scikit_learn_rounds_to_one(n_classes, scaled):
    X, y = sure_of_wrong_classes(n_classes)
    model = make_pipeline(StandardScaler(), GaussianNB()) if scaled else GaussianNB()
    folds = random_folds(240, 4, 3, 0)
    chances = model.fit(X[folds[0] > 0], y[folds[0] > 0]).predict_proba(X[folds[0] == 0])
    assert (chances[chances.argmax(axis=1) != y[folds[0] == 0]].max(axis=1) > 1 - 1e-12).any()
    scoring = ["roc_auc", "average_precision"] if n_classes == 2 else ["roc_auc_ovo"]
    keywords = {"scoring": [*scoring, "roc_auc_ovr", "neg_log_loss"], "folds": folds}
    fast, slow = (quietly(onefit.nested_cv, model, X, y, route=route, **keywords) for route in ("gram", "refit"))
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-11)
    assert fast.raw_estimate == pytest.approx(slow.raw_estimate, rel=1e-11)


def test_scores_of_several_classes_beside_a_column_of_years_are_found_without_refits(monkeypatch):
    """Their origin is 200 deviations away: what all classes have in common is large, and known to 1e-11."""
    rng = np.random.default_rng(0)
    X, y, ids = rng.normal(size=(240, 3)), rng.integers(0, 3, 240), np.arange(240) % 4
    X[:, 0] += y
    X[:, 1] = 2000 + 10 * X[:, 1]
    model = LinearDiscriminantAnalysis(solver="lsqr")
    refitted = "onefit.routes.classes.residuals_by_estimator"
    monkeypatch.setattr(refitted, lambda *a: pytest.fail("a training set was refitted"))
    scorer = make_scorer(lambda y, s: np.mean(s[np.arange(len(y)), y]), response_method="decision_function")
    fast = quietly(onefit.nested_cv, model, X, y, folds=ids[None], scoring=scorer, route="gram")
    means = []
    for fold in range(4):
        test = ids == fold
        scores = clone(model).fit(X[~test], y[~test]).decision_function(X[test])
        means.append(np.mean(scores[np.arange(test.sum()), y[test]]))
    assert fast.cv_estimate == pytest.approx(np.mean(means), rel=1e-9)
