"""Two passes over blocks of rows give what tables of all rows give, and what refits give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

import helpers
import onefit
from onefit.inference import row_sums
from onefit.inference.chain import ascending
from onefit.inference.fold_errors import RowRoles, spread_of_losses
from onefit.linalg import compiled
from onefit.results.figured import Figures
from onefit.routes import collect, gram, gramstream, rowpasses
from onefit.running import makejob
from reference import refit_predictions

N, P, K = 1300, 6, 5
RNG = np.random.default_rng(20261117)
X = RNG.standard_normal((N, P)) * np.logspace(-3, 3, P) + 40 * RNG.standard_normal(P)
X[:, 2] = RNG.random(N) < 0.02
Y = X @ (1 / np.logspace(-3, 3, P)) + 2 * RNG.standard_normal(N)
WEIGHTS, GROUPS = RNG.random(N) + 0.1, RNG.integers(0, 60, N)
IDS = RNG.integers(-1, K, size=(3, N))
SETTINGS = {"n_folds": K, "n_repeats": 3, "random_state": 0}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 80 rows, so that few rows make many of them."""
    monkeypatch.setattr(collect, "BLOCK_CELLS", 1)
    monkeypatch.setattr(collect, "ROWS_OF_A_FOLD", 16)


@pytest.fixture
def passes(monkeypatch):
    """How often rows were streamed to the end."""
    done = []
    stream = gramstream.StreamedEngine.stream

    def counted(self, *args):
        pairs = stream(self, *args)
        done.append(args)
        return pairs

    monkeypatch.setattr(gramstream.StreamedEngine, "stream", counted)
    return done


@pytest.fixture
def skewness(monkeypatch):
    """That of the losses (L, V, Q) of every answer, of which its intervals are all that a user sees."""
    found = []
    begin = Figures.__init__

    def noted(self, job, outcome, asked, rows):
        found.append(outcome.errors.skewness)
        begin(self, job, outcome, asked, rows)

    monkeypatch.setattr(Figures, "__init__", noted)
    return found


def both_ways(monkeypatch, function, *args, **kwargs):
    """By blocks, and by tables."""
    streamed = helpers.quietly(function, *args, **kwargs)
    monkeypatch.setattr(gram, "can_stream", lambda *_: False)
    return streamed, helpers.quietly(function, *args, **kwargs)


def assert_same(streamed, tables, rtol=1e-10):
    """All figures that a result has."""
    for name in ("estimate", "interval", "standard_error", "cv_estimate", "raw_estimate"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(tables, name), rtol=rtol, err_msg=name)
    # those of folds have both signs: their mean may be a hundredth of them, its rounding errors are theirs
    folds = np.abs(tables.fold_errors.mse).max()
    np.testing.assert_allclose(streamed.mse, tables.mse, rtol=rtol, atol=rtol * folds, err_msg="mse")
    for name in ("e_in", "e_out", "v_out", "mse"):
        one, other = (np.asarray(getattr(each.fold_errors, name)) for each in (streamed, tables))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max(), err_msg=name)
    np.testing.assert_allclose(streamed.intervals.to_numpy(), tables.intervals.to_numpy(), rtol=rtol)
    one, other = streamed.heldout, tables.heldout
    assert one.columns.equals(other.columns)
    for column in one:
        if one[column].dtype.kind == "f":
            np.testing.assert_allclose(one[column], other[column], rtol=rtol, atol=rtol * np.abs(other[column]).max())
        else:
            assert one[column].equals(other[column])


CASES = {
    "ridge": (Ridge(), Y, {}),
    "least squares": (LinearRegression(), Y, {}),
    "no intercept": (Ridge(fit_intercept=False), Y, {}),
    "weights": (Ridge(), Y, {"sample_weight": WEIGHTS}),
    "groups": (Ridge(), Y, {"groups": GROUPS}),
    "groups with weights": (Ridge(), Y, {"groups": GROUPS, "sample_weight": WEIGHTS}),
    "rows in no fold": (Ridge(), Y, {"folds": IDS, "n_folds": "auto", "n_repeats": "auto"}),
    "folds in one piece": (
        Ridge(),
        Y,
        {
            "folds": np.minimum(np.arange(N) // 200, 4) - (np.arange(N) > 1100) * 5,
            "n_folds": "auto",
            "n_repeats": "auto",
        },
    ),
    "absolute error": (Ridge(), Y, {"loss": "absolute_error"}),
    "two outputs": (Ridge(), np.c_[Y, X[:, 0] * Y], {}),
    "partitions of the bias": (Ridge(), Y, {"bias_folds": 4}),
    "classes": (RidgeClassifier(), np.digitize(Y, np.quantile(Y, [0.3, 0.7])), {}),
    "repeats as needed": (Ridge(), Y, {"n_repeats": "auto"}),
}


@pytest.mark.parametrize("case", CASES)
def test_two_passes_give_what_tables_of_all_rows_give(case, monkeypatch, passes):
    estimator, y, options = CASES[case]
    streamed, tables = both_ways(monkeypatch, onefit.nested_cv, estimator, X, y, **{**SETTINGS, **options})
    assert passes
    assert_same(streamed, tables)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_a_curve_has_the_same_pairs_and_scores(weights, groups, monkeypatch, passes):
    path = {"param_name": "alpha", "param_range": np.logspace(-2, 5, 6)}
    streamed, tables = both_ways(
        monkeypatch, onefit.error_curve, Ridge(), X, Y, **path, sample_weight=weights, groups=groups, **SETTINGS
    )
    assert passes
    for name in ("estimate", "low", "high", "standard_error", "edf"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(tables, name), rtol=1e-9)
    one, other = streamed.difference.standard_error, tables.difference.standard_error
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12 * np.abs(tables.estimate).max())
    np.testing.assert_allclose(streamed.scores.to_numpy(), tables.scores.to_numpy(), rtol=1e-9)
    for at in (0, -1):
        assert_same(streamed.results[at], tables.results[at], 1e-9)


