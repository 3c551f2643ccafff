"""The fuzzer: cases that are fine, and proof that it would find those that are not."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
import reference as long_double
from fuzz.arrays import make_arrays, nudged
from fuzz.balls import has_full_rank
from fuzz.exact import DualRefits, PrimalRefits
from fuzz.families import trials
from fuzz.families.asking import ask_trial
from fuzz.families.contract import Asked
from fuzz.families.loop import lacks_rank
from fuzz.families.precise import PreciseElasticNet, PreciseFamily, PreciseLogistic
from fuzz.families.preciseridge import PreciseRidge
from fuzz.families.separation import has_no_maximum
from fuzz.families.verdict import judge_trial, judge_trial_answer
from fuzz.figures import Figures, tabulate
from fuzz.judge import Verdict, judge, judge_answer, same_bits
from fuzz.library import Answer, ask
from fuzz.models import model_of
from fuzz.problems import FAMILIES, KINDS, draw, kind_of
from fuzz.reference import reference
from fuzz.run import Outcome, judge_seed, run, seeds
from helpers import relative_gap

ROOT = Path(__file__).resolve().parents[2]

FINE = {
    "classifier": (1000001, 1000013, 1000024, 1000146, 1000186),
    "kernel": (1000002, 1000026, 1000032, 1000069),
    "scaled": (1000003, 1000015, 1000016, 1000018, 1000021, 1000112),
    "ridge": (1000004, 1000006, 1000017, 1000019),
    "sparse": (1000012, 1000056, 1000093, 1000143),
    "compare": (1000051, 1000063, 1000125, 1000159, 110003082),
    "linear": (1000048, 1000097, 1000128, 1000133),
    "curve": (1000029, 1000037, 1000046, 1000078, 1000114, 110002395),
    "penalized": (1000041, 1000068, 1000252),
    "tuned": (1000054, 1000095, 1000137, 1000149, 1000215),
}
FINE_FAMILIES = {
    "pipelines": (2000023, 2000120),
    "selecting": (2000016, 2000027, 112002391),
    "latent": (2000095, 2000146),
    "evidence": (2000080, 2000162),
    "neighbours": (2000043, 2000046),
    "discriminant": (2000101, 2000137),
    "logistic": (2000024, 2000031, 112002137, 310006641),
    "generalized": (2000070, 2000150),
    "searches": (2000012, 2000051),
    "drops": (2000121, 2000190, 112001077, 310000902),
    "tables": (2000034, 2000049),
    "metrics": (2000038, 2000124, 112002312, 310018538),
}


def ridge_problem(**changes):
    """A ridge regression without anything awkward; columns of sizes 1e-2 to 1e2."""
    plain = {
        "n": 18,
        "p": 4,
        "n_outputs": 1,
        "fit_intercept": True,
        "columns": ("normal",) * 4,
        "column_scales": (-2.0, 0.0, 1.0, 2.0),
        "column_offsets": (None, 1.0, None, 2.0),
        "response": "signal",
        "response_scale": 0.0,
        "response_offset": 1.0,
        "alphas": (0.7,),
        "per_output": False,
        "weights": "plain",
        "has_groups": False,
        "folds": "given",
        "n_folds": 4,
        "n_repeats": 2,
        "route": "gram",
        "loss": "squared_error",
        "is_compiled": True,
        "checks_jobs": False,
    }
    base = draw(next(seeds(0, 1, "ridge")))
    return replace(base, **(plain | changes))


def answer_of(figures):
    """An answer as the gram route would give it."""
    return Answer([figures], [""], ["gram"])


def test_every_kind_has_cases_that_are_known_to_be_fine():
    assert set(FINE) == set(KINDS)
    assert set(FINE_FAMILIES) == set(FAMILIES) == set(trials.FAMILIES)
    assert all(kind_of(seed) == kind for kind, cases in (FINE | FINE_FAMILIES).items() for seed in cases)


@pytest.mark.parametrize("seed", [seed for cases in FINE.values() for seed in cases])
def test_fixed_cases_agree_with_exact_refits_or_are_refused_rightly(seed):
    verdict = judge(replace(draw(seed), checks_jobs=False))
    assert not verdict.is_bad, verdict


@pytest.mark.parametrize("seed", [seed for cases in FINE_FAMILIES.values() for seed in cases])
@pytest.mark.filterwarnings("ignore")
def test_fixed_cases_of_families_agree_with_refits_or_are_refused_rightly(seed):
    verdict = judge_trial(replace(trials.draw_trial(seed, kind_of(seed)), checks_jobs=False))
    assert not verdict.is_bad, verdict


# ------------------------------------------------------------------------------------------ the problems


@pytest.mark.parametrize("seed", range(40))
def test_a_seed_makes_the_same_problem_again_and_it_can_be_written_down(seed):
    problem = draw(seed)
    assert problem == draw(seed)
    assert json.loads(json.dumps(problem.as_dict()))["n"] == problem.n
    one, other = make_arrays(problem), make_arrays(problem)
    for first, second in zip(vars(one).values(), vars(other).values(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert np.isfinite(one.X).all()


def test_one_kind_alone_and_counts_from_the_seed_on():
    chosen = list(islice(seeds(3, None, "kernel"), 5))
    assert chosen[0] >= 3_000_000
    assert {kind_of(seed) for seed in chosen} == {"kernel"}


def test_a_nudge_moves_every_number_by_its_last_bit_and_zeros_not_at_all():
    problem = ridge_problem(columns=("normal", "rare", "dummy", "normal"), weights="zeros")
    arrays = make_arrays(problem)
    moved = nudged(arrays, problem, 0)
    for before, after in ((arrays.X, moved.X), (arrays.y, moved.y), (arrays.weights, moved.weights)):
        change = np.abs(after - before) / np.where(before == 0, 1.0, np.abs(before))
        assert (change[before == 0] == 0).all()
        assert ((change[before != 0] > 2.0**-54) & (change[before != 0] <= 2.0**-52)).all()


# ----------------------------------------------------------------------------------------- the reference


@pytest.mark.parametrize("model", ["ridge", "penalized"])
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("p", [4, 30])
def test_reference_equals_householder_refits_in_extended_precision(model, weights, p):
    matrix = "diagonal" if model == "penalized" else "identity"
    wide = {"p": p, "columns": ("normal",) * p, "column_scales": (0.0,) * p, "column_offsets": (1.0,) * p}
    problem = ridge_problem(model=model, matrix=matrix, weights=weights, **wide)
    arrays = make_arrays(problem)
    (figures,) = reference(model_of(problem, arrays), arrays.folds)
    root = None if arrays.penalty is None else np.sqrt(arrays.penalty)  # it is diagonal
    refit = long_double.refitter(arrays.X, arrays.y, 0.7, root, True, arrays.weights)
    losses = long_double.fold_losses(arrays.y, arrays.folds, refit, weights=arrays.weights)
    for name in ("e_in", "e_out", "v_out", "cv_estimate", "raw_estimate"):
        assert relative_gap(figures.tables[name][..., 0], getattr(losses, name)) < 1e-12


def test_systems_of_columns_and_of_rows_give_the_same_residuals_to_80_digits():
    problem = ridge_problem(weights="wild", alphas=(1e-9,))
    model, ids = model_of(problem, make_arrays(problem)), make_arrays(problem).folds[0]
    before, ctx.prec = ctx.prec, 400
    try:
        primal, dual = (kind(model, ids).residuals((0, 2), (1e-9,)) for kind in (PrimalRefits, DualRefits))
        for row, (value,) in primal.items():
            assert abs(value - dual[row][0]) < abs(value) * arb(10) ** -80
    finally:
        ctx.prec = before


@pytest.mark.parametrize("p", [3, 25])
@pytest.mark.parametrize("weights", ["none", "plain"])
def test_choice_by_leave_one_out_is_that_of_ridge_cv(p, weights):
    wide = {"p": p, "columns": ("normal",) * p, "column_scales": (0.0,) * p, "column_offsets": (None,) * p}
    grid = (1e-3, 0.1, 3.0, 40.0, 300.0)
    problem = ridge_problem(kind="tuned", model="tuned", alphas=grid, weights=weights, **wide)
    arrays = make_arrays(problem)
    model = model_of(problem, arrays)
    refits = (DualRefits if p > problem.n else PrimalRefits)(model, arrays.folds[0])
    for out in ((0,), (1, 3)):
        rows = refits.training_rows(out)
        extra = {} if arrays.weights is None else {"sample_weight": arrays.weights[rows]}
        assert refits._chosen(out, rows) == [RidgeCV(grid).fit(arrays.X[rows], arrays.y[rows], **extra).alpha_]


@pytest.mark.parametrize("refits", [PrimalRefits, DualRefits])
def test_a_choice_from_rows_without_weight_predicts_zero_at_any_penalty(refits):
    problem = ridge_problem(kind="tuned", model="tuned", alphas=(0.1, 3.0), weights="plain", fit_intercept=False)
    arrays = make_arrays(problem)
    arrays.weights[~np.isin(arrays.folds[0], (0, 1))] = 0.0
    found = refits(model_of(problem, arrays), arrays.folds[0]).residuals((0, 1), ())
    assert {i: float(u.mid()) for i, (u,) in found.items()} == {i: arrays.y[i] for i in found}


def test_rank_is_exact_where_doubles_cannot_tell():
    column = np.array([1.0, 2.0, 3.0])
    almost = np.array([1.0, 2.0, np.nextafter(3.0, 4.0)])
    assert not has_full_rank([np.stack([column, 1e150 * np.ones(3) * 0 + column * 2.0**400], axis=1)])
    assert has_full_rank([np.stack([column, almost], axis=1)])
    assert not has_full_rank([np.eye(3)[:2]])


def test_a_column_that_lives_in_two_held_out_folds_is_found_to_be_ill_posed():
    problem = ridge_problem(alphas=(0.0,), weights="none")
    arrays = make_arrays(problem)
    arrays.X[:, 0] = np.isin(arrays.folds[0], (1, 2))
    (said,) = reference(model_of(problem, arrays), arrays.folds)
    assert "(1, 2)" in said


# --------------------------------------------------------------------------------------------- the judge


@pytest.mark.parametrize(
    "name",
    ["e_out", "e_in", "v_out", "cv_estimate", "raw_estimate", "heldout_loss", "heldout_prediction", "interval"],
)
def test_a_number_that_is_off_by_one_millionth_is_called_wrong(name):
    problem = ridge_problem()
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    assert judge_answer(problem, arrays, answer).name == "agreed"
    table = answer.figures[0].tables[name]
    largest = np.unravel_index(np.nanargmax(np.abs(table)), table.shape)
    table[largest] *= 1 + 1e-6
    verdict = judge_answer(problem, arrays, answer)
    assert (verdict.name, verdict.why.split()[0]) == ("wrong", name)
    assert 5e-7 < verdict.size < 2e-6


@pytest.mark.parametrize("kind", ["curve", "compare"])
@pytest.mark.parametrize("end", range(4), ids=["estimate", "low", "high", "standard_error"])
def test_a_paired_difference_that_is_off_by_one_millionth_of_the_error_is_called_wrong(kind, end):
    problem = ridge_problem(kind=kind, model="ridge", alphas=(0.01, 0.7, 30.0), n_outputs=2)
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    assert judge_answer(problem, arrays, answer).name == "agreed"
    answer.differences.values[end, 0, 1] += 1e-6 * answer.figures[0].tables["e_out"][..., 1].max()
    verdict = judge_answer(problem, arrays, answer)
    assert (verdict.name, verdict.why.split(";")[0]) == ("wrong", "paired differences")
    assert 1e-7 < verdict.size < 2e-6


def test_differences_between_models_without_error_may_have_the_rounding_errors_of_either():
    """One huge column that y is linear in: whatever the penalty, errors are those of rounding (case 410012367)."""
    one_column = {"p": 1, "columns": ("normal",), "column_scales": (44.8,), "column_offsets": (None,)}
    settings = {"kind": "curve", "model": "ridge", "alphas": (0.0, 1.7e-8, 1.9), "weights": "none"}
    problem = ridge_problem(response="exact", **settings, **one_column)
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    assert judge_answer(problem, arrays, answer).name == "sensitive"
    answer.differences.values[0] += 1e-12
    assert judge_answer(problem, arrays, answer).why.startswith("paired differences")


def test_a_model_without_error_does_not_excuse_wrong_differences_from_others():
    """Its rounding errors are all of its own error, and nothing of another's."""
    one_column = {"p": 1, "columns": ("normal",), "column_scales": (44.8,), "column_offsets": (None,)}
    settings = {"kind": "curve", "model": "ridge", "alphas": (0.0, 1e-8, 3e90), "weights": "none"}
    problem = ridge_problem(response="exact", **settings, **one_column)
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    assert judge_answer(problem, arrays, answer).name == "sensitive"
    answer.differences.values[:] *= 1.001
    verdict = judge_answer(problem, arrays, answer)
    assert (verdict.name, verdict.why[:18]) == ("wrong", "paired differences")


