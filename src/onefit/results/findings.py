"""What the reader of a result should know, written once: warnings, summary, notebook, report and command line read it.

`KINDS` is the table of all kinds. A finding is made from what is known when a result is built (`Known`), by one
function a kind, and from nothing else; what shows findings has no criterion, threshold or text of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import (
    FewGroupsWarning,
    HeavyTailWarning,
    InterruptedWarning,
    MonteCarloWarning,
    OneFitWarning,
    TrainingSizeWarning,
)
from ..inference.dependence import LEVEL, MOST, follow_one_another
from ..inference.intervals import FEW_GROUPS, TOO_WIDE_REASONS
from ..inference.tails import have_heavy_tails
from ..learners import is_near_interpolation
from ..typing import BoolArray
from ..vocabulary import FROZEN
from .dependence import told_of
from .known import Known
from .leaks import SUSPECT, copied, copied_classes, leaks, unexplained
from .unsteady import LOOK_AT_ROWS, few_rows_message

__all__ = ["KINDS", "Finding", "findings_of", "reason_of"]


STOPPED = "The job was stopped: let it go on for longer"

KINDS: dict[str, type[OneFitWarning] | None] = {
    "interrupted": InterruptedWarning,
    "leak": None,
    "no interval": None,
    "training size": TrainingSizeWarning,
    "monte carlo": MonteCarloWarning,
    "one partition": None,
    "interpolation": None,
    "heavy tails": HeavyTailWarning,
    "leverage": None,
    "few groups": FewGroupsWarning,
    "dependence": None,
    "exactness": None,
}
"""Kinds of findings, with the warning that says the same, if there is one; told in this order, but for rows that make
the error, which come before what else there is to say of the interval."""


@dataclass(frozen=True)
class Finding:
    """Something that the reader of a result should know.

    Attributes
    ----------
    kind : str
        "interrupted", "leak", "no interval", "training size", "monte carlo", "one partition", "interpolation",
        "heavy tails", "leverage", "few groups", "dependence" or "exactness".
    message : str
        What was seen, a sentence.
    remedy : str
        What can be done, a sentence; empty if there is nothing to do.
    outputs : tuple of int
        Places of the outputs that it is about, of several; empty if it is about all.

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
    outputs: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The message and the remedy: what is shown and warned."""
        return f"{self.message} {self.remedy}".rstrip()

    def is_about(self, output: int) -> bool:
        """Whether it is about one output of several."""
        return not self.outputs or output in self.outputs


def findings_of(known: Known) -> tuple[Finding, ...]:
    """Everything that was found, the causes of an interval that is not the usual one first."""
    return tuple(finding for find in FINDERS for finding in find(known))


def reason_of(known: Known) -> str:
    """Why the interval is missing or not the usual one, in one text; empty if it is neither."""
    if not known.reason:
        return ""
    return " ".join(finding.text for find in CAUSES for finding in find(known))


def _places(found: BoolArray) -> tuple[int, ...]:
    """Outputs (Q,) in which something was found; empty if in all."""
    return () if found.all() else tuple(np.flatnonzero(found).tolist())


def _interrupted(known: Known) -> Iterator[Finding]:
    for note in known.notes:
        yield Finding("interrupted", f"{note[0].upper()}{note[1:]}.", "")


def _leak(known: Known) -> Iterator[Finding]:
    """Whether numbers are predicted as exactly as they are written; classes may be, where no column is y itself."""
    parts = unexplained(known.y, known.predictions, known.rows.weights)
    if known.loss.classes is not None:
        yield from (Finding("leak", *told) for told in copied_classes(known.problem, parts))
        return
    if (found := leaks(parts)).any():
        message = (
            f"Held-out predictions are off by {np.sqrt(np.max(parts[found])):.1g} of the spread of y, as nothing that "
            "is measured can be predicted: probably a column is y in other words, or several together are."
        )
        remedy = "Look for such columns (another unit of y, parts of it, what was known only after it); leave them out."
        yield Finding("leak", message, remedy, _places(found))
    suspect = (parts < SUSPECT) & ~found
    if suspect.any() and known.problem is not None:
        for message, remedy, outputs in copied(known.problem, suspect):
            yield Finding("leak", message, remedy, _places(outputs))


def _interval(known: Known) -> Iterator[Finding]:
    """The rule's own reason, if it is not that the error is as uncertain as it is large; causes of that come next."""
    if known.reason and known.reason not in TOO_WIDE_REASONS:
        yield Finding("no interval", known.reason, known.remedy)


def _training_size(known: Known) -> Iterator[Finding]:
    """Whether the error is as uncertain as it is large, or explodes with two folds out, and no row alone does it."""
    unsteady = known.unsteady
    found = unsteady.found & ~known.made_by_few
    if found.any():
        output = int(np.argmax(found))
        yield Finding("training size", unsteady.message(output), unsteady.remedy, _places(found))


