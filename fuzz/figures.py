"""Held-out residuals -> the figures of nested cross-validation, for numbers of any type; and how far two are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .intervals import PairTables
from .models import Model

__all__ = ["ROOTS", "Figures", "differences", "sizes", "tabulate"]

Residuals = Callable[[int, tuple[int, ...]], dict[int, list[Any]]]
"""Of a repeat and the folds that are out: residuals of each held-out row, one for each output."""

LEAST = 1e-290
"""Below this doubles lose digits, and squares of what is smaller are lost."""


@dataclass
class Figures:
    """What is compared, each with outputs as the last axis, and how near to a tie a decision was.

    ``pairs`` are the losses that it was made of, if they are known.
    """

    tables: dict[str, np.ndarray]
    margin: float = np.inf
    response: np.ndarray = field(default_factory=lambda: np.zeros(1))
    pairs: PairTables | None = None


def tabulate(model: Model, folds: np.ndarray, residuals: Residuals, zero: Any, as_float: Callable) -> Figures:
    """Fold errors, estimates and the means of the held-out rows, exactly as defined."""
    losses = _Losses(model, zero)
    weights = model.weights
    relative = None if weights is None else [zero + w for w in weights.tolist()]
    if relative is not None:
        scored = (folds >= 0).sum(axis=0).tolist()
        mean = sum((w * times for w, times in zip(relative, scored, strict=True)), zero) / sum(scored)
        relative = [w / mean for w in relative]

    def weigh(i: int, values: list[Any]) -> list[Any]:
        return values if relative is None else [relative[i] * value for value in values]

    L, n = folds.shape
    K, R = int(folds.max()) + 1, losses.count
    e_out, e_in, v_out = (np.full((L, K, R), np.nan) for _ in range(3))
    sums, pairs = _Sums(n, R, model.n_outputs, zero), PairTables(folds, K, R)
    for repeat, ids in enumerate(folds):
        by_out: list[list[list[Any]]] = [[] for _ in range(K)]
        for fold in range(K):
            rows = []
            for i, u in residuals(repeat, (fold,)).items():
                plain = losses.of(i, u)
                sums.add_row(i, u, plain)
                pairs.losses[repeat, i] = [as_float(value) for value in plain]
                rows.append(weigh(i, plain))
            sums.add("cv", rows)
            e_out[repeat, fold], v_out[repeat, fold] = _moments(rows, zero, as_float)
            pairs.add(repeat, fold, fold, e_out[repeat, fold], v_out[repeat, fold], len(rows))
        for second in range(K):
            for first in range(second):
                both = {i: weigh(i, losses.of(i, u)) for i, u in residuals(repeat, (first, second)).items()}
                for fold, other in ((first, second), (second, first)):
                    rows = [row for i, row in both.items() if ids[i] == fold]
                    by_out[other] += rows
                    pairs.add(repeat, fold, other, *_moments(rows, zero, as_float), len(rows))
        for fold, rows in enumerate(by_out):
            sums.add("raw", rows)
            e_in[repeat, fold], _ = _moments(rows, zero, as_float)
    tables = {"e_out": e_out, "e_in": e_in, "v_out": v_out} | sums.means(model, as_float)
    interval, is_near = pairs.interval(model)
    return Figures(tables | {"interval": interval}, min(losses.margin, is_near), np.abs(model.Y).max(axis=0), pairs)


class _Losses:
    """The loss of a row from its residuals; remembers how near to a tie a decision between classes was."""

    def __init__(self, model: Model, zero: Any) -> None:
        self.model, self.zero, self.margin = model, zero, np.inf
        self.count = 1 if model.loss == "zero_one" else model.n_outputs

    def of(self, row: int, residuals: list[Any]) -> list[Any]:
        if self.model.loss == "given":
            return residuals
        if self.model.loss == "squared_error":
            return [u * u for u in residuals]
        if self.model.loss == "absolute_error":
            return [abs(u) for u in residuals]
        codes = self.model.Y[row].tolist()
        scores = [float(code - u) for code, u in zip(codes, residuals, strict=True)]
        if len(scores) == 1:
            scores, codes = [0.0, *scores], [-codes[0], *codes]
        ranked = sorted(scores)
        self.margin = min(self.margin, (ranked[-1] - ranked[-2]) / max(1.0, abs(ranked[-1]), abs(ranked[-2])))
        chosen = int(np.argmax(scores))
        return [self.zero + (0 if codes[chosen] == 1.0 else 1)]


class _Sums:
    """Sums over rows and repeats."""

    def __init__(self, n: int, n_losses: int, n_outputs: int, zero: Any) -> None:
        self.zero = zero
        self.total = {name: [zero] * n_losses for name in ("cv", "raw")}
        self.number = dict.fromkeys(self.total, 0)
        self.residual = [[zero] * n_outputs for _ in range(n)]
        self.loss = [[zero] * n_losses for _ in range(n)]
        self.count = [0] * n

    def add(self, name: str, rows: list[list[Any]]) -> None:
        for row in rows:
            self.total[name] = [a + b for a, b in zip(self.total[name], row, strict=True)]
        self.number[name] += len(rows)

    def add_row(self, i: int, residuals: list[Any], losses: list[Any]) -> None:
        self.residual[i] = [a + b for a, b in zip(self.residual[i], residuals, strict=True)]
        self.loss[i] = [a + b for a, b in zip(self.loss[i], losses, strict=True)]
        self.count[i] += 1

    def means(self, model: Model, as_float: Callable) -> dict[str, np.ndarray]:
        def of_rows(sums: list[list[Any]]) -> np.ndarray:
            none = [np.nan] * len(sums[0])
            rows = zip(sums, self.count, strict=True)
            return np.array([[as_float(s / count) for s in row] if count else none for row, count in rows])

        tables = {
            f"{name}_estimate": np.array([as_float(s / self.number[name]) for s in self.total[name]])
            for name in self.total
        }
        tables["heldout_loss"] = of_rows(self.loss)
        if model.loss not in ("zero_one", "given"):
            tables["heldout_prediction"] = model.Y - of_rows(self.residual)
        return tables


def _moments(rows: list[list[Any]], zero: Any, as_float: Callable) -> tuple[list[float], list[float]]:
    """Mean and sample variance by output; NaN for the variance of one row."""
    means, variances = [], []
    for values in zip(*rows, strict=True):
        mean = sum(values, zero) / len(values)
        means.append(as_float(mean))
        squares = sum(((value - mean) * (value - mean) for value in values), zero)
        variances.append(as_float(squares / (len(values) - 1)) if len(values) > 1 else np.nan)
    return means, variances


ROOTS = {"squared_error": (2, 4), "absolute_error": (1, 2), "zero_one": (1, 2), "given": (1, 2)}
"""Which root of a loss, and of a variance of losses, is in the units of y.

