"""Influence values are derivatives in the weights of rows, and changes are derivatives in the predictions of a fold."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from repeats import WORDS, classes, numbers, scored_rows, theta, with_weights
from scipy import stats
from sklearn import metrics as sk
from sklearn.metrics import get_scorer_names

from onefit.metrics import ranks, scored
from onefit.metrics.contract import Repeat
from onefit.metrics.scoring import find_metrics

STEP = 1e-5
OF_NUMBERS = ["neg_mean_squared_error", "neg_root_mean_squared_error", "neg_root_mean_squared_log_error", "r2",
              "explained_variance", "d2_absolute_error_score", "neg_mean_poisson_deviance"]  # fmt: skip
OF_TWO = ["accuracy", "neg_log_loss", "neg_brier_score", "f1", "precision", "recall", "jaccard", "f1_macro",
          "f1_weighted", "f1_micro", "balanced_accuracy", "matthews_corrcoef", "positive_likelihood_ratio",
          "neg_negative_likelihood_ratio", "d2_log_loss_score"]  # fmt: skip
OF_SEVERAL = ["f1_macro", "f1_weighted", "jaccard_macro", "balanced_accuracy", "matthews_corrcoef", "neg_brier_score",
              "top_k_accuracy", "neg_log_loss"]  # fmt: skip
NAMES = set(get_scorer_names())
CASES = [
    *product(OF_NUMBERS, ["numbers"], [False, True]),
    *product(OF_TWO, ["two"], [False, True]),
    *product(OF_SEVERAL, ["several"], [False, True]),
]
CASES = [case for case in CASES if case[0] in NAMES]  # scikit-learn's grow in number


def problem(kind, weighted, **options):
    if kind == "numbers":
        return numbers(weighted=weighted, **options)
    return classes(n=71, labels=(0, 1) if kind == "two" else WORDS, weighted=weighted, **options)


def moved(repeat, row, step):
    """The repeat with the weight of a row changed by a step."""
    weights = np.ones(repeat.n) if repeat.weights is None else repeat.weights.copy()
    weights[row] += step
    return with_weights(repeat, weights)


def jackknifed(metric, repeat, row):
    """Total weight times the derivative of the metric with respect to the weight of a row."""
    weights = np.ones(repeat.n) if repeat.weights is None else repeat.weights
    up, down = (theta(metric, moved(repeat, row, step)) for step in (STEP, -STEP))
    return weights[scored_rows(repeat)].sum() * (up - down) / (2 * STEP)


@pytest.mark.parametrize(("name", "kind", "weighted"), CASES)
def test_influence_is_the_infinitesimal_jackknife(name, kind, weighted):
    repeat = problem(kind, weighted)
    (metric,) = find_metrics(name, None, repeat.labels)
    reduced = metric.reduce(repeat)
    centre = theta(metric, repeat, reduced)
    for row in scored_rows(repeat)[::7]:
        expected = jackknifed(metric, repeat, row)
        np.testing.assert_allclose(reduced.influence[row] - centre, expected, rtol=2e-6, atol=2e-7)


def replaced(repeat, fold, second, share):
    """The repeat whose fold has its own predictions with weight 1 - share, and those without a second fold beside."""
    weights = np.ones(repeat.n) if repeat.weights is None else repeat.weights
    rows = repeat.rows[fold]
    n, m = repeat.n, len(rows)
    both = np.concatenate([rows, np.arange(n, n + m)])
    responses = {
        kind: [
            np.concatenate([part, part[[second] * repeat.n_folds]], axis=1) if at == fold else part
            for at, part in enumerate(parts)
        ]
        for kind, parts in repeat.responses.items()
    }
    new = np.concatenate([weights, share * weights[rows]])
    new[rows] *= 1 - share
    observed = np.concatenate([repeat.observed, repeat.observed[rows]])
    held_out = [both if at == fold else own for at, own in enumerate(repeat.rows)]
    return replace(repeat, observed=observed, weights=new, rows=held_out, responses=responses)


@pytest.mark.parametrize(("name", "kind", "weighted"), CASES)
def test_change_is_the_linear_part_of_replacing_predictions(name, kind, weighted):
    repeat = problem(kind, weighted, n_folds=3, unscored=0)
    (metric,) = find_metrics(name, None, repeat.labels)
    reduced = metric.reduce(repeat)
    for fold, second in [(0, 1), (2, 0)]:
        up, down = (theta(metric, replaced(repeat, fold, second, share)) for share in (STEP, -STEP))
        expected = -(repeat.n / len(repeat.rows[fold])) * (up - down) / (2 * STEP)
        np.testing.assert_allclose(reduced.change[fold, second], expected, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted"])
def test_influence_of_ranks_in_one_fold_is_the_infinitesimal_jackknife(name, weighted, monkeypatch):
    monkeypatch.setattr(ranks, "_freedom", lambda side, weights: 1.0)
    repeat = classes(n=53, n_folds=1, labels=(0, 1) if name == "roc_auc" else WORDS, weighted=weighted)
    (metric,) = find_metrics(name, None, repeat.labels)
    reduced = metric.reduce(repeat)
    centre = theta(metric, repeat, reduced)
    for row in scored_rows(repeat)[::5]:
        expected = jackknifed(metric, repeat, row)
        np.testing.assert_allclose(reduced.influence[row] - centre, expected, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", ["roc_auc_ovo", "roc_auc_ovo_weighted"])
def test_influence_of_pairs_of_classes_is_what_one_row_more_adds(name, monkeypatch):
    """They take no weights: all rows a hundred times, and one of them once more."""
    monkeypatch.setattr(ranks, "_freedom", lambda side, weights: 1.0)
    repeat = classes(n=53, n_folds=1, labels=WORDS)
    (metric,) = find_metrics(name, None, repeat.labels)
    reduced, rows = metric.reduce(repeat), repeat.rows[0]
    for one in range(0, len(rows), 13):
        at = np.append(np.tile(np.arange(len(rows)), 100), one)
        many = replace(
            repeat,
            observed=repeat.observed[rows][at],
            rows=[np.arange(len(at))],
            responses={"predict_proba": [repeat.responses["predict_proba"][0][:, at]]},
        )
        added = (metric.reduce(many).fold_values[0] - reduced.fold_values[0]) * len(at)
        expected = reduced.influence[rows[one]] - reduced.fold_values[0]
        np.testing.assert_allclose(added, expected, atol=2e-2, rtol=2e-2)


# --------------------------------------------------------------------------------- ranks


def wrong(one, other):
    """Whether a positive row is ordered wrongly with a negative one."""
    return 1.0 * (one < other) + 0.5 * (one == other)


@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_rows_are_shares_of_wrong_pairs_in_their_own_fold(weighted):
    repeat = classes(n=47, weighted=weighted)
    (metric,) = find_metrics("roc_auc", None, repeat.labels)
    reduced = metric.reduce(repeat)
    w = np.ones(repeat.n) if repeat.weights is None else repeat.weights
    value, V = 1, np.full(repeat.n, np.nan)
    for fold, rows in enumerate(repeat.rows):
        scores = dict(zip(rows, repeat.responses["decision_function"][fold][fold, :, value, 0], strict=True))
        for i in rows:
            others = [k for k in rows if repeat.observed[k] != repeat.observed[i]]
            pairs = [wrong(scores[i], scores[k]) if repeat.observed[i] else wrong(scores[k], scores[i]) for k in others]
            V[i] = np.average(pairs, weights=w[others])
    rows = scored_rows(repeat)
    centre = np.average(reduced.fold_values[:, value, 0], weights=[w[held_out].sum() for held_out in repeat.rows])
    for i in rows:
        same = rows[repeat.observed[rows] == repeat.observed[i]]
        m, n = (w[some].sum() ** 2 / (w[some] ** 2).sum() for some in (same, rows))
        unbiased = np.sqrt(m / (m - 1) * (n - 1) / n)
        expected = centre + unbiased * w[rows].sum() / w[same].sum() * (V[i] - np.average(V[same], weights=w[same]))
        assert reduced.influence[i, value, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["roc_auc", "roc_auc_ovr", "roc_auc_ovo_weighted"])
def test_the_change_of_ranks_is_that_of_the_folds_value(name):
    repeat = classes(n=71, labels=(0, 1) if name == "roc_auc" else WORDS)
    (metric,) = find_metrics(name, None, repeat.labels)
    reduced = metric.reduce(repeat)
    for fold, second in [(0, 1), (3, 2)]:
        responses = {
            kind: [np.stack([part[second]] * repeat.n_folds) if at == fold else part for at, part in enumerate(parts)]
            for kind, parts in repeat.responses.items()
        }
        other = metric.reduce(replace(repeat, responses=responses)).fold_values[fold]
        np.testing.assert_allclose(reduced.change[fold, second], reduced.fold_values[fold] - other, atol=1e-14)


def test_the_noise_of_two_classes_is_the_covariance_of_single_comparisons():
    repeat = classes(n=42, n_folds=3, n_values=3, unscored=0)
    (metric,) = find_metrics("roc_auc", None, repeat.labels)
    noise = metric.reduce(repeat).noise
    pairs = []
    for fold, rows in enumerate(repeat.rows):
        scores, positive = repeat.responses["decision_function"][fold][fold, :, :, 0], repeat.observed[rows] == 1
        pairs += [wrong(one, other) for one in scores[positive] for other in scores[~positive]]
    n_positive = repeat.observed.sum()
    expected = np.cov(np.array(pairs).T, ddof=0) * repeat.n_folds / (n_positive * (repeat.n - n_positive))
    np.testing.assert_allclose(noise[..., 0], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted"])
def test_of_two_classes_in_the_data_the_noise_of_several_is_the_same(name):
    repeat = classes(n=42, n_folds=3, unscored=0)
    noise = [find_metrics(one, None, repeat.labels)[0].reduce(repeat).noise for one in ("roc_auc", name)]
    np.testing.assert_allclose(noise[1], noise[0], rtol=1e-12)


def drawn(n, n_classes, n_folds, rng):
    """Scores that nobody learned, of 250 data sets side by side in the place of values."""
    observed = np.tile(np.arange(n_classes), n // n_classes)
    rows = [np.flatnonzero(np.arange(n) // n_classes % n_folds == fold) for fold in range(n_folds)]
    scores = 0.8 * (observed[:, None, None] == np.arange(n_classes)) + rng.standard_normal((n, 250, n_classes))
    chances = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    parts = [np.stack([chances[held_out]] * n_folds) for held_out in rows]
    responses = {"predict_proba": parts, "scores": [part[..., 1:] for part in parts]}
    return Repeat(observed, np.arange(n_classes), None, rows, responses)


@pytest.mark.parametrize(
    ("name", "n_classes", "n_folds"),
    [
        ("roc_auc", 2, 6),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [("roc_auc", 2, 3), ("roc_auc", 2, 10)]),
        *(pytest.param(name, 3, 6, marks=pytest.mark.slow) for name in ("roc_auc_ovr", "roc_auc_ovo")),
    ],
)
def test_without_the_noise_the_variance_of_ranks_is_the_true_one(name, n_classes, n_folds):
    rng = np.random.default_rng(n_folds)
    values, naive, estimated = [], [], []
    for _ in range(10):
        repeat = drawn(60, n_classes, n_folds, rng)
        reduced = find_metrics(name, None, repeat.labels)[0].reduce(repeat)
        values.append(reduced.fold_values[..., 0].mean(axis=0))
        naive.append(reduced.influence[..., 0].var(axis=0, ddof=1) / repeat.n)
        estimated.append(naive[-1] - np.einsum("vvr->v", reduced.noise))
    true = np.concatenate(values).var(ddof=1)  # to three percent
    assert np.mean(estimated) / true == pytest.approx(1, abs=0.1)
    assert np.mean(naive) / true > 1.04


# --------------------------------------------------------------------------------- pooled


def test_the_jackknife_of_a_mean_is_the_loss_of_each_row():
    repeat = numbers(n=61)
    mean, pooled = (
        find_metrics(scoring, None, None)[0]
        for scoring in (
            "neg_mean_squared_error",
            sk.make_scorer(lambda y, p: np.mean((y - p) ** 2), greater_is_better=False),
        )
    )
    assert (mean.family, pooled.family) == ("mean", "pooled")
    for field in ("fold_values", "influence", "change"):
        expected, found = (getattr(metric.reduce(repeat), field) for metric in (mean, pooled))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_average_precision_is_that_of_pooled_predictions_and_its_influence_their_jackknife(weighted):
    repeat = classes(n=61, weighted=weighted)
    (metric,) = find_metrics("average_precision", None, repeat.labels)
    reduced = metric.reduce(repeat)
    rows, value = np.concatenate(repeat.rows), 1
    scores = np.concatenate([part[j, :, value, 0] for j, part in enumerate(repeat.responses["decision_function"])])
    w = np.ones(repeat.n) if repeat.weights is None else repeat.weights
    kept = np.ones(len(rows), dtype=bool)

    def loss(scores=scores):
        used = rows[kept]
        return 1 - sk.average_precision_score(repeat.observed[used], scores[kept], sample_weight=w[used])

    centre = loss()
    assert theta(metric, repeat, reduced)[value, 0] == pytest.approx(centre, rel=1e-12)
    jackknife = np.empty(len(rows))
    for at, row in enumerate(rows):
        kept[at] = False
        jackknife[at] = (w[rows].sum() / w[row] - 1) * (centre - loss())
        kept[at] = True
    jackknife -= np.average(jackknife, weights=w[rows])
    np.testing.assert_allclose(reduced.influence[rows, value, 0], centre + jackknife, rtol=1e-9, atol=1e-11)
    fold, second = 2, 1
    swapped = scores.copy()
    at = np.isin(rows, repeat.rows[fold])
    swapped[at] = repeat.responses["decision_function"][fold][second, :, value, 0]
    expected = w[rows].sum() / len(repeat.rows[fold]) * (centre - loss(swapped))
    assert reduced.change[fold, second, value, 0] == pytest.approx(expected, rel=1e-9)


def test_blocks_of_rows_have_the_variance_of_single_rows():
    repeat = numbers(n=1502, n_values=1)
    (metric,) = find_metrics(sk.make_scorer(lambda y, p: np.mean((y - p) ** 2), greater_is_better=False), None, None)
    influence = metric.reduce(repeat).influence[scored_rows(repeat), 0, 0]
    assert len(np.unique(influence)) == 200
    (mean,) = find_metrics("neg_mean_squared_error", None, None)
    exact = mean.reduce(repeat).influence[scored_rows(repeat), 0, 0]
    assert influence.mean() == pytest.approx(exact.mean(), rel=1e-9)
    assert influence.var() / exact.var() == pytest.approx(1, abs=0.35)  # 200 blocks of a skewed loss


@pytest.mark.parametrize("n_groups", [30, 300])
def test_rows_of_a_group_are_left_out_together(n_groups):
    groups = np.repeat(np.arange(n_groups), 4)
    repeat = numbers(n=len(groups), n_values=1, unscored=0)
    residuals = [np.tile(repeat.observed[rows][None, :, None] * 0 + 1.0, (4, 1, 1, 1)) for rows in repeat.rows]
    effects = np.random.default_rng(0).exponential(size=n_groups)[groups]
    for part, rows in zip(residuals, repeat.rows, strict=True):
        part *= effects[rows][None, :, None, None]
    repeat = replace(repeat, responses={"residual": residuals}, groups=groups)
    (metric,) = find_metrics(sk.make_scorer(lambda y, p: np.mean(np.abs(y - p)), greater_is_better=False), None, None)
    influence = metric.reduce(repeat).influence[:, 0, 0]
    sums, exact = (np.bincount(groups, weights=values - values.mean()) for values in (influence, effects))
    if n_groups == 30:
        np.testing.assert_allclose(sums, exact, rtol=1e-9, atol=1e-10)
    assert sums.var() / exact.var() == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize(("name", "kind"), [("f1_macro", "several"), ("r2", "numbers"), ("roc_auc_ovr", "several")])
def test_second_folds_a_few_at_a_time_give_the_same(name, kind, monkeypatch):
    repeat = problem(kind, weighted=True)
    (metric,) = find_metrics(name, None, repeat.labels)
    at_once = metric.reduce(repeat)
    monkeypatch.setattr(scored, "MOST_NUMBERS", 1)
    one_by_one = metric.reduce(repeat)
    for field in ("fold_values", "influence", "change"):
        np.testing.assert_allclose(getattr(one_by_one, field), getattr(at_once, field), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "labels"),
    [("balanced_accuracy", (0, 1)), ("balanced_accuracy", WORDS), ("recall", (0, 1)), ("recall_macro", WORDS)],
)
def test_recalls_have_the_moments_of_counts_with_half_a_row_more(name, labels):
    repeat = classes(n=71, labels=labels)
    (metric,) = find_metrics(name, None, repeat.labels)
    variance, skewness = metric.reduce(repeat).moments[..., 0]
    value, own = 1, range(1, 2) if name == "recall" else range(len(labels))
    outcomes = {c: [] for c in own}
    for fold, rows in enumerate(repeat.rows):
        predicted = repeat.responses["predict"][fold][fold, :, value]
        for row, said in zip(rows, predicted, strict=True):
            if repeat.observed[row] in outcomes:
                outcomes[repeat.observed[row]].append(float(said != repeat.observed[row]))
    second = third = 0.0
    for losses in outcomes.values():
        n = len(losses)
        share = (sum(losses) + 0.5) / (n + 1)
        law = stats.bernoulli(share)
        second += law.var() / n / len(own) ** 2
        third += law.stats("s") * law.std() ** 3 / n**2 / len(own) ** 3
    np.testing.assert_allclose([variance[value], skewness[value]], [second, third / second**1.5], rtol=1e-12)


@pytest.mark.parametrize("name", ["precision", "f1", "accuracy", "recall_weighted", "roc_auc"])
def test_other_figures_have_no_moments_of_their_own(name):
    repeat = classes(n=71)
    assert find_metrics(name, None, repeat.labels)[0].reduce(repeat).moments is None