def _monte_carlo(known: Known) -> Iterator[Finding]:
    """How far the interval is an accident of the partitions drawn; unknown if there was one."""
    if known.serial is not None:
        return  # nothing was drawn
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
        large = known.monte_carlo_error > known.stopping.tolerated
        yield Finding("monte carlo", message, _more_repeats(known, worst), _places(large))


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
    if known.made_by_few.any():
        return "More repeats will not settle it while a row or two make the error."
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
    """Whether a model without a penalty has hardly fewer columns than its training sets have rows."""
    n, K, p = known.errors.n_rows, known.n_folds, known.n_free
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
    """Whether a few units carry the variance of losses that are known not to be negative."""
    found = known.heavy_tailed & ~known.made_by_few
    loss = known.loss
    if loss.scale != "log" or not loss.has_row_losses or loss.classes is not None or not found.any():
        return
    message = (
        f"A few {_units(known)} carry much of the variance of the losses (heavy-tailed noise, or rows that the model "
        f"misses), so the interval may cover less often than {100 * known.confidence_level:g}%."
    )
    yield Finding("heavy tails", message, _calmer_loss(known, found), _places(found))


def _few_rows(known: Known) -> Iterator[Finding]:
    """Whether the error is as uncertain as it is large, or explodes, because a row or two make it."""
    few = known.made_by_few
    if few.any():
        output = int(np.argmax(few))
        rows = few_rows_message(known.losses[:, output], known.rows, known.row_names)
        yield Finding("heavy tails", f"{rows} {known.unsteady.message(output)}", LOOK_AT_ROWS, _places(few))


def _calmer_loss(known: Known, found: BoolArray) -> str:
    """The absolute error where its losses do not have heavy tails, too."""
    look = "at the rows with the largest losses in result.heldout"
    if not known.has_all_rows:
        return "" if known.loss.kind != "squared_error" else 'Consider loss="absolute_error".'
    if known.loss.kind != "squared_error":
        return f"Look {look}."
    if have_heavy_tails(np.sqrt(known.losses[:, found]), known.rows, "absolute_error").any():
        return f"Look {look}; the absolute errors have heavy tails, too."
    return f'Consider loss="absolute_error", whose interval holds better then, and look {look}.'


def _units(known: Known) -> str:
    return "rows" if known.errors.n_groups is None else "groups"


def _leverage(known: Known) -> Iterator[Finding]:
    """Whether one row, or group, moves the estimate by more than its standard error; known if each is a fold."""
    errors, value = known.errors, known.value
    if known.folds is None or errors.n_units < FEW_GROUPS:  # of few, each moves it
        return
    mean, without = errors.cv[0, value], errors.e_in[0, :, value]
    moved = np.abs(without - mean) / np.where(known.standard_error > 0, known.standard_error, np.inf)
    found = (moved > 1).any(axis=0)
    if not found.any():
        return
    output = int(np.argmax(found))
    fold = int(np.argmax(moved[:, output]))
    row = int(np.argmax(known.folds == fold))
    name = row if known.row_names is None else known.row_names[row]
    one = f"row {name}" if known.rows.groups is None else f"the group of row {name}"
    message = (
        f"Without {one} the cross-validation error would be {without[fold, output]:.3g}, not {mean[output]:.3g}: "
        f"it moves the estimate by {moved[fold, output]:.3g} standard errors."
    )
    remedy = "See whether its values are right: an extreme one, of y or of a column, gives a row such weight."
    yield Finding("leverage", message, remedy, _places(found))


def _few_groups(known: Known) -> Iterator[Finding]:
    count = known.errors.n_groups
    if count is not None and count < FEW_GROUPS:
        message = (
            f"There are only {count} groups, and the variance between fewer than {FEW_GROUPS} is uncertain: the "
            "interval may cover less often than it says."
        )
        yield Finding("few groups", message, "")


def _dependence(known: Known) -> Iterator[Finding]:
    """Whether neighbouring rows resemble each other; groups say already which do, and of classes little is known."""
    if known.serial is not None:
        for message, remedy in told_of(known.serial, known.confidence_level):
            yield Finding("dependence", message, remedy)
        return
    if known.errors.n_groups is not None or known.loss.rule_scale == "logit" or known.loss.classes is not None:
        return
    y = known.y[:MOST]
    residuals = y - known.predictions[:MOST]
    if known.rows.weights is not None:
        residuals *= np.sqrt(known.rows.weights[:MOST, None])
    found = follow_one_another(residuals, y, LEVEL / y.shape[1])
    if found.any():
        message = (
            "Rows that follow one another have held-out residuals that resemble each other, so these rows are not "
            "independent: the interval is too narrow, and rows far from these may be predicted worse."
        )
        remedy = (
            "If they follow one another in time, use cv=onefit.TimeBlocks() (the error on a new stretch) or "
            "RollingOrigin (forecasts); if they were drawn independently and sorted afterwards, it is the model that "
            "misses something instead."
        )
        yield Finding("dependence", message, remedy, _places(found))


def _exactness(known: Known) -> Iterator[Finding]:
    """What "given the transformers" means, and how what was iterated has converged."""
    if known.exactness == FROZEN:
        message = "What comes before the fit (scales, knots or components) was computed once, from all rows."
        yield Finding("exactness", message, "")
    for remark in known.remarks:
        yield Finding("exactness", remark.message, remark.remedy)
    if known.caution[0]:
        yield Finding("exactness", *known.caution)


CAUSES = (_interval, _training_size, _few_rows)
"""Why an interval is missing or not the usual one."""

FINDERS: tuple[Callable[[Known], Iterator[Finding]], ...] = (
    _interrupted,
    _leak,
    *CAUSES,
    _monte_carlo,
    _interpolation,
    _heavy_tails,
    _leverage,
    _few_groups,
    _dependence,
    _exactness,
)
