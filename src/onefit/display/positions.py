"""Where the values of a parameter lie on the horizontal axis: a linear or log scale, or a place a category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, SupportsFloat, cast

import numpy as np

from ..errors import OneFitError
from ..typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Positions", "squeezed", "unsqueezed"]

MARGIN = 0.03  # of the width, on either side of the values
PLAIN = (1e-4, 1e5)  # numbers on a log axis between these are written out
LONG_LABELS = 50  # characters of category names that fit side by side


@dataclass(frozen=True)
class Positions:
    """Positions of the values on the horizontal axis, in the order given.

    Attributes
    ----------
    at : ndarray of shape (n_values,)
        The values themselves, or 0, 1, ... for categories.
    names : list of str or None
        Names of the categories; None for numbers.
    log : bool
        Whether a log scale is wanted.
    """

    at: FloatArray
    names: list[str] | None
    log: bool

    @classmethod
    def of(cls, values: Iterable[object], *, log: bool) -> Positions:
        """Positions of numbers, or of categories if any value is no number (strings, None, True and False)."""
        listed = list(values)
        if all(isinstance(value, Real) and not isinstance(value, bool) for value in listed):
            return cls(np.array([float(cast(SupportsFloat, value)) for value in listed]), None, log)
        return cls(np.arange(float(len(listed))), [str(value) for value in listed], log=False)

    def find(self, value: object) -> float:
        """Position of a value; NaN for a missing number."""
        if self.names is None:
            return float("nan") if value is None else float(cast(SupportsFloat, value))
        if str(value) not in self.names:
            raise OneFitError(f"The value {value!r} is not on the axis, which has {', '.join(self.names)}.")
        return float(self.names.index(str(value)))

    def among(self, values: Iterable[object]) -> BoolArray:
        """Which of the positions belong to these values."""
        places = np.array([self.find(value) for value in values], dtype=float)
        same: BoolArray = np.isclose(self.at[:, None], places, rtol=1e-9, atol=0.0)
        return np.asarray(same.any(axis=1))

    def set_ticks(self, axes: Axes) -> None:
        """Set scale, limits and ticks of the horizontal axis."""
        if self.names is not None:
            long = sum(len(name) + 2 for name in self.names) > LONG_LABELS
            axes.set_xticks(self.at, labels=self.names)
            if long:
                axes.tick_params(axis="x", rotation=30)
                for label in axes.get_xticklabels():
                    label.set(ha="right", rotation_mode="anchor")
            axes.set_xlim(self.at.min() - 0.5, self.at.max() + 0.5)
            return
        self._scale(axes)
        ends = squeezed(axes, np.array([self.at.min(), self.at.max()]))
        margin = MARGIN * (ends[1] - ends[0]) or 0.5
        left, right = unsqueezed(axes, np.array([ends[0] - margin, ends[1] + margin]))
        axes.set_xlim(left, right)

    def _scale(self, axes: Axes) -> None:
        """Log scale if wanted; with a value of zero a scale that is linear from it to the smallest other value."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        sizes = np.abs(self.at[self.at != 0])
        if not self.log or sizes.size == 0:
            if np.all(self.at == np.round(self.at)):
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            return
        if self.at.min() > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=sizes.min(), linscale=0.7)
        if sizes.min() >= PLAIN[0] and sizes.max() <= PLAIN[1]:
            between = "2357" if sizes.max() < 20 * sizes.min() else ""
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axes.xaxis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in between else ""))

    def cells(self, axes: Axes, chosen: BoolArray) -> list[tuple[float, float]]:
        """Stretches of the axis around the chosen values, each reaching halfway to its neighbours."""
        order = np.argsort(self.at)
        places = squeezed(axes, self.at[order])
        edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
        edges = unsqueezed(axes, np.clip(edges, *squeezed(axes, np.array(axes.get_xlim()))))
        padded = np.concatenate([[False], chosen[order], [False]]).astype(int)
        starts, stops = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
        return [(float(edges[start]), float(edges[stop])) for start, stop in zip(starts, stops, strict=True)]


def squeezed(axes: Axes, x: FloatArray) -> FloatArray:
    """Horizontal positions on the scale on which the axis is even."""
    return np.asarray(axes.xaxis.get_transform().transform(x), dtype=float)


def unsqueezed(axes: Axes, x: FloatArray) -> FloatArray:
    """Inverse of `squeezed`."""
    return np.asarray(axes.xaxis.get_transform().inverted().transform(x), dtype=float)
