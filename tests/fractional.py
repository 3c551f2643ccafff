"""Linear systems in fractions, which lose no digit; python-flint solves them."""

from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat


def solved(system):
    """The solution x of A x = b as an array of fractions, from the fractions [A, b] of a regular A."""
    n = len(system)
    A, b = (
        fmpq_mat(n, part.shape[1], [fmpq(each.numerator, each.denominator) for each in part.ravel()])
        for part in (system[:, :n], system[:, n:])
    )
    return np.array([Fraction(int(each.p), int(each.q)) for each in A.solve(b).entries()])
