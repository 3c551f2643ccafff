"""A table -> X, y, groups and weights, with the Python that does the same."""

from __future__ import annotations

import pprint
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import DataError
from ..rowvalues import check_groups
from ..typing import BoolArray, FloatArray, IntArray
from .columns import Column, read_column
from .options import Roles
from .ordering import Ordering, read_ordering
from .problems import Problems
from .roles import MOST_NAMED, check_roles, listed

__all__ = ["TAKE_TEXT", "Prepared", "prepare", "wrapped"]

TextArray: TypeAlias = npt.NDArray[np.str_]

TargetArray: TypeAlias = FloatArray | TextArray | IntArray | BoolArray

TAKE_TEXT = ("ridge", "ols", "lasso", "kernel", "logistic", "poisson", "gamma")
"""Models before which scikit-learn's encoder stands, so that text is left as it is."""

_BLANK = ": if blank means no (or zero), fill it in"


@dataclass(frozen=True)
class Prepared:
    """What the library gets.

    Attributes
    ----------
    X : DataFrame
        Encoded; or with its categories as text, if ``is_encoded`` is False.
    y, groups, weights : arrays
    columns : tuple of Column
        Those that are used, in the order of the table.
    code : tuple of str
        Lines of Python that make X, y, groups and weights of ``table``.
    notes : tuple of str
    rarest : tuple, optional
        The category and level that fewest rows have, and how many.
    ordering : Ordering
        Times or places of the rows, if they follow one another.
    is_streamed : bool
        Whether X is a table whose rows stay where they are; y, groups and weights are then names.
    """

    X: pd.DataFrame
    y: TargetArray
    groups: TextArray | None
    weights: FloatArray | None
    columns: tuple[Column, ...]
    code: tuple[str, ...]
    notes: tuple[str, ...]
    is_encoded: bool
    has_classes: bool
    rarest: tuple[str, str, int] | None = None
    ordering: Ordering = field(default_factory=Ordering)
    is_streamed: bool = False

    @property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers."""
        return [column.name for column in self.columns if column.kind == "number"]

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Levels of the categorical columns."""
        return {column.name: column.levels for column in self.columns if column.kind == "category"}

    @property
    def is_incomplete(self) -> bool:
        """Whether values are missing, and to be imputed."""
        return any(column.n_missing for column in self.columns)


def prepare(table: pd.DataFrame, roles: Roles, keeps_categories: bool = False) -> Prepared:
    """Check every column and take what is needed; ``keeps_categories`` leaves the encoding to steps."""
    problems = Problems()
    roles = check_roles(table, roles, problems)
    table, code, notes = _drop_rows(table, roles, problems)
    table = _as_text(table, roles, code)
    target = problems.tried(_read_target, table, roles, notes)
    _note_copies(table, roles, notes)
    columns = _read_columns(table, roles, notes, problems)
    last: list[str] = []
    groups = problems.tried(_read_groups, table, roles, last)
    weights = problems.tried(_read_weights, table, roles, last)
    ordering = problems.tried(read_ordering, table, roles)
    problems.refuse()
    assert target is not None
    assert ordering is not None
    y, line, has_classes = target
    code.append(line)
    X, categories = _typed(table, columns, code)
    rarest = _rarest(X, categories)
    # steps before more columns than rows have no fast route, and dummies have
    incomplete = any(column.n_missing for column in columns)
    is_encoded = not incomplete and (not keeps_categories or len(columns) > len(X))
    if categories and is_encoded:
        X = _with_dummies(X, categories, code, notes)
    lines, told = (*code, *last, *ordering.code), tuple(notes)
    return Prepared(X, y, groups, weights, tuple(columns), lines, told, is_encoded, has_classes, rarest, ordering)


