"""What a route must know of a model.

A `Smoother` is a linear smoother with a path of penalties: the gram and the one-step route read it. A `TunedLearner`
chooses its penalty anew on every training set; a `GramLearner` learns whatever it can from the Gram matrix of one.
Every other estimator is a black box to the refit route. `adapt` decides
which of them an estimator is.
"""

from .adapt import Adapted, adapt, freeze
from .gram import GramLearner, TrainingStatistics
from .smoother import DesignSmoother, KernelSmoother, Smoother, SparseSmoother
from .tuned import TunedLearner

__all__ = [
    "Adapted",
    "DesignSmoother",
    "GramLearner",
    "KernelSmoother",
    "Smoother",
    "SparseSmoother",
    "TrainingStatistics",
    "TunedLearner",
    "adapt",
    "freeze",
]
