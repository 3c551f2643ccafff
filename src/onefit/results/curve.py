"""Frozen result of `error_curve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from .. import display
from ..checks import check_choice, check_level
from ..display.html import curve_html
from ..display.latex import curve_latex
from ..display.paper import curve_sentences
from ..errors import DataError
from ..inference.figures import Figure
from ..learners.refitted import fit_parameters
from ..sources import Table
from ..typing import AnyArray, ArrayLike, BoolArray, Data, Estimator, FloatArray, IntArray, Rows
from ..vocabulary import SELECTION_WORDS, SelectionName, Simpler
from .nested import NestedCVResult
from .summary import curve_line, curve_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Deployment", "Difference", "ErrorCurve", "simplest_minimum", "simplicity", "spans_decades"]


@dataclass(frozen=True, eq=False)
class Difference:
    """Paired differences of error from the best value, (V,) or (V, outputs).

    Attributes
    ----------
    estimate, low, high, standard_error : arrays
    df : float
        Degrees of freedom of the t quantile.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    df: float


@dataclass(frozen=True, repr=False, eq=False)
class Deployment:
    """Fits the estimator of a curve on all rows, at one value of the parameter or at one for each output.

    It holds the data as they were given, so that a curve that was pickled can still fit.
    """

    estimator: Estimator
    param_name: str
    X: Data
    y: Rows
    sample_weight: ArrayLike | None = None

    def __call__(self, value: object) -> Any:
        """Fit at ``value``."""
        if isinstance(self.X, Table):
            raise DataError(
                "A model of scikit-learn is fitted to rows in memory, and these stay where they are; fit it to a part "
                "of them: table.sample(n, random_state)."
            )
        one = clone(self.estimator).set_params(**{self.param_name: self._one(value)})
        given = None if self.sample_weight is None else np.asarray(self.sample_weight, dtype=np.float64)
        weights = fit_parameters(one, given, None)
        return one.fit(self.X, self.y, **weights)

    def _one(self, value: object) -> object:
        """The value itself; for several outputs their common one, or, of models that can take them, one for each."""
        if not isinstance(value, np.ndarray):
            return value.item() if isinstance(value, np.generic) else value
        if len(set(value.tolist())) == 1:
            return value.tolist()[0]
        if type(self.estimator) in (Ridge, KernelRidge) and self.param_name == "alpha":
            return value
        raise DataError(
            f"The outputs select different values of {self.param_name}, {', '.join(map(str, value))}, and "
            f"{type(self.estimator).__name__} takes one for all. Fit each output with its own: curve.deploy(value)."
        )


