"""Rows that follow one another: the columns that say so, and the folds that go with them, with the Python for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        wrong = [name for name in names if not pd.api.types.is_numeric_dtype(table[name].dtype)]
        if wrong:
            raise DataError(f"--coords: column {wrong[0]!r} must hold a number in every row; correct it.")
        return Ordering(coords=table[names], code=(f"coords = table[{names!r}]",))
    if roles.order is None:
        return Ordering()
    values, code = table[roles.order], f"order = table[{roles.order!r}]"
    if pd.api.types.is_string_dtype(values.dtype) or values.dtype == object:
        try:
            values = pd.to_datetime(values)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"--order: column {roles.order!r} holds neither numbers nor dates ({error}); correct it."
            ) from error
        code = f"order = pd.to_datetime(table[{roles.order!r}])"
    return Ordering(order=values, code=(code,))
