"""Every name that scikit-learn's scorers have gives its value on every fold, or is refused with a reason."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from repeats import OLD, WORDS, asked, classes, numbers
from sklearn import metrics as sk
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from onefit.errors import DataError
from onefit.metrics.scoring import find_metrics

CLUSTERING = {
    "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
    "homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "rand_score", "v_measure_score",
}  # fmt: skip
SAMPLES = {"f1_samples", "jaccard_samples", "precision_samples", "recall_samples"}
QUANTILES = {"neg_max_error", "neg_median_absolute_error"}
NUMBERS = {
    "d2_absolute_error_score", "explained_variance", "neg_mean_absolute_error", "neg_mean_absolute_percentage_error",
    "neg_mean_gamma_deviance", "neg_mean_poisson_deviance", "neg_mean_squared_error", "neg_mean_squared_log_error",
    "neg_root_mean_squared_error", "neg_root_mean_squared_log_error", "r2",
}  # fmt: skip
OF_ONE_CLASS = {"f1", "jaccard", "precision", "recall", "average_precision"}
TWO_CLASSES = {*OF_ONE_CLASS, "roc_auc", "positive_likelihood_ratio", "neg_negative_likelihood_ratio"}
NAMES = set(get_scorer_names())
CLASSES = NAMES - CLUSTERING - SAMPLES - QUANTILES - NUMBERS

PROBLEMS = {
    "numbers": (lambda weighted: numbers(weighted=weighted), NUMBERS & NAMES),
    "two": (lambda weighted: classes(weighted=weighted), CLASSES - {"top_k_accuracy"}),
    "one and two": (lambda weighted: classes(labels=(1, 2), weighted=weighted), CLASSES - {"top_k_accuracy"}),
    "words": (
        lambda weighted: classes(labels=WORDS[:2], weighted=weighted),
        CLASSES - {"top_k_accuracy"} - OF_ONE_CLASS,
    ),
    "several": (
        lambda weighted: classes(n=83, labels=range(4), weighted=weighted),
        CLASSES - TWO_CLASSES | {"average_precision"},
    ),
    "several words": (
        lambda weighted: classes(n=83, labels=WORDS, weighted=weighted, seed=1),
        CLASSES - TWO_CLASSES | {"average_precision"},
    ),
}


def cases():
    for problem, (_, names) in PROBLEMS.items():
        for name in sorted(names):
            for weighted in (False, True):
                several = problem.startswith("several")
                if (
                    OLD
                    and several
                    and (name == "neg_brier_score" or (name, problem[8:]) == ("average_precision", "words"))
                ):
                    continue
                if not weighted or ("likelihood" not in name and not (several and "_ovo" in name)):
                    yield problem, name, weighted  # the others take no weights in scikit-learn


def scorer_of(name, problem):
    """scikit-learn's scorer; where it does not know which of two words is positive, we know that it does not matter."""
    if problem == "words" and name in ("neg_brier_score", "d2_brier_score"):
        function = get_scorer(name)._score_func
        greater = name == "d2_brier_score"
        return make_scorer(function, greater_is_better=greater, response_method="predict_proba", pos_label=WORDS[1])
    return get_scorer(name)


def assert_folds_are_scikit_learns(metric, scorer, repeat):
    """The metric's value on each fold against the scorer's."""
    reduced = metric.reduce(repeat)
    assert reduced.influence.shape == (repeat.n, repeat.n_values, 1)
    assert reduced.change.shape == (repeat.n_folds, repeat.n_folds, repeat.n_values, 1)
    assert (np.einsum("jjvr->jvr", reduced.change) == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fold, value in np.ndindex(repeat.n_folds, repeat.n_values):
            expected = asked(scorer, repeat, fold, value)
            found = metric.shown.of(reduced.fold_values[fold, value])
            if OLD and "likelihood" in metric.name and np.isnan(expected):
                continue  # which is one by now
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("problem", "name", "weighted"), list(cases()))
def test_every_name_has_scikit_learns_value_on_every_fold(problem, name, weighted):
    repeat = PROBLEMS[problem][0](weighted)
    (metric,) = find_metrics(name, None, repeat.labels)
    assert metric.name == name
    assert metric.shown.greater_is_better
    assert_folds_are_scikit_learns(metric, scorer_of(name, problem), repeat)


REASONS = "clustering|of classes|of numbers|has no interval|positive class|two classes|every row|several labels"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_other_name_is_refused_with_a_reason(problem):
    repeat = PROBLEMS[problem][0](False)
    for name in NAMES - PROBLEMS[problem][1]:
        with pytest.raises(DataError, match=REASONS) as error:
            find_metrics(name, None, repeat.labels)
        assert name in str(error.value)


OPTIONS = [
    (sk.fbeta_score, {"beta": 2.0, "average": "macro"}),
    (sk.f1_score, {"average": "macro", "zero_division": 1}),
    (sk.precision_score, {"average": "weighted", "zero_division": 0}),
    (sk.cohen_kappa_score, {}),
    (sk.hamming_loss, {}),
    (sk.zero_one_loss, {}),
    (sk.log_loss, {"labels": list(range(4))}),
    (sk.top_k_accuracy_score, {"k": 3, "labels": list(range(4))}),
    (sk.roc_auc_score, {"multi_class": "ovr", "average": "micro"}),
    (sk.balanced_accuracy_score, {"adjusted": True}),
    (sk.average_precision_score, {"average": "weighted"}),
]
RESPONSES = {
    "log_loss": "predict_proba",
    "roc_auc_score": "predict_proba",
    "average_precision_score": "predict_proba",
    "top_k_accuracy_score": "decision_function",
}


