"""The paper's Proposition 1 as written: H once, then a system of I - H for each fold and each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .refits import design_and_penalty
from .sweep import HeldOut

__all__ = ["literal"]


def literal(X: NDArray[np.float64], y: NDArray[np.float64], lam: float) -> HeldOut:
    """Residuals without the rows J: (I - H)_JJ^-1 (y - Hy)_J."""
    design, penalty = design_and_penalty(X, lam)
    hat = design @ np.linalg.solve(design.T @ design + penalty, design.T)
    operator = np.eye(len(y)) - hat
    residual = y - hat @ y

    def held_out(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.linalg.solve(operator[np.ix_(rows, rows)], residual[rows])

    return held_out
