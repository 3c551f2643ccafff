"""Single values that people give: returned as they are used, or refused with what is allowed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import clone

from .errors import DataError
from .typing import ArrayLike

__all__ = [
    "LEAST_SQUARED",
    "MOST_SIZE",
    "check_choice",
    "check_estimator",
    "check_flag",
    "check_integer",
    "check_jobs",
    "check_level",
    "check_penalty_value",
    "check_range_of",
    "copy_of",
    "did_you_mean",
    "no_parameter",
    "number_in_double",
    "plain_text",
]

MOST_JOBS = 1024
"""More processes or threads than this are a slip of the finger."""

LEAST_SIZE, MOST_SIZE = 1e-60, 1e60
"""Between these lie the largest values of every column and of y: variances of squared errors are fourth powers."""

LEAST_SQUARED = 1e-130
"""Columns that vary by less have squares of which sums, parts and products with weights are no normal numbers."""

MOST_PENALTY = 1e100


def check_estimator(estimator: object) -> None:
    """Refuse classes and anything else that cannot be fitted and predict."""
    if isinstance(estimator, type):
        raise DataError(f"{estimator.__name__} is a class, not an estimator object: write {estimator.__name__}().")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        shape = getattr(estimator, "shape", None)
        what = _shown(estimator) if shape is None else f"{type(estimator).__name__} of shape {shape}"
        order = "" if shape is None else ", which comes first: then X and y"
        raise DataError(f"{what} is not an estimator object with fit and predict, such as Ridge(alpha=1.0){order}.")
    _check_searched(estimator)


def _check_searched(search: Any) -> None:
    """Refuse candidates of a search that name what its estimator does not have: every fit would fail."""
    grids: Any = getattr(search, "param_grid", getattr(search, "param_distributions", None))
    inner: Any = getattr(search, "estimator", None)
    if not hasattr(inner, "get_params") or isinstance(inner, type):
        return
    known = inner.get_params()
    for grid in grids if isinstance(grids, list | tuple) else [grids]:
        if not isinstance(grid, Mapping):
            continue
        names = [name for name in grid if isinstance(name, str)]
        # a candidate for a step may have parameters that the step which stands there has not
        wrong = [n for n in names if n not in known and not any(n.startswith(f"{each}__") for each in names)]
        if wrong:
            named = " ".join(no_parameter(inner, name) for name in wrong)
            raise DataError(f"{type(search).__name__} cannot try its candidates: {named}")


def no_parameter(estimator: Any, name: object) -> str:
    """Cause and remedy, as a sentence, where an estimator has no parameter of a name."""
    known = estimator.get_params() if hasattr(estimator, "get_params") else {}
    own = f"it has {', '.join(sorted(known)) or 'none'}."
    return f"{type(estimator).__name__} has no parameter {name!r}; {did_you_mean(name, known) or own}"


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{name}={_shown(value)} is unknown; choose one of {', '.join(map(repr, choices))}.")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name}={_shown(value)} must be True or False.")
    return bool(value)


def copy_of(estimator: Any) -> Any:
    """An unfitted copy of an estimator, of whose parameters some may be what nobody can copy."""
    try:
        return clone(estimator)
    except TypeError as error:
        raise DataError(
            f"{type(estimator).__name__} cannot be copied ({error}); give it parameters that can be, such as a list "
            "for a generator."
        ) from error
    except RuntimeError as error:
        raise DataError(
            f"{error}; let the constructor keep its parameters as they are, and fit look at them."
        ) from error


def check_integer(name: str, value: object, low: int, high: int | None = None, also: str = "") -> int:
    """Return ``value`` as an int between ``low`` and ``high``."""
    limits = f"at least {low}" if high is None else f"from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DataError(f"{name}={_shown(value)} must be an integer {limits}{also}.")
    if value < low or (high is not None and value > high):
        raise DataError(f"{name}={_shown(value)} is out of range: it must be an integer {limits}{also}.")
    return int(value)


def check_level(confidence_level: object) -> float:
    """Return the confidence level as a float strictly between 0 and 1."""
    if (
        isinstance(confidence_level, bool)
        or not isinstance(confidence_level, numbers.Real)
        or not 0 < number_in_double(confidence_level) < 1
    ):
        shown = _shown(confidence_level)
        raise DataError(f"confidence_level={shown} must lie strictly between 0 and 1, for example 0.95.")
    return float(confidence_level)


def check_jobs(n_jobs: object) -> int | None:
    """Return the number of jobs; None is one."""
    if n_jobs is None:
        return None
    is_integer = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not is_integer or n_jobs == 0 or abs(int(n_jobs)) > MOST_JOBS:  # type: ignore[call-overload]
        raise DataError(
            f"n_jobs={_shown(n_jobs)} must be an integer from 1 to {MOST_JOBS}, or -1 for all cores, or None."
        )
    return int(n_jobs)  # type: ignore[call-overload, no-any-return]


def check_range_of(what: str, values: ArrayLike, least: float = LEAST_SIZE) -> None:
    """Refuse numbers whose powers would overflow, and those that are all so small that their powers vanish."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > MOST_SIZE or 0 < largest < least:
        raise DataError(
            f"{what} is as large as {largest:.3g}, and what is computed from it would not be a number (or zero) in "
            f"double precision; change its units, for example by dividing it by {largest:.1g}."
        )


def check_penalty_value(name: str, value: object) -> float:
    """Return a penalty parameter as a finite, non-negative float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise DataError(f"{name}={value!r} must be a number, zero or larger.")
    number = number_in_double(value)
    if not math.isfinite(number) or number < 0:
        raise DataError(f"{name}={_shown(value)} must be finite and not negative: it multiplies a penalty.")
    if number > 0 and not 1 / MOST_PENALTY <= number <= MOST_PENALTY:
        raise DataError(
            f"{name}={value!r} leaves the range of double precision when it meets the data; give zero, or a number "
            f"from {1 / MOST_PENALTY:.0e} to {MOST_PENALTY:.0e}."
        )
    return number


def number_in_double(value: numbers.Real) -> float:
    """A number in double precision; infinite if it is a whole number or a fraction beyond that."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def plain_text(value: object) -> str:
    """A value as it is written in Python: a number or a text of NumPy without its type."""
    is_plain = isinstance(value, np.bool_ | np.number | np.str_)
    return repr(value.item() if is_plain else value)  # type: ignore[attr-defined]


def _shown(value: object) -> str:
    """A value as it is written, if that is short."""
    text = plain_text(value)
    return text if len(text) <= 60 and "\n" not in text else f"<{type(value).__name__}>"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question that names what may have been meant, in words that end a sentence; empty if nothing is near.

    Parameters of steps are found without the names of these, too.
    """
    text, names = str(name), sorted(known)
    by_end = {each: each.rsplit("__", 1)[-1] for each in names}
    own = text.rsplit("__", 1)[-1]
    near = get_close_matches(text, names, n=1, cutoff=0.75)
    same = [each for each in names if by_end[each] == own] or [
        each for each in names if by_end[each].lower() == own.lower()
    ]
    alike = set(get_close_matches(own, set(by_end.values()), n=1, cutoff=0.75))
    found = list(dict.fromkeys([*near, *same] or [each for each in names if by_end[each] in alike]))[:3]
    return f"did you mean {' or '.join(map(repr, found))}?" if found else ""
