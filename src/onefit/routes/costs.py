"""What the work of a route takes: measured nanoseconds a unit, and the sizes that the units are counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..linalg import compiled

__all__ = ["NANOSECONDS", "Shape", "seconds_of"]

# Nanoseconds for one unit of each term of `work`, as `python -m benchmarks --calibrate` fits them to measured times:
# with the compiled kernels, and without. Another machine changes all of them, and the choice hangs on their ratios.
# Those of leave two out are set by hand from seven shapes of 30 to 3,000 rows: where it can serve it has no rival.
NANOSECONDS: Mapping[bool, Mapping[str, Mapping[str, float]]] = {
    True: {
        "gram": {
            "call": 3.82e06,
            "decomposition": 0.512,
            "gram matrices": 0.0227,
            "gathered rows": 40.3,
            "factorizations": 0.0105,
            "substitutions": 0.853,
            "eigendecompositions": 0.741,
            "rotations": 0.606,
            "systems": 269,
            "training sets": 584,
            "refits": 0.0494,
            "predictions": 0.228,
            "losses": 0.888,
            "values and rows": 240,
            "values": 469000,
        },
        "onestep": {
            "call": 3.19e06,
            "decompositions": 0.414,
            "operators": 0.0287,
            "entries": 4.81,
            "products": 0.0227,
            "values and rows": 1770,
            "values": 1.14e06,
            "eliminations, compiled": 0.0853,
            "systems, compiled": 193,
            "eliminations, LAPACK": 0.262,
            "gathered blocks, LAPACK": 0.37,
            "losses, LAPACK": 37.2,
            "systems, LAPACK": 192000,
        },
        "leavetwo": {"call": 3.1e06, "decompositions": 0.414, "operators": 0.0287, "pairs": 2.0},
    },
    False: {
        "gram": {
            "call": 4.3e06,
            "decomposition": 0.415,
            "gram matrices": 0.0227,
            "gathered rows": 38.7,
            "factorizations": 0.00758,
            "substitutions": 16.9,
            "eigendecompositions": 0.341,
            "rotations": 4.05,
            "systems": 688,
            "training sets": 1030,
            "refits": 0.0358,
            "predictions": 0.213,
            "losses": 3.84,
            "values and rows": 294,
            "values": 426000,
        },
        "onestep": {
            "call": 3.24e06,
            "decompositions": 0.516,
            "operators": 0.0227,
            "entries": 7.07,
            "products": 0.0227,
            "folds": 117000,
            "values": 1.58e06,
            "eliminations, LAPACK": 0.169,
            "gathered blocks, LAPACK": 25.2,
            "losses, LAPACK": 370,
            "systems, LAPACK": 286,
        },
        "leavetwo": {"call": 3.1e06, "decompositions": 0.516, "operators": 0.0287, "pairs": 9.0},
    },
}


@dataclass(frozen=True)
class Shape:
    """Sizes of a job: n rows, p columns, K folds, L repeats, V values, and m rows in the largest fold."""

    n: int
    p: int
    K: int
    L: int
    V: int
    m: float

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
