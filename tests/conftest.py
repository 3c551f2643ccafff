"""Threads, Hypothesis profiles, and the data sets that several files share."""

from __future__ import annotations

import contextlib
import os

# The tests run side by side: threads of a BLAS would only get in each other's way. NumPy and SciPy bring a BLAS each,
# which reads this when it is loaded, so it stands above the imports; subprocesses inherit it.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# "fixed", the default, draws the same examples everywhere; "random" draws new ones, and more (make test-all).
SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "fixed", max_examples=15, derandomize=True, deadline=None, suppress_health_check=SLOW_DATA, print_blob=True
)
settings.register_profile("random", max_examples=60, deadline=None, suppress_health_check=SLOW_DATA, print_blob=True)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fixed")
settings.load_profile(PROFILE)
if PROFILE == "fixed":
    # Hypothesis also draws numbers that stand in the modules loaded so far, which depend on the tests that ran before.
    with contextlib.suppress(ImportError):
        from hypothesis.internal.conjecture import providers

        if hasattr(providers, "_get_local_constants"):
            providers._get_local_constants = lambda: providers._local_constants


def pytest_report_header(config):
    return f"hypothesis profile: {PROFILE}"


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
