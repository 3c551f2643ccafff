"""The interval of each rule of one result, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .rows import draw_row, label_rows, row_limits, tidy_rows
from .style import CHOSEN, loss_label, new_axes, title_of_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_intervals"]


def plot_intervals(
    names: Sequence[str],
    estimates: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    *,
    chosen: str,
    confidence_level: float,
    loss: str,
    greater_is_better: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the interval of each rule on a row of its own, the chosen rule emphasised.

    Parameters
    ----------
    names : sequence of str
        Names of the interval rules, drawn from top to bottom.
    estimates, lows, highs : array-like of shape (n_rules,)
        Point estimates and interval ends. A rule without an estimate is listed as not available; one with an
        estimate but no interval is drawn as an open point.
    chosen : str
        The rule to emphasise.
    confidence_level : float
        Level of the intervals, for the title.
    loss : str
        Name of the loss, for the horizontal axis.
    greater_is_better : bool, default=False
        Whether the figures are scores rather than errors.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Notes
    -----
    An interval much wider than the others is cut at the edge of the plot, with an arrow and the value of its
    end, so that it does not squeeze the others together.

    Examples
    --------
    >>> from onefit.display import plot_intervals
    >>> ax = plot_intervals(["covariance", "naive"], [3.1, 3.0], [2.7, 2.8], [3.6, 3.3], chosen="covariance",
    ...                     confidence_level=0.95, loss="squared_error")
    >>> ax.get_xlabel()
    'squared error'
    """
    names = list(names)
    estimate, low, high = (np.asarray(values, dtype=float) for values in (estimates, lows, highs))
    axes = new_axes(1, 1, (7.0, 1.3 + 0.4 * max(len(names), 2)))[0] if ax is None else ax
    is_chosen = np.array([name == chosen for name in names])
    axes.set_xlim(row_limits(estimate, low, high, is_chosen))
    for row, strong in enumerate(is_chosen):
        draw_row(axes, row, estimate[row], low[row], high[row], emphasised=strong, figures=strong)
    label_rows(axes, names, is_chosen, np.isfinite(estimate))
    for value in estimate[is_chosen & np.isfinite(estimate)]:
        axes.axvline(value, color=CHOSEN, linewidth=0.8, alpha=0.35, zorder=1)
    axes.set_xlabel(loss_label(loss))
    axes.set_title(title_of_level(confidence_level, greater_is_better), loc="left", fontsize="medium")
    tidy_rows(axes)
    return axes
