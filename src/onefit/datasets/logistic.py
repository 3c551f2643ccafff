"""Two classes from a sparse logistic model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..checks import check_integer
from ..errors import DataError
from ..typing import ArrayLike, FloatArray, IntArray, Predictor, Seed
from .predictor import REMEDY, linear_map, prediction_function
from .quadrature import integrate
from .simulation import Law, Simulation, check_coefficients, simulate

__all__ = ["make_logistic"]

FARTHEST = 9.0  # a standard normal is beyond it with probability 2e-19


@dataclass(frozen=True)
class LogisticLaw(Law):
    """Columns are independent N(0, 1), the log odds of class 1 are ``X beta``."""

    beta: FloatArray

    @property
    def description(self) -> str:
        """What is simulated."""
        p, nonzero = len(self.beta), np.count_nonzero(self.beta)
        return f"Simulated: {p} columns N(0, 1), classes 0 and 1 with log odds X beta; {nonzero} of beta are not zero."

    @property
    def best_error(self) -> float:
        """Error of the classifier that knows beta."""
        return self._linear_error(0.0, self.beta)

    def mean(self, X: FloatArray) -> FloatArray:
        """Probability of class 1."""
        probability: FloatArray = special.expit(X @ self.beta)
        return probability

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
        """Draw rows and classes."""
        X = rng.standard_normal((n, len(self.beta)))
        return X, (rng.uniform(size=n) < self.mean(X)).astype(np.intp)

    def true_error(self, fitted: Predictor) -> float:
        """Probability that a linear classifier is wrong."""
        rows, predict = self.rows_to_check(), prediction_function(fitted)
        score = _score_function(fitted)
        constant, slopes = linear_map(score, rows)
        if not np.array_equal(np.asarray(predict(rows)).ravel(), constant + rows @ slopes > 0):
            raise DataError(
                "The model does not predict class 1 where its linear score is positive and class 0 elsewhere, and the "
                f"exact error is known only for those that do. {REMEDY}"
            )
        return self._linear_error(constant, slopes)

    def _linear_error(self, a: float, w: FloatArray) -> float:
        """Error of the classifier ``a + X w > 0``.

        Given ``X beta = s z``, where z is standard normal, the score is normal with mean ``a + (w'b) z``, b being the
        direction of beta, and with the variance of w across b. That leaves an integral over z.
        """
        s = float(np.linalg.norm(self.beta))
        b = self.beta / s if s > 0 else self.beta
        slope = float(w @ b)
        across = max(float(np.linalg.norm(w - slope * b)), np.finfo(float).tiny)

        def error_at(z: FloatArray) -> FloatArray:
            with np.errstate(over="ignore"):  # a score that z alone decides is infinitely many deviations from zero
                p_score = special.ndtr((a + slope * z) / across)
            p_class = special.expit(s * z)
            wrong = p_class * (1 - p_score) + (1 - p_class) * p_score
            weighted: FloatArray = wrong * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
            return weighted

        edges = np.linspace(-FARTHEST, FARTHEST, 65)
        if abs(a) < FARTHEST * abs(slope):
            edges = np.union1d(edges, -a / slope)
        return integrate(error_at, edges, scale=0.0)


def _score_function(fitted: Predictor) -> Callable[[FloatArray], ArrayLike]:
    """Return the function whose sign is the class: decision_function, else from coef_ and intercept_."""
    if hasattr(fitted, "decision_function"):
        return fitted.decision_function  # type: ignore[no-any-return]
    if not (hasattr(fitted, "coef_") and hasattr(fitted, "intercept_")):
        raise DataError(
            f"{type(fitted).__name__} has neither decision_function nor coef_ and intercept_, and the exact error is "
            f"known only for linear classifiers. {REMEDY}"
        )
    coefficients, constant = np.ravel(fitted.coef_), np.ravel(fitted.intercept_)
    return lambda X: X @ coefficients + constant


def make_logistic(n: int = 100, p: int = 20, *, beta: ArrayLike = 1.0, random_state: Seed = None) -> Simulation:
    """Simulate two classes from a sparse logistic model as Bates, Hastie and Tibshirani do.

    The columns of X are independent N(0, 1), and y is 1 with probability ``1/(1 + exp(-X beta))``, else 0.

    Parameters
    ----------
    n : int, default=100
        Number of rows, at least 2.
    p : int, default=20
        Number of columns.
    beta : float or array of shape (p,), default=1.0
        Coefficients. A number is the value of the first four, and the others are zero: 1 is the authors' sparse example
        (there p = 1,000, n = 90 or 200). Their example of few columns has p = 10, n = 100 and beta
        ``[1, 0, ..., 0]`` or twice that.
    random_state : int, numpy Generator or None, default=None

    Returns
    -------
    Simulation

    Notes
    -----
    The true error is the probability of a wrong class. It is known for linear classifiers, which give class 1 where a
    linear score is positive; the score is ``decision_function``, else from ``coef_`` and ``intercept_``. Score and log
    odds are jointly normal, so that one integral remains; it is good to about 1e-12. Any other classifier is a
    `DataError`.

    References
    ----------
    Bates, Hastie and Tibshirani (2024). Cross-validation: what does it estimate and how well does it do it? Journal of
    the American Statistical Association 119, 1434-1445.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from onefit.datasets import make_logistic
    >>> simulation = make_logistic(n=100, p=10, random_state=0)
    >>> model = LogisticRegression().fit(simulation.X, simulation.y)
    >>> round(simulation.best_error, 3), simulation.true_error(model) < 0.5
    (0.222, True)
    """
    n = check_integer("n", n, 2)
    return simulate(LogisticLaw(check_coefficients(beta, check_integer("p", p, 1))), n, random_state)