@dataclass(frozen=True, repr=False, eq=False)
class ErrorCurve:
    """Generalization error along a parameter, with its uncertainty.

    With several outputs every array has a last axis of outputs, and each output has a best value of its own.

    Attributes
    ----------
    values : array (V,)
        The parameter values, as given.
    estimate, low, high, standard_error : arrays (V,)
        Error and interval at each value; NaN at values that cannot be fitted.
    difference : Difference
        Error at each value minus that at the best one, on the same rows and folds, by the covariance rule.
    best : int or array of int
        Position of the smallest estimate; ties go to the simpler value.
    scores : DataFrame
        By value: loo, gcv and reml, to be minimized; kfold and ncv, the figure that was asked for as the folds and
        `estimate` have it, to be maximized with ``greater_is_better``. NaN where a score does not apply, and
        ``scores.attrs["reasons"]`` says by name why it does not.
    edf : array (V,) or None
        Effective degrees of freedom at each value, where the model has them.
    results : sequence
        A `NestedCVResult` for each value, made when it is first looked at; None where it cannot be fitted.
    reasons : tuple of str
        Why a value cannot be fitted; empty if it can.
    param_name : str
    simpler : str
        Which way the model becomes simpler: "larger" or "smaller" values.
    confidence_level : float
    loss : str
    greater_is_better : bool
        Whether the figures are scores; then the best value has the largest.
    rule_version : int
        Of the covariance rule, as in `NestedCVResult`.
    output_names : tuple of str or None
    deploy : callable
        Of a parameter value: the estimator fitted on all rows. It holds the data as they were given, and so does a
        pickled curve.
    """

    values: AnyArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    difference: Difference
    best: int | IntArray
    scores: pd.DataFrame
    edf: FloatArray | None
    results: Sequence[NestedCVResult | None]
    reasons: tuple[str, ...]
    param_name: str
    simpler: Simpler
    confidence_level: float
    loss: str
    greater_is_better: bool
    rule_version: int
    output_names: tuple[str, ...] | None
    deploy: Callable[[object], Any]

    @property
    def metrics(self) -> pd.DataFrame:
        """By value and metric, all that were asked for: estimate, low, high, standard_error; the curve is of one."""
        by_value = {v: r.metrics for v, r in zip(self.values.tolist(), self.results, strict=True) if r is not None}
        table: pd.DataFrame = pd.concat(by_value, names=[self.param_name, "metric"])
        return table

    def select(self, rule: SelectionName = "min") -> Any:
        """Choose a value.

        Parameters
        ----------
        rule : {"min", "one_se", "loo", "gcv", "reml", "kfold"}, default="min"
            "min" has the smallest estimated error. "one_se" is the simplest value whose paired difference from that
            one is within one standard error of the difference; it never goes the other way. The others have the best
            score of that name: the smallest, but of "kfold" with ``greater_is_better``. Ties go to the simpler value.

        Returns
        -------
        The value, or an array with one for each output.
        """
        check_choice("rule", rule, tuple(SELECTION_WORDS))
        chosen = self.values[self._positions(rule)]
        return chosen if self.output_names else chosen[0]

    def _positions(self, rule: SelectionName) -> IntArray:
        """Position of the selected value, one for each output."""
        best = np.atleast_1d(self.best)
        if rule == "min":
            return best
        order = simplicity(len(self.values), self.simpler, self.values)
        if rule == "one_se":
            within = self._worse <= _columns(self.difference.standard_error)
            allowed = within & (order[:, None] >= order[best])
            return _simplest(allowed, order)
        table = _columns(self.scores[rule].to_numpy(float))
        if np.isnan(table).all():
            reason = self.scores.attrs.get("reasons", {}).get(rule, "")
            because = f" ({reason})" if reason else ""
            raise DataError(
                f'The score "{rule}" does not apply to this model and parameter{because}; choose one of '
                f"{', '.join(repr(name) for name in ('min', 'one_se', *self._available()))}."
            )
        return simplest_minimum(-table if rule == "kfold" and self.greater_is_better else table, order)

    @property
    def rmse(self) -> Figure | None:
        """Root mean squared error at each value, with low and high; None unless the loss is squared error.

        What chemists call RMSEP. Each end is the root of that of the error; of a difference there is no such root.
        """
        if self.loss != "squared_error":
            return None
        return Figure(*(np.sqrt(np.maximum(part, 0.0)) for part in (self.estimate, self.low, self.high)))

    @property
    def _worse(self) -> FloatArray:
        """By how much each value is worse than the best, (V, outputs)."""
        worse = _columns(self.difference.estimate)
        return -worse if self.greater_is_better else worse

    def _available(self) -> list[SelectionName]:
        return [name for name in tuple(SELECTION_WORDS)[2:] if not self.scores[name].isna().to_numpy().all()]

    def refit(self, rule: SelectionName = "min") -> Any:
        """Fit the estimator on all rows at the value that ``rule`` selects: the one to deploy."""
        return self.deploy(self.select(rule))

    def indistinguishable(self, confidence_level: float | None = None) -> AnyArray | list[AnyArray]:
        """Return the values that the data cannot tell from the best one.

        Parameters
        ----------
        confidence_level : float, default=None
            None is that of the curve.

        Returns
        -------
        Array of values, or a list of one array for each output.

        Notes
        -----
        Those whose paired interval reaches down to zero. The best value was itself chosen on these data, which the
        intervals do not know: read the set as "no evidence against these", not as a confidence set for the optimum.
        """
        level = self.confidence_level if confidence_level is None else check_level(confidence_level)
        t = special.stdtrit(self.difference.df, 0.5 + level / 2)
        low = self._worse - t * _columns(self.difference.standard_error)
        sets = [self.values[column <= 0] for column in low.T]
        return sets if self.output_names else sets[0]

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each value (and output): interval, paired difference, scores and reasons."""
        outputs = self.output_names or (None,)
        frames = []
        for q, name in enumerate(outputs):
            columns = {key: _columns(getattr(self, key))[:, q] for key in ("estimate", "low", "high", "standard_error")}
            for key in ("estimate", "low", "high", "standard_error"):
                columns[f"difference_{key}"] = _columns(getattr(self.difference, key))[:, q]
            for score in dict.fromkeys(self.scores.columns.get_level_values(0)):
                columns[score] = _columns(self.scores[score].to_numpy(float))[:, q]
            frame = pd.DataFrame(columns, index=pd.Index(self.values, name=self.param_name))
            frame["reason"] = list(self.reasons)
            frames.append(frame if name is None else frame.assign(output=name).set_index("output", append=True))
        return pd.concat(frames)

    def summary(self) -> str:
        """Return the best value with its error, and those that are as good, as text."""
        return curve_text(self)

    def methods(self) -> str:
        """Return the sentences for the methods and results of a paper: the best value, and those not told from it."""
        return curve_sentences(self)

    def to_latex(self) -> str:
        """Return each value's error and paired difference from the best, as a LaTeX tabular with booktabs' rules."""
        return curve_latex(self)

    def __repr__(self) -> str:
        return curve_line(self)

    def _repr_html_(self) -> str:
        return curve_html(self)

    def _title(self, output: str) -> str:
        return f"Output {output}: generalization error, {100 * self.confidence_level:g}% intervals"

    def plot(self, axes: Sequence[Axes] | display.AxesArray | None = None, output: int = 0) -> display.AxesArray:
        """Draw the curve with its band, and below it the paired difference from the best value.

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
        rules = ["min", "one_se", *(name for name in self._available() if name != "kfold")]
        numeric = np.issubdtype(np.asarray(self.values).dtype, np.number)
        same = self.indistinguishable()
        return display.plot_curve(
            self.values,
            *(_columns(array)[:, output] for array in (self.estimate, self.low, self.high)),
            *(_columns(getattr(self.difference, key))[:, output] for key in ("estimate", "low", "high")),
            param_name=self.param_name,
            selected={rule: self.values[self._positions(rule)[output]] for rule in rules},
            loss=self.loss,
            confidence_level=self.confidence_level,
            greater_is_better=self.greater_is_better,
            indistinguishable=same[output] if self.output_names else same,
            edf=None if self.edf is None else _columns(self.edf)[:, output],
            log_axis=bool(numeric and spans_decades(self.values)),
            title=None if self.output_names is None else self._title(self.output_names[output]),
            axes=axes,
        )