@pytest.mark.skipif(not compiled.is_there(), reason="the compiled kernels were not built")
@pytest.mark.parametrize(
    "options", [{}, {"sample_weight": WEIGHTS}, {"interval": "bates"}], ids=["plain", "weights", "pairs"]
)
@pytest.mark.parametrize("folds", [{}, {"folds": IDS, "n_folds": "auto", "n_repeats": "auto"}], ids=["all", "some"])
def test_rows_scored_by_the_kernel_are_those_scored_by_tables(options, folds, monkeypatch, passes):
    path = {"param_name": "alpha", "param_range": np.logspace(-2, 5, 11)}
    calls = []
    kernel = compiled.score
    monkeypatch.setattr(compiled, "score", lambda *args: (calls.append(args), kernel(*args)))
    found = []
    for on in (True, False):
        with compiled.switched(on):
            found.append(helpers.quietly(onefit.error_curve, Ridge(), X, Y, **path, **{**SETTINGS, **options, **folds}))
        assert len(calls) > 0
        monkeypatch.setattr(compiled, "score", None)
    assert len(passes) == 2
    compiled_curve, twin = found
    for one, other in zip(compiled_curve.results, twin.results, strict=True):
        assert_same(one, other, 1e-10)
        np.testing.assert_allclose(one.r2, other.r2, rtol=1e-10)
    error = compiled_curve.difference.standard_error
    np.testing.assert_allclose(error, twin.difference.standard_error, rtol=1e-9, atol=1e-13 * twin.estimate.max())


@pytest.mark.sweep(2)
@pytest.mark.parametrize("factor", [1.0, 1e-55, 1e55])
@pytest.mark.parametrize("case", ["ridge", "weights", "groups", "groups with weights", "rows in no fold"])
def test_losses_are_as_skewed_by_the_kernel_as_without_it_and_by_tables(case, factor, monkeypatch, passes, skewness):
    """On scales, too, where third powers of losses are beyond the range of doubles."""
    estimator, y, options = CASES[case]
    arguments = {"param_name": "alpha", "param_range": np.logspace(-2, 5, 11), **SETTINGS, **options}
    with compiled.switched(False):
        helpers.quietly(onefit.error_curve, estimator, X, factor * y, **arguments)
    both_ways(monkeypatch, onefit.error_curve, estimator, X, factor * y, **arguments)
    assert len(passes) == 2
    without, by_kernel, by_tables = skewness
    assert (by_tables > 0.001).all()  # squares are skewed to the right, by far more than rounding errors
    np.testing.assert_allclose(without, by_tables, rtol=1e-10)
    np.testing.assert_allclose(by_kernel, by_tables, rtol=1e-10)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_a_nearly_perfect_fit_keeps_the_digits_of_its_errors(noise, passes):
    """Down to 1 - R2 = 1e-12, against refits in extended precision."""
    x = RNG.standard_normal((N, 3)) + 10.0
    signal = x @ [1.0, -2.0, 0.5]
    y = signal + noise * signal.std() * RNG.standard_normal(N)
    ids = RNG.integers(0, 3, size=(1, N))
    result = helpers.quiet_nested_cv(Ridge(1e-8), x, y, folds=ids)
    assert passes
    e_out, e_in = np.zeros((2, 3))
    for j in range(3):
        held = np.flatnonzero(ids[0] == j)
        rest = np.flatnonzero(ids[0] != j)
        e_out[j] = np.square(y[held] - refit_predictions(x, y, rest, held, 1e-8)).mean()
        losses = [
            np.square(y[other] - refit_predictions(x, y, np.flatnonzero(~np.isin(ids[0], (j, k))), other, 1e-8))
            for k in range(3)
            if k != j
            for other in [np.flatnonzero(ids[0] == k)]
        ]
        e_in[j] = np.concatenate(losses).mean()
    # a residual has the rounding errors of y, some ulp of which are eps / noise of it
    np.testing.assert_allclose(result.fold_errors.e_out[0], e_out, rtol=1e-11 + 100 * np.finfo(float).eps / noise)
    np.testing.assert_allclose(result.fold_errors.e_in[0], e_in, rtol=1e-11 + 100 * np.finfo(float).eps / noise)


