"""What can be run: each experiment with its tables, its picture and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from . import counts, growth, pictures, selection, speed, words
from .timing import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Experiment"]


@dataclass(frozen=True)
class Experiment:
    """Tables by name, how they are computed and described, and drawn where there is a picture."""

    title: str
    tables: tuple[str, ...]
    run: Callable[[Settings], dict[str, pd.DataFrame]]
    describe: Callable[[pictures.Tables], str]
    draw: Callable[[pictures.Tables], Figure] | None = None


EXPERIMENTS = {
    "figure1": Experiment(
        "Time of refits over that of other ways, against the rows, for each p",
        ("figure1",),
        speed.figure1,
        words.describe_rows,
        pictures.draw_rows,
    ),
    "figure2": Experiment(
        "Time of refits over that of other ways, against the rows, with p in proportion",
        ("figure2",),
        speed.figure2,
        words.describe_growing,
        pictures.draw_growing,
    ),
    "figure3": Experiment(
        "Time of refits over that of other ways, against the folds, with the predicted break-even",
        ("figure3", "figure3_crossover"),
        speed.figure3,
        words.describe_folds,
        pictures.draw_folds,
    ),
    "figure4a": Experiment(
        "Estimated error along the penalty with intervals, and the error on test sets",
        ("figure4a", "figure4_choices", "figure4_times"),
        selection.figure4a,
        words.describe_errors,
        pictures.draw_errors,
    ),
    "figure4b": Experiment(
        "Minus the restricted log-likelihood along the penalty",
        ("figure4b",),
        selection.figure4b,
        words.describe_likelihood,
        pictures.draw_likelihood,
    ),
    "table1": Experiment("Growth", ("table1", "table1_times"), growth.table1, words.describe_growth),
    "table2": Experiment("Operations of the formula", ("table2",), counts.table2, words.describe_counts),
    "table3": Experiment("Operations of refits", ("table3", "table3_plan"), counts.table3, words.describe_fits),
}
