"""The errors of several models, and their differences on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .rows import draw_row, label_rows, row_limits, tidy_rows
from .style import NARROW, OTHER, AxesArray, given_axes, loss_label, new_axes, room, set_texts, title_of_level, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_comparison"]

PARTS = ("the error of each model", "their differences")
WIDTH = 6.0  # inches; names are still read where a page shows the picture 400 pixels wide


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
    """Draw the error of each model, and below them every pairwise difference of errors.

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
        Where to draw; a new figure by default. Small ones need a figure with ``layout="constrained"``.

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
    Differences whose interval excludes zero are emphasised. Overlap of the models' own intervals is no test of a
    difference: the models meet the same rows, so the paired intervals below are the ones to read.

    Examples
    --------
    >>> from onefit.display import plot_comparison
    >>> above, below = plot_comparison(["ridge", "lasso"], [3.1, 3.4], [2.7, 2.9], [3.6, 4.0], [("ridge", "lasso")],
    ...                               [-0.3], [-0.5], [-0.1], loss="squared_error", confidence_level=0.95)
    >>> [label.get_text() for label in below.get_yticklabels()]
    ['ridge - lasso']
    """
    labels = [(name,) for name in names], list(pairs)
    both = _new_axes(labels) if axes is None else given_axes(axes, PARTS)
    above, below = both
    _draw_rows(above, labels[0], estimates, lows, highs, zero=False)
    set_texts(above, title_of_level(confidence_level, greater_is_better), loss_label(loss))
    _draw_rows(below, labels[1], difference, difference_low, difference_high, zero=True)
    way = "above" if greater_is_better else "below"
    set_texts(below, "Paired differences", f"difference in {loss_label(loss)}\n({way} 0: the first is better)")
    return both


def _new_axes(labels: Sequence[Sequence[tuple[str, ...]]]) -> AxesArray:
    """Panels of a new figure, one above the other, as high as their names."""
    lines = [max(2, sum(_lines(label, NARROW).count("\n") + 1 for label in each)) for each in labels]
    return new_axes(2, 1, (WIDTH, 1.9 + 0.3 * sum(lines)), height_ratios=lines)


def _draw_rows(
    axes: Axes,
    labels: Sequence[tuple[str, ...]],
    estimates: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    *,
    zero: bool,
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
    letters = room(axes)
    names = [_lines(label, min(NARROW, letters)) for label in labels]
    label_rows(axes, names, excludes, np.isfinite(estimate))
    tidy_rows(axes)
    axes.locator_params(axis="x", nbins=4 if letters > NARROW else 2)


def _lines(parts: tuple[str, ...], letters: int) -> str:
    """A model, or the difference of two, in one line if it is short; a difference breaks behind its sign first."""
    whole = " - ".join(parts)
    return whole if len(whole) <= letters else " -\n".join(wrapped(part, letters - 2) for part in parts)
