"""Linear smoothers: fits that are linear in y, on a path of penalties."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from ..criteria import criterion_values, edf, spectrum_of_rows
from ..errors import DataError, RouteError, TrainingSetError
from ..linalg.columns import Columns, Penalty, Shift, span_beyond_digits
from ..linalg.dual import Dual
from ..linalg.exactridge import MOST_EXACT_ROWS, predict_exactly
from ..linalg.refined import MOST_ENTRIES, ExactRows, can_be_refined, refine, rounding_of_small
from ..linalg.reinsch import Reinsch, spans
from ..linalg.stacked import fit_stacked
from ..linalg.weights import check_ratio, is_uneven
from ..typing import BoolArray, FloatArray, IntArray
from ..vocabulary import CRITERIA
from .contract import Learner, Refusal, Scores, Task
from .fitrows import FitRows

__all__ = ["MOST_RATIO_OF_PENALTIES", "NOT_UNIQUE", "Smoother"]

MOST_RATIO_OF_PENALTIES = 1e16
"""Largest ratio of penalties that share a decomposition in the middle between them: its fourth root is lost."""

MOST_RATIO_OF_LIGHT = 1e4
"""The same where weights are uneven: of what light rows alone tell, the ratio itself is lost, not its root."""

MOST_DENSE_BYTES = 2**28
"""A sparse design up to this size is made dense for its scores."""

MOST_ROUNDING = 1e-7
"""Rounding errors of the largest columns, of the smallest that the penalty lets count, with which a fit is trusted."""

MOST_REACH = 1e4
"""Length of a row of little or no weight, in units of that of a mean row of the fit, from which refits predict it."""

UNEVEN_COLUMNS = (
    "it has more columns than rows, of sizes so different that rounding errors may decide its predictions; scale the "
    "columns, or use a larger penalty"
)

NOT_UNIQUE = (
    'so the fit is not unique. Drop such columns or use a penalty; or use route="refit", where the estimator\'s own '
    "(minimum-norm) answer stands."
)


class Smoother(FitRows, Learner):
    """A fit that is linear in y, on a path of penalties.

    Parameters
    ----------
    lams : array (V, 1) or (V, Q)
        The penalty of each parameter value, one for all outputs or one for each.
    weights : array (n,) or None
        Weights of the rows in the fits.
    fit_intercept : bool
        Whether a constant is among the free columns.

    Attributes
    ----------
    has_unit : bool
        Whether the columns have a unit, so that the constants of REML mean something.
    is_ridge : bool
        Whether the penalty is the sum of squares of the coefficients of the columns as the estimator got them.
    remedy : str
        What to do about a training set that cannot be fitted.
    """

    has_unit = True
    is_ridge = False
    remedy = (
        'Drop or penalize such columns, choose other folds, or use route="refit", where the estimator\'s own '
        "(minimum-norm) answer stands."
    )

    def __init__(self, lams: FloatArray, weights: FloatArray | None, fit_intercept: bool = False) -> None:
        if not (np.isfinite(lams).all() and (lams >= 0).all()):
            raise DataError("The penalties of a smoother must be finite and not negative.")
        self.lams, self.fit_intercept, self.weights = lams, fit_intercept, weights
        check_ratio(weights)

    @property
    def n_values(self) -> int:
        """Number of parameter values V."""
        return int(self.lams.shape[0])

    def fault(self, n: int) -> str:
        """What is wrong with a smoother that somebody made for n rows; empty if nothing is."""
        if found := super().fault(n):
            return found
        columns = self.take(np.arange(n))
        if not (np.isfinite(columns.E).all() and np.isfinite(columns.N).all()):
            return "with NaN or infinite values in its columns"
        return ""

    def at(self, values: Sequence[int]) -> Self:
        """The same smoother at some of its values, given by their places."""
        other = copy(self)
        for name in ("dual", "_columns", "_narrow"):  # made for the values that there were
            other.__dict__.pop(name, None)
        other.lams = self.lams[list(values)]
        return other

    @property
    @abstractmethod
    def width(self) -> int:
        """Size of the systems that the gram route solves."""

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""

    @property
    def wants_dual(self) -> bool:
        """Whether the dual form is the accurate one: as many columns as rows."""
        return False

    @property
    def why_not_onestep(self) -> str:
        """Why the one-step route cannot serve; empty if it can."""
        return ""

    @abstractmethod
    def take(self, rows: IntArray) -> Columns:
        """The design in some rows, without the weights."""

    def decomposed(self) -> Columns:
        """The design of all rows as `reinsch` decomposes it at positive values."""
        return self.take(np.arange(self.n)).narrow()

    @abstractmethod
    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis for values that are all positive, or all zero."""

    def spans(self, lams: FloatArray) -> list[IntArray]:
        """Values that share a basis: its error at a value grows with a root of the ratio to their middle."""
        has_light = self.weights is not None and is_uneven(self.weights)
        return spans(lams, MOST_RATIO_OF_LIGHT if has_light else MOST_RATIO_OF_PENALTIES)

    @cached_property
    def dual(self) -> Dual:
        """The residual operator of the rows that a fit sees, times the roots of their weights, in dual form."""
        raise NotImplementedError

    def outputs(self, n_outputs: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Outputs that share their penalties, with the (V,) penalties."""
        if self.lams.shape[1] == 1:
            yield np.arange(n_outputs), self.lams[:, 0]
            return
        distinct, inverse = np.unique(self.lams, axis=1, return_inverse=True)
        for group in range(distinct.shape[1]):
            yield np.flatnonzero(inverse.ravel() == group), distinct[:, group]

    def _check_span(self, size: FloatArray, mixes: bool = False) -> None:
        """Refuse columns of sizes so different that no method keeps the digits of all of them."""
        if span := span_beyond_digits(size, mixes, float(self.lams.min())):
            ratio = f"a ratio of {span:.1g}, beyond all digits"
            raise RouteError(f"the sizes of the columns span {ratio}; scale the columns")

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say which values no training set of this size can determine, or not even all rows; raise if it is all."""
        failures: dict[int, str] = {}
        for lam, needed in ((0.0, self.width), (1.0, self.n_free)):
            values = np.flatnonzero(((self.lams > 0) == (lam > 0)).any(axis=1))
            kind = "unpenalized columns" if lam else "columns"
            message = ""
            if not len(values):
                continue
            if smallest_training_set < needed:
                message = (
                    f"The smallest training set, with two folds out, has {smallest_training_set} rows for {needed} "
                    f"{kind} (the intercept among them, if there is one), {NOT_UNIQUE}"
                )
            elif lost := self.count_lost(lam):
                message = (
                    f"{lost} of the {needed} {kind} are linear combinations of the others (the intercept counts as a "
                    f"column of ones), {NOT_UNIQUE}"
                )
            if message:
                failures |= dict.fromkeys(map(int, values), message)
                if len(failures) == self.n_values:
                    raise TrainingSetError(message)
        return failures

    def least_trusted(self, y: FloatArray, lam: float) -> float:
        """Smallest eigenvalue of ``A_JJ`` with which the rows J can be deleted, as far as the design is to blame."""
        return 0.0

    def predict(self, rows: IntArray, y: FloatArray, lam: float, new: IntArray) -> FloatArray:
        """Predictions at ``new`` rows of a fit to some that count, by QR; raises TrainingSetError if it is not unique.

        In their own centring: a column that does not vary in them is then zero, not what rounding leaves of other rows'
        mean.
        """
        training, root = self.take(rows), self.root_weights(rows)
        shift = training.middles()
        columns = training.moved(shift).weighted(root)
        a, b = fit_stacked(columns, root[:, None] * y[rows], lam)
        exact = self.exact_rows(shift) if can_be_refined(columns) else None
        if exact is not None:
            coefficients, is_better = refine(exact(rows), root, columns, y[rows], lam, np.vstack([a, b]))
            if not is_better and columns.E.shape[1] > len(rows) and rounding_of_small(columns, lam) > MOST_ROUNDING:
                return self._predict_exactly(rows, y, lam, new)
            return exact(new).times(coefficients).astype(np.float64)
        others = self.take(new).moved(shift)
        predictions: FloatArray = others.E @ a + others.N @ b
        return predictions

    def _predict_exactly(self, rows: IntArray, y: FloatArray, lam: float, new: IntArray) -> FloatArray:
        """The same in as many digits as it takes, if rows are few.

        Rounding errors of the largest columns, moved and weighted, may be larger than the smallest columns: then a fit
        in double precision is that of other columns, and no test of it says so.
        """
        if len(rows) <= MOST_EXACT_ROWS and lam > 0:
            weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
            X, maps = self.data_and_maps()
            with suppress(ZeroDivisionError):
                return predict_exactly(X[rows], maps, y[rows], weights, lam, self.fit_intercept, X[new])
        error = TrainingSetError(UNEVEN_COLUMNS)
        error.lam = lam  # a larger one may do
        raise error

    def are_far(self, squares: FloatArray) -> BoolArray:
        """Which rows z of no weight see much of the rounding errors of coefficients, from the squares of their lengths.

        Predictions are ``z'c`` with c no longer than y times the roots of the weights, in a basis in which the hat
        matrix is ``ZZ'W``; rows of the fit itself have lengths of at most one over the root of their weight.
        """
        if self.weights is None:
            return np.zeros(squares.shape, dtype=bool)
        far: BoolArray = squares * self.weights.sum() > MOST_REACH**2
        return far

    @property
    def light_rows(self) -> IntArray:
        """Rows whose weight is so small, beside the sum of all, that they may be far."""
        if self.weights is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero((self.weights > 0) & (self.weights * MOST_REACH**2 < self.weights.sum()))

    def predict_unweighted(self, y: FloatArray, lam: float, has_far: bool) -> FloatArray | None:
        """Predictions at the rows of no weight of the fit to all others; None if any other way is as good.

        They may see columns that the others hardly have, and so more of the rounding errors of coefficients.
        """
        rows = self.fitted_rows
        if len(rows) == self.n or not (has_far or self.are_refined):
            return None
        try:
            return self.predict(rows, y, lam, self.unweighted_rows)
        except TrainingSetError:  # training sets without some of the rows will say so
            return None

    @cached_property
    def are_refined(self) -> bool:
        """Whether fits to the rows that count are refined, as columns are uneven, and are few enough."""
        if self.exact_rows(None) is None:
            return False
        columns = self.take(self.fitted_rows).weighted(self.root_weights(self.fitted_rows))
        return columns.E.size * self.n_values <= MOST_ENTRIES and can_be_refined(columns)

    def data_and_maps(self) -> tuple[FloatArray, Penalty]:
        """The data, and how penalized and free columns are made of them, where `exact_rows` is known."""
        raise NotImplementedError

    def exact_rows(self, shift: Shift | None) -> Callable[[IntArray], ExactRows] | None:
        """How rows are had to all digits of the data, less a shift; None if the design in double precision is all."""
        return None

    @property
    def dense_bytes(self) -> int:
        """What the design would take if it had to be made dense; zero if it is."""
        return 0

    def scores(self, task: Task) -> Scores | Refusal:
        """Criteria of the fit on all rows; of classes there are none."""
        if task.loss.classes is not None:
            return Refusal("they are scores of numbers, and the predictions are classes")
        return self.criteria(task.problem.y)

    def criteria(self, y: FloatArray) -> Scores:
        """The criteria "gcv", "loo" and "reml" and the degrees of freedom, each (V, Q), from one decomposition.

        Infinite where a criterion is not defined at a value (GCV near interpolation, REML without a penalty).
        """
        if self.dense_bytes > MOST_DENSE_BYTES:
            reason = "X is sparse, and too large to be made dense for it"
            return Scores({}, reasons=dict.fromkeys(CRITERIA, reason))
        names = [name for name in CRITERIA if name != "reml" or self.has_unit]
        reasons = {} if self.has_unit else {"reml": "the features of a kernel have no unit"}
        degrees, *tables = np.full((1 + len(names), self.n_values, y.shape[1]), np.nan)
        rows = self.fitted_rows
        root = self.root_weights(rows)
        columns = self.take(rows).weighted(root).narrow()
        weighted = root[:, None] * self.centre(y)[rows]
        fit = spectrum_of_rows(columns, weighted, root, self.n, float(self.lams.min()))
        for outputs, lams in self.outputs(y.shape[1]):
            degrees[:, outputs] = edf(fit.spectrum, lams[None])[0][:, None]
            for name, table in zip(names, tables, strict=True):
                table[:, outputs] = criterion_values(fit.spectrum, lams[None], name)[0][:, outputs]
        return Scores(dict(zip(names, tables, strict=True)), degrees, reasons)

    @abstractmethod
    def count_lost(self, lam: float) -> int:
        """How many free columns depend on the others in the rows that a fit sees."""
