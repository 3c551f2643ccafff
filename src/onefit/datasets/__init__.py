"""Data to try things on: a classic, a table with text and gaps, and simulations whose true error is known.

A `Simulation` knows what cross-validation tries to estimate: `Simulation.true_error` is the generalization error of a
model that was fitted to its rows, computed rather than estimated. Whether an interval covers it can then be seen
without a test set.

>>> from sklearn.linear_model import LinearRegression
>>> from onefit.datasets import make_linear
>>> simulation = make_linear(n=100, p=20, random_state=0)
>>> model = LinearRegression().fit(simulation.X, simulation.y)
>>> simulation.best_error < simulation.true_error(model)
True
"""

from .gaussian import make_grouped, make_linear, make_signal
from .houses import make_houses
from .logistic import make_logistic
from .motorcycle import load_motorcycle
from .simulation import Simulation
from .sine import make_sine

__all__ = [
    "Simulation",
    "load_motorcycle",
    "make_grouped",
    "make_houses",
    "make_linear",
    "make_logistic",
    "make_signal",
    "make_sine",
]
