"""Plots: plain arrays in, matplotlib Axes out; nothing is estimated here.

matplotlib is an optional dependency and is imported when a plot is drawn.

- `plot_intervals`: the interval of each rule of one result.
- `plot_curve`: the error along the values of a parameter, and its paired difference from the best value.
- `plot_comparison`: the errors of several models, and their paired differences.
"""

from __future__ import annotations

from .comparison import plot_comparison
from .curve import plot_curve
from .rules import plot_intervals

__all__ = ["plot_comparison", "plot_curve", "plot_intervals"]
