"""The slow, literal side of every comparison: real refits, real loops, no identity of the paper.

Nothing here imports onefit. A refit is a Householder QR of the stacked training matrix in extended precision
(80 bits on x86), so that the reference stays exact where double precision would not (p > n with lam = 1e-12).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

from remembered import remembered

LOSSES: dict[str, Callable] = {
    "squared_error": lambda y, prediction: (y - prediction) ** 2,
    "absolute_error": lambda y, prediction: np.abs(y - prediction),
    "huber": lambda y, prediction: huber(y - prediction, 1.35),
    "pinball": lambda y, prediction: pinball(y - prediction, 0.5),
}


def huber(u, delta):
    return np.array([e * e / 2 if abs(e) <= delta else delta * (abs(e) - delta / 2) for e in u])


def pinball(u, quantile):
    return np.array([quantile * e if e >= 0 else (1 - quantile) * -e for e in u])


def zero_one(y, prediction):
    return np.array([float(a != b) for a, b in zip(y, prediction, strict=True)])


def pointwise(loss):
    """The function (y, prediction) of a loss, and the scale of its interval."""
    if loss == "zero_one":
        return zero_one, "logit"
    if callable(loss):
        return loss, "log" if getattr(loss, "nonnegative", False) else "identity"
    return LOSSES[loss], "log"


# ---------------------------------------------------------------------------------------------- refits


def stacked(X, lam, penalty_root, fit_intercept, dtype=np.longdouble):
    """[[1 X], [0 sqrt(lam) R]] with R'R = S (None: the identity), as a pair of blocks."""
    n, p = X.shape
    root = np.eye(p) if penalty_root is None else np.asarray(penalty_root)
    top, bottom = np.asarray(X, dtype), np.sqrt(np.asarray(lam, dtype)) * np.asarray(root, dtype)
    if fit_intercept:
        top = np.hstack([np.ones((n, 1), dtype), top])
        bottom = np.hstack([np.zeros((len(root), 1), dtype), bottom])
    return top, bottom


def householder_least_squares(A, b):
    """Argmin |Ax - b| by Householder QR with column equilibration and pivoting, rows sorted by size.

    Sorting and pivoting make the backward error small row by row (Cox and Higham 1998), which a stack of data
    on top of sqrt(lam) needs when lam is very small or very large.
    """
    scale = np.sqrt((A * A).sum(axis=0))
    A = A / scale
    order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    A, b = A[order], b[order].copy()
    rows, columns = A.shape
    if rows < columns:
        raise ValueError("fewer rows than columns: the least-squares problem has no unique answer")
    pivots = np.arange(columns)
    for step in range(columns):
        best = step + int(np.argmax((A[step:, step:] ** 2).sum(axis=0)))
        A[:, [step, best]], pivots[[step, best]] = A[:, [best, step]], pivots[[best, step]]
        v = A[step:, step].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        beta = 2 / (v @ v)
        A[step:, step:] -= np.outer(v * beta, v @ A[step:, step:])
        b[step:] -= v * beta * (v @ b[step:])
    x = np.zeros(columns, A.dtype)
    for i in reversed(range(columns)):
        x[pivots[i]] = (b[i] - A[i, i + 1 :] @ x[pivots[i + 1 :]]) / A[i, i]
    return x / scale


@remembered
def coefficients(X, y, lam, penalty_root, fit_intercept, weights):
    """Of the penalized regression fitted to all of these rows, none of which is without weight."""
    top, bottom = stacked(X, lam, penalty_root, fit_intercept)
    root = np.sqrt(weights.astype(np.longdouble))
    A = np.vstack([root[:, None] * top, bottom[: len(bottom) if lam > 0 else 0]])
    b = np.concatenate([root * np.asarray(y, np.longdouble), np.zeros(len(A) - len(X), np.longdouble)])
    return householder_least_squares(A, b)


def refit_predictions(X, y, train, test, lam, penalty_root=None, fit_intercept=True, weights=None):
    """Predictions at `test` of the penalized regression fitted to `train` alone; rows of no weight are left out."""
    X, y = np.asarray(X), np.asarray(y)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    train = np.asarray(train)[weights[train] > 0]
    found = coefficients(X[train], y[train], lam, penalty_root, fit_intercept, weights[train])
    top, _ = stacked(X[test], lam, penalty_root, fit_intercept)
    return (top @ found).astype(float)


