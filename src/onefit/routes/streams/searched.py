"""Searches inside every training set of a table, from products of the columns in its splits (see `innerpasses`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from ...errors import TrainingSetError
from ...folds import Folds
from ...learners import EncodedSets, Moments, Refusal, SearchedGLM, SearchedLearner, SetFailure, SetStatistics
from ...linalg.precondition import Coordinates
from ...typing import BoolArray, FloatArray, IntArray
from ...validation import Problem
from ..collect import FoldStatistics
from ..contract import Run
from ..features import coefficients, have_lost_digits
from ..products import Products
from ..searched import AGREED
from ..solve import CANCELS, Doubtful, FoldSystems, SetSolver
from .encoded import EncodedModel, Encoder, check_steps, encoder_of
from .innerpasses import CountTask, Cuts, Segments, SegmentTask, add_counts, add_segments
from .learning import Ends, FoldFeatures, StreamedStatistics
from .models import IN_MEMORY
from .rows import RowReader

__all__ = ["SearchedModel", "refuse_iterated", "searched_model"]

SCORES = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")
"""Scores inside that sums of squares tell."""

CONSECUTIVE = "split it by consecutive rows (cv=5, or KFold without shuffle)"


class SearchedModel(EncodedModel):
    """A search among linear fits, by consecutive rows of every training set."""

    def __init__(self, learner: SearchedLearner, names: tuple[str, ...], encoder: Encoder) -> None:
        self.learner, self.search, self._encoder = learner, learner, encoder
        self.fixed = learner.fixed
        self.n_values, self.n_columns = 1, encoder.width + 1
        self.constant, self.values = encoder.width if learner.fit_intercept else None, encoder.values
        self.names = encoder.reads(names)

    def numbers(self, n_repeats: int, n_folds: int) -> float:
        """Numbers that products of all segments take."""
        segments = (self.search.n_splits - 1) * n_folds * (n_folds + 1) // 2 + 1
        return float(2 * n_repeats * segments * n_folds * (self.n_columns + 1) ** 2)

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """Not without passes of its own, see `searching`."""
        raise NotImplementedError

    def searching(
        self,
        statistics: FoldStatistics,
        coordinates: Coordinates,
        folds: Folds,
        reader: RowReader,
        make_pass: Any,
        where: str,
    ) -> SetSolver:
        """What solves its training sets, after two passes of its own."""
        bare = replace(reader, features=(), matrices=())
        counts: dict[int, IntArray] = make_pass(CountTask(bare), add_counts, f"{where}, rows of the folds")
        before, sizes = dict[int, IntArray](), np.zeros_like(next(iter(counts.values())))
        for place in sorted(counts):
            before[place], sizes = sizes, sizes + counts[place]
        cuts = Cuts.of(sizes, self.search.n_splits)
        task = SegmentTask(reader, self.rows, self._encoder.values, coordinates.pilot, before, cuts)
        segments: Segments = make_pass(task, add_segments, f"{where}, segments")
        inner = [_Repeat.of(segments, repeat, cuts) for repeat in range(len(sizes))]
        return _SearchedSolver(self, statistics, coordinates, folds, inner)


class _Splits(NamedTuple):
    """Of one training set: products (F, K, d + Q, d + Q) of its splits by folds, and extremes (F, K, r)."""

    products: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class _Repeat:
    """Segments of one repeat in their order, (n_segments, K, ...), and where the splits of training sets begin.

    ``starts`` (S, F - 1) are numbers of segments.
    """

    products: FloatArray
    low: FloatArray
    high: FloatArray
    starts: IntArray

    @classmethod
    def of(cls, segments: Segments, repeat: int, cuts: Cuts) -> _Repeat:
        """From sums, in which a segment without rows is not there."""
        products, extremes = segments.products[repeat], segments.extremes[repeat]
        S, F = cuts.ranks.shape[1], cuts.ranks.shape[2] + 1
        rows = np.empty((S, F - 1), dtype=np.intp)
        for (index, split), row in segments.rows[repeat].items():
            rows[index, split] = row
        order = np.argsort(rows.ravel(), kind="stable")
        starts = np.empty(rows.size, dtype=np.intp)
        starts[order] = np.arange(1, rows.size + 1)
        some = next(iter(products.values()))
        table = np.zeros((rows.size + 1, *some.shape))
        low = np.full((rows.size + 1, *next(iter(extremes.values()))[0].shape), np.inf)
        high = -low
        for segment, own in products.items():
            table[segment] = own
            low[segment], high[segment] = extremes[segment]
        return cls(table, low, high, starts.reshape(S, F - 1))

    def splits(self, index: int) -> _Splits:
        """Of a training set, over all folds."""
        bounds = np.append(0, np.sort(self.starts[index]))
        return _Splits(
            np.add.reduceat(self.products, bounds, axis=0),
            np.minimum.reduceat(self.low, bounds, axis=0),
            np.maximum.reduceat(self.high, bounds, axis=0),
        )


class _InnerStatistics(StreamedStatistics):
    """Of what is fitted in the splits of a training set, and of that itself, the last."""

    def __init__(
        self, moments: Moments, held: FloatArray, ends: Callable[[IntArray], Ends], whole: SetStatistics
    ) -> None:
        super().__init__(moments, held, ends)
        self._whole = whole

    def whole(self) -> tuple[SetStatistics, IntArray]:
        """The training set, of which all are parts."""
        return self._whole, np.zeros(len(self.n), dtype=np.intp)


class _SearchedSolver:
    """Searches all training sets."""

    def __init__(
        self,
        model: SearchedModel,
        statistics: FoldStatistics,
        coordinates: Coordinates,
        folds: Folds,
        repeats: list[_Repeat],
    ) -> None:
        self.model, self.folds, self._repeats = model, folds, repeats
        d = len(coordinates.T)
        self.systems = FoldSystems.of(statistics, coordinates, np.eye(d))
        self.doubtful: list[Doubtful] = []
        self._features = FoldFeatures.of(model.fixed, statistics, folds)
        self._diagonal = np.diag(statistics.total)[: d - 1]

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to each training set, (L, S, d, 1, Q)."""
        L, K, d, Q = self.systems.right.shape
        found = np.zeros((L, len(sets), d, 1, Q))
        first = 0 if (sets < 0).any() else K  # the places of these training sets among all
        for repeat in range(L):
            for index, pair in enumerate(sets):
                out = tuple(int(fold) for fold in pair if fold >= 0)
                gamma = self._search(repeat, first + index, out)
                if gamma is None:
                    self.doubtful.append(Doubtful(repeat, out, (0,)))
                else:
                    found[repeat, index, :, 0] = gamma - self.systems.pilot
        return found

    def _search(self, repeat: int, index: int, out: tuple[int, ...]) -> FloatArray | None:
        """Coefficients (d, Q) of the best candidate; None if it is not certain which that is."""
        stays: BoolArray = np.ones(self.systems.right.shape[1], dtype=bool)
        stays[list(out)] = False
        splits = self._repeats[repeat].splits(index)
        scored = splits.products[:, stays].sum(axis=1)  # (F, d + Q, d + Q)
        whole = scored.sum(axis=0)
        fitted = np.concatenate([whole - scored, whole[None]])
        try:
            gammas, is_sure = self._fits(repeat, out, fitted, scored, splits, stays)
        except SetFailure as failure:
            words = self.folds.words(repeat, out)
            raise TrainingSetError(f"{words}, in a split of a search: {failure}") from None
        scores, is_certain = self._scores(gammas[:-1], scored)
        best = self.model.search.score.best(np.ascontiguousarray(scores.T))
        if not (is_sure and is_certain and self._agree(gammas[-1, best], whole)):
            return None
        return np.asarray(gammas[-1, best[0]])

    def _fits(
        self,
        repeat: int,
        out: tuple[int, ...],
        fitted: FloatArray,
        scored: FloatArray,
        splits: _Splits,
        stays: BoolArray,
    ) -> tuple[FloatArray, bool]:
        """Coefficients (F + 1, C, d, Q) of all candidates, and whether they are those of refits."""
        search, pilot, F = self.model.search, self.systems.pilot, len(scored)
        d = len(pilot)
        G, squares = fitted[:, :d, :d], self._squares(fitted)
        moments, right, y_mean = Products(G.copy(), fitted[:, :d, d:] + G @ pilot).about_means()
        of_folds = self._features.by_fold[repeat].gram[list(out), -1].sum(axis=0)
        held = np.vstack([scored[:, d - 1, :d], of_folds[None]])
        low, high = self._ends(splits, stays)

        def ends(sources: IntArray) -> Ends:
            at = np.searchsorted(self.model.fixed.value_sources, sources)
            return low[:, at], high[:, at]

        def ends_of_whole(sources: IntArray) -> Ends:
            return tuple(end[-1:] for end in ends(sources))  # type: ignore[return-value]

        whole = StreamedStatistics(moments.part(slice(F, None)), held[F:], ends_of_whole)
        statistics = _InnerStatistics(moments, held, ends, whole)
        is_sure = ~have_lost_digits(self.model.fixed, statistics, moments, self._diagonal, None)
        found = []
        for group in search.groups:
            features = group.encoding.block.learn(statistics)
            sets = EncodedSets(
                features,
                moments,
                right,
                y_mean,
                None,
                lambda: np.maximum(squares - moments.n[:, None] * np.square(y_mean), 0.0),
                np.full(F + 1, F),
            )
            gamma, is_known = coefficients(group, sets)
            found.append(gamma)
            is_sure &= is_known
        is_sure &= ~statistics.in_doubt
        return np.stack([found[group][:, value] for group, value in search.places], axis=1), bool(is_sure.all())

    def _ends(self, splits: _Splits, stays: BoolArray) -> Ends:
        """Extremes (F + 1, r) of what is fitted in every split, and of the training set."""
        low, high = splits.low[:, stays].min(axis=1), splits.high[:, stays].max(axis=1)
        F = len(low)
        others = ~np.eye(F, dtype=bool)[..., None]
        inside = np.where(others, low, np.inf).min(axis=1), np.where(others, high, -np.inf).max(axis=1)
        return np.vstack([inside[0], low.min(axis=0)]), np.vstack([inside[1], high.max(axis=0)])

    def _squares(self, products: FloatArray) -> FloatArray:
        """Sums (S, Q) of the squares of y, from products with the residuals of the pilot."""
        pilot = self.systems.pilot
        d = len(pilot)
        rest = np.diagonal(products[:, d:, d:], axis1=1, axis2=2)
        of_y = 2 * products[:, :d, d:] + products[:, :d, :d] @ pilot
        return np.asarray(rest + np.einsum("dq,sdq->sq", pilot, of_y))

    def _scores(self, gammas: FloatArray, scored: FloatArray) -> tuple[FloatArray, bool]:
        """Scores (F, C) of candidates (F, C, d, Q) in the splits, and whether they have kept their digits."""
        pilot, name = self.systems.pilot, self.model.search.score.name
        d = len(pilot)
        steps, G, g = gammas - pilot, scored[:, :d, :d], scored[:, :d, d:]
        rest = np.diagonal(scored[:, d:, d:], axis1=1, axis2=2)[:, None]
        curved = np.einsum("fde,fceq->fcdq", G, steps) - 2 * g[:, None]
        squares = rest + np.einsum("fcdq,fcdq->fcq", steps, curved)
        n = G[:, d - 1, d - 1][:, None, None]
        sums = (g[:, d - 1] + (G @ pilot)[:, d - 1])[:, None]
        is_certain = bool((squares > CANCELS * rest).all())
        if name == "r2":
            total = self._squares(scored)[:, None]
            spread = total - np.square(sums) / n
            is_certain &= bool((spread > CANCELS * total).all()) and bool((n >= 2).all())
            return np.asarray((1.0 - squares / np.where(spread > 0, spread, np.nan)).mean(axis=2)), is_certain
        errors = squares / n
        return -(np.sqrt(errors) if name == SCORES[2] else errors).mean(axis=2), is_certain

    def _agree(self, gammas: FloatArray, whole: FloatArray) -> bool:
        """Whether candidates (C, d, Q) that may all be the best predict the same, as a root mean square over rows."""
        d = gammas.shape[1]
        apart = gammas - gammas[:1]
        size = np.einsum("cdq,de,ceq->cq", apart, whole[:d, :d], apart)
        return bool((size <= AGREED**2 * self._squares(whole[None])).all())


