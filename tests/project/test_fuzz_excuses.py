"""What the fuzzer excuses: each time there is proof in the data, and errors of onefit beside it are errors still."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV

from fuzz.families import trials
from fuzz.families.asking import TOLD, ask_trial
from fuzz.families.contract import Asked
from fuzz.families.precise import PreciseElasticNet, PreciseFamily, PreciseLogistic
from fuzz.families.preciseridge import FirstRidgeCV, PreciseLeastSquares
from fuzz.families.separation import has_no_maximum
from fuzz.families.verdict import BEYOND, judge_trial_answer
from fuzz.figures import Figures
from fuzz.library import NOT_FINITE, Answer


def trial_of(model, exact, X, y):
    """Four folds of rows in memory."""
    settings = {"is_curve": False, "weights": None, "groups": None, "route": "auto", "how": "rows", "scoring": ()}
    folds = np.arange(len(y))[None] % 4
    return replace(trials.draw_trial(0, "selecting"), asked=Asked(model, exact, X, y), folds=folds, **settings)


def times(answer, factor):
    """An answer whose figures are wrong."""
    return replace(answer, figures=[Figures({k: v * factor for k, v in answer.figures[0].tables.items()})])


@pytest.mark.skipif("tol" not in LinearRegression().get_params(), reason="scikit-learn before 1.7")
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_directions_that_refits_drop_are_in_the_reference(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) * [1.0, scale], rng.normal(size=40)
    trial = trial_of(LinearRegression(tol=1e-6), PreciseLeastSquares(tol=1e-6), X, y)
    answer = ask_trial(trial)
    assert judge_trial_answer(trial, answer).name == "agreed"
    assert judge_trial_answer(trial, times(answer, 1.001)).name == "wrong"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_least_squares_of_columns_that_depend_on_each_other_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    X[:, 2] = X[:, 0] - 2 * X[:, 1]
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(PreciseLeastSquares().fit(X, y).predict(X), expected, rtol=1e-10)
    if "tol" in LinearRegression().get_params():
        with pytest.raises(FloatingPointError, match="no rounding errors"):
            PreciseLeastSquares(tol=1e-6).fit(np.c_[X, 1e-9 * rng.normal(size=20)], y)


def lasso_trial(is_same):
    """Levels that are the same where the second fold is out, if they are to be."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[:, 0] *= 2.0
    if is_same:
        X[np.arange(40) % 4 != 1, 1] = X[np.arange(40) % 4 != 1, 0]
    y += 2 * X[:, 0]
    return trial_of(Lasso(0.05), PreciseElasticNet(0.05, l1_ratio=1.0), X, y)


def moved_fold(answer, by):
    """Without the second fold, and predictions of it, only."""
    tables = {name: table.copy() for name, table in answer.figures[0].tables.items()}
    tables["e_out"][0, 1] += by
    return replace(answer, figures=[Figures(tables)], routes=["gram" + TOLD])


def test_many_solutions_of_a_lasso_excuse_what_solutions_may_differ_by():
    trial = lasso_trial(is_same=True)
    answer = ask_trial(trial)
    assert answer.routes[0].endswith(TOLD)
    assert judge_trial_answer(trial, moved_fold(answer, 0.1)).name == "sensitive"
    assert judge_trial_answer(trial, moved_fold(answer, 1e4)).name == "wrong"
    other = moved_fold(answer, 0.0)
    other.figures[0].tables["e_out"][0, 0] += 0.1  # where there is one solution
    assert judge_trial_answer(trial, other).name == "wrong"


def test_a_lasso_with_one_solution_is_not_excused_by_what_onefit_says():
    trial = lasso_trial(is_same=False)
    answer = ask_trial(trial)
    assert judge_trial_answer(trial, answer).name == "agreed"
    assert judge_trial_answer(trial, moved_fold(answer, 0.1)).name == "wrong"


@pytest.mark.parametrize("reason", [f"DataError: column 0 {BEYOND}.", f"RefitError: Ridge {NOT_FINITE} in repeat 0."])
def test_refusals_are_not_right_because_of_their_words(reason):
    rng = np.random.default_rng(0)
    trial = trial_of(Ridge(), Ridge(solver="svd"), rng.normal(size=(40, 2)), rng.normal(size=40))
    assert judge_trial_answer(trial, Answer([None], [reason], [""])).name == "refused wrongly"


