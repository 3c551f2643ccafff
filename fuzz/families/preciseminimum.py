"""Losses of linear scores at their minimum, in ball arithmetic: digits are certain, however unevenly rows weigh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

__all__ = ["BernoulliRows", "FamilyRows", "Minimum", "Rows", "SoftmaxRows"]

LONG = np.longdouble
BITS = (256, 1024, 4096)
MOST_BEYOND, NEAR = 2.0, 8.0
"""A step may change scores by as many times the largest of them, and by so much anyway."""
MOST_STEPS, MOST_HALVINGS = 400, 60
"""Steps with as many bits; far out they may change scores by one only."""
KNOWN, LEAST = 2.0**-100, 1e-40
"""Of the largest coefficient of a column of size one: a step that is certain to be smaller changes nothing. And the
least that counts for one."""
DEPENDENT = 1e-12
"""Part of a column that others, in front of it, do not span: below that it is made of rounding errors."""


class Rows(ABC):
    """A loss of rows, and its first two derivatives, by their scores; one score, or one for each class."""

    count = 1

    @abstractmethod
    def loss(self, i: int, scores: list[arb]) -> arb:
        """Of a row."""

    @abstractmethod
    def slopes(self, i: int, scores: list[arb]) -> tuple[list[arb], list[list[arb]]]:
        """First derivatives (k,) and second ones (k, k) of a row's loss."""


class FamilyRows(Rows):
    """Half a Tweedie deviance of log links, but for terms without scores; squared errors where the power is 0."""

    def __init__(self, y: np.ndarray, power: float) -> None:
        self.y, self.power = [float(each) for each in y], float(power)

    def loss(self, i: int, scores: list[arb]) -> arb:
        """Of a row."""
        (eta,), y, p = scores, self.y[i], arb(self.power)
        if p == 0:
            return (eta - y) ** 2 / 2
        grown = eta if p == 2 else ((2 - p) * eta).exp() / (2 - p)
        return grown - (y * eta if p == 1 else y * ((1 - p) * eta).exp() / (1 - p))

    def slopes(self, i: int, scores: list[arb]) -> tuple[list[arb], list[list[arb]]]:
        """First and second derivative."""
        (eta,), y, p = scores, self.y[i], arb(self.power)
        if p == 0:
            return [eta - y], [[arb(1)]]
        up, down = ((2 - p) * eta).exp(), y * ((1 - p) * eta).exp()
        return [up - down], [[(2 - p) * up - (1 - p) * down]]


class BernoulliRows(Rows):
    """The log loss of two classes; of probabilities near one the rest is no difference."""

    def __init__(self, is_second: np.ndarray) -> None:
        self.sign = [1 if each else -1 for each in is_second]

    def loss(self, i: int, scores: list[arb]) -> arb:
        """Of a row."""
        return (1 + (-self.sign[i] * scores[0]).exp()).log()

    def slopes(self, i: int, scores: list[arb]) -> tuple[list[arb], list[list[arb]]]:
        """First and second derivative."""
        margin = self.sign[i] * scores[0]
        right, wrong = 1 / (1 + (-margin).exp()), 1 / (1 + margin.exp())
        return [-self.sign[i] * wrong], [[right * wrong]]


class SoftmaxRows(Rows):
    """The log loss of several classes, a score each."""

    def __init__(self, codes: np.ndarray, count: int) -> None:
        self.codes, self.count = [int(each) for each in codes], count

    def loss(self, i: int, scores: list[arb]) -> arb:
        """Of a row."""
        own = scores[self.codes[i]]
        return sum(((each - own).exp() for each in scores), arb(0)).log()

    def slopes(self, i: int, scores: list[arb]) -> tuple[list[arb], list[list[arb]]]:
        """First derivatives, and all pairs of second ones."""
        top, every = max(each.mid() for each in scores), range(self.count)
        sizes = [(each - top).exp() for each in scores]
        whole = sum(sizes, arb(0))
        chance = [each / whole for each in sizes]
        rest = [sum((sizes[b] for b in every if b != a), arb(0)) / whole for a in every]
        first = [-rest[a] if a == self.codes[i] else chance[a] for a in every]
        return first, [[chance[a] * (rest[a] if a == b else -chance[b]) for b in every] for a in every]


