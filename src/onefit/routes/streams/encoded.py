"""Linear fits behind steps that learn from each training set, from sums over the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg

from ...checks import MOST_SIZE
from ...errors import DataError, RouteError
from ...folds import Folds
from ...learners import (
    EncodedFamily,
    EncodedLearner,
    EncodedSets,
    FixedFeatures,
    Moments,
    Recipe,
    Refusal,
    SetFailure,
)
from ...linalg.columns import Columns
from ...linalg.precondition import Coordinates, precondition
from ...typing import AnyArray, BoolArray, FloatArray, IntArray
from ...validation import Problem
from ..collect import FoldStatistics
from ..contract import Run
from ..features import coefficients
from ..products import Products
from ..solve import Doubtful, FoldSystems, SetSolver
from .learning import FoldFeatures, StreamedStatistics
from .models import IN_MEMORY, StreamedModel
from .rows import ReadRows, numbers_of

__all__ = ["EncodedModel", "Encoder", "check_steps", "encoded_model", "encoder_of"]

VALUES = ("number", "value", "target")
"""Kinds of columns that hold numbers."""

SETS_AT_ONCE = 2**24
"""Numbers of the Gram matrices of training sets that are solved together."""


@dataclass(frozen=True)
class _Part:
    """Columns of B that a recipe makes, from ``first`` on; ``has_gaps`` says whether gaps are marked elsewhere."""

    recipe: Recipe
    name: str
    first: int
    count: int
    centre: float
    has_gaps: bool = False


@dataclass(frozen=True)
class Encoder:
    """Makes rows of B, and a constant, of rows of a table."""

    parts: tuple[_Part, ...]
    width: int

    def __call__(self, rows: ReadRows) -> Columns:
        """Of some rows."""
        B = np.zeros((len(rows.observed), self.width + 1))
        B[:, -1] = 1.0
        for part in self.parts:
            recipe = part.recipe
            if recipe.kind == "levels":
                codes = _codes(rows.block.values(part.name), recipe)
                some = np.flatnonzero(codes >= 0)
                B[some, part.first + codes[some]] = 1.0
            elif recipe.kind == "missing":
                B[:, part.first] = _is_missing(rows.block.values(part.name), recipe.missing)
            else:
                x = self._values(part, rows)
                np.subtract(x, part.centre, out=B[:, part.first], where=~np.isnan(x))
        return Columns(B[:, :0], B, np.zeros(0), np.zeros(B.shape[1]))

    def reads(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Which of the columns of the table it looks at."""
        places = {part.recipe.column for part in self.parts if part.recipe.column >= 0}
        return tuple(names[place] for place in sorted(places))

    def values(self, rows: ReadRows) -> FloatArray:
        """The columns of values as they are, NaN where they are missing."""
        columns = [self._values(part, rows) for part in self.parts if part.recipe.kind in VALUES]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows.observed), 0))

    def _values(self, part: _Part, rows: ReadRows) -> FloatArray:
        if part.recipe.kind == "target":
            return rows.observed[:, 0]
        if part.recipe.kind == "number":
            return numbers_of(rows.block, [part.name], rows.start, "X")[:, 0]
        found = rows.block.numbers([part.name])[:, 0]
        gaps = np.isnan(found)
        if not _is_nan(part.recipe.missing):
            if gaps.any():
                raise DataError(
                    f"Column {part.name!r} is missing (NaN) in row {rows.start + int(np.argmax(gaps))}, and the "
                    f"imputer looks for {part.recipe.missing!r}."
                )
            found = np.where(found == part.recipe.missing, np.nan, found)
            gaps = np.isnan(found)
        if not part.has_gaps and gaps.any():
            raise DataError(
                f"Column {part.name!r} is missing in row {rows.start + int(np.argmax(gaps))}, and was not in any row "
                "when the table was first looked at."
            )
        wrong = np.abs(found) > MOST_SIZE
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"Column {part.name!r} is {found[row]:.3g} in row {rows.start + row}, too large to be squared; rescale "
                "it, or leave the row out."
            )
        return found