def test_a_column_that_lives_in_one_row_is_refitted_where_it_is_out(monkeypatch, passes):
    rare = X.copy()
    rare[:, 2] = 0.0
    rare[7, 2] = 1e4
    streamed, tables = both_ways(monkeypatch, onefit.nested_cv, Ridge(1e-10), rare, Y, **SETTINGS)
    assert passes
    assert_same(streamed, tables, 1e-9)


def test_columns_that_lose_digits_go_by_tables(passes):
    """Powers of a column far from zero: their Gram matrix has no digits left, a decomposition of the rows has."""
    t = 10 + RNG.random(N)
    powers = np.stack([t**degree for degree in range(1, 7)], axis=1)
    result = helpers.quiet_nested_cv(Ridge(1e-6, fit_intercept=False), powers, Y, **SETTINGS)
    assert not passes
    assert result.route == "gram"


@pytest.mark.parametrize("on", [True, False], ids=["kernel", "no kernel"])
@pytest.mark.parametrize(
    "options",
    [{}, {"sample_weight": WEIGHTS}, {"sample_weight": WEIGHTS, "groups": GROUPS}],
    ids=["plain", "weights", "both"],
)
def test_the_bits_do_not_depend_on_the_number_of_jobs(options, on, passes, skewness):
    path = {"param_name": "alpha", "param_range": np.logspace(-2, 5, 4)}
    with compiled.switched(on):
        one, two = (
            helpers.quietly(onefit.error_curve, Ridge(), X, Y, **path, **options, **SETTINGS, n_jobs=jobs)
            for jobs in (1, 2)
        )
    assert len(passes) == 2
    assert np.array_equal(one.low, two.low)
    assert np.array_equal(one.high, two.high)
    assert (skewness[0] != 0).all()
    assert np.array_equal(*skewness)
    assert np.array_equal(one.difference.standard_error, two.difference.standard_error)
    assert one.results[1].heldout.equals(two.results[1].heldout)


def test_rules_that_need_all_pairs_of_losses_say_so_where_rows_are_many(monkeypatch):
    monkeypatch.setattr(makejob, "MOST_SCATTERED", N - 1)
    result = helpers.quiet_nested_cv(Ridge(), X, Y, **SETTINGS)
    assert result.intervals.loc[["bates", "mlr3"]].isna().to_numpy().all()
    assert 'interval="bates"' in result.intervals.attrs["reasons"]["bates"]
    assert result.intervals.loc["covariance"].notna().all()
    asked = helpers.quiet_nested_cv(Ridge(), X, Y, **SETTINGS, interval="bates")
    monkeypatch.setattr(makejob, "MOST_SCATTERED", N)
    np.testing.assert_allclose(
        asked.interval, helpers.quiet_nested_cv(Ridge(), X, Y, **SETTINGS, interval="bates").interval
    )
    assert asked.intervals.loc["mlr3"].notna().all()


def test_a_sample_that_misses_what_other_rows_have_does_not_go_unnoticed(monkeypatch):
    """A bump in few rows: a pilot that fits the sample's rounding errors would lose all digits."""
    n = 4000
    t = np.arange(n)
    signal = RNG.standard_normal(n)
    for width in (0.8, 1.0, 2.0, 4.0):
        bump = np.exp(-np.square((t % 1000 - 500) / width))
        data = np.c_[signal, bump]
        y = signal + 3 * bump + RNG.standard_normal(n)
        with monkeypatch.context() as patched:
            patched.setattr(gramstream, "SAMPLE_ROWS", 40)
            for loss in ("squared_error", "absolute_error"):
                both = both_ways(patched, onefit.nested_cv, LinearRegression(), data, y, loss=loss, **SETTINGS)
                assert_same(*both, 1e-9)
                patched.setattr(gram, "can_stream", rowpasses.can_stream)


def test_columns_that_are_equal_in_the_sample_alone_do_not_spoil_the_fit(monkeypatch):
    n = 4000
    first = RNG.standard_normal(n)
    second = (first * 1.8 + 32 - 32) / 1.8
    second[RNG.choice(n, 40, replace=False)] += 1.0
    data, y = np.c_[first, second], first + RNG.standard_normal(n)
    monkeypatch.setattr(gramstream, "SAMPLE_ROWS", 40)
    assert_same(*both_ways(monkeypatch, onefit.nested_cv, LinearRegression(), data, y, **SETTINGS), 1e-9)


