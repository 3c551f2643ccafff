"""Differences between all pairs of several models, as a map of colours."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .numbers import Digits
from .style import CHOSEN, GRID, OTHER, SELECTED, loss_label, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_differences"]

WORSE = SELECTED[0][0]
FAINT = 0.25
"""Strength of the colour of a difference whose interval holds zero, as a share of what it would be."""

WIDEST = 9
"""Letters of a name that stand side by side below the cells; longer ones are slanted."""

MOST_WRITTEN = 12
"""Models up to which differences are written into the cells."""


def plot_differences(
    names: Sequence[str],
    difference: ArrayLike,
    is_told: ArrayLike,
    *,
    loss: str,
    confidence_level: float,
    greater_is_better: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw a cell for each pair of models: the figure of the row minus that of the column.

    Parameters
    ----------
    names : sequence of str
        Names of the models, from the best.
    difference : array-like of shape (n_models, n_models)
        Row minus column; NaN where there is none.
    is_told : array-like of bool of shape (n_models, n_models)
        Whether the interval of the difference excludes zero.
    loss : str
        Name of the loss or score.
    confidence_level : float
        Level of the intervals.
    greater_is_better : bool, default=False
        Whether the figures are scores rather than errors.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Blue: the row is better than the column, orange: worse. Cells are pale where the interval of the paired difference
    holds zero, so that the two are not told apart; the others are in bold.

    Examples
    --------
    >>> from onefit.display import plot_differences
    >>> ax = plot_differences(["ridge", "forest"], [[0.0, -0.3], [0.3, 0.0]], [[False, True], [True, False]],
    ...                       loss="squared_error", confidence_level=0.95)
    >>> [text.get_text() for text in ax.texts]
    ['-0.3000', '0.3000']
    """
    values, told = np.asarray(difference, dtype=float), np.asarray(is_told, dtype=bool)
    size = 1.4 + 0.75 * len(names)
    ax = one_axes(ax, (size + 1.2, size))
    off = ~np.eye(len(names), dtype=bool) & np.isfinite(values)
    ax.imshow(_colors(values, told, off, 1.0 if greater_is_better else -1.0), interpolation="nearest")
    labels = ["\n".join(textwrap.wrap(name, 16, break_long_words=True)) for name in names]
    if len(names) > 4 or max(len(line) for label in labels for line in label.split("\n")) > WIDEST:
        ax.set_xticks(range(len(names)), labels, rotation=45, ha="right", rotation_mode="anchor")
    else:
        ax.set_xticks(range(len(names)), labels)
    ax.set_yticks(range(len(names)), labels)
    ax.set_xticks(np.arange(len(names) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    ax.grid(which="minor", color=GRID, linewidth=1.0)
    ax.tick_params(which="both", length=0)
    if len(names) <= MOST_WRITTEN:
        digits = Digits.of(values[off])
        for row, column in np.argwhere(off):
            text = digits.text(float(values[row, column])).replace("−", "-")
            weight = "bold" if told[row, column] else "normal"
            ax.text(column, row, text, ha="center", va="center", weight=weight, fontsize="small")
    ax.set_title(
        f"Difference in {loss_label(loss)}, row minus column\nblue: the row is better; pale: not told apart at "
        f"{100 * confidence_level:g}%",
        loc="left",
        fontsize="medium",
        wrap=True,
    )
    for spine in ax.spines.values():
        spine.set_color(OTHER)
    return ax


def _colors(values: np.ndarray, told: np.ndarray, off: np.ndarray, sign: float) -> np.ndarray:
    """RGB of every cell: better in blue, worse in orange, stronger with the size of the difference."""
    from matplotlib.colors import to_rgb

    largest = float(np.abs(values[off]).max(initial=0.0)) or 1.0
    share = np.where(off, sign * values / largest, 0.0)
    strength = 0.25 + 0.45 * np.abs(share)
    strength = np.where(off, np.where(told, strength, FAINT * strength), 0.0)[..., None]
    hue = np.where(share[..., None] > 0, to_rgb(CHOSEN), to_rgb(WORSE))
    return 1.0 - strength * (1.0 - hue)
