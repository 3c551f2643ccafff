"""Sums over repeats of what was held out of each row."""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray

__all__ = ["RowTotals"]


class RowTotals:
    """Running sums over repeats of each row's held-out residual and loss: memory does not grow with L.

    Residuals and losses are parts of one table (n, V, Q + R), so that a table of one value is made without a copy; with
    very many rows its numbers lie beside each other, ``by_value``. If there is one repeat, ``is_only``, its tables may
    take the place of the sums.
    """

    def __init__(
        self, n: int, n_values: int, n_outputs: int, n_losses: int, by_value: bool = False, is_only: bool = False
    ) -> None:
        width, self.is_only = n_outputs + n_losses, is_only
        self._n_outputs, self.count = n_outputs, np.zeros(n)
        if by_value:  # memory takes long when it is first touched: only once, when the sums are put there
            self.both = np.empty((n_values, width, n)).transpose(2, 0, 1)
        else:
            self.both = np.zeros((width, n, n_values)).transpose(1, 2, 0)

    @property
    def residuals(self) -> FloatArray:
        """Sums of the residuals, (n, V, Q)."""
        return self.both[..., : self._n_outputs]

    @property
    def losses(self) -> FloatArray:
        """Sums of the losses, (n, V, R)."""
        return self.both[..., self._n_outputs :]

    def put(self, start: int, stop: int, part: RowTotals) -> None:
        """Write those of consecutive rows, the first of ``part``; how often they were scored is counted elsewhere."""
        self.both[start:stop] = part.both[: stop - start]

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Mean residual and mean loss of each row; NaN for rows never scored. They take the place of the sums."""
        self.both /= np.where(self.count > 0, self.count, np.nan)[:, None, None]
        self.count = np.sign(self.count)
        return self.residuals, self.losses
