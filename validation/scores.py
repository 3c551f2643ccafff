"""Do intervals of scores cover? ``python -m validation.scores``: AUC, log loss, Brier score, F1, R2 and others at 90%.

Two classes with logistic odds of ten normal columns and a logistic regression with a ridge penalty, and a ridge
regression on as many columns; every setting with 5 and 10 folds, three repeats. What is true of the model that was
fitted to these very data is computed on 20,000 new rows with their known chances (of numbers: exactly). Beside onefit's
stand what people do with one cross-validation: "naive", mean and t interval of the folds' scores; "bootstrap",
percentiles over resampled held-out predictions, folds pooled; "delong", the variance of DeLong, DeLong and
Clarke-Pearson (1988) of the pooled predictions, of AUC and its difference.

Differences of AUC are between a model of all columns and one of the first half of them ("all - half"), and between
models of either half, which are equally good ("half - half"); both with five folds.

Data sets with fewer rows of a class than folds are left out. Every data set is written to ``work/scores.csv``, from
which a later call goes on. Columns of the table:

coverage
    Share of data sets whose 90% interval contains the true value, with its standard error.
below, above
    Share of those whose true value is below, and above, the interval.
width
    Median width of the interval over the one that would do: 2 x 1.645 times the root mean square of estimate - truth.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

import onefit
from onefit.errors import OneFitError
from onefit.typing import FloatArray

from .pooled import Predicted, bootstrap, delong, naive

__all__ = ["main", "study", "summary"]

FOLDER = Path(__file__).parent / "results"
RESULT, SETS = FOLDER / "scores.csv", FOLDER.parent / "work" / "scores.csv"
ROWS, FOLDS, REPEATS, LEVEL, Z = (100, 200, 500), (5, 10), 3, 0.90, 1.645
COLUMNS, NEW_ROWS = 10, 20_000
SIGNALS = {"weak": 0.7, "strong": 2.0}
"""Standard deviation of the log odds, and of the mean of y beside noise of one."""

SHARES = {0.5: {"weak": 0.0, "strong": 0.0}, 0.15: {"weak": -1.92, "strong": -2.72}}
"""By share of positives, the intercept that gives it."""

SCORES = ("roc_auc", "neg_log_loss", "neg_brier_score", "balanced_accuracy", "f1", "average_precision")
KEYS = ("share", "signal", "n", "seed", "folds", "metric", "rule", "truth", "estimate", "low", "high")
SETTING = ("metric", "share", "signal", "n", "folds", "rule")
TOGETHER = ("metric", "share", "rule")
"""What the table has a row for, and the shorter one that is printed."""

NUMBERS = ("r2", "neg_root_mean_squared_error")


class Setting(NamedTuple):
    """What is simulated; a share of positives of zero means a regression."""

    share: float
    signal: str
    n: int


SETTINGS = [
    *(Setting(share, signal, n) for n in ROWS for share in SHARES for signal in SIGNALS),
    *(Setting(0.0, signal, n) for n in ROWS for signal in SIGNALS),
]


def on_half(second: bool = False) -> Pipeline:
    """A logistic regression on one half of the columns."""
    half = COLUMNS // 2
    columns = list(range(half, COLUMNS) if second else range(half))
    return make_pipeline(ColumnTransformer([("half", "passthrough", columns)]), LogisticRegression())


@cache
def slopes(signal: str) -> FloatArray:
    """Coefficients, the same for the two halves of the columns."""
    half = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    whole = np.concatenate([half, half])
    found: FloatArray = SIGNALS[signal] * whole / np.linalg.norm(whole)
    return found


def chances(setting: Setting, X: FloatArray) -> FloatArray:
    """Probability of a positive row."""
    chance: FloatArray = expit(SHARES[setting.share][setting.signal] + X @ slopes(setting.signal))
    return chance


@cache
def new_rows(setting: Setting) -> tuple[FloatArray, FloatArray, FloatArray]:
    """New rows once as positives and once as negatives, their classes, and the chances of these as weights."""
    X = np.random.default_rng(2**31).normal(size=(NEW_ROWS, COLUMNS))
    chance = chances(setting, X)
    classes = np.repeat([1, 0], NEW_ROWS)
    return np.vstack([X, X]), classes, np.concatenate([chance, 1 - chance])


def true_area(setting: Setting, model: Any) -> float:
    """AUC of a fitted classifier on new rows."""
    X, y, w = new_rows(setting)
    return float(roc_auc_score(y, np.tile(model.predict_proba(X[:NEW_ROWS])[:, 1], 2), sample_weight=w))


def true_scores(setting: Setting, model: Any) -> dict[str, float]:
    """Scores of a fitted classifier on new rows."""
    X, y, w = new_rows(setting)
    p = np.tile(model.predict_proba(X[:NEW_ROWS])[:, 1], 2)
    decided = (p > 0.5).astype(int)
    return {
        "roc_auc": roc_auc_score(y, p, sample_weight=w),
        "neg_log_loss": -log_loss(y, p, sample_weight=w),
        "neg_brier_score": -brier_score_loss(y, p, sample_weight=w),
        "balanced_accuracy": balanced_accuracy_score(y, decided, sample_weight=w),
        "f1": f1_score(y, decided, sample_weight=w, zero_division=0.0),
        "average_precision": average_precision_score(y, p, sample_weight=w),
    }


def of_classes(setting: Setting, seed: int) -> Iterator[dict[str, object]]:
    """All intervals of one data set of two classes."""
    rng = np.random.default_rng([seed, setting.n])
    X = rng.normal(size=(setting.n, COLUMNS))
    y = (rng.random(setting.n) < chances(setting, X)).astype(int)
    models = {"all": LogisticRegression(), "half": on_half(), "other half": on_half(second=True)}
    areas = {name: true_area(setting, model.fit(X, y)) for name, model in models.items()}
    truth = true_scores(setting, models["all"])
    settings: dict[str, Any] = {
        "scoring": list(SCORES), "n_repeats": REPEATS, "confidence_level": LEVEL, "random_state": seed,
        "progress": False,
    }  # fmt: skip
    for K in (K for K in FOLDS if np.bincount(y, minlength=2).min() >= K):  # a fold without a class has no AUC
        pairs: dict[tuple[str, str], Any] = {}
        if FOLDS[0] == K:
            found = onefit.compare(models, X, y, n_folds=K, **settings)
            result = found.results["all"]
            pairs = dict(found.differences.iterrows())
        else:
            result = onefit.nested_cv(models["all"], X, y, n_folds=K, **settings)
        for name, row in result.metrics.iterrows():
            yield _row(K, str(name), "onefit", truth[str(name)], row["estimate"], row["low"], row["high"])
        held_out = {name: Predicted.of(models[name], X, y, K, seed) for name in (models if pairs else ("all",))}
        for rule in (naive, bootstrap, delong):
            for name, figures in rule(held_out["all"], LEVEL, seed).items():
                yield _row(K, name, rule.__name__, truth[name], *figures)
        for (first, second), row in pairs.items():
            if {first, second} == {"all", "other half"}:
                continue
            sign = 1 if first == "all" or (first, second) == ("half", "other half") else -1
            a, b = (first, second) if sign == 1 else (second, first)
            name = "all - half" if a == "all" else "half - half"
            gap = areas[a] - areas[b]
            ends = sorted((sign * row["low"], sign * row["high"]))
            yield _row(K, name, "onefit", gap, sign * row["estimate"], *ends)
            for rule in (naive, bootstrap, delong):
                yield _row(K, name, rule.__name__, gap, *rule(held_out[a], LEVEL, seed, held_out[b])["roc_auc"])


def of_numbers(setting: Setting, seed: int) -> Iterator[dict[str, object]]:
    """R2 and the root mean squared error of a ridge regression."""
    rng = np.random.default_rng([seed, setting.n])
    X, beta = rng.normal(size=(setting.n, COLUMNS)), slopes(setting.signal)
    y = X @ beta + rng.normal(size=setting.n)
    model = Ridge().fit(X, y)
    error = 1 + float(np.square(model.coef_ - beta).sum() + model.intercept_**2)
    truth = {"r2": 1 - error / (1 + float(beta @ beta)), "neg_root_mean_squared_error": -np.sqrt(error)}
    for K in FOLDS:
        result = onefit.nested_cv(
            model, X, y, n_folds=K, n_repeats=REPEATS, scoring=list(NUMBERS), confidence_level=LEVEL,
            random_state=seed, progress=False,
        )  # fmt: skip
        for name, row in result.metrics.iterrows():
            yield _row(K, str(name), "onefit", truth[str(name)], row["estimate"], row["low"], row["high"])
        held_out = Predicted.of(model, X, y, K, seed)
        for rule in (naive, bootstrap):
            for name, figures in rule(held_out, LEVEL, seed).items():
                yield _row(K, name, rule.__name__, truth[name], *figures)


def _row(K: int, metric: str, rule: str, truth: float, estimate: float, low: float, high: float) -> dict[str, object]:
    figures = {"truth": truth, "estimate": estimate, "low": low, "high": high}
    return {"folds": K, "metric": metric, "rule": rule, **{name: round(float(v), 6) for name, v in figures.items()}}


def data_set(setting: Setting, seed: int) -> pd.DataFrame:
    """All intervals of one data set, or why there are none."""
    make = of_numbers if setting.share == 0 else of_classes
    try:
        rows = list(make(setting, seed))
    except OneFitError as error:
        rows = [{"folds": 0, "metric": "refused", "rule": type(error).__name__}]
    whose = {"share": setting.share, "signal": setting.signal, "n": setting.n, "seed": seed}
    return pd.DataFrame([{**whose, **row} for row in rows])


def study(datasets: int, minutes: float, sets: Path, settings: list[Setting] | None = None) -> pd.DataFrame:
    """Data sets of all settings in turn, until there are so many of each or the time is over; the table of all."""
    sets.parent.mkdir(exist_ok=True)
    done = set()
    if sets.exists():
        known = pd.read_csv(sets, usecols=["share", "signal", "n", "seed"]).drop_duplicates()
        done = set(known.itertuples(index=False, name=None))
    end = time.monotonic() + 60 * minutes
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(datasets):
            for setting in SETTINGS if settings is None else settings:
                if (*setting, seed) in done:
                    continue
                if time.monotonic() > end:
                    return summary(pd.read_csv(sets))
                table = data_set(setting, seed)
                columns = [
                    "share",
                    "signal",
                    "n",
                    "seed",
                    "folds",
                    "metric",
                    "rule",
                    "truth",
                    "estimate",
                    "low",
                    "high",
                ]
                table.reindex(columns=columns).to_csv(sets, mode="a", header=not sets.exists(), index=False)
    return summary(pd.read_csv(sets))


def summary(table: pd.DataFrame, by: tuple[str, ...] = SETTING) -> pd.DataFrame:
    """Coverage by metric, rule and setting, or by fewer words; the width needed is that of each setting."""
    kept = table[table["metric"] != "refused"]
    rows = []
    for key, part in kept.groupby(list(by), sort=True):
        below, above = (part["truth"] < part["low"]).mean(), (part["truth"] > part["high"]).mean()
        coverage = ((part["low"] <= part["truth"]) & (part["truth"] <= part["high"])).mean()
        rows.append(
            {
                **dict(zip(by, key, strict=True)),
                "datasets": len(part),
                "coverage": coverage,
                "coverage_se": np.sqrt(coverage * (1 - coverage) / len(part)),
                "below": below,
                "above": above,
                "width": np.mean([_width(each) for _, each in part.groupby(["share", "signal", "n", "folds"])]),
            }
        )
    return pd.DataFrame(rows).round(4)


def _width(part: pd.DataFrame) -> float:
    """Median width over the needed one, of one setting."""
    needed = 2 * Z * np.sqrt(np.square(part["estimate"] - part["truth"]).mean())
    return float((part["high"] - part["low"]).median() / needed)


def main() -> None:
    """Run the study, or go on with it, and write its table."""
    parser = argparse.ArgumentParser(prog="python -m validation.scores", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=200, help="data sets a setting")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many; a later call goes on")
    asked = parser.parse_args()
    table = study(asked.datasets, asked.minutes, SETS)
    table.to_csv(RESULT, index=False)
    print(summary(pd.read_csv(SETS), TOGETHER).to_string(index=False))


if __name__ == "__main__":
    main()
