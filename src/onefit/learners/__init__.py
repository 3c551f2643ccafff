"""What a route must know of a model.

A `Smoother` is a linear smoother with a path of penalties: the gram and the one-step route read it. Every other
estimator is a black box to the refit route. `adapt` decides which of the two an estimator is.
"""

from .adapt import Adapted, adapt
from .smoother import DesignSmoother, KernelSmoother, Smoother, SparseSmoother

__all__ = ["Adapted", "DesignSmoother", "KernelSmoother", "Smoother", "SparseSmoother", "adapt"]
