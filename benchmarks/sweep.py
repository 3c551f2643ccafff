"""From held-out residuals to e_in and e_out, one training set at a time, as far as a budget of seconds goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeldOut", "Sample", "sample"]

HeldOut = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Residuals at the given rows of the fit that does without them."""


@dataclass
class Sample:
    """Fold errors of the folds that were reached in one partition, and the seconds that all would take.

    ``e_in[j]`` needs fold j alone and with every other fold; ``e_out[j]`` needs it alone.
    """

    n_folds: int
    preparation: float
    e_in: dict[int, float] = field(default_factory=dict)
    e_out: dict[int, float] = field(default_factory=dict)
    singles: list[float] = field(default_factory=list)
    pairs: list[float] = field(default_factory=list)

    def seconds(self, n_repeats: int, n_values: int = 1) -> float:
        """What ``n_repeats`` whole partitions at ``n_values`` penalties would take, by proportion."""
        K = self.n_folds
        repeat = K * float(np.mean(self.singles)) + K * (K - 1) / 2 * float(np.mean(self.pairs))
        return n_values * (self.preparation + n_repeats * repeat)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.preparation + sum(self.singles) + sum(self.pairs)


def sample(prepare: Callable[[], HeldOut], ids: NDArray[np.intp], budget: float) -> Sample:
    """Hold out fold 0, then it and each other fold, then fold 1 and so on, for about ``budget`` seconds."""
    members = [np.flatnonzero(ids == j) for j in range(int(ids.max()) + 1)]
    start = time.process_time()
    held_out = prepare()
    found = Sample(len(members), time.process_time() - start)
    for j, rows in enumerate(members):
        loss, seconds = _timed(held_out, rows)
        found.e_out[j] = float(np.mean(loss))
        found.singles.append(seconds)
        total = 0.0
        for k, others in enumerate(members):
            if k == j:
                continue
            loss, seconds = _timed(held_out, np.concatenate([rows, others]))
            total += float(loss[len(rows) :].sum())
            found.pairs.append(seconds)
            if found.spent > budget and len(found.pairs) < len(members) - 1:
                return found
        found.e_in[j] = total / (len(ids) - len(rows))
        if found.spent > budget:
            return found
    return found


def _timed(held_out: HeldOut, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], float]:
    """Squared residuals, and the seconds that they took."""
    start = time.process_time()
    loss = held_out(rows) ** 2
    return loss, time.process_time() - start
