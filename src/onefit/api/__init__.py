"""The public functions: where the layers are wired."""

from .comparison import compare
from .curve import error_curve
from .nested import nested_cv
from .planning import plan_for

__all__ = ["compare", "error_curve", "nested_cv", "plan_for"]
