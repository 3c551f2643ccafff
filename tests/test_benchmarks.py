"""The benchmarks run, on small cases, and their methods agree with onefit: they cannot rot."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _root_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]


def test_every_method_gives_the_same_fold_errors_on_a_small_case():
    from benchmarks.cases import Case
    from benchmarks.measure import TOLERANCE, compare_case

    rows = compare_case(Case(61, 3, 5, 4, 2), 0.0)
    assert {row.method.name.partition(":")[0] for row in rows} >= {"onefit gram", "onefit onestep", "onefit auto"}
    assert max(row.difference for row in rows) <= TOLERANCE


def test_a_refit_loop_can_be_timed():
    from benchmarks.cases import Case
    from benchmarks.curve import refit_seconds

    assert refit_seconds(Case(61, 3, 5, 1, 1)) > 0
