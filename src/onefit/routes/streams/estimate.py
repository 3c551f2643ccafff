"""What models that iterate will take of a table: passes, bytes and time, said before they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .glm import GLMModel
from .glmfit import MOST_PASSES, expected_passes
from .models import StreamedModel
from .rows import RowReader

__all__ = ["PassEstimate", "estimate_passes"]

NUMBER, PREDICTOR, PRODUCT = 2e-8, 5e-9, 1.2e-10
"""Seconds of one thread to read a number, for a linear predictor and its function, and for a product of two numbers."""


@dataclass(frozen=True)
class PassEstimate:
    """About how many passes, at most how many, bytes of the columns that each reads, as doubles, and seconds of all.

    The seconds are those of one thread of a machine of 2024, as far as storage keeps up.
    """

    passes: int
    most: int
    bytes: float
    seconds: float

    @property
    def words(self) -> str:
        """For people."""
        size = f"{self.bytes / 1e9:.1f} GB" if self.bytes >= 1e9 else f"{max(1.0, self.bytes / 1e6):.0f} MB"
        return f"about {self.passes} passes over the rows, at most {self.most}, of {size} each"


def estimate_passes(
    models: Sequence[StreamedModel], reader: RowReader, n_rows: int, n_repeats: int
) -> PassEstimate | None:
    """None if no model iterates."""
    iterated = [model for model in models if isinstance(model, GLMModel)]
    if not iterated:
        return None
    K, columns = reader.deal.n_folds, len(reader.columns)
    passes, each = 2 + sum(map(expected_passes, iterated)), 0.0
    for model in iterated:
        P, c = model.glm.family.basis.shape
        q, V = model.n_columns, model.n_values
        sets = n_repeats * V * K * (K + 1) // 2
        by_folds = V * (3e-7 + 2 * n_repeats * (c * q) ** 2 * PRODUCT)
        by_sets = sets * P * (PREDICTOR + 2 * q * PRODUCT)
        each += 3 * by_folds + (expected_passes(model) - 2) * by_sets
    seconds = n_rows * (passes * columns * NUMBER + each)
    return PassEstimate(passes, 2 + MOST_PASSES * len(iterated), 8.0 * n_rows * columns, seconds)
