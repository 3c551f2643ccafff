"""A function of one variable with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .style import CHOSEN, GRID, OTHER, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_function"]


def plot_function(
    x: ArrayLike,
    mean: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    points: tuple[ArrayLike, ArrayLike] | None = None,
    zero: bool = True,
    ax: Axes | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    label: str | None = None,
) -> Axes:
    """Draw a function as a line, its band shaded, the data as points, and a line at zero.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Where the function is known, in increasing order.
    mean : array-like of shape (n_points,)
        Its values. NaN leaves a gap.
    low, high : array-like of shape (n_points,), optional
        Ends of the band; without them there is none.
    points : tuple of two array-like, optional
        Where the data lie, across and up.
    zero : bool, default=True
        Whether zero is a value to compare with.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    xlabel, ylabel, title : str, optional
        What to write on the axes.
    label : str, optional
        Name of the function, for a legend.

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
    >>> from onefit.display import plot_function
    >>> ax = plot_function([0, 1, 2], [0.5, 1, 0.8], [0.2, 0.8, 0.3], [0.8, 1.2, 1.3], xlabel="t", title="omega")
    >>> ax.get_title(loc="left")
    'omega'
    """
    axes = new_axes(1, 1, (7.0, 4.0))[0] if ax is None else ax
    at, value = np.asarray(x, dtype=float), np.asarray(mean, dtype=float)
    if points is not None:
        across, along = (np.asarray(each, dtype=float) for each in points)
        axes.scatter(across, along, s=12, color=OTHER, alpha=0.6, linewidths=0, zorder=2)
    if low is not None and high is not None:
        down, up = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        axes.fill_between(at, down, up, facecolor=CHOSEN, alpha=0.22, linewidth=0, zorder=1.5)
    if zero:
        axes.axhline(0.0, color=OTHER, linewidth=1.0, zorder=2)
    axes.plot(at, value, color=CHOSEN, linewidth=1.8, label=label, zorder=3)
    if points is None:
        axes.margins(x=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    if label is not None:
        axes.legend(frameon=False)
    if xlabel is not None:
        axes.set_xlabel(xlabel)
    if ylabel is not None:
        axes.set_ylabel(ylabel)
    if title is not None:
        axes.set_title(title, loc="left", fontsize="medium")
    return axes
