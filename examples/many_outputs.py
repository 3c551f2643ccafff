"""
Many outputs at once
====================

If ``y`` has columns, one call gives an estimate and an interval for each: the fits share their decomposition, and every
figure of the result has a last axis of outputs. Here are six blood measurements of scikit-learn's diabetes data,
predicted from age, sex, body mass index and blood pressure.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import onefit
from onefit.display.style import CHOSEN, GRID, OTHER

frame = load_diabetes(as_frame=True, scaled=False).data
body, blood = frame[["age", "sex", "bmi", "bp"]], frame[["s1", "s2", "s3", "s4", "s5", "s6"]]
result = onefit.nested_cv(Ridge(alpha=1.0), body, blood)
print(result.to_frame()[["estimate", "low", "high"]].round(3))

# %%
# The outputs have different units, so R² compares them: the part of the variance that is predicted, with its interval.

for name, estimate, low, high in zip(result.output_names, *result.r2, strict=True):
    print(f"{name}: R2 {estimate:.2f} ({low:.2f} to {high:.2f})")

# %%
# Each output may have a penalty of its own: the best one along a curve, and a model fitted with all six.

curve = onefit.error_curve(Ridge(), body, blood, param_name="alpha", param_range=np.logspace(0, 5, 26))
best = curve.select("one_se")
print(dict(zip(curve.output_names, best.round(0).tolist(), strict=True)))
print(curve.refit("one_se").predict(body[:1]).round(2))

# %%
# The least and the most that the four measurements tell about the blood.

estimate, low, high = result.r2
order = np.argsort(estimate)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hlines(np.arange(6), low[order], high[order], color=CHOSEN, linewidth=3)
ax.plot(estimate[order], np.arange(6), "o", color=CHOSEN)
ax.axvline(0.0, color=OTHER, linewidth=1)
ax.set_yticks(np.arange(6), [result.output_names[q] for q in order])
ax.set_xlabel("R², 95% interval")
ax.grid(axis="x", color=GRID)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
