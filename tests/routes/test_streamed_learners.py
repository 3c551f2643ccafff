"""What is learned or tuned anew in every training set, in passes over blocks of rows: as from tables, as by refits."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import helpers
import onefit
from onefit.criteria import tall
from onefit.models import FPCR, AdditiveModel, PenalizedRegression
from onefit.routes import collect, gramstream, learned, rowpasses, tuned, tunedstream

N, P, K = 900, 5, 5
RNG = np.random.default_rng(16)
X = RNG.standard_normal((N, P)) * np.logspace(-2, 2, P) + 40 * RNG.standard_normal(P)
Y = (X / np.logspace(-2, 2, P)) @ RNG.standard_normal(P) + 2 * RNG.standard_normal(N)
CURVES = RNG.standard_normal((N, 12)).cumsum(axis=1) + 0.3 * RNG.standard_normal((N, 12))
WEIGHTS, GROUPS = RNG.random(N) + 0.1, RNG.integers(0, 60, N)
IDS = RNG.integers(-1, K, size=(2, N))
SETTINGS = {"n_folds": K, "n_repeats": 2, "random_state": 0}
SCALED = make_pipeline(StandardScaler(), Ridge(3.0))
FEW_COMPONENTS = FPCR(n_basis=8, n_components=4, components="refit", lam="gcv")
SMOOTHS = AdditiveModel(terms=[0, 3], n_basis=5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few rows of each fold, so that few rows make many of them."""
    monkeypatch.setattr(collect, "BLOCK_CELLS", 1)
    monkeypatch.setattr(collect, "ROWS_OF_A_FOLD", 8)
    monkeypatch.setattr(rowpasses, "LEAST_ROWS_A_COLUMN", 10)
    monkeypatch.setattr(gramstream, "SAMPLE_ROWS", 100)


@pytest.fixture
def passes(monkeypatch):
    """How often rows were streamed to the end."""
    done, stream = [], gramstream.StreamedEngine.stream

    def counted(self, *args):
        pairs = stream(self, *args)
        done.append(args)
        return pairs

    monkeypatch.setattr(gramstream.StreamedEngine, "stream", counted)
    return done


def by_tables(monkeypatch, function, *args, **kwargs):
    """The same with tables of all rows."""
    with monkeypatch.context() as patched:
        patched.setattr(learned, "can_stream", lambda *_: False)
        patched.setattr(tuned, "can_stream", lambda *_: False)
        return helpers.quietly(function, *args, **kwargs)


TWO = np.c_[Y, np.square(X[:, 0] - X[:, 0].mean()) + Y]
CASES = {
    "scaled": (SCALED, X, Y, {}),
    "scaled, groups": (SCALED, X, Y, {"groups": GROUPS}),
    "scaled, rows in no fold": (SCALED, X, Y, {"folds": IDS, "n_folds": "auto", "n_repeats": "auto"}),
    "scaled, absolute error": (SCALED, X, Y, {"loss": "absolute_error"}),
    "scaled, two outputs": (SCALED, X, TWO, {}),
    "scaled, partitions of the bias": (SCALED, X, Y, {"bias_folds": 4}),
    "scaled, gcv": (make_pipeline(StandardScaler(), PenalizedRegression(lam="gcv")), X, Y, {}),
    "gcv": (PenalizedRegression(lam="gcv"), X, Y, {}),
    "reml": (PenalizedRegression(lam="reml"), X, Y, {}),
    "gcv, no intercept": (PenalizedRegression(lam="gcv", fit_intercept=False), X, Y, {}),
    "gcv, weights": (PenalizedRegression(lam="gcv"), X, Y, {"sample_weight": WEIGHTS}),
    "gcv, groups with weights": (PenalizedRegression(lam="gcv"), X, Y, {"groups": GROUPS, "sample_weight": WEIGHTS}),
    "reml, two outputs": (PenalizedRegression(lam="reml"), X, TWO, {}),
    "gcv, absolute error": (PenalizedRegression(lam="gcv"), X, Y, {"loss": "absolute_error"}),
    "gcv, rows in no fold": (
        PenalizedRegression(lam="gcv"),
        X,
        Y,
        {"folds": IDS, "n_folds": "auto", "n_repeats": "auto"},
    ),
    "components": (FEW_COMPONENTS, CURVES, Y, {}),
    "components, weights": (FEW_COMPONENTS, CURVES, Y, {"sample_weight": WEIGHTS}),
    "components, no intercept": (FEW_COMPONENTS.__class__(8, 3, 0.01, "refit", fit_intercept=False), CURVES, Y, {}),
    "smooths": (SMOOTHS, X, Y, {}),
    "smooths, weights": (SMOOTHS, X, Y, {"sample_weight": WEIGHTS}),
}


