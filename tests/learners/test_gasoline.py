"""The gasoline spectra: errors of prediction are those of R's pls, from the same folds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression

import onefit
from helpers import quietly

HERE = Path(__file__).parents[1] / "data" / "gasoline"
COMPONENTS = range(1, 11)


@pytest.fixture(scope="module")
def spectra():
    table = pd.read_csv(HERE / "data.csv")
    return table.drop(columns="octane").to_numpy() / 1e6, table["octane"].to_numpy()


def curve_of(spectra, **folds):
    path = {"param_name": "n_components", "param_range": COMPONENTS, "simpler": "smaller"}
    return quietly(onefit.error_curve, PLSRegression(scale=False), *spectra, **path, **folds)


@pytest.mark.parametrize(("column", "folds"), [("folds", {"folds": np.arange(60) % 10}), ("loo", {"n_folds": "n"})])
def test_errors_of_prediction_are_those_of_r(spectra, column, folds):
    curve = curve_of(spectra, **folds)
    assert {result.route for result in curve.results} == {"gram"}
    found = np.sqrt([result.cv_estimate for result in curve.results])
    np.testing.assert_allclose(found, pd.read_csv(HERE / "rmsep.csv")[column], rtol=1e-8)


def test_one_standard_error_takes_few_components(spectra):
    curve = curve_of(spectra, n_folds=10, n_repeats=5, random_state=0)
    assert (curve.select("one_se"), curve.select("min")) == (4, 7)
    rmsep = curve.rmse.estimate[list(COMPONENTS).index(curve.select("one_se"))]
    assert 0.2 < rmsep < 0.3
