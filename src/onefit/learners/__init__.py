"""What a route must know of a model; see `contract` for the kinds of learners and how an estimator joins.

`adapt` finds the learner of an estimator: one table of scikit-learn's classes, one file each. `DesignSmoother` and
`KernelSmoother` are what most estimators that join will want to return.
"""

from .adapt import adapt, frozen
from .classmoments import ClassLearner, ClassMoments
from .constant import ConstantLearner
from .contract import Learner, Path, Refusal, Scores, Task
from .cutoff import has_cut_off, told_of_cut
from .decisions import are_decided
from .dependences import Constants
from .design import DesignSmoother
from .encoded import EncodedLearner, EncodedSets, RowsOfSet, SomeValuesFail
from .encoded_family import EncodedFamily
from .encoding import Encoding
from .features import Features
from .fitrows import FitRows
from .fixedfeatures import FixedFeatures, Recipe
from .gaussian_process import GaussianProcessLearner
from .glm import GLMLearner
from .glm_fit import NoFiniteFit, NotSettled, fit_newton
from .glm_searched import SearchedGLM
from .interpolation import free_columns, is_near_interpolation
from .kernel import KernelSmoother
from .neighbourlists import NeighbourLists, RankedRows
from .neighbours import NeighbourLearner
from .refitted import RefitLearner
from .scaled import ScaledLearner
from .searched import SearchedLearner
from .setstatistics import Moments, SetFailure, SetStatistics
from .smoother import Smoother
from .sparse import SparseSmoother
from .statistics import Coefficients, SmoothedLearner, StatisticsLearner, TrainingStatistics
from .tuned import TunedLearner

__all__ = [
    "ClassLearner",
    "ClassMoments",
    "Coefficients",
    "ConstantLearner",
    "Constants",
    "DesignSmoother",
    "EncodedFamily",
    "EncodedLearner",
    "EncodedSets",
    "Encoding",
    "Features",
    "FitRows",
    "FixedFeatures",
    "GLMLearner",
    "GaussianProcessLearner",
    "KernelSmoother",
    "Learner",
    "Moments",
    "NeighbourLearner",
    "NeighbourLists",
    "NoFiniteFit",
    "NotSettled",
    "Path",
    "RankedRows",
    "Recipe",
    "RefitLearner",
    "Refusal",
    "RowsOfSet",
    "ScaledLearner",
    "Scores",
    "SearchedGLM",
    "SearchedLearner",
    "SetFailure",
    "SetStatistics",
    "SmoothedLearner",
    "Smoother",
    "SomeValuesFail",
    "SparseSmoother",
    "StatisticsLearner",
    "Task",
    "TrainingStatistics",
    "TunedLearner",
    "adapt",
    "are_decided",
    "fit_newton",
    "free_columns",
    "frozen",
    "has_cut_off",
    "is_near_interpolation",
    "told_of_cut",
]
