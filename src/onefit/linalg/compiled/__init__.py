"""The compiled kernels, if they are there; every use of them has a twin in NumPy.

`loading` finds them, and knows whether they are used. Of the others each calls those of one kind: `blocks` of rows as
they are read, `folds` by their Gram matrices, `pairs` by the residual operator, and `fits` of training sets.
"""

from .blocks import deal, exceeds, gather, interleave, project, score
from .fits import lasso, newton, scale, without
from .folds import collect, collects, moments, predict, residuals, systems
from .loading import SETTING, SETTINGS, instructions, is_on, is_there, switched, use
from .loading import kernel as _kernel
from .pairs import fold_pairs, fold_pairs_moments, row_pairs

__all__ = [
    "SETTING",
    "SETTINGS",
    "_kernel",
    "collect",
    "collects",
    "deal",
    "exceeds",
    "fold_pairs",
    "fold_pairs_moments",
    "gather",
    "instructions",
    "interleave",
    "is_on",
    "is_there",
    "lasso",
    "moments",
    "newton",
    "predict",
    "project",
    "residuals",
    "row_pairs",
    "scale",
    "score",
    "switched",
    "systems",
    "use",
    "without",
]
