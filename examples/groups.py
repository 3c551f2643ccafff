"""
Rows that come in groups
========================

Patients of a clinic, pupils of a class, measurements of one machine: such rows resemble each other. An interval that
takes them as independent is too narrow, and a model that is trained on one row of a group is tested too kindly on the
next. ``groups`` keeps the rows of a group together in a fold, and counts groups in place of rows.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import onefit
from onefit.datasets import make_grouped
from onefit.display.style import CHOSEN, OTHER

# %%
# A simulation with 30 groups of 8 rows. Each group has an effect of its own, as strong as the noise of a row. The
# simulation knows the true error of a fitted model, for rows of *new* groups.

simulation = make_grouped(n_groups=30, group_size=8, p=5, random_state=0)
X, y, groups = simulation.X, simulation.y, simulation.groups
model = LinearRegression().fit(X, y)
print(f"true error for rows of new groups: {simulation.true_error(model):.2f}")
for name, given in (("without groups", None), ("with groups", groups)):
    result = onefit.nested_cv(LinearRegression(), X, y, groups=given)
    low, high = result.interval
    print(f"{name:<15} {result.estimate:.2f}, 95% interval {low:.2f} to {high:.2f}")

# %%
# One data set proves nothing, so here are 200, with intervals at 90%. How many of them hold the true error?

intervals = np.empty((200, 2, 2))  # data sets, without or with groups, ends
truth = np.empty(200)
for i in range(200):
    simulation = make_grouped(n_groups=30, group_size=8, p=5, random_state=i)
    X, y = simulation.X, simulation.y
    truth[i] = simulation.true_error(LinearRegression().fit(X, y))
    for j, given in enumerate((None, simulation.groups)):
        intervals[i, j] = onefit.nested_cv(LinearRegression(), X, y, groups=given, confidence_level=0.9).interval
held = (intervals[..., 0] <= truth[:, None]) & (truth[:, None] <= intervals[..., 1])
for j, name in enumerate(("without groups", "with groups")):
    width = np.ptp(intervals[:, j], axis=1).mean()
    print(f"{name:<15} {100 * held[:, j].mean():.0f}% hold the true error, mean width {width:.2f}")

# %%
# The first 40 data sets. An interval that misses is drawn dark.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for j, (ax, name) in enumerate(zip(axes, ("without groups", "with groups"), strict=True)):
    for i in range(40):
        look = {"color": CHOSEN, "alpha": 0.5} if held[i, j] else {"color": "black"}
        ax.plot([i, i], intervals[i, j], linewidth=3, **look)
    ax.plot(np.arange(40), truth[:40], "o", color=OTHER, markersize=3, label="true error")
    ax.set(title=f"{name}: {100 * held[:, j].mean():.0f}% of 200 hold the true error", xlabel="data set")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("squared error, 90% interval")
axes[0].legend(frameon=False, loc="upper left")
plt.show()
