"""The three ways in which a loss is shown."""

from __future__ import annotations

from .contract import Shown

__all__ = ["AS_LOSS", "NEGATED", "ONE_MINUS"]

AS_LOSS = Shown()
"""The loss itself, smaller is better."""

NEGATED = Shown(-1, 0.0)
"""Minus the loss, as scikit-learn's ``neg_`` names."""

ONE_MINUS = Shown(-1, 1.0)
"""One minus the loss: accuracy, r2, areas."""
