"""The terms of an additive model, a panel each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .functions import plot_function
from .style import CHOSEN, GRID, OTHER, AxesArray, given_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TermPanel", "plot_terms"]

MOST_COLUMNS = 2  # names are still read where a page shows the picture 400 pixels wide
PANEL_SIZE = (3.2, 2.7)
MOST_LETTERS = 16  # of a level: a longer name would take the room of the panel
MOST_UPRIGHT = 24  # letters of all levels that fit below a panel side by side


@dataclass(frozen=True)
class TermPanel:
    """The effect of one term.

    Attributes
    ----------
    x : array-like of shape (n_points,)
        Numbers in increasing order, or names of levels.
    effect, low, high : array-like of shape (n_points,)
        Its values, and the ends of their intervals.
    xlabel, ylabel : str
    rug : array-like, default=()
        Values of the data, marked on the axis.

    Examples
    --------
    >>> from onefit.display import TermPanel
    >>> TermPanel(["f", "m"], [0.0, 1.0], [0.0, 0.8], [0.0, 1.2], "sex", "effect of sex").xlabel
    'sex'
    """

    x: ArrayLike
    effect: ArrayLike
    low: ArrayLike
    high: ArrayLike
    xlabel: str
    ylabel: str
    rug: ArrayLike = ()

    @property
    def is_levels(self) -> bool:
        """Whether x holds names."""
        return np.asarray(self.x).dtype.kind not in "fiu"


def plot_terms(panels: Sequence[TermPanel], *, axes: Sequence[Axes] | AxesArray | None = None) -> AxesArray:
    """Draw one panel a term: a function with its band and a rug of the data, or a point and an interval for each level.

    Parameters
    ----------
    panels : sequence of TermPanel
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, one for each term; a new figure by default, whose panels share the axis of effects.
        Small ones need a figure with ``layout="constrained"``.

    Returns
    -------
    array of matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    OneFitError
        If matplotlib is missing, or the number of axes is not that of the terms.

    Examples
    --------
    >>> from onefit.display import TermPanel, plot_terms
    >>> line = TermPanel([0, 1, 2], [-1, 0, 1], [-1.5, -0.2, 0.5], [-0.5, 0.2, 1.5], "age", "s(age, 1.0)", [0.1, 1.7])
    >>> axes = plot_terms([line])
    >>> axes[0].get_ylabel()
    's(age, 1.0)'
    """
    drawn = _new_axes(len(panels)) if axes is None else given_axes(axes, tuple(panel.ylabel for panel in panels))
    for panel, ax in zip(panels, drawn, strict=True):
        if panel.is_levels:
            _draw_levels(panel, ax)
        else:
            plot_function(panel.x, panel.effect, panel.low, panel.high, ax=ax, xlabel=panel.xlabel, ylabel=panel.ylabel)
            rug = np.asarray(panel.rug, dtype=float)
            # in the lowest part of the panel, whatever its scale
            ax.vlines(rug, 0.0, 0.03, transform=ax.get_xaxis_transform(), color=OTHER, linewidth=0.5, alpha=0.6)
    return drawn


def _new_axes(count: int) -> AxesArray:
    """Panels of a new figure, at most two side by side; those left over are removed."""
    n_columns = min(count, MOST_COLUMNS)
    n_rows = -(-count // n_columns)
    width, height = PANEL_SIZE
    axes = new_axes(n_rows, n_columns, (width * n_columns, height * n_rows), sharey=True)
    for ax in axes[:count]:
        ax.tick_params(labelleft=True)  # the labels differ, so each panel shows its own axis
    for ax in axes[count:]:
        ax.remove()
    return axes[:count]


def _draw_levels(panel: TermPanel, ax: Axes) -> None:
    """A point and an interval for each level."""
    names = [_short(str(level)) for level in np.asarray(panel.x, dtype=object)]
    effect, low, high = (np.asarray(each, dtype=float) for each in (panel.effect, panel.low, panel.high))
    at = np.arange(len(names))
    ax.axhline(0.0, color=OTHER, linewidth=1.0, zorder=2)
    ax.vlines(at, low, high, color=CHOSEN, linewidth=2.0, alpha=0.45, zorder=2.5)
    ax.plot(at, effect, linestyle="none", marker="o", color=CHOSEN, zorder=3)
    crowded = sum(map(len, names)) > MOST_UPRIGHT
    ax.set_xticks(at, names, rotation=40 if crowded else 0, ha="right" if crowded else "center")
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel(panel.xlabel)
    ax.set_ylabel(panel.ylabel)


def _short(name: str) -> str:
    """A name with an ellipsis if it is long."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
