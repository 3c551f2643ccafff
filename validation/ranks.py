"""How much of the covariance term do areas under ROC curves need? ``python -m validation.ranks``: factors f, 90%.

Two normal classes whose means are ``signal`` apart, ten columns (the first half of them as good as the second), and
`RidgeClassifier()`: all data sets of a setting are fitted at once from sums, and the true area is known exactly, so
this takes a minute where `validation.scores` takes hours. Every interval is that of the covariance rule on three
repeats, with the covariance term times f: "as losses" is b^2 for one model and (ab)^2 for differences, as for means of
losses, "root b" what onefit does (`tests/project/test_rank_study.py` holds the figures here to its own).
"satterthwaite" has root b and the degrees of freedom of the variances of the two classes instead of rows - 1.

"needed" is the factor that would make the mean of the estimated variances equal to the mean squared error. ``--first``
is the seed. The table goes to validation/results/ranks.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special, stats

from onefit.typing import AnyArray, FloatArray

__all__ = ["Samples", "Simulated", "main", "report", "simulate", "study"]

OUTPUT = Path(__file__).parent / "results" / "ranks.csv"
LEVEL, Z, COLUMNS, PENALTY, REPEATS = 0.90, 1.645, 10, 1.0, 3
CLASSES = ((10, 90), (20, 80), (50, 50), (30, 170), (100, 100))
SIGNALS, FOLDS, AT_ONCE = (0.35, 0.7, 1.5, 2.2), (5, 10), 100
HALVES = {"all": slice(0, 10), "first": slice(0, 5), "second": slice(5, 10)}
FIGURES = {
    "all columns": ("all", None), "half": ("first", None), "all - half": ("all", "first"),
    "half - half": ("first", "second"),
}  # fmt: skip
"""By name the columns of one model, and of the other that is subtracted."""


def direction() -> FloatArray:
    """Of the difference between the classes, the same in both halves of the columns."""
    half = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    both = np.concatenate([half, half])
    found: FloatArray = both / np.linalg.norm(both)
    return found


class Samples(NamedTuple):
    """Rows (D, n, p) of both classes, and for each repeat their order (L, D, n): folds are consecutive in it."""

    signal: float
    positive: FloatArray
    negative: FloatArray
    orders: tuple[AnyArray, AnyArray]

    @classmethod
    def draw(cls, rng: np.random.Generator, D: int, classes: tuple[int, int], signal: float, L: int) -> Samples:
        """Of two normal classes."""
        first, second = (rng.normal(size=(D, count, COLUMNS)) for count in classes)
        orders = tuple(rng.random((L, D, count)).argsort(axis=2) for count in classes)
        return cls(signal, first + signal * direction(), second, (orders[0], orders[1]))


@dataclass(frozen=True)
class Simulated:
    """One figure of all data sets: truth, centre, and the parts of its estimated variance, each (D,)."""

    truth: FloatArray
    estimate: FloatArray
    term: FloatArray
    drawn: FloatArray
    by_class: tuple[FloatArray, FloatArray]
    noise: FloatArray

    @property
    def sampling(self) -> FloatArray:
        """v/n."""
        total = self.by_class[0] + self.by_class[1]
        return np.maximum(total - self.noise, total / 20)

    def variance(self, factor: float) -> FloatArray:
        """Of the interval, with the covariance term times a factor."""
        found: FloatArray = self.sampling + np.maximum(factor * self.term, 0.0) + self.drawn
        return found


class _Sums(NamedTuple):
    """Of some rows: their number, sums of x, of x y with y = 1 and -1, of y, and of products."""

    count: FloatArray
    x: FloatArray
    xy: FloatArray
    y: FloatArray
    xx: FloatArray

    def coefficients(self, columns: slice) -> FloatArray:
        """Of `RidgeClassifier` on some columns, the others zero."""
        xx = self.xx - self.x[..., :, None] * self.x[..., None, :] / self.count[..., None, None]
        xy = self.xy - self.x * (self.y / self.count)[..., None]
        matrix = xx[..., columns, columns] + PENALTY * np.eye(columns.stop - columns.start)
        found = np.zeros_like(xy)
        found[..., columns] = np.linalg.solve(matrix, xy[..., columns, None])[..., 0]
        return found


def _sums(first: FloatArray, second: FloatArray) -> _Sums:
    """Over the axis before the last."""
    counts = np.full(first.shape[:-2], first.shape[-2] + second.shape[-2], dtype=float)
    x, xy = first.sum(axis=-2) + second.sum(axis=-2), first.sum(axis=-2) - second.sum(axis=-2)
    xx = first.swapaxes(-1, -2) @ first + second.swapaxes(-1, -2) @ second
    return _Sums(counts, x, xy, np.full_like(counts, first.shape[-2] - second.shape[-2]), xx)


def _wrong(first: FloatArray, second: FloatArray, columns: slice) -> AnyArray:
    """Whether each pair of rows of a fold is ordered wrongly with folds j and k out, (D, K, K, m1, m0)."""
    of_fold = _sums(first, second)
    itself = np.eye(first.shape[1])

    def without_two(part: FloatArray) -> FloatArray:
        tail = (None,) * (part.ndim - 2)
        both = part[:, :, None] + part[:, None] * (1 - itself[(None, ..., *tail)])
        return part.sum(axis=1)[:, None, None] - both

    fits = _Sums(*(without_two(part) for part in of_fold)).coefficients(columns)
    scores = [np.einsum("djkp,djip->djki", fits, rows) for rows in (first, second)]
    return scores[0][..., :, None] < scores[1][..., None, :]


def simulate(samples: Samples, K: int) -> dict[str, Simulated]:
    """All figures from all repeats; classes must have multiples of K rows."""
    n1, n0 = samples.positive.shape[1], samples.negative.shape[1]
    wrong: dict[str, list[AnyArray]] = {half: [] for half in HALVES}
    for one, other in zip(*samples.orders, strict=True):
        first = np.take_along_axis(samples.positive, one[..., None], axis=1).reshape(len(one), K, n1 // K, -1)
        second = np.take_along_axis(samples.negative, other[..., None], axis=1).reshape(len(one), K, n0 // K, -1)
        for half, found in wrong.items():
            found.append(_wrong(first, second, HALVES[half]))
    truths = {half: _truth(samples, HALVES[half]) for half in wrong}
    results = {}
    for name, (half, minus) in FIGURES.items():
        tables, truth = [table.astype(float) for table in wrong[half]], truths[half]
        if minus is not None:
            tables = [table - its for table, its in zip(tables, wrong[minus], strict=True)]
            truth = truth - truths[minus]
        results[name] = _figure(tables, truth, samples.orders, (n1, n0), is_difference=minus is not None)
    return results


def _truth(samples: Samples, columns: slice) -> FloatArray:
    """One minus the area of the models fitted to all rows."""
    fits = _sums(samples.positive, samples.negative).coefficients(columns)
    apart = samples.signal * (fits @ direction()) / np.linalg.norm(fits, axis=-1)
    wrong: FloatArray = special.ndtr(-apart / np.sqrt(2))
    return wrong


def _figure(
    wrong: Sequence[FloatArray], truth: FloatArray, orders: tuple[AnyArray, AnyArray], classes: tuple[int, int],
    is_difference: bool,
) -> Simulated:  # fmt: skip
    """One figure from the comparisons of each repeat."""
    L, K, (n1, n0) = len(wrong), wrong[0].shape[1], classes
    own = np.eye(K, dtype=bool)
    means = np.stack([table.mean(axis=(-1, -2)) for table in wrong])  # (L, D, K, K)
    raw, cv = means[..., ~own].mean(axis=-1), means[..., own].mean(axis=-1)
    centres = _centre(raw, cv, K, sum(classes), is_difference)
    change = np.einsum("ldjj->ldj", means)[..., None] - means
    centred = change - change.sum(axis=2, keepdims=True) / (K - 1)
    centred[..., own] = 0.0
    term = np.einsum("ldjk,ldkj->d", centred, centred) / (L * K**2 * (1 - 1 / (K - 1)) ** 2)
    single = [table[:, own] for table in wrong]  # (D, K, m1, m0)
    noise = np.mean([pairs.reshape(len(truth), -1).var(axis=1) for pairs in single], axis=0) * K / (n1 * n0 * L)
    sides = []
    for axis, order, count in ((-1, orders[0], n1), (-2, orders[1], n0)):
        shares = np.zeros((len(truth), count))
        for pairs, places in zip(single, order, strict=True):
            each = np.empty_like(shares)
            np.put_along_axis(each, places, pairs.mean(axis=axis).reshape(shares.shape), axis=1)
            shares += each / L
        sides.append(shares.var(axis=1, ddof=1) / count)
    estimate = _centre(raw.mean(axis=0), cv.mean(axis=0), K, sum(classes), is_difference)
    return Simulated(truth, estimate, term, centres.var(axis=0, ddof=1) / L, (sides[0], sides[1]), noise)


def _centre(raw: FloatArray, cv: FloatArray, K: int, n: int, is_difference: bool) -> FloatArray:
    """Extrapolated to all rows, of one model on the logit scale."""
    if is_difference:
        return raw - (2 - 2 / K) * (raw - cv)
    raw, cv = (special.logit(np.clip(share, 2 / n**2, 1 - 2 / n**2)) for share in (raw, cv))
    found: FloatArray = special.expit(raw - (2 - 2 / K) * (raw - cv))
    return found


def _rules(K: int, is_difference: bool) -> dict[str, float]:
    """Factors of the covariance term by name."""
    b, a = 1 - 2 / K, 1 - 1 / K if is_difference else 1.0
    return {"as losses": (a * b) ** 2, "b^2": b**2, "b": b, "root b": b**0.5, "1": 1.0, "satterthwaite": b**0.5}


def _rows(found: Simulated, K: int, classes: tuple[int, int], is_difference: bool) -> Iterator[dict[str, object]]:
    """Coverage and width by rule."""
    error = found.estimate - found.truth
    square, n = float(np.square(error).mean()), sum(classes)
    needed = (square - found.sampling.mean() - found.drawn.mean()) / found.term.mean()
    for rule, factor in _rules(K, is_difference).items():
        variance = found.variance(factor)
        degrees = np.full(len(error), n - 1.0)
        if rule == "satterthwaite":
            parts = sum(np.square(v) / (count - 1) for v, count in zip(found.by_class, classes, strict=True))
            degrees = np.clip(np.square(variance) / np.maximum(parts, np.finfo(float).tiny), 3.0, n - 1.0)
        half = stats.t.ppf(0.5 + LEVEL / 2, degrees) * np.sqrt(variance)
        low, high = found.estimate - half, found.estimate + half
        if not is_difference:
            middle, step = special.logit(found.estimate), half / (found.estimate * (1 - found.estimate))
            low, high = special.expit(middle - step), special.expit(middle + step)
        covers = (low <= found.truth) & (found.truth <= high)
        width = float(np.median(high - low) / (2 * Z * np.sqrt(square)))
        yield {"rule": rule, "coverage": covers.mean(), "coverage_se": covers.std() / np.sqrt(len(covers)),
               "width": width, "needed": needed}  # fmt: skip


def study(datasets: int, first: int) -> pd.DataFrame:
    """A row for each setting, figure and rule."""
    rng, rows = np.random.default_rng(first), []
    for K in FOLDS:
        for classes in CLASSES:
            for signal in SIGNALS:
                parts = [
                    simulate(Samples.draw(rng, AT_ONCE, classes, signal, REPEATS), K)
                    for _ in range(max(1, datasets // AT_ONCE))
                ]
                for name, (_, other) in FIGURES.items():
                    found = _together([part[name] for part in parts])
                    law = {
                        "folds": K,
                        "positives": classes[0],
                        "negatives": classes[1],
                        "signal": signal,
                        "figure": name,
                    }
                    law |= {"seed": first, "datasets": len(found.truth)}
                    rows += [{**law, **row} for row in _rows(found, K, classes, other is not None)]
    return pd.DataFrame(rows)


def _together(parts: Sequence[Simulated]) -> Simulated:
    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in parts])

    sides = [np.concatenate([part.by_class[side] for part in parts]) for side in (0, 1)]
    names = ("truth", "estimate", "term", "drawn")
    return Simulated(*(joined(name) for name in names), (sides[0], sides[1]), joined("noise"))


def report(table: pd.DataFrame) -> str:
    """Mean, least and largest coverage, and mean width, by kind of figure, folds and rule."""
    kind = np.where(table["figure"].str.contains(" - "), "difference", "one model")
    by = table.assign(kind=kind).groupby(["kind", "folds", "rule"], sort=False)
    outside = by["coverage"].agg(lambda c: int((c < 0.88).sum()))
    coverage = by["coverage"].agg(["mean", "min", "max"])
    found = coverage.assign(below_88=outside, settings=by.size(), width=by["width"].mean())
    return found.round(3).to_string()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write, report."""
    parser = argparse.ArgumentParser(prog="python -m validation.ranks", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=1000, help="data sets a setting")
    parser.add_argument("--first", type=int, default=777, help="seed")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the table goes")
    asked = parser.parse_args(arguments)
    table = study(asked.datasets, asked.first)
    table.to_csv(asked.output, index=False, float_format="%.4g", lineterminator="\n")
    print(report(table))


if __name__ == "__main__":
    main()