class Minimum:
    """The minimum of ``sum_i w_i loss_i(A theta) + theta' diag(penalty) theta / 2``, by Newton's method.

    Columns without a penalty that others in front of them span have coefficients of zero, as in `precise.solve`.
    """

    def __init__(self, A: np.ndarray, weights: np.ndarray, rows: Rows, penalty: np.ndarray, start: np.ndarray) -> None:
        largest = np.abs(A).max(axis=0, initial=0)
        self.size = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, LONG(1)))))  # divided by without rounding
        seen = np.flatnonzero(weights > 0)
        scaled, is_in = (A / self.size)[seen], penalty > 0
        is_in[~is_in] = _are_own(scaled[:, ~is_in])
        self.free, self._rows, self._seen = np.flatnonzero(is_in), rows, seen.tolist()
        with ctx.workprec(BITS[-1]):
            self._A, self._w = _balls(scaled[:, is_in]), [_ball(each) for each in weights[seen]]
            self._penalty = [_ball(penalty[j]) / _ball(self.size[j]) ** 2 for j in self.free]
            theta = _balls((start * self.size[:, None])[is_in])
        for bits in BITS:
            with ctx.workprec(bits):
                theta, is_ended = self._descended(theta)
            if is_ended:
                self.theta = theta
                return
        raise FloatingPointError("Newton's method does not end: the fit is not unique, or at infinity")

    def coefficients(self) -> np.ndarray:
        """One for each column and score (width, k), rounded once."""
        whole = np.zeros((len(self.size), self._rows.count), dtype=LONG)
        whole[self.free] = _longs(self.theta)
        return whole / self.size[:, None]

    def scores(self, A: np.ndarray) -> np.ndarray:
        """Of rows (n, k), rounded once."""
        with ctx.workprec(BITS[-1]):
            return _longs(_balls((A / self.size)[:, self.free]) * self.theta)

    def _descended(self, theta: arb_mat) -> tuple[arb_mat, bool]:
        """Where Newton's method comes to, and whether its next step is known to be nothing."""
        if not len(self.free):
            return theta, True
        value = self._value(theta)
        for _ in range(MOST_STEPS):
            step = self._step(theta)
            if step is None:
                break
            largest = max([LEAST, *(float(abs(each).mid()) for each in theta.entries())])
            if all(float(each.abs_upper()) <= KNOWN * largest for each in step.entries()):
                return theta, True
            first = self._too_far(theta, step)
            for halvings in range(first, first + MOST_HALVINGS):
                tried = (theta - step * (arb(2) ** -halvings)).mid()
                lower = self._value(tried)
                if lower.is_finite() and not lower > value:
                    break
            else:
                break
            theta, value = tried, lower
        return theta, False

    def _too_far(self, theta: arb_mat, step: arb_mat) -> int:
        """How often a step is halved that goes far beyond all scores so far: to where all is flat, and stays so."""
        reach = [max([LEAST, *(float(abs(each).mid()) for each in (self._A * of).entries())]) for of in (theta, step)]
        return max(0, int(np.ceil(np.log2(reach[1] / max(MOST_BEYOND * reach[0], NEAR)))))

    def _value(self, theta: arb_mat) -> arb:
        losses = (self._rows.loss(i, row) for i, row in zip(self._seen, (self._A * theta).tolist(), strict=True))
        value = sum((w * each for w, each in zip(self._w, losses, strict=True)), arb(0))
        squares = (sum((each * each for each in row), arb(0)) for row in theta.tolist())
        return value + sum((c * each for c, each in zip(self._penalty, squares, strict=True)), arb(0)) / 2

    def _step(self, theta: arb_mat) -> arb_mat | None:
        """Newton's; None if these bits do not tell it."""
        k, width = self._rows.count, len(self.free)
        first, second = self._derivatives(theta)
        places = [(a, j) for a in range(k) for j in range(width)]
        hessian = arb_mat([[second[a][b][i, j] for b, j in places] for a, i in places])
        for at, (_, j) in enumerate(places):
            hessian[at, at] += self._penalty[j]
            if k > 1:  # what all classes share changes no probability, and is zero where there is a penalty
                for b in range(k):
                    hessian[at, b * width + j] += 1
        try:
            found = hessian.solve(arb_mat([[first[j, a] + self._penalty[j] * theta[j, a]] for a, j in places]))
        except ZeroDivisionError:
            return None
        step = arb_mat([[found[a * width + j, 0] for a in range(k)] for j in range(width)])
        return step if all(each.is_finite() for each in step.entries()) else None

    def _derivatives(self, theta: arb_mat) -> tuple[arb_mat, list[list[arb_mat]]]:
        """Of the losses: (width, k), and for each two scores (width, width)."""
        sides, lines, every = self._A.transpose(), self._A.tolist(), range(self._rows.count)
        found = [self._rows.slopes(i, row) for i, row in zip(self._seen, (self._A * theta).tolist(), strict=True)]
        first = sides * arb_mat([[w * each for each in slopes] for w, (slopes, _) in zip(self._w, found, strict=True)])

        def curved(a: int, b: int) -> arb_mat:
            sizes = [w * curves[a][b] for w, (_, curves) in zip(self._w, found, strict=True)]
            return sides * arb_mat([[c * x for x in line] for c, line in zip(sizes, lines, strict=True)])

        return first, [[curved(a, b) for b in every] for a in every]


def _are_own(A: np.ndarray) -> np.ndarray:
    """Which columns of size one are not spanned by those in front of them, by more than rounding errors."""
    rest, own = A.copy(), np.zeros(A.shape[1], dtype=bool)
    length = np.sqrt(np.square(A).sum(axis=0))
    for j in range(A.shape[1]):
        left = np.sqrt(np.square(rest[:, j]).sum())
        own[j] = left > DEPENDENT * length[j]
        if own[j]:
            unit = rest[:, j] / left
            for _ in range(2):
                rest[:, j + 1 :] -= np.outer(unit, unit @ rest[:, j + 1 :])
    return own


def _balls(values: np.ndarray) -> arb_mat:
    """A matrix of numbers in extended precision, exactly."""
    return arb_mat(*values.shape, [_ball(each) for each in values.ravel()])


def _ball(value: Any) -> arb:
    upper = float(value)
    return arb(upper) + arb(float(value - LONG(upper)))


def _longs(values: arb_mat) -> np.ndarray:
    with ctx.workprec(BITS[-1]):
        uppers = [[float(each.mid()) for each in row] for row in values.tolist()]
        lowers = [
            [float((each - upper).mid()) for each, upper in zip(*pair, strict=True)]
            for pair in zip(values.tolist(), uppers, strict=True)
        ]
    return np.array(uppers, dtype=LONG) + np.array(lowers, dtype=LONG)
