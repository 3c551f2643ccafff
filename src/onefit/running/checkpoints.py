"""Which job a file of finished repeats belongs to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import joblib

from ..dropfolds import DropFolds
from ..errors import DataError
from ..folds import ExplicitFolds
from ..routes import Partitions
from ..routes.checkpoint import Checkpoint
from ..typing import Estimator
from ..validation import Problem

__all__ = ["make_checkpoint"]


def make_checkpoint(
    path: object,
    problem: Problem,
    estimators: Sequence[Sequence[Estimator]],
    partitions: Partitions,
    seed: int | None,
    settings: Sequence[object],
) -> Checkpoint:
    """The file that was named, for this very job; ``seed`` None is for partitions that a second call would not draw."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"checkpoint={path!r} must be the path of a file.")
    path = Path(path)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise DataError(f"checkpoint={str(path)!r} must be a file in a directory that exists.")
    if seed is None:
        raise DataError("checkpoint needs random_state=, or folds: else a second call would draw other partitions.")
    data = (problem.X, problem.target, problem.weights, problem.groups)
    first = partitions.source.block(0, 1)
    drops = first.drops if isinstance(first, DropFolds) else ()
    given = partitions.source.ids if isinstance(partitions.source, ExplicitFolds) else first.ids
    folds = (given, drops, partitions.n_repeats, partitions.max_fits, seed)
    versions = [metadata.version(name) for name in ("onefit", "numpy", "scikit-learn")]
    try:
        return Checkpoint(
            path, str(joblib.hash((*data, *folds, versions, list(estimators), [_named(each) for each in settings])))
        )
    except Exception as error:  # whatever an estimator holds that cannot be pickled
        raise DataError(f"checkpoint cannot tell this job from others: {type(error).__name__}: {error}.") from error


def _named(setting: object) -> str:
    """A setting as text; functions by their names and what they do, as their places in memory change."""
    if isinstance(setting, dict):
        return repr({name: _named(each) for name, each in setting.items()})
    if isinstance(setting, list | tuple):
        return repr([_named(each) for each in setting])
    if hasattr(setting, "_score_func"):  # a scorer of scikit-learn
        names = ("_score_func", "_sign", "_kwargs", "_response_method")
        return repr([_named(getattr(setting, name, None)) for name in names])
    code = getattr(setting, "__code__", None)
    if code is None:
        return str(getattr(setting, "__qualname__", None) or repr(setting))
    cells = [_named(cell.cell_contents) for cell in getattr(setting, "__closure__", None) or ()]
    defaults = _named(getattr(setting, "__defaults__", None) or ())
    constants = [_named(each) if not hasattr(each, "co_code") else repr(each.co_code) for each in code.co_consts]
    return repr((getattr(setting, "__qualname__", ""), code.co_code, code.co_names, constants, defaults, cells))