def refitter(X, y, lam, penalty_root=None, fit_intercept=True, weights=None):
    """`predict(train, test)` of the penalized regression; `penalty_root` may be a function of the training rows."""
    root_of = penalty_root if callable(penalty_root) else lambda train: penalty_root
    return lambda train, test: refit_predictions(X, y, train, test, lam, root_of(train), fit_intercept, weights)


def scales(X):
    """Root of the penalty on columns scaled anew in every training set, a function of its rows."""
    return lambda train: np.diag(X[train].std(axis=0))


def estimator_refitter(estimator, X, y, weights=None):
    """`predict(train, test)` of a scikit-learn estimator; a precomputed kernel is cut on both axes."""
    precomputed = getattr(estimator, "kernel", None) == "precomputed"

    def predict(train, test):
        fit_X = X[np.ix_(train, train)] if precomputed else X[train]
        test_X = X[np.ix_(test, train)] if precomputed else X[test]
        extra = {} if weights is None else {"sample_weight": weights[train]}
        return fitted_predictions(estimator, fit_X, y[train], extra, test_X)

    return predict


@remembered
def fitted_predictions(estimator, X, y, extra, test_X):
    """Of a fresh scikit-learn estimator."""
    from sklearn.base import clone

    return clone(estimator).fit(X, y, **extra).predict(test_X)


def training_sets(folds_row):
    """(held-out fold ids, rows trained on) of every fold and every pair of folds."""
    n_folds = folds_row.max() + 1
    singles = [(j,) for j in range(n_folds)]
    pairs = [(j, k) for j in range(n_folds) for k in range(j)]
    return [(out, np.flatnonzero(~np.isin(folds_row, out))) for out in singles + pairs]


# ----------------------------------------------------------------------------------------- fold errors


@dataclass(frozen=True)
class Losses:
    """Every held-out loss of one output.

    single[l, i]: loss of row i with its own fold out. pair[l, i, j]: with its own fold and fold j out. NaN
    where that does not exist: rows with id -1, and j the row's own fold. Both are times `relative`, the weight of
    the row over their mean over all rows that are scored; `plain` is single without it.
    """

    folds: np.ndarray
    single: np.ndarray
    pair: np.ndarray
    prediction: np.ndarray
    plain: np.ndarray
    relative: np.ndarray
    groups: np.ndarray | None
    scale: str
    of: tuple[Losses, ...] = ()
    """The two models, if these are differences."""

    @property
    def is_difference(self):
        return bool(self.of)

    def only(self, repeat):
        """One of the repeats."""
        chosen = {name: getattr(self, name)[[repeat]] for name in ("folds", "single", "pair", "prediction", "plain")}
        return replace(self, **chosen, of=tuple(model.only(repeat) for model in self.of))

    @property
    def n_folds(self):
        return int(self.folds.max()) + 1

    @property
    def n_repeats(self):
        return len(self.folds)

    @property
    def n_scored(self):
        return int((self.folds[0] >= 0).sum())

    def rows(self, repeat, fold):
        return np.flatnonzero(self.folds[repeat] == fold)

    def fold_size(self, repeat, fold):
        return len(self.rows(repeat, fold))

    @property
    def pooled(self):
        """All pair-held-out losses of all repeats, in one vector."""
        return self.pair[~np.isnan(self.pair)]

    @property
    def raw_estimate(self):
        return self.pooled.mean()

    @property
    def cv_estimate(self):
        return np.nanmean(self.single)

    def table(self, entry):
        return np.array([[entry(r, j) for j in range(self.n_folds)] for r in range(self.n_repeats)])

    @property
    def e_out(self):
        return self.table(lambda r, j: self.single[r, self.rows(r, j)].mean())

    @property
    def v_out(self):
        """NaN for folds of one row."""

        def variance(r, j):
            values = self.single[r, self.rows(r, j)]
            return values.var(ddof=1) if len(values) > 1 else math.nan

        return self.table(variance)

    @property
    def e_in(self):
        return self.table(lambda r, j: np.nanmean(self.pair[r, :, j]))

    @property
    def mse(self):
        size = self.table(self.fold_size)
        return ((self.e_in - self.e_out) ** 2 - self.v_out / size).mean(axis=1)


def mean_weight(weights, folds):
    """Mean over all rows that are scored, of all repeats."""
    return np.average(np.asarray(weights, float), weights=(np.atleast_2d(folds) >= 0).sum(axis=0))


