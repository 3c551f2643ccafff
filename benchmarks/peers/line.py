"""A line of the table of peers, and what the families share: the data, onefit's time, and the check that all agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

import onefit
from onefit.typing import FloatArray

from ..measure import best_of
from ..table import number

__all__ = ["HEAD", "Absent", "PeerLine", "Question", "agree", "fold_ids", "library", "similar_columns"]

HEAD = ("question", "peer", "what the peer gives", "peer / onefit")
N_FOLDS = 10


class Absent(Exception):
    """A peer that is not installed."""


@dataclass(frozen=True)
class PeerLine:
    """A question, the peer with its version, what it gives, and its time over that of onefit (above 1: slower)."""

    question: str
    peer: str
    gives: str
    ratio: float

    def cells(self) -> list[str]:
        """Text of the line."""
        return [self.question, self.peer, self.gives, number(self.ratio)]


def library(name: str, module: str) -> tuple[Any, str]:
    """A module, and the name of its package with the version; `Absent` if it is not there."""
    try:
        return import_module(module), f"{name} {version(name)}"
    except ImportError as error:
        raise Absent(f'{name} is left out ({error}): python -m pip install ".[benchmarks]"') from None


def fold_ids(n: int) -> Any:
    """Folds of n rows, all of one size if ten divides n."""
    return np.random.default_rng(2).permutation(n) % N_FOLDS


def similar_columns(n: int, p: int) -> tuple[FloatArray, FloatArray]:
    """Columns that resemble each other, of which eight matter, and y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return X, X[:, :8].sum(axis=1) + 3.0 * rng.normal(size=n)


@dataclass(frozen=True)
class Question:
    """A curve of onefit with ten folds and one repeat, on data; what it costs is measured beside every peer."""

    name: str
    model: Any
    parameter: str
    values: Any
    X: Any
    y: Any

    @property
    def ids(self) -> Any:
        """Folds of the rows."""
        return fold_ids(len(self.X))

    def run(self) -> Any:
        """The curve: errors with each fold and each pair of folds left out, and intervals."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one repeat is meant here
            path = {"param_name": self.parameter, "param_range": self.values}
            return onefit.error_curve(self.model, self.X, self.y, folds=self.ids[None], progress=False, **path)

    def errors(self, curve: Any) -> FloatArray:
        """Held-out error of every value and fold."""
        return np.array([result.fold_errors.e_out[0] for result in curve.results])

    def beside(
        self, peer: str, gives: str, timed: Callable[[], tuple[float, FloatArray]], budget: float, tolerance: float
    ) -> PeerLine:
        """A line; ``timed`` gives the peer's seconds, and its errors of every fold or their means over the folds."""
        ours, curve = best_of(self.run, budget)
        theirs, found = timed()
        expected = self.errors(curve)
        agree(peer, found, expected if found.shape == expected.shape else expected.mean(axis=1), tolerance)
        return PeerLine(self.name, peer, gives, theirs / ours)


def agree(peer: str, found: FloatArray, expected: FloatArray, tolerance: float) -> None:
    """An error if the figures that both have are not the same."""
    difference = float(np.abs(found / expected - 1).max())
    if not difference <= tolerance:
        raise AssertionError(f"{peer} differs from onefit by {difference:.1e}, more than {tolerance:.0e}")