@pytest.mark.parametrize("case", CASES)
def test_two_passes_give_what_tables_of_all_rows_give(case, monkeypatch, passes):
    estimator, data, y, options = CASES[case]
    arguments = (onefit.nested_cv, estimator, data, y)
    streamed = helpers.quietly(*arguments, **{**SETTINGS, **options})
    assert passes
    helpers.assert_same_results(streamed, by_tables(monkeypatch, *arguments, **{**SETTINGS, **options}))


@pytest.mark.parametrize("case", ["scaled", "scaled, two outputs", "gcv", "gcv, weights", "components", "smooths"])
def test_two_passes_give_what_refits_give(case, passes):
    estimator, data, y, options = CASES[case]
    options = {**options, "n_folds": 3, "n_repeats": 1, "random_state": 3}
    streamed = helpers.quiet_nested_cv(estimator, data, y, **options)
    assert passes
    refits = helpers.quiet_nested_cv(estimator, data, y, **options, route="refit")
    if case in ("components", "smooths"):  # what they take from all rows, such as knots, refits are given, too
        assert streamed.exactness == refits.exactness
    helpers.assert_same_results(streamed, refits)


@given(
    st.integers(60, 140),
    st.integers(1, 5),
    st.integers(3, 6),
    st.sampled_from(["scaled", "gcv", "reml"]),
    st.sampled_from([None, 2]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 10.0, 1e4]),
    st.integers(0, 2**16),
)
def test_any_shape_gives_what_tables_give(n, p, n_folds, kind, n_outputs, weighs, skips, offset, seed):
    rng = np.random.default_rng(seed)
    data = (rng.standard_normal((n, p)) + offset) * 10.0 ** rng.uniform(-2, 2, p)
    y = rng.standard_normal((n, n_outputs or 1)) + ((data - data.mean(axis=0)) / data.std(axis=0)).sum(axis=1)[:, None]
    y = y if n_outputs else y[:, 0]
    options = {"folds": np.stack([rng.permutation(n) % (n_folds + skips) - skips for _ in range(2)])}
    if kind != "scaled" and weighs:
        options["sample_weight"] = rng.random(n) + 0.1
    estimator = SCALED if kind == "scaled" else PenalizedRegression(lam=kind)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rowpasses, "LEAST_BLOCKS", 2)
        patched.setattr(rowpasses, "LEAST_ROWS_A_COLUMN", 4)
        patched.setattr(gramstream, "SAMPLE_ROWS", 30)
        streamed = helpers.quiet_nested_cv(estimator, data, y, **options)
        tables = by_tables(patched, onefit.nested_cv, estimator, data, y, **options)
    helpers.assert_same_results(streamed, tables)


def test_a_curve_of_scaled_columns_has_the_same_pairs(monkeypatch, passes):
    path = {"param_name": "ridge__alpha", "param_range": np.logspace(-2, 4, 5)}
    arguments = (onefit.error_curve, SCALED, X, Y)
    streamed = helpers.quietly(*arguments, **path, **SETTINGS)
    assert passes
    tables = by_tables(monkeypatch, *arguments, **path, **SETTINGS)
    for name in ("estimate", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(tables, name), rtol=1e-9)
    one, other = streamed.difference.standard_error, tables.difference.standard_error
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12 * np.abs(tables.estimate).max())


@pytest.mark.parametrize("case", ["scaled", "gcv", "components", "smooths"])
def test_the_bits_do_not_depend_on_the_number_of_jobs(case, passes):
    estimator, data, y, options = CASES[case]
    one, two = (helpers.quiet_nested_cv(estimator, data, y, **options, **SETTINGS, n_jobs=jobs) for jobs in (1, 2))
    assert len(passes) == 2
    assert one.interval == two.interval
    assert one.heldout.equals(two.heldout)


