"""Numbers behind the pictures of held-out probabilities."""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats
from sklearn.metrics import roc_auc_score, roc_curve

from onefit.metrics.reliability import recalibration_line, reliability, roc_band


def drawn(n=200):
    rng = np.random.default_rng(0)
    chance = rng.random(n)
    return chance, rng.random(n) < chance


def test_bars_are_wilsons_and_bins_hold_all_rows():
    chance, positive = drawn()
    bins = reliability(chance, positive, 0.9)
    assert (len(bins.n_rows), bins.n_rows.sum()) == (10, 200)
    for share, low, high, m in zip(bins.share, bins.low, bins.high, bins.n_rows, strict=True):
        expected = stats.binomtest(round(share * m), int(m)).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose([low, high], expected, atol=1e-12)


def test_equal_probabilities_share_a_bin():
    bins = reliability(np.repeat([0.2, 0.7], [90, 10]), np.arange(100) % 2 == 0, 0.95)
    np.testing.assert_allclose(bins.probability, [0.2, 0.7])
    np.testing.assert_array_equal(bins.n_rows, [90, 10])


def test_slope_one_and_intercept_zero_change_nothing():
    x, y = recalibration_line(drawn()[0], 1.0, 0.0)
    np.testing.assert_allclose(x, y)
    assert (recalibration_line(drawn()[0], 1.0, -1.0)[1] < x).all()


def test_the_roc_curve_is_scikit_learns_and_its_band_holds_it():
    chance, positive = drawn(1000)
    chance = chance.round(2)  # ties
    roc = roc_band(chance, positive, 0.95)
    false, true, _ = roc_curve(positive, chance, drop_intermediate=False)
    last = np.append(np.diff(false) > 0, True)
    np.testing.assert_allclose(roc.true_positive, np.interp(roc.false_positive, false[last], true[last]))
    np.testing.assert_allclose(
        integrate.trapezoid(roc.true_positive, roc.false_positive), roc_auc_score(positive, chance), atol=2e-3
    )
    assert ((roc.low <= roc.true_positive) & (roc.true_positive <= roc.high)).mean() > 0.97
    np.testing.assert_array_equal(roc.high, roc_band(chance, positive, 0.95).high)


def test_with_groups_the_band_resamples_whole_groups():
    chance, positive = drawn(100)
    groups = np.repeat(np.arange(100), 4)
    chance, positive = np.repeat(chance, 4), np.repeat(positive, 4)  # four copies of every row say no more than one
    by_rows, by_groups = (roc_band(chance, positive, 0.9, those) for those in (None, groups))
    width, wider = (np.median(band.high - band.low) for band in (by_rows, by_groups))
    np.testing.assert_allclose(wider / width, 2.0, rtol=0.25)
    by_class = roc_band(chance, positive, 0.9, positive.astype(int))  # draws without a class are drawn anew
    assert np.isfinite(by_class.low).all()
