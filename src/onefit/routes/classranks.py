"""Ranks of Gaussian classes: their probabilities next to one, with the ties that rounding makes in scikit-learn."""

from __future__ import annotations

from copy import copy

import numpy as np

from ..folds import Folds
from ..learners import ClassLearner, Learner, Task
from .responses import Responses, of_scores
from .trainingsets import TrainingSetsEngine

__all__ = ["RankedClassesEngine"]


class RankedClassesEngine(TrainingSetsEngine):
    """Goes through the training sets a second time if metrics rank probabilities that scikit-learn rounds."""

    learner: ClassLearner

    def responses(self, folds: Folds, learner: Learner, task: Task) -> Responses:
        """What is less than one half is of exact log odds, and what is more is rounded."""
        ranked = self.learner.for_ranks(task)
        if ranked is None:
            return super().responses(folds, learner, task)
        other = copy(self)
        other.learner, other.tick = ranked, lambda _: self.tick(0)  # what is counted is what comes last
        rounded = of_scores(other.pairs(folds), folds, learner, task)
        found = super().responses(folds, learner, task)
        for own, table in zip(found.tables, rounded.tables, strict=True):
            for kind in {"scores", "predict_proba"} & set(own):
                both = zip(own[kind], table[kind], strict=True)
                own[kind] = [np.where(exact > 0.5, tied, exact) for exact, tied in both]
        return found
