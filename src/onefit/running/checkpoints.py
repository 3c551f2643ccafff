"""Which job a file of finished repeats belongs to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import joblib

from ..dropfolds import DropFolds
from ..errors import DataError
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
    folds = (first.ids, drops, partitions.n_repeats, partitions.max_fits, seed)
    try:
        return Checkpoint(
            path, str(joblib.hash((*data, *folds, list(estimators), [_named(each) for each in settings])))
        )
    except Exception as error:  # whatever an estimator holds that cannot be pickled
        raise DataError(f"checkpoint cannot tell this job from others: {type(error).__name__}: {error}.") from error


def _named(setting: object) -> str:
    """A setting as text, functions by their names: they have no other in the next process."""
    if isinstance(setting, dict):
        return repr({name: _named(each) for name, each in setting.items()})
    if isinstance(setting, list | tuple):
        return repr([_named(each) for each in setting])
    return str(getattr(setting, "__qualname__", None) or repr(setting))
