"""Slope and intercept of a recalibration: solved by other means, and linearized as their derivatives say."""

import numpy as np
import pytest
from scipy.optimize import minimize

from onefit.metrics.calibration import CALIBRATION, recalibrated
from onefit.metrics.contract import Repeat


def problem(n=80, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return z, (rng.random(n) < 1 / (1 + np.exp(0.3 - 0.7 * z))).astype(float), rng.uniform(0.5, 2, n)


def test_it_solves_the_weighted_likelihood():
    z, y, w = problem()
    theta, inverse = recalibrated(z, y, w)
    found = minimize(lambda t: w @ (np.logaddexp(0, t[0] + t[1] * z) - y * (t[0] + t[1] * z)), [0, 1], tol=1e-14).x
    np.testing.assert_allclose(theta, found, atol=1e-6)
    q = 1 / (1 + np.exp(-theta[0] - theta[1] * z))
    design = np.c_[np.ones_like(z), z]
    np.testing.assert_allclose(design.T @ (w * (y - q)), 0, atol=1e-9)
    np.testing.assert_allclose(inverse @ ((design.T * (w * q * (1 - q))) @ design / w.sum()), np.eye(2), atol=1e-9)


def test_its_gradient_is_zero_to_the_last_digits():
    """The loss is flat there: a step that is halved until it falls left half of the digits, one time in twenty."""
    left = []
    for seed in range(200):
        z, y, w = problem(40, seed)
        theta, _ = recalibrated(z, y, w)
        q = 1 / (1 + np.exp(-theta[0] - theta[1] * z))
        left.append(np.abs(np.c_[np.ones_like(z), z].T @ (w * (y - q))).max() / w.sum())
    assert max(left) < 1e-13


@pytest.mark.parametrize("unit", [0.1, 1.0, 10.0])
def test_classes_that_only_rows_without_weight_keep_together_have_no_recalibration(unit):
    """Coefficients go to infinity by steps of one, with curvatures that vanish alike."""
    z = unit * np.array([-2.0, -1.5, -1.0, 1.0, 1.5, 2.0, 3.0, -3.0])
    y, w = np.array([0.0, 0, 0, 1, 1, 1, 0, 1]), np.array([1.0, 1, 1, 1, 1, 1, 0, 0])
    for rows in (w > 0, w >= 0):
        assert np.isnan(recalibrated(z[rows], y[rows], w[rows])[0]).all()


@pytest.mark.parametrize("metric", CALIBRATION, ids=lambda metric: metric.name)
def test_influence_is_the_derivative_with_respect_to_a_rows_weight(metric):
    z, y, w = problem(40)
    w = w / w.mean()
    rows = [np.arange(40)[np.arange(40) % 4 == fold] for fold in range(4)]
    chance = 1 / (1 + np.exp(-z))
    table = [np.repeat(np.c_[1 - chance[r], chance[r]][None, :, None], 4, axis=0) for r in rows]
    reduced = metric.reduce(Repeat(y.astype(int), np.array([0, 1]), w, rows, {"predict_proba": table}))
    theta = recalibrated(z, y, w)[0][metric.component]
    np.testing.assert_allclose(w @ reduced.influence[:, 0, 0] / w.sum(), theta, rtol=1e-9)
    for row in (0, 17):
        step = 1e-6
        more = w.copy()
        more[row] += step
        slope = (recalibrated(z, y, more)[0][metric.component] - theta) / step * w.sum()
        np.testing.assert_allclose(reduced.influence[row, 0, 0] - theta, slope, rtol=1e-4, atol=1e-5)
    assert (reduced.change == 0).all()


def test_separated_classes_and_constant_predictions_have_none():
    z = np.linspace(-1, 1, 20)
    assert np.isnan(recalibrated(z, (z > 0).astype(float), np.ones(20))[0]).all()
    assert np.isnan(recalibrated(np.zeros(20), (z > 0).astype(float), np.ones(20))[0]).all()
