"""How a result was computed, in one line: summary, notebook and command line show the same."""

from __future__ import annotations

import math

import numpy as np

from .shown import Computed

__all__ = ["method_line"]


def method_line(result: Computed) -> str:
    """Rule, folds, repeats, route, exactness, and the largest Monte Carlo error of the outputs.

    Where rows follow one another nothing is drawn, and it is said which error is meant.
    """
    if result.dependence is not None:
        how = f"rule {result.rule}, {result.n_folds} folds, route {result.route} ({result.exactness})"
        return f"{how}; {result.dependence.line()}"
    worst = float(np.max(np.atleast_1d(result.monte_carlo_error)))
    error = "unknown (one repeat)" if math.isnan(worst) else f"{100 * worst:.1f}%"
    return (
        f"rule {result.rule}, {result.n_folds} folds, {result.n_repeats} repeat{'s' if result.n_repeats > 1 else ''}, "
        f"route {result.route} ({result.exactness}), Monte Carlo error of the half-width {error}"
    )
