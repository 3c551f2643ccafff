"""
Which model is better, and how sure is that?
============================================

The intervals of two models overlap, and the models may still differ clearly: both intervals contain the noise of the
same rows. ``compare`` subtracts the losses row by row, on the same folds, and gives an interval for each difference.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor

import onefit

X, y = load_diabetes(return_X_y=True)
models = {
    "least squares": LinearRegression(),
    "ridge, tuned": RidgeCV([0.01, 0.1, 1.0, 10.0]),
    "additive": onefit.AdditiveModel(n_basis=6),
    "20 neighbours": KNeighborsRegressor(20),
}

# %%
# Each model takes the route that suits it, and none needs refits, though two of them choose their penalties anew in
# every training set.

comparison = onefit.compare(models, X, y, n_folds=10, n_repeats=5, random_state=0)
print(comparison.models[["estimate", "low", "high", "route"]].round(0))

# %%
# The paired differences, the error of the first minus that of the second: below zero speaks for the first.

print(comparison.to_frame()[["estimate", "low", "high"]].round(0))

# %%
# Above the errors, whose intervals all overlap; below the differences. Where an interval of a difference
# does not reach zero, the data tell the two models apart. Each interval is for a pair that was chosen in advance: among
# many pairs, some will differ by chance.

comparison.plot()
plt.show()