def fold_losses(y, folds, predict, loss="squared_error", weights=None, groups=None):
    """Refit every training set of every repeat and keep every held-out loss."""
    folds = np.asarray(folds)
    n_repeats, n = folds.shape
    n_folds = folds.max() + 1
    function, scale = pointwise(loss)
    relative = np.ones(n) if weights is None else np.asarray(weights, float) / mean_weight(weights, folds)
    plain = np.full((n_repeats, n), np.nan)
    prediction = np.full((n_repeats, n), np.nan, dtype=float if y.dtype.kind in "fiu" else object)
    pair = np.full((n_repeats, n, n_folds), np.nan)
    for r in range(n_repeats):
        for out, train in training_sets(folds[r]):
            test = np.flatnonzero(np.isin(folds[r], out))
            values = np.asarray(predict(train, test))
            losses = function(y[test], values)
            if len(out) == 1:
                plain[r, test], prediction[r, test] = losses, values
                continue
            for position, i in enumerate(test):
                other = out[1] if folds[r, i] == out[0] else out[0]
                pair[r, i, other] = relative[i] * losses[position]
    return Losses(folds, relative * plain, pair, prediction, plain, relative, groups, scale)


def cv_error(y, folds, predict, loss="squared_error"):
    """Row mean of the losses with the own fold out, for each partition."""
    means = []
    for row in np.asarray(folds):
        losses = []
        for j in range(row.max() + 1):
            test = np.flatnonzero(row == j)
            losses.extend(pointwise(loss)[0](y[test], predict(np.flatnonzero(row != j), test)))
        means.append(np.mean(losses))
    return np.array(means)


# -------------------------------------------------------------------------------------- interval rules


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float
    standard_error: float


def _symmetric(estimate, se, quantile):
    return Interval(estimate, estimate - quantile * se, estimate + quantile * se, se)


def _z(level):
    return stats.norm.ppf((1 + level) / 2)


def paper(losses, level, bias_cv=None):
    K = losses.n_folds
    cv = losses.cv_estimate if bias_cv is None else np.mean(bias_cv)
    estimate = losses.raw_estimate - (1 + (K - 2) / K) * (losses.raw_estimate - cv)
    mse = losses.mse.mean()
    return _symmetric(estimate, math.sqrt(mse) if mse >= 0 else math.nan, _z(level))


def bates(losses, level, bias_cv=None):
    K, n = losses.n_folds, losses.folds.shape[1]  # all rows, scored or not
    cv = losses.cv_estimate if bias_cv is None else np.mean(bias_cv)
    estimate = losses.raw_estimate - (1 + ((K - 2) / K) ** 1.5) * (losses.raw_estimate - cv)
    sd = losses.pooled.std(ddof=1)
    n_sub = math.floor(n * (K - 1) / K)
    inflation = math.sqrt(max(0.0, losses.mse.mean())) / (sd / math.sqrt(n_sub))
    return _symmetric(estimate, sd / math.sqrt(n) * min(max(inflation, 1.0), math.sqrt(K)), _z(level))


def mlr3(losses, level):
    K = losses.n_folds
    estimate = losses.raw_estimate - (1 + (K - 2) / K) * (losses.raw_estimate - losses.cv_estimate)
    s = losses.pooled.std(ddof=1) / math.sqrt(losses.n_scored)
    se = math.sqrt(max(0.0, (K - 1) / K * losses.mse.mean()))
    return _symmetric(estimate, min(max(se, s), math.sqrt(K) * s), _z(level))


def naive(losses, level):
    first = losses.single[0][losses.folds[0] >= 0]
    return _symmetric(first.mean(), first.std(ddof=1) / math.sqrt(len(first)), _z(level))


def corrected_t(losses, level):
    """Nadeau and Bengio.

    DESIGN leaves uneven folds open. Here: the estimate is the mean of the fold means, n_test the mean size,
    and n_train what is left of all rows, those never scored included, since they are trained on.
    """
    K, n_test = losses.n_folds, losses.n_scored / losses.n_folds
    n_train = losses.folds.shape[1] - n_test
    variance = losses.e_out.var(axis=1, ddof=1).mean() * (1 / K + n_test / n_train)
    return _symmetric(losses.e_out.mean(), math.sqrt(variance), stats.t.ppf((1 + level) / 2, K - 1))


