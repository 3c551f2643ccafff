"""Held-out losses where their rows are, in time or on a map, as what pictures of them need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .. import display
from ..display.style import loss_label
from ..errors import DataError
from ..typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Placed", "draw_dependence", "placed"]

SHARE_OF_COLOURS = 0.95
"""Of the losses, beyond which colours do not tell them apart."""


class Placed(NamedTuple):
    """Rows that were scored: their places, (n,) or (n, 2), their losses, their blocks; and one block as an example.

    ``beside`` are places of rows that were dropped beside that block.
    """

    places: FloatArray
    losses: FloatArray
    blocks: IntArray
    example: BoolArray
    beside: BoolArray
    buffer: float
    line: str

    @property
    def is_map(self) -> bool:
        """Whether rows lie in a plane."""
        return self.places.ndim == 2

    @property
    def most(self) -> float:
        """The loss from which on colours are the same."""
        return float(np.quantile(self.losses, SHARE_OF_COLOURS))

    def means(self) -> list[tuple[float, float, float]]:
        """First and last time and mean loss of each block."""
        found = []
        for block in np.unique(self.blocks):
            inside = self.blocks == block
            time = self.places[inside]
            found.append((float(time.min()), float(time.max()), float(self.losses[inside].mean())))
        return sorted(found)

    def spans(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The times that the block is scored without, and its own."""
        time = self.places[self.example]
        own = float(time.min()), float(time.max())
        return (own[0] - self.buffer, own[1] + self.buffer), own


def placed(result: Any, losses: FloatArray) -> Placed | None:
    """Where the losses (n,) of a result are; None if its folds are not for rows that follow one another."""
    found = result.dependence
    if found is None or found.places is None:
        return None
    scored = (found.blocks >= 0) & np.isfinite(losses)
    places, blocks = found.places[scored], found.blocks[scored]
    example = blocks == np.unique(blocks)[len(np.unique(blocks)) // 2]
    beside = np.zeros(len(blocks), dtype=bool)
    if found.buffer > 0:
        columns = places.reshape(len(places), -1)
        gap, _ = cKDTree(columns[example]).query(columns)
        beside = ~example & (gap <= found.buffer * (1 + 1e-9))
    return Placed(places, losses[scored], blocks, example, beside, found.buffer, found.short())


def draw_dependence(result: Any, ax: Any) -> Axes | list[Axes]:
    """The losses along time or on the map; a picture for each output."""
    names, table = result.output_names, result.heldout
    label = loss_label(result.loss) if result.row_value == "loss" else "influence of a row"
    if names is None:
        return _draw(result, table[result.row_value].to_numpy(float), label, ax)
    axes = [None] * len(names) if ax is None else list(np.atleast_1d(np.asarray(ax)))
    both = zip(names, axes, strict=True)
    return [
        _draw(result, table[(result.row_value, name)].to_numpy(float), f"{name}: {label}", one) for name, one in both
    ]


def _draw(result: Any, losses: FloatArray, label: str, ax: Axes | None) -> Axes:
    found = placed(result, losses)
    if found is None:
        raise DataError(
            'plot(kind="dependence") is about rows that follow one another; give cv=onefit.TimeBlocks(), SpaceBlocks, '
            "Gaps or RollingOrigin."
        )
    if found.is_map:
        return display.plot_on_map(
            found.places, found.losses, dropped=np.flatnonzero(found.beside), block=np.flatnonzero(found.example),
            most=found.most, label=label, title=found.line, ax=ax,
        )  # fmt: skip
    dropped, own = found.spans() if found.buffer > 0 else (None, None)
    return display.plot_along_time(
        found.places, found.losses, found.means(), dropped=dropped, block=own, label=label, title=found.line, ax=ax
    )
