"""A first try of an installed package: ``python .ci/smoke.py core`` or, with the extra "cli", ``cli``.

The kernels must be there unless ONEFIT_KERNEL=off or SMOKE_KERNEL=none says that they need not.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import HuberRegressor, Ridge

import onefit
import onefit.report
from onefit.linalg import compiled

OPTIONAL = ("matplotlib", "typer", "rich", "pyarrow", "jinja2")


def core():
    """All that needs no extra: routes, curves, comparisons, models; and what does says so."""
    assert not [name for name in OPTIONAL if importlib.util.find_spec(name)], "the environment has optional libraries"
    X, y = load_diabetes(return_X_y=True)
    results = [
        onefit.nested_cv(Ridge(0.1), X, y, n_folds=5, n_repeats=5, random_state=0, route=route)
        for route in ("gram", "onestep", "refit")
    ]
    intervals = np.array([result.interval for result in results])
    np.testing.assert_allclose(intervals, intervals[[0, 0, 0]], rtol=1e-8)
    assert 2500 < results[0].estimate < 3500
    assert results[0].summary()
    assert results[0]._repr_html_()
    assert onefit.nested_cv(HuberRegressor(), X, y, n_folds=5, n_repeats=2, random_state=0).route == "refit"
    settings = {"n_folds": 5, "n_repeats": 5, "random_state": 0}
    assert len(onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.1, 1.0], **settings).results) == 2
    assert len(onefit.compare({"small": Ridge(0.1), "large": Ridge(9.0)}, X, y, **settings).to_frame()) == 1
    assert onefit.SplineRegression().fit(X[:, [2]], y).predict(X[:, [2]]).shape == y.shape
    assert '".[plot]"' in message_of(results[0].plot)
    with tempfile.TemporaryDirectory() as folder:
        assert '".[cli]"' in message_of(lambda: onefit.report.write_report(Path(folder) / "r.html", result=results[0]))


def message_of(call):
    """The message with which a call fails."""
    try:
        call()
    except onefit.errors.OneFitError as error:
        return str(error)
    return "it did not fail"


def cli():
    """The libraries of the extra are there."""
    for name in OPTIONAL:
        importlib.import_module(name)
    from onefit.cli import main

    assert callable(main)


if __name__ == "__main__":
    if os.environ.get("SMOKE_KERNEL") != "none":
        assert compiled.is_on() or os.environ.get("ONEFIT_KERNEL") == "off", "the kernels were not built"
    {"core": core, "cli": cli}[sys.argv[1]]()
    onefit.show_config()
