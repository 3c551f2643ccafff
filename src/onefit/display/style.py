"""What the plots share: colours, wording, and axes to draw on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import OneFitError, how_to_install
from ..vocabulary import LOSS_WORDS, METRIC_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = [
    "ABSENT",
    "CHOSEN",
    "GRID",
    "NARROW",
    "OTHER",
    "SELECTED",
    "SHADE",
    "AxesArray",
    "LineStyle",
    "given_axes",
    "loss_label",
    "new_axes",
    "number",
    "room",
    "set_texts",
    "title_of_level",
    "wrapped",
]

AxesArray: TypeAlias = npt.NDArray[np.object_]
LineStyle: TypeAlias = str | tuple[float, tuple[float, ...]]

# Okabe and Ito's blue is safe under every common colour-vision deficiency; greys carry the rest.
CHOSEN = "#0072B2"
OTHER = "#5F5F5F"
ABSENT = "#767676"
GRID = "#E3E3E3"
SHADE = "#FAEBC4"

# Okabe and Ito's vermillion, green, purple, black and orange, dark enough to be read as text; a line style each too.
SELECTED: tuple[tuple[str, LineStyle], ...] = (
    ("#B84A00", "--"),
    ("#00775A", "-."),
    ("#9A4B7C", ":"),
    ("#333333", (0, (7, 2))),
    ("#8A6100", (0, (4, 1.5, 1, 1.5, 1, 1.5))),
    ("#3B4A9B", (0, (1, 3))),
)

LETTER_INCHES = 0.08  # width of a letter of medium size
NARROW = 24  # letters; panels that have no room for more have small ones
MOST_NARROW = 12  # letters that every panel is taken to have room for


def loss_label(loss: str) -> str:
    """Name of a loss as a reader would write it."""
    return {**LOSS_WORDS, **METRIC_WORDS}.get(loss, loss.replace("_", " "))


def title_of_level(confidence_level: float, greater_is_better: bool = False) -> str:
    """Title of a plot of generalization errors or scores."""
    return f"Generalization {'score' if greater_is_better else 'error'}, {100 * confidence_level:g}% intervals"


def number(value: float, digits: int = 4) -> str:
    """That many significant digits, and no exponent where whole digits will do."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.{digits}g}"


def new_axes(n_rows: int, n_columns: int, size: tuple[float, float], **options: Any) -> AxesArray:
    """Axes of a new figure, as a flat array; an error with a remedy if matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise OneFitError(f"Plots need matplotlib, which is not installed: {how_to_install('plot')}.") from error
    _, axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options)
    return np.asarray(axes, dtype=object).ravel()


def room(axes: Axes) -> int:
    """Letters of medium size that stand side by side across a panel, before any layout."""
    return max(MOST_NARROW, int(axes.get_window_extent().width / axes.figure.dpi / LETTER_INCHES))


def set_texts(axes: Axes, title: str, x: str) -> None:
    """Title and name of the horizontal axis on the lines that the panel needs; titles on more in a smaller figure."""
    letters = room(axes)
    size = "medium" if letters > NARROW else "x-small"
    axes.set_title(wrapped(title, letters), loc="left", fontsize=size, wrap=True)
    axes.set_xlabel(wrapped(x, letters), fontsize=size)
    axes.tick_params(labelsize=size)


def wrapped(text: str, letters: int) -> str:
    """Text on lines of so many letters; lines that it has stay lines."""
    lines = [textwrap.wrap(line, letters, break_long_words=True) for line in text.split("\n")]
    return "\n".join(part for parts in lines for part in parts)


def one_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The caller's axes, or those of a new figure."""
    return new_axes(1, 1, size)[0] if ax is None else ax


def framed(axes: Axes, title: str, x: str, y: str, **legend: Any) -> Axes:
    """The axes with names, a small legend, and lines to the left and below alone."""
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.legend(framealpha=0.9, edgecolor="none", fontsize="small", **legend)  # shaded parts would swallow its marks
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def given_axes(axes: Sequence[Axes] | AxesArray | Axes, parts: tuple[str, ...]) -> AxesArray:
    """The caller's axes as a flat array, one for each part of the plot."""
    found = np.ravel(np.asarray(axes, dtype=object))
    if found.size != len(parts):
        raise OneFitError(
            f"This plot has {len(parts)} parts ({' and '.join(parts)}) and needs as many axes, but `axes` holds"
            f" {found.size}: pass {len(parts)} matplotlib Axes, or leave `axes` out for a new figure."
        )
    return found
