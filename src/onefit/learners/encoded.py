"""Linear fits to what steps make of the columns anew in every training set, from Gram matrices of fixed features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeAlias

import numpy as np
from scipy import linalg

from ..linalg import batched
from ..linalg.columns import EPS, Columns, norms
from ..linalg.stacked import fit_stacked
from ..linalg.weights import check_ratio
from ..typing import BoolArray, FloatArray, IntArray
from .contract import Learner, Refusal, Scores, Task
from .dependences import Constants, SetRows, constant_in_rows, held
from .encoding import Encoding
from .featurerows import FeatureRows
from .features import Features
from .fixedfeatures import FixedFeatures
from .setstatistics import Moments

__all__ = [
    "EncodedLearner",
    "EncodedSets",
    "RowsOfSet",
    "SomeValuesFail",
    "free_and_penalized",
    "keeps_digits",
    "scale_columns",
]

FEW_FEATURES = 200
"""So many may be more than there are rows: small Gram matrices take less than a refit does."""
CANCELLED = 1e-6
"""Part of the squares of the columns that an output is made of, below which its own have lost too many digits."""


class SomeValuesFail(Exception):
    """Values that a training set has no fit for, with their reasons; what it has for the others is ``fitted``."""

    def __init__(self, reasons: dict[int, str], fitted: tuple[FloatArray, FloatArray]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons, self.fitted = reasons, fitted


RowsOfSet: TypeAlias = Callable[[int], SetRows]


@dataclass(frozen=True)
class EncodedSets:
    """What S training sets say to a linear fit, their rows weighted.

    Attributes
    ----------
    features : Features
    moments : Moments
    right : (S, q, Q) products of the columns of B with y, both about their means
    y_mean : (S, Q)
    squares : function
        Of nothing: sums (S, Q) of the squares of y about its means.
    whole : (S,) or None
        If some are splits of others: of which, and the place of the others themselves.
    rows : function
        Of the place of a training set: its outputs about their means (n, p), zero where they are constant, y (n, Q)
        about its mean, and the roots of the weights (n,); without an intercept nothing is subtracted. Asked for by
        what is chosen by leaving out rows, and where columns seem to depend on each other; None if there are none to
        ask.
    constants : function
        Of whether there is an intercept: combinations of the columns of B that are constant in all rows. Asked for
        where columns seem to depend on each other, before rows are; None if that is not known.
    """

    features: Features
    moments: Moments
    right: FloatArray
    y_mean: FloatArray
    rows: RowsOfSet | None
    squares: Callable[[], FloatArray]
    whole: IntArray | None = None
    constants: Callable[[bool], Constants] | None = None

    def held(self, index: int, A: FloatArray, D: FloatArray, fit_intercept: bool) -> Iterator[FloatArray]:
        """Projections on what is constant in a training set: by what is so in all rows, and by its own rows."""
        if self.constants is not None:
            known = self.constants(fit_intercept).within(self.features, self.moments, index, D, fit_intercept)
            yield held(D, known)
        if self.rows is not None:
            yield held(D, constant_in_rows(A, D, partial(self.rows, index)))


class EncodedLearner(FeatureRows, Learner):
    """Least squares or ridge regression on the outputs of steps that learn from each training set.

    Parameters
    ----------
    encoding : Encoding
        What the steps make of the columns.
    lams : array (V, 1) or (V, Q)
    weights : array (n,) or None
        Weights in the fit; the steps count every row once.
    fit_intercept : bool
    """

    needs_rows = False
    n_candidates = 0  # penalties among which each training set chooses by leaving out its rows
    reason = "what its steps learn in each training set, and the fit, follow from sums and counts of its rows"

    def __init__(self, encoding: Encoding, lams: FloatArray, weights: FloatArray | None, fit_intercept: bool) -> None:
        check_ratio(weights)
        self.encoding, self.lams = encoding, lams
        self.weights, self.fit_intercept = weights, fit_intercept

    @property
    def fixed(self) -> FixedFeatures:
        """Of which its outputs are made."""
        return self.encoding.fixed

    @property
    def n_values(self) -> int:
        """Number of penalties."""
        return len(self.lams)

    @property
    def parts(self) -> Sequence[EncodedLearner]:
        """Itself: a family of learners has several."""
        return (self,)

    @property
    def n_unpenalized(self) -> int:
        """Outputs that no penalty holds."""
        return 0 if self.lams.all() else self.encoding.block.n_most

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its penalties."""
        other = copy(self)
        other.lams = self.lams[list(values)]
        return other

    @property
    def takes_masks(self) -> bool:
        """Whether training sets are fitted from all rows at once, by `fit_masks`, and not from their statistics."""
        return False

    def start_seconds(self) -> float:
        """About what it takes to make features of the columns of a table, once."""
        return 5e-3 + 3e-4 * self.width if self.encoding.steps else 0.0

    def set_seconds(self) -> float:
        """About what a training set takes, from its statistics: products of the outputs, and a system a value."""
        q = self.width
        return 5e-5 + 1.2e-8 * q**2 + self.n_values * (1.5e-5 + 4e-9 * q**2 + 1e-11 * q**3)

    def fit_masks(
        self, B: FloatArray, y: FloatArray, inside: BoolArray, varies: BoolArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Fit the columns B (n, q), of which some vary (S, q), to y in the rows ``inside`` (S, n) of training sets.

        Coefficients (S, V, q, Q), constants (S, V, Q), and which training sets have those of a refit to all digits.
        """
        raise NotImplementedError

    @property
    def is_narrow(self) -> bool:
        """Whether Gram matrices of so many features take less than refits do."""
        return self.width <= max(self.n, FEW_FEATURES)

    def scores(self, task: Task) -> Scores | Refusal:
        """None: what the steps learn is not linear in y."""
        return Refusal("they are known of linear smoothers only, and its steps learn from every training set")

    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, V, p, Q) of the outputs, and which training sets have those of a refit to all digits."""
        A, d, h = self._scaled_equations(sets)
        D = batched.inverse_roots(d)
        if self.fit_intercept:
            _hold_closed(A, D, sets.features)
        right = np.empty((*h.shape[:2], h.shape[2] + 1))
        np.multiply(D[:, :, None], h, out=right[..., :-1])
        right[..., -1] = batched.probe(h.shape[1])
        found, is_sound = np.empty((len(A), len(self.lams), *h.shape[1:])), keeps_digits(sets, d)
        held_of = partial(sets.held, fit_intercept=self.fit_intercept)
        for value, lams in enumerate(self.lams):
            for lam in np.unique(lams):
                outputs = np.flatnonzero(np.broadcast_to(lams == lam, h.shape[2]))
                solution, is_known = _solve(A, D, right, float(lam), held_of)
                found[:, value, :, outputs] = np.moveaxis(D[:, :, None] * solution[..., outputs], 2, 0)
                is_sound &= is_known
        return found, is_sound

    def _scaled_equations(self, sets: EncodedSets) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Products of the outputs with themselves, all of length one, their squared lengths, and products with y."""
        found = sets.moments.correlations(sets.features) if self.fit_intercept else None
        if found is not None:
            _set_diagonal(found[0])
            return *found, sets.features.products_with(sets.right)
        A, h = self._normal_equations(sets)
        d = np.einsum("spp->sp", A).copy()
        scale_columns(A)
        return A, d, h

    def _normal_equations(self, sets: EncodedSets) -> tuple[FloatArray, FloatArray]:
        """Products of the outputs with themselves and with y, about their means or, without an intercept, zero."""
        features, moments = sets.features, sets.moments
        A = moments.gram(features)
        h = features.products_with(sets.right)
        if not self.fit_intercept:
            mean = moments.means(features)
            A = A + moments.n[:, None, None] * mean[:, :, None] * mean[:, None]
            h = h + moments.n[:, None, None] * mean[:, :, None] * sets.y_mean[:, None]
        return A, h

    def intercepts(self, sets: EncodedSets, beta: FloatArray) -> FloatArray:
        """Constants (S, V, Q) that belong to the coefficients."""
        if not self.fit_intercept:
            return np.zeros((*beta.shape[:2], beta.shape[3]))
        means = sets.moments.means(sets.features)
        constant: FloatArray = sets.y_mean[:, None] - np.einsum("sp,svpq->svq", means, beta)
        return constant

    def fit_rows(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (V, p, Q) and constants (V, Q) of one training set from its rows; constant columns are zero.

        May raise SomeValuesFail.
        """
        columns, middle = free_and_penalized(Z, root, self.fit_intercept)
        found, constants = np.zeros((len(self.lams), Z.shape[1], y.shape[1])), np.zeros((len(self.lams), y.shape[1]))
        for value, lams in enumerate(self.lams):
            for lam in np.unique(lams):
                outputs = np.flatnonzero(np.broadcast_to(lams == lam, y.shape[1]))
                a, b = _fit_one(columns, root[:, None] * y[:, outputs], float(lam))
                found[value][:, outputs] = a
                constants[value, outputs] = b.sum(axis=0) - middle @ a
        return found, constants


def scale_columns(A: FloatArray) -> FloatArray:
    """Let products (S, p, p) be those of columns of length one; returns the inverses of the lengths (S, p).

    That of a column that is zero is zero: so will its coefficient be.
    """
    D = batched.inverse_roots(np.einsum("spp->sp", A))
    A *= D[:, :, None]
    A *= D[:, None]
    _set_diagonal(A)
    return D


def _set_diagonal(A: FloatArray) -> None:
    """Ones, also of columns that are zero."""
    diagonal = np.arange(A.shape[1])
    A[:, diagonal, diagonal] = 1.0


def keeps_digits(sets: EncodedSets, squares: FloatArray) -> BoolArray:
    """Training sets (S,) whose outputs, of these squares (S, p), are more than what is left of columns that cancel."""
    features, pattern = sets.features, sets.features.pattern
    if pattern.is_plain:
        return np.ones(len(squares), dtype=bool)
    parts = np.square(features.coef) * np.einsum("sqq->sq", sets.moments.products)[:, pattern.source]
    is_lost = features.varies & (squares < CANCELLED * pattern.sums(parts))
    return np.logical_not(is_lost.any(axis=1))


def free_and_penalized(Z: FloatArray, root: FloatArray, fit_intercept: bool) -> tuple[Columns, FloatArray]:
    """Columns about their middle, beside a constant if there is an intercept, all times the roots of the weights."""
    ones = np.ones((len(Z), 1 if fit_intercept else 0))
    columns = Columns(Z, ones, norms(Z), norms(ones), None, True, fit_intercept)
    shift = columns.middles()
    middle = np.zeros(Z.shape[1]) if shift is None else shift[0][0] + shift[1][0]
    return columns.moved(shift).weighted(root), middle


def _fit_one(columns: Columns, y: FloatArray, lam: float) -> tuple[FloatArray, FloatArray]:
    """One fit; without a penalty the shortest coefficients, as scikit-learn has them."""
    if lam > 0:
        return fit_stacked(columns, y, lam)
    N = columns.N
    Q = linalg.qr(N, mode="economic")[0]
    rounding = max(columns.E.shape) * EPS
    a = linalg.lstsq(columns.E - Q @ (Q.T @ columns.E), y - Q @ (Q.T @ y), cond=rounding)[0]
    return a, linalg.lstsq(N, y - columns.E @ a)[0] if N.shape[1] else np.zeros((0, y.shape[1]))


def _hold_closed(A: FloatArray, D: FloatArray, features: Features) -> None:
    """Hold the direction in which the levels of a column sum to a constant: no fit goes there.

    About their means the columns are dependent, so that products with y are zero along the direction, and coefficients
    too, at every penalty. What is added to the matrix in that direction changes nothing but its condition.
    """
    by = np.asarray(np.maximum.reduceat(features.coef, features.pattern.starts, axis=1))
    for group in range(int(features.closed.max(initial=-1)) + 1):
        some = np.flatnonzero(features.closed == group)
        along = D[:, some] / np.where(by[:, some] > 0, by[:, some], np.inf)
        length = np.linalg.norm(along, axis=1, keepdims=True)
        along = along / np.where(length > 0, length, 1.0)
        if some[-1] - some[0] == len(some) - 1:  # the levels of a column are neighbours as a rule
            A[:, some[0] : some[-1] + 1, some[0] : some[-1] + 1] += along[:, :, None] * along[:, None]
        else:
            A[:, some[:, None], some] += along[:, :, None] * along[:, None]


def _solve(
    A: FloatArray,
    D: FloatArray,
    right: FloatArray,
    lam: float,
    held_of: Callable[[int, FloatArray, FloatArray], Iterator[FloatArray]],
) -> tuple[FloatArray, BoolArray]:
    """``(A + lam D^2)^-1`` times the right-hand sides, and where that is known well; the last one is a probe."""
    penalty = lam * np.square(D)
    solution = batched.solve_penalized(A, penalty, right)
    is_known: BoolArray = np.ones(len(A), dtype=bool)
    for index in np.flatnonzero(batched.suspects(solution[..., -1])):
        system = A[index] + np.diag(penalty[index])
        if batched.smallest_eigenvalues(system) >= batched.TRUSTED and np.isfinite(solution[index]).all():
            continue
        is_known[index], solution[index] = False, 0.0
        for null in held_of(int(index), A[index], D[index]):
            if not null.any() or batched.smallest_eigenvalues(system + null) < batched.TRUSTED:
                continue
            found = batched.solve_definite((system + null)[None], right[index : index + 1])[0]
            if np.isfinite(found).all():
                is_known[index], solution[index] = True, found
                break
    return solution[..., :-1], is_known
