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
from ..inference.montecarlo import HALF_WIDTH_TARGET, MOST_REPEATS
from ..inference.tails import heavy_tailed
from ..metrics.losses import Loss
from ..typing import FloatArray
from ..vocabulary import FROZEN

__all__ = ["KINDS", "Finding", "Known", "concerns_output", "findings_of"]

MOST_MONTE_CARLO_ERROR = 0.10
"""Of the half-width; above it, other random partitions would change the interval."""

FEW_GROUPS = 10
"""The variance between fewer groups is too uncertain for the interval."""

STOPPED = "The job was stopped: let it go on for longer"

KINDS: dict[str, type[OneFitWarning] | None] = {
    "interrupted": InterruptedWarning,
    "no interval": None,
    "training size": TrainingSizeWarning,
    "monte carlo": MonteCarloWarning,
    "one partition": None,
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
        "interrupted", "no interval", "training size", "monte carlo", "one partition", "heavy tails", "few groups" or
        "exactness".
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
    n_repeats : int or None
        The repeats asked for; None is "auto".
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
    n_repeats: int | None
    n_groups: int | None
    exactness: str


def findings_of(known: Known) -> tuple[Finding, ...]:
    """Everything that was found, in the order of `KINDS`."""
    return tuple(finding for find in FINDERS for finding in find(known))


def concerns_output(finding: Finding, losses: FloatArray, monte_carlo_error: float) -> bool:
    """Whether a finding is about one output of several, with these losses (n,); most are about all of them."""
    if finding.kind == "heavy tails":
        return heavy_tailed(losses[:, None, None])
    return finding.kind != "monte carlo" or not monte_carlo_error <= MOST_MONTE_CARLO_ERROR


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
        message = "There was one partition of the rows: how much the interval depends on it is unknown."
        yield Finding("one partition", message, f"{STOPPED if known.notes else 'Use more repeats'}.")
    elif worst > MOST_MONTE_CARLO_ERROR:
        message = (
            f"The half-width of the interval has a Monte Carlo error of {100 * worst:.0f}%: other random partitions "
            "would change it."
        )
        yield Finding("monte carlo", message, _more_repeats(known))


def _more_repeats(known: Known) -> str:
    """How to draw more partitions than there were."""
    if known.rule.name == "naive":
        return 'It uses one partition only: interval="covariance" uses all.'
    more = f'Use more repeats (n_repeats="auto" stops below {100 * HALF_WIDTH_TARGET:g}%, or at {MOST_REPEATS})'
    if known.notes:
        more = STOPPED
    elif known.n_repeats is None:
        more = f'n_repeats="auto" ended at its limit of {MOST_REPEATS}: give a larger number'
    return f"{more}{_or_covariance(known)}."


def _or_covariance(known: Known) -> str:
    return "" if known.rule.name == "covariance" else ', or interval="covariance", which needs far fewer'


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
    _heavy_tails,
    _few_groups,
    _exactness,
)
