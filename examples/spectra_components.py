"""
How many components for a spectrum?
===================================

Near-infrared spectra have more columns than rows, and neighbours that are nearly the same. Partial least squares takes
a few combinations of them, and chemists choose how many by the root mean squared error of prediction (RMSEP), with a
rule: the fewest components within one standard error of the best. ``error_curve`` has all numbers of components from
one pass over each training set, with an interval for each, and the difference to the best, which is what the rule
should look at. Replicates of a sample are in one group, or they would be trained and tested on the same thing.
"""

# %%
# Forty samples, each measured three times: bands of five substances, of which one is to be predicted, and a baseline
# that drifts from measurement to measurement. The spectra are simulated.

import numpy as np
from sklearn.cross_decomposition import PLSRegression

import onefit

rng = np.random.default_rng(0)
wavelengths = np.linspace(900, 1700, 301)
centres, widths = np.array([1010, 1150, 1195, 1390, 1420]), np.array([60, 25, 30, 45, 80])
bands = np.exp(-np.square((wavelengths[:, None] - centres) / widths) / 2)
content = rng.gamma(4.0, size=(40, 5))
groups = np.repeat(np.arange(40), 3)
drift = rng.normal(size=(120, 1)) + rng.normal(size=(120, 1)) * (wavelengths - 1300) / 400
X = content[groups] @ bands.T + drift + 0.02 * rng.normal(size=(120, 301))
y = content[groups, 1] + 0.1 * rng.normal(size=120)

# %%
# Ten components by ten folds of samples, five times: 2,750 fits, of which none is made.

curve = onefit.error_curve(
    PLSRegression(scale=False),
    X,
    y,
    param_name="n_components",
    param_range=range(1, 11),
    simpler="smaller",
    groups=groups,
    n_folds=10,
    n_repeats=5,
    random_state=0,
)
print(curve)
for count, error, low, high in zip(curve.values, curve.estimate, curve.low, curve.high, strict=True):
    print(f"{count:2d} components: RMSEP {error**0.5:.3f} ({low**0.5:.3f} to {high**0.5:.3f})")
print(curve.results[0].route_reason)

# %%
# The drawn curve, with the choice by the one-standard-error rule.

curve.plot()
