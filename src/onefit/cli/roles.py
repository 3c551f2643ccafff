"""The columns that options name: whether they are there, and each has one role."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from .options import Roles
from .problems import Problems

__all__ = ["MOST_NAMED", "check_roles", "listed"]

MOST_NAMED = 10
"""Messages name at most so many columns."""


def check_roles(table: pd.DataFrame, roles: Roles, problems: Problems) -> Roles:
    """The roles, with the columns that were meant where names of rows' roles are misspelt: what else is wrong is told.

    Any other problem is raised here, since it changes what there is to look at.
    """
    known = list(table.columns)
    asked: dict[str, Sequence[str | None]] = {
        "--target": [roles.target],
        "--groups": [roles.groups],
        "--weights": [roles.weights],
        "--drop": roles.drop,
        "--features": roles.features,
        "--keep": roles.keep,
    }
    seen: dict[str, str] = {}
    for option, names in asked.items():
        for name in (each for each in names if each is not None):
            if name not in known:
                problems.add(f"{option}: there is no column {name!r}; {_hint(name, known)}")
            if seen.get(name, option) != option:
                problems.add(f"Column {name!r} is given by {seen[name]} and by {option}; leave one of them out.")
            seen[name] = option
    for option, names in {"--order": [roles.order], "--coords": roles.coords or ()}.items():
        for lacking in (each for each in names if each is not None and each not in known):
            problems.add(f"{option}: there is no column {lacking!r}; {_hint(lacking, known)}")
    for name in roles.categorical:  # which may be one of --features too
        if name not in known:
            problems.add(f"--categorical: there is no column {name!r}; {_hint(name, known)}")
        if seen.get(name, "--features") != "--features":
            problems.add(f"Column {name!r} is given by {seen[name]} and by --categorical; leave one of them out.")
    return _meant(roles, known, problems)


def _meant(roles: Roles, known: list[str], problems: Problems) -> Roles:
    """The roles with the nearest names for misspelt ones of rows' roles; raises if that is not all that is wrong."""
    names = [roles.groups, roles.weights, roles.order, *(roles.coords or ())]
    unknown = [name for name in names if name is not None and name not in known]
    nearest = {name: _nearest(name, known) for name in unknown}
    others = {roles.target, *roles.drop, *roles.features, *roles.keep, *roles.categorical}
    if len(problems.found) > len(unknown) or not all(nearest.values()) or others & {*nearest.values()}:
        problems.refuse()

    def of(name: str | None) -> str | None:
        return None if name is None else nearest.get(name, name)

    coords = None if roles.coords is None else (str(of(roles.coords[0])), str(of(roles.coords[1])))
    return replace(roles, groups=of(roles.groups), weights=of(roles.weights), order=of(roles.order), coords=coords)


def _nearest(name: str, known: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, 1)), None)


def _hint(name: str, known: list[str]) -> str:
    """The name that was meant, or all names."""
    close = _nearest(name, known)
    return f"the columns are {listed(known)}." if close is None else f"did you mean {close!r}?"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, not too many of them."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more
