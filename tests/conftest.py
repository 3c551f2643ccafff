"""Threads, Hypothesis profiles, and the data sets that several files share."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
from importlib.util import find_spec

# The tests run side by side: threads of a BLAS would only get in each other's way. NumPy and SciPy bring a BLAS each,
# which reads this when it is loaded, so it stands above the imports; subprocesses inherit it.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
os.environ["MPLBACKEND"] = "Agg"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from onefit.datasets import simulation
from onefit.folds import entropy_of
from onefit.running import makejob

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


# So does everything else: what asks the operating system for a seed gets the next of a series that starts anew in every
# phase of every test. Two calls without a seed still differ.
seeds = itertools.count()


def seeded(random_state):
    return entropy_of(next(seeds) if random_state is None else random_state)


if PROFILE == "fixed":
    for module in (makejob, simulation):
        module.entropy_of = seeded


def start_series(phase):
    """Seeds of a phase: those of fixtures, which several tests share, are not those of the tests."""
    global seeds
    seeds = itertools.count(1000 * phase)
    if PROFILE == "fixed":
        np.random.seed(phase)  # noqa: NPY002  (estimators of scikit-learn without a random_state)


# Without the extras: files that are about one are not collected, and a test that meets the lack of one is skipped.
FILES_OF = {
    "matplotlib": ["display/test_display.py", "project/test_examples.py"],
    "pyarrow": ["cli/test_cli_tables.py"],
    "jinja2": ["report/test_report.py", "report/test_report_browser.py"],
    "typer": ["cli/test_cli.py", "cli/test_cli_docs.py", "cli/test_cli_files.py", "cli/test_cli_options.py"],
}
LACKING = [name for name in (*FILES_OF, "polars", "rich", "sympy") if find_spec(name) is None]
collect_ignore = [file for name in FILES_OF if name in LACKING for file in FILES_OF[name]]


def pytest_report_header(config):
    without = f"; without {', '.join(LACKING)}" if LACKING else ""
    return f"hypothesis profile: {PROFILE}{without}"


def pytest_collection():
    gc.disable()  # nothing of what is collected is garbage, and looking for it takes a third of the time


@pytest.hookimpl(tryfirst=True)  # before -m is heeded
def pytest_collection_modifyitems(items):
    sweeps = {}
    for item in items:
        if mark := item.get_closest_marker("sweep"):
            sweeps.setdefault((item.fspath, item.originalname, item.cls), (mark.args[0], []))[1].append(item)
    for (_, name, _), (step, cases) in sweeps.items():
        for at, case in enumerate(cases):
            if at % step:
                case.add_marker(pytest.mark.slow)
        lost = values_of(cases) - values_of(cases[::step])
        if lost:
            raise pytest.UsageError(f"every {step}th case of {name} lacks values of {sorted({key for key, _ in lost})}")


def values_of(cases):
    """What the parameters of some cases are: the same objects in all of them."""
    return {(name, id(value)) for case in cases for name, value in case.callspec.params.items()}


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    start_series(1)
    with skipped_if_lacking():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    start_series(2)
    with skipped_if_lacking():
        return (yield)


@contextlib.contextmanager
def skipped_if_lacking():
    try:
        yield
    except Exception as error:
        if name := lacking_in(error):
            pytest.skip(f"needs {name}")
        raise


def lacking_in(error):
    """The absent library that an error, or what it came from, is about; None if it is about something else."""
    while error is not None and not isinstance(error, AssertionError):
        name = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
        if name in LACKING:
            return name
        error = error.__cause__ or error.__context__
    return None


@pytest.fixture(scope="session")
def cluster():
    """The client of a Dask cluster of two processes; one serves all tests, as it takes seconds to start."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


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


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Matplotlib warns of many open figures, which would be a failure of whichever test draws the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
