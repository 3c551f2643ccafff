"""
How smooth should the curve be?
===============================

And how sure is that? A spline through Silverman's motorcycle data.
Run ``python examples/motorcycle.py [--output DIR]``; it prints what it finds and draws it in ``motorcycle.png``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.special import ndtri

import onefit
from onefit import SplineRegression
from onefit.datasets import load_motorcycle
from onefit.display import plot_function
from onefit.display.style import OTHER

LAMS = np.logspace(-2, 3, 51)
PICTURE = "motorcycle.png"
PHASES = {"before 14 ms": (0, 14), "14 to 28 ms": (14, 28), "after 28 ms": (28, 60)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Choose the smoothness, estimate the error of the tuned spline, and say what the noise does to both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help=f"where {PICTURE} goes (default: here)"
    )
    options = parser.parse_args(arguments)

    # The noise differs much before and after the impact, so a few rows carry the variance: `summary` says it below.
    warnings.simplefilter("ignore", onefit.errors.HeavyTailWarning)
    X, y = load_motorcycle(return_X_y=True)
    print(f"A cubic regression spline through {len(y)} measurements of a head's acceleration after an impact (in g)\n")

    curve = onefit.error_curve(SplineRegression(), X, y, param_name="lam", param_range=LAMS)
    _print_choices(curve)

    # The interval at a value that was chosen on these rows is too optimistic. Here every training set chooses its own.
    tuned = onefit.nested_cv(SplineRegression(lam="reml"), X, y)
    print(f"\nThe whole procedure, with lam chosen by REML inside every training set\n{tuned.summary()}")
    print(f"\n{_cost_of_knots(X, y)}")

    model = SplineRegression(lam="reml").fit(X, y)
    print(f"\n{_on_noise(X[:, 0], tuned, float(np.sqrt(model.scale_)))}")
    print(f"\nWrote {_draw(X, y, model, curve, options.output)}")


def _print_choices(curve: onefit.ErrorCurve) -> None:
    """What each rule chooses, as degrees of freedom too, and what the data cannot tell apart."""
    print("rule        lam   degrees of freedom   squared error (95% interval)")
    for rule in ("reml", "gcv", "loo", "min", "one_se"):
        model, at = curve.refit(rule), int(np.flatnonzero(curve.values == curve.select(rule))[0])
        interval = f"{curve.estimate[at]:.0f} ({curve.low[at]:.0f} to {curve.high[at]:.0f})"
        print(f"{rule:<7}{model.lam_:8.3g}{model.edf_:17.1f}          {interval}")
    close = np.isin(curve.values, curve.indistinguishable())
    smallest, largest = curve.values[close][[0, -1]]
    fewest, most = curve.edf[close].min(), curve.edf[close].max()
    print(
        f"\nNot told apart from the best at 95%: lam from {smallest:.3g} to {largest:.3g}, which is {most:.1f} down to "
        f"{fewest:.1f} degrees of freedom.\nThe data rule out curves that are smoother than that. They do not rule out "
        f"the roughest, next to no penalty: 20 functions are few enough."
    )


def _cost_of_knots(X: np.ndarray, y: np.ndarray) -> str:
    """What placing the knots anew in every training set changes, on the same folds."""
    models = {"anew": SplineRegression(knots="refit"), "once": SplineRegression()}
    comparison = onefit.compare(models, X, y, n_folds=10, n_repeats=5, random_state=0)
    error, difference = comparison.models["estimate"], comparison.differences.iloc[0]
    return (
        f"Knots placed anew in every training set (10 folds, 5 repeats): error {error['anew']:.1f}, against "
        f"{error['once']:.1f} with knots placed once; paired difference {difference['estimate']:.1f} "
        f"({difference['low']:.1f} to {difference['high']:.1f})."
    )


def _on_noise(times: np.ndarray, tuned: onefit.NestedCVResult, noise: float) -> str:
    """How the error changes with time, and what that means for the interval and for the band."""
    loss = tuned.heldout["loss"].to_numpy()
    sizes = [
        f"{np.sqrt(loss[(times >= start) & (times < stop)].mean()):.0f} g {name}"
        for name, (start, stop) in PHASES.items()
    ]
    low, high = tuned.rmse.low, tuned.rmse.high
    return (
        f"The noise is not constant: held-out predictions are off by {', '.join(sizes)} (root mean square).\n"
        f"The interval of the error, {low:.1f} to {high:.1f} g, goes by the losses as they are, so it allows for that. "
        f"But it is about the average over the times of these data, not about any one time.\n"
        f"The band about the curve, and REML with it, take the noise as {noise:.0f} g everywhere: the band is far too "
        f"wide before 14 ms and somewhat too narrow after 28. Known variances go into sample_weight, as one over each."
    )


def _draw(X: np.ndarray, y: np.ndarray, model: SplineRegression, curve: onefit.ErrorCurve, folder: Path) -> Path:
    """Write the picture: the curve through the data, and the error along the penalty."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["fit", "error"], ["fit", "difference"]], figsize=(12.0, 5.4), layout="constrained", width_ratios=[1.0, 1.1]
    )
    t = np.linspace(X.min(), X.max(), 400)
    mean, std = model.predict(t[:, None], return_std=True)
    half = ndtri(0.975) * std
    title = f"Spline by REML, {model.edf_:.1f} degrees of freedom, 95% pointwise band"
    labels = {"xlabel": "milliseconds after impact", "ylabel": "acceleration of the head, g", "title": title}
    plot_function(t, mean, mean - half, mean + half, ax=axes["fit"], **labels)
    axes["fit"].plot(X[:, 0], y, "o", color=OTHER, markersize=3.5, alpha=0.7, zorder=2.5)
    axes["fit"].set_xlim(0.0, 60.0)
    axes["difference"].sharex(axes["error"])
    curve.plot(axes=[axes["error"], axes["difference"]])
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / PICTURE, dpi=150)
    return folder / PICTURE


if __name__ == "__main__":
    main()
