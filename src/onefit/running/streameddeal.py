"""Which folds the rows of a table are dealt to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_integer
from ..dealing import DealtClasses, DealtGroups, DealtRows
from ..errors import DataError, FoldError
from ..givenfolds import explicit_folds
from ..routes.streams import (
    ClassDeal,
    Deal,
    GivenFolds,
    GroupDeal,
    RowDeal,
)
from ..routes.streams.survey import Survey
from ..rowvalues import check_group_sizes
from ..typing import IntArray
from .settings import Settings
from .streamedmodels import TableRoles

__all__ = ["deal_classes", "deal_rows", "groups_of"]

DEFAULT_FOLDS = 10
MOST_FOLDS = 200
MOST_REPEATS = 1000


def groups_of(found: Survey, roles: TableRoles, n: int) -> tuple[Any, IntArray] | None:
    """All groups in sorted order and how many rows each has, checked; None if there are none."""
    if roles.groups is None:
        return None
    names, counts = found.counted(roles.groups)
    check_group_sizes(names, counts, n)
    return names, counts


def deal_rows(settings: Settings, n: int, entropy: int, counts: IntArray | None) -> tuple[Deal, int | None]:
    """Folds, and how many repeats; None is "auto"."""
    units, what = (n, "rows") if counts is None else (len(counts), "groups")
    if n < 3:
        raise DataError(f"There are only {n} rows; nested cross-validation needs at least 3.")
    is_auto = isinstance(settings.n_repeats, str) and settings.n_repeats == "auto"
    L = None if is_auto else check_integer("n_repeats", settings.n_repeats, 1, MOST_REPEATS, ', or "auto"')
    if settings.folds is not None:
        return _given(settings.folds, n, L)
    K = min(DEFAULT_FOLDS, units)
    if not isinstance(settings.n_folds, str):
        K = check_integer("n_folds", settings.n_folds, 3, min(units, MOST_FOLDS), f" (of {units} {what})")
    elif settings.n_folds != "auto":
        raise FoldError(f'n_folds={settings.n_folds!r} must be a number from 3 to {MOST_FOLDS}, or "auto".')
    if counts is None:
        return RowDeal(DealtRows(n, K, entropy)), L
    return GroupDeal(DealtGroups(tuple(counts.tolist()), K, entropy)), L


def deal_classes(found: Survey, y: str, n_folds: int, entropy: int, rows: Sequence[int]) -> ClassDeal:
    """Folds that spread every class evenly, from how many rows of each the fragments have."""
    names, totals = found.counted(y)
    each = np.array(
        [[part[y].get(name, 0) if y in part else 0 for name in names.tolist()] for part in found.by_fragment]
    )
    before = np.cumsum(each, axis=0) - each
    starts = np.cumsum(rows) - np.asarray(rows)
    return ClassDeal(DealtClasses(tuple(totals.tolist()), n_folds, entropy), starts, before)


def _given(folds: Any, n: int, L: int | None) -> tuple[Deal, int]:
    if hasattr(folds, "split"):
        raise FoldError(
            "Splitters need the rows in memory; give ids of folds by folds=, a number by n_folds=, or use "
            "table.sample(n, random_state)."
        )
    given = explicit_folds(folds, n)
    if (given.ids < 0).any():
        raise FoldError("folds has rows that are in no fold (-1), which tables do not have; leave them out.")
    if L is not None and given.n_repeats != L:
        raise FoldError(f"folds has {given.n_repeats} repeats and n_repeats={L}; leave it out or let them agree.")
    return GivenFolds(given.ids, given.n_folds), given.n_repeats
