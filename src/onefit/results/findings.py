"""What the reader of a result should know, written once: warnings, summary, notebook, report and command line read it.

`KINDS` is the table of all kinds. A finding is made from what is known when a result is built (`Known`), by one
function a kind, and from nothing else; what shows findings has no criterion, threshold or text of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import HeavyTailWarning, InterruptedWarning, MonteCarloWarning, OneFitWarning, TrainingSizeWarning
from ..inference.intervals import TOO_SMALL, Rule
from ..inference.montecarlo import FAST, Stopping
from ..inference.tails import heavy_tailed
from ..learners import is_near_interpolation
from ..metrics.losses import Loss
from ..typing import FloatArray
from ..vocabulary import FROZEN

__all__ = ["KINDS", "Finding", "Known", "concerns_output", "findings_of"]

FEW_GROUPS = 10
"""The variance between fewer groups is too uncertain for the interval."""

STOPPED = "The job was stopped: let it go on for longer"

KINDS: dict[str, type[OneFitWarning] | None] = {
    "interrupted": InterruptedWarning,
    "no interval": None,
    "training size": TrainingSizeWarning,
    "monte carlo": MonteCarloWarning,
    "one partition": None,
    "interpolation": None,
    "heavy tails": HeavyTailWarning,
    "few groups": None,
    "exactness": None,
}
"""Kinds of findings in the order in which they are told, with the warning that says the same, if there is one."""


@dataclass(frozen=True)
class Finding:
    """Something that the reader of a result should know.

    Attributes
    ----------
    kind : str
        "interrupted", "no interval", "training size", "monte carlo", "one partition", "interpolation", "heavy tails",
        "few groups" or "exactness".
    message : str
        What was seen, a sentence.
    remedy : str
        What can be done, a sentence; empty if there is nothing to do.

    Examples
    --------
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> onefit.nested_cv(Ridge(alpha=0.1), X, y).findings
    ()
    >>> result = onefit.nested_cv(Ridge(alpha=0.1), X, y, n_folds=10, n_repeats=1, random_state=0)
    >>> [finding.kind for finding in result.findings]
    ['one partition']
    >>> result.findings[0].remedy
    'Use more repeats.'
    """

    kind: str
    message: str
    remedy: str

    @property
    def text(self) -> str:
        """The message and the remedy: what is shown and warned."""
        return f"{self.message} {self.remedy}".rstrip()


@dataclass(frozen=True)
class Known:
    """What is known of one result when it is built.

    Attributes
    ----------
    reason, remedy : str
        Why the interval is missing or not the usual one, and what to do; empty if it is neither.
    notes : sequence of str
        What the job noted while it ran: that the user stopped it.
    rule : Rule
    loss : Loss
    losses : array (n, Q)
        Mean held-out loss of every row.
    monte_carlo_error : array (Q,)
    confidence_level : float
    n_repeats : int
        The repeats that were made.
    is_automatic : bool
        Whether ``n_repeats="auto"`` decided that.
    stopping : Stopping
        When it does, and which Monte Carlo error is tolerated.
    n_folds : int
    n_free : int
        Columns of a linear model that is refitted, if no penalty holds them; else zero.
    usual_folds : int
        Folds that refits of so many rows take if nothing is known of them; zero if the user said how many.
    n_groups : int or None
    exactness : str
    """

    reason: str
    remedy: str
    notes: Sequence[str]
    rule: Rule
    loss: Loss
    losses: FloatArray
    monte_carlo_error: FloatArray
    confidence_level: float
    n_repeats: int
    is_automatic: bool
    stopping: Stopping
    n_folds: int
    n_free: int
    usual_folds: int
    n_groups: int | None
    exactness: str


def findings_of(known: Known) -> tuple[Finding, ...]:
    """Everything that was found, in the order of `KINDS`."""
    return tuple(finding for find in FINDERS for finding in find(known))


def concerns_output(finding: Finding, losses: FloatArray, monte_carlo_error: float) -> bool:
    """Whether a finding is about one output of several, with these losses (n,); most are about all of them."""
    if finding.kind == "heavy tails":
        return heavy_tailed(losses[:, None, None])
    return finding.kind != "monte carlo" or not monte_carlo_error <= FAST.tolerated


def _interrupted(known: Known) -> Iterator[Finding]:
    for note in known.notes:
        yield Finding("interrupted", f"{note[0].upper()}{note[1:]}.", "")


def _interval(known: Known) -> Iterator[Finding]:
    """The rule's own reason."""
    if known.reason:
        yield Finding("training size" if known.reason == TOO_SMALL else "no interval", known.reason, known.remedy)


