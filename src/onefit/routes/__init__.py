"""Ways to the same fold errors; see `contract` for what a route is.

`gram` downdates the training statistics of the folds: p x p systems, best while folds hold more rows than
there are columns. `onestep` is the paper's Proposition 1: deleting rows is a Schur complement of the residual
operator, so the systems have the size of the folds; it serves kernels and p >= n, and `leavetwo` is its limit with
folds of single rows. `tuned` and `learned` are gram routes for what is chosen or learned anew in every training set,
`encoded` is one for linear fits behind steps that learn, `searched` for searches among them in every training set.
With very many rows all but the last two go over blocks of rows, in three phases: `collect`, `solve` and `score`
(`gramstream`). `dropsets` lets them leave out more than they score.
`refit` fits the estimator itself on every training set: it serves everything, and the others are tested against it.
"""

from .choice import ROUTES, Bid, automatic_folds, choose_routes, explain, few_folds, usual_folds
from .contract import Computation, Engine, FoldPlan, Offer, Outcome, Partitions, Route, Ticks, Units, Workers
from .dropsets import Kept, choose_drop_routes
from .repeats import RepeatedRoute

__all__ = [
    "ROUTES",
    "Bid",
    "Computation",
    "Engine",
    "FoldPlan",
    "Kept",
    "Offer",
    "Outcome",
    "Partitions",
    "RepeatedRoute",
    "Route",
    "Ticks",
    "Units",
    "Workers",
    "automatic_folds",
    "choose_drop_routes",
    "choose_routes",
    "explain",
    "few_folds",
    "usual_folds",
]
