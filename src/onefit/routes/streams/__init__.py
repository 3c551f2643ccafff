"""Nested cross-validation of tables whose rows are read twice, whatever the repeats, values and models.

`rows` reads them where they are and gives them their folds, `models` know how their columns are made of them and how
their training sets are solved, `passes` are the tasks that are sent to whoever reads, `training` has the training
sets from the first of them, and `compute` puts them together.
"""

from .compute import StreamedComputation
from .encoded import encoded_model
from .glm import GLMModel, glm_model
from .models import MeanModel, StreamedModel, streamed_model
from .outcome import Sample, StreamedFolds, StreamedOutcome
from .rows import ClassDeal, Deal, GivenFolds, GroupDeal, ReadRows, RowDeal, RowReader, Target
from .searched import SearchedModel, searched_model

__all__ = [
    "ClassDeal",
    "Deal",
    "GLMModel",
    "GivenFolds",
    "GroupDeal",
    "MeanModel",
    "ReadRows",
    "RowDeal",
    "RowReader",
    "Sample",
    "SearchedModel",
    "StreamedComputation",
    "StreamedFolds",
    "StreamedModel",
    "StreamedOutcome",
    "Target",
    "encoded_model",
    "glm_model",
    "searched_model",
    "streamed_model",
]
