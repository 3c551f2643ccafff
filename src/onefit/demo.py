"""``python -m onefit.demo``: how well ridge regression predicts the progression of diabetes."""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import onefit

PICTURE = "onefit-demo.png"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run nested cross-validation on scikit-learn's diabetes data, print the answer and draw it."""
    options = _parser().parse_args(arguments)
    X, y = load_diabetes(return_X_y=True)
    # The columns of these data have unit length, so that alpha=0.1 shrinks mildly. Ten folds rather than leave two
    # out, and 200 repeats, so that every rule applies and none is an accident of the partitions.
    result = onefit.nested_cv(Ridge(alpha=0.1), X, y, n_folds=10, n_repeats=200, random_state=0)

    n, p = X.shape
    print(f"Ridge(alpha=0.1) on scikit-learn's diabetes data: {n} patients, {p} measurements each\n")
    print(result.summary(), end="\n\n")
    print("The same held-out errors under every interval rule")
    print(result.intervals.to_string(float_format="{:.1f}".format), end="\n\n")
    print(onefit.plan(n, p + 1, result.n_folds, result.n_repeats), end="\n\n")
    print(_answer(result.estimate, result.interval, result.confidence_level, float(y.std())), end="\n\n")
    print(_draw(result, options.output / PICTURE, force=options.force))


def _parser() -> argparse.ArgumentParser:
    """Command line of the demo."""
    parser = argparse.ArgumentParser(prog="python -m onefit.demo", description=main.__doc__)
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help=f"where {PICTURE} goes (default: here)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite a picture that is already there")
    return parser


def _answer(estimate: float, interval: tuple[float, float], confidence_level: float, spread: float) -> str:
    """One sentence, in the units of y."""
    error, low, high = (math.sqrt(max(0.0, value)) for value in (estimate, *interval))
    return (
        f"For a new patient, expect the predicted disease progression to be off by about {error:.0f} points "
        f"(root mean squared error; {100 * confidence_level:g}% interval {low:.0f} to {high:.0f}), "
        f"where always predicting the mean is off by about {spread:.0f}."
    )


def _draw(result: onefit.NestedCVResult, path: Path, *, force: bool) -> str:
    """Write the picture if possible; what happened, in one line."""
    if importlib.util.find_spec("matplotlib") is None:
        return 'For the picture, install matplotlib: pip install ".[plot]"'
    if path.exists() and not force:
        return f"Kept the picture that was already at {path}; --force overwrites it"
    path.parent.mkdir(parents=True, exist_ok=True)
    result.plot().figure.savefig(path, dpi=150)
    return f"Wrote {path}"


if __name__ == "__main__":
    main()
