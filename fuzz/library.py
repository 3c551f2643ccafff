"""What onefit says to a problem: figures, refusals, warnings."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from onefit.errors import OneFitError, OneFitWarning, RefitError
from onefit.linalg import compiled

from .arrays import Arrays
from .figures import Figures
from .intervals import ENDS, Differences
from .problems import Problem
from .streaming import small_blocks

__all__ = ["NOT_FINITE", "Answer", "ask", "estimators_of", "is_ours", "tables_of", "warned", "where"]

EVERY_DIRECTION = {"tol": 0.0} if "tol" in LinearRegression().get_params() else {}
"""Else scikit-learn leaves directions out whose singular values are small, which is not the mathematics of `exact`."""


NOT_FINITE = "predicts NaN or infinite values"
"""What onefit says where a refitted solver broke down."""


@dataclass
class Answer:
    """By candidate, figures or None with the reason of the refusal; and all that should not have come out.

    ``routes`` are those taken; ``leaks`` are warnings and exceptions that are not onefit's own. Curves and comparisons
    have paired differences.
    """

    figures: list[Figures | None]
    refusals: list[str]
    routes: list[str]
    leaks: list[str] = field(default_factory=list)
    differences: Differences | None = None

    def by_refits(self, at: int, problem: Problem) -> bool:
        """Whether a candidate was refitted by scikit-learn, or would have been if that had not failed."""
        refusal = self.refusals[at]  # a reason of a comparison has no class
        is_asked = problem.route == "refit" or refusal.startswith(RefitError.__name__) or NOT_FINITE in refusal
        return self.routes[at] == "refit" or (self.figures[at] is None and is_asked)


def estimators_of(problem: Problem, arrays: Arrays) -> list[Any]:
    """The estimator of each candidate."""
    alphas, free = problem.alphas, {"fit_intercept": problem.fit_intercept}
    if problem.model == "tuned":
        tuned = RidgeCV(alphas=alphas, alpha_per_target=problem.variant == "per target", **free)
        return [make_pipeline(StandardScaler(), tuned) if problem.variant == "scaled" else tuned]
    make: dict[str, Callable[[Any], Any]] = {
        "linear": lambda alpha: LinearRegression(**free, **EVERY_DIRECTION),
        "ridge": lambda alpha: Ridge(alpha=alpha, **free),
        "classifier": lambda alpha: RidgeClassifier(alpha=alpha),
        "kernel": lambda alpha: KernelRidge(alpha=alpha, kernel=problem.kernel),
        "penalized": lambda alpha: onefit.PenalizedRegression(penalty=arrays.penalty, lam=alpha, **free),
        "scaled": lambda alpha: make_pipeline(StandardScaler(), Ridge(alpha=alpha)),
        "sparse": lambda alpha: Ridge(alpha=alpha, **free),
    }
    each = [np.array(alphas)] if problem.per_output else list(alphas)
    return [make[problem.model](alpha) for alpha in each]


def ask(problem: Problem, arrays: Arrays, n_jobs: int = 1) -> Answer:
    """Run onefit and note everything that it does."""
    with (
        warnings.catch_warnings(record=True) as caught,
        compiled.switched(problem.is_compiled),
        small_blocks(problem.is_streamed),
    ):
        warnings.simplefilter("always")
        try:
            results, refusals, differences = _results(problem, arrays, n_jobs)
            answer = Answer(
                [None if result is None else _figures_of(result) for result in results],
                refusals,
                ["" if result is None else result.route for result in results],
                differences=differences,
            )
        except OneFitError as error:
            count = len(estimators_of(problem, arrays))
            answer = Answer([None] * count, [f"{type(error).__name__}: {error}"] * count, [""] * count)
        except Exception as error:
            answer = Answer([], [], [], [where(error)])
    if not any(answer.by_refits(at, problem) for at in range(len(answer.routes))):  # else they are scikit-learn's own
        answer.leaks += [warned(w) for w in caught if not is_ours(w)]
    return answer


def is_ours(warning: warnings.WarningMessage) -> bool:
    """Whether a warning is onefit's, or about the versions of libraries."""
    return issubclass(warning.category, OneFitWarning | DeprecationWarning | FutureWarning)


def warned(warning: warnings.WarningMessage) -> str:
    """The first line of a warning, as tracebacks below it depend on who called, and the place that it came from."""
    text = str(warning.message).partition("\n")[0]
    return f"{warning.category.__name__}: {text} ({_short(warning.filename)}:{warning.lineno})"


def _short(filename: str) -> str:
    return "/".join(filename.replace("\\", "/").split("/")[-2:])


def where(error: Exception) -> str:
    """An exception and the place that it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({_short(frame.filename)}:{frame.lineno})"


def _results(problem: Problem, arrays: Arrays, n_jobs: int) -> tuple[list[Any], list[str], Differences | None]:
    """A result for each candidate, or None and why; and their paired differences."""
    X = sparse.csr_matrix(arrays.X) if problem.is_sparse else arrays.X
    settings = {
        "loss": problem.loss,
        "groups": arrays.groups,
        "sample_weight": arrays.weights,
        "route": problem.route,
        "n_jobs": n_jobs,
        "progress": False,
    } | ({"n_folds": "n"} if problem.folds == "n" else {"folds": arrays.folds})
    estimators = estimators_of(problem, arrays)
    if problem.kind == "curve":
        name = {"penalized": "lam", "scaled": "ridge__alpha"}.get(problem.model, "alpha")
        curve = onefit.error_curve(estimators[0], X, arrays.y, param_name=name, param_range=problem.alphas, **settings)
        values = np.stack([getattr(curve.difference, name).reshape(len(problem.alphas), -1) for name in ENDS])
        first = np.repeat(np.arange(len(problem.alphas))[:, None], values.shape[2], axis=1)
        differences = Differences(first, np.broadcast_to(curve.best, first.shape), values)
        return list(curve.results), list(curve.reasons), differences
    if problem.kind == "compare":
        table = onefit.compare({str(at): each for at, each in enumerate(estimators)}, X, arrays.y, **settings)
        pairs = list(combinations(table.results, 2))  # in the order of the table
        values = table.differences[list(ENDS)].to_numpy(copy=True).T.reshape(len(ENDS), len(pairs), -1)
        sides = np.array(pairs, dtype=int).reshape(-1, 2).T  # none if a single model is left
        first, second = (np.repeat(side[:, None], values.shape[2], axis=1) for side in sides)
        names = [str(at) for at in range(len(estimators))]
        results, reasons = [table.results.get(name) for name in names], [table.reasons.get(name, "") for name in names]
        return results, reasons, Differences(first, second, values)
    return [onefit.nested_cv(estimators[0], X, arrays.y, **settings)], [""], None


def _figures_of(result: Any) -> Figures:
    """The figures of a result, with outputs as the last axis."""
    rows = ["loss"] if result.loss == "zero_one" else ["loss", "prediction"]
    return Figures(tables_of(result, rows))


def tables_of(result: Any, rows: Sequence[str]) -> dict[str, np.ndarray]:
    """The errors of folds, the estimates and these columns of the rows of a result, with outputs as the last axis."""
    errors, heldout = result.fold_errors, result.heldout
    tables = {name: getattr(errors, name) for name in ("e_out", "e_in", "v_out")}
    tables |= {name: getattr(result, name) for name in ("cv_estimate", "raw_estimate", "interval")}
    tables |= {f"heldout_{name}": heldout[name].to_numpy() for name in rows}
    arrays = {name: np.array(values, dtype=float) for name, values in tables.items()}
    return arrays if result.output_names is not None else {name: values[..., None] for name, values in arrays.items()}