def _monte_carlo(known: Known) -> Iterator[Finding]:
    """How far the interval is an accident of the partitions drawn; unknown if there was one."""
    worst = float(np.max(known.monte_carlo_error))
    if np.isnan(worst) and known.rule.needs_v_out:
        message = f"The {known.rule.name} interval comes from one random partition, and depends on it much."
        yield Finding("monte carlo", message, f"Use more repeats{_or_covariance(known)}.")
    elif np.isnan(worst):
        message = (
            "There was one partition of the rows: how much the interval depends on it is unknown, and not part of it."
        )
        yield Finding("one partition", message, _second_repeat(known))
    elif worst > known.stopping.tolerated:
        message = (
            f"The half-width of the interval has a Monte Carlo error of {100 * worst:.0f}%: other random partitions "
            "would change it."
        )
        yield Finding("monte carlo", message, _more_repeats(known, worst))


def _second_repeat(known: Known) -> str:
    """How to draw another partition."""
    stopping = known.stopping
    if known.notes:
        return f"{STOPPED}."
    if known.is_automatic and stopping.fits_a_repeat is not None:
        return (
            f"It took {stopping.fits_a_repeat} fits, and max_fits={stopping.max_fits} leaves no room for another: use "
            f"max_fits={2 * stopping.fits_a_repeat} or fewer folds."
        )
    return "Use more repeats."


def _more_repeats(known: Known, error: float) -> str:
    """How many more partitions it takes than there were."""
    if known.rule.name == "naive":
        return 'It uses one partition only: interval="covariance" uses all.'
    if known.notes:
        return f"{STOPPED}{_or_covariance(known)}."
    stopping = known.stopping
    needed = stopping.repeats_needed(error, known.n_repeats)
    more = f"Use about n_repeats={needed} to bring it below {100 * stopping.half_width:g}%"
    if known.is_automatic:
        limit = stopping.most if stopping.max_fits is None else f"max_fits={stopping.max_fits}"
        more += f'; n_repeats="auto" ended at its limit of {limit}'
    return f"{more}{_or_covariance(known)}."


def _or_covariance(known: Known) -> str:
    return "" if known.rule.name == "covariance" else ', or interval="covariance", which needs far fewer'


def _interpolation(known: Known) -> Iterator[Finding]:
    """Whether a model that is refitted without a penalty has hardly fewer columns than its training sets have rows."""
    n, K, p = len(known.losses), known.n_folds, known.n_free
    if is_near_interpolation(n, K, p):
        message = (
            f"Training sets without two of the {K} folds have about {(1 - 2 / K) * n:.0f} rows for {p} columns and no "
            "penalty: so near to interpolation the interval may be far too wide, or miss."
        )
        yield Finding("interpolation", message, "Use more folds, fewer columns or a penalty.")
    elif known.usual_folds and is_near_interpolation(n, known.usual_folds, p):
        message = f"With fewer folds than {K} the model, of {p} columns without a penalty, would nearly interpolate."
        yield Finding("interpolation", message, "Fewer columns or a penalty would do with fewer fits.")


def _heavy_tails(known: Known) -> Iterator[Finding]:
    """Whether a few rows carry the variance of losses that are known not to be negative."""
    if known.loss.scale != "log" or not heavy_tailed(known.losses[:, None]):
        return
    message = (
        "A few rows carry most of the variance of the losses (heavy-tailed noise, or rows that the model misses), "
        f"so the interval may cover less often than {100 * known.confidence_level:g}%."
    )
    remedy = (
        'Consider loss="absolute_error", whose interval holds better then.'
        if known.loss.name == "squared_error"
        else "Consider a look at the rows with the largest losses in result.heldout."
    )
    yield Finding("heavy tails", message, remedy)


def _few_groups(known: Known) -> Iterator[Finding]:
    if known.n_groups is not None and known.n_groups < FEW_GROUPS:
        message = (
            f"There are only {known.n_groups} groups: an interval from fewer than {FEW_GROUPS} may cover less often "
            "than it says."
        )
        yield Finding("few groups", message, "")


def _exactness(known: Known) -> Iterator[Finding]:
    """What "given the transformers" means."""
    if known.exactness == FROZEN:
        message = "What comes before the fit (scales, knots or components) was computed once, from all rows."
        yield Finding("exactness", message, "")


FINDERS: tuple[Callable[[Known], Iterator[Finding]], ...] = (
    _interrupted,
    _interval,
    _monte_carlo,
    _interpolation,
    _heavy_tails,
    _few_groups,
    _exactness,
)
