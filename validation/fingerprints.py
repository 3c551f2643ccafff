"""What ``python -m validation.check`` computes again: a few data sets of every setting of every study.

A case is one data set; its lines are numbers that coverage follows from, mostly truth, estimate, low and high of an
interval. What others' rules give by refits alone is left out, and so is `validation.ranks`: it uses nothing of onefit,
and ``tests/project/test_rank_study.py`` holds it to onefit's own figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import folds, montecarlo, r2, scores, serial, serialranks, warnings
from .others import Splits
from .real import SKEWED
from .scoredata import SETTINGS as SCORE_SETTINGS
from .scoredata import Setting as ScoreSetting
from .settings import SETTINGS, Setting

__all__ = ["STUDIES", "Lines", "needs_tables"]

Lines = list[list[float]]
Cases = Mapping[str, Callable[[], Lines]]

CHEAP = 0.1
"""Seconds of a data set up to which two are computed again."""
SLOW_LEARNERS = ("forest", "boosting")
"""Of these the study of folds has its smallest number of rows computed again."""
MOST_REPEATS = 100
WARNED = 5000
"""Number of the data set of `validation.warnings`: the first of those whose figures the documentation has."""


def _coverage() -> Cases:
    """`python -m validation`."""
    counts = {name: 1 + (setting.seconds <= CHEAP) for name, setting in SETTINGS.items()}
    return {f"{name} {at}": partial(_replicated, SETTINGS[name], at) for name, n in counts.items() for at in range(n)}


def _replicated(setting: Setting, replication: int) -> Lines:
    ours = tuple(analysis for analysis in setting.analyses if not isinstance(analysis, Splits))
    found: Lines = replace(setting, analyses=ours).replicate(replication).tolist()
    return found


def _montecarlo() -> Cases:
    """`python -m validation --montecarlo`: half-widths, and whether something happens."""
    grid = [repeats for repeats in montecarlo.REPEATS if repeats <= MOST_REPEATS]
    events = [(montecarlo.NO_INTERVAL, montecarlo.N, L) for L in (1, 10, 50)]
    events += [(montecarlo.EARLY_END, n, montecarlo.EARLY) for n in (100, 400)]
    widths = {f"half-widths {L}": partial(_half_widths, L) for L in grid}
    return {**widths, **{f"{event}, n = {n}, {L}": partial(_happens, event, n, L) for event, n, L in events}}


def _half_widths(repeats: int) -> Lines:
    found: Lines = montecarlo.half_widths(0, repeats, 1).tolist()
    return found


def _happens(event: str, n: int, repeats: int) -> Lines:
    return [[float(montecarlo.happens(event, n, repeats, 0))]]


def _scores() -> Cases:
    """`python -m validation.scores`."""
    return {" ".join(map(str, setting)): partial(_scored, setting) for setting in SCORE_SETTINGS}


def _scored(setting: ScoreSetting) -> Lines:
    return [_figures(row) for row in scores.intervals(setting, 0) if row["rule"] == "onefit"]


def _figures(row: Mapping[str, Any], names: tuple[str, ...] = scores.FIGURES) -> list[float]:
    """Some figures of a row; what it does not have is NaN."""
    return [float(row.get(name, np.nan)) for name in names]


def _folds() -> Cases:
    """`python -m validation.folds`."""
    every = [(name, n) for name in folds.LEARNERS for n in (folds.ROWS[:1] if name in SLOW_LEARNERS else folds.ROWS)]
    return {f"{name}, n = {n}": partial(_by_folds, name, n) for name, n in every}


def _by_folds(name: str, n: int) -> Lines:
    more = ("half_width_error", "centre_error")
    return [_figures(row, (*scores.FIGURES, *more)) for row in folds.figures(name, n, 0)]


def _warnings() -> Cases:
    """`python -m validation.warnings`."""
    return {_name(setting): partial(_warned, setting) for setting in (*warnings.SETTINGS, *warnings.FEW_GROUPS)}


def _name(setting: warnings.Setting) -> str:
    law = f"{setting.family}: {setting.noise}, {setting.n_units}"
    return f"{law}, {setting.effect} {setting.share:g}, {setting.sizes}" if setting.has_groups else law


def _warned(setting: warnings.Setting) -> Lines:
    """The truth, and ends of two rules; then which findings there are."""
    result, truth = setting.analyse(WARNED, setting.fresh())
    rows = result.intervals.loc[["covariance", "corrected_t"], ["estimate", "low", "high"]].to_numpy(float)
    return [*([truth, *row] for row in rows.tolist()), list(warnings.said(result).values())]


def _serial(only_blocks: bool) -> Cases:
    """`python -m validation.serial`, and the same with ``--blocks``."""
    names = serial.CORE if only_blocks else tuple(serial.SETTINGS)
    every = [(name, *job) for name in names for job in serial.jobs(name, serial.ROWS, only_blocks)]
    return {f"{name}, {model}, {n}": partial(_in_blocks, name, model, n, only_blocks) for name, model, n in every}


def _in_blocks(name: str, model: str, n: int, only_blocks: bool) -> Lines:
    found = serial.figures(name, model, n, serial.Kept(only_blocks).first, only_blocks)
    more = ("buffer", "effective")
    return [_figures(row, (*scores.FIGURES, *more)) for row in found]


def _serialranks() -> Cases:
    """`python -m validation.serialranks`."""
    return {f"{name}, {n}": partial(_ranked, name, n) for name in serialranks.BLOCKS for n in serialranks.ROWS}


def _ranked(name: str, n: int) -> Lines:
    row = serialranks.figures(name, n, 0)
    ends = ("estimate", "low", "high")
    return [_figures(row, ("truth", *(f"{method} {end}" for end in ends))) for method in ("blocks", "random")]


def _r2() -> Cases:
    """`python -m validation.r2`."""
    names = [f"real-{name}" for name in (*r2.SOUND, *SKEWED)]
    return {name: partial(_of_r2, name) for name in names}


def _of_r2(name: str) -> Lines:
    return [[float(value) for value in r2.figures(SETTINGS[name], r2.FIRST).values()]]


STUDIES = {
    "coverage": _coverage(),
    "montecarlo": _montecarlo(),
    "scores": _scores(),
    "folds": _folds(),
    "warnings": _warnings(),
    "serial": _serial(only_blocks=False),
    "serial --blocks": _serial(only_blocks=True),
    "serialranks": _serialranks(),
    "r2": _r2(),
}
"""By study what each case computes."""


def needs_tables(case: str) -> bool:
    """Whether a case draws from a table of another package than scikit-learn."""
    name = case.split()[0].removeprefix("real-")
    return name != case.split()[0] and name not in ("diabetes", "cancer", "odd-digits")
