"""What an error is: losses, each with the scale on which its interval is built."""

from .asked import Asked, asked_of_loss, asked_of_metrics, rule_scale_of
from .contract import Metric, Reduced, Repeat, Shown
from .givenlosses import LossLike, find_loss, takes_two
from .losses import NAMED, Classes, KeptScores, Loss, huber, nonnegative, pinball
from .scoring import ScoringLike

__all__ = [
    "NAMED",
    "Asked",
    "Classes",
    "KeptScores",
    "Loss",
    "LossLike",
    "Metric",
    "Reduced",
    "Repeat",
    "ScoringLike",
    "Shown",
    "asked_of_loss",
    "asked_of_metrics",
    "find_loss",
    "huber",
    "nonnegative",
    "pinball",
    "rule_scale_of",
    "takes_two",
]
