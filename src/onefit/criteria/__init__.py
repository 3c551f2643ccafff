"""GCV, leave-one-out and REML, and the penalties that they choose.

A `spectrum` is what every criterion of one penalty follows from, on many training sets at once: `single` has those,
`sets` leave-one-out where their rows are too many to be held, and `rows` decomposes one from its rows; `tall` has those
of very many rows without decomposing them, and `pairs` those without each pair of rows. The others have those of
several penalties that are chosen jointly, as an additive model needs them: `coordinates` tell what they see,
`reduced` fits, and projects out what none sees, `points` has the criteria and their derivatives, `multiple` searches.
"""

from .pairs import PAIR_CRITERIA, PairSearch
from .rows import Deletions, RowFit, spectrum_of_rows
from .sets import SetRows, loo_on_grid
from .single import criterion_values, edf, largest_of_search, search, search_range
from .spectrum import NEAR_ROUNDING, NEARLY_REACHED, RowPart, Spectrum
from .tall import AllRows, criteria_of_all_rows

__all__ = [
    "NEARLY_REACHED",
    "NEAR_ROUNDING",
    "PAIR_CRITERIA",
    "AllRows",
    "Deletions",
    "PairSearch",
    "RowFit",
    "RowPart",
    "SetRows",
    "Spectrum",
    "criteria_of_all_rows",
    "criterion_values",
    "edf",
    "largest_of_search",
    "loo_on_grid",
    "search",
    "search_range",
    "spectrum_of_rows",
]
