"""The names that people type, with what each means: the functions, the command line and the report read them here.

Plain words without any import, so that ``onefit --help`` need not load a library. What a name does stands where it is
done; a test holds the two together.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "CONVERGED",
    "CRITERIA",
    "EXACT",
    "FROZEN",
    "LOSS_WORDS",
    "MAX_FITS",
    "METRIC_HINTS",
    "METRIC_WORDS",
    "PREDICTIVE",
    "ROUTES",
    "RULE_WORDS",
    "SELECTION_WORDS",
    "SIMPLER",
    "TRANSFORMERS",
    "CriterionName",
    "Folds",
    "LossName",
    "Repeats",
    "RouteName",
    "RuleName",
    "SelectionName",
    "Simpler",
    "Transformers",
]

RouteName = Literal["auto", "gram", "onestep", "newton", "neighbours", "refit"]
RuleName = Literal["covariance", "bates", "paper", "mlr3", "naive", "corrected_t"]
LossName = Literal[
    "squared_error",
    "absolute_error",
    "huber",
    "pinball",
    "zero_one",
    "log_loss",
    "brier",
    "poisson_deviance",
    "gamma_deviance",
    "neg_log_predictive",
]
SelectionName = Literal["min", "one_se", "loo", "gcv", "reml", "kfold"]
CriterionName = Literal["gcv", "loo", "reml"]
Simpler = Literal["larger", "smaller"]
Transformers = Literal["refit", "freeze"]
Folds = int | Literal["n", "auto"]
Repeats = int | Literal["auto"]

ROUTES: tuple[RouteName, ...] = ("auto", "gram", "onestep", "newton", "neighbours", "refit")
"""Ways to compute; "auto" is the cheapest that can."""

RULE_WORDS: dict[str, str] = {
    "covariance": "this library's own; counts how the errors of folds move together",
    "bates": "Bates, Hastie and Tibshirani (2024), with their bounds",
    "paper": "Cao and Stringer (2026), as written",
    "mlr3": "as in the R package mlr3inferr",
    "naive": "usual cross-validation; takes the errors for independent, often too narrow",
    "corrected_t": "Nadeau and Bengio's corrected t",
}
"""Interval rules, in the order of tables."""

LOSS_WORDS: dict[str, str] = {
    "squared_error": "squared error",
    "absolute_error": "absolute error",
    "huber": "Huber loss",
    "pinball": "pinball loss",
    "zero_one": "error rate",
    "log_loss": "log loss",
    "brier": "Brier score",
    "poisson_deviance": "Poisson deviance",
    "gamma_deviance": "Gamma deviance",
    "neg_log_predictive": "negative log predictive density",
}
"""Losses by name, as people read them."""

METRIC_WORDS: dict[str, str] = {
    "r2": "R²",
    "roc_auc": "AUC",
    "roc_auc_ovr": "AUC, one class against the rest",
    "roc_auc_ovo": "AUC, class against class",
    "neg_log_loss": "log loss (negative)",
    "neg_brier_score": "Brier score (negative)",
    "neg_mean_squared_error": "squared error (negative)",
    "neg_mean_absolute_error": "absolute error (negative)",
    "neg_root_mean_squared_error": "root mean squared error (negative)",
    "f1": "F1",
    "matthews_corrcoef": "Matthews correlation",
    "log_predictive": "log predictive density",
    "band_50": "share inside the 50% band",
    "band_80": "share inside the 80% band",
    "band_95": "share inside the 95% band",
}
"""Scores that people call otherwise than their names read."""

METRIC_HINTS: dict[str, tuple[str, str]] = {
    "mse": ("neg_mean_squared_error", "squared_error"),
    "mean_squared_error": ("neg_mean_squared_error", "squared_error"),
    "l2": ("neg_mean_squared_error", "squared_error"),
    "mae": ("neg_mean_absolute_error", "absolute_error"),
    "mean_absolute_error": ("neg_mean_absolute_error", "absolute_error"),
    "l1": ("neg_mean_absolute_error", "absolute_error"),
    "rmse": ("neg_root_mean_squared_error", ""),
    "root_mean_squared_error": ("neg_root_mean_squared_error", ""),
    "rmsle": ("neg_root_mean_squared_log_error", ""),
    "msle": ("neg_mean_squared_log_error", ""),
    "mape": ("neg_mean_absolute_percentage_error", ""),
    "r_squared": ("r2", ""),
    "r2_score": ("r2", ""),
    "accuracy": ("accuracy", "zero_one"),
    "acc": ("accuracy", "zero_one"),
    "error_rate": ("accuracy", "zero_one"),
    "misclassification": ("accuracy", "zero_one"),
    "accuracy_score": ("accuracy", "zero_one"),
    "logloss": ("neg_log_loss", "log_loss"),
    "cross_entropy": ("neg_log_loss", "log_loss"),
    "log_loss": ("neg_log_loss", "log_loss"),
    "neg_logloss": ("neg_log_loss", "log_loss"),
    "brier": ("neg_brier_score", "brier"),
    "brier_score": ("neg_brier_score", "brier"),
    "brier_score_loss": ("neg_brier_score", "brier"),
    "poisson_deviance": ("neg_mean_poisson_deviance", "poisson_deviance"),
    "poisson": ("neg_mean_poisson_deviance", "poisson_deviance"),
    "gamma_deviance": ("neg_mean_gamma_deviance", "gamma_deviance"),
    "gamma": ("neg_mean_gamma_deviance", "gamma_deviance"),
    "auc": ("roc_auc", ""),
    "auroc": ("roc_auc", ""),
    "c_index": ("roc_auc", ""),
    "roc_auc_score": ("roc_auc", ""),
    "roc": ("roc_auc", ""),
    "auprc": ("average_precision", ""),
    "pr_auc": ("average_precision", ""),
    "ap": ("average_precision", ""),
    "f1_score": ("f1", ""),
    "mcc": ("matthews_corrcoef", ""),
    "bacc": ("balanced_accuracy", ""),
    "nlpd": ("log_predictive", "neg_log_predictive"),
    "neg_log_predictive": ("log_predictive", "neg_log_predictive"),
    "log_predictive": ("log_predictive", "neg_log_predictive"),
    "log_predictive_density": ("log_predictive", "neg_log_predictive"),
    "log_score": ("log_predictive", "neg_log_predictive"),
}
"""What people type for a metric that has another name: that of scoring, and that of a loss if there is one."""

SELECTION_WORDS: dict[SelectionName, str] = {
    "min": "smallest estimated error",
    "one_se": "simplest within one standard error of the best",
    "loo": "leave-one-out",
    "gcv": "generalized cross-validation",
    "reml": "restricted maximum likelihood",
    "kfold": "usual K-fold error",
}
"""How a value of an error curve is selected."""

CRITERIA: tuple[CriterionName, ...] = ("gcv", "loo", "reml")
"""Criteria that choose a penalty inside a training set."""

MAX_FITS = 150
"""Refits that ``n_repeats="auto"`` may take for each model and value, unless the user says otherwise."""

TRANSFORMERS: tuple[Transformers, ...] = ("refit", "freeze")
SIMPLER: tuple[Simpler, ...] = ("larger", "smaller")

PREDICTIVE = "predictive"
"""Kind of response: predictions with their standard deviations."""

EXACT = "exact"
FROZEN = "given the transformers"
CONVERGED = "converged"
"""Values of ``result.exactness``: as refits of the very object, with what precedes the fit taken from all rows, or as
refits of an iterative fit that are taken to convergence."""
