"""Do intervals of the area under the ROC curve cover in blocks of time? ``python -m validation.serialranks``.

Columns and the errors of a latent variable are autoregressions; labels say whether it is positive, and a ridge
classifier of ten columns ranks the rows. Its area elsewhere is known exactly: with a correlation r of score and latent
variable it is ``1/2 + (2/pi) arcsin(r / sqrt 2)``. A line of the table is a setting: coverage of 90% intervals by
`onefit.TimeBlocks` and by random folds, the median width over the one that would do (2 x 1.645 times the root mean
square of what estimates miss), and the data sets that have no answer, as a block lacks a class.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeClassifier
from threadpoolctl import threadpool_limits

import onefit
from onefit.errors import DataError
from onefit.typing import FloatArray, IntArray

from .serial import LEVEL, SETTINGS, Z

__all__ = ["area", "draw", "figures", "main", "study", "summary"]

RESULT = Path(__file__).parent / "results" / "serialranks.csv"
BLOCKS = {"AR 0 / 0": 10, "AR .5 / .5": 10, "AR .8 / .8": 5}
"""Numbers of blocks: with long memories a short block may have rows of one class only."""

ROWS, COLUMNS, PENALTY = (200, 400), 10, 5.0


def draw(name: str, n: int, seed: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Columns, labels, and the coefficients of the latent variable; its error and its signal have unit variances."""
    rng = np.random.default_rng([seed, n, COLUMNS, list(SETTINGS).index(name)])
    X = SETTINGS[name].columns(n, COLUMNS, rng)
    beta = np.where(np.arange(COLUMNS) % 2, -1.0, 1.0) / np.sqrt(COLUMNS)
    return X, (X @ beta + SETTINGS[name].errors(n, 1, rng)[:, 0] > 0).astype(np.intp), beta


def area(coefficients: FloatArray, beta: FloatArray) -> float:
    """The area under the ROC curve of a linear score on new rows."""
    correlation = coefficients @ beta / np.linalg.norm(coefficients) / np.sqrt(2)
    return float(0.5 + 2 / np.pi * np.arcsin(correlation / np.sqrt(2)))


def study(datasets: range, rows: tuple[int, ...] = ROWS) -> pd.DataFrame:
    """A row for each data set."""
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in datasets:
            found += [figures(name, n, seed) for name in BLOCKS for n in rows]
    return pd.DataFrame(found)


def figures(name: str, n: int, seed: int) -> dict[str, object]:
    """One data set: the true area, and the intervals of both methods as far as there are some."""
    X, y, beta = draw(name, n, seed)
    model = RidgeClassifier(PENALTY)
    row: dict[str, object] = {"setting": name, "n": n, "truth": area(np.ravel(model.fit(X, y).coef_), beta)}
    for method, cv in (("blocks", onefit.TimeBlocks(BLOCKS[name])), ("random", 10)):
        try:
            result = onefit.nested_cv(
                model, X, y, cv=cv, scoring="roc_auc", confidence_level=LEVEL, random_state=seed, progress=False
            )
        except DataError:
            break
        low, high = result.interval
        row |= {f"{method} estimate": result.estimate, f"{method} low": low, f"{method} high": high}
    return row


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage and widths by setting and number of rows."""
    rows = []
    for (name, n), every in table.groupby(["setting", "n"], sort=False):
        part = every.dropna()
        counts = {"n_blocks": BLOCKS[str(name)], "datasets": len(part), "undefined": len(every) - len(part)}
        row: dict[str, object] = {"setting": name, "n": n, **counts}
        for method in ("blocks", "random"):
            low, high, estimate = (part[f"{method} {each}"] for each in ("low", "high", "estimate"))
            covered = ((low <= part["truth"]) & (part["truth"] <= high)).astype(float)
            missed = estimate - part["truth"]
            row |= {
                f"{method}_coverage": covered.mean(),
                f"{method}_se": covered.sem(),
                f"{method}_width": (high - low).median() / (2 * Z * float(np.sqrt(np.square(missed).mean()))),
                f"{method}_bias": missed.mean(),
            }
        rows.append(row)
    return pd.DataFrame(rows).round(4)


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(prog="python -m validation.serialranks", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=200, help="data sets a setting")
    found = summary(study(range(parser.parse_args().datasets)))
    found.to_csv(RESULT, index=False)
    print(found.to_string(index=False))


if __name__ == "__main__":
    main()
