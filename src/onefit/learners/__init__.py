"""What a route must know of a model; see `contract` for the kinds of learners and how an estimator joins.

`adapt` finds the learner of an estimator: one table of scikit-learn's classes, one file each. `DesignSmoother` and
`KernelSmoother` are what most estimators that join will want to return.
"""

from .adapt import adapt, frozen
from .contract import Learner, Path, Refusal, Scores, Task
from .design import DesignSmoother
from .encoded import EncodedLearner, EncodedSets
from .encoded_family import EncodedFamily
from .features import Features, FixedFeatures
from .fitrows import FitRows
from .interpolation import free_columns, is_near_interpolation
from .kernel import KernelSmoother
from .refitted import RefitLearner
from .searched import SearchedLearner
from .setstatistics import Moments, SetFailure, SetStatistics
from .smoother import Smoother
from .sparse import SparseSmoother
from .statistics import Coefficients, SmoothedLearner, StatisticsLearner, TrainingStatistics
from .tuned import TunedLearner

__all__ = [
    "Coefficients",
    "DesignSmoother",
    "EncodedFamily",
    "EncodedLearner",
    "EncodedSets",
    "Features",
    "FitRows",
    "FixedFeatures",
    "KernelSmoother",
    "Learner",
    "Moments",
    "Path",
    "RefitLearner",
    "Refusal",
    "Scores",
    "SearchedLearner",
    "SetFailure",
    "SetStatistics",
    "SmoothedLearner",
    "Smoother",
    "SparseSmoother",
    "StatisticsLearner",
    "Task",
    "TrainingStatistics",
    "TunedLearner",
    "adapt",
    "free_columns",
    "frozen",
    "is_near_interpolation",
]
