"""What may be given as scoring and as loss, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from repeats import WORDS, classes, numbers, scored_rows
from sklearn import metrics as sk
from sklearn.metrics import get_scorer, make_scorer

from onefit.errors import DataError
from onefit.losses import huber
from onefit.metrics.callables import EstimatorScorer
from onefit.metrics.means import MeanMetric
from onefit.metrics.pooled import PooledMetric
from onefit.metrics.ranks import RankMetric
from onefit.metrics.scoring import find_metrics, loss_of_metric, names_metric
from onefit.vocabulary import METRIC_HINTS

TWO = np.array([0, 1])


def gain(y, predicted):
    """A metric of one's own."""
    return float(np.mean(y == predicted))


def spread(y, predicted, power=2):
    return np.mean(np.abs(y - predicted) ** power)


def judge(estimator, X, y):
    return estimator.score(X, y)


# --------------------------------------------------------------------------------- forms


def test_lists_tuples_and_dicts_keep_their_order_and_names():
    for scoring in (["roc_auc", "accuracy"], ("roc_auc", "accuracy")):
        assert [metric.name for metric in find_metrics(scoring, None, TWO)] == ["roc_auc", "accuracy"]
    named = find_metrics({"second": "roc_auc", "first": make_scorer(sk.f1_score), "own": RankMetric("area")}, None, TWO)
    assert [metric.name for metric in named] == ["second", "first", "own"]


def test_a_scorer_object_goes_by_scikit_learns_name_if_it_has_one():
    one, other, own = (
        find_metrics(scorer, None, TWO)[0]
        for scorer in (get_scorer("roc_auc"), make_scorer(sk.fbeta_score, beta=2.0), make_scorer(gain))
    )
    assert (one.name, other.name, own.name) == ("roc_auc", "fbeta_score", "gain")
    (minus,) = find_metrics(make_scorer(spread, greater_is_better=False), None, None)
    assert minus.name == "neg_spread"


def test_a_bare_function_of_scikit_learn_is_answered_with_its_scorer():
    # make_scorer(roc_auc_score) would judge classes, not probabilities
    for function, name, labels in [
        (sk.roc_auc_score, "roc_auc", TWO),
        (sk.log_loss, "neg_log_loss", TWO),
        (sk.mean_squared_error, "neg_mean_squared_error", None),
    ]:
        with pytest.raises(DataError, match=f"{function.__name__} is a function of .*: use scoring='{name}'.$"):
            find_metrics(function, None, labels)
    with pytest.raises(DataError, match=r"make_scorer\(gain\), .* response_method=\"predict_proba\" if"):
        find_metrics(gain, None, TWO)


def test_known_functions_become_closed_forms_and_others_are_pooled():
    families = {
        make_scorer(sk.f1_score, average="macro"): "function",
        make_scorer(sk.f1_score, average="macro", labels=[0]): "pooled",
        make_scorer(sk.roc_auc_score, response_method="predict_proba"): "rank",
        make_scorer(sk.roc_auc_score, response_method="predict_proba", max_fpr=0.2): "pooled",
        make_scorer(gain): "pooled",
        make_scorer(lambda y, predicted: 0.0): "pooled",
    }
    for scorer, family in families.items():
        assert find_metrics(scorer, None, TWO)[0].family == family


def test_a_callable_of_the_estimator_is_left_to_refits():
    (metric,) = find_metrics(judge, None, TWO)
    assert isinstance(metric, EstimatorScorer)
    assert (metric.name, metric.shown.greater_is_better) == ("judge", True)


def test_losses_and_scores_of_rows_are_known_to_the_routes():
    for name in ("neg_mean_squared_error", "neg_mean_absolute_error", "neg_mean_poisson_deviance"):
        loss = loss_of_metric(find_metrics(name, None, None)[0])
        assert loss.scale == "log"
    assert loss_of_metric(find_metrics("neg_mean_squared_error", None, None)[0]).is_squared
    assert loss_of_metric(find_metrics("accuracy", None, TWO)[0]).classes.labels is TWO
    for name in ("neg_log_loss", "roc_auc", "f1"):
        assert loss_of_metric(find_metrics(name, None, TWO)[0]) is None


@pytest.mark.parametrize(
    ("loss", "labels", "scale"),
    [
        ("log_loss", TWO, "log"),
        ("brier", TWO, "logit"),
        ("brier", WORDS, "identity"),
        ("poisson_deviance", None, "log"),
        ("gamma_deviance", None, "log"),
        ("squared_error", None, "log"),
        (None, TWO, "logit"),
        (huber(2.0), None, "log"),
    ],
)
def test_losses_are_shown_as_they_are(loss, labels, scale):
    (metric,) = find_metrics(None, loss, labels)
    assert (metric.shown.sign, metric.shown.origin, metric.scale, metric.family) == (1, 0.0, scale, "mean")
    assert names_metric(loss) == (isinstance(loss, str) and loss != "squared_error")


