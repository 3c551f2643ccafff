"""What a result says of rows that follow one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..running.dependent import Dependent
from ..typing import FloatArray, IntArray

__all__ = ["Dependence", "SerialKnown", "told_of"]

FEWEST_EFFECTIVE = 20
"""Effective rows below which the variance of their mean is too uncertain."""

FEWEST_ROWS, FEWEST_IN_BLOCKS = 100, 5
"""Of the study: below, it is not known how often intervals cover."""

LARGE_TREND = 0.5
"""Of the squares of held-out residuals, that a straight line in time explains."""

BLOCKS_OF_SMOOTHS = 20


@dataclass(frozen=True)
class Dependence:
    """How rows depend on their neighbours, as far as the folds were made for that.

    Every figure is a float, or an array with one entry for each output if y has columns.

    Attributes
    ----------
    kind : str
        Which error is meant: "elsewhere", "gaps", "ahead", or "given" by the folds.
    meaning : str
        The same in words.
    correlation : float
        Estimated correlation of held-out residuals one step apart; d steps apart it is the d-th power.
    buffer : float
        What is left out beside a block, in steps of time or in the unit of the coordinates.
    effective_rows : float
        Independent rows that would say as much about the mean of the losses.
    training_rows : float
        Mean number of rows that the fits with one neighbourhood out are made of.
    places : array of shape (n,) or (n, 2)
        Where rows are: steps from the first time, or coordinates from the corner of the map, in their unit.
    blocks : array of shape (n,)
        The fold that scores each row, -1 if none does.
    """

    kind: str
    meaning: str
    correlation: float | FloatArray
    buffer: float
    effective_rows: float | FloatArray
    training_rows: float
    places: FloatArray | None = field(default=None, repr=False, compare=False)
    blocks: IntArray | None = field(default=None, repr=False, compare=False)

    def short(self) -> str:
        """How far rows depend on each other."""
        rho, rows = np.max(np.atleast_1d(self.correlation)), np.min(np.atleast_1d(self.effective_rows))
        beside = f", buffer {self.buffer:.3g}" if self.kind == "elsewhere" else ""
        return f"correlation {rho:.2f}{beside}, {rows:.0f} effective rows"

    def figures(self) -> dict[str, object]:
        """All but what there is of every row."""
        return {name: value for name, value in vars(self).items() if name not in ("places", "blocks")}

    def line(self) -> str:
        """What is estimated and how far rows depend on each other, in one line."""
        return f"what is meant is {self.meaning}; {self.short()}"


@dataclass(frozen=True)
class SerialKnown:
    """What findings are made from."""

    dependent: Dependent
    n_rows: int
    n_folds: int
    rho: FloatArray
    effective: FloatArray


def told_of(known: SerialKnown, level: float) -> Iterator[tuple[str, str]]:
    """Messages and remedies that a reader of such a result should know."""
    found, effective = known.dependent, float(known.effective.min())
    if found.wanted > found.buffer:
        yield (
            f"Held-out residuals resemble each other over a buffer of {found.wanted:.3g}, and {found.buffer:.3g} is "
            "the most that leaves enough rows to train on: the correlation is too long for these rows, and the error "
            "may be estimated too small.",
            "More rows, or a model of what changes slowly, would help; with few blocks, more of them leave more room.",
        )
    if found.trend > LARGE_TREND:
        yield (
            f"A straight line in time explains {100 * found.trend:.0f}% of the squares of the held-out residuals: what "
            "is taken for correlation may be a trend that the model lacks.",
            "Give the model a function of time, or model the changes from one time to the next.",
        )
    if effective < FEWEST_EFFECTIVE:
        yield (
            f"The losses say as much as {effective:.0f} independent rows: the interval may cover less often than "
            f"{100 * level:g}%.",
            "A longer series would help.",
        )
    if found.kind == "elsewhere" and (known.n_rows < FEWEST_ROWS or known.n_rows < FEWEST_IN_BLOCKS * known.n_folds):
        yield (
            f"{known.n_rows} rows in {known.n_folds} blocks are few: how often such intervals cover was measured from "
            f"{FEWEST_ROWS} rows and blocks of {FEWEST_IN_BLOCKS} on.",
            "More rows would help, or longer blocks by a smaller n_blocks.",
        )
    if found.has_smooth and known.n_folds < BLOCKS_OF_SMOOTHS:
        yield (
            "The model has a smooth function of time, which must bridge a block and its buffers.",
            f"Use TimeBlocks(n_blocks={BLOCKS_OF_SMOOTHS}), or more: shorter blocks are closer to what the model does.",
        )
