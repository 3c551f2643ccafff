"""
Does the band of a Gaussian process hold?
=========================================

A Gaussian process draws a band around its curve. Whether new observations fall into it as often as it says is a
question of held-out rows, and so is the density that it gives to them, the log score. Both come without refits: the
kernel is optimized once, and kept (``transformers="freeze"``).
"""

# %%
# The motorcycle data: acceleration of a head after a crash. Their noise is small before the impact and large after it;
# a Gaussian process with one noise for all rows cannot know that.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import onefit

X, y = onefit.datasets.load_motorcycle(return_X_y=True)
model = GaussianProcessRegressor(RBF(5.0) + WhiteKernel(0.3), normalize_y=True)
keywords = {"loss": "neg_log_predictive", "transformers": "freeze", "n_folds": 10, "n_repeats": 10, "random_state": 0}
result = onefit.nested_cv(model, X, y, **keywords)
print(result)

# %%
# An alpha for every row says what is known of its noise: here as much as the rows around it have. The kernel is the one
# that was found above, without its white part, in units of the standard deviation of y.

residuals = (y - result.heldout["prediction"].to_numpy()) / y.std()
distance = np.abs(X - X.T)
around = np.exp(-np.square(distance / 3.0) / 2)
alpha = (around @ np.square(residuals)) / around.sum(axis=1)
smooth = model.fit(X, y).kernel_.k1
own = GaussianProcessRegressor(smooth, alpha=alpha, normalize_y=True, optimizer=None)
noisy = onefit.nested_cv(own, X, y, **keywords)
print(noisy)

# %%
# The log score is better, as the band is narrow where rows are quiet. (The noise was estimated from the same rows, so
# this is the score of the model given its noise, as the kernel is given.)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for axis, each, title in zip(axes, (result, noisy), ("one noise", "noise of its own"), strict=True):
    order = np.argsort(X[:, 0])
    mean, std = (each.heldout[name].to_numpy()[order] for name in ("prediction", "std"))
    axis.fill_between(X[order, 0], mean - 1.96 * std, mean + 1.96 * std, alpha=0.25)
    axis.plot(X[order, 0], mean)
    axis.plot(X[:, 0], y, ".", color="black", markersize=3)
    axis.set(title=title, xlabel="milliseconds")
axes[0].set_ylabel("acceleration")
figure.tight_layout()
