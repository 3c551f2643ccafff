"""GCV, leave-one-out and REML, and the penalties that they choose.

`single` has the criteria of one penalty, on many training sets at once, and `rows` decomposes one from its rows; `tall`
has those of very many rows without decomposing them. The others have those of several penalties that are chosen
jointly, as an additive model needs them: `reduced` fits, and projects out what no penalty sees, `points` has the
criteria and their derivatives, `multiple` searches.
"""

from .rows import Deletions, RowFit, spectrum_of_rows
from .single import (
    NEARLY_REACHED,
    RowPart,
    Spectrum,
    criterion_values,
    edf,
    search,
    search_range,
)
from .tall import AllRows, criteria_of_all_rows

__all__ = [
    "NEARLY_REACHED",
    "AllRows",
    "Deletions",
    "RowFit",
    "RowPart",
    "Spectrum",
    "criteria_of_all_rows",
    "criterion_values",
    "edf",
    "search",
    "search_range",
    "spectrum_of_rows",
]
