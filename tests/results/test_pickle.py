"""Results and fitted models can be pickled and copied, and are then what they were."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import HuberRegressor, LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import data, quietly
from onefit.losses import huber, nonnegative, pinball

X, Y = data(40, 3, 1)
Y2 = np.column_stack([Y, Y[::-1]])
WEIGHTS = np.linspace(0.5, 2.0, 40)
FOLDS = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
WAYS = {"pickle": lambda each: pickle.loads(pickle.dumps(each)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def power(y, prediction):
    return np.abs(y - prediction) ** 1.5


def curve(estimator, y=Y, param_name="alpha", values=(0.1, 1.0, 10.0), **keywords):
    return quietly(
        onefit.error_curve, estimator, X, y, param_name=param_name, param_range=values, **{**FOLDS, **keywords}
    )


RESULTS = {
    "result": lambda: quietly(onefit.nested_cv, Ridge(), X, Y),
    "refits": lambda: quietly(onefit.nested_cv, HuberRegressor(alpha=0.1), X, Y, **FOLDS),
    "classes": lambda: quietly(onefit.nested_cv, RidgeClassifier(), X, Y > 0, **FOLDS),
    "outputs": lambda: quietly(onefit.nested_cv, Ridge(), X, Y2, **FOLDS),
    "curve": lambda: curve(Ridge()),
    "curve of outputs": lambda: curve(Ridge(), Y2),
    "curve of weights": lambda: curve(make_pipeline(Ridge()), param_name="ridge__alpha", sample_weight=WEIGHTS),
    "curve of a loss": lambda: curve(Ridge(), loss=nonnegative(power)),
    "curve of a frame": lambda: quietly(
        onefit.error_curve, Ridge(), pd.DataFrame(X), Y, param_name="alpha", param_range=[1.0, 2.0], **FOLDS
    ),
    "curve of refits": lambda: curve(HuberRegressor(), values=(0.1, 0.2)),
    "comparison": lambda: quietly(onefit.compare, {"ridge": Ridge(), "ols": LinearRegression()}, X, Y, **FOLDS),
    "plan": lambda: onefit.plan(500, 21, 10),
}
MODELS = {
    "penalized": onefit.PenalizedRegression(lam="gcv"),
    "spline": onefit.SplineRegression(),
    "thin plate": onefit.SplineRegression(basis="tp"),
    "additive": onefit.AdditiveModel([onefit.smooth(0), onefit.linear(1)]),
    "signal": onefit.SignalRegression(n_basis=4),
    "fpcr": onefit.FPCR(),
    "tuned": RidgeCV(),
    "pipeline": make_pipeline(StandardScaler(), onefit.PenalizedRegression(lam="reml")),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RESULTS)
def test_results_survive(name, way):
    before = RESULTS[name]()
    after = WAYS[way](before)
    assert type(after) is type(before)
    assert repr(after) == repr(before)
    assert [key for key in vars(before) if key not in vars(after)] == []
    if hasattr(before, "to_frame"):
        pd.testing.assert_frame_equal(after.to_frame(), before.to_frame())


@pytest.mark.sweep(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in RESULTS if name.startswith("curve")])
def test_the_refit_of_a_loaded_curve_is_that_of_the_curve(name, way):
    before = RESULTS[name]()
    found, expected = WAYS[way](before).refit("min").predict(X), before.refit("min").predict(X)
    if name == "curve of a frame":  # copies of a frame may have another order in memory, and sums other last bits
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    else:
        np.testing.assert_array_equal(found, expected)


def test_a_curve_is_loaded_in_another_process(tmp_path):
    before = curve(Ridge())
    (tmp_path / "curve").write_bytes(pickle.dumps(before))
    code = f"import pickle; print(pickle.load(open({str(tmp_path / 'curve')!r}, 'rb')).refit('min').coef_.tolist())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    np.testing.assert_array_equal(eval(run.stdout), before.refit("min").coef_)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_fitted_models_survive(name, way):
    model = quietly(MODELS[name].fit, X, Y)
    np.testing.assert_array_equal(WAYS[way](model).predict(X), model.predict(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", [huber(0.5), pinball(0.3), nonnegative(power)], ids=["huber", "pinball", "own"])
def test_losses_survive(loss, way):
    after = WAYS[way](loss)
    arguments = np.zeros(3), np.array([-2.0, 0.1, 3.0])
    compute = (lambda each: each(*arguments)) if callable(loss) else (lambda each: each.of(*arguments))
    np.testing.assert_array_equal(compute(after), compute(loss))
    assert getattr(after, "__name__", "") == getattr(loss, "__name__", "")


def test_the_figures_of_a_plan_stay_read_only():
    after = pickle.loads(pickle.dumps(onefit.plan(500, 21, 10)))
    assert after == onefit.plan(500, 21, 10)
    with pytest.raises(TypeError, match="item assignment"):
        after.flops["gram"] = 0.0


def test_errors_survive_with_what_they_know():
    error = onefit.errors.TrainingSetError("cause and remedy")
    error.lam = 3.0
    after = pickle.loads(pickle.dumps(error))
    assert (str(after), after.lam) == ("cause and remedy", 3.0)