def test_a_number_that_is_not_there_is_called_wrong():
    problem = ridge_problem()
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    answer.figures[0].tables["e_in"][0, 1] = np.nan
    assert judge_answer(problem, arrays, answer).name == "wrong"


def refitted(problem, arrays, predict):
    """Figures from predictions in double precision: ``predict(train, test)``."""

    def residuals(repeat, out):
        held = np.isin(arrays.folds[repeat], out)
        test = np.flatnonzero(held)
        return {int(i): [u] for i, u in zip(test, arrays.y[test] - predict(np.flatnonzero(~held), test), strict=True)}

    return tabulate(model_of(problem, arrays), arrays.folds, residuals, 0.0, float)


def normal_equations(X, y, train, test, lam):
    """Ridge regression without an intercept by X'X, which squares the condition number."""
    A = X[train]
    return X[test] @ np.linalg.solve(A.T @ A + lam * np.eye(X.shape[1]), A.T @ y[train])


def test_centring_on_all_rows_is_called_wrong():
    problem = ridge_problem(weights="none")
    arrays = make_arrays(problem)
    X, y = arrays.X - arrays.X.mean(axis=0), arrays.y - arrays.y.mean()
    figures = refitted(problem, arrays, lambda train, test: normal_equations(X, y, train, test, 0.7) + arrays.y.mean())
    verdict = judge_answer(problem, arrays, answer_of(figures))
    assert verdict.name == "wrong"
    assert verdict.size > 1e-4


