"""What the public functions return: frozen, one class for each question."""

from ..inference.figures import Figure
from .comparison import Comparison
from .curve import Difference, ErrorCurve
from .findings import Finding
from .nested import FoldErrorTables, NestedCVResult

__all__ = ["Comparison", "Difference", "ErrorCurve", "Figure", "Finding", "FoldErrorTables", "NestedCVResult"]
