"""Does the interval of R2 cover? ``python -m validation.r2``: samples of the study's real tables, two rows out, at 90%.

The interval of R2 pairs the losses of the model with those of the mean, row by row: a row with an extreme target has a
large loss in both, and drops out of their ratio. Beside it stands what the ends of the error's own interval, divided
by the mean loss of the mean, would give. The truth is 1 - Err_XY / the variance of the target, over the whole table.
The table goes to validation/results/r2.csv; data sets are others than those of the coverage study.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import onefit

from .analyses import LEVEL, Nested
from .populations import Population, table
from .real import SKEWED
from .settings import SETTINGS, Setting

__all__ = ["SOUND", "main", "report", "study"]

OUTPUT = Path(__file__).parent / "results" / "r2.csv"
SOUND = ("diabetes", "penguins", "mpg", "schools", "log-wages", "diamonds")
FIRST = 200_000
"""Number of the first data set: beyond those of the coverage study."""


def figures(setting: Setting, replication: int) -> dict[str, float]:
    """Whether both intervals cover in one data set, and how wide they are."""
    assert isinstance(setting.data, Population)
    analysis = setting.analyses[0]
    assert isinstance(analysis, Nested)
    seed = np.random.SeedSequence((crc32(setting.name.encode()), replication)).generate_state(1)[0]
    sample = setting.data.draw(int(seed))
    result = onefit.nested_cv(analysis.estimator, sample.X, sample.y, n_folds="n", confidence_level=LEVEL)
    assert result.r2 is not None
    truth = (
        1 - analysis.truth(sample, clone(analysis.estimator).fit(sample.X, sample.y)) / table(setting.data.name).y.var()
    )
    baseline = result.estimate / (1 - result.r2.estimate)
    low, high = (1 - end / baseline for end in reversed(result.interval))
    return {
        "covers": result.r2.low <= truth <= result.r2.high,
        "width": result.r2.high - result.r2.low,
        "covers_by_error": low <= truth <= high,
        "width_by_error": high - low,
        "r2": truth,
    }


def study(names: Sequence[str], replications: int) -> pd.DataFrame:
    """One row a table: shares of data sets that are covered, and median widths."""
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
        for name in names:
            setting = SETTINGS[f"real-{name}"]
            found = pd.DataFrame([figures(setting, FIRST + at) for at in range(replications)]).astype(float)
            shares, widths = found[["covers", "covers_by_error"]].mean(), found[["width", "width_by_error"]].median()
            row = {"table": name, "data_sets": replications, "r2": found["r2"].mean(), **shares, **widths}
            rows.append({**row, "covers_se": found["covers"].sem()})
    return pd.DataFrame(rows)


def report(found: pd.DataFrame) -> str:
    """Means over sound and skewed tables."""
    lines = []
    for kind, names in (("sound", SOUND), ("skewed", SKEWED)):
        part = found[found["table"].isin(names)]
        if len(part):
            ratio = (part["width_by_error"] / part["width"]).median()
            covers, by_error = (100 * part[key].mean() for key in ("covers", "covers_by_error"))
            lines.append(
                f"{kind}: covers {covers:.1f}%; by the error's ends {by_error:.1f}% at {ratio:.1f} times the width"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write, report."""
    parser = argparse.ArgumentParser(prog="python -m validation.r2", description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200, metavar="N", help="data sets a table")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE", help="where the table goes")
    options = parser.parse_args(arguments)
    found = study((*SOUND, *SKEWED), options.replications)
    found.to_csv(options.output, index=False, float_format="%.4g", lineterminator="\n")
    print(found.to_string(index=False, float_format=lambda figure: f"{figure:.3f}"))
    print(report(found))


if __name__ == "__main__":
    main()