def test_digits_lost_to_normal_equations_are_called_wrong_where_the_problem_has_them():
    problem = ridge_problem(weights="none", fit_intercept=False, column_offsets=(None, 5.0, 5.0, 5.0), alphas=(1e-9,))
    arrays = make_arrays(problem)
    figures = refitted(problem, arrays, lambda train, test: normal_equations(arrays.X, arrays.y, train, test, 1e-9))
    assert judge_answer(problem, arrays, answer_of(figures)).name == "wrong"


def test_the_exact_answer_to_data_that_differ_in_the_last_bit_is_called_sensitive():
    problem = ridge_problem(weights="none", columns=("normal", "normal", "normal", "sum"), alphas=(1e-33,))
    arrays = make_arrays(problem)
    arrays.X[:, 3] = arrays.X[:, 1] + arrays.X[:, 2]  # not exactly dependent, as the sum is rounded
    moved = nudged(arrays, problem, 7)
    (figures,) = reference(model_of(problem, moved), moved.folds)
    verdict = judge_answer(problem, arrays, answer_of(figures))
    assert verdict.name == "sensitive"
    assert verdict.size > 1e-3


def test_an_interval_of_losses_that_are_rounding_errors_of_predictions_is_called_sensitive():
    """All losses come from one number, what the last bits of y are off: with the data they move in proportion."""
    exact = {"response": "exact", "response_offset": None, "alphas": (1e-18,), "weights": "none", "n_repeats": 1}
    units = {"column_offsets": (None,) * 4, "column_scales": (17.0, 33.0, 6.0, 23.0)}
    problem = ridge_problem(n=6, n_folds=6, loss="absolute_error", **exact, **units)
    arrays = make_arrays(problem)
    (figures,) = reference(model_of(problem, arrays), arrays.folds)
    figures.tables["interval"] = figures.tables["interval"] * 1.1
    verdict = judge_answer(problem, arrays, answer_of(figures))
    assert (verdict.name, verdict.why.split(";")[0]) == ("sensitive", "interval")