def test_a_loss_that_dwarfs_all_others_leaves_the_variance_within_other_folds_alone(monkeypatch, passes):
    wild = X.copy()
    wild[17] *= 1e6
    streamed, tables = both_ways(monkeypatch, onefit.nested_cv, Ridge(), wild, Y, **SETTINGS)
    assert passes
    np.testing.assert_allclose(streamed.fold_errors.v_out, tables.fold_errors.v_out, rtol=1e-7)


def test_a_job_too_large_for_memory_at_once_goes_by_tables(monkeypatch, passes):
    monkeypatch.setattr(gramstream, "MOST_BYTES", 1000)
    helpers.quiet_nested_cv(Ridge(), X, Y, **SETTINGS)
    assert not passes


def test_progress_counts_all_repeats(passes):
    seen = []
    helpers.quiet_nested_cv(Ridge(), X, Y, **SETTINGS, progress=lambda done, total: seen.append((done, total)))
    assert passes
    assert seen[-1][0] == seen[-1][1]
    curve = {"param_name": "alpha", "param_range": np.logspace(-1, 1, 9)}
    seen.clear()
    helpers.quietly(
        onefit.error_curve, Ridge(), X, Y, **curve, **SETTINGS, progress=lambda done, total: seen.append((done, total))
    )
    assert len({done for done, _ in seen}) > 10  # in the middle of the second pass, too
    assert seen[-1][0] == seen[-1][1]


def test_a_loss_may_return_what_must_not_be_written_to(passes):
    def constant(y, prediction):
        return np.broadcast_to(1.0, y.shape)

    result = helpers.quiet_nested_cv(Ridge(), X, Y, folds=IDS, loss=constant)
    assert passes
    assert result.cv_estimate == pytest.approx(1.0)
    assert np.isfinite(result.heldout["loss"]).any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans(), st.booleans())
def test_sums_over_blocks_are_those_over_all_rows(seed, n_values, with_weights, with_groups):
    rng = np.random.default_rng(seed)
    n, cut = 60, int(rng.integers(1, 59))
    losses = np.exp(rng.standard_normal((1, n, n_values, 2)))
    weights = rng.random(n) + 0.1 if with_weights else None
    weights = None if weights is None else weights / weights.mean()
    roles = RowRoles(weights, rng.integers(0, 7, n) if with_groups else None)
    chain = ascending(losses.mean(axis=(0, 1, 3)))
    expected = spread_of_losses(losses, roles, chain)
    parts, shift, middle = [], rng.random((3, 2)), rng.random((n_values, 2))
    for rows in (slice(0, cut), slice(cut, n)):
        part = row_sums.RowSums(chain, shift, middle, 7 if with_groups else None)
        of_rows = [None if role is None else role[rows] for role in (roles.weights, roles.groups)]
        weighed = roles.weigh(losses)[0, rows]
        thirds = [slice(len(weighed) * k // 3, len(weighed) * (k + 1) // 3) for k in range(3)]
        part.add(weighed, list(enumerate(thirds)), *of_rows, np.empty((2, n, n_values + 2)))
        parts.append(part)
    parts[0].merge(parts[1])
    found = row_sums.spread_tables(parts[:1])
    for name, table in expected.items():
        np.testing.assert_allclose(found[name], table, rtol=1e-9, atol=1e-12 * np.abs(table).max(), err_msg=name)
    variance = roles.weigh(losses).var(axis=1, ddof=1) / n
    np.testing.assert_allclose(found["row_variance"], variance, rtol=1e-10)


def test_losses_of_a_fold_far_smaller_than_those_at_the_best_value_are_for_the_tables(monkeypatch):
    rng = np.random.default_rng(0)
    losses = rng.random((40, 2, 1)) * [[1.0], [9.0]]
    losses[20:, 1] *= 1e-5  # the first value is the best of all, but not in the second fold
    level = losses.mean() * np.ones((2, 1))
    sums = row_sums.RowSums(ascending(losses.mean(axis=(0, 2))), level, level, None)
    sums.add(losses, [(0, slice(0, 20)), (1, slice(20, 40))], None, None, np.empty((2, 40, 4)))
    assert sums.cancelled() > 1e9 / 81
    monkeypatch.setattr(gramstream, "MOST_CANCELLED", 0.5)
    curve = {"param_name": "alpha", "param_range": [0.1, 1.0, 10.0], **SETTINGS}
    streamed, tables = both_ways(monkeypatch, onefit.error_curve, Ridge(), X, Y, **curve)
    for one, other in zip(streamed.results, tables.results, strict=True):
        np.testing.assert_array_equal(one.fold_errors.v_out, other.fold_errors.v_out)
