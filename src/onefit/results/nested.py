"""Frozen results."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from ..checks import check_choice
from ..display import AxesArray, plot_intervals
from ..display.html import result_html
from ..display.latex import result_latex
from ..display.paper import methods_sentence
from ..errors import OneFitError
from ..inference.figures import Figure
from ..typing import BoolArray, FloatArray, IntArray
from .dependence import Dependence
from .estimators import FoldEstimators
from .findings import Finding
from .pictured import draw_calibration, draw_roc
from .placed import draw_dependence
from .summary import summary_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FoldErrorTables", "NestedCVResult", "plain"]


@dataclass(frozen=True, eq=False)
class FoldErrorTables:
    """Fold errors as the paper defines them; outputs, if y has columns, are the last axis.

    With sample weights a row's loss counts by its weight over the mean weight of the rows that are scored, so that
    folds of heavy rows have larger errors. Scores are shown with their sign, those that end at one, as accuracy, as one
    minus the loss.

    Attributes
    ----------
    e_in : array (n_repeats, n_folds)
        Mean loss over the rows outside fold j, with that row's fold and j out.
    e_out : array (n_repeats, n_folds)
        Mean loss over fold j with j out.
    v_out : array (n_repeats, n_folds)
        Its sample variance over the rows of the fold; NaN for folds of one row.
    mse : array (n_repeats,)
        Mean over folds of ``(e_in - e_out)^2 - v_out / n_j``.
    """

    e_in: FloatArray
    e_out: FloatArray
    v_out: FloatArray
    mse: FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class NestedCVResult:
    """Generalization error with its interval.

    Every figure is a float, or an array with one entry for each output if y has columns.

    Attributes
    ----------
    estimate : float
        Expected loss of the model fitted on all rows, on new data.
    interval : tuple
        Low and high end.
    confidence_level : float
    rule : str
        The interval rule that was asked for.
    rule_version : int
        Of the covariance rule, which the intervals of this result are made by; those of other versions differ.
    standard_error : float
    bias : float
        ``raw_estimate - estimate``: the part due to smaller training sets.
    mse : float
        Estimated mean squared error of the estimate, not floored.
    mse_is_floored : bool
        Whether the interval used the rule's floor in its place.
    inflation : float
        Standard error relative to the naive one.
    raw_estimate, cv_estimate : float
        Mean of the losses with two folds out, and with one; of scores that are no means of losses the mean of the
        folds' values, weighted by their rows.
    monte_carlo_error : float
        Relative error of the half-width due to the partitions drawn; NaN if there was one repeat.
    n_folds, n_repeats : int
    route : str
        "gram", "onestep", "newton", "neighbours" or "refit".
    route_reason : str
        Why that route.
    exactness : str
        "exact", "given the transformers", or "converged": as refits whose solver does not stop early.
    loss : str
    scale : str
        On which the interval of the covariance rule is built: "log" for losses that are never negative, "logit" for
        zero-one loss, "identity" for others.
    greater_is_better : bool
        Whether the figures are scores, as ``scoring=`` asks for them, rather than errors.
    metrics : DataFrame
        By metric, of all that were asked for: estimate, low, high, standard_error. The result speaks of the first.
    calibration : DataFrame or None
        Of the probabilities of two classes: slope and intercept of a logistic recalibration of the held-out ones, with
        intervals. A slope below one means predictions that are too extreme. With a log score of predictions that have a
        standard deviation: the share of observed values inside bands of 50, 80 and 95%. None if neither was asked for.
    intervals : DataFrame
        The interval of every rule.
    fold_errors : FoldErrorTables
    heldout : DataFrame
        By row, mean held-out prediction and loss (see `row_value`); with a metric of probabilities also these, as
        ``probability_<class>``, and the class that was observed; with a log score ``std``, the standard deviation of an
        observation, its mean over repeats.
    rmse, r2 : Figure or None
        With intervals; for squared error only.
    reason : str
        Why there is no interval, or why it is not the usual one; empty if all is well.
    output_names : tuple of str or None
    row_value : str
        Column of `heldout` with what each row contributes: "loss", or "influence" if the metric is no mean of losses.
    findings : tuple of Finding
        What the reader should know; what is warned of, and shown in summary, notebook, report and command line.
    estimators : FoldEstimators or None
        With ``return_estimators=True`` the models without each fold of each repeat, fitted when they are asked for; a
        pickled result has none.
    dependence : Dependence or None
        How rows depend on their neighbours, if the folds are for rows that follow one another.
    """

    estimate: float | FloatArray
    interval: tuple[float | FloatArray, float | FloatArray]
    confidence_level: float
    rule: str
    rule_version: int
    standard_error: float | FloatArray
    bias: float | FloatArray
    mse: float | FloatArray
    mse_is_floored: bool | BoolArray
    inflation: float | FloatArray
    raw_estimate: float | FloatArray
    cv_estimate: float | FloatArray
    monte_carlo_error: float | FloatArray
    n_folds: int
    n_repeats: int
    route: str
    route_reason: str
    exactness: str
    loss: str
    scale: str
    greater_is_better: bool
    metrics: pd.DataFrame
    calibration: pd.DataFrame | None
    intervals: pd.DataFrame
    fold_errors: FoldErrorTables
    heldout: pd.DataFrame
    rmse: Figure | None
    r2: Figure | None
    reason: str
    output_names: tuple[str, ...] | None
    findings: tuple[Finding, ...]
    row_value: str
    standard: Any
    dependence: Dependence | None = None
    estimators: FoldEstimators | None = None
    _row_groups: IntArray | None = None  # of the rows of `heldout`: pictures resample them

    @cached_property
    def baseline(self) -> NestedCVResult:
        """The same for the best constant prediction (mean, median, quantile, shares of classes), on the same folds.

        It is computed when it is first asked for. What suits the loss: the mean for squared error, the median for
        absolute error, the quantile for pinball loss, and for classes their frequencies; for scores of one class, such
        as F1, that class if it scores more.
        """
        found: NestedCVResult = self.standard.compute()
        found.__dict__["baseline"] = found  # nothing is better than the best
        return found

    @cached_property
    def skill(self) -> Figure:
        """One minus the loss over that of `baseline`, with low and high; NaN where that has no meaning, as of AUC."""
        found: Figure = self.standard.skill(self, self.baseline)
        return found if self.output_names else Figure(*(part.item() for part in found))  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: figures, not how they would be computed, as losses may be functions without a name."""
        with contextlib.suppress(AttributeError, OneFitError):  # none, or undefined for a constant
            self.skill  # noqa: B018
        return {**self.__dict__, "standard": None, "estimators": None}

    def summary(self, *, rules: bool = False) -> str:
        """Return the answer, how it was computed and what was found, as text.

        Parameters
        ----------
        rules : bool, default=False
            Whether the interval of every rule is added, with what the rule is, or the reason why it has none.
        """
        return summary_text(self, rules)

    def methods(self) -> str:
        """Return the sentences for the methods and results of a paper.

        Examples
        --------
        >>> import onefit
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> X, y = load_diabetes(return_X_y=True)
        >>> print(onefit.nested_cv(Ridge(alpha=0.1), X, y).methods().split(", computed")[0])
        Generalization was estimated by nested cross-validation (Bates et al. 2024) leaving out two rows at a time
        """
        return methods_sentence(self)

    def to_latex(self) -> str:
        """Return the table of metrics with their intervals, as a LaTeX tabular with the rules of booktabs."""
        return result_latex(self)

    def __repr__(self) -> str:
        return f"<NestedCVResult\n{self.summary()}\n>"

    def _repr_html_(self) -> str:
        return result_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each output with all figures of the chosen rule."""
        names = ("estimate", "standard_error", "bias", "mse", "mse_is_floored", "inflation", "raw_estimate")
        table = {name: np.atleast_1d(getattr(self, name)) for name in (*names, "cv_estimate", "monte_carlo_error")}
        # "mse" is read as the error of the model by everybody, and it is that of the estimate
        table = {name.replace("mse", "sampling_variance"): column for name, column in table.items()}
        low, high = (np.atleast_1d(end) for end in self.interval)
        ends = {"estimate": table.pop("estimate"), "low": low, "high": high}
        index = pd.Index(self.output_names, name="output") if self.output_names else None
        frame = pd.DataFrame({**ends, **table}, index=index)
        for name in ("confidence_level", "rule", "rule_version", "loss", "n_folds", "n_repeats", "route", "exactness"):
            frame[name] = getattr(self, name)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain Python objects; NaN becomes None, so that it is valid JSON."""
        whole = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del whole["heldout"], whole["standard"], whole["estimators"]
        whole["metrics"] = self.metrics.reset_index().to_dict(orient="records")
        if self.calibration is not None:
            whole["calibration"] = self.calibration.reset_index().to_dict(orient="records")
        tables = self.fold_errors
        whole["fold_errors"] = {name: getattr(tables, name) for name in tables.__dataclass_fields__}
        whole["intervals"] = self.intervals.reset_index().to_dict(orient="records")
        for name in ("rmse", "r2"):
            whole[name] = None if whole[name] is None else whole[name]._asdict()
        whole["dependence"] = None if self.dependence is None else self.dependence.figures()
        whole["findings"] = [{"kind": f.kind, "message": f.message, "remedy": f.remedy} for f in self.findings]
        return {name: plain(value) for name, value in whole.items()}

    def plot(
        self, ax: Axes | Sequence[Axes] | AxesArray | None = None, *, kind: str = "intervals"
    ) -> Axes | list[Axes]:
        """Draw the interval of each rule side by side, the held-out probabilities, or losses in time or on a map.

        Parameters
        ----------
        kind : {"intervals", "calibration", "roc", "dependence"}, default="intervals"
            "calibration" shows the observed share of the second class in bins of its held-out probability, with
            Wilson's bars, and the recalibration line; "roc" the ROC curve of the held-out probabilities with a
            pointwise band over 500 resamples of the rows, which holds the models fixed. Both need a classifier of two
            classes with predict_proba, and a metric of its scores or probabilities, such as "roc_auc" or
            "neg_log_loss"; a row has its mean over repeats. "dependence" shows the held-out losses along time with the
            mean of each block, or on the map, and what is dropped with one of the blocks; it needs folds for rows that
            follow one another.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None. With several outputs, a sequence of axes, one for each.

        Returns
        -------
        matplotlib Axes, or a list of them if y has columns
        """
        check_choice("kind", kind, ("intervals", "calibration", "roc", "dependence"))
        if kind == "dependence":
            return draw_dependence(self, ax)
        if kind != "intervals":
            return {"calibration": draw_calibration, "roc": draw_roc}[kind](self, cast("Axes | None", ax))
        if self.output_names is None:
            return self._plot_output(self.intervals, ax)
        axes = [None] * len(self.output_names) if ax is None else list(np.atleast_1d(np.asarray(ax)))
        drawn = []
        for name, one in zip(self.output_names, axes, strict=True):
            drawn.append(self._plot_output(pd.DataFrame(self.intervals.xs(name, level="output")), one))
            drawn[-1].set_title(f"{name}: {drawn[-1].get_title(loc='left')}", loc="left")
        return drawn

    def _plot_output(self, table: pd.DataFrame, ax: Any) -> Axes:
        return plot_intervals(
            list(table.index),
            table["estimate"].to_numpy(),
            table["low"].to_numpy(),
            table["high"].to_numpy(),
            chosen=self.rule,
            confidence_level=self.confidence_level,
            loss=self.loss,
            greater_is_better=self.greater_is_better,
            ax=ax,
        )


def plain(value: object) -> object:
    """Python objects that json.dumps takes with allow_nan=False."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
