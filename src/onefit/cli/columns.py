"""Kinds of columns: numbers, categories, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api import types

from ..errors import DataError
from .problems import NotationError

__all__ = ["Column", "read_column"]

NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
COMMA_THOUSANDS = r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?"
POINT_THOUSANDS = r"[-+]?\d{1,3}(\.\d{3})+(,\d*)?"
SPACE_THOUSANDS = r"[-+]?\d{1,3}([ \u00a0\u202f]\d{3})+([.,]\d*)?"
DECIMAL_COMMA = r"[-+]?\d*,\d+([eE][-+]?\d+)?"
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?"
DATE = (
    rf"(\d{{4}}[-/.]\d{{1,2}}([-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}"
    rf"|\d{{1,2}}[ -]({MONTHS})[a-z]*\.?[ -]\d{{2,4}}|({MONTHS})[a-z]*\.? \d{{1,2}}, \d{{4}})([ T]{CLOCK}.*)?|{CLOCK}"
)
IDENTIFIER = r"(.*[_ .-])?(id|ids|uuid|guid|key|index|idx|row|rownames|nr|no)|unnamed: \d+"
CAMEL_IDENTIFIER = r"[A-Za-z]\w*[a-z0-9]I[Dd]"
"""As customerId, and unlike paid or GRID."""
LABEL = r"(.*[_ .-])?(id|ids|uuid|guid)"
"""What is an identifier also where its values repeat, unlike an index."""
MOST_STRAY = 3
"""So many distinct texts among numbers are taken for marks of missing values."""


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes
    ----------
    name : str
    kind : str
        "number", "category", "constant", or "refused".
    cause : str
        Of what is refused or constant, why.
    remedy : str
        Of what is refused, what there is besides leaving it out.
    levels : tuple of str
        Of categories, in sorted order.
    n_distinct, n_missing : int
        What has one value and is missing elsewhere is constant too.
    is_text : bool
        Whether categories are texts already.
    counts_rows : bool
        Whether it holds 1, 2, 3, ... down the table.
    is_label : bool
        Whether it is an identifier by its name, and several rows have the same.
    """

    name: str
    kind: str
    cause: str = ""
    levels: tuple[str, ...] = ()
    n_distinct: int = 0
    n_missing: int = 0
    is_text: bool = True
    counts_rows: bool = False
    is_label: bool = False
    remedy: str = ""


def read_column(values: pd.Series[Any], max_levels: int, is_asked_for: bool, is_category: bool = False) -> Column:
    """Find out what a column holds; one that the user asks for by name may be an identifier, or texts of any kind."""
    name, present = str(values.name), values.dropna()
    missing = len(values) - len(present)
    dtype = values.dtype
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return _dates(name, "holds dates")
    if not len(present):
        return Column(name, "constant", "has no values")
    if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype):
        return _read_numbers(name, values, present, missing, is_asked_for)
    try:
        distinct = present.unique()
        texts = sorted({str(value) for value in distinct})
    except TypeError:
        return Column(name, "refused", f"holds values of type {type(present.iloc[0]).__name__}")
    is_plain = all(isinstance(value, str | bool) or hasattr(value, "item") for value in distinct)
    if not is_plain and not isinstance(dtype, pd.CategoricalDtype):
        return _refuse_objects(name, distinct)
    is_text = types.is_string_dtype(dtype) and all(isinstance(value, str) for value in distinct)
    if is_text and not is_category:
        refuse_disguised(name, present, texts)
        if all(re.fullmatch(DATE, text.strip(), re.IGNORECASE) for text in texts):
            return _dates(name)
    if len(texts) == 1:
        return _constant(name, repr(texts[0]), missing)
    if len(texts) > max_levels or 2 * len(texts) > len(values):
        cause = f"is free text or an identifier ({len(texts)} distinct values)"
        return Column(name, "refused", cause, remedy=_for_many_levels(name, len(texts), len(values)))
    is_label = not is_category and not is_asked_for and _names_label(name)
    return Column(name, "category", "", tuple(texts), len(texts), missing, is_text, is_label=is_label)


