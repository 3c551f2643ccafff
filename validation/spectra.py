"""Real spectra: how many components, with the root mean squared error of prediction and its interval.

``python -m validation.spectra`` reads the 21 infrared spectra of a fermentation, with the glucose that a chromatograph
found, that the package chemotools ships (MIT licence; ``pip install chemotools``). The gasoline spectra of the R
package pls came with no Python package that we found.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.signal import savgol_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import onefit

__all__ = ["components", "fermentation", "main"]

MOST = 8


def fermentation() -> tuple[Any, Any]:
    """Spectra between 950 and 1550 per centimetre, where glucose absorbs, and grams of glucose a litre."""
    from chemotools.datasets import load_fermentation_train  # no dependency of onefit

    spectra, glucose = load_fermentation_train()
    numbers = np.array([float(name) for name in spectra.columns])
    return spectra.to_numpy()[:, (numbers > 950) & (numbers < 1550)], glucose["glucose"].to_numpy()


def components(X: Any, y: Any, **keywords: Any) -> onefit.ErrorCurve:
    """The curve over components of partial least squares on first derivatives."""
    derivative = partial(savgol_filter, window_length=15, polyorder=2, deriv=1, axis=1)
    model = make_pipeline(FunctionTransformer(derivative), PLSRegression(scale=False))
    names = {"param_name": "plsregression__n_components", "param_range": range(1, MOST + 1), "simpler": "smaller"}
    return onefit.error_curve(model, X, y, **names, **keywords)


def main() -> None:
    """Print the table of the page on spectra."""
    X, y = fermentation()
    curve = components(X, y, n_folds="n")
    assert curve.rmse is not None
    for count, point, low, high in zip(curve.values, *curve.rmse, strict=True):
        print(f"{count} components: RMSEP {point:5.2f} ({low:.2f} to {high:.2f})")
    print(f"smallest {curve.select('min')}, one standard error {curve.select('one_se')}; {curve.results[0].route}")


if __name__ == "__main__":
    main()
