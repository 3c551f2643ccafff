"""What a report is about: the results given, output by output."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..display.html import selections
from ..errors import DataError
from ..results.comparison import Comparison
from ..results.curve import ErrorCurve
from ..results.nested import NestedCVResult
from ..typing import AnyArray, FloatArray, Predictor
from ..vocabulary import SELECTION_WORDS, SelectionName
from .request import Request

__all__ = ["Subject", "of_output"]


def of_output(table: pd.DataFrame, names: tuple[str, ...] | None, output: int) -> pd.DataFrame:
    """Rows of one output."""
    return table if names is None else pd.DataFrame(table.xs(names[output], level="output"))


@dataclass(frozen=True)
class Subject:
    """The request and what was computed for it.

    Attributes
    ----------
    request : Request
    result : NestedCVResult or None
    curve : ErrorCurve or None
    comparison : Comparison or None
    fitted : estimator or None
        The model fitted on all rows.
    y : array or None
        What was observed, (n,) or (n, outputs), in the order of the rows.
    """

    request: Request
    result: NestedCVResult | None
    curve: ErrorCurve | None
    comparison: Comparison | None
    fitted: Predictor | None
    y: Sized | None

    def __post_init__(self) -> None:
        if self.result is None and self.curve is None and self.comparison is None:
            raise DataError("A report needs something to report: give `result`, `curve` or `comparison`.")
        if len({part.output_names for part in self.parts}) > 1:
            raise DataError("The results given have different outputs; write a report for each y.")
        if self.y is not None and len(self.y) != self.n_rows:
            raise DataError(f"`y` has {len(self.y)} rows and the result {self.n_rows}: give the y of the same rows.")

    @property
    def parts(self) -> list[NestedCVResult | ErrorCurve | Comparison]:
        """What was computed."""
        return [part for part in (self.result, self.curve, self.comparison) if part is not None]

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """Names of the outputs, None if y is a vector."""
        return self.parts[0].output_names

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return 1 if self.output_names is None else len(self.output_names)

    @property
    def confidence_level(self) -> float:
        """Level of the intervals."""
        return self.parts[0].confidence_level

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.parts[0].loss

    @property
    def greater_is_better(self) -> bool:
        """Whether the figures are scores."""
        return self.parts[0].greater_is_better

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.main(0).heldout)

    @property
    def rule(self) -> SelectionName:
        """The rule that chooses on the curve."""
        return next((rule for rule in SELECTION_WORDS if rule == self.request.chosen), "min")

    @property
    def follows_curve(self) -> bool:
        """Whether the model is the one that a rule chooses on the curve, not one that is tuned by itself."""
        return self.result is None or self.request.chosen in SELECTION_WORDS

    def position(self, output: int) -> int:
        """Place of the chosen value on the curve."""
        assert self.curve is not None
        found = selections(self.curve, output)
        for rule in (self.rule, "min"):
            for position, rules in found.items():
                if rule in rules:
                    return position
        raise DataError("No value of the curve could be fitted, so there is nothing to report.")

    def main(self, output: int) -> NestedCVResult:
        """The result that answers the question: the one given, that of the chosen value, or that of the best model."""
        if self.result is not None:
            return self.result
        if self.curve is not None:
            result = self.curve.results[self.position(output)]
        else:
            result = self.comparison.results[self.best_model(output)] if self.comparison is not None else None
        if result is None:
            raise DataError("The chosen value could not be fitted, so there is nothing to report.")
        return result

    def best_model(self, output: int) -> str:
        """Name of the model with the smallest error or the largest score."""
        assert self.comparison is not None
        sign = -1 if self.comparison.greater_is_better else 1
        errors = {name: sign * np.atleast_1d(r.estimate)[output] for name, r in self.comparison.results.items()}
        return min(errors, key=lambda name: errors[name])

    @property
    def notes(self) -> list[str]:
        """Notes of the request, but for those that the diagnostics say anyway."""
        said = {finding.text for q in range(self.n_outputs) for finding in self.main(q).findings}
        return [note for note in self.request.notes if note not in said]

    @property
    def counts_from_zero(self) -> bool:
        """Whether the rows go by numbers, the first of which is 0."""
        labels = self.main(0).heldout.index
        return labels.dtype.kind in "iu" and 0 in labels

    @property
    def row_names(self) -> str:
        """What the rows are called by."""
        return f"rows {'count from 0, as in' if self.counts_from_zero else 'go by'} the index of the table"

    def losses(self, output: int) -> FloatArray:
        """Mean held-out loss of every row, or its influence if the metric is no mean of losses."""
        result = self.main(output)
        table, name = result.heldout, result.row_value
        column = table[name] if self.output_names is None else table[(name, self.output_names[output])]
        return np.asarray(column, dtype=float)

    def has_losses(self, output: int) -> bool:
        """Whether every row has a loss of its own, whose sum is the error, and it was kept."""
        return self.main(output).row_value == "loss" and len(self.main(output).heldout) > 0

    def has_classes(self, output: int) -> bool:
        """Whether classes are predicted."""
        found = self.predicted(output)
        return found.dtype.kind != "f" or self.loss == "zero_one" or "observed" in self.main(output).heldout.columns

    def predicted(self, output: int) -> AnyArray:
        """Mean held-out prediction of every row, or the class predicted most often."""
        table = self.main(output).heldout
        column = table["prediction"] if "prediction" in table.columns else None
        if self.output_names is not None and table.columns.nlevels > 1:
            column = table[("prediction", self.output_names[output])]
        return np.asarray(column)

    def observed(self, output: int) -> AnyArray | None:
        """What was observed, or None if it was not given."""
        if self.y is None:
            return None
        y = np.asarray(self.y)
        return y if y.ndim == 1 else y[:, output]
