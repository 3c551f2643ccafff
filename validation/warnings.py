"""How often the warnings speak, and whether the interval covers there: the calibration of `onefit.results.findings`.

    python -m validation.warnings                      # 400 data sets a setting, half an hour on two cores
    python -m validation.warnings --replications 40    # a look
    python -m validation.warnings --first 1000         # on data sets that nothing was tuned on

Least squares on five columns, 90% intervals of the covariance rule, leaving two rows (groups) out up to 500 rows and
ten folds beyond. A setting is a law of the noise, a number of units and what the units are. Of each the table has the
coverage and the shares of data sets with each finding; the lines below it say how often Gaussian data are silent, and
how many of the data sets are warned of in settings that cover less than 85%. The table goes to
validation/results/warnings.csv.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.linear_model import LinearRegression

import onefit
from onefit.typing import FloatArray, IntArray

__all__ = ["FEW_GROUPS", "SETTINGS", "Setting", "main", "report", "study"]

OUTPUT = Path(__file__).parent / "results" / "warnings.csv"
N_COLUMNS, LEVEL = 5, 0.90
GROUP_SIZE, UNEQUAL = 8, (4, 12)
MOST_LEFT_OUT = 500
"""Rows up to which two rows are left out; beyond, ten folds and three repeats."""
N_FRESH = 200_000
COVERS_BADLY = 0.85
KINDS = ("heavy tails", "leverage", "few groups", "dependence")

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


def _lognormal(sigma: float) -> Draw:
    """Of mean 0 and variance 1."""
    mean, deviation = np.exp(sigma**2 / 2), np.sqrt(np.expm1(sigma**2)) * np.exp(sigma**2 / 2)
    return lambda rng, shape: (rng.lognormal(0.0, sigma, shape) - mean) / deviation


def _student(df: float) -> Draw:
    """Of mean 0, and variance 1 where it has one."""
    return lambda rng, shape: rng.standard_t(df, shape) / (np.sqrt(df / (df - 2)) if df > 2 else 1.0)


NOISES: dict[str, Draw] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "laplace": lambda rng, shape: rng.laplace(size=shape) / np.sqrt(2),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "t4": _student(4),
    "t3": _student(3),
    "t2.5": _student(2.5),
    "t1.5": _student(1.5),
    "lognormal 0.5": _lognormal(0.5),
    "lognormal 1": _lognormal(1.0),
    "lognormal 1.5": _lognormal(1.5),
}


@dataclass(frozen=True)
class Setting:
    """A law of data: ``share`` of the noise is between groups, ``spread`` is the deviation of the log weights."""

    family: str
    noise: str
    n_units: int
    share: float = 0.0
    effect: str = "gaussian"
    loss: str = "squared_error"
    spread: float = 0.0
    sizes: tuple[int, int] = (GROUP_SIZE, GROUP_SIZE)

    @property
    def has_groups(self) -> bool:
        """Whether the units are groups."""
        return self.family in ("groups", "few groups")

    def draw(self, rng: np.random.Generator, n_units: int) -> tuple[FloatArray, FloatArray, IntArray | None]:
        """Columns, noise (with the effects of groups) and groups."""
        if not self.has_groups:
            X = rng.standard_normal((n_units, N_COLUMNS))
            return X, NOISES[self.noise](rng, (n_units,)), None
        groups = np.repeat(np.arange(n_units), rng.integers(*self.sizes, size=n_units, endpoint=True))
        X = rng.standard_normal((len(groups), N_COLUMNS))
        effects = NOISES[self.effect](rng, (n_units,))[groups]
        within = NOISES[self.noise](rng, (len(groups),))
        return X, np.sqrt(self.share) * effects + np.sqrt(1 - self.share) * within, groups

    def fresh(self) -> FloatArray:
        """Noise of new rows, the same for every data set."""
        return NOISES[self.noise](np.random.default_rng(0), (N_FRESH,))

    def analyse(self, replication: int, fresh: FloatArray) -> tuple[onefit.NestedCVResult, float]:
        """The result of one data set, and the true error of the model that was fitted to it."""
        rng = np.random.default_rng([crc32(repr(self).encode()), replication])
        X, noise, groups = self.draw(rng, self.n_units)
        y = X.sum(axis=1) + noise
        weights = rng.lognormal(0.0, self.spread, len(y)) if self.spread else None
        folds = {"n_folds": "n"} if len(y) <= MOST_LEFT_OUT or groups is not None else {"n_folds": 10, "n_repeats": 3}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
            result = onefit.nested_cv(
                LinearRegression(), X, y, groups=groups, sample_weight=weights, loss=self.loss, confidence_level=LEVEL,
                random_state=replication, **folds,
            )  # fmt: skip
        return result, self.error(LinearRegression().fit(X, y, sample_weight=weights), fresh)

    def replicate(self, replication: int, fresh: FloatArray) -> dict[str, float]:
        """Whether the interval of each rule covers, and what was found, in one data set."""
        result, truth = self.analyse(replication, fresh)
        covers = (result.intervals["low"] <= truth) & (truth <= result.intervals["high"])
        return {"coverage": float(covers["covariance"]), "corrected_t": float(covers["corrected_t"]), **said(result)}

    def error(self, fitted: LinearRegression, fresh: FloatArray) -> float:
        """On new rows: of variance 1, or of the ``fresh`` noise for the absolute error."""
        wrong = np.append(fitted.coef_ - 1, fitted.intercept_)
        if self.loss == "squared_error":
            return float(1 + wrong @ wrong)
        shifts = np.random.default_rng(1).standard_normal(len(fresh)) * np.linalg.norm(wrong[:-1]) + wrong[-1]
        return float(np.abs(fresh - shifts).mean())


def said(result: onefit.NestedCVResult) -> dict[str, float]:
    """Which findings a result has."""
    kinds = {finding.kind for finding in result.findings}
    return {kind: float(kind in kinds) for kind in KINDS}


def _settings() -> list[Setting]:
    by_rows = [Setting("squared error", noise, n) for n in (30, 50, 100, 200, 500, 2000, 5000) for noise in NOISES]
    by_rows = [each for each in by_rows if each.noise != "t1.5"]
    both = ("gaussian", "t3", "t2.5", "lognormal 1", "lognormal 1.5")
    laws = [(noise, "gaussian") for noise in both] + [(noise, noise) for noise in both[1:]] + [("gaussian", "t3")]
    groups = [Setting("groups", noise, G, 0.3, effect) for G in (20, 30, 60, 150) for noise, effect in laws]
    weighted = [
        Setting("weights", noise, n, spread=0.5)
        for n in (50, 100, 500, 2000)
        for noise in ("gaussian", "t3", "t2.5", "lognormal 1.5")
    ]
    absolute = [
        Setting("absolute error", noise, n, loss="absolute_error")
        for n in (30, 50, 100, 500)
        for noise in ("gaussian", "t3", "t1.5", "lognormal 1.5")
    ]
    return [*by_rows, *groups, *weighted, *absolute]


SETTINGS = _settings()
FEW_GROUPS = [
    Setting("few groups", "gaussian", G, share, sizes=sizes)
    for sizes in ((GROUP_SIZE, GROUP_SIZE), UNEQUAL)
    for G in (5, 8, 12, 16, 20, 30)
    for share in (0.0, 0.3, 0.7)
]


def study(settings: Sequence[Setting], replications: int, jobs: int, first: int = 0) -> pd.DataFrame:
    """One row a setting: means over the data sets, of which ``first`` is the number of the first."""
    return pd.DataFrame(Parallel(jobs)(delayed(_of_setting)(setting, replications, first) for setting in settings))


def _of_setting(setting: Setting, replications: int, first: int) -> dict[str, object]:
    fresh = setting.fresh()
    figures = pd.DataFrame([setting.replicate(at, fresh) for at in range(first, first + replications)])
    law = {"family": setting.family, "noise": setting.noise, "units": setting.n_units, "effect": "", "sizes": ""}
    if setting.has_groups:
        law |= {"effect": setting.effect, "sizes": "-".join(map(str, setting.sizes))}
    return {**law, "share": setting.share, "data_sets": replications, **figures.mean()}


def report(table: pd.DataFrame) -> str:
    """Silence in Gaussian data, and recall where the interval covers badly, by family."""
    lines = []
    for family, part in table.groupby("family", sort=False):
        gaussian = (part["noise"] == "gaussian") & part["effect"].isin(["", "gaussian"])
        calm, bad = part[gaussian], part[~gaussian & (part["coverage"] < COVERS_BADLY)]
        silent = ", ".join(f"{kind} {100 * (1 - calm[kind].mean()):.1f}%" for kind in KINDS if kind != "few groups")
        least = 100 * (1 - calm["heavy tails"].max())
        lines.append(f"{family}: silent in Gaussian data: {silent}; heavy tails at least {least:.1f}% in each setting")
        if family != "few groups":
            warned = f"{100 * bad['heavy tails'].mean():.0f}% of their data sets are warned of"
            lines.append(f"{family}: {len(bad)} settings cover less than {100 * COVERS_BADLY:g}%, and {warned}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write, report."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.warnings", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=400, metavar="N", help="data sets a setting")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first data set: its seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    parser.add_argument("--family", help="settings of one family only; writes nothing")
    options = parser.parse_args(arguments)
    chosen = [each for each in (*SETTINGS, *FEW_GROUPS) if options.family in (None, each.family)]
    table = study(chosen, options.replications, options.jobs, options.first)
    if options.family is None:
        table.to_csv(OUTPUT, index=False, float_format="%.4g", lineterminator="\n")
    print(table.to_string(index=False, float_format=lambda figure: f"{figure:.3f}"))
    print(report(table))


if __name__ == "__main__":
    main()