@pytest.mark.parametrize("estimator", [SCALED, PenalizedRegression(lam="gcv")], ids=["scaled", "gcv"])
def test_a_training_set_without_the_rows_that_a_column_lives_in_is_fitted_from_its_rows(estimator, monkeypatch, passes):
    rare = X.copy()
    rare[:, 2] = 0.0
    rare[[7, 8], 2] = 3.0, -1.0
    ids = np.arange(N) % K
    ids[[7, 8]] = 1
    seen = []
    refit = learned.LearnedEngine.refit

    def watched(self, folds, repeat, out, *args):
        seen.append(out)
        return refit(self, folds, repeat, out, *args)

    for engine in (learned.LearnedEngine, tuned.TunedEngine):
        monkeypatch.setattr(engine, "refit", watched)
    monkeypatch.setattr(gramstream, "SAMPLE_ROWS", N)  # else the sample does not see the column, and tables are taken
    streamed = helpers.quiet_nested_cv(estimator, rare, Y, folds=ids)
    assert passes
    assert set(seen) == {(1,), *(tuple(sorted((1, other))) for other in range(K) if other != 1)}
    helpers.assert_same_results(streamed, by_tables(monkeypatch, onefit.nested_cv, estimator, rare, Y, folds=ids))


@pytest.mark.parametrize("estimator", [SCALED, PenalizedRegression(lam="gcv")], ids=["scaled", "gcv"])
def test_columns_that_depend_on_each_other_go_by_tables(estimator, monkeypatch, passes):
    twice = np.c_[X, X[:, 0] + X[:, 1]]
    streamed = helpers.quiet_nested_cv(estimator, twice, Y, **SETTINGS)
    assert not passes
    helpers.assert_same_results(streamed, by_tables(monkeypatch, onefit.nested_cv, estimator, twice, Y, **SETTINGS))


def test_a_criterion_that_is_a_sum_over_rows_goes_by_tables(passes):
    assert helpers.quiet_nested_cv(RidgeCV(), X, Y, **SETTINGS).route == "gram"
    assert not passes


def test_directions_are_told_apart_up_to_the_largest_penalty_that_may_be_asked_for(monkeypatch, passes):
    asked = {tall: [], tunedstream: []}
    for module, found in asked.items():

        def noted(*arguments, found=found, rotate=module.rotate):
            found.append(arguments[-1])
            return rotate(*arguments)

        monkeypatch.setattr(module, "rotate", noted)
    path = {"param_name": "alpha", "param_range": [1e-2, 1e5]}
    helpers.quietly(onefit.error_curve, Ridge(), X, Y, **path, **SETTINGS).scores  # noqa: B018  (computed on demand)
    helpers.quietly(onefit.nested_cv, PenalizedRegression(lam="gcv"), X, Y, **SETTINGS)
    assert len(passes) > 1
    assert set(asked[tall]) == {1e5}
    end = 1e8 * np.square(X - X.mean(axis=0)).sum()  # the most penalized end of the axis, on all rows
    assert all(end <= most < 2 * end for most in asked[tunedstream])
    assert asked[tunedstream]


def test_a_failing_fit_is_reported_as_without_blocks(monkeypatch):
    """Curves that are all the same in a training set: the error names it."""
    curves = np.ones((N, 12))
    curves[:200] = CURVES[:200]
    ids = np.minimum(np.arange(N) // 200, 3)
    with pytest.raises(onefit.errors.OneFitError, match=r"with fold 0 held out.*all curves of the training set"):
        helpers.quiet_nested_cv(FEW_COMPONENTS, curves, Y, folds=ids, route="gram")


@pytest.mark.parametrize(("name", "most"), [("gcv", 0.6), ("scaled", 1.6)])
def test_nothing_of_the_size_of_the_data_is_made(name, most, monkeypatch, passes):
    """A pass keeps sums; a scaler, which is fitted once on all rows for the scores, makes its own copy of them."""
    monkeypatch.setattr(collect, "BLOCK_CELLS", 2**15)
    monkeypatch.setattr(collect, "ROWS_OF_A_FOLD", 64)
    rng = np.random.default_rng(0)
    many, folds = rng.standard_normal((60_000, 40)), rng.integers(0, 5, 60_000)
    y = many[:, 0] + rng.standard_normal(len(many))
    tracemalloc.start()
    try:
        helpers.quiet_nested_cv(CASES[name][0], many, y, folds=folds)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert passes
    assert peak < most * many.nbytes
