"""Pipelines whose design is ``B T_S`` on every training set S: features B that are fixed, and T_S from statistics of S.

A `Block` is what a step makes of the columns before it. Asked for some training sets it `learn`s from their
`SetStatistics` and returns `Features`: which columns of B each output is made of, and with which coefficients there.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from ..sources import Source
from ..typing import AnyArray, FloatArray, IntArray
from .features import Features, Pattern
from .fixedfeatures import FixedFeatures
from .setstatistics import SetStatistics

__all__ = ["Block", "BlockAfter", "Encoding"]

_HUSHED = Lock()
"""Held while warnings are: filters belong to all threads, and one would restore what another has set."""


class Block(ABC):
    """What a step makes of the columns before it.

    Attributes
    ----------
    n_outputs : int
        Of all training sets; each has some of them.
    may_be_sparse : bool
        Whether the step returns a sparse matrix, which others do not take or take in their own way.
    n_stored : int
        How many numbers of every training row a sparse matrix of its outputs surely stores.
    is_rotated : bool
        Whether its outputs are mixed so that their extremes, signs and order say nothing.
    lacks_signs : bool
        Whether outputs are directions, which scikit-learn may turn round.
    has_closed : bool
        Whether some of its outputs are all levels of a column, which sum to one.
    made_of : Pattern or None
        Which columns of B its outputs are made of, if these, and all of its outputs, are there in every training set.
    """

    n_outputs: int
    may_be_sparse: bool = False
    n_stored: int = 0
    is_rotated: bool = False
    lacks_signs: bool = False
    has_closed: bool = False
    made_of: Pattern | None = None

    @property
    def n_most(self) -> int:
        """How many of its outputs a training set has at most."""
        return self.n_outputs

    @abstractmethod
    def learn(self, sets: SetStatistics) -> Features:
        """Its outputs in some training sets."""


class BlockAfter(Block):
    """A step that passes the outputs of another on, changed each by itself."""

    def __init__(self, inner: Block) -> None:
        self.inner, self.n_outputs = inner, inner.n_outputs
        self.may_be_sparse, self.is_rotated, self.made_of = inner.may_be_sparse, inner.is_rotated, inner.made_of
        self.has_closed, self.lacks_signs = inner.has_closed, inner.lacks_signs

    @property
    def n_most(self) -> int:
        """As before it."""
        return self.inner.n_most


@dataclass(frozen=True)
class Encoding:
    """Steps before a fit, as fixed features and what makes outputs of them, and as they are."""

    block: Block
    fixed: FixedFeatures
    steps: Sequence[Any]
    source: Source
    target: AnyArray

    def of_rows(self, train: IntArray, tests: Sequence[IntArray]) -> list[FloatArray]:
        """Outputs in training rows, and in others, of the steps themselves; raises what they raise."""
        if self.steps:
            steps = make_pipeline(*(clone(step) for step in self.steps))
            with _HUSHED, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [steps.fit_transform(self.source.take(train), self.target[train])]
                found += [steps.transform(self.source.take(rows)) for rows in tests]
        else:
            found = [self.source.take(rows) for rows in (train, *tests)]
        tables = [np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=np.float64) for Z in found]
        for Z, rows in zip(tables, (train, *tests), strict=True):
            if Z.ndim != 2 or len(Z) != len(rows) or not Z.shape[1]:
                raise ValueError(f"the steps make a table of shape {Z.shape} of {len(rows)} rows")
            if not np.isfinite(Z).all():
                raise ValueError("the steps leave missing or infinite values")
        return tables
