"""Settings of the benchmark of Schulz-Kuempel et al. (arXiv 2409.18836), at its level of 95%, and its measures.

Of its generators, Bates', Friedman's and Chen's are simulated ones; "Chen null" has no variance to speak of (the
exponential of four times a normal deviate), is set apart there as problematic, and left out here. The lasso is ours.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .analyses import Analysis, Nested
from .before import BEFORE
from .data import OnRows
from .generators import Generated
from .others import CONSERVATIVE_Z, CORRECTED_T, Splits
from .setting import Setting

__all__ = ["LEVEL", "PREFIX", "measures", "settings"]

LEVEL = 0.95
PREFIX = "bench-"
SMALL = 100
FOLDS, REPEATS = 5, 3
N_TREES = 5
LEAF = {"min_samples_split": 20, "min_samples_leaf": 7, "random_state": 0}
"""As rpart has it."""
FOREST: dict[str, Any] = {"n_estimators": N_TREES, "random_state": 0}

REGRESSIONS: dict[str, Any] = {
    "least squares": LinearRegression(),
    "ridge": Ridge(10.0),
    "lasso": Lasso(0.1),
    "tree": DecisionTreeRegressor(**LEAF),
    "forest": RandomForestRegressor(max_features=1 / 3, min_samples_leaf=5, **FOREST),
}
CLASSIFICATIONS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(**LEAF),
    "forest": RandomForestClassifier(**FOREST),
}
LINEAR = ("least squares", "ridge", "lasso")
CELLS: dict[tuple[str, int], tuple[str, ...]] = {
    ("bates-20", 100): (*LINEAR, "tree", "forest"),
    ("bates-100", 100): ("ridge", "lasso", "tree"),
    ("friedman", 100): (*LINEAR, "tree", "forest"),
    ("chen", 100): ("ridge", "lasso", "tree", "forest"),
    ("bates-class-20", 100): ("logistic", "tree", "forest"),
    ("bates-class-100", 100): ("logistic",),
    ("bates-20", 500): (*LINEAR, "tree"),
    ("bates-100", 500): LINEAR,
    ("friedman", 500): (*LINEAR, "tree", "forest"),
    ("chen", 500): (*LINEAR, "tree"),
    ("bates-class-20", 500): ("logistic", "tree"),
    ("bates-class-100", 500): ("logistic",),
}
"""By generator and rows. Least squares on 60 or 100 columns cannot be fitted to 60 of 100 rows; at 500 rows some trees
and forests are left out, as they take too long."""
SECONDS = {"tree": (0.2, 0.5), "forest": (1.0, 1.4), "logistic": (0.4, 0.4)}


def settings() -> list[Setting]:
    """One for each generator, size and model."""
    return [_setting(law, n, model) for (law, n), models in CELLS.items() for model in models]


def _setting(law: str, n: int, model: str) -> Setting:
    is_class = "class" in law
    estimator = (CLASSIFICATIONS if is_class else REGRESSIONS)[model]
    loss = "zero_one" if is_class else "squared_error"
    options: dict[str, Any] = {"loss": loss, "truth": OnRows(loss)}
    five = Nested(model, estimator, FOLDS, REPEATS, ("covariance", BEFORE, "mlr3"), **options)
    all_rows = Nested(model, estimator, rules=("covariance",), **options)
    analyses: tuple[Analysis, ...] = (five, Splits(model, estimator, **options))
    seconds = SECONDS.get(model, (0.12, 0.12))[n != SMALL]
    return Setting(
        f"{PREFIX}{law}-{n}-{model.replace(' ', '-')}",
        f"{law}, n = {n}",
        Generated(law, n),
        (*analyses, all_rows) if model in ("least squares", "ridge") else analyses,
        seconds,
        200 if seconds <= 0.2 else 100,
        10,
        LEVEL,
    )


RULES = {
    ("covariance", "5"): ("covariance, 5 folds x 3", "45"),
    (BEFORE, "5"): ("the same, as in 0.1", "45"),
    ("covariance", "n"): ("covariance, leave two out (least squares, ridge)", "1"),
    (CORRECTED_T, "splits"): (CORRECTED_T, "25"),
    (CONSERVATIVE_Z, "splits"): (CONSERVATIVE_Z, "105"),
    ("mlr3", "5"): ("nested CV, 5 folds x 3", "75"),
}
"""What the rows of the table are called, and their fits; nested CV as published fits every pair of folds twice."""


def measures(table: pd.DataFrame) -> pd.DataFrame:
    """By rule: mean coverage, mean(.95 - min(coverage, .95)), median width over the estimate's deviation, fits.

    The deviation is that of the estimate of the covariance rule with five folds, for all rules of a cell, so that
    widths can be compared.
    """
    rows = table[table["setting"].str.startswith(PREFIX)]
    deviation = rows[(rows["rule"] == "covariance") & (rows["folds"] == "5")].set_index("setting")["estimate_sd"]
    found = []
    for (rule, folds), (name, fits) in RULES.items():
        cells = rows[(rows["rule"] == rule) & (rows["folds"] == folds)]
        if cells.empty:
            continue
        ratio = cells["median_width"].to_numpy(float) / deviation.loc[cells["setting"]].to_numpy(float)
        found.append(
            {
                "rule": name,
                "cells": len(cells),
                "coverage": cells["coverage"].mean(),
                "least": cells["coverage"].min(),
                "undercoverage": (LEVEL - cells["coverage"].clip(upper=LEVEL)).mean(),
                "width": ratio.mean(),
                "fits": fits,
            }
        )
    return pd.DataFrame(found)
