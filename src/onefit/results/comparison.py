"""Frozen result of `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from .. import display
from ..display.html import comparison_html
from ..display.style import loss_label
from .nested import NestedCVResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison"]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Errors of several models on the same folds, and their paired differences.

    Attributes
    ----------
    models : DataFrame
        By model, from the smallest error: estimate, low, high, standard_error, route (and output, if y has columns).
    differences : DataFrame
        By pair of models: error of the first minus that of the second, with its interval; negative favours the first.
    results : dict
        A `NestedCVResult` for each model.
    confidence_level : float
    loss : str
    greater_is_better : bool
        Whether the figures are scores; then positive differences favour the first.
    rule_version : int
        Of the covariance rule, as in `NestedCVResult`.
    output_names : tuple of str or None
    reasons : dict
        Why models could not be fitted, which are in none of the tables.
    """

    models: pd.DataFrame
    differences: pd.DataFrame
    results: dict[str, NestedCVResult]
    confidence_level: float
    loss: str
    greater_is_better: bool
    rule_version: int
    output_names: tuple[str, ...] | None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> pd.DataFrame:
        """By model and metric, all that were asked for: estimate, low, high, standard_error; differences are of one."""
        return pd.concat({name: result.metrics for name, result in self.results.items()}, names=["model", "metric"])

    def to_frame(self) -> pd.DataFrame:
        """Return the pairwise differences: estimate, low, high, standard_error."""
        return self.differences.copy()

    def summary(self) -> str:
        """Return both tables as text."""
        level = f"{100 * self.confidence_level:g}%"
        lost = "".join(f"\n\n{name} could not be fitted: {reason}" for name, reason in self.reasons.items())
        return (
            f"{loss_label(self.loss)} with {level} intervals\n{self.models.to_string()}\n\n"
            f"paired differences (first minus second)\n{self.differences.to_string()}{lost}"
        )

    def __repr__(self) -> str:
        return f"<Comparison\n{self.summary()}\n>"

    def _repr_html_(self) -> str:
        return comparison_html(self)

    def plot(self, axes: Sequence[Axes] | display.AxesArray | None = None, output: int = 0) -> display.AxesArray:
        """Draw the models' errors, and beside them their paired differences.

        Parameters
        ----------
        axes : two matplotlib Axes, default=None
            Where to draw; a new figure if None.
        output : int, default=0
            Which output, if y has columns.

        Returns
        -------
        array of two matplotlib Axes
        """
        models, differences = self.models, self.differences
        if self.output_names is not None:
            models = pd.DataFrame(models.xs(self.output_names[output], level="output"))
            differences = pd.DataFrame(differences.xs(self.output_names[output], level="output"))
        figures = [models[key].to_numpy() for key in ("estimate", "low", "high")]
        paired = [differences[key].to_numpy() for key in ("estimate", "low", "high")]
        return display.plot_comparison(
            list(models.index),
            figures[0],
            figures[1],
            figures[2],
            list(differences.index),
            paired[0],
            paired[1],
            paired[2],
            loss=self.loss,
            confidence_level=self.confidence_level,
            greater_is_better=self.greater_is_better,
            axes=axes,
        )