@pytest.mark.parametrize(("function", "options"), OPTIONS)
def test_scorers_with_options_have_scikit_learns_value_on_every_fold(function, options):
    repeat = classes(n=63, n_folds=3, n_values=1, labels=range(4))
    response = RESPONSES.get(function.__name__, "predict")
    greater = not function.__name__.endswith("_loss")
    scorer = make_scorer(function, greater_is_better=greater, response_method=response, **options)
    (metric,) = find_metrics(scorer, None, repeat.labels)
    assert_folds_are_scikit_learns(metric, scorer, repeat)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("response", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("function", [sk.average_precision_score, sk.roc_auc_score])
def test_scores_of_any_response_are_ranked(function, response, weighted):
    repeat = classes(weighted=weighted)
    scorer = make_scorer(function, response_method=response)
    (metric,) = find_metrics(scorer, None, repeat.labels)
    assert_folds_are_scikit_learns(metric, scorer, repeat)


@pytest.mark.parametrize(("function", "response"), [
    (sk.f1_score, "predict"), (sk.recall_score, "predict"), (sk.average_precision_score, "predict_proba"),
    (sk.average_precision_score, "decision_function"), (sk.brier_score_loss, "predict_proba"),
])  # fmt: skip
@pytest.mark.parametrize("positive", [0, 1])
def test_the_positive_class_may_be_named(function, response, positive):
    repeat = classes(labels=WORDS[:2])
    greater = function is not sk.brier_score_loss
    scorer = make_scorer(function, greater_is_better=greater, response_method=response, pos_label=WORDS[positive])
    (metric,) = find_metrics(scorer, None, repeat.labels)
    assert_folds_are_scikit_learns(metric, scorer, repeat)


@pytest.mark.parametrize(("function", "options"), [
    (sk.mean_pinball_loss, {"alpha": 0.8}), (sk.d2_pinball_score, {"alpha": 0.3}), (sk.d2_tweedie_score, {"power": 1}),
    (sk.mean_tweedie_deviance, {"power": 1.5}), (sk.mean_tweedie_deviance, {"power": 3}),
    (sk.mean_tweedie_deviance, {"power": -1}),
])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_scorers_of_numbers_with_options(function, options, weighted):
    if OLD and function is sk.d2_pinball_score:
        pytest.skip("quantiles were interpolated")
    repeat = numbers(weighted=weighted)
    scorer = make_scorer(function, greater_is_better=function.__name__.endswith("_score"), **options)
    (metric,) = find_metrics(scorer, None, None)
    assert metric.family != "pooled"
    assert_folds_are_scikit_learns(metric, scorer, repeat)


@pytest.mark.parametrize("name", sorted(NUMBERS & NAMES))
def test_each_output_has_a_figure_of_its_own(name):
    repeat = numbers(n_outputs=3)
    (metric,) = find_metrics(name, None, None, 3)
    assert metric.n_figures(3) == 3
    together = metric.reduce(repeat)
    for output in range(3):
        alone = numbers(n_outputs=3)
        residuals = [part[..., [output]] for part in alone.responses["residual"]]
        alone = replace(alone, observed=alone.observed[:, [output]], responses={"residual": residuals})
        for field in ("fold_values", "influence", "change"):
            found = getattr(together, field)[..., [output]]
            np.testing.assert_allclose(found, getattr(metric.reduce(alone), field), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "name",
    [
        "f1_macro",
        "f1_weighted",
        "precision_macro",
        "jaccard_macro",
        "balanced_accuracy",
        "recall_macro",
        "matthews_corrcoef",
        "accuracy",
        "f1_micro",
    ],
)
def test_folds_that_lack_a_class_have_scikit_learns_value(name):
    repeat = classes(n=26, n_folds=6, labels=WORDS, has_all=False, seed=4)
    assert min(len(np.unique(repeat.observed[rows])) for rows in repeat.rows) < 4
    (metric,) = find_metrics(name, None, repeat.labels)
    assert_folds_are_scikit_learns(metric, get_scorer(name), repeat)


@pytest.mark.parametrize("name", ["r2", "explained_variance", "d2_absolute_error_score"])
def test_a_fold_of_one_row_has_no_share_that_is_explained(name):
    repeat = numbers(n=14, n_folds=12)
    (metric,) = find_metrics(name, None, None)
    reduced = metric.reduce(repeat)
    assert np.isnan(reduced.fold_values).all()
    assert np.isfinite(reduced.influence[np.concatenate(repeat.rows)]).all()
    assert np.isfinite(reduced.change).all()


def test_a_fold_whose_target_is_constant_has_scikit_learns_r2():
    repeat = numbers()
    repeat.observed[repeat.rows[1]] = 1.5
    (metric,) = find_metrics("r2", None, None)
    assert metric.reduce(repeat).fold_values[1, :, 0].tolist() == [1.0, 1.0]
    repeat.responses["residual"][1][1] = 0.0
    assert metric.reduce(repeat).fold_values[1, :, 0].tolist() == [0.0, 0.0]


def test_r2_keeps_its_digits_when_the_target_is_far_from_zero():
    repeat = numbers()
    (metric,) = find_metrics("r2", None, None)
    near = metric.reduce(repeat)
    far = metric.reduce(replace(repeat, observed=repeat.observed + 2.0**30))
    for field in ("fold_values", "influence", "change"):
        rows = slice(None, repeat.n - 2) if field == "influence" else slice(None)
        np.testing.assert_allclose(getattr(far, field)[rows], getattr(near, field)[rows], rtol=1e-5, atol=1e-6)
