"""Pictures of rows that follow one another: what was held out along time, or on a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .style import CHOSEN, GRID, OTHER, SHADE, framed, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_along_time", "plot_on_map"]

SIZE, SIZE_OF_MAP = (7.2, 3.6), (6.4, 4.8)


def plot_along_time(
    time: ArrayLike,
    loss: ArrayLike,
    means: Sequence[tuple[float, float, float]],
    *,
    dropped: tuple[float, float] | None,
    block: tuple[float, float] | None,
    label: str,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the losses of rows along time, the mean of each block, and what is dropped with one of them.

    Parameters
    ----------
    time, loss : array-like of shape (n,)
    means : sequence of (first time, last time, mean loss)
        Of the blocks.
    dropped, block : pair of float, or None
        The times that one block is scored without, and its own.
    label, title : str
        What the losses are, and what is said above.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = one_axes(ax, SIZE)
    for span, colour, name in ((dropped, SHADE, "dropped with it"), (block, GRID, "one block")):
        if span is not None:
            axes.axvspan(*span, color=colour, linewidth=0, zorder=0, label=name)
    axes.plot(np.asarray(time), np.asarray(loss), ".", color=OTHER, markersize=4, alpha=0.6, zorder=2, label="a row")
    for at, (first, last, mean) in enumerate(means):
        told = "mean of its block" if at == 0 else None
        axes.plot([first, last], [mean, mean], color=CHOSEN, linewidth=2.2, zorder=3, label=told, solid_capstyle="butt")
    return framed(axes, title, "steps of time", label, ncols=2)


def plot_on_map(
    points: ArrayLike,
    loss: ArrayLike,
    *,
    dropped: ArrayLike,
    block: ArrayLike,
    most: float,
    label: str,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the losses of rows on the map, one block, and what is dropped with it.

    Parameters
    ----------
    points : array-like of shape (n, 2)
    loss : array-like of shape (n,)
    dropped, block : array-like of int
        Rows that are dropped beside one block, and its own.
    most : float
        The loss from which on colours are the same.
    label, title : str
        What the losses are, and what is said above.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = one_axes(ax, SIZE_OF_MAP)
    where, values = np.asarray(points, dtype=float), np.asarray(loss, dtype=float)
    for rows, colour, name in ((dropped, "#B84A00", "dropped with it"), (block, "black", "one block")):
        some = where[np.asarray(rows, dtype=np.intp)]
        if len(some):
            axes.scatter(
                some[:, 0], some[:, 1], s=34, facecolors="none", edgecolors=colour, linewidths=1.0, zorder=2, label=name
            )
    shown = axes.scatter(where[:, 0], where[:, 1], c=values, s=10, cmap="viridis_r", vmin=0, vmax=most, zorder=3)
    axes.figure.colorbar(shown, ax=axes, label=label, extend="max")
    axes.set_aspect("equal")
    return framed(axes, title, "first coordinate", "second coordinate", frameon=False)  # hides no row
