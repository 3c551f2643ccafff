"""Plots: plain arrays in, matplotlib Axes out; nothing is estimated here.

matplotlib is an optional dependency and is imported when a plot is drawn.

- `plot_intervals`: the interval of each rule of one result.
- `plot_curve`: the error along the values of a parameter, and its paired difference from the best value.
- `plot_comparison`: the errors of several models, and their paired differences.
- `plot_differences`: the same differences as a map of colours.
- `plot_calibration`, `plot_roc`: pictures of held-out probabilities.
- `plot_along_time`, `plot_on_map`: losses of rows that follow one another.
- `plot_function`: a function of one variable with its band.
- `plot_terms`: the terms of an additive model, a `TermPanel` each.
"""

from __future__ import annotations

from .comparison import plot_comparison
from .curve import plot_curve
from .functions import plot_function
from .heatmap import plot_differences
from .places import plot_along_time, plot_on_map
from .probabilities import plot_calibration, plot_roc
from .rules import plot_intervals
from .style import AxesArray
from .terms import TermPanel, plot_terms

__all__ = [
    "AxesArray",
    "TermPanel",
    "plot_along_time",
    "plot_calibration",
    "plot_comparison",
    "plot_curve",
    "plot_differences",
    "plot_function",
    "plot_intervals",
    "plot_on_map",
    "plot_roc",
    "plot_terms",
]