def _read_numbers(
    name: str, values: pd.Series[Any], present: pd.Series[Any], missing: int, is_asked_for: bool
) -> Column:
    if types.is_complex_dtype(values.dtype):
        return Column(name, "refused", "holds complex numbers")
    numbers = present.to_numpy(float)
    infinite = int((abs(numbers) == float("inf")).sum())
    if infinite:
        return Column(name, "refused", f"is infinite in {infinite} row(s)")
    distinct = int(present.nunique())
    if distinct == 1:
        return _constant(name, str(present.iloc[0]), missing)
    integers = bool((numbers == numbers.round()).all())
    whole = distinct == len(values) and integers
    if whole and not is_asked_for and _names_identifier(name):
        cause = "is an identifier by its name (and another number in every row)"
        return Column(name, "refused", cause, remedy=f"if {name!r} is a measurement, --keep {name!r}")
    counts = whole and numbers[0] in (0, 1) and bool((numbers[1:] - numbers[:-1] == 1).all())
    is_label = integers and not whole and not is_asked_for and _names_label(name)
    return Column(name, "number", "", (), distinct, missing, counts_rows=counts, is_label=is_label)


def _constant(name: str, value: str, missing: int) -> Column:
    """One value; where it is missing the column may say something all the same."""
    where = f"is {value} or missing" if missing else f"is {value} in every row"
    return Column(name, "constant", where, n_missing=missing)


def _names_identifier(name: str) -> bool:
    return bool(re.fullmatch(IDENTIFIER, name, re.IGNORECASE) or re.fullmatch(CAMEL_IDENTIFIER, name))


def _names_label(name: str) -> bool:
    return bool(re.fullmatch(LABEL, name, re.IGNORECASE) or re.fullmatch(CAMEL_IDENTIFIER, name))


def _for_many_levels(name: str, levels: int, rows: int) -> str:
    """What helps against many levels: another limit, unless most occur once; groups, unless all do."""
    remedies = [f"to take {name!r} as a category --max-levels {levels}"] if 2 * levels <= rows else []
    remedies += [f"to keep rows of the same {name!r} together --groups {name!r}"] if levels < rows else []
    return ", ".join(remedies)


def _refuse_objects(name: str, distinct: Iterable[object]) -> Column:
    """Dates and other objects of Parquet files."""
    kind = type(next(value for value in distinct if not isinstance(value, str | bool))).__name__
    return _dates(name) if kind in ("date", "time", "datetime") else Column(name, "refused", f"holds {kind}s")


def _dates(name: str, cause: str = "holds dates or times") -> Column:
    return Column(name, "refused", cause, remedy=f"if rows follow one another in time, --order {name!r}")


def refuse_disguised(name: str, present: pd.Series[Any], texts: list[str]) -> None:
    """Raise if texts are numbers in another notation, or numbers with a few marks among them."""
    stripped = [text.strip() for text in texts]
    for patterns, what, remedy in (
        ((COMMA_THOUSANDS,), "thousands separators", "--thousands ,"),
        ((DECIMAL_COMMA,), "decimal commas", "--decimal ,"),
        ((POINT_THOUSANDS, DECIMAL_COMMA), "points between thousands and decimal commas", "--thousands . --decimal ,"),
        ((SPACE_THOUSANDS,), "spaces between thousands", "--thousands ' '"),
    ):
        odd = [text for text in stripped if not re.fullmatch(NUMBER, text)]
        if odd and all(any(re.fullmatch(pattern, text) for pattern in patterns) for text in odd):
            both = len(patterns) == 1 and all(
                re.fullmatch(COMMA_THOUSANDS, t) and re.fullmatch(DECIMAL_COMMA, t) for t in odd
            )
            also = " (or, if that is a decimal comma, --decimal ,)" if both else ""
            raise NotationError((str(name),), f"numbers with {what}", odd[0], f"{remedy}{also}")
    odd = [text for text in texts if not re.fullmatch(NUMBER, text.strip())]
    if not odd:
        raise DataError(f"Column {name!r} holds numbers as text; store them as numbers, or --drop {name!r}.")
    stray = int(present.astype(str).isin(odd).sum())
    if len(odd) <= MOST_STRAY and len(texts) - len(odd) >= MOST_STRAY and 2 * stray < len(present):
        raise DataError(
            f"Column {name!r} holds numbers and, in {stray} row(s), {', '.join(map(repr, odd))}; if that stands for a "
            f"missing value, give {' '.join(f'--missing {text!r}' for text in odd)}."
        )