def test_the_loss_and_the_score_of_a_name_are_one():
    repeat = numbers()
    loss, score = (
        find_metrics(None, "poisson_deviance", None)[0],
        find_metrics("neg_mean_poisson_deviance", None, None)[0],
    )
    assert (loss.reduce(repeat).fold_values == score.reduce(repeat).fold_values).all()


def test_accuracy_and_top_k_are_shares_of_rows():
    metrics = find_metrics(["accuracy", "top_k_accuracy", "neg_log_loss"], None, WORDS)
    assert [metric.is_share for metric in metrics] == [True, True, False]
    assert [metric.needs_every_class for metric in metrics] == [False, False, True]


# --------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("scoring", "labels", "message"),
    [
        ({"roc_auc", "accuracy"}, TWO, "a set, which has no order"),
        ([], TWO, "empty"),
        ({}, TWO, "empty"),
        (["f1", "f1"], TWO, "names f1 more than once"),
        ({1: "f1"}, TWO, "must be text"),
        (3, TWO, "neither the name of a scorer"),
        (["f1", None], TWO, "neither the name of a scorer"),
        (sk.hamming_loss, None, r"make_scorer\(hamming_loss\)"),
        (gain, TWO, r"make_scorer\(gain\).*loss="),
        (lambda y_true, y_pred, weights=None: 0.0, TWO, "make_scorer"),
        (make_scorer(sk.mean_squared_error), None, "greater_is_better=False"),
        (make_scorer(sk.f1_score, greater_is_better=False), TWO, "greater_is_better=True"),
        (make_scorer(sk.log_loss, greater_is_better=False), TWO, 'response_method="predict_proba"'),
        (make_scorer(sk.f1_score, response_method="predict_proba"), TWO, 'response_method="predict"'),
        (make_scorer(sk.roc_auc_score, multi_class="ovr"), WORDS, "needs probabilities"),
        (make_scorer(sk.f1_score, pos_label="fir"), WORDS[:2], "positive class"),
        ("f1", WORDS[:2], r"make_scorer\(f1_score, pos_label='elm'\)"),
        (
            "average_precision",
            WORDS[:2],
            r"pos_label='elm', response_method=\(\"decision_function\", \"predict_proba\"\)",
        ),
        ("f1", WORDS, "f1_macro"),
        ("roc_auc", WORDS, "roc_auc_ovr"),
        ("r2", TWO, "predicts classes"),
        ("roc_auc", None, "predicts numbers"),
        ("rand_score", TWO, "clustering"),
        ("neg_median_absolute_error", None, "no smooth function"),
        ("neg_max_error", None, "hangs on one row"),
        ("top_k_accuracy", TWO, "use accuracy"),
        ("f1_samples", TWO, "multilabel"),
        ("roc_auk", TWO, "'roc_auc'"),
        ("nonsense", TWO, "get_scorer_names"),
        ("squared_error", None, "loss='squared_error'"),
        ("brier", TWO, "neg_brier_score.*loss='brier'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(scoring, labels, message):
    with pytest.raises(DataError, match=message):
        find_metrics(scoring, None, labels)


@pytest.mark.parametrize("name", sorted(METRIC_HINTS))
def test_hints_name_what_scikit_learn_and_onefit_know(name):
    scoring, loss = METRIC_HINTS[name]
    labels = TWO if scoring in ("accuracy", "neg_log_loss", "neg_brier_score", "roc_auc", "average_precision", "f1",
                                "matthews_corrcoef", "balanced_accuracy") else None  # fmt: skip
    (metric,) = find_metrics(scoring, None, labels)
    assert not loss or find_metrics(None, loss, labels)[0].scale == metric.scale
    if name != scoring:
        with pytest.raises(DataError, match=f"scoring='{scoring}'"):
            find_metrics(name, None, labels)
    if name != loss:
        assert names_metric(name)
        with pytest.raises(DataError, match=f"scoring='{scoring}'"):
            find_metrics(None, name, labels)


@pytest.mark.parametrize("loss", ["r2", "neg_log_loss", get_scorer("r2")])
def test_a_score_given_as_loss_is_sent_to_scoring(loss):
    assert names_metric(loss)
    with pytest.raises(DataError, match="scoring="):
        find_metrics(None, loss, None)


@pytest.mark.parametrize(("loss", "labels"), [("log_loss", None), ("poisson_deviance", TWO)])
def test_a_loss_of_the_other_task_is_refused(loss, labels):
    with pytest.raises(DataError, match="the estimator predicts"):
        find_metrics(None, loss, labels)


def test_how_outputs_are_averaged_is_not_for_the_scorer_to_say():
    scorer = make_scorer(sk.r2_score, multioutput="variance_weighted")
    assert find_metrics(scorer, None, None, 1)[0].family == "function"
    with pytest.raises(DataError, match="a figure for each column"):
        find_metrics(scorer, None, None, 2)


def test_a_function_of_ones_own_is_of_one_output():
    (metric,) = find_metrics(make_scorer(spread), None, None, 2)
    with pytest.raises(DataError, match="would mix the 2 columns"):
        metric.n_figures(2)
    with pytest.raises(DataError, match="would mix the 2 columns"):
        metric.reduce(numbers(n_outputs=2))


# --------------------------------------------------------------------------------- held-out responses


def test_several_classes_of_which_a_fold_lacks_one_have_no_average_precision():
    repeat = classes(n=71, labels=WORDS)
    repeat.observed[repeat.rows[2]] = 0
    with pytest.raises(
        DataError, match=r"average_precision is undefined in fold 2 of repeat 3: there is no row of class elm"
    ):
        find_metrics("average_precision", None, repeat.labels)[0].reduce(repeat)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "roc_auc_ovr", "roc_auc_ovo"])
