"""What y is drawn from: numbers, classes, counts or amounts; and the working least squares of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy import special
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ..checks import check_choice
from ..errors import DataError
from ..learners.glm_families import Binomial, Family, Gamma, Poisson
from ..typing import AnyArray, FloatArray

__all__ = ["FAMILIES", "FamilyName", "Response", "check_family"]

FamilyName: TypeAlias = Literal["gaussian", "binomial", "poisson", "gamma"]
FAMILIES: tuple[str, ...] = get_args(FamilyName)


@dataclass(frozen=True)
class Response:
    """A distribution of y with its link.

    Attributes
    ----------
    name : str
    family : Family
        Its loss, half the deviance but for a constant, in the linear predictor.
    has_known_scale : bool
        Whether the variance of y is a function of its mean alone.
    """

    name: str
    family: Family
    has_known_scale: bool

    @property
    def has_classes(self) -> bool:
        """Whether y holds two classes."""
        return self.name == "binomial"

    def mean(self, eta: FloatArray) -> FloatArray:
        """Means, or probabilities of the second class, from linear predictors."""
        return np.asarray(special.expit(eta) if self.has_classes else np.exp(eta))

    def start(self, y: FloatArray) -> FloatArray:
        """Linear predictors of means near y, from which the first working model is made, as in mgcv."""
        if self.has_classes:
            return np.asarray(special.logit((y + 2.0) / 4.0))  # (y + 1/2) / 2 of y in {0, 1}
        return np.asarray(np.log(y + 0.1 if self.name == "poisson" else y))

    def working(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Working response and weights of Fisher's scoring, (n,), at linear predictors (n,)."""
        if self.has_classes:
            weights = special.expit(eta) * special.expit(-eta)
        else:
            weights = np.exp(eta) if self.name == "poisson" else np.ones(len(eta))
        residual = self.family.residual(eta[None].copy(), y[None])[0]
        counts = weights > np.finfo(float).tiny
        return eta + np.where(counts, residual / np.where(counts, weights, 1.0), 0.0), np.where(counts, weights, 0.0)

    def deviance(self, eta: FloatArray, y: FloatArray, weights: FloatArray) -> float:
        """Twice what the log likelihood is short of that of means that are y themselves."""
        least = np.zeros(len(y))
        if self.name == "poisson":
            least = y - special.xlogy(y, y)
        elif self.name == "gamma":
            least = 1.0 + np.log(y)
        return float(2.0 * weights @ (self.family.loss(eta[None], y[None]) - least))

    def null_predictor(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Linear predictors (n,) of the best constant."""
        return np.full(len(y), self.family.start(y[None], weights)[0])

    def check(self, y: AnyArray, weights: FloatArray) -> tuple[FloatArray, AnyArray | None]:
        """Y as the loss codes it, and the classes if it holds classes; refuses values that the loss is not made for."""
        if self.has_classes:
            return _two_classes(y, weights)
        bad = np.flatnonzero(self.family.fault(y))
        if len(bad):
            needs = "counts, zero or larger" if self.name == "poisson" else "amounts larger than zero"
            raise DataError(
                f'family="{self.name}" is for {needs}, and y is {y[bad[0]]:g} in row {bad[0]}; leave such rows out, or '
                "choose another family."
            )
        return y, None


def _two_classes(y: AnyArray, weights: FloatArray) -> tuple[FloatArray, AnyArray]:
    """Two classes, coded -1 and 1."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise DataError(
            f"Only binary classification is supported. The type of the target is {type_of_target(y)}; y has "
            f'{len(classes)} classes, and family="binomial" tells two apart.'
        )
    if len(np.unique(codes[weights > 0])) < 2:
        raise DataError(
            f"y has only one class, {classes[codes[weights > 0][0]]}, in the rows that count; there is nothing to "
            "tell apart."
        )
    return np.where(codes > 0, 1.0, -1.0), classes


RESPONSES = {
    "binomial": Response("binomial", Binomial(), True),
    "poisson": Response("poisson", Poisson(), True),
    "gamma": Response("gamma", Gamma(), False),
}


def check_family(family: object) -> Response | None:
    """The distribution of a name; None for the normal one, which is least squares."""
    return RESPONSES.get(check_choice("family", family, FAMILIES))
