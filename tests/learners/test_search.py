"""Searches inside every training set equal refits of scikit-learn's own search, option by option."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import loguniform
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import HuberRegressor, LinearRegression, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    HalvingGridSearchCV,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, RobustScaler, StandardScaler

import onefit
from helpers import STRICT, quiet_nested_cv
from onefit.errors import DataError, RefitError
from onefit.learners import fixedfeatures, search
from onefit.linalg import compiled
from onefit.routes.searched import SearchedEngine, _Sets

N, P, FOLDS = 60, 4, 3
ALPHAS = [0.1, 3.0, 20.0, 100.0, 1000.0]
OF_RIDGE = {"ridge__alpha": ALPHAS}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, P)) * np.array([1.0, 5.0, 0.2, 1.0]) + 3.0
    return X, X @ np.array([0.4, 0.1, 1.0, 0.0]) + rng.normal(size=N)


@pytest.fixture
def frame(data, rng):
    X, _ = data
    table = pd.DataFrame(X.copy(), columns=list("abcd"))  # older pandas would write the NaN into X itself
    table["colour"] = rng.choice(["red", "green", "blue", "pink"], p=[0.5, 0.3, 0.15, 0.05], size=N)
    table.loc[rng.random(N) < 0.1, "a"] = np.nan
    return table


@pytest.fixture
def searched_itself(monkeypatch):
    """Training sets that scikit-learn searched itself."""
    found = []
    inner = _Sets.from_rows

    def counted(self, out):
        found.append(tuple(out))
        return inner(self, out)

    monkeypatch.setattr(_Sets, "from_rows", counted)
    return found


def scaled(last=None):
    return make_pipeline(StandardScaler(), last or Ridge())


def assert_equals_refits(model, X, y, n_folds=FOLDS, n_repeats=1, **options):
    """The fast answer is that of refits."""
    asked = {"n_folds": n_folds, "n_repeats": n_repeats, "random_state": 0, **options}
    if "folds" in options:
        asked = {"n_folds": n_folds, **options}
    fast = quiet_nested_cv(model, X, y, **asked)
    assert fast.route == "gram"
    assert "searched inside every training set from statistics" in fast.route_reason
    slow = quiet_nested_cv(model, X, y, route="refit", **asked)
    for name in ("cv_estimate", "raw_estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=STRICT)
    return fast


SCORINGS = [None, "r2", "neg_mean_squared_error", "neg_mean_absolute_error", "neg_root_mean_squared_error"]


@pytest.mark.parametrize("scoring", SCORINGS)
def test_every_score_chooses_as_scikit_learn_does(data, scoring):
    assert_equals_refits(GridSearchCV(scaled(), OF_RIDGE, scoring=scoring, cv=3), *data, n_folds=4)


SPLITTERS = [
    None,
    4,
    KFold(3),
    KFold(3, shuffle=True, random_state=7),
    RepeatedKFold(n_splits=2, n_repeats=2, random_state=1),
    ShuffleSplit(3, test_size=0.3, random_state=2),
    ShuffleSplit(3, test_size=0.3, train_size=0.4, random_state=2),
    TimeSeriesSplit(3),
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
def test_every_splitter_splits_the_rows_of_the_training_set(data, cv):
    assert_equals_refits(GridSearchCV(scaled(), OF_RIDGE, cv=cv), *data)


def test_leaving_out_each_row(data):
    X, y = data
    grid = {"alpha": [1.0, 100.0]}
    some = slice(0, 24)
    model = GridSearchCV(Ridge(), grid, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    assert_equals_refits(model, X[some], y[some], n_folds=3)
    with pytest.warns():  # R2 of one row is NaN for every candidate, and the first is taken
        assert_equals_refits(GridSearchCV(Ridge(), grid, cv=LeaveOneOut()), X[some], y[some], n_folds=3)


MODELS = {
    "bare": GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3),
    "intercept": GridSearchCV(Ridge(), {"alpha": ALPHAS, "fit_intercept": [True, False]}, cv=3),
    "steps": GridSearchCV(
        scaled(),
        {"standardscaler": [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"], **OF_RIDGE},
        cv=3,
    ),
    "step option": GridSearchCV(scaled(), {**OF_RIDGE, "standardscaler__with_std": [True, False]}, cv=3),
    "list of grids": GridSearchCV(
        scaled(), [{"ridge": [LinearRegression()]}, {"ridge": [Ridge()], "ridge__alpha": [3.0, 100.0]}], cv=3
    ),
    "twice": GridSearchCV(scaled(), {"ridge__alpha": [20.0, 3.0, 20.0]}, cv=3),
    "least squares": GridSearchCV(LinearRegression(), {"fit_intercept": [False, True]}, cv=3),
    "drawn": RandomizedSearchCV(scaled(), {"ridge__alpha": loguniform(1e-1, 1e3)}, n_iter=4, random_state=3, cv=3),
    "ridge": RidgeCV(ALPHAS, cv=3),
    "ridge behind a scaler": scaled(RidgeCV(ALPHAS, cv=3, scoring="neg_mean_squared_error")),
    "search behind a scaler": scaled(GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3)),
    "behind columns": make_pipeline(PolynomialFeatures(2), RidgeCV(ALPHAS, cv=3)),
    "components": GridSearchCV(
        make_pipeline(StandardScaler(), PCA(svd_solver="full"), Ridge()),
        {"pca__n_components": [1, 2, 3], "ridge__alpha": [1.0, 30.0]},
        cv=3,
    ),
    "selection": GridSearchCV(
        make_pipeline(SelectKBest(f_regression), Ridge()),
        {"selectkbest__k": [1, 2, 3], "ridge__alpha": [1.0, 30.0]},
        cv=3,
    ),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_search_equals_refits(data, model):
    assert_equals_refits(model, *data)


def test_several_outputs_share_a_candidate(data):
    X, y = data
    assert_equals_refits(GridSearchCV(scaled(), OF_RIDGE, cv=3), X, np.column_stack([y, y**2]))


def encoder(**options):
    text, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False, **{"handle_unknown": "ignore", **options}), text),
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    )


ENCODED = {
    "options of steps": GridSearchCV(
        make_pipeline(encoder(), Ridge()),
        {
            "columntransformer__onehotencoder__min_frequency": [None, 6],
            "columntransformer__pipeline__simpleimputer__strategy": ["mean", "median"],
        },
        cv=2,
    ),
    "steps outside": make_pipeline(encoder(), GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3)),
    "indicators outside": make_pipeline(
        make_column_transformer((SimpleImputer(add_indicator=True), list("abcd"))), RidgeCV(ALPHAS, cv=3)
    ),
}


@pytest.mark.parametrize("model", ENCODED.values(), ids=ENCODED)
def test_searches_among_encodings(frame, data, model):
    assert_equals_refits(model, frame, data[1], n_folds=3)


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.slow
def test_features_may_be_sparse_and_kernels_absent(frame, data, is_compiled, monkeypatch):
    monkeypatch.setattr(fixedfeatures, "MOST_DENSE_BYTES", 0)
    with compiled.switched(is_compiled):
        assert_equals_refits(GridSearchCV(make_pipeline(encoder(), Ridge()), OF_RIDGE, cv=3), frame, data[1])
        assert_equals_refits(GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3), *data)


def test_a_level_that_a_split_does_not_know_is_scored_by_scikit_learn(frame, data, searched_itself):
    frame["rare"] = np.where(np.arange(N) < 3, "here", np.where(np.arange(N) % 2, "there", "elsewhere"))
    model = GridSearchCV(
        make_pipeline(encoder(handle_unknown="error"), Ridge()), {"ridge__alpha": [1.0]}, cv=KFold(3), error_score=-5.0
    )
    with pytest.warns():
        assert_equals_refits(model, frame[["rare", "b"]], data[1], n_folds=3, folds=np.arange(N) % 3)
    assert searched_itself


CLASSIFIERS = {
    "grid": GridSearchCV(scaled(RidgeClassifier()), {"ridgeclassifier__alpha": ALPHAS}, cv=3),
    "stratified": GridSearchCV(
        RidgeClassifier(), {"alpha": ALPHAS}, scoring="accuracy", cv=StratifiedKFold(3, shuffle=True, random_state=1)
    ),
    "ridge": RidgeClassifierCV(ALPHAS, cv=3),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_classifiers_are_chosen_by_their_accuracy(data, model, n_classes, searched_itself):
    X, y = data
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))]
    assert_equals_refits(model, X, labels)
    assert not searched_itself  # shares of right decisions tie often, and are known exactly


def test_candidates_too_close_to_tell_are_left_to_scikit_learn(data, searched_itself):
    model = GridSearchCV(Ridge(), {"alpha": [30.0 * (1 + 1e-9), 30.0, 1e5]}, cv=3)
    assert_equals_refits(model, *data)
    assert len(searched_itself) == FOLDS * (FOLDS + 1) / 2


def test_close_candidates_that_predict_the_same_need_no_search(data, searched_itself):
    model = GridSearchCV(scaled(), {"standardscaler__with_mean": [True, False], **OF_RIDGE}, cv=3)
    assert_equals_refits(model, *data)
    assert not searched_itself


def test_close_candidates_behind_columns_are_searched_in_those(data, searched_itself):
    model = make_pipeline(PolynomialFeatures(2), GridSearchCV(Ridge(), {"alpha": [30.0 * (1 + 1e-9), 30.0]}, cv=3))
    assert_equals_refits(model, *data)
    assert searched_itself


def test_the_same_bits_for_any_number_of_jobs(data):
    answers = [
        quiet_nested_cv(
            GridSearchCV(scaled(), OF_RIDGE, cv=3), *data, n_folds=5, n_repeats=4, random_state=0, n_jobs=jobs
        )
        for jobs in (1, 2)
    ]
    assert answers[0].cv_estimate == answers[1].cv_estimate
    assert answers[0].standard_error == answers[1].standard_error


REFUSED = {
    "splits otherwise in every fit": GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=KFold(3, shuffle=True)),
    "draws other candidates": RandomizedSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, n_iter=2),
    "scoring=make_scorer": GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring=make_scorer(r2_score)),
    "HuberRegressor has no exact fast route": GridSearchCV(HuberRegressor(), {"alpha": [0.1, 1.0]}),
    "refit=<function": GridSearchCV(Ridge(), {"alpha": [1.0]}, refit=lambda results: 0),
    "a candidate cannot be fitted": GridSearchCV(Ridge(), {"alpha": [-1.0, 1.0]}),
    "tunes itself inside": GridSearchCV(RidgeCV(), {"fit_intercept": [True]}),
    "stand behind others": scaled(GridSearchCV(scaled(), {"ridge__alpha": [1.0]})),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_not_the_refit_is_refitted_with_a_reason(data, reason):
    result = quiet_nested_cv(REFUSED[reason], *data, n_folds=3, n_repeats=1, random_state=0)
    assert result.route == "refit"
    assert reason in result.route_reason


def test_as_many_columns_as_rows_go_by_refits(rng):
    X, y = rng.normal(size=(24, 24)), rng.normal(size=24)
    result = quiet_nested_cv(
        GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2), X, y, n_folds=3, n_repeats=1, random_state=0
    )
    assert result.route == "refit"
    assert "as many columns as rows" in result.route_reason


WEIGHTED = {
    "scores and fits": GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3),
    "fits of a step": GridSearchCV(make_pipeline(StandardScaler(), Ridge()), OF_RIDGE, cv=3),
    "behind a step": make_pipeline(
        StandardScaler(), GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3, scoring="neg_mean_absolute_error")
    ),
    "of its own": RidgeCV(ALPHAS, cv=3),
    "rows apart": GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=ShuffleSplit(3, train_size=0.4, random_state=0)),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_reach_the_fits_and_scores_that_scikit_learn_gives_them_to(data, rng, name):
    assert_equals_refits(WEIGHTED[name], *data, sample_weight=rng.choice([0.0, 0.3, 1.0, 5.0], N))


def test_weights_of_classes(data, rng):
    X, y = data
    weights, classes = rng.choice([0.3, 1.0, 5.0], N), np.digitize(y, [2.5, 4.0])
    assert_equals_refits(GridSearchCV(RidgeClassifier(), {"alpha": ALPHAS}, cv=3), X, classes, sample_weight=weights)
    assert_equals_refits(RidgeClassifierCV(ALPHAS, cv=StratifiedKFold(3)), X, classes, sample_weight=weights)


def test_a_scikit_learn_that_does_not_weigh_scores_is_found_out(data, rng, monkeypatch):
    monkeypatch.setattr(search, "_scores_are_weighted", lambda: False)
    weights = rng.choice([0.1, 1.0, 9.0], N)
    given = {"n_folds": 3, "n_repeats": 1, "random_state": 0, "sample_weight": weights}
    model = GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3, scoring="neg_mean_squared_error")
    found = quiet_nested_cv(model, *data, **given)
    # a step's weights are not the scores'
    unweighted = GridSearchCV(make_pipeline(Ridge()), OF_RIDGE, cv=3, scoring="neg_mean_squared_error")
    expected = quiet_nested_cv(unweighted, *data, route="refit", **given)
    assert found.raw_estimate == pytest.approx(expected.raw_estimate, rel=1e-9)


def test_a_list_of_splits_is_refused(data):
    rows = np.arange(N)
    model = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=[(rows[:30], rows[30:])])
    with pytest.raises(DataError, match=r"list of splits as cv.*KFold"):
        onefit.nested_cv(model, *data, n_folds=3, random_state=0)


def test_groups_reach_the_splits_inside_as_scikit_learn_routes_them_and_not_otherwise(data):
    model = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=GroupKFold(3))
    with pytest.raises(RefitError, match="groups"):
        onefit.nested_cv(model, *data, n_folds=3, random_state=0, groups=np.arange(N) // 3)
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises(RefitError, match="groups"):
        onefit.nested_cv(model, *data, n_folds=3, random_state=0)


BY_GROUPS = [
    GroupKFold(3),
    LeaveOneGroupOut(),
    GroupShuffleSplit(3, random_state=1),
    KFold(3),  # which asks for none
]


@pytest.mark.parametrize("cv", BY_GROUPS, ids=str)
def test_splits_by_groups_with_metadata_routing(data, cv):
    groups = np.array(list("abcdefgh"))[np.arange(N) % 8]
    with sklearn.config_context(enable_metadata_routing=True):
        assert_equals_refits(GridSearchCV(scaled(), OF_RIDGE, cv=cv), *data, n_folds=4, groups=groups)
        behind = make_pipeline(StandardScaler(), GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=cv))
        assert_equals_refits(behind, *data, n_folds=4, groups=groups)


def test_groups_and_classes_with_metadata_routing(data, rng):
    X, y = data
    groups = rng.integers(0, 10, N)
    model = GridSearchCV(RidgeClassifier(), {"alpha": ALPHAS}, cv=StratifiedGroupKFold(3))
    with sklearn.config_context(enable_metadata_routing=True):
        assert_equals_refits(model, X, (y > 3).astype(int), groups=groups)


def test_with_metadata_routing_weights_go_where_steps_ask_for_them(data, rng):
    weights = rng.uniform(0.1, 3.0, N)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True), Ridge().set_fit_request(sample_weight=True)
        )
        found = quiet_nested_cv(model, *data, n_folds=3, n_repeats=1, random_state=0, sample_weight=weights)
        assert (found.route, "metadata routing" in found.route_reason) == ("refit", True)
        with pytest.raises(RefitError, match="UnsetMetadataPassedError"):
            onefit.nested_cv(GridSearchCV(Ridge(), {"alpha": ALPHAS}), *data, sample_weight=weights)


def test_a_halving_search_is_refitted_with_a_reason(data):
    model = HalvingGridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3, random_state=0)
    found = quiet_nested_cv(model, *data, n_folds=3, n_repeats=1, random_state=0)
    assert (found.route, found.route_reason) == ("refit", "HalvingGridSearchCV has no exact fast route")


def test_more_inner_folds_than_rows_is_the_error_of_the_search(data):
    X, y = data
    with pytest.raises(RefitError, match="n_splits=50"):
        onefit.nested_cv(GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=50), X[:20], y[:20], n_folds=4, random_state=0)


def test_the_search_is_done_by_the_engine_that_says_so(data, monkeypatch):
    made = []
    monkeypatch.setattr(SearchedEngine, "sets", _noting(SearchedEngine.sets, made))
    assert_equals_refits(GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=3), *data)
    assert made


def _noting(method, made):
    def noted(self, *arguments):
        made.append(arguments)
        return method(self, *arguments)

    return noted


@st.composite
def problems(draw):
    """Random tables, some columns of them constant in places, and a search."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n, p = draw(st.integers(18, 40)), draw(st.integers(1, 6))
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p)) + rng.normal(size=p)
    if draw(st.booleans()):
        X[:, 0] = rng.random(n) < 0.15
    y = X @ rng.normal(size=p) + np.exp(rng.normal()) * rng.normal(size=n)
    steps = draw(st.sampled_from([[], [StandardScaler()], [MinMaxScaler()], [RobustScaler()]]))
    alphas = draw(st.lists(st.sampled_from([0.01, 0.1, 1.0, 5.0, 50.0, 500.0]), min_size=1, max_size=3, unique=True))
    cv = draw(st.sampled_from([2, 3, KFold(3, shuffle=True, random_state=seed)]))
    scoring = draw(st.sampled_from(SCORINGS))
    last = Ridge(fit_intercept=draw(st.booleans()))
    if draw(st.booleans()):
        return make_pipeline(*steps, GridSearchCV(last, {"alpha": alphas}, cv=cv, scoring=scoring)), X, y
    return GridSearchCV(make_pipeline(*steps, last), {"ridge__alpha": alphas}, cv=cv, scoring=scoring), X, y


@given(problems())
def test_random_searches_equal_refits(problem):
    assert_equals_refits(*problem, n_folds=3)
