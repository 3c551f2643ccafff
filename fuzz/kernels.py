"""Kernel matrices of scikit-learn's kernels, in balls."""

from __future__ import annotations

import numpy as np
from flint import arb, arb_mat

from .balls import as_balls
from .models import Model

__all__ = ["kernel_matrix"]


def kernel_matrix(model: Model) -> arb_mat:
    """The kernel of all rows, as its entries are or with a rounding error in each."""
    K = _kernel(model)
    if model.kernel_copy is None:
        return K
    n = K.nrows()
    up = np.random.default_rng(model.kernel_copy).random((n, n)) < 0.5
    errors = np.where(np.triu(up) | np.triu(up, 1).T, 1 + 2.0**-52, 1 - 2.0**-52)
    return arb_mat([[K[i, j] * arb(float(errors[i, j])) for j in range(n)] for i in range(n)])


def _kernel(model: Model) -> arb_mat:
    """Without a kernel, the inner products of the rows."""
    X = as_balls(model.X)
    if model.kernel == "precomputed":
        return X
    products = X * X.transpose()
    n, gamma = model.X.shape[0], arb(1.0 / model.X.shape[1])  # scikit-learn's default, in double precision
    if model.kernel == "poly":
        return arb_mat([[(gamma * products[i, j] + 1) ** 3 for j in range(n)] for i in range(n)])
    if model.kernel == "rbf":
        squares = [products[i, i] for i in range(n)]
        return arb_mat(
            [[_gauss(gamma, squares[i] + squares[j] - 2 * products[i, j]) for j in range(n)] for i in range(n)]
        )
    return products


def _gauss(gamma: arb, square: arb) -> arb:
    return (-gamma * square).exp()