def refuse_iterated(learner: SearchedGLM, problem: Problem, names: tuple[str, ...]) -> Refusal:
    """Why a search among models that iterate is not for tables."""
    remedy = f"see all of them by error_curve(..., param_name=, param_range=), or {IN_MEMORY}"
    return Refusal("every training set would iterate all candidates in each of its splits", remedy)


def searched_model(learner: SearchedLearner, problem: Problem, names: tuple[str, ...]) -> SearchedModel | Refusal:
    """A search that was made of some rows as one for all rows of a table, or why that cannot be."""
    splitter = learner.splitter
    if type(splitter) is not KFold or splitter.shuffle or learner.groups_inside is not None:
        return Refusal(f"{type(splitter).__name__} inside it does not split by consecutive rows", CONSECUTIVE)
    if learner.score.classes is not None or learner.score.name not in SCORES:
        remedy = f"score by one of {', '.join(SCORES)}, or {IN_MEMORY}"
        return Refusal(f"sums over rows do not tell {learner.score.name} inside it", remedy)
    if learner.weights is not None:
        return Refusal("weights change its splits and scores inside", f"leave them out, or {IN_MEMORY}")
    encoder = encoder_of(learner.fixed, names)
    if isinstance(encoder, Refusal):
        return encoder
    blocks = [group.encoding.block for group in learner.groups]
    return check_steps(learner.fixed, blocks) or SearchedModel(learner, names, encoder)
