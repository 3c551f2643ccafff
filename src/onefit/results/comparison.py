"""Frozen result of `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import pandas as pd

from .. import display
from ..checks import check_choice
from ..display.html import comparison_html
from ..display.latex import comparison_latex
from ..display.paper import comparison_sentences
from ..typing import BoolArray, FloatArray
from .nested import NestedCVResult
from .summary import comparison_text

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
        return comparison_text(self)

    def methods(self) -> str:
        """Return the sentences for the methods and results of a paper: models, and how the best differs from each."""
        return comparison_sentences(self)

    def to_latex(self) -> str:
        """Return both tables, with every metric of each model, as a LaTeX tabular with the rules of booktabs."""
        return comparison_latex(self)

    def __repr__(self) -> str:
        return f"<Comparison\n{self.summary()}\n>"

    def _repr_html_(self) -> str:
        return comparison_html(self)

    @overload
    def plot(
        self,
        axes: Sequence[Axes] | display.AxesArray | None = None,
        output: int = 0,
        *,
        kind: Literal["intervals"] = "intervals",
    ) -> display.AxesArray: ...

    @overload
    def plot(self, axes: Axes | None = None, output: int = 0, *, kind: Literal["heatmap"]) -> Axes: ...

    def plot(
        self,
        axes: Axes | Sequence[Axes] | display.AxesArray | None = None,
        output: int = 0,
        *,
        kind: str = "intervals",
    ) -> display.AxesArray | Axes:
        """Draw the models' errors, and below them their paired differences; or these alone, as a map of colours.

        Parameters
        ----------
        axes : two matplotlib Axes, or one for "heatmap", default=None
            Where to draw; a new figure if None.
        output : int, default=0
            Which output, if y has columns.
        kind : {"intervals", "heatmap"}, default="intervals"
            "heatmap" has a cell for each pair, row minus column, pale where the two are not told apart: for more models
            than a list of pairs can show.

        Returns
        -------
        array of two matplotlib Axes, or one for "heatmap"
        """
        check_choice("kind", kind, ("intervals", "heatmap"))
        models, differences = self.models, self.differences
        if self.output_names is not None:
            models = pd.DataFrame(models.xs(self.output_names[output], level="output"))
            differences = pd.DataFrame(differences.xs(self.output_names[output], level="output"))
        common: Any = {
            "loss": self.loss,
            "confidence_level": self.confidence_level,
            "greater_is_better": self.greater_is_better,
        }
        names = [str(name) for name in models.index]
        if kind == "heatmap":
            return display.plot_differences(
                names, *_squared(names, differences), ax=cast("Axes | None", axes), **common
            )
        return display.plot_comparison(
            names,
            models["estimate"].to_numpy(),
            models["low"].to_numpy(),
            models["high"].to_numpy(),
            list(differences.index),
            differences["estimate"].to_numpy(),
            differences["low"].to_numpy(),
            differences["high"].to_numpy(),
            axes=cast("Sequence[Axes] | None", axes),
            **common,
        )


def _squared(names: Sequence[str], differences: pd.DataFrame) -> tuple[FloatArray, BoolArray]:
    """Differences as a table of rows minus columns, and whether each excludes zero."""
    place = {name: at for at, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    told = np.zeros(values.shape, dtype=bool)
    table: Any = differences
    for (first, second), row in table.iterrows():
        i, j = place[first], place[second]
        values[i, j], values[j, i] = row["estimate"], -row["estimate"]
        told[i, j] = told[j, i] = row["low"] > 0 or row["high"] < 0
    return values, told
