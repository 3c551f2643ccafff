"""The verdict on a trial."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onefit.metrics.scored import SAME_SCORE

from ..figures import Figures, differences, sizes
from ..judge import AGREES, ALLOWED, COPIES, MODERATE, STEADY, VERDICTS, Verdict, same_bits
from ..library import NOT_FINITE, Answer
from .asking import TOLD, ask_trial
from .contract import Trial
from .loop import expected_figures, lacks_rank, moved, warned_by_refits
from .separation import has_no_maximum
from .solutions import are_of_solutions

__all__ = ["judge_trial", "judge_trial_answer"]

ON_TABLES = ("RouteError", "TrainingSetError")
"""What rows that are read in pieces are refused for: medians, more columns than rows, sums that have lost digits."""

KNOWN_TO = SAME_SCORE
"""Part of a loss to which losses of probabilities are known: scores that differ by less are taken for ties."""

RANKS = frozenset({"average_precision", "roc_auc", "roc_auc_ovr"})
"""Ties of rows that two models predict the same, or that scikit-learn rounds to one, are rounding errors' to decide."""

BEYOND = "would not be a number (or zero) in double precision"
"""What columns are refused for whose fourth powers are beyond it."""

SQUARED = 1e149
"""Losses, or their squares, whose sums cannot be squared."""

ENDS = ("interval", "metrics")
"""What hangs on the skewness of losses."""

ZERO = 1e-6
"""Part of the largest score or end that a score of zero is told from."""

UNKNOWN = ("FloatingPointError", "those of predict_proba sum to")
"""A reference that does not come to its end, or whose probabilities have lost their digits: nothing is known."""

INFINITE = ("its intercept is at infinity", "the fit is at infinity")
"""Of a reference that has proved it: then a number is wrong."""


def judge_trial(trial: Trial) -> Verdict:
    """Ask onefit, refit, and compare."""
    answer = ask_trial(trial)
    verdict = judge_trial_answer(trial, answer)
    if not verdict.is_bad and trial.checks_jobs and answer.figures and "refit" not in answer.routes:
        return same_bits(answer, ask_trial(trial, n_jobs=2)) or verdict
    return verdict


def judge_trial_answer(trial: Trial, answer: Answer) -> Verdict:
    """The worst verdict over the candidates; what leaks out is worse than a refusal, and a wrong number worst."""
    leaks = answer.leaks
    if leaks and answer.figures:  # training sets that are left to scikit-learn may warn as a refit does
        known = warned_by_refits(trial)
        leaks = [leak for leak in leaks if leak not in known]
    leaked = Verdict("leaked", leaks[0]) if leaks else None
    if leaked and not answer.figures:
        return leaked
    verdicts = [_of_candidate(trial, at, answer) for at in range(len(answer.figures))]
    worst = max(verdicts, key=lambda each: VERDICTS.index(each.name))
    return leaked if leaked and worst.name != "wrong" else worst


def _of_candidate(trial: Trial, at: int, answer: Answer) -> Verdict:
    """One of the models; refits by scikit-learn as it is are the measure of what was refitted."""
    actual, reason = answer.figures[at], answer.refusals[at]
    is_refitted = answer.routes[at] == "refit" or reason.startswith("RefitError")
    asked = trial.asked
    expected = expected_figures(trial, at, not is_refitted, asked.X, asked.y, trial.weights)
    if isinstance(expected, str):
        if actual is None:
            return Verdict("refused rightly", expected)
        if not any(each in expected for each in INFINITE) and any(
            each in expected for each in UNKNOWN
        ):  # refits name the training set before it
            return Verdict("sensitive", expected)
        return Verdict("wrong", f"a number where refits fail: {expected}", np.inf)
    if actual is None:
        return _of_refusal(trial, at, reason, expected, not is_refitted)
    relative = _relative(trial, actual, expected)
    name = max(relative, key=lambda key: float(relative[key].max()))
    size = float(relative[name].max())
    if size <= AGREES:
        return Verdict("agreed", f"route {answer.routes[at]}", size)
    moves = _moves(trial, at, expected, not is_refitted)
    beyond = [key for key in relative if (relative[key] > np.maximum(AGREES, ALLOWED * moves[key])).any()]
    if not beyond:
        return Verdict("sensitive", f"{name}; the last bit moves it by {moves[name].max():.1g}", size)
    if TOLD in answer.routes[at] and are_of_solutions(trial, at, actual):
        return Verdict("sensitive", "one of many solutions, as onefit says")
    if RANKS.intersection(trial.scoring) and _is_of_refits(trial, at, actual):
        return Verdict("sensitive", "ties, which a last bit decides as in scikit-learn's own refits")
    name = max(beyond, key=lambda key: float(relative[key].max()))
    why = f"{name} on route {answer.routes[at]}; the last bit moves it by {moves[name].max():.1g}"
    return Verdict("wrong", why, float(relative[name].max()))


