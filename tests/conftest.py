"""Hypothesis profiles and the data sets that several files share."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

threadpool_limits(limits=1)  # the tests run side by side; threads of BLAS would only get in each other's way

SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", max_examples=40, derandomize=True, deadline=None, suppress_health_check=SLOW_DATA)
settings.register_profile("dev", max_examples=15, deadline=None, suppress_health_check=SLOW_DATA)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture
def regression():
    """Forty rows, four columns, one output: well posed for every route."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((40, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(40)


@pytest.fixture
def two_outputs():
    """Thirty-six rows, three columns, two outputs of different scale."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((36, 3))
    return X, X @ rng.standard_normal((3, 2)) * [1.0, 30.0] + rng.standard_normal((36, 2))
