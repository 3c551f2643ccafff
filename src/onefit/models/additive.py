"""Additive models: smooth functions, lines and factors, each smooth function with a penalty of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, validate_data

from ..checks import check_range_of, copy_of
from ..errors import DataError
from ..frames import is_frame
from ..learners import DesignSmoother, Learner, Path, Refusal, Smoother, Task
from ..learners.additive import AdditiveLearner
from ..typing import ArrayLike, FloatArray, Rows
from .base import learner_of
from .basis import BasisName
from .effects import TermEffects
from .fitting import Design, PenalizedFit, fit_design, unit_of
from .generalized import refuse_criterion
from .joint import check_path, choose_from_rows, edf_by_part, joint_penalty, read_strengths
from .parts import Part, SmoothPart, WeightedTable, rare_level, side_by_side
from .responses import FamilyName, Response
from .summary import FitFacts
from .table import ColumnTable
from .terms import Defaults, FactorTerm, Term, as_terms, default_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AdditiveModel"]


class AdditiveModel(TermEffects):
    r"""A sum of functions of single columns, ``y = c + f_1(x_1) + f_2(x_2) + ...``, fitted by penalized least squares.

    With ``family`` the sum is the log odds of two classes, or the logarithm of the mean of counts or amounts, fitted by
    penalized likelihood.

    Parameters
    ----------
    terms : list, default=None
        Terms made by `smooth`, `linear` and `factor`; a name or a position stands for a smooth function of that column.
        None is a smooth function of every column of numbers, and a factor for every other column of a data frame;
        columns that are constant are left out. Numbers stored as text and identifiers (more levels than half of the
        rows) are refused: name them in terms.
    lam : {"reml", "gcv"}, float or list of float, default="reml"
        The criterion that chooses the penalties of all smooth terms jointly: restricted maximum likelihood as in mgcv,
        or generalized cross-validation. Or one number for all smooth terms, or a list with one for each, zero or
        larger. A term with a ``lam`` of its own keeps it.
    n_basis : int, default=10
        Number of spline functions in each smooth term, at least 3, unless the term says otherwise; fewer are used where
        a column has fewer distinct values.
    basis : {"cr", "ps", "bs", "tp"}, default="cr"
        Kind of splines, as in `SplineRegression`, unless the term says otherwise.
    family : {"gaussian", "binomial", "poisson", "gamma"}, default="gaussian"
        How y is distributed: numbers with a constant variance; two classes of any labels, which makes this a classifier
        with `predict_proba`; counts; or positive amounts whose standard deviation grows with their mean. Links are the
        identity, the log odds and, for the last two, the logarithm.

    Attributes
    ----------
    coef_ : array of shape (n_functions,) or (n_outputs, n_functions)
        Of all terms, one after the other.
    intercept_ : float or array of shape (n_outputs,)
    lam_ : array of shape (n_smooths,)
        Penalty of each smooth term; zero for one in a column of two distinct values, which is a straight line.
    lam_at_end_ : list of str
        For each smooth term "most" or "least" if the criterion put it at that end of its axis, else "". A term at
        "most" is the straight line that its penalty leaves.
    edf_ : float
        Effective degrees of freedom, the intercept among them.
    edf_by_term_ : dict
        Those of each term by name; they and one for the intercept sum to ``edf_``.
    scale_ : float or array of shape (n_outputs,)
        Variance of the noise, ``RSS / (n - edf)``; one for classes and counts, and of amounts the mean of
        ``((y - mean) / mean)^2`` with that denominator.
    scores_ : dict
        "gcv", "loo" and "reml" of the fit. Of families those of the working model; of classes and counts "gcv" is UBRE,
        and there is no "loo".
    deviance_, null_deviance_ : float
        Of the fit and of the best constant, if ``family`` is not "gaussian".
    classes_ : array of shape (2,)
        If ``family`` is "binomial".
    covariance_ : array
        Bayesian covariance of the intercept and the coefficients, which takes ``lam_`` as known.
    term_names_ : list of str
        "s(x)" for a smooth function of x, else the name of the column; columns without a name are x0, x1, ...
    n_features_in\_, feature_names_in\_
        As in scikit-learn.

    Notes
    -----
    The fit minimizes

    .. math::

        \|y - c - \sum_t f_t(x_t)\|^2 + \sum_t \lambda_t \int_0^1 f_t''(u)^2 du,

    where u runs through the unit interval as x_t runs from its first to its last knot: penalties do not depend on the
    units of a column, and one number can serve all terms. (The penalty of "ps" is on differences of coefficients.)

    Smooth and linear terms sum to zero over the rows, with their weights; a factor is zero at its first level. So the
    intercept is the mean of y if there are no factors. Factors and straight lines have no penalty. Where the rows do
    not determine them, the smallest coefficients are taken, with a warning.

    Where functions outnumber rows, GCV can be lowest at a fit that interpolates, where it is 0/0. So its minimum is
    sought among fits that leave a tenth of the rows as degrees of freedom, ``n - edf >= n/10``; if it has none there,
    a `SmoothnessWarning` says so. Where a criterion is flat, the most penalized end wins.

    Outside the knots every curve continues as a straight line, and `predict` and `effects` warn. Several outputs share
    the penalties.

    In `nested_cv` knots and levels are part of the model: they are taken once, from all rows of X and never from y,
    and the result says "given the transformers", unless the terms name them. The penalties are chosen anew in every
    training set.

    Other families minimize ``deviance + penalties``. A criterion then chooses the penalties for the working model, the
    weighted least squares of Fisher's scoring at the present fit, until neither changes: performance iteration, as
    mgcv's ``gam(optimizer="perf")`` for GCV and ``bam`` for REML. Where the variance is known (classes, counts) GCV is
    the unbiased risk, UBRE, and REML takes the scale as one. In `nested_cv` they take no refits at penalties that are
    given, by Newton steps; penalties that are chosen are chosen by refits.

    References
    ----------
    Wood (2017), Generalized Additive Models, 2nd edition, chapters 4 to 6. Marra and Wood (2012), Coverage properties
    of confidence intervals for generalized additive model components, Scandinavian Journal of Statistics 39, 53-74.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from onefit import AdditiveModel
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.uniform(20, 80, 200), "dose": rng.uniform(0, 1, 200)})
    >>> X["sex"] = rng.choice(["f", "m"], 200)
    >>> y = np.sin(X["age"] / 10) + X["dose"] + (X["sex"] == "m") + rng.normal(0, 0.3, 200)
    >>> model = AdditiveModel().fit(X, y)
    >>> model.term_names_
    ['s(age)', 's(dose)', 'sex']
    >>> {name: round(edf, 1) for name, edf in model.edf_by_term_.items()}
    {'s(age)': 6.5, 's(dose)': 1.0, 'sex': 1.0}
    >>> mean, std = model.predict(X[:3], return_std=True)

    Counts: predictions are means, and ``return_std`` speaks of their logarithms.

    >>> visits = rng.poisson(np.exp(0.5 * np.sin(X["age"] / 10) + X["dose"]))
    >>> counted = AdditiveModel(["age", "dose"], family="poisson").fit(X, visits)
    >>> bool(np.allclose(np.exp(counted.predict(X, return_std=True)[0]), counted.predict(X)))
    True
    """

    lam_: FloatArray
    _minimum_norm = True
    _takes_frames = True

    def __init__(
        self,
        terms: Sequence[Term | str | int] | None = None,
        lam: float | Literal["gcv", "reml"] | Sequence[float] | FloatArray = "reml",
        n_basis: int = 10,
        basis: BasisName = "cr",
        family: FamilyName = "gaussian",
    ) -> None:
        self.terms = terms
        self.lam = lam  # type: ignore[assignment]
        self.n_basis = n_basis
        self.basis = basis
        self.family = family

    def fit(self, X: Rows, y: Rows, sample_weight: ArrayLike | None = None) -> AdditiveModel:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals, or of the deviances of the rows. Rows without weight place no knots and
            have no levels.

        Returns
        -------
        AdditiveModel
            The fitted estimator itself.
        """
        response = self._response
        rows, y = self._check_rows(X, y, sample_weight)
        parts = [part for _, part in self._make(rows)]
        self._parts, self.term_names_ = parts, [part.name for part in parts]
        if response is not None:
            return self._fit_response(response, rows, y)
        D, Y = side_by_side(parts, rows.table), y.reshape(len(y), -1)
        roots, (lams, criterion) = [part.root for part in parts], read_strengths(self.lam, parts)
        unit = unit_of(rows.weights)  # weights and penalties may be in any units
        choice = choose_from_rows(D, Y, rows.weights / unit, roots, lams / unit, criterion)
        design = Design(D, joint_penalty(roots, choice.lams))
        fit = fit_design(design, Y, rows.weights / unit, 1.0, minimum_norm=True).in_units(unit)
        lams = choice.lams * unit
        if any(len(root) and lam == 0 for root, lam in zip(roots, lams, strict=True)):
            fit.scores["reml"] = np.full(Y.shape[1], np.inf)  # log|lam S| is infinite
        self._keep(fit, y.ndim == 1, fit_intercept=True)
        self._keep_terms(lams, choice.at_end, edf_by_part(parts, D, rows.weights, fit))
        self._facts = FitFacts.of(Y, rows.weights)
        return self

    def _fit_response(self, response: Response, rows: WeightedTable, y: FloatArray) -> AdditiveModel:
        """Fit classes, counts or amounts."""
        parts, (lams, criterion) = self._parts, read_strengths(self.lam, self._parts)
        D, roots = side_by_side(parts, rows.table), [part.root for part in parts]
        found = self._fit_family(response, D, y, rows.weights, roots, lams, criterion)
        eta = self._combine(np.hstack([np.ones((len(D), 1)), D]), False)[0]
        working = rows.weights * response.working(eta, response.check(y, rows.weights)[0])[1]
        self._keep_terms(found.choice.lams, found.choice.at_end, edf_by_part(parts, D, working, found.fit))
        explained = 1.0 - found.deviance / found.null_deviance if found.null_deviance > 0 else np.nan
        self._facts = FitFacts(int((rows.weights > 0).sum()), np.zeros(0), explained)
        return self

    def _keep_terms(self, lams: FloatArray, at_end: Sequence[str], edf: Sequence[float]) -> None:
        """Keep what is known of each term."""
        smooths = [t for t, part in enumerate(self._parts) if isinstance(part, SmoothPart)]
        self.lam_, self.lam_at_end_ = lams[smooths], [at_end[t] for t in smooths]
        self.edf_by_term_ = dict(zip(self.term_names_, edf, strict=True))

    def _keep(self, fit: PenalizedFit, is_single: bool, fit_intercept: bool) -> None:
        super()._keep(fit, is_single, fit_intercept)
        del self.lam_range_  # that of a common factor of all penalties

    # ------------------------------------------------------------------------------------------------- rows and terms

    def _check_rows(self, X: Rows, y: Rows, sample_weight: ArrayLike | None) -> tuple[WeightedTable, FloatArray]:
        """X, y and weights, checked as scikit-learn does; of a data frame only the columns that terms use."""
        if self._reads_columns(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            y = _check_y(y, **self._target_options(), estimator=self)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, **self._target_options())
        target = np.asarray(y)
        if self._target_options()["y_numeric"]:
            target = target.astype(np.float64)
            check_range_of("y", target)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weights > 0).any():
            raise DataError("All sample weights are zero; at least one row must count.")
        return WeightedTable(ColumnTable.of(X), weights), target

    def _reads_columns(self, X: Any) -> bool:
        """Whether each column of X is read by itself: it may hold categories."""
        has_factor = isinstance(self.terms, list | tuple) and any(isinstance(term, FactorTerm) for term in self.terms)
        return is_frame(X) or (has_factor and getattr(X, "ndim", 0) == 2 and X.dtype.kind in "OUS")

    def _rows(self, X: Rows, weights: FloatArray | None) -> WeightedTable:
        """Rows as the routes give them."""
        table = ColumnTable.of(X)
        return WeightedTable(table, np.ones(table.n) if weights is None else weights)

    def _make(self, rows: WeightedTable) -> list[tuple[Term, Part]]:
        """The terms for these rows."""
        if int(rows.seen.sum()) == 1:
            raise DataError("An additive model needs at least two rows; there is n_samples = 1.")
        terms = default_terms(rows) if self.terms is None else as_terms(self.terms)
        if not terms:
            raise DataError("Every column of X is constant; a term needs at least two distinct values.")
        places = [rows.table.place(term.column) for term in terms]
        for t, place in enumerate(places):
            if place in places[:t]:
                raise DataError(
                    f"Column {rows.table.name(place)!r} has two terms, which explain the same; remove one of them."
                )
        defaults = Defaults(self.n_basis, self.basis)
        return [(term, term.make(rows, place, defaults)) for term, place in zip(terms, places, strict=True)]

    def _columns(self, X: Rows) -> FloatArray:
        table = ColumnTable.of(X)
        for part in self._parts:
            part.warn_outside(part.read(table), stacklevel=4)
        return side_by_side(self._parts, table)

    def _check_new(self, X: Rows) -> Any:
        """New rows, checked as scikit-learn does."""
        if self._reads_columns(X):
            return validate_data(self, X, reset=False, skip_check_array=True)
        return validate_data(self, X, dtype=np.float64, reset=False)

    # ----------------------------------------------------------------------------------------------- face to the routes

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """How the routes see this model."""
        return learner_of(self, task, path)

    def _make_design(self, X: Rows, weights: FloatArray | None) -> Design:
        """The columns of all terms, with their penalties at strength one."""
        rows = self._rows(X, weights)
        parts = [part for _, part in self._make(rows)]
        return _design(parts, rows.table, np.ones(len(parts)))

    def _given_design(
        self, X: Rows, weights: FloatArray | None, lams: FloatArray | None
    ) -> tuple[Design, FloatArray, str]:
        """A path of penalties that all terms share, or the penalties as they are given."""
        rows = self._rows(X, weights)
        parts = [part for _, part in self._make(rows)]
        hint = rare_level(parts, rows)
        if lams is not None:
            check_path(parts)
            return _design(parts, rows.table, np.ones(len(parts))), lams[:, 0], hint
        strengths = read_strengths(self.lam, parts)[0]
        if np.isnan(strengths).any():
            refuse_criterion()
        return _design(parts, rows.table, strengths), np.ones(1), hint

    def _make_smoother(self, X: Rows, weights: FloatArray | None, lams: FloatArray | None) -> Smoother:
        """The same for least squares."""
        design, strengths, hint = self._given_design(X, weights, lams)
        smoother = DesignSmoother(design.X, design.penalty, True, strengths[:, None], weights)
        smoother.hint = hint
        return smoother

    def _make_learner(self, X: Rows, weights: FloatArray | None, lams: FloatArray | None) -> Learner:
        """With penalties that are chosen anew in every training set, if a criterion is to choose some."""
        rows = self._rows(X, weights)
        parts = [part for _, part in self._make(rows)]
        strengths, criterion = read_strengths(self.lam, parts)
        if lams is not None or not np.isnan(strengths).any():
            return self._make_smoother(X, weights, lams)
        hint, design = rare_level(parts, rows), _design(parts, rows.table, np.ones(len(parts)))
        smoother = DesignSmoother(design.X, design.penalty, True, np.ones((1, 1)), weights)
        return AdditiveLearner(smoother, design.X, [part.root for part in parts], strengths, criterion, hint)

    def _freeze(self, X: Rows, weights: FloatArray | None) -> AdditiveModel:
        """The same model with the knots and levels of these rows; itself if the terms name them all."""
        made = self._make(self._rows(X, weights))
        terms = [term.frozen(part) for term, part in made]
        if self.terms is not None and all(new is old for new, (old, _) in zip(terms, made, strict=True)):
            return self
        frozen: AdditiveModel = copy_of(self).set_params(terms=terms)
        return frozen


def _design(parts: list[Part], table: ColumnTable, lams: FloatArray) -> Design:
    """Columns of all terms, and their penalties at given strengths."""
    return Design(side_by_side(parts, table), joint_penalty([part.root for part in parts], lams))
