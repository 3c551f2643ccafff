"""The libraries that people would take instead, on the same data and folds, in the same run.

One file a family: partial least squares (`pls`), lasso (`lasso`), many outputs (`outputs`), areas under ROC curves
(`areas`), nested cross-validation itself (`nested`). Only the last leaves out pairs of folds; the others give less than
onefit, and each line says what. What both have, such as the held-out error of every fold, must agree, or the benchmark
stops. Peers come with the extra ``benchmarks`` of pyproject.toml, those in R with ``Rscript`` and their packages; what
is absent is left out by name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from . import areas, lasso, nested, outputs, pls
from .line import HEAD, Absent, PeerLine

__all__ = ["HEAD", "PeerLine", "peer_lines"]

FAMILIES = (pls.peers, lasso.peers, outputs.peers, areas.peers, nested.peers)


def peer_lines(quick: bool, budget: float) -> Iterator[PeerLine]:
    """Every peer that is installed; for the others a line on standard error."""
    for family in FAMILIES:
        for measure in family(quick, budget):
            try:
                yield measure()
            except Absent as absent:
                print(absent, file=sys.stderr, flush=True)
