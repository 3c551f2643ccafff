"""The paper's Proposition 1 as written: H once, then a system of I - H for each fold and each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cases import Case
from .refits import design_and_penalty
from .sweep import HeldOut

__all__ = ["literal"]


def literal(case: Case) -> HeldOut:
    """Residuals without the rows J: (I - H)_JJ^-1 (y - Hy)_J."""
    design, penalty = design_and_penalty(case.X, case.alphas[case.checked])
    hat = design @ np.linalg.solve(design.T @ design + penalty, design.T)
    operator = np.eye(len(case.y)) - hat
    residual = case.y - hat @ case.y

    def held_out(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.linalg.solve(operator[np.ix_(rows, rows)], residual[rows])

    return held_out
