"""Held-out probabilities of a result, as what pictures of them need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from .. import display
from ..errors import DataError
from ..metrics.reliability import Reliability, RocBand, recalibration_line, reliability, roc_band
from ..typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Probabilities", "draw_calibration", "draw_roc", "probabilities_of"]

PREFIX = "probability_"


class Probabilities(NamedTuple):
    """Of two classes: mean held-out probability of the second, which rows are of it, its name, and groups of rows."""

    chance: FloatArray
    positive: BoolArray
    label: str
    level: float
    calibration: pd.DataFrame | None
    groups: IntArray | None

    def bins(self) -> Reliability:
        """Observed shares by bins of probability."""
        return reliability(self.chance, self.positive, self.level)

    def line(self) -> tuple[FloatArray, FloatArray] | None:
        """The line of the logistic recalibration, if there is one."""
        if self.calibration is None or self.calibration["estimate"].isna().any():
            return None
        slope, intercept = (
            float(self.calibration["estimate"][f"calibration_{name}"]) for name in ("slope", "intercept")
        )
        return recalibration_line(self.chance, slope, intercept)

    def roc(self) -> RocBand:
        """The ROC curve with its band."""
        return roc_band(self.chance, self.positive, self.level, self.groups)


def probabilities_of(result: Any) -> Probabilities | None:
    """The held-out probabilities of two classes; None if a result has none."""
    table = result.heldout
    names = [name for name in table.columns if isinstance(name, str) and name.startswith(PREFIX)]
    if len(names) != 2 or "observed" not in table.columns:
        return None
    scored = table[names[1]].notna().to_numpy()
    table, groups = table[scored], result._row_groups
    label = names[1].removeprefix(PREFIX)
    positive = (table["observed"].astype(str) == label).to_numpy()
    chance, own = table[names[1]].to_numpy(float), None if groups is None else groups[scored]
    return Probabilities(chance, positive, label, result.confidence_level, result.calibration, own)


def _needed(result: Any, kind: str) -> Probabilities:
    found = probabilities_of(result)
    if found is None:
        raise DataError(
            f'plot(kind="{kind}") needs held-out probabilities of two classes, and this result has none: ask for a '
            'metric of scores or probabilities, such as scoring="roc_auc" or "neg_log_loss", of a classifier with '
            "predict_proba."
        )
    return found


def draw_calibration(result: Any, ax: Axes | None) -> Axes:
    """The reliability picture."""
    found = _needed(result, "calibration")
    bins = found.bins()
    return display.plot_calibration(
        bins.probability, bins.share, bins.low, bins.high, line=found.line(), label=found.label,
        confidence_level=found.level, title=_calibration_title(result), ax=ax,
    )  # fmt: skip


def _calibration_title(result: Any) -> str:
    if result.calibration is None:
        return "Calibration"
    slope = result.calibration.loc["calibration_slope"]
    return f"Calibration: slope {slope['estimate']:.2f} ({slope['low']:.2f} to {slope['high']:.2f})"


def draw_roc(result: Any, ax: Axes | None) -> Axes:
    """The ROC curve, with the AUC in the title if it was asked for."""
    found = _needed(result, "roc")
    title = "ROC curve"
    if "roc_auc" in result.metrics.index:
        area = result.metrics.loc["roc_auc"]
        title += f": AUC {area['estimate']:.3f} ({area['low']:.3f} to {area['high']:.3f})"
    roc = found.roc()
    resampled = "rows" if found.groups is None else "groups"
    return display.plot_roc(
        *roc, label=found.label, confidence_level=found.level, resampled=resampled, title=title, ax=ax
    )
