"""Pointwise losses, each with the scale on which its interval is built.

A loss sees the observed value and the held-out residual ``u = y - prediction``, not the prediction: squared and
absolute error then keep their accuracy when y is large and the residuals are small.
"""

from .metrics.givenlosses import find_loss
from .metrics.losses import Classes, Loss, huber, nonnegative, pinball

__all__ = ["Classes", "Loss", "find_loss", "huber", "nonnegative", "pinball"]
