"""What the tests share: the table of routes, random folds, tolerances, and quiet runs."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import reference
from remembered import remembered

DATA = Path(__file__).parent / "data"
FAST_ROUTES = ("gram", "onestep")
ROUTES = (*FAST_ROUTES, "refit")
FOLD_ERRORS = ("e_in", "e_out", "v_out")
STRICT = 1e-9
COLUMNS = [field.name for field in fields(reference.Interval)]


class Absent:
    """In place of a library that is not installed; who uses it is skipped."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith(("_", "pytest")):  # pytest looks at all names of a file
            raise AttributeError(attribute)
        pytest.skip(f"needs {self._name}")


def optional(name):
    """A library of an extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return Absent(name)


def least_squares(tol):
    """LinearRegression that takes for singular only what is below `tol`; before scikit-learn 1.7 that was epsilon."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    return model.set_params(tol=tol) if "tol" in model.get_params() else model


def sklearn_before(version):
    """Whether the installed scikit-learn is older than a version."""
    return parse_version(sklearn.__version__) < parse_version(version)


def skip_if_balance_is_counted(class_weight, weights):
    """Skip balanced classes with weights where scikit-learn counts rows instead; there they are refused."""
    if class_weight == "balanced" and weights is not None and sklearn_before("1.7"):
        pytest.skip("before scikit-learn 1.7 weights did not count for balanced classes: refitted")


def quiet_nested_cv(*args, **kwargs):
    """nested_cv without onefit's own warnings, which the test run turns into errors."""
    import onefit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
        return onefit.nested_cv(*args, **kwargs)


def quietly(function, *args, **kwargs):
    """A function of onefit without onefit's own warnings."""
    import onefit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
        return function(*args, **kwargs)


def warned_nested_cv(*args, **kwargs):
    """The result of nested_cv and the onefit warnings it gave, {category: message}."""
    import onefit

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = onefit.nested_cv(*args, **kwargs)
    ours = [w for w in caught if issubclass(w.category, onefit.errors.OneFitWarning)]
    return result, {w.category: str(w.message) for w in ours}


