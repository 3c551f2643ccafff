"""What the work of a route takes: measured nanoseconds a unit, and the sizes that the units are counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..linalg import compiled

__all__ = ["CALL", "NANOSECONDS", "Shape", "ratio_text", "seconds_of"]

CALL = 4e-3
"""Seconds of a job that has nearly nothing to compute. Routes whose costs stand beside them begin with that; they are
set by hand to what ``python -m benchmarks --plan-models`` measures.
"""


# Nanoseconds for one unit of each term of `work`, as `python -m benchmarks --calibrate` fits them to measured times:
# with the compiled kernels, and without. Another machine changes all of them, and the choice hangs on their ratios.
# Those of leave two out are set by hand from seven shapes of 30 to 3,000 rows: where it can serve it has no rival.
# Those of outputs beyond the first are set by hand, too, from one shape: 500 x 200 with 1,000 outputs.
NANOSECONDS: Mapping[bool, Mapping[str, Mapping[str, float]]] = {
    True: {
        "gram": {
            "call": 2.29e06,
            "decomposition": 0.507,
            "gram matrices": 0.0185,
            "gathered rows": 3.04,
            "factorizations": 0.00712,
            "substitutions": 0.29,
            "eigendecompositions": 0.278,
            "rotations": 3.14,
            "systems": 111,
            "training sets": 6.19,
            "refits": 0.0348,
            "predictions": 0.142,
            "values and rows": 90.1,
            "values": 2.94e05,
            "outputs": 0.22,
            "streamed products": 0.0629,
            "streamed rows": 5.89,
            "streamed predictions": 0.209,
        },
        "onestep": {
            "call": 1.93e06,
            "decompositions": 0.322,
            "operators": 0.0229,
            "entries": 2.34,
            "products": 0.0185,
            "values and rows": 523,
            "values": 8.06e05,
            "outputs": 0.85,
            "eliminations, compiled": 0.0943,
            "systems, compiled": 110,
            "eliminations, LAPACK": 0.222,
            "systems, LAPACK": 2.96e05,
        },
        "leavetwo": {"call": 1.9e06, "decompositions": 0.322, "operators": 0.0229, "pairs": 1.2},
    },
    False: {
        "gram": {
            "call": 2.83e06,
            "decomposition": 0.353,
            "gram matrices": 0.0185,
            "gathered rows": 7.87,
            "factorizations": 0.00617,
            "substitutions": 10.4,
            "eigendecompositions": 0.278,
            "rotations": 3.21,
            "systems": 342,
            "training sets": 80.2,
            "refits": 0.0347,
            "predictions": 0.179,
            "losses": 2.1,
            "values and rows": 98.8,
            "values": 2.77e05,
            "outputs": 0.22,
            "streamed products": 0.0677,
            "streamed rows": 5.58,
            "streamed predictions": 0.208,
        },
        "onestep": {
            "call": 2.22e06,
            "decompositions": 0.344,
            "operators": 0.0185,
            "entries": 2.39,
            "folds": 4.49e04,
            "values and rows": 139,
            "values": 8.98e05,
            "outputs": 0.85,
            "eliminations, LAPACK": 0.152,
            "gathered blocks, LAPACK": 21.9,
            "losses, LAPACK": 147,
            "systems, LAPACK": 274,
        },
        "leavetwo": {"call": 1.9e06, "decompositions": 0.344, "operators": 0.0229, "pairs": 5.4},
    },
}


@dataclass(frozen=True)
class Shape:
    """Sizes of a job: n rows, p columns, K folds, L repeats, V values, m rows in the largest fold, and Q outputs."""

    n: int
    p: int
    K: int
    L: int
    V: int
    m: float
    Q: int = 1

    @property
    def q(self) -> int:
        """Columns after rotation: at most n."""
        return min(self.p, self.n)

    @property
    def fits(self) -> float:
        """Training sets of a repeat."""
        return self.K * (self.K + 1) / 2

    @property
    def pairs(self) -> float:
        """Training sets without two folds."""
        return self.K * (self.K - 1) / 2

    @property
    def refit_flops(self) -> float:
        """Operations of refits that compute X'X each time."""
        return self.L * self.V * self.fits * (self.n * self.p**2 + self.p**3 / 3)


def seconds_of(route: str, terms: Mapping[str, float]) -> float:
    """Estimated seconds of a route's units of work, with the compiled kernels or without them."""
    costs = NANOSECONDS[compiled.is_on()][route]
    return 1e-9 * sum(costs.get(term, 0.0) * amount for term, amount in terms.items())


def ratio_text(ratio: float) -> str:
    """How many times, with two digits: no estimate of a cost is better than that."""
    return f"{float(f'{ratio:.2g}'):,g}" if ratio < 1e6 else "more than a million"
