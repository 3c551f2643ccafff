"""
Which penalty, and how sure?
============================

Choose the penalty of a ridge regression with its uncertainty in sight, on scikit-learn's diabetes data.
Run ``python examples/diabetes_curve.py [--output DIR]``; it prints the choice and draws it in ``curve.png``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit

ALPHAS = np.logspace(-1, 3, 41)
PICTURE = "curve.png"


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the error curve of ridge regression, choose alpha, and say what error to expect of the choice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help=f"where {PICTURE} goes (default: here)"
    )
    options = parser.parse_args(arguments)

    X, y = load_diabetes(return_X_y=True, scaled=False)
    n, p = X.shape
    print(f"Ridge regression on scikit-learn's diabetes data: {n} patients, {p} measurements each\n")

    # The scales of the columns come from all rows ("freeze"), which lets one decomposition serve the whole curve.
    scaled = make_pipeline(StandardScaler(), Ridge())
    curve = onefit.error_curve(scaled, X, y, param_name="ridge__alpha", param_range=ALPHAS, transformers="freeze")
    print("rule     alpha   error (95% interval)   degrees of freedom")
    for rule in ("min", "one_se", "loo", "gcv", "reml"):
        at = int(np.flatnonzero(curve.values == curve.select(rule))[0])
        error, low, high = (math.sqrt(end[at]) for end in (curve.estimate, curve.low, curve.high))
        print(f"{rule:<7}{curve.values[at]:7.3g}   {error:.1f} ({low:.1f} to {high:.1f}) {curve.edf[at]:14.1f}")
    print(f"\nNot told apart from the best at 95%: alpha from {_range(curve)}")

    # An interval at a value chosen on the same rows is too optimistic. Here alpha is chosen anew in every training set,
    # by leave-one-out, and the columns are scaled anew, so nothing has seen the rows that are held out.
    tuned = onefit.nested_cv(make_pipeline(StandardScaler(), RidgeCV(ALPHAS)), X, y, random_state=0)
    print(f"\nThe whole procedure, with alpha chosen inside every training set\n{tuned.summary()}\n")
    print(_advice(curve, tuned, float(y.std())), end="\n\n")
    print(f"Wrote {_draw(curve, options.output)}")


def _range(curve: onefit.ErrorCurve) -> str:
    """The values that the data cannot tell from the best."""
    close = curve.indistinguishable()
    ends = [f"{close.min():.3g}", f"{close.max():.3g}"]
    if close.min() == curve.values.min():
        ends[0] += " (the smallest tried)"
    if close.max() == curve.values.max():
        ends[1] += " (the largest tried)"
    return " to ".join(ends)


def _advice(curve: onefit.ErrorCurve, tuned: onefit.NestedCVResult, spread: float) -> str:
    """What to do, in one sentence."""
    error, at = tuned.rmse, int(np.flatnonzero(curve.values == curve.select("one_se"))[0])
    return (
        f"Deploy alpha = {curve.values[at]:.3g}, the model that curve.refit('one_se') gives: nothing speaks against "
        f"any alpha from {_range(curve)}, so the simplest within one standard error will do. "
        f"Expect its predictions to be off by about {math.sqrt(curve.estimate[at]):.0f} points, where always "
        f"predicting the mean is off by {spread:.0f}. (A procedure that chooses alpha by leave-one-out, its choice "
        f"counted in: {error.estimate:.0f}, {error.low:.0f} to {error.high:.0f}.)"
    )


def _draw(curve: onefit.ErrorCurve, folder: Path) -> Path:
    """Write the picture."""
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    upper, _ = curve.plot()
    upper.figure.savefig(folder / PICTURE, dpi=150)
    return folder / PICTURE


if __name__ == "__main__":
    main()