def simplicity(n_values: int, simpler: Simpler, values: AnyArray) -> IntArray:
    """Rank of each value, larger for simpler ones; values that are not numbers count in the order given."""
    numeric = np.issubdtype(np.asarray(values).dtype, np.number)
    rank = np.argsort(np.argsort(values)) if numeric else np.arange(n_values)
    return rank if simpler == "larger" else n_values - 1 - rank


def simplest_minimum(table: FloatArray, order: IntArray) -> IntArray:
    """Position of the smallest entry of each column, NaN left out; of equal ones the simplest."""
    smallest = table == np.nanmin(table, axis=0)
    return _simplest(smallest, order)


def _simplest(allowed: BoolArray, order: IntArray) -> IntArray:
    """Position of the simplest allowed value in each column."""
    position: IntArray = np.where(allowed, order[:, None], -1).argmax(axis=0)
    return position


def _columns(array: FloatArray) -> FloatArray:
    """(V,) or (V, outputs) as (V, outputs)."""
    return array.reshape(len(array), -1)


def spans_decades(values: AnyArray) -> bool:
    """Whether a logarithmic axis serves: no negative values, and the positive ones span more than a decade."""
    positive = values[values > 0]
    return bool((values >= 0).all() and len(positive) > 1 and positive.max() > 10 * positive.min())