def test_a_number_for_an_ill_posed_problem_is_called_wrong():
    problem = ridge_problem(alphas=(0.0,), columns=("normal", "normal", "normal", "duplicate"))
    arrays = make_arrays(problem)
    figures = ask(replace(problem, alphas=(1e-3,)), arrays).figures[0]
    assert "ill-posed" in judge_answer(problem, arrays, answer_of(figures)).why
    assert judge_answer(problem, arrays, Answer([None], ["refused"], [""])).name == "refused rightly"


def test_the_refusal_of_a_well_posed_problem_is_called_wrong():
    problem = ridge_problem()
    verdict = judge_answer(problem, make_arrays(problem), Answer([None], ["no reason"], [""]))
    assert (verdict.name, verdict.is_bad) == ("refused wrongly", True)


def test_warnings_and_foreign_exceptions_are_leaks():
    problem = ridge_problem()
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    answer.leaks.append("RuntimeWarning: overflow")
    assert judge_answer(problem, arrays, answer).name == "leaked"
    assert judge_answer(problem, arrays, Answer([], [], [], ["LinAlgError: singular"])).name == "leaked"


def test_one_bit_of_difference_between_one_and_two_threads_is_called_wrong():
    tables = {"e_out": np.array([[1.0, 2.0]])}
    other = {"e_out": np.array([[1.0, np.nextafter(2.0, 3.0)]])}
    one, same, bit = (answer_of(Figures(each)) for each in (tables, dict(tables), other))
    assert same_bits(one, same) is None
    assert same_bits(one, bit).name == "wrong"