def sampling_variance(losses, repeat, centre):
    """v/n: the variance of z_i = w_i (l_i - c) / mean(w) over n; with groups, of the sums over groups."""
    scored = np.flatnonzero(losses.folds[repeat] >= 0)
    z = losses.relative[scored] * (losses.plain[repeat, scored] - centre)
    if losses.groups is None:
        return z.var(ddof=1) / len(z)
    groups = losses.groups[scored]
    sums = [sum(z[i] - z.mean() for i in np.flatnonzero(groups == g)) for g in np.unique(groups)]
    return len(sums) / (len(sums) - 1) * sum(total**2 for total in sums) / len(z) ** 2


def covariance_term(losses, repeat):
    """The double sum over folds of one repeat."""
    K, r = losses.n_folds, repeat
    sizes = [losses.fold_size(r, j) for j in range(K)]
    w = [size / sum(sizes) for size in sizes]
    D = np.full((K, K), np.nan)
    for j in range(K):
        for k in range(K):
            if j != k:
                rows = losses.rows(r, j)
                D[j, k] = losses.single[r, rows].mean() - losses.pair[r, rows, k].mean()
    B = np.full((K, K), np.nan)
    for k in range(K):
        others = [j for j in range(K) if j != k]
        centre = sum(w[j] * D[j, k] for j in others) / sum(w[j] for j in others)
        for j in others:
            B[j, k] = D[j, k] - centre
    total = 0.0
    for j in range(K):
        for k in range(K):
            if j != k:
                shrink = (1 - w[j] / (1 - w[k])) * (1 - w[k] / (1 - w[j]))
                total += w[j] * w[k] * B[j, k] * B[k, j] / shrink
    return total


def covariance_terms(losses):
    """(v/n, covariance term) of each repeat; a loss of zeros and ones has at least the binomial v."""
    c = centre(losses)
    least = c * (1 - c) / losses.n_scored if losses.scale == "logit" else 0.0
    return np.array(
        [(max(sampling_variance(losses, r, c), least), covariance_term(losses, r)) for r in range(losses.n_repeats)]
    )


def covariance_mse(losses):
    """The mse before its floor, the floor v/n, and the Monte Carlo variance, which is in neither."""
    floor, term = covariance_terms(losses).mean(axis=0)
    return floor + size_factor(losses) * term, floor, monte_carlo_variance(losses)


def units(losses, repeat=0):
    """Rows of each independent unit that is scored: a group, or a row."""
    scored = np.flatnonzero(losses.folds[repeat] >= 0)
    if losses.groups is None:
        return [[i] for i in scored]
    return [[i for i in scored if losses.groups[i] == g] for g in np.unique(losses.groups[scored])]


def size_factor(losses):
    """b^2, or (ab)^2 for a difference; the root of it below 20 groups, and 1 if every unit is a fold."""
    n, count = losses.folds.shape[1], len(units(losses))
    if losses.n_folds == count:
        return 1.0
    m = np.mean(losses.table(losses.fold_size))
    factor = 1 - 2 * m / n
    if losses.is_difference:
        factor *= 1 - m / n
    return factor if losses.groups is not None and count < 20 else factor**2


def monte_carlo_variance(losses):
    """Variance over repeats of the centre, over their number."""
    if losses.n_repeats == 1:
        return 0.0
    alone = [centre(losses.only(repeat)) for repeat in range(losses.n_repeats)]
    return np.var(alone, ddof=1) / len(alone)


def skewnesses(losses):
    """Of the units of each repeat, over the root of their number."""
    found = []
    for r in range(losses.n_repeats):
        scored = np.flatnonzero(losses.folds[r] >= 0)
        c = np.average(losses.plain[r, scored], weights=losses.relative[scored])
        sums = [sum(losses.relative[i] * (losses.plain[r, i] - c) for i in rows) for rows in units(losses, r)]
        found.append(stats.skew(sums) / math.sqrt(len(sums)))
    return np.array(found)


SCALES: dict[str, tuple[Callable, Callable, Callable]] = {  # h, its inverse and its derivative
    "identity": (lambda e: e, lambda h: h, lambda e: 1.0),
    "log": (math.log, math.exp, lambda e: 1 / e),
    "logit": (lambda e: math.log(e / (1 - e)), lambda h: 1 / (1 + math.exp(-h)), lambda e: 1 / (e * (1 - e))),
}


def centre(losses):
    """The error at n rows, extrapolated on the scale of the loss."""
    K, (h, inverse, _) = losses.n_folds, SCALES[losses.scale]
    least = 1 / (2 * losses.n_scored)
    e_in, e_out = within_reach(losses), losses.cv_estimate
    if losses.scale == "logit":
        e_in, e_out = (min(max(e, least), 1 - least) for e in (e_in, e_out))
    return inverse(h(e_in) - (1 + (K - 2) / K) * (h(e_in) - h(e_out)))


