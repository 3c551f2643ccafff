"""Diagnostics: what could make the interval less than it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display.html import at
from ..display.numbers import number_text, percent
from ..inference.intervals import RULES
from ..inference.tails import heavy_tailed
from ..metrics.losses import NAMED
from ..typing import FloatArray
from .subject import Subject, of_output
from .words import caveats

__all__ = ["Check", "checks", "largest_losses"]

MOST_MONTE_CARLO_ERROR = 0.10  # as in the library's warning
MOST_SHARE = 0.10  # of the total loss, in one row
N_LARGEST = 10
SYMMETRIC = 1e-6  # of the width: rounding is far below, the bend of the log scale far above


@dataclass(frozen=True)
class Check:
    """One thing looked at: ``status`` is "fine", "look" (something to think about) or "note"."""

    title: str
    status: str
    text: str


def checks(subject: Subject, output: int) -> list[Check]:
    """Everything that was looked at, in the order of importance."""
    result, losses = subject.main(output), subject.losses(output)
    found = [
        _tails(result, losses, output),
        _influence(subject, losses),
        _monte_carlo(result, output),
        _variance(result, output),
    ]
    found = [*(Check(title, "look", text) for title, text in caveats(subject, output)), *found]
    if result.reason:
        found.insert(0, Check("Interval", "look", result.reason[0].upper() + result.reason[1:].rstrip(".") + "."))
    if result.exactness != "exact":
        text = "What comes before the fit (scales, knots or components) was computed once, from all rows."
        found.append(Check("Exactness", "note", text))
    return [check for check in found if check is not None]


def largest_losses(losses: FloatArray) -> tuple[Any, FloatArray]:
    """Rows with the largest losses, and the share of the total loss of each."""
    finite = np.where(np.isfinite(losses), losses, -np.inf)
    order = np.argsort(-finite, kind="stable")[: min(N_LARGEST, int(np.isfinite(losses).sum()))]
    total = float(np.nansum(losses))
    return order, losses[order] / total if total > 0 else np.full(len(order), np.nan)


def _tails(result: Any, losses: FloatArray, output: int) -> Check | None:
    """The library's own criterion, and like it on losses alone that are known not to be negative."""
    if result.loss == "zero_one" or not _is_on_log_scale(result, output):
        return None
    if not heavy_tailed(losses[:, None, None]):
        return Check("Tails of the losses", "fine", "No few rows carry the variance of the losses.")
    remedy = (
        "absolute error as the loss, whose interval holds better then"
        if result.loss == "squared_error"
        else "a look at the rows with the largest losses"
    )
    text = (
        "A few rows carry most of the variance of the losses (heavy-tailed noise, or rows that the model misses), so "
        f"the interval may cover less often than {percent(result.confidence_level)}. Consider {remedy}."
    )
    return Check("Tails of the losses", "look", text)


def _is_on_log_scale(result: Any, output: int) -> bool:
    """Whether the loss is one that cannot be negative, named or declared so.

    The result has only the name of the loss, which a user's function may share. But the interval of the covariance
    rule is symmetric about the estimate if, and only if, nothing is known of the loss.
    """
    table: Any = of_output(result.intervals, result.output_names, output)
    estimate, low, high = (float(table.loc["covariance", key]) for key in ("estimate", "low", "high"))
    if not low < high:  # none, or a single point
        return result.loss in NAMED
    return abs((low + high) / 2 - estimate) > SYMMETRIC * (high - low)


def _influence(subject: Subject, losses: FloatArray) -> Check | None:
    """The share of the largest losses in the total."""
    if subject.loss == "zero_one" or np.nanmin(losses) < 0 or not np.nansum(losses) > 0:
        return None
    order, shares = largest_losses(losses)
    label = subject.main(0).heldout.index[order[0]]
    start = " (rows count from 0)" if subject.counts_from_zero else ""
    text = f"The largest loss, of row {label}{start}, is {percent(float(shares[0]))} of the total"
    text += f"; the {len(order)} largest are {percent(float(shares.sum()))}." if len(order) > 1 else "."
    return Check("Influential rows", "look" if shares[0] > MOST_SHARE else "fine", text)


def _monte_carlo(result: Any, output: int) -> Check:
    """How much of the half-width is an accident of the random partitions."""
    error, title = at(result.monte_carlo_error, output), "Random partitions"
    if error == 0:
        return Check(title, "fine", "No random partitions were needed: another run gives the same numbers.")
    if math.isnan(error):
        status = "look" if RULES[result.rule].needs_v_out else "note"
        return Check(
            title, status, "One random partition: how much the interval depends on it is unknown. Use more repeats."
        )
    text = f"Other random partitions would change the half-width by about {percent(error)} (Monte Carlo error)."
    if error > MOST_MONTE_CARLO_ERROR:
        return Check(title, "look", f"{text} Use more repeats.")
    return Check(title, "fine", text)


def _variance(result: Any, output: int) -> Check:
    """What the rule made of the dependence between folds."""
    inflation = at(result.inflation, output)
    if bool(np.atleast_1d(result.mse_is_floored)[output]):
        text = "The estimated variance came out below that of independent errors, and was raised to the rule's floor."
        return Check("Variance", "note", text)
    if math.isnan(inflation):
        return Check("Variance", "note", "The rule gave no variance on these folds.")
    text = f"The standard error is {number_text(inflation, 3)} times that of independent errors."
    return Check("Variance", "fine", text)