Differences are taken between these: where a residual is zero but for rounding errors, its square and fourth power
would not be in proportion to a change of the data.
"""


def _in_units(name: str, table: np.ndarray, loss: str) -> tuple[np.ndarray, int]:
    """A table in the units of y, and which root that was."""
    if name in ("heldout_prediction", "metrics") or loss == "scores":
        return table, 1
    root = ROOTS[loss][1 if name == "v_out" else 0]
    return np.maximum(table, 0.0) ** (1.0 / root), root


def sizes(figures: Figures, loss: str) -> dict[str, np.ndarray]:
    """The largest entry of each table by output: what a difference is relative to."""
    largest = {}
    for name, table in figures.tables.items():
        values, root = _in_units(name, table, loss)
        flat = np.abs(values.reshape(-1, values.shape[-1]))
        size = np.where(np.isnan(flat), 0.0, flat).max(axis=0, initial=0.0)
        if name == "heldout_prediction":
            size = np.maximum(size, figures.response)
        largest[name] = np.maximum(size / root, LEAST ** (1.0 / root))
    return largest


def differences(actual: Figures, expected: Figures, loss: str) -> dict[str, np.ndarray]:
    """The largest difference in each table by output, in the units of y; infinite where only one is NaN."""
    largest = {}
    for name, table in expected.tables.items():
        a, b = _in_units(name, actual.tables[name], loss)[0], _in_units(name, table, loss)[0]
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.where(a == b, 0.0, np.abs(a - b)))
        flat = np.where(np.isnan(gap), np.inf, gap).reshape(-1, gap.shape[-1])
        largest[name] = flat.max(axis=0, initial=0.0)
    return largest
