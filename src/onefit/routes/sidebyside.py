"""Tables of several engines on the same folds, one after the other on the axis of parameter values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ..dropfolds import DropFolds
from ..errors import OneFitError
from ..folds import Folds
from ..inference.fold_errors import Failure, HeldOut, PairErrors, RowRoles, moments
from .contract import Engine

__all__ = ["SideBySideEngines", "joined_pairs", "joined_singles"]


class SideBySideEngines:
    """Engines on the same folds, of which one that fails does not take the others with it.

    Where it fails it has zeros, and a failure at each of its values; if there is no other engine, it raises.
    """

    def __init__(self, engines: Sequence[Engine], rows: RowRoles, n_outputs: int, n_losses: int) -> None:
        self._rows = rows
        self._engines, self._n_outputs, self._n_losses = list(engines), n_outputs, n_losses
        self._is_lost = [False] * len(self._engines)

    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """Losses with two folds out, of all engines."""
        return joined_pairs([self._pairs(at, folds) for at in range(len(self._engines))])

    def singles(self, folds: Folds) -> HeldOut:
        """Rows with their own fold out, of all engines."""
        return joined_singles([self._singles(at, folds) for at in range(len(self._engines))])

    def _pairs(self, at: int, folds: Folds) -> PairErrors[HeldOut]:
        engine = self._engines[at]
        if len(self._engines) == 1:
            return pairs_of(engine, folds, self._rows)
        if self._is_lost[at]:
            engine.tick(engine.n_units(folds.n_folds, folds.n_repeats, True))
            return self._no_pairs(at, folds, [])
        try:
            return pairs_of(engine, folds, self._rows)
        except OneFitError as error:
            if folds.n_repeats > 1:  # which repeats share a block must not matter
                return _one_after_another([self._pairs(at, part) for part in _single_repeats(folds)])
            return self._no_pairs(at, folds, self._failures(at, folds, error))

    def _singles(self, at: int, folds: Folds) -> HeldOut:
        engine = self._engines[at]
        if len(self._engines) == 1:
            return engine.singles(folds)
        if self._is_lost[at]:
            return self._no_singles(at, folds, [])
        try:
            return engine.singles(folds)
        except OneFitError as error:
            if folds.n_repeats > 1:
                return _rows_one_after_another([self._singles(at, part) for part in _single_repeats(folds)])
            return self._no_singles(at, folds, self._failures(at, folds, error))

    def _failures(self, at: int, folds: Folds, error: OneFitError) -> list[Failure]:
        """All values of an engine; one that is refitted, repeat by repeat, is not tried again."""
        self._is_lost[at] = self._engines[at].is_refitted
        return [Failure(folds.first, (), value, error) for value in range(self._engines[at].n_values)]

    def _no_singles(self, at: int, folds: Folds, failures: list[Failure]) -> HeldOut:
        shape = (folds.n_repeats, folds.n, self._engines[at].n_values)
        never = np.where(folds.ids < 0, np.nan, 0.0)[:, :, None, None]
        residuals, losses = (np.zeros((*shape, width)) + never for width in (self._n_outputs, self._n_losses))
        return HeldOut(residuals, losses, failures)

    def _no_pairs(self, at: int, folds: Folds, failures: list[Failure]) -> PairErrors[HeldOut]:
        K = folds.n_folds
        tables = np.zeros((2, folds.n_repeats, K, K, self._engines[at].n_values, self._n_losses))
        return PairErrors(self._no_singles(at, folds, failures), *tables)


def _single_repeats(folds: Folds) -> list[Folds]:
    return [folds.part(repeat, repeat + 1) for repeat in range(folds.n_repeats)]


def _rows_one_after_another(parts: Sequence[HeldOut]) -> HeldOut:
    """Tables of consecutive repeats."""
    residuals, losses = (np.concatenate([getattr(each, name) for each in parts]) for name in ("residuals", "losses"))
    return HeldOut(residuals, losses, [failure for each in parts for failure in each.failures])


def _one_after_another(parts: Sequence[PairErrors[HeldOut]]) -> PairErrors[HeldOut]:
    """Tables of consecutive repeats."""
    single = _rows_one_after_another([part.single for part in parts])
    return PairErrors(
        single, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "scatter"))
    )


def pairs_of(engine: Engine, folds: Folds, rows: RowRoles) -> PairErrors[HeldOut]:
    """What an engine makes of some folds; where no pairs are fitted, a second fold out changes nothing."""
    if not isinstance(folds, DropFolds) or folds.has_pairs:
        return engine.pairs(folds)
    single = engine.singles(folds)
    K, losses = folds.n_folds, rows.weigh(single.losses[0])
    mean, scatter = np.empty((2, 1, K, K, *losses.shape[1:]))
    for fold in range(K):
        own = losses[folds.members[0, fold, : folds.sizes[0, fold]]]
        flat = own.reshape(len(own), -1)
        found = moments(flat, np.ones((len(own), 1), dtype=bool))
        mean[0, fold], scatter[0, fold] = (each.reshape(losses.shape[1:]) for each in found)
    return PairErrors(single, mean, scatter)


def joined_pairs(parts: Sequence[PairErrors[HeldOut]]) -> PairErrors[HeldOut]:
    """Losses with two folds out."""
    if len(parts) == 1:
        return parts[0]
    return PairErrors(
        joined_singles([part.single for part in parts]),
        np.concatenate([part.mean for part in parts], axis=3),
        np.concatenate([part.scatter for part in parts], axis=3),
    )


def joined_singles(parts: Sequence[HeldOut]) -> HeldOut:
    """Rows with their own fold out."""
    if len(parts) == 1:
        return parts[0]
    starts = accumulate((part.losses.shape[2] for part in parts), initial=0)
    return HeldOut(
        np.concatenate([part.residuals for part in parts], axis=2),
        np.concatenate([part.losses for part in parts], axis=2),
        [
            failure._replace(value=start + failure.value)
            for start, part in zip(starts, parts, strict=False)
            for failure in part.failures
        ],
    )