def _is_nan(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _is_missing(values: AnyArray, missing: object) -> BoolArray:
    """Where a column has what stands for a missing value."""
    found: BoolArray = np.asarray(pd.isna(values) if _is_nan(missing) else values == missing, dtype=bool)
    return found


def _codes(values: AnyArray, recipe: Recipe) -> IntArray:
    """The level of each row; -1 is none."""
    levels = recipe.levels
    assert levels is not None
    is_nan = np.asarray(pd.isna(levels), dtype=bool)
    seen = np.flatnonzero(~is_nan)
    gaps = np.asarray(pd.isna(values), dtype=bool)
    kept = levels[seen]
    if len(kept) and isinstance(kept[0], str):
        values = values.astype(object)
    found = pd.Index(kept).get_indexer(pd.Index(values))
    codes: IntArray = np.where(found >= 0, seen[found], -1) if len(seen) else np.full(len(values), -1)
    if is_nan.any():
        codes[gaps] = int(np.flatnonzero(is_nan)[0])
    if recipe.has_mode or recipe.fill is not None:
        filled = _is_missing(values, recipe.missing)
        if filled.any():  # without gaps what fills them need not be a level
            codes[filled] = -1 if recipe.has_mode else int(np.flatnonzero(levels == recipe.fill)[0])
    return codes


class EncodedModel(StreamedModel):
    """One or several linear fits on what steps make of the same fixed features."""

    is_numeric = False
    needs_plain = True

    def __init__(self, learner: EncodedLearner | EncodedFamily, names: tuple[str, ...], encoder: Encoder) -> None:
        self.learner, self.encoded, self._encoder = learner, learner, encoder
        self.fixed: FixedFeatures = learner.fixed
        self.n_values, self.n_columns = learner.n_values, encoder.width + 1
        self.constant, self.values = encoder.width if learner.fit_intercept else None, encoder.values
        self.names = encoder.reads(names)

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """Fixed features and a constant."""
        return self._encoder

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """As they are, so that indicators are counted to the last bit; about a pilot fit."""
        found = precondition(sample.weighted(root), root[:, None] * y, share, 0.0, 0.0)
        return Coordinates(np.eye(self.n_columns), found.pilot, 0, 0.0, is_diagonal=True)

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """From products of the features."""
        return _EncodedSolver(self, statistics, coordinates, folds)

    def better(self, coordinates: Coordinates, statistics: FoldStatistics) -> Coordinates:
        """A better pilot: least squares over all rows, as far as columns do not depend on each other."""
        d, total = len(coordinates.T), statistics.total
        size = np.sqrt(np.where(np.diag(total)[:d] > 0, np.diag(total)[:d], 1.0))
        scaled = total[:d, :d] / np.multiply.outer(size, size)
        step = linalg.lstsq(scaled, total[:d, d:] / size[:, None], cond=1e-10)[0] / size[:, None]
        return replace(coordinates, pilot=coordinates.pilot + step)


class _EncodedSolver:
    """Lets steps learn, and fits, in all training sets of some repeats."""

    def __init__(self, model: EncodedModel, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds) -> None:
        self.model, self.folds = model, folds
        d = len(coordinates.T)
        self.systems = FoldSystems.of(statistics, coordinates, np.eye(d))
        self.doubtful: list[Doubtful] = []
        self._weighted = self._products(statistics, coordinates.pilot)
        plain = statistics.plain
        self._plain = self._weighted if plain is None else self._products(plain, coordinates.pilot)
        self._has_weights = plain is not None
        self._features = FoldFeatures(model.fixed, *self._plain[:2], statistics.extremes, folds)

    def _products(self, statistics: FoldStatistics, pilot: FloatArray) -> tuple[Products, list[Products], FloatArray]:
        """Products with y, not with the residuals of the pilot: of all rows and by folds; and squares of y by folds."""
        d = len(pilot)

        def of(products: FloatArray) -> Products:
            G = products[..., :d, :d]
            return Products(G, products[..., :d, d:] + G @ pilot)

        def squares(products: FloatArray) -> FloatArray:
            of_y = 2 * products[..., :d, d:] + products[..., :d, :d] @ pilot
            rest = np.diagonal(products[..., d:, d:], axis1=-2, axis2=-1)
            total: FloatArray = rest + np.einsum("dq,...dq->...q", pilot, of_y)
            return total

        by_fold = [of(each) for each in statistics.products]
        return of(statistics.total), by_fold, squares(statistics.products)

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to each training set, (L, S, d, V, Q)."""
        L, _, d, Q = self.systems.right.shape
        found = np.zeros((L, len(sets), d, self.model.n_values, Q))
        out = sets if (sets >= 0).all() else sets[:, :1]
        step = max(1, SETS_AT_ONCE // (6 * d * d))
        for repeat in range(L):
            for start in range(0, len(out), step):
                some = slice(start, start + step)
                found[repeat, some] = self._solve(repeat, out[some])
        return found

    def _solve(self, repeat: int, out: IntArray) -> FloatArray:
        total, by_fold, _ = self._plain
        plain = total.moments_without(by_fold[repeat], out)
        weighted = plain
        if self._has_weights:
            weighted = self._weighted[0].moments_without(self._weighted[1][repeat], out)
        Q = self.systems.pilot.shape[1]
        steps = np.zeros((len(out), self.systems.T.shape[1], self.model.n_values, Q))
        first = 0
        for part in self.model.encoded.parts:
            gamma, is_sound = self._of_part(part, repeat, out, plain[0], weighted)
            values = tuple(range(first, first + part.n_values))
            steps[:, :, first : first + part.n_values] = np.moveaxis(gamma, 1, 2) - self.systems.pilot[:, None]
            for index in np.flatnonzero(~is_sound):
                steps[index, :, first : first + part.n_values] = 0.0
                self.doubtful.append(Doubtful(repeat, tuple(out[index].tolist()), values))
            first += part.n_values
        return steps

    def _of_part(
        self,
        part: EncodedLearner,
        repeat: int,
        out: IntArray,
        plain: Moments,
        weighted: tuple[Moments, FloatArray, FloatArray],
    ) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, V, q + 1, Q), and which of them are those of a refit."""
        heavy = (weighted[0], np.diag(self._weighted[0].gram)[:-1]) if self._has_weights else None
        features, is_sound = self._features.learn(part.encoding.block, repeat, out, plain, heavy)

        def squares() -> FloatArray:
            by_fold = self._weighted[2]
            left = by_fold[repeat].sum(axis=0) - by_fold[repeat][out].sum(axis=1)
            return np.asarray(np.maximum(left - weighted[0].n[:, None] * np.square(weighted[2]), 0.0))

        sets = EncodedSets(features, *weighted, None, squares)
        gamma, is_known = coefficients(part, sets)
        return gamma, is_known & is_sound

    @cached_property
    def n_values(self) -> int:
        """Of all parts."""
        return self.model.n_values


def encoder_of(fixed: FixedFeatures, names: tuple[str, ...]) -> Encoder | Refusal:
    """What makes fixed features of any rows, or why that is not known."""
    if fixed.has_checks:
        return Refusal("a function of its steps may not give the same in other rows", IN_MEMORY)
    parts, first = list[_Part](), 0
    gapped = {recipe.column for recipe in fixed.recipes if recipe is not None and recipe.kind == "missing"}
    centres = dict(zip(fixed.value_sources, fixed.centres.tolist(), strict=True))
    for recipe, width in zip(fixed.recipes, fixed.widths, strict=True):
        if recipe is None:
            return Refusal("steps that learn nothing make columns of others before it, or products of them", IN_MEMORY)
        name = names[recipe.column] if recipe.column >= 0 else ""
        parts.append(_Part(recipe, name, first, width, centres.get(first, 0.0), recipe.column in gapped))
        first += width
    return Encoder(tuple(parts), first)


def check_steps(fixed: FixedFeatures, blocks: Sequence[Any]) -> Refusal | None:
    """Let steps learn once from the rows that are in memory: why sums do not do, if that is so."""
    matrix: Any = fixed.matrix
    dense = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    B = np.hstack([dense, np.ones((fixed.n, 1))])
    y = np.zeros((len(B), 1))  # which steps do not look at here
    moments = Products((B.T @ B)[None], (B.T @ y)[None]).about_means()[0]
    values = np.stack(fixed.values, axis=1) if fixed.values else np.zeros((len(B), 0))
    ends = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)

    def found(sources: IntArray) -> tuple[FloatArray, FloatArray]:
        at = np.searchsorted(fixed.value_sources, sources)
        return ends[0][None, at], ends[1][None, at]

    statistics = StreamedStatistics(moments, np.zeros((1, B.shape[1])), found)
    try:
        for block in blocks:
            block.learn(statistics)
    except (RouteError, SetFailure) as reason:
        return Refusal(str(reason))
    return None


def encoded_model(
    learner: EncodedLearner | EncodedFamily, problem: Problem, names: tuple[str, ...]
) -> EncodedModel | Refusal:
    """A learner behind steps, made of some rows that have all levels, extremes and gaps, as one for all rows."""
    if any(part.takes_masks or part.needs_rows or part.n_candidates for part in learner.parts):
        remedy = f"choose its penalty by splits (cv=5), or {IN_MEMORY}"
        return Refusal("it looks at the rows of every training set", remedy if learner.n_candidates else IN_MEMORY)
    encoder = encoder_of(learner.fixed, names)
    if isinstance(encoder, Refusal):
        return encoder
    return check_steps(learner.fixed, [part.encoding.block for part in learner.parts]) or EncodedModel(
        learner, names, encoder
    )
