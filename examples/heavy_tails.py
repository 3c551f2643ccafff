"""
Heavy tails, and losses that bear them
======================================

If a few rows carry the variance of the losses, no interval for the squared error can be trusted. ``HeavyTailWarning``
says so. A loss that grows more slowly has an interval that holds better.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import onefit
from onefit.datasets import make_linear
from onefit.display.style import CHOSEN, OTHER

# %%
# Noise with Student's t distribution and 3 degrees of freedom: its squares have no variance.

simulation = make_linear(n=200, p=10, noise_kind="t3", random_state=1)
X, y = simulation.X, simulation.y
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    squared = onefit.nested_cv(LinearRegression(), X, y)
print(f"{caught[0].category.__name__}: {caught[0].message}\n")
print(squared.summary())

# %%
# One row makes most of the error, and ``heldout`` says which:

loss = squared.heldout["loss"].sort_values(ascending=False)
print(f"row {loss.index[0]}: {100 * loss.iloc[0] / loss.sum():.0f}% of the sum of the losses")

# %%
# The same predictions, judged by other losses. The model is fitted as before: the loss only judges. Intervals relative
# to their estimates show how sure each figure is. In this sample one row is so far out that Huber's loss and the
# absolute error warn as well, and name the remedy that is left: to look at that row.

losses = {
    "squared error": "squared_error",
    "Huber, delta 1": onefit.losses.huber(1.0),
    "absolute error": "absolute_error",
}
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, (name, loss) in enumerate(losses.items()):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.HeavyTailWarning)
        result = onefit.nested_cv(LinearRegression(), X, y, loss=loss)
    low, high = (end / result.estimate for end in result.interval)
    print(f"{name}: {result.estimate:.3g}, interval from {low:.2f} to {high:.2f} times that")
    color = OTHER if place == 0 else CHOSEN
    ax.plot([low, high], [place, place], color=color, linewidth=3, solid_capstyle="round")
    ax.plot([1.0], [place], "o", color=color)
ax.set_yticks(np.arange(len(losses)), list(losses))
ax.set(xscale="log", xlabel="95% interval over estimate", ylim=(2.6, -0.6))
ax.set_xticks([0.1, 0.5, 1, 2, 10], ["0.1", "0.5", "1", "2", "10"])
ax.spines[["top", "right"]].set_visible(False)
plt.show()
