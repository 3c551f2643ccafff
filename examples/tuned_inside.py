"""
A penalty that the data chose
=============================

The error at the best penalty of a curve is a little too good: that penalty was chosen because it did well on these very
rows. An estimator that tunes itself, given to ``nested_cv`` whole, chooses anew in every training set. For ``RidgeCV``
and for onefit's own models this needs no refits.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge, RidgeCV

import onefit
from onefit.datasets import make_linear
from onefit.display.style import CHOSEN, OTHER

ALPHAS = np.logspace(-1, 4, 21)

# %%
# 40 data sets of 60 rows and 30 columns. "Outside": the curve's smallest error. "Inside": the whole procedure. The
# simulation knows the true error of the model that would be deployed. Only estimates are used here, so the warnings
# about their intervals (two repeats are few, 60 rows sometimes look heavy-tailed) do not matter.

warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
ratio = {"tuned outside": [], "tuned inside": []}
for seed in range(40):
    simulation = make_linear(n=60, p=30, random_state=seed)
    X, y = simulation.X, simulation.y
    folds = {"n_folds": 10, "n_repeats": 2, "random_state": seed}
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=ALPHAS, **folds)
    ratio["tuned outside"].append(curve.estimate.min() / simulation.true_error(curve.refit()))
    tuned = onefit.nested_cv(RidgeCV(ALPHAS), X, y, **folds)
    ratio["tuned inside"].append(tuned.estimate / simulation.true_error(RidgeCV(ALPHAS).fit(X, y)))
for name, values in ratio.items():
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    print(f"{name}: estimated error over true error, mean {mean:.2f} (standard error {error:.2f})")

# %%
# The two estimates stand on the same rows and folds, so their difference is seen more sharply than either. It is small
# for one penalty of a ridge regression, and grows with what is chosen: more parameters, more models, fewer rows.

gap = np.subtract(ratio["tuned inside"], ratio["tuned outside"])
print(f"inside minus outside: {gap.mean():.3f} (standard error {gap.std(ddof=1) / np.sqrt(len(gap)):.3f})")

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.plot([0.3, 2.2], [0.3, 2.2], color=OTHER, linewidth=1)
ax.plot(ratio["tuned outside"], ratio["tuned inside"], "o", color=CHOSEN, alpha=0.7)
ax.axhline(1.0, color=OTHER, linewidth=0.8, linestyle=":")
ax.axvline(1.0, color=OTHER, linewidth=0.8, linestyle=":")
ax.set(xlabel="tuned outside: estimated over true error", ylabel="tuned inside: estimated over true error")
ax.set_title("Above the line: tuning inside gives the larger estimate", loc="left", fontsize="medium")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
