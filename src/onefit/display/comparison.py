"""The errors of several models, and their differences on the same rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .rows import draw_row, label_rows, row_limits, tidy_rows
from .style import OTHER, AxesArray, given_axes, loss_label, new_axes, title_of_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_comparison"]

PARTS = ("the error of each model", "their differences")


def plot_comparison(
    names: Sequence[str],
    estimates: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    pairs: Sequence[tuple[str, str]],
    difference: ArrayLike,
    difference_low: ArrayLike,
    difference_high: ArrayLike,
    *,
    loss: str,
    confidence_level: float,
    greater_is_better: bool = False,
    axes: Sequence[Axes] | AxesArray | None = None,
) -> AxesArray:
    """Draw the error of each model on the left, and every pairwise difference of errors on the right.

    Parameters
    ----------
    names : sequence of str
        Names of the models, drawn from top to bottom.
    estimates, lows, highs : array-like of shape (n_models,)
        Error of each model and the ends of its interval; NaN where there is none.
    pairs : sequence of (str, str)
        The pairs compared, drawn from top to bottom; the error of the second is taken from that of the first.
    difference, difference_low, difference_high : array-like of shape (n_pairs,)
        Difference of errors of each pair and the ends of its interval.
    loss : str
        Name of the loss, for the horizontal axes.
    confidence_level : float
        Level of the intervals, for the title.
    greater_is_better : bool, default=False
        Whether the figures are scores rather than errors.
    axes : sequence of two matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ndarray of two matplotlib.axes.Axes
        The errors and the differences.

    Raises
    ------
    OneFitError
        If `axes` does not hold two axes, or matplotlib is missing.

    Notes
    -----
    Differences whose interval excludes zero are emphasised. Overlap of the intervals on the left is no test of a
    difference: the models meet the same rows, so the paired intervals on the right are the ones to read.

    Examples
    --------
    >>> from onefit.display import plot_comparison
    >>> left, right = plot_comparison(["ridge", "lasso"], [3.1, 3.4], [2.7, 2.9], [3.6, 4.0], [("ridge", "lasso")],
    ...                               [-0.3], [-0.5], [-0.1], loss="squared_error", confidence_level=0.95)
    >>> [label.get_text() for label in right.get_yticklabels()]
    ['ridge - lasso']
    """
    lines = [sum(_wrapped(label).count("\n") + 1 for label in labels) for labels in (names, map(" - ".join, pairs))]
    size = (9.0, 1.6 + 0.3 * max(*lines, 2))
    both = new_axes(1, 2, size) if axes is None else given_axes(axes, PARTS)
    left, right = both
    _draw_rows(left, [_wrapped(name) for name in names], estimates, lows, highs, zero=False)
    left.set_xlabel(loss_label(loss))
    left.set_title(title_of_level(confidence_level, greater_is_better), loc="left", fontsize="medium")
    labels = [_wrapped(f"{first} - {second}") for first, second in pairs]
    _draw_rows(right, labels, difference, difference_low, difference_high, zero=True)
    right.set_xlabel(
        f"difference in {loss_label(loss)}\n({'above' if greater_is_better else 'below'} 0: the first is better)"
    )
    right.set_title("Paired differences", loc="left", fontsize="medium")
    return both


def _draw_rows(
    axes: Axes, labels: list[str], estimates: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, zero: bool
) -> None:
    """Draw one interval a row, with a line at zero if asked for and the intervals that exclude it emphasised."""
    estimate, low, high = (np.asarray(values, dtype=float) for values in (estimates, lows, highs))
    excludes = zero & ((low > 0) | (high < 0))
    in_sight = np.append(estimate, 0.0 if zero else np.nan)  # zero is shown as an estimate without an interval would be
    whole = np.zeros(in_sight.size, dtype=bool)
    axes.set_xlim(row_limits(in_sight, np.append(low, np.nan), np.append(high, np.nan), whole))
    for row, strong in enumerate(excludes):
        draw_row(axes, row, estimate[row], low[row], high[row], emphasised=bool(strong))
    if zero:
        axes.axvline(0.0, color=OTHER, linewidth=1.0, zorder=2)
    label_rows(axes, labels, excludes, np.isfinite(estimate))
    tidy_rows(axes)
    axes.locator_params(axis="x", nbins=5)  # two panels share the width


def _wrapped(label: str) -> str:
    """A long label on several lines, so that it leaves room for the panel."""
    return "\n".join(textwrap.wrap(label, 24, break_long_words=True))
