"""Exceptions and warnings: each message states its cause and a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

__all__ = [
    "ClusterError",
    "DataError",
    "ExtrapolationWarning",
    "FailedModelWarning",
    "FewGroupsWarning",
    "FoldError",
    "HeavyTailWarning",
    "InterruptedWarning",
    "IntervalError",
    "KeywordError",
    "LossOverflowError",
    "MonteCarloWarning",
    "OneFitError",
    "OneFitWarning",
    "RankWarning",
    "RefitError",
    "RouteError",
    "SmoothnessWarning",
    "TrainingSetError",
    "TrainingSizeWarning",
]


COMING_FROM = "The page “Coming from” of the documentation (docs/coming-from) has the words side by side."
"""Ends a message about a word that is another one elsewhere."""


def how_to_install(extra: str) -> str:
    """What to run for the libraries of an extra, to end a message with."""
    return (
        f'run `python -m pip install ".[{extra}]"` in the copy of the repository that onefit was installed from '
        "(there is no release yet)"
    )


class OneFitError(ValueError):
    """Base of every error that onefit raises on purpose.

    ``place`` is the place on the axis of parameter values, or of models, that it is about, if it is known.
    """

    place: int | None = None

    def named(self, model: str) -> Self:
        """Itself, with the name of the model that it is about."""
        if model:
            self.args = (f"Model {model!r}: {self.args[0]}", *self.args[1:])
        return self


class DataError(OneFitError):
    """X, y, weights or a parameter cannot be used as given."""


class KeywordError(DataError, TypeError):
    """A function has no such keyword."""


class FoldError(OneFitError):
    """The folds asked for do not exist or do not partition the rows."""


class RouteError(OneFitError):
    """The route asked for cannot serve this estimator."""


class TrainingSetError(OneFitError):
    """A training set does not determine the fit.

    ``lam`` is the penalty at fault, None if it is at every penalty; ``held_out`` are the rows that the set lacks, if
    it is known which; ``remedy`` is what the message ends with.
    """

    lam: float | None = None
    held_out: Sequence[int] = ()
    remedy: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()} {self.remedy}".rstrip()


class RefitError(OneFitError):
    """The estimator itself failed on a training set."""


class ClusterError(OneFitError):
    """A Dask cluster was lost, or cannot compute what it was given."""


class LossOverflowError(DataError):
    """Losses too large to square."""


class IntervalError(OneFitError):
    """The interval rule asked for does not apply to these folds."""


class OneFitWarning(UserWarning):
    """Base of every warning that onefit emits."""


class MonteCarloWarning(OneFitWarning):
    """The interval's half-width still depends on which random partitions were drawn."""


class HeavyTailWarning(OneFitWarning):
    """A few losses carry the variance, so the interval will cover less often than it says."""


class FailedModelWarning(OneFitWarning):
    """A model of a comparison could not be fitted, and is left out."""


class FewGroupsWarning(OneFitWarning):
    """There are so few groups that their variance, and with it the width of the interval, is uncertain."""


class InterruptedWarning(OneFitWarning):
    """The user stopped a job, and its figures are those of the repeats that were complete."""


class TrainingSizeWarning(OneFitWarning):
    """The error is so uncertain that the interval had to leave its usual scale."""


class ExtrapolationWarning(OneFitWarning):
    """A spline is asked for values outside its knots, where it is a straight line."""


class RankWarning(OneFitWarning):
    """The rows do not determine all unpenalized directions of a model, and the smallest fit was taken."""


class SmoothnessWarning(OneFitWarning):
    """A criterion did not decide how smooth the functions of a model are, so the fit may follow the noise."""