# ------------------------------------------------------------------------------------------- the families

TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}
PRECISE = {
    "two classes": (LogisticRegression(C=2.0, **TIGHT), PreciseLogistic(2.0), "classes", 2),
    "three classes": (
        LogisticRegression(C=0.5, class_weight="balanced", **TIGHT),
        PreciseLogistic(0.5, class_weight="balanced"),
        "classes",
        3,
    ),
    "poisson": (PoissonRegressor(alpha=0.1, **TIGHT), PreciseFamily(1.0, 0.1), "numbers", 0),
    "gamma": (GammaRegressor(alpha=0.1, fit_intercept=False, **TIGHT), PreciseFamily(2.0, 0.1, False), "numbers", 0),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1, **TIGHT), PreciseFamily(1.5, 0.1), "numbers", 0),
    "normal": (TweedieRegressor(power=0, alpha=0.1, **TIGHT), PreciseFamily(0.0, 0.1), "numbers", 0),
    "lasso": (ElasticNet(0.1, l1_ratio=1.0, tol=1e-15), PreciseElasticNet(0.1, 1.0), "numbers", 0),
    "ridge": (Ridge(0.3), PreciseRidge(0.3), "numbers", 0),
    "net": (ElasticNet(0.3, fit_intercept=False, tol=1e-15), PreciseElasticNet(0.3, 0.5, False), "numbers", 0),
}


@pytest.mark.parametrize("name", PRECISE)
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_in_extended_precision_find_what_scikit_learn_finds(name, weighted):
    model, precise, kind, count = PRECISE[name]
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 2.0, 0.0, 1.0]
    y = rng.integers(0, count, 60) if kind == "classes" else rng.gamma(2.0, np.exp(0.2 * X[:, 0]))
    weights = rng.uniform(0.5, 2.0, 60) if weighted else None
    ask = "predict_proba" if kind == "classes" else "predict"
    expected, found = (getattr(each.fit(X, y, sample_weight=weights), ask)(X) for each in (model, precise))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")
@pytest.mark.parametrize("y", [np.ones(6), np.ones((6, 2))])
def test_exact_ridge_knows_a_small_column_beside_a_large_one(y):
    x = np.arange(6.0)
    X = np.c_[1e9 * x**2, 1e-6 * (x - 2)]
    exact = PreciseRidge(1e-12, fit_intercept=False).fit(X, y)
    scaled = Ridge(1e-12, fit_intercept=False, solver="cholesky").fit(X, y)  # whose errors go by the columns
    np.testing.assert_allclose(exact.predict(X), scaled.predict(X), rtol=1e-9)
    assert not PreciseRidge(1.0).fit(np.zeros((6, 1)), 0 * y).predict(X[:, :1]).any()


@pytest.mark.parametrize(("rows", "is_free"), [(24, True), (48, False)])
def test_fits_without_a_penalty_behind_a_scaler_may_lack_rows(rows, is_free):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, 5)), rng.normal(size=rows)
    model = make_pipeline(StandardScaler(), TweedieRegressor(alpha=0.0))
    blocks = onefit.TimeBlocks(n_blocks=3, buffer=2)
    trial = replace(trials.draw_trial(0, "drops"), how="drops", asked=Asked(model, model, X, y), folds=blocks)
    assert lacks_rank(trial) == is_free


def test_tables_are_asked_for_one_column_as_y():
    outputs = {trials.draw_trial(seed, "tables").asked.y.ndim for seed in range(100)}
    assert outputs == {1}