@pytest.mark.parametrize("scale", [1e80, 1e-80])
def test_columns_that_cannot_be_squared_twice_are_refused_rightly(scale):
    rng = np.random.default_rng(0)
    trial = trial_of(Ridge(), Ridge(solver="svd"), rng.normal(size=(40, 2)) * [1.0, scale], rng.normal(size=40))
    assert judge_trial_answer(trial, Answer([None], [f"DataError: column 1 {BEYOND}."], [""])).name == "refused rightly"


def test_a_number_where_a_class_has_no_row_with_a_weight_is_wrong():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) // 4 % 3
    trial = replace(trial_of(LogisticRegression(), PreciseLogistic(), X, y), weights=np.ones(60))
    trial = replace(trial, asked=replace(trial.asked, loss="log_loss"))
    answer = ask_trial(trial)
    assert judge_trial_answer(trial, answer).name == "agreed"
    weights = np.where((y == 2) & (np.arange(60) % 4 != 1), 0.0, 1.0)
    assert judge_trial_answer(replace(trial, weights=weights), answer).name == "wrong"


def test_classes_that_overlap_by_less_than_a_linear_program_sees_have_a_maximum():
    """The coefficient is 24 at an overlap of 1e-10, and no refusal is right."""
    x, y = np.repeat([-1.0, 1.0], 20), np.repeat([0, 1], 20)
    x[:8], x[20:28] = 1e-10 * (1 + np.arange(8) / 10), -1e-10 * (1 + np.arange(8) / 10)
    model, exact = LogisticRegression(C=np.inf), PreciseLogistic(C=np.inf)
    trial = trial_of(model, exact, x[:, None], y)
    assert not has_no_maximum(trial)
    assert exact.fit(x[:, None], y).theta_[0] == pytest.approx(23.8, rel=0.01)
    x[:8], x[20:28] = -1.0, 1.0
    assert has_no_maximum(replace(trial, asked=replace(trial.asked, X=x[:, None])))


@pytest.mark.parametrize(("seed", "cuts"), [(126, [0.0]), (86, [-0.5, 0.5])])
def test_the_reference_of_logistic_regression_ends_where_weights_span_ten_decades(seed, cuts):
    """All slopes of the likelihood vanish. In extended precision one was 0.7 of its terms (fuzz case 530001718)."""
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(40, 3)), 10.0 ** rng.uniform(-4, 6, 40)
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=40), cuts)
    scores = PreciseLogistic(C=np.inf).fit(X, y, weights).decision_function(X)
    scores = np.c_[np.zeros(40), scores] if scores.ndim == 1 else scores
    is_own = y[:, None] == np.arange(scores.shape[1])
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    gaps = weights[:, None] * np.where(is_own, -np.where(is_own, 0.0, P).sum(axis=1, keepdims=True), P)
    terms = np.c_[X, np.ones(40)][:, :, None] * gaps[:, None]
    assert (np.abs(terms.sum(axis=0)) <= 1e-10 * np.abs(terms).sum(axis=0)).all()


def test_the_reference_of_a_likelihood_without_a_maximum_does_not_end():
    x = np.arange(8.0)
    with pytest.raises(FloatingPointError, match="not unique, or at infinity"):
        PreciseFamily(1.0, 0.0).fit(x[:, None], np.where(x < 7, 0.0, 1.0))


@pytest.mark.parametrize("seed", range(5))
def test_penalties_that_leave_one_out_cannot_tell_apart_are_no_choice_of_rounding_errors(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2, 3)), rng.normal(size=2)
    assert FirstRidgeCV([0.5, 5.0, 50.0]).fit(X, y).alpha_ == 0.5
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    expected, found = (each([0.5, 5.0, 50.0]).fit(X, y) for each in (RidgeCV, FirstRidgeCV))
    assert found.alpha_ == expected.alpha_
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_what_a_scaler_leaves_of_a_constant_tells_no_classes_apart():
    """Without an intercept a column of 1e-14 would be one (fuzz case 560011536)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    found = [
        PreciseLogistic(C=np.inf, fit_intercept=False).fit(Z, y).predict_proba(Z)
        for Z in (X, np.c_[X, np.full(40, 1.4e-14)])
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
