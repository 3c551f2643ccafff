"""The keywords that all public functions share."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..errors import FoldError
from ..givenfolds import as_folds
from ..metrics import LossLike, ScoringLike
from ..typing import ArrayLike, CVLike, Seed, Splitter
from ..vocabulary import Folds as NumberOfFolds
from ..vocabulary import Repeats, RouteName, RuleName, Transformers
from .dependent import Dependent
from .progress import Report

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """The keywords that all public functions share, as given."""

    n_folds: NumberOfFolds
    n_repeats: Repeats
    loss: LossLike
    scoring: ScoringLike
    confidence_level: float
    interval: RuleName
    groups: ArrayLike | str | None
    sample_weight: ArrayLike | str | None
    folds: ArrayLike | Splitter | Dependent | None
    cv: CVLike
    bias_folds: int | ArrayLike | Splitter | None
    route: RouteName
    transformers: Transformers
    max_fits: int
    random_state: Seed
    n_jobs: int | None
    progress: bool | Report | None
    checkpoint: str | os.PathLike[str] | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Settings:
        """From the arguments of a public function, its own ones aside."""
        return cls(**{field.name: arguments[field.name] for field in fields(cls)}).without_cv()

    def without_cv(self) -> Settings:
        """The same in onefit's words: ``cv`` is a number of folds, or folds."""
        if self.cv is None:
            return self
        if self.folds is not None or not (isinstance(self.n_folds, str) and self.n_folds == "auto"):
            other = "folds" if self.folds is not None else "n_folds"
            raise FoldError(f"cv and {other} say the same in two ways; give one of them.")
        if is_integer(self.cv):
            count = int(self.cv)  # type: ignore[arg-type]
            if count < 3:
                raise FoldError(f"cv={count}: nested cross-validation takes two folds out and needs at least 3.")
            return replace(self, n_folds=count, cv=None)
        return replace(self, folds=as_folds(self.cv), cv=None)


def is_integer(value: object) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