@pytest.mark.parametrize("kind", ["selecting", "logistic", "metrics"])
@pytest.mark.filterwarnings("ignore")
def test_a_figure_of_a_family_that_is_off_by_one_millionth_is_called_wrong(kind):
    trial = trials.draw_trial(FINE_FAMILIES[kind][0], kind)
    answer = ask_trial(trial)
    assert judge_trial_answer(trial, answer).name == "agreed"
    answer.figures[0].tables["e_out"] *= 1 + 1e-5
    assert judge_trial_answer(trial, answer).name == "wrong"
    answer.figures[0], answer.refusals[0] = None, "no reason"
    assert judge_trial_answer(trial, answer).name == "refused wrongly"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_training_sets_left_to_scikit_learn_may_warn_as_their_refits_do_and_of_nothing_else():
    trial = trials.draw_trial(112002414, kind_of(112002414))
    answer = ask_trial(trial)
    assert any("least populated class" in leak for leak in answer.leaks)
    assert judge_trial_answer(trial, answer).name == "agreed"
    answer.leaks.append("RuntimeWarning: overflow")
    assert judge_trial_answer(trial, answer) == Verdict("leaked", "RuntimeWarning: overflow")


def test_a_lasso_that_its_reference_cannot_finish_is_not_known():
    """A column that the others span would have to take the place of one of them."""
    rng = np.random.default_rng(0)
    ended = []
    for _ in range(40):
        X, y = rng.normal(size=(6, 8)), rng.normal(size=6)
        try:
            model = PreciseElasticNet(1e-5, 1.0).fit(X, y)
        except FloatingPointError:
            continue
        slope = (X - X.mean(axis=0)).T @ (y - model.predict(X)) / 6
        ended.append(np.abs(slope[model.coef_ != 0] - 1e-5 * np.sign(model.coef_[model.coef_ != 0])).max())
        assert np.abs(slope).max() <= 1e-5 * (1 + 1e-6)
    assert 20 <= len(ended) < 40
    assert max(ended) < 1e-11


def test_classes_that_are_told_apart_have_no_unpenalized_fit():
    x, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    with pytest.raises(FloatingPointError, match="at infinity"):
        PreciseLogistic(C=np.inf).fit(x, y)
    with pytest.raises(FloatingPointError, match="at infinity"):  # but for one row of each class at the same place
        PreciseLogistic(C=np.inf).fit(np.minimum(x, 3.0), y)
    y[[2, 5]] = 1, 0
    assert PreciseLogistic(C=np.inf).fit(x, y).theta_[0] > 0


# ------------------------------------------------------------------------------------------------ the run


def die_at_three(seed):
    """A judge whose process dies at one case."""
    if seed == 3:
        os._exit(1)
    return Outcome(seed, "ridge", Verdict("agreed"))


@pytest.mark.slow
def test_a_process_that_dies_is_counted_and_the_run_goes_on():
    outcomes = []
    run(iter((3, 4)), 600, 1, outcomes.append, die_at_three)
    assert {outcome.seed: outcome.verdict.name for outcome in outcomes} == {3: "crashed", 4: "agreed"}


def test_an_error_of_the_fuzzer_itself_does_not_pass_for_a_fine_case(monkeypatch):
    def fail(problem):
        raise KeyError("e_out")

    monkeypatch.setattr("fuzz.run.judge", fail)
    outcome = judge_seed(0)
    assert outcome.verdict.is_bad
    assert "the fuzzer itself" in outcome.verdict.why


@pytest.mark.slow
def test_command_line_counts_cases_and_repeats_one():
    def fuzz(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "fuzz", *arguments], capture_output=True, text=True, cwd=ROOT, check=False
        )

    counted = fuzz("--seed", "1", "--cases", "3")
    assert counted.returncode == 0, counted.stdout + counted.stderr
    assert counted.stdout.splitlines()[-1].split()[:2] == ["all", "3"]
    one = fuzz("--case", str(FINE["ridge"][0]))
    assert one.returncode == 0, one.stdout + one.stderr
    assert '"kind": "ridge"' in one.stdout


@pytest.mark.parametrize(
    "model", [PoissonRegressor(alpha=0.0), LogisticRegression(C=np.inf)], ids=["counts", "classes"]
)
@pytest.mark.parametrize("is_told_apart", [True, False])
def test_a_likelihood_has_no_maximum_where_a_column_tells_rows_apart(model, is_told_apart):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2.0
    X[:, 1] = np.where(y == 0, 1.0, 0.0)
    if not is_told_apart:
        X[:12, 1] = 1.0  # half of either
        X[12:24, 1] = 0.0
    drawn = trials.draw_trial(FINE_FAMILIES["generalized"][0], "generalized")
    trial = replace(
        drawn, asked=Asked(model, model, X, y), folds=np.arange(30)[None] // 2 % 5, weights=None, how="rows"
    )
    assert has_no_maximum(trial) == is_told_apart
    assert not has_no_maximum(replace(trial, asked=Asked(Ridge(), Ridge(), X, y)))