def test_a_fold_without_a_class_is_named(name):
    several = name.startswith("roc_auc_")
    repeat = classes(n=71, labels=WORDS if several else TWO)
    repeat.observed[repeat.rows[2]] = 0
    (metric,) = find_metrics(name, None, repeat.labels)
    with pytest.raises(
        DataError, match=rf"fold 2 of repeat 3.*class {'elm' if several else 1}.*fewer folds.*Stratified"
    ):
        metric.reduce(repeat)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_a_block_without_a_class_asks_for_fewer_blocks(name):
    repeat = replace(classes(n=71, labels=TWO), has_blocks=True)
    repeat.observed[repeat.rows[2]] = 0
    (metric,) = find_metrics(name, None, repeat.labels)
    with pytest.raises(DataError, match=r"fold 2 of repeat 3.*class 1.*fewer blocks") as error:
        metric.reduce(repeat)
    assert "Stratified" not in str(error.value)


@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
@pytest.mark.parametrize(("wrong", "message"), [(-0.1, r"\[0, 1\]"), (np.nan, r"\[0, 1\]"), (0.9, "sum to")])
def test_what_are_no_probabilities_is_refused(name, wrong, message):
    repeat = classes(n=71, labels=WORDS)
    repeat.responses["predict_proba"][1][0, 2, 0, 0] = wrong
    (metric,) = find_metrics(name, None, repeat.labels)
    with pytest.raises(DataError, match=rf"{message}.*fold 1 of repeat 3"):
        metric.reduce(repeat)


@pytest.mark.parametrize("name", ["accuracy", "f1", "roc_auc", "average_precision"])
def test_a_fold_without_weight_is_named(name):
    repeat = classes(weighted=True)
    repeat.weights[repeat.rows[1]] = 0.0
    with pytest.raises(DataError, match="All rows of fold 1 of repeat 3 have weight zero"):
        find_metrics(name, None, repeat.labels)[0].reduce(repeat)


def test_rows_without_weight_do_not_count():
    repeat = classes(n=61, weighted=True)
    repeat.weights[::7] = 0.0
    kept = [rows[repeat.weights[rows] > 0] for rows in repeat.rows]
    fewer = {
        kind: [part[:, repeat.weights[rows] > 0] for part, rows in zip(parts, repeat.rows, strict=True)]
        for kind, parts in repeat.responses.items()
    }
    for name in ("neg_log_loss", "f1_macro", "roc_auc", "average_precision"):
        (metric,) = find_metrics(name, None, repeat.labels)
        found, expected = metric.reduce(repeat), metric.reduce(replace(repeat, rows=kept, responses=fewer))
        np.testing.assert_allclose(found.fold_values, expected.fold_values, rtol=1e-12)
        rows = np.concatenate(kept)
        np.testing.assert_allclose(found.influence[rows], expected.influence[rows], rtol=1e-10)


def test_scores_that_are_no_numbers_are_refused():
    repeat = classes()
    repeat.responses["decision_function"][1][0, 2, 0, 0] = np.inf
    with pytest.raises(DataError, match=r"finite scores.*fold 1 of repeat 3"):
        find_metrics("roc_auc", None, repeat.labels)[0].reduce(repeat)