def _typed(table: pd.DataFrame, columns: Sequence[Column], code: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """The columns that are used, numbers as floats and categories as text; and the names of the categories."""
    names = [column.name for column in columns]
    numbers = [column.name for column in columns if column.kind == "number"]
    categories = [column.name for column in columns if column.kind == "category"]
    X = table[names]
    code.append(f"X = table[{wrapped(names)}]")
    # of many columns one by one, pandas makes as many blocks, which every fit would have to gather
    X = (X.astype(dict.fromkeys(numbers, float)) if categories else X.astype(float)).copy()
    if numbers:
        code.append(
            "X = X.astype(float)" if not categories else f"X = X.astype(dict.fromkeys({wrapped(numbers)}, float))"
        )
    if not all(column.is_text for column in columns if column.kind == "category"):
        X[categories] = X[categories].apply(lambda column: column.astype(object).map(str, na_action="ignore"))
        code.append(f"categories = {wrapped(categories)}")
        code.append(
            'X[categories] = X[categories].apply(lambda c: c.astype(object).map(str, na_action="ignore"))  # as text'
        )
    return X, categories


def _with_dummies(X: pd.DataFrame, categories: list[str], code: list[str], notes: list[str]) -> pd.DataFrame:
    """A column of zeros and ones for each level but the first."""
    X = pd.get_dummies(X, columns=categories, prefix_sep="=", drop_first=True, dtype=float)
    code.append(f'X = pd.get_dummies(X, columns={wrapped(categories)}, prefix_sep="=", drop_first=True, dtype=float)')
    if X.columns.duplicated().any():
        raise DataError(f"Two columns are called {X.columns[X.columns.duplicated()][0]!r}; rename one of them.")
    notes.append(
        f"Categorical: {listed(categories)}. Each level but the first (in sorted order) is a column of zeros and "
        "ones; the levels are those of all rows."
    )
    return X


def _rarest(X: pd.DataFrame, categories: list[str]) -> tuple[str, str, int] | None:
    """The level that fewest rows have."""
    counts = [(name, X[name].astype(str)[X[name].notna()].value_counts()) for name in categories]
    found = [(name, str(count.index[-1]), int(count.iloc[-1])) for name, count in counts if len(count)]
    return min(found, key=lambda each: each[2], default=None)


def wrapped(names: Sequence[str]) -> str:
    """A list as Python writes it, in lines of moderate length."""
    return pprint.pformat(list(names), width=100, compact=True)


def _drop_rows(table: pd.DataFrame, roles: Roles, problems: Problems) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Rows with a target, the code and the notes so far."""
    missing = int(table[roles.target].isna().sum())
    if missing in (0, len(table)):  # without any value it is refused when it is read
        return table, [], []
    if not roles.drop_missing_target:
        problems.add(
            f"The target {roles.target!r} is missing in {missing} of {len(table)} rows; give --drop-missing-target to "
            "leave these rows out."
        )
    code = [f"table = table.dropna(subset=[{roles.target!r}])"]
    return table.dropna(subset=[roles.target]), code, [f"{missing} row(s) without a target were left out."]


def _as_text(table: pd.DataFrame, roles: Roles, code: list[str]) -> pd.DataFrame:
    """The table with numbers as text where they are codes: 2 and 2.0, which a missing value makes of it, alike."""
    names = [*dict.fromkeys(roles.categorical), *([roles.target] if roles.classes else [])]
    for name in names:
        if pd.api.types.is_numeric_dtype(table[name].dtype):
            values = table[name].astype(object).map(lambda v: str(v).removesuffix(".0"), na_action="ignore")
            table = table.assign(**{name: values})
            text = 'map(lambda v: str(v).removesuffix(".0"), na_action="ignore")'
            code.append(f"table[{name!r}] = table[{name!r}].astype(object).{text}")
    return table


def _note_copies(table: pd.DataFrame, roles: Roles, notes: list[str]) -> None:
    """Rows that are alike in all columns fall into training and test sets alike, unless groups keep them together."""
    try:
        copies = 0 if roles.groups is not None else int(table.duplicated(keep=False).sum())
    except TypeError:  # lists and the like, of Parquet files
        return
    if copies:
        notes.append(
            f"{copies} rows occur more than once; if they are copies, remove them; if they are repeated measurements, "
            "give --groups."
        )


def _read_target(table: pd.DataFrame, roles: Roles, notes: list[str]) -> tuple[TargetArray, str, bool]:
    """Y, the code that reads it, and whether it holds classes."""
    name, values = roles.target, table[roles.target]
    column = read_column(values, roles.max_levels, True, roles.classes)
    if column.kind == "refused":
        raise DataError(f"The target {name!r} {column.cause}; it must be a number, or a class of few (--max-levels).")
    if column.kind == "constant":
        raise DataError(f"The target {name!r} {column.cause}: there is nothing to predict; name another column.")
    if column.kind == "number":
        if column.n_distinct == 2:
            notes.append(
                f"The target {name!r} has two values, treated as numbers; --classes makes it a classification."
            )
        return values.to_numpy(float), f"y = table[{name!r}].to_numpy(float)", False
    text = f"table[{name!r}].astype(str).to_numpy(str)"
    labels = values.astype(str).to_numpy(str)
    # as what they are: scores such as f1 and recall take 1 and True for the positive class
    if set(column.levels) == {"0", "1"}:
        return labels.astype(int), f"y = {text}.astype(int)", True
    if set(column.levels) == {"False", "True"}:
        return labels == "True", f'y = {text} == "True"', True
    return labels, f"y = {text}", True


def _read_columns(table: pd.DataFrame, roles: Roles, notes: list[str], problems: Problems) -> list[Column]:
    """The columns to predict from, as far as they can be read."""
    taken = {roles.target, roles.groups, roles.weights, *roles.drop}
    taken |= {roles.order, *(roles.coords or ())} - {*roles.keep}
    names = list(dict.fromkeys(roles.features)) or [name for name in table.columns if name not in taken]
    asked = {*roles.features, *roles.keep}
    tried = [
        problems.tried(read_column, table[name], roles.max_levels, name in asked, name in roles.categorical)
        for name in names
    ]
    found = [column for column in tried if column is not None]
    refused = [column for column in found if column.kind == "refused"]
    if refused:
        what = " and ".join(f"{column.name!r} {column.cause}" for column in refused[:MOST_NAMED])
        more = f" and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
        remedy = " ".join(f"--drop {column.name!r}" for column in refused[:MOST_NAMED])
        other = "".join(f"; or, {column.remedy}" for column in refused[:MOST_NAMED] if column.remedy)
        them = "it" if len(refused) == 1 else "them"
        problems.add(f"Column {what}{more}; leave {them} out: {remedy}{other}.")
    problems.tried(_check_missing, table, [column for column in found if column.kind != "refused"], roles)
    notes.extend(
        f"Column {c.name!r} {c.cause} and was left out{_BLANK if c.n_missing else ''}."
        for c in found
        if c.kind == "constant"
    )
    notes.extend(
        f"Column {c.name!r} counts the rows; if it only numbers them, leave it out: --drop {c.name!r}."
        for c in found
        if c.counts_rows and c.name not in asked
    )
    columns = [column for column in found if column.kind not in ("constant", "refused")]
    notes.extend(_of_label(column, roles) for column in columns if column.is_label)
    if not columns and not problems.found:
        problems.add("No column is left to predict from; give --features, or fewer --drop.")
    return columns


def _of_label(column: Column, roles: Roles) -> str:
    """What an identifier may be that several rows share, and is predicted from."""
    name = repr(column.name)
    choices = [f"if rows of the same {name} belong together, --groups {name}"] if roles.groups is None else []
    choices += [f"if its numbers are codes of levels, --categorical {name}"] if column.kind == "number" else []
    kind = "a number" if column.kind == "number" else "a category"
    return (
        f"Column {name} is an identifier by its name, of {column.n_distinct} values, and is predicted from as {kind}: "
        f"{'; '.join([*choices, f'if it tells nothing of new rows, --drop {name}'])}; --keep {name} takes it silently."
    )


def _check_missing(table: pd.DataFrame, columns: list[Column], roles: Roles) -> None:
    """Refuse missing values unless they are to be imputed; columns without any value do not count."""
    holes = [column for column in columns if column.n_missing]
    if holes and not roles.impute:
        rows = int(table[[column.name for column in holes]].isna().any(axis=1).sum())
        counts = ", ".join(f"{column.name!r} {column.n_missing}" for column in holes[:MOST_NAMED])
        more = f" and {len(holes) - MOST_NAMED} more columns" if len(holes) > MOST_NAMED else ""
        raise DataError(
            f"Values are missing in {rows} of {len(table)} rows: {counts}{more}; give --impute (median, most frequent "
            f"level), or --drop these columns, or remove the rows{_single(holes)}."
        )


def _single(holes: list[Column]) -> str:
    """What to do about columns that are "yes" or blank."""
    single = [f"{column.name!r} {column.cause}" for column in holes if column.kind == "constant"]
    return f"; {', '.join(single[:MOST_NAMED])}{_BLANK}" if single else ""


def _read_groups(table: pd.DataFrame, roles: Roles, code: list[str]) -> TextArray | None:
    if roles.groups is None:
        return None
    missing = int(table[roles.groups].isna().sum())
    if missing:
        raise DataError(f"--groups: column {roles.groups!r} is missing in {missing} row(s); name a group for each row.")
    code.append(f"groups = table[{roles.groups!r}].astype(str).to_numpy(str)")
    groups = table[roles.groups].astype(str).to_numpy(str)
    try:
        check_groups(groups, len(groups))
    except DataError as error:
        raise DataError(f"--groups {roles.groups}: {error}") from error
    return groups


def _read_weights(table: pd.DataFrame, roles: Roles, code: list[str]) -> FloatArray | None:
    if roles.weights is None:
        return None
    values = table[roles.weights]
    if not pd.api.types.is_numeric_dtype(values.dtype) or values.isna().any():
        raise DataError(f"--weights: column {roles.weights!r} must hold a number in every row; correct it.")
    if not np.isfinite(values.to_numpy(float)).all() or (values < 0).any():
        raise DataError(f"--weights must be finite and not negative in every row; correct column {roles.weights!r}.")
    code.append(f"weights = table[{roles.weights!r}].to_numpy(float)")
    return values.to_numpy(float)