def _of_refusal(trial: Trial, at: int, reason: str, expected: Figures, tight: bool) -> Verdict:
    """What was refused though refits have figures; a word of onefit is believed where the data prove it."""
    if trial.how == "tables" and reason.startswith(ON_TABLES):
        return Verdict("refused rightly", reason)
    if reason.startswith("TrainingSetError") and lacks_rank(trial):
        return Verdict("refused rightly", "a fit without a penalty is not unique")
    if reason.startswith("DataError") and BEYOND in reason and _is_beyond(trial):
        return Verdict("refused rightly", "columns too large or small to be squared twice")
    if reason.startswith("RefitError") and NOT_FINITE in reason and _breaks_down(trial):
        return Verdict("refused rightly", "scikit-learn's own solver broke down")
    if "losses overflow" in reason and max(float(np.nanmax(each)) for each in expected.tables.values()) > SQUARED:
        return Verdict("refused rightly", "losses that cannot be squared and summed")
    if "no maximum" in reason and has_no_maximum(trial):
        return Verdict("refused rightly", "coefficients go to infinity")
    move = max(float(each.max()) for each in _moves(trial, at, expected, tight).values())
    if move >= STEADY:
        return Verdict("refused rightly", f"the last bit moves it by {move:.1g}")
    return Verdict("refused wrongly", f"{reason} (the last bit moves it by {move:.1g})")


def _is_beyond(trial: Trial) -> bool:
    """Whether a column, or y, is so large or small that it cannot be squared twice."""
    for values in (trial.asked.X, trial.asked.y):
        columns = pd.DataFrame(values).select_dtypes("number").abs().max().to_numpy(dtype=float)
        if ((columns > MODERATE) | ((columns < 1 / MODERATE) & (columns > 0))).any():
            return True
    return False


def _breaks_down(trial: Trial) -> bool:
    """Whether refits of a candidate fail: its refusal is that of all."""
    asked = trial.asked
    places = range(len(trial.candidates(tight=False)))
    return any(isinstance(expected_figures(trial, at, False, asked.X, asked.y, trial.weights), str) for at in places)


def _is_of_refits(trial: Trial, at: int, actual: Figures) -> bool:
    """Whether the figures are those of scikit-learn's own refits."""
    asked = trial.asked
    refits = expected_figures(trial, at, False, asked.X, asked.y, trial.weights)
    if isinstance(refits, str):
        return False
    return max(float(each.max()) for each in _relative(trial, actual, refits).values()) <= AGREES


def _relative(trial: Trial, actual: Figures, expected: Figures) -> dict[str, np.ndarray]:
    """Differences relative to the largest of each table, of the tables that both have."""
    loss = _unit(trial)
    names = [name for name in expected.tables if name in actual.tables and not np.isnan(actual.tables[name]).all()]
    mine = Figures({name: actual.tables[name] for name in names})
    right = Figures({name: expected.tables[name] for name in names}, response=expected.response)
    gaps, size = differences(mine, right, loss), sizes(right, loss)
    if (
        loss == "given" and "v_out" in size
    ):  # deviations of losses that are nearly equal are known no better than the losses
        level = np.nanmax(np.abs(right.tables["e_out"]), axis=(0, 1))
        size["v_out"] = np.maximum(size["v_out"], KNOWN_TO * level / AGREES)
        if (np.sqrt(np.nanmax(right.tables["v_out"], initial=0.0)) <= KNOWN_TO * level).all():
            size |= dict.fromkeys(ENDS, np.array([np.inf]))  # and their skewness is anything
    if loss == "scores" and "metrics" in names:  # a score that is zero, beside others and ends that are not
        floor = ZERO * float(np.nanmax(np.abs(right.tables["metrics"]), initial=0.0))
        size = {name: np.maximum(each, floor) for name, each in size.items()}
    return {name: gaps[name] / size[name] for name in names}


def _moves(trial: Trial, at: int, expected: Figures, tight: bool) -> dict[str, np.ndarray]:
    """How far a change of the data in the last bit moves each table, relative to its size."""
    largest = {name: np.zeros(table.shape[-1]) for name, table in expected.tables.items()}
    for copy in range(COPIES):
        other = expected_figures(trial, at, tight, *moved(trial, copy))
        gaps = {} if isinstance(other, str) else _relative(trial, other, expected)
        for name in largest:
            largest[name] = np.maximum(largest[name], gaps.get(name, np.inf if isinstance(other, str) else 0.0))
    return largest


def _unit(trial: Trial) -> str:
    """Which power of y the figures have."""
    if trial.scoring:
        return "scores"
    return trial.asked.loss if trial.asked.loss in ("squared_error", "absolute_error") else "given"