def test_constant_scores_are_no_better_than_chance():
    repeat = classes()
    constant = {"decision_function": [np.zeros_like(part) for part in repeat.responses["decision_function"]]}
    reduced = find_metrics("roc_auc", None, repeat.labels)[0].reduce(replace(repeat, responses=constant))
    assert (reduced.fold_values == 0.5).all()
    assert (reduced.noise == 0).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("neg_mean_poisson_deviance", "predictions that are positive.*PoissonRegressor"),
        ("neg_mean_gamma_deviance", "predictions that are positive"),
        ("neg_mean_squared_log_error", "predictions that are greater than -1"),
    ],
)
def test_predictions_that_a_deviance_does_not_know_are_refused(name, message):
    repeat = numbers()
    repeat.responses["residual"][1][0, 2, 0, 0] = 100.0
    with pytest.raises(DataError, match=message):
        find_metrics(name, None, None)[0].reduce(repeat)
    repeat.observed[:] = -2.0
    with pytest.raises(DataError, match="and y has others"):
        find_metrics(name, None, None)[0].reduce(repeat)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, p: y == p, "returned an array of shape"),
        (lambda y, p: np.nan, "is nan on the held-out predictions of"),
        (lambda y, p: 1 / 0, "failed on the held-out predictions of repeat 3: ZeroDivisionError"),
        (lambda y, p: "much", "failed on the held-out predictions"),
        (lambda y, p: {"a": 1}, "failed on the held-out predictions"),
    ],
)
def test_a_function_that_does_not_return_a_number_is_named(function, message):
    repeat = classes()
    (metric,) = find_metrics({"mine": make_scorer(function)}, None, repeat.labels)
    with pytest.raises(DataError, match=f"The metric mine {message}"):
        metric.reduce(repeat)


def test_a_function_that_takes_no_weights_is_not_given_any():
    repeat = classes(weighted=True)
    with pytest.raises(DataError, match="takes no sample_weight"):
        find_metrics(make_scorer(gain), None, repeat.labels)[0].reduce(repeat)
    several = classes(n=71, labels=WORDS, weighted=True)
    with pytest.raises(DataError, match="takes no sample weights"):
        find_metrics("roc_auc_ovo", None, several.labels)[0].reduce(several)


def test_a_figure_that_divides_by_nothing_is_refused():
    repeat = classes()
    for part in repeat.responses["predict"]:
        part[:] = 0
    with pytest.raises(
        DataError, match="positive_likelihood_ratio is undefined on the held-out predictions of repeat 3"
    ):
        find_metrics("positive_likelihood_ratio", None, repeat.labels)[0].reduce(repeat)
    for name in ("f1", "precision", "matthews_corrcoef"):  # zero, as scikit-learn says
        (metric,) = find_metrics(name, None, repeat.labels)
        reduced = metric.reduce(repeat)
        assert (metric.shown.of(reduced.fold_values) == 0).all()
        assert np.isfinite(reduced.influence[scored_rows(repeat)]).all()


# --------------------------------------------------------------------------------- callables of the estimator


class Fitted:
    def score(self, X, y):
        return 0.25 * len(y)


def test_the_score_of_a_callable_is_that_of_its_fold():
    metric = EstimatorScorer("judge", judge)
    assert metric.score_rows(Fitted(), np.zeros((3, 1)), np.zeros(3)).tolist() == [0.75] * 3
    rng = np.random.default_rng(0)
    scores = rng.random((4, 4, 2))  # fold, second fold, value
    base = numbers(n=42)
    responses = {
        metric.response: [np.repeat(scores[j][:, None], len(rows), axis=1) for j, rows in enumerate(base.rows)]
    }
    repeat = replace(base, responses=responses)
    reduced = metric.reduce(repeat)
    own = np.stack([scores[j, j] for j in range(4)])
    np.testing.assert_allclose(metric.shown.of(reduced.fold_values[..., 0]), own)
    np.testing.assert_allclose(reduced.change[1, 2, :, 0], scores[1, 2] - scores[1, 1])
    influence = reduced.influence[scored_rows(repeat), :, 0]
    np.testing.assert_allclose(influence.mean(axis=0), -own.mean(axis=0))
    np.testing.assert_allclose(influence.var(axis=0) / 40, own.var(axis=0) / 4)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda estimator, X, y: np.zeros(2), "returned an array of shape"),
        (lambda estimator, X, y: np.nan, "returned nan"),
        (lambda estimator, X, y: estimator.nothing, "failed: AttributeError"),
    ],
)
def test_a_callable_that_does_not_return_a_number_is_named(function, message):
    with pytest.raises(DataError, match=f"The scorer mine {message}"):
        EstimatorScorer("mine", function).score_rows(Fitted(), np.zeros((3, 1)), np.zeros(3))


def test_a_metric_of_ones_own_is_taken_as_it_is():
    metric = MeanMetric("share", lambda scored: (scored.response != scored.observed)[..., None] * 1.0, is_share=True)
    assert find_metrics(metric, None, TWO) == (metric,)
    assert isinstance(find_metrics({"p": PooledMetric("q", gain)}, None, TWO)[0], PooledMetric)
