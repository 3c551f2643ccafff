"""Diagnostics: the findings of the result, and what was looked at and is fine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..display.html import at
from ..display.numbers import number_text, percent
from ..results.nested import NestedCVResult
from ..typing import FloatArray, IntArray
from .subject import Subject
from .words import caveats

__all__ = ["Check", "checks", "largest_losses"]

MOST_SHARE = 0.10  # of the total loss, in one row
N_LARGEST = 10

INTERVAL, TAILS, PARTITIONS, EXACTNESS = "Interval", "Tails of the losses", "Random partitions", "Exactness"
SHOWN = {
    "interrupted": (INTERVAL, "look"),
    "leak": ("Columns", "look"),
    "no interval": (INTERVAL, "look"),
    "training size": (INTERVAL, "look"),
    "monte carlo": (PARTITIONS, "look"),
    "one partition": (PARTITIONS, "note"),
    "interpolation": (INTERVAL, "look"),
    "heavy tails": (TAILS, "look"),
    "leverage": ("Leverage", "look"),
    "few groups": ("Groups", "look"),
    "dependence": ("Order of the rows", "look"),
    "exactness": (EXACTNESS, "note"),
}
"""Title and status of each kind of finding."""


@dataclass(frozen=True)
class Check:
    """One thing looked at: ``status`` is "fine", "look" (something to think about) or "note"."""

    title: str
    status: str
    text: str


def checks(subject: Subject, output: int) -> list[Check]:
    """Everything that was looked at, in the order of importance."""
    result, losses = subject.main(output), subject.losses(output)
    said = [Check(*SHOWN[each.kind], each.text) for each in result.findings if each.is_about(output)]
    tails, partitions, last = ([check for check in said if check.title == t] for t in (TAILS, PARTITIONS, EXACTNESS))
    return [
        *(check for check in said if check.title not in (TAILS, PARTITIONS, EXACTNESS)),
        *(Check(title, "look", text) for title, text in caveats(subject, output)),
        *(tails or _calm_tails(result)),
        *_influence(subject, losses),
        *(partitions or [_calm_partitions(result, output)]),
        _variance(result, output),
        *last,
    ]


def largest_losses(losses: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows with the largest losses, and the share of the total loss of each."""
    finite = np.where(np.isfinite(losses), losses, -np.inf)
    order = np.argsort(-finite, kind="stable")[: min(N_LARGEST, int(np.isfinite(losses).sum()))]
    total = float(np.nansum(losses))
    return order, losses[order] / total if total > 0 else np.full(len(order), np.nan)


def _calm_tails(result: NestedCVResult) -> list[Check]:
    """That no few rows carry the variance, where that is looked at."""
    if result.scale != "log":
        return []
    return [Check(TAILS, "fine", "No few rows carry the variance of the losses.")]


def _influence(subject: Subject, losses: FloatArray) -> list[Check]:
    """The share of the largest losses in the total."""
    if not subject.has_losses(0) or subject.loss == "zero_one" or np.nanmin(losses) < 0 or not np.nansum(losses) > 0:
        return []
    order, shares = largest_losses(losses)
    label = subject.main(0).heldout.index[order[0]]
    start = " (rows count from 0)" if subject.counts_from_zero else ""
    text = f"The largest loss, of row {label}{start}, is {percent(float(shares[0]))} of the total"
    text += f"; the {len(order)} largest are {percent(float(shares.sum()))}." if len(order) > 1 else "."
    return [Check("Influential rows", "look" if shares[0] > MOST_SHARE else "fine", text)]


def _calm_partitions(result: NestedCVResult, output: int) -> Check:
    """How little of the half-width is an accident of the random partitions."""
    error = at(result.monte_carlo_error, output)
    if error == 0:
        return Check(PARTITIONS, "fine", "No random partitions were needed: another run gives the same numbers.")
    text = f"Other random partitions would change the half-width by about {percent(error)} (Monte Carlo error)."
    return Check(PARTITIONS, "fine", text)


def _variance(result: NestedCVResult, output: int) -> Check:
    """What the rule made of the dependence between folds."""
    inflation = at(result.inflation, output)
    if bool(np.atleast_1d(result.mse_is_floored)[output]):
        text = "The estimated variance came out below that of independent errors, and was raised to the rule's floor."
        return Check("Variance", "note", text)
    if math.isnan(inflation):
        return Check("Variance", "note", "The rule gave no variance on these folds.")
    text = f"The standard error is {number_text(inflation, 3)} times that of independent errors."
    return Check("Variance", "fine", text)
