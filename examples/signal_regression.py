"""
A number from a curve
=====================

Each row of X is a curve: a spectrum, a day of temperatures, a heartbeat. ``SignalRegression`` finds a smooth weight
function omega with ``y = c + integral of x(t) omega(t) dt``; ``FPCR`` looks for it among the leading principal
components of the curves.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import onefit
from onefit.datasets import make_signal
from onefit.display.style import OTHER

# %%
# The simulation of Cao and Stringer (2026): 100 curves at 100 points, and omega(t) = sin(2 pi t).

simulation = make_signal(100, random_state=0)
X, y = simulation.X, simulation.y
t = np.arange(1, 101) / 100
models = {
    "SignalRegression": onefit.SignalRegression(lam="reml"),
    "FPCR, 5 components": onefit.FPCR(n_components=5, lam="reml"),
    "FPCR, 10 components": onefit.FPCR(n_components=10, lam="reml", components="refit"),
}

# %%
# The penalties are chosen by REML in every training set, and ``components="refit"`` finds the components there as well.
# All of it without refits.

for name, model in models.items():
    result = onefit.nested_cv(model, X, y, n_folds=10, n_repeats=5, random_state=0)
    low, high = result.interval
    truth = simulation.true_error(model.fit(X, y))
    print(f"{name}: {result.estimate:.5f} ({low:.5f} to {high:.5f}), true {truth:.5f}; {result.exactness}")

# %%
# The weight functions with their pointwise 95% bands; the truth is dashed. The band of FPCR takes omega to lie in the
# span of its components: with few of them it is too narrow.

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
axes[0].plot(t, X[:12].T, color=OTHER, linewidth=0.8)
axes[0].set(title="12 of the curves", xlabel="t")
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.plot_coefficient(ax=ax)
    ax.plot(t, np.sin(2 * np.pi * t), color="black", linewidth=1, linestyle="--")
    ax.set_title(name, loc="left", fontsize="medium")
    ax.set_ylim(-3, 3)
plt.show()
