"""A fitted curve with its band and the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .style import CHOSEN, GRID, OTHER, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_fit"]


def plot_fit(
    x: ArrayLike,
    mean: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    points: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    ax: Axes | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
) -> Axes:
    """Draw a fitted curve as a line, its band shaded, and the data as points.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Where the curve is known, in increasing order.
    mean, low, high : array-like of shape (n_points,)
        Its values, and the ends of their intervals.
    points : tuple of two array-like, optional
        Where the data lie, across and up.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel : str, optional
        What to write on the axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    OneFitError
        If matplotlib is missing.

    Examples
    --------
    >>> from onefit.display.fit import plot_fit
    >>> ax = plot_fit([0, 1, 2], [5, 6, 5], [4, 5, 4], [6, 7, 6], ([0.5, 1.5], [5.2, 5.9]), xlabel="time")
    >>> ax.get_xlabel()
    'time'
    """
    axes = new_axes(1, 1, (7.0, 4.0))[0] if ax is None else ax
    at, value, down, up = (np.asarray(each, dtype=float) for each in (x, mean, low, high))
    if points is not None:
        across, along = (np.asarray(each, dtype=float) for each in points)
        axes.scatter(across, along, s=12, color=OTHER, alpha=0.6, linewidths=0, zorder=2)
    axes.fill_between(at, down, up, facecolor=CHOSEN, alpha=0.22, linewidth=0, zorder=1.5)
    axes.plot(at, value, color=CHOSEN, linewidth=1.8, zorder=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    if xlabel is not None:
        axes.set_xlabel(xlabel)
    if ylabel is not None:
        axes.set_ylabel(ylabel)
    return axes
