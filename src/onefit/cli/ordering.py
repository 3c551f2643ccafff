"""Rows that follow one another: the columns that say so, and the folds that go with them, with the Python for both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError
from ..neighbourhoods import RollingOrigin, SpaceBlocks, TimeBlocks
from .options import Roles

__all__ = ["Ordering", "read_ordering"]


@dataclass(frozen=True)
class Ordering:
    """Times or places of the rows.

    Attributes
    ----------
    order : Series or None
    coords : DataFrame or None
    code : tuple of str
        Lines of Python that make them of ``table``.
    """

    order: pd.Series[Any] | None = None
    coords: pd.DataFrame | None = None
    code: tuple[str, ...] = ()

    def folds(
        self, ahead: int | None, n_blocks: int | str
    ) -> tuple[TimeBlocks | SpaceBlocks | RollingOrigin, str] | None:
        """The folds, and the Python that makes them; None if rows are not said to follow one another."""
        order = "" if self.order is None else "order=order"
        count = f"n_blocks={n_blocks}" if isinstance(n_blocks, int) else ""
        if ahead is not None:
            kind, arguments = "RollingOrigin", [str(ahead), order]
        elif self.coords is not None:
            kind, arguments = "SpaceBlocks", [count, "coords=coords"]
        elif self.order is not None:
            kind, arguments = "TimeBlocks", [count, order]
        else:
            return None
        code = f"{kind}({', '.join(each for each in arguments if each)})"
        names = {"TimeBlocks": TimeBlocks, "SpaceBlocks": SpaceBlocks, "RollingOrigin": RollingOrigin}
        return eval(code, {**names, "order": self.order, "coords": self.coords}), f"onefit.{code}"


def read_ordering(table: pd.DataFrame, roles: Roles) -> Ordering:
    """The columns that are named; text is read as dates."""
    if roles.coords is not None:
        names = list(roles.coords)
        wrong = [name for name in names if not _holds_numbers(table[name])]
        if wrong:
            which = f"column{'s' if len(wrong) > 1 else ''} {' and '.join(map(repr, wrong))}"
            raise DataError(f"--coords: {which} must hold a number in every row; correct what is wrong.")
        return Ordering(coords=table[names], code=(f"coords = table[{names!r}]",))
    if roles.order is None:
        return Ordering()
    values, code = table[roles.order], f"order = table[{roles.order!r}]"
    missing = int(values.isna().sum())
    if missing:
        raise DataError(
            f"--order: column {roles.order!r} is missing in {missing} row(s): it is not known where they belong; "
            "remove these rows."
        )
    if pd.api.types.is_string_dtype(values.dtype) or values.dtype == object:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that texts have no common format, of which the error speaks
                values = pd.to_datetime(values)
        except (ValueError, TypeError) as error:
            why = str(error).partition(". ")[0]  # what follows are arguments of pandas
            raise DataError(
                f"--order: column {roles.order!r} holds neither numbers nor dates ({why}); correct it."
            ) from error
        code = f"order = pd.to_datetime(table[{roles.order!r}])"
    return Ordering(order=values, code=(code,))


def _holds_numbers(values: pd.Series[Any]) -> bool:
    """Whether there is a finite number in every row."""
    if not pd.api.types.is_numeric_dtype(values.dtype) or values.isna().any():
        return False
    return bool(np.isfinite(values.to_numpy(float)).all())
