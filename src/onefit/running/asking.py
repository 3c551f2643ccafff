"""What is to be measured: a mean of row losses, which routes know themselves, or metrics of held-out scores."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import NamedTuple

from sklearn.pipeline import Pipeline

from ..errors import DataError, IntervalError
from ..inference.intervals import Rule
from ..metrics import Asked, KeptScores, Loss, LossLike, Metric, ScoringLike, asked_of_loss, asked_of_metrics, find_loss
from ..metrics.calibration import CALIBRATION
from ..metrics.predictive import BANDS
from ..metrics.scoring import find_metrics, loss_of_metric, names_metric
from ..typing import Estimator
from ..validation import Problem
from ..vocabulary import PREDICTIVE

__all__ = ["Question", "ask"]

METHODS: dict[str, tuple[str, ...]] = {
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
    "scores": ("decision_function", "predict_proba"),
}
"""By kind of response, the methods of a classifier any of which gives it."""


class Question(NamedTuple):
    """What routes compute, and the figures that are made of it."""

    loss: Loss
    metrics: tuple[Metric, ...]
    asked: tuple[Asked, ...]


def ask(
    scoring: ScoringLike, loss: LossLike, problem: Problem, estimators: Sequence[Estimator], rule: Rule, has_bias: bool
) -> Question:
    """Find the metrics, and check that the estimators and the rule of the interval can do with them."""
    if scoring is not None and loss is not None:
        raise DataError("Give scoring=, where greater is better, or loss=, where smaller is; not both.")
    if scoring is None and not names_metric(loss):
        row_loss = find_loss(loss, problem.classes)
        return Question(row_loss, (), (asked_of_loss(row_loss),))
    metrics = find_metrics(scoring, loss, problem.classes, problem.n_outputs)
    if len(metrics) == 1 and (only := loss_of_metric(metrics[0], problem.classes)) is not None:
        return Question(only, (), (asked_of_loss(only, metrics[0].name, metrics[0].shown),))
    for estimator in estimators:
        _check_responses(estimator, metrics)
    for metric in metrics:
        if problem.output_names is not None and metric.n_figures(problem.n_outputs) != problem.n_outputs:
            raise DataError(
                f"{metric.name} is one number for all {problem.n_outputs} columns of y, and results have one a column; "
                "use a metric of scikit-learn, or give the columns one by one."
            )
    if has_bias:
        raise DataError("bias_folds serve the rules of a single mean of row losses; leave them out with other metrics.")
    for metric in metrics[:1]:
        if rule.needs_v_out and metric.family != "mean":
            raise IntervalError(
                f'interval="{rule.name}" needs a loss of every row, and {metric.name} is no mean of such. Use '
                'interval="covariance".'
            )
    if _keeps_probabilities(metrics, problem, estimators):
        metrics += CALIBRATION
    if problem.output_names is None and any(m.response == PREDICTIVE for m in metrics):
        metrics += BANDS
    kept = KeptScores.of_classes(problem.classes)
    n_outputs = problem.n_outputs if problem.classes is None else 1
    return Question(kept, metrics, asked_of_metrics(metrics, n_outputs, kept.classes))


def _keeps_probabilities(metrics: Sequence[Metric], problem: Problem, estimators: Sequence[Estimator]) -> bool:
    """Whether there are probabilities of two classes: who asks for a metric of them, or of ranks, wants to see them."""
    if problem.classes is None or len(problem.classes) != 2:
        return False
    kinds = {metric.response for metric in metrics}
    return "predict_proba" in kinds or ("scores" in kinds and all(hasattr(e, "predict_proba") for e in estimators))


def _check_responses(estimator: Estimator, metrics: Sequence[Metric]) -> None:
    """Refuse a metric that needs what the estimator does not have."""
    for metric in metrics:
        if metric.response == PREDICTIVE and not _tells_std(estimator):
            raise DataError(
                f"{metric.name} needs standard deviations of predictions, and predict of {type(estimator).__name__} "
                "has no return_std. Choose a model that has it (GaussianProcessRegressor, BayesianRidge, "
                "ARDRegression), by itself or as the last step of a Pipeline."
            )
        methods = METHODS.get(metric.response, ())
        if methods and not any(hasattr(estimator, method) for method in methods):
            last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
            raise DataError(
                f"{metric.name} needs {' or '.join(methods)}, which {type(last).__name__} does not have. Choose a "
                "metric of predicted classes, such as accuracy, or a classifier that has it (LogisticRegression)."
            )


def _tells_std(estimator: Estimator) -> bool:
    """Whether predict can give standard deviations."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    try:
        return "return_std" in inspect.signature(last.predict).parameters
    except (AttributeError, TypeError, ValueError):
        return False