def within_reach(losses):
    """The error with two folds out, nearer to that with one where they are more than a factor of two apart."""
    if losses.is_difference:
        first, second = losses.of
        return within_reach(first) - within_reach(second)
    e_in, e_out = losses.raw_estimate, losses.cv_estimate
    if losses.scale != "log":
        return e_in
    factor = max(e_in, e_out) / min(e_in, e_out)
    return e_in if factor <= 2 else e_out * (e_in / e_out) ** (1 / (factor - 1))


def covariance(losses, level, more_skewness=0.0):
    mse, floor, drawn = covariance_mse(losses)
    s, c = math.sqrt(max(mse, floor) + drawn), centre(losses)
    df = len(units(losses)) - 1
    if losses.scale == "log":
        df = min(df, max(3.0, c**2 / floor))
    t = stats.t.ppf((1 + level) / 2, df)
    if losses.scale == "logit":
        low, high = wilson(c, c * (1 - c) / s**2, t)
        seen = losses.cv_estimate
        return Interval(c, 0.0 if seen == 0 else low, 1.0 if seen == 1 else high, s)
    low, high = c - t * s, c + t * s
    if losses.scale == "log" and s <= c:
        low, high = math.exp(math.log(c) - t * s / c), math.exp(math.log(c) + t * s / c)
    if not losses.is_difference:
        kappa = np.clip(skewnesses(losses).mean() + more_skewness, -1, 1)
        low, high = min(low, c - s * hall_inverse(t, kappa)), max(high, c - s * hall_inverse(-t, kappa))
    return Interval(c, max(low, 0.0) if losses.scale == "log" else low, high, s)


def wilson(share, count, t):
    """The textbook's formula."""
    middle = (share + t**2 / (2 * count)) / (1 + t**2 / count)
    half = t / (1 + t**2 / count) * math.sqrt(share * (1 - share) / count + t**2 / (4 * count**2))
    return middle - half, middle + half


def hall_inverse(x, kappa):
    """The T at which T + kappa T^2/3 + kappa^2 T^3/27 + kappa/6 = x, found by looking for it."""

    def g(T):
        return T + kappa * T**2 / 3 + kappa**2 * T**3 / 27 + kappa / 6 - x

    reach = 10.0 * (1 + abs(x))
    return optimize.brentq(g, -reach, reach, xtol=1e-14, rtol=1e-14)


def subtract(first, second):
    """The losses of one model minus those of another, row by row: a difference, on the plain scale."""
    assert np.array_equal(first.folds, second.folds)
    return Losses(
        first.folds,
        first.single - second.single,
        first.pair - second.pair,
        np.full(first.single.shape, np.nan),
        first.plain - second.plain,
        first.relative,
        first.groups,
        "identity",
        (first, second),
    )


def paired(first, second, level):
    """Difference of error between two models, by the covariance rule on their differences of loss."""
    return covariance(subtract(first, second), level)


def monte_carlo_error(losses, level=0.95):
    """Relative Monte Carlo error of the half-width of the covariance rule; of the skewness if that matters."""
    per_repeat = covariance_terms(losses) @ [1.0, size_factor(losses)]
    mse, floor, drawn = covariance_mse(losses)
    error = per_repeat.std(ddof=1) / math.sqrt(losses.n_repeats) / (2 * (max(mse, floor) + drawn))
    step = skewnesses(losses).std(ddof=1) / math.sqrt(losses.n_repeats)
    own, *others = (covariance(losses, level, more) for more in (0.0, -step, step))
    width = own.high - own.low
    moved = max(abs(other.high - other.low - width) for other in others) / width
    return math.hypot(error, moved) if moved > 0.05 else error


RULES: dict[str, Callable] = {
    "covariance": covariance,
    "bates": bates,
    "paper": paper,
    "mlr3": mlr3,
    "naive": naive,
    "corrected_t": corrected_t,
}


def quartic(n, p, K):
    """The polynomial of the paper's Proposition 2."""
    return (
        6 * n**3
        + (-8 * n**3 + 12 * p * n**2 + 30 * n**2) * K
        + (-24 * p * n**2 - 60 * n**2) * K**2
        + (-18 * p**2 * n + p**3 + 15 * p**2 + 6 * n + 6 * p * n) * K**3
        + (6 * p**2 * n + p**3 + 15 * p**2 + 6 * p * n) * K**4
    )
