"""Do intervals of scores cover? ``python -m validation.scores``: AUC, log loss, Brier score, F1, R2 and others at 90%.

Two classes with logistic odds of ten normal columns, analysed by a logistic regression with a ridge penalty and by a
forest of 10 trees, and a ridge regression on as many columns; every setting with 5 and 10 folds, three repeats;
forests, which are refitted, up to 200 rows, 5 folds, two repeats. What is true of the model that was fitted to these
very data is computed on 20,000 new rows with their known chances (of numbers: exactly). Beside onefit's stand what
people do with one cross-validation: "naive", mean and t interval of the folds' scores; "bootstrap", percentiles over
resampled held-out predictions, folds pooled; "delong", the variance of DeLong, DeLong and Clarke-Pearson (1988) of the
pooled predictions, of AUC and its difference.

Differences of AUC are between logistic regressions of all columns and of the first half of them ("all - half"), of
either half, which are equally good ("half - half"), and between the forest and the logistic regression.

No two settings share data sets; the two numbers of folds, the scores and the rules of a data set do. Data sets with
fewer rows of a class than folds are left out. Every data set is written to ``work/scores/MODEL.csv``, from which a
later call goes on, after it computed the first one again: it stops if that differs. Columns of the table:

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from threadpoolctl import threadpool_limits

import onefit
from onefit.errors import OneFitError

from .pooled import Predicted, bootstrap, delong, naive
from .scoredata import MODELS, SETTINGS, DataSet, Setting, draw, true_area, true_numbers, true_scores

__all__ = ["main", "study", "summary"]

FOLDER = Path(__file__).parent / "results"
RESULT, SHORT = FOLDER / "scores.csv", FOLDER / "scores-together.csv"
SETS = FOLDER.parent / "work" / "scores"
FOLDS, REPEATS, LEVEL, Z = (5, 10), 3, 0.90, 1.645
SCORES = ("roc_auc", "neg_log_loss", "neg_brier_score", "balanced_accuracy", "f1", "average_precision")
NUMBERS = ("r2", "neg_root_mean_squared_error")
DIFFERENCES = (("all", "half"), ("half", "other half"), ("forest", "logistic"))
NAMES = {("half", "other half"): "half - half"}
WHOSE, FIGURES = (*Setting._fields, "number"), ("truth", "estimate", "low", "high")
COLUMNS = (*WHOSE, "folds", "metric", "rule", *FIGURES)
SETTING = ("model", "metric", "share", "signal", "n", "folds", "rule")
TOGETHER = ("model", "metric", "share", "rule")
"""What the table has a row for, and the shorter one that is printed and shown in the documentation."""

Row = dict[str, object]


def intervals(setting: Setting, number: int) -> Iterator[Row]:
    """All intervals of one data set."""
    drawn, models = draw(setting, number), MODELS[setting.model]
    for model in models.values():
        model.fit(drawn.X, drawn.y)
    fewest = setting.n if setting.share == 0 else np.bincount(drawn.y, minlength=2).min()
    for K in (K for K in _folds(setting) if fewest >= K):  # a fold without a class has no AUC
        if len(models) == 1:
            (model,) = models.values()
            result, differences = onefit.nested_cv(model, drawn.X, drawn.y, **_options(setting, drawn, K)), {}
        else:
            found = onefit.compare(models, drawn.X, drawn.y, **_options(setting, drawn, K))
            result, differences = found.results[next(iter(models))], dict(found.differences.iterrows())
        held_out = {name: Predicted.of(model, drawn.X, drawn.y, K, drawn.seed) for name, model in models.items()}
        if setting.model != "pair":
            yield from _scores(setting, K, result, next(iter(held_out.values())), drawn.seed)
        for first, second in DIFFERENCES:
            if first in models and second in models:
                truth = true_area(setting, models[first]) - true_area(setting, models[second])
                name = NAMES.get((first, second), f"{first} - {second}")
                yield _row(K, name, "onefit", truth, *_difference(differences, first, second))
                for rule in (naive, bootstrap, delong):
                    others = rule(held_out[first], LEVEL, drawn.seed, held_out[second])
                    yield _row(K, name, rule.__name__, truth, *others["roc_auc"])


def _folds(setting: Setting) -> tuple[int, ...]:
    """Ten folds of a forest would take four times as long as five."""
    return FOLDS[:1] if setting.model == "forest" else FOLDS


def _options(setting: Setting, drawn: DataSet, K: int) -> dict[str, Any]:
    scores: Sequence[str] = NUMBERS if setting.share == 0 else SCORES
    return {
        "scoring": "roc_auc" if setting.model == "pair" else list(scores), "n_folds": K,
        "n_repeats": REPEATS - (setting.model == "forest"),
        "confidence_level": LEVEL, "random_state": drawn.seed, "progress": False,
    }  # fmt: skip


def _scores(setting: Setting, K: int, result: Any, held_out: Predicted, seed: int) -> Iterator[Row]:
    """Intervals of every score of the first model."""
    true: Callable[..., dict[str, float]] = true_numbers if setting.share == 0 else true_scores
    truth = true(setting, next(iter(MODELS[setting.model].values())))
    for name, row in result.metrics.iterrows():
        yield _row(K, str(name), "onefit", truth[str(name)], row["estimate"], row["low"], row["high"])
    for rule in (naive, bootstrap) if setting.share == 0 else (naive, bootstrap, delong):
        for name, figures in rule(held_out, LEVEL, seed).items():
            yield _row(K, name, rule.__name__, truth[name], *figures)


def _difference(found: dict[Any, Any], first: str, second: str) -> tuple[float, float, float]:
    """Estimate and ends of first - second, whichever way round it stands there."""
    sign = 1 if (first, second) in found else -1
    row = found[(first, second) if sign == 1 else (second, first)]
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return sign * row["estimate"], low, high


def _row(K: int, metric: str, rule: str, truth: float, *figures: float) -> Row:
    all_four = zip(FIGURES, (truth, *figures), strict=True)
    return {"folds": K, "metric": metric, "rule": rule, **{name: float(v) for name, v in all_four}}


def data_set(setting: Setting, number: int) -> pd.DataFrame:
    """All intervals of one data set, or why there are none."""
    try:
        rows = list(intervals(setting, number))
    except OneFitError as error:
        rows = [{"folds": 0, "metric": "refused", "rule": type(error).__name__}]
    whose = {**setting._asdict(), "number": number}
    return pd.DataFrame([{**whose, **row} for row in rows]).reindex(columns=list(COLUMNS)).round(6)


def study(datasets: int, minutes: float, sets: Path, settings: Sequence[Setting] = SETTINGS) -> pd.DataFrame:
    """Data sets of all settings in turn, until there are so many of each or the time is over; the table of all."""
    sets.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    with (
        threadpool_limits(1),
        sklearn.config_context(skip_parameter_validation=True, assume_finite=True),  # a third of the time of refits
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        done = _taken_up(sets, {setting.model for setting in settings})
        for number in range(datasets):
            for setting in settings:
                if (*setting, number) in done:
                    continue
                if time.monotonic() > end:
                    return summary(known(sets))
                path = sets / f"{setting.model}.csv"
                data_set(setting, number).to_csv(path, mode="a", header=not path.exists(), index=False)
    return summary(known(sets))


def known(sets: Path) -> pd.DataFrame:
    """All data sets that are there."""
    return pd.concat([pd.read_csv(path) for path in sorted(sets.glob("*.csv"))], ignore_index=True)


def _taken_up(sets: Path, models: set[str]) -> set[tuple[object, ...]]:
    """Which data sets are there; it stops if the code at hand does not give the first ones."""
    done: set[tuple[object, ...]] = set()
    for path in (sets / f"{model}.csv" for model in sorted(models)):
        if not path.exists():
            continue
        table = pd.read_csv(path)
        whose = table[list(WHOSE)].drop_duplicates()
        done |= set(whose.itertuples(index=False, name=None))
        *setting, number = next(whose.itertuples(index=False, name=None))
        again = data_set(Setting(*setting), number)
        kept = table[: len(again)]
        same = kept[["metric", "rule"]].equals(again[["metric", "rule"]])
        if not same or not np.allclose(kept[list(FIGURES)], again[list(FIGURES)], rtol=0, atol=2e-6, equal_nan=True):
            raise SystemExit(f"{path} was made by other code; delete it if the change of the code is right.")
    return done


def summary(table: pd.DataFrame, by: tuple[str, ...] = SETTING) -> pd.DataFrame:
    """Coverage by metric, rule and setting, or by fewer words; the width needed is that of each setting.

    The standard error takes the intervals of a data set, of either number of folds, as one.
    """
    kept = table[table["metric"] != "refused"]
    covers = (kept["low"] <= kept["truth"]) & (kept["truth"] <= kept["high"])
    kept = kept.assign(covers=covers, below=kept["truth"] < kept["low"], above=kept["truth"] > kept["high"])
    rows = []
    for key, part in kept.groupby(list(by), sort=True):
        by_set = part.groupby(list(WHOSE))["covers"].agg(["sum", "count"])
        coverage = part["covers"].mean()
        residual = by_set["sum"] - coverage * by_set["count"]
        cells = [_width(each) for _, each in part.groupby(["share", "signal", "n", "folds"])]
        rows.append(
            {
                **dict(zip(by, key, strict=True)),
                "datasets": len(by_set),
                "coverage": coverage,
                "coverage_se": np.sqrt(np.square(residual).sum()) / len(part),
                "below": part["below"].mean(),
                "above": part["above"].mean(),
                "width": np.mean(cells),
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
    parser.add_argument("--models", default=",".join(MODELS), help="some of them, such as ridge,pair")
    asked = parser.parse_args()
    chosen = [setting for setting in SETTINGS if setting.model in asked.models.split(",")]
    study(asked.datasets, asked.minutes, SETS, chosen)
    table = known(SETS)
    together = summary(table, TOGETHER)
    for path, found in ((RESULT, summary(table)), (SHORT, together)):
        found.to_csv(path, index=False, lineterminator="\n")
    print(together.to_string(index=False))


if __name__ == "__main__":
    main()
