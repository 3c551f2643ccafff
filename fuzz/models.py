"""A problem as the mathematics has it: penalized least squares in a design or a kernel, one or several penalties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Arrays
from .problems import Problem

__all__ = ["Model", "model_of"]


@dataclass(frozen=True)
class Model:
    """``min sum w (y - c - x'b)^2 + lam b'Sb``, or a kernel in place of the columns.

    Attributes
    ----------
    Y : (n, Q), for classes the codes -1 and 1
    penalty : S, None is the identity
    is_scaled : whether S is the diagonal of the columns' variances in the training set (StandardScaler before ridge)
    kernel : "" or the kernel's name, with scikit-learn's default parameters
    candidates : the penalties (Q,) of each model that is asked for
    grid : penalties to choose from by leave-one-out in each training set; empty if there is no choice
    chooses_by_output : whether each output has its own choice
    groups : (n,) numbers of the groups, or None
    kernel_copy : if not None, which entries of the kernel are moved up and which down in their last bit
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray | None
    fit_intercept: bool
    penalty: np.ndarray | None
    is_scaled: bool
    kernel: str
    candidates: tuple[tuple[float, ...], ...]
    grid: tuple[float, ...]
    chooses_by_output: bool
    loss: str
    groups: np.ndarray | None = None
    kernel_copy: int | None = None

    @property
    def n_outputs(self) -> int:
        """Columns of Y."""
        return int(self.Y.shape[1])


def model_of(problem: Problem, arrays: Arrays) -> Model:
    """The mathematics of a problem."""
    Y = _codes(arrays.y) if problem.model == "classifier" else arrays.y.reshape(problem.n, -1)
    Q, alphas = Y.shape[1], problem.alphas
    if problem.per_output:
        candidates: tuple[tuple[float, ...], ...] = (alphas,)
    elif problem.kind == "tuned":
        candidates = ((),)
    else:
        candidates = tuple((alpha,) * Q for alpha in alphas)
    return Model(
        X=arrays.X,
        Y=Y,
        weights=arrays.weights,
        fit_intercept=problem.fit_intercept,
        penalty=arrays.penalty,
        is_scaled="scaled" in (problem.model, problem.variant),
        kernel=problem.kernel,
        candidates=candidates,
        grid=alphas if problem.kind == "tuned" else (),
        chooses_by_output=problem.variant == "per target",
        loss=problem.loss,
        groups=None if arrays.groups is None else np.unique(arrays.groups, return_inverse=True)[1],
    )


def _codes(labels: np.ndarray) -> np.ndarray:
    """One column for two classes, else one for each."""
    classes = np.unique(labels)
    codes = np.where(labels[:, None] == classes, 1.0, -1.0)
    return codes[:, 1:] if len(classes) == 2 else codes
