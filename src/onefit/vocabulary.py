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

RouteName = Literal["auto", "gram", "onestep", "refit"]
RuleName = Literal["covariance", "bates", "paper", "mlr3", "naive", "corrected_t"]
LossName = Literal["squared_error", "absolute_error", "huber", "pinball", "zero_one"]
SelectionName = Literal["min", "one_se", "loo", "gcv", "reml", "kfold"]
CriterionName = Literal["gcv", "loo", "reml"]
Simpler = Literal["larger", "smaller"]
Transformers = Literal["refit", "freeze"]
Folds = int | Literal["n", "auto"]
Repeats = int | Literal["auto"]

ROUTES: tuple[RouteName, ...] = ("auto", "gram", "onestep", "refit")
"""Ways to compute; "auto" is the cheapest that can."""

RULE_WORDS: dict[str, str] = {
    "covariance": "this library's own; counts how the errors of folds move together",
    "bates": "Bates, Hastie and Tibshirani (2024), with their bounds",
    "paper": "Cao and Stringer (2026), as written",
    "mlr3": "as in the R package mlr3inferr",
    "naive": "usual cross-validation; takes the errors for independent, too narrow",
    "corrected_t": "Nadeau and Bengio's corrected t",
}
"""Interval rules, in the order of tables."""

LOSS_WORDS: dict[str, str] = {
    "squared_error": "squared error",
    "absolute_error": "absolute error",
    "huber": "Huber loss",
    "pinball": "pinball loss",
    "zero_one": "zero-one loss",
}
"""Losses by name, as people read them."""

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

EXACT = "exact"
FROZEN = "given the transformers"
CONVERGED = "converged"
"""Values of ``result.exactness``: as refits of the very object; with what precedes the fit taken from all rows; or what
an iterative fit of the object converges to, where its conditions hold to the last digits."""
