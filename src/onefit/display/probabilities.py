"""Pictures of held-out probabilities: are they right, and do they order the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .numbers import percent
from .style import CHOSEN, GRID, OTHER, framed, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_calibration", "plot_roc"]

SIZE = (5.2, 5.0)


def plot_calibration(
    probability: ArrayLike,
    share: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    line: tuple[ArrayLike, ArrayLike] | None,
    label: str,
    confidence_level: float,
    title: str = "Calibration",
    ax: Axes | None = None,
) -> Axes:
    """Draw observed shares against predicted probabilities, by bins, with bars.

    Parameters
    ----------
    probability, share, low, high : array-like of shape (n_bins,)
        Mean predicted probability of each bin, the observed share, and the ends of its interval.
    line : pair of array-like, or None
        Probabilities and their recalibrated values.
    label : str
        The class whose probability it is.
    confidence_level : float
        Level of the bars.
    title : str
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = one_axes(ax, SIZE)
    x, y, down, up = (np.asarray(part, dtype=float) for part in (probability, share, low, high))
    axes.plot([0, 1], [0, 1], color=OTHER, linewidth=1.0, linestyle=(0, (5, 3)), label="perfect", zorder=2)
    axes.vlines(x, down, up, colors=CHOSEN, linewidth=1.8, zorder=3)
    axes.plot(
        x, y, "o", color=CHOSEN, markersize=5.5, zorder=4, label=f"observed share, {percent(confidence_level)} bars"
    )
    if line is not None:
        axes.plot(*line, color=CHOSEN, linewidth=1.6, alpha=0.75, zorder=3, label="recalibration line")
    names = f"held-out probability of {label}", f"observed share of {label}"
    return _square(framed(axes, title, *names, loc="upper left"))


def plot_roc(
    false_positive: ArrayLike,
    true_positive: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    label: str,
    confidence_level: float,
    resampled: str = "rows",
    title: str = "ROC curve of the held-out probabilities",
    ax: Axes | None = None,
) -> Axes:
    """Draw the rate of true positives along that of false positives, with a band.

    Parameters
    ----------
    false_positive, true_positive, low, high : array-like of shape (n_points,)
        The curve and the ends of its pointwise band.
    label : str
        The class that is looked for.
    confidence_level : float
        Level of the band.
    resampled : str
        What the band resamples.
    title : str
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    axes = one_axes(ax, SIZE)
    x, y, down, up = (np.asarray(part, dtype=float) for part in (false_positive, true_positive, low, high))
    name = f"{percent(confidence_level)} band, {resampled} resampled"
    axes.fill_between(x, down, up, facecolor=CHOSEN, alpha=0.22, linewidth=0, label=name, zorder=2)
    axes.plot(x, y, color=CHOSEN, linewidth=1.8, zorder=3)
    axes.plot([0, 1], [0, 1], color=OTHER, linewidth=1.0, linestyle=(0, (5, 3)), label="chance", zorder=2)
    names = f"share of others called {label}", f"share of {label} found"
    return _square(framed(axes, title, *names, loc="lower right"))


def _square(axes: Axes) -> Axes:
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    return axes