def data(n, p, seed, n_outputs=None):
    """A regression whose columns and outputs have means."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    shape = (p,) if n_outputs is None else (p, n_outputs)
    Y = X @ rng.standard_normal(shape) / np.sqrt(p)
    return X, 3 + Y + rng.standard_normal(Y.shape)


def badly_scaled(X, seed):
    """Columns of X in units from 1e-6 to 1e6."""
    return X * 10 ** np.random.default_rng(seed).uniform(-6, 6, X.shape[1])


def random_weights(n, kind, seed=0):
    """Sample weights: none, positive ones, or a fifth of them zero."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 3.0, n)
    if kind == "zeros":
        weights[rng.permutation(n)[: n // 5]] = 0.0
    return None if kind == "none" else weights


def random_groups(n, n_groups, seed=0):
    """Numbers 0 to G-1, each at least once, in random order; sizes differ."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)))


def random_folds(n, n_folds, n_repeats=1, seed=0, unscored=0):
    """Ids 0..K-1 dealt evenly, and -1 for the first `unscored` rows of a random order."""
    rng = np.random.default_rng(seed)
    ids = np.concatenate([np.full(unscored, -1), np.arange(n - unscored) % n_folds])
    return np.array([rng.permutation(ids) for _ in range(n_repeats)])


def tolerance(X, folds, lam, penalty_root=None, fit_intercept=True, weights=None):
    """The only relative tolerance by conditioning: max(1e-9, 1e3 eps cond).

    cond is the largest 2-norm condition number, over all training sets, of the stacked matrix
    [[1 X], [0 sqrt(lam) R]] with its columns scaled to length one: what a stacked QR refit in double
    precision itself can lose, with a margin for the norms of the residuals. R may be a function of the training rows.
    """
    root_of = penalty_root if callable(penalty_root) else lambda train: penalty_root
    worst = 1.0
    for row in np.asarray(folds):
        for _, train in reference.training_sets(row):
            top, bottom = reference.stacked(X[train], lam, root_of(train), fit_intercept, dtype=float)
            A = np.vstack([top if weights is None else np.sqrt(weights[train])[:, None] * top, bottom])
            worst = max(worst, equilibrated_condition(A))
    return max(STRICT, 1e3 * np.finfo(float).eps * worst)


@remembered
def equilibrated_condition(A):
    """2-norm condition number of a matrix whose columns are scaled to length one."""
    norms = np.linalg.norm(A, axis=0)
    return np.linalg.cond(A / np.where(norms > 0, norms, 1))


def relative_gap(actual, expected):
    """Largest difference relative to the largest expected entry."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape
    assert (np.isnan(actual) == np.isnan(expected)).all()
    if np.isnan(expected).all():
        return 0.0
    return float(np.nanmax(np.abs(actual - expected)) / np.nanmax(np.abs(expected)))


def assert_fold_errors(result, losses, rtol=STRICT, output=None):
    """e_in, e_out, v_out and raw_estimate of a result equal those of the reference losses."""
    for name in FOLD_ERRORS:
        actual = np.asarray(getattr(result.fold_errors, name))
        actual = actual if output is None else actual[..., output]
        gap = relative_gap(actual, getattr(losses, name))
        assert gap <= rtol, f"{name} on route {result.route!r}: {gap:.2e} > {rtol:.2e}"
    raw = np.asarray(result.raw_estimate)
    np.testing.assert_allclose(raw if output is None else raw[output], losses.raw_estimate, rtol=rtol)


def assert_row(result, rule, expected, rtol=STRICT, output=None):
    """One row of the table of intervals."""
    row = result.intervals.loc[rule if output is None else (rule, output), COLUMNS].to_numpy(float)
    np.testing.assert_allclose(row, [getattr(expected, c) for c in COLUMNS], rtol=rtol, err_msg=rule)


def assert_equals_reference(result, losses, rtol=STRICT):
    """Fold errors, the covariance rule and its figures, and the held-out rows, of a result with one output."""
    assert_fold_errors(result, losses, rtol)
    mse, _, drawn = reference.covariance_mse(losses)
    expected = reference.covariance(losses, result.confidence_level)
    np.testing.assert_allclose(result.cv_estimate, losses.cv_estimate, rtol=rtol)
    np.testing.assert_allclose(result.mse, mse + drawn, rtol=10 * rtol)  # a sum of terms of both signs
    assert_row(result, "covariance", expected, 10 * rtol)
    count = (losses.folds >= 0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        assert relative_gap(result.heldout["loss"], np.nansum(losses.plain, axis=0) / count) <= rtol
        if losses.prediction.dtype != object:
            prediction = np.nansum(losses.prediction, axis=0) / count
            assert relative_gap(result.heldout["prediction"], prediction) <= rtol


def assert_same_results(one, other, rtol=STRICT):
    """Two results agree in fold errors, intervals and held-out rows."""
    for name in FOLD_ERRORS:
        gap = relative_gap(getattr(one.fold_errors, name), getattr(other.fold_errors, name))
        assert gap <= rtol, f"{name}, {one.route!r} against {other.route!r}: {gap:.2e} > {rtol:.2e}"
    np.testing.assert_allclose(one.interval, other.interval, rtol=rtol)
    assert one.intervals.index.equals(other.intervals.index)
    np.testing.assert_allclose(one.intervals.to_numpy(), other.intervals.to_numpy(), rtol=rtol)
    assert relative_gap(one.heldout.to_numpy(float), other.heldout.to_numpy(float)) <= rtol


@dataclass(frozen=True)
class OracleCase:
    """One ridge case of R's brute-force numbers."""

    X: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    bias_folds: np.ndarray
    by_lambda: list[dict]

    def first(self, n_repeats):
        """The same case cut to its first repeats."""
        return OracleCase(self.X, self.y, self.folds[:n_repeats], self.bias_folds, self.by_lambda)

    def expected(self, position, name):
        """e_in, e_out, v_out (repeats x K) or mse (repeats) at one lambda."""
        return np.array([rep[name] for rep in self.by_lambda[position]["reps"][: len(self.folds)]])


def oracle(case):
    data = np.loadtxt(DATA / f"{case}_data.csv", delimiter=",", skiprows=1)
    folds, bias_folds = (
        np.loadtxt(DATA / f"{case}_{kind}.csv", delimiter=",", dtype=int) - 1 for kind in ("folds", "bias_folds")
    )
    by_lambda = json.loads((DATA / f"{case}_results.json").read_text())["by_lambda"]
    return OracleCase(data[:, 1:], data[:, 0], folds, bias_folds, by_lambda)


def run_validation(*arguments):
    """What ``python -m validation`` does, in this process and one job."""
    from validation.__main__ import main

    main(["--jobs", "1", *map(str, arguments)])
