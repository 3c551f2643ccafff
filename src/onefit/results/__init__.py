"""What the public functions return: frozen, one class for each question."""

from ..inference.figures import Figure
from .comparison import Comparison
from .curve import Difference, ErrorCurve
from .dependence import Dependence
from .findings import Finding
from .nested import FoldErrorTables, NestedCVResult
from .planning import Plan, breakeven_folds, plan

__all__ = [
    "Comparison",
    "Dependence",
    "Difference",
    "ErrorCurve",
    "Figure",
    "Finding",
    "FoldErrorTables",
    "NestedCVResult",
    "Plan",
    "breakeven_folds",
    "plan",
]
