"""The verdict on a case."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import Arrays, make_arrays, nudged
from .figures import LEAST, ROOTS, Figures, differences, sizes
from .intervals import PairTables, exact_differences
from .kernels import kernel_matrix
from .library import Answer, ask
from .models import Model, model_of
from .problems import Problem
from .reference import Expected, reference
from .refitting import refit_figures

__all__ = [
    "AGREES",
    "ALLOWED",
    "BAD",
    "COPIES",
    "MODERATE",
    "STEADY",
    "VERDICTS",
    "Verdict",
    "judge",
    "judge_answer",
    "same_bits",
]

AGREES = 1e-7
"""Relative difference up to which figures are the same."""
ALLOWED = 1e4
"""How many times more than by a change of the data in the last bit figures may be off."""
STEADY = 1e-10
"""A reference that moves by less than this when the data change in the last bit is one that can be computed."""
ROUNDED = 10
"""How many times more than a change in the last bit moves the loss of a row the mean of such losses may be off."""
MEANS = ("e_in", "cv_estimate", "raw_estimate")
COPIES = 3
MODERATE = 1e50
"""Numbers between its inverse and this can be squared twice."""
MOST_PENALTY = 1e100
"""Penalties between its inverse and this, and zero, are those that onefit takes."""
FAR_APART = 1e30
"""Ratio of the sizes of columns above which onefit says that it refuses: squares of rounding errors are not small."""
EPS = 2.0**-52
LOST, LEAST_SCORE = "lost beside codes of the classes", 1e-5
"""What classifiers are refused for whose scores differ by less than this: one route alone was asked for, not refits."""
TIE = 1e-9
"""Decisions that are nearer than this may go either way."""

VERDICTS = ("agreed", "sensitive", "refused rightly", "refused wrongly", "wrong", "leaked", "crashed")
BAD = ("refused wrongly", "wrong", "leaked", "crashed")


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, why, and the largest relative difference."""

    name: str
    why: str = ""
    size: float = 0.0

    @property
    def is_bad(self) -> bool:
        """Whether something must be mended."""
        return self.name in BAD


def judge(problem: Problem) -> Verdict:
    """Ask the library and the reference, and compare."""
    arrays = make_arrays(problem)
    answer = ask(problem, arrays)
    verdict = judge_answer(problem, arrays, answer)
    if not verdict.is_bad and problem.checks_jobs and problem.route != "refit" and answer.figures:
        return same_bits(answer, ask(problem, arrays, n_jobs=2)) or verdict
    return verdict


def judge_answer(problem: Problem, arrays: Arrays, answer: Answer) -> Verdict:
    """The worst verdict over the candidates; what leaks out is worse than a refusal, and a wrong number worst."""
    leaked = Verdict("leaked", answer.leaks[0]) if answer.leaks else None
    if leaked and not answer.figures:
        return leaked
    case = _Case(problem, arrays)
    verdicts = [case.of_candidate(at, answer) for at in range(len(answer.figures))]
    if problem.kind == "compare" and not any(answer.figures):  # the first model's refusal is that of all
        verdicts = [min(verdicts, key=lambda each: VERDICTS.index(each.name))]
    if paired := case.of_differences(answer):
        verdicts.append(paired)
    worst = max(verdicts, key=lambda each: VERDICTS.index(each.name))
    return leaked if leaked and worst.name != "wrong" else worst


class _Case:
    """A problem with its reference, which is moved only if that is needed."""

    def __init__(self, problem: Problem, arrays: Arrays) -> None:
        self.problem, self.arrays = problem, arrays
        self.model: Model = model_of(problem, arrays)
        self.expected: list[Expected] = reference(self.model, arrays.folds)
        self._moved: list[list[Expected]] | None = None

    def of_candidate(self, at: int, answer: Answer) -> Verdict:
        """Verdict on one of the models."""
        actual, expected = answer.figures[at], self.expected[at]
        if answer.by_refits(at, self.problem):
            return self._of_refit(at, actual, answer.refusals[at])
        if actual is None:
            return self._of_refusal(at, answer.refusals[at])
        if isinstance(expected, str):
            return Verdict("wrong", f"a number for an ill-posed problem: {expected}", np.inf)
        relative = self._relative(differences(actual, expected, self.model.loss), expected)
        name = max(relative, key=lambda key: float(relative[key].max()))
        size = float(relative[name].max())
        if size <= AGREES:
            return Verdict("agreed", "", size)
        moves = self._moves(at, expected)
        allowed = {key: np.maximum(AGREES, ALLOWED * moves[key]) for key in relative}
        for key, rounding in self._rounding(moves, expected).items():
            allowed[key] = np.maximum(allowed[key], rounding)
        beyond = [key for key in relative if (relative[key] > allowed[key]).any()]
        if not beyond:
            return Verdict("sensitive", f"{name}; the last bit moves it by {moves[name].max():.1g}", size)
        name = max(beyond, key=lambda key: float(relative[key].max()))
        why = f"{name} on route {answer.routes[at]}; the last bit moves it by {moves[name].max():.1g}"
        return Verdict("wrong", why, float(relative[name].max()))

    def of_differences(self, answer: Answer) -> Verdict | None:
        """Verdict on the paired differences; None if they are not known or agree.

        They are measured by the largest of their own ends, as every figure is, or by the largest errors of folds if
        these are larger: equal models differ by nothing.
        """
        asked, pairs = answer.differences, _pairs_of(self.expected)
        if asked is None or not pairs or None in answer.figures or "refit" in answer.routes:
            return None
        known = [each for each in self.expected if isinstance(each, Figures)]
        size = np.max([np.nanmax(each.tables["e_out"], axis=(0, 1)) for each in known], axis=0)
        exact = exact_differences(pairs, self.model, asked)
        unit = np.maximum(np.abs(exact).max(axis=0), np.maximum(size, LEAST))  # (D, R)

        def gap(values: np.ndarray) -> np.ndarray:  # (D, R)
            return np.nan_to_num(np.abs(values - exact).max(axis=0) / unit, nan=np.inf)

        if (off := gap(asked.values)).max() <= AGREES:
            return None
        moved = [_pairs_of(copy) for copy in self._references_of_copies()]
        moves = [
            gap(exact_differences(each, self.model, asked)) if each else np.full(off.shape, np.inf) for each in moved
        ]
        # models that predict the same without error differ by nothing, whose rounding errors are those of their own
        own = np.array([self._moves_of_errors(at, each) for at, each in enumerate(known)])  # (models, R)
        outputs = np.arange(off.shape[1])
        move = np.max([*moves, own[asked.first, outputs] / unit, own[asked.second, outputs] / unit], axis=0)
        is_tie = min(each.margin for each in known) < TIE
        name = "sensitive" if is_tie or (off <= np.maximum(AGREES, ALLOWED * move)).all() else "wrong"
        return Verdict(name, f"paired differences; the last bit moves them by {move.max():.1g}", float(off.max()))

    def _moves_of_errors(self, at: int, expected: Figures) -> np.ndarray:
        """How far a change of the data in the last bit moves the mean loss of a model (R,), in its own unit."""
        copies = [moved[at] for moved in self._references_of_copies()]
        own = expected.tables["cv_estimate"]
        others = [each.tables["cv_estimate"] if isinstance(each, Figures) else np.inf for each in copies]
        return np.max([np.abs(other - own) for other in others], axis=0)

    def _of_refusal(self, at: int, reason: str) -> Verdict:
        expected = self.expected[at]
        if isinstance(expected, str):
            return Verdict("refused rightly", f"ill-posed: {expected}")
        if (extreme := _extreme_penalties(self.problem) or _extremes(self.arrays)) or not _is_moderate(expected):
            return Verdict("refused rightly", extreme or "losses that cannot be squared")
        if self.model.kernel and (drowned := _drowned_penalties(self.problem, self.model)):
            return Verdict("refused rightly", drowned)
        if LOST in reason and (lost := _lost_scores(self.model)):
            return Verdict("refused rightly", lost)
        move = max(float(each.max()) for each in self._moves(at, expected).values())
        if move < STEADY and self.model.kernel:  # nobody has its entries without rounding errors
            self._moved = [
                reference(replace(self.model, kernel_copy=copy), self.arrays.folds) for copy in range(COPIES)
            ]
            move = max(float(each.max()) for each in self._moves(at, expected).values())
        if move >= STEADY:
            return Verdict("refused rightly", f"the last bit moves it by {move:.1g}")
        return Verdict("refused wrongly", f"{reason} (the last bit moves it by {move:.1g})")

    def _of_refit(self, at: int, actual: Figures | None, reason: str) -> Verdict:
        """Scikit-learn decides: its own refits, not the exact ones, are the measure."""
        expected = refit_figures(self.problem, self.arrays, self.model, at)
        if isinstance(expected, str):
            return Verdict("refused rightly" if actual is None else "wrong", f"scikit-learn: {expected}")
        if actual is None:
            finite = all(np.isfinite(table[~np.isnan(table)] ** 2).all() for table in expected.tables.values())
            if not finite or _extremes(self.arrays):
                return Verdict("refused rightly", "losses that cannot be squared")
            if isinstance(ill := self.expected[at], str):  # its solvers give a number or none, as it happens
                return Verdict("refused rightly", f"ill-posed: {ill}")
            return Verdict("refused wrongly", reason)
        relative = self._relative(differences(actual, expected, self.model.loss), expected)
        size = max(float(each.max()) for each in relative.values())
        if size <= AGREES:
            return Verdict("agreed", "", size)
        copies = [nudged(self.arrays, self.problem, copy) for copy in range(COPIES)]
        moved = [refit_figures(self.problem, copy, self.model, at) for copy in copies]
        moves = self._largest_moves(moved, expected)
        move = max(float(each.max()) for each in moves.values())
        if all((relative[name] <= np.maximum(AGREES, ALLOWED * moves[name])).all() for name in relative):
            return Verdict("sensitive", f"scikit-learn's refits; the last bit moves them by {move:.1g}", size)
        return Verdict("wrong", f"not scikit-learn's refits; the last bit moves them by {move:.1g}", size)

    def _relative(self, by_table: dict[str, np.ndarray], expected: Figures) -> dict[str, np.ndarray]:
        size = sizes(expected, self.model.loss)
        return {name: by_table[name] / size[name] for name in by_table}

    def _moves(self, at: int, expected: Figures) -> dict[str, np.ndarray]:
        """How far a change of the data in the last bit moves each table, relative to its size."""
        if expected.margin < TIE:
            return {name: np.full(table.shape[-1], np.inf) for name, table in expected.tables.items()}
        return self._largest_moves([moved[at] for moved in self._references_of_copies()], expected)

    def _rounding(self, moves: dict[str, np.ndarray], expected: Figures) -> dict[str, np.ndarray]:
        """What figures may be off because every prediction and loss is rounded once, relative to their size.

        Moves of the rows can cancel in the mean, where a model nearly interpolates; rounding errors do not. Losses that
        are equal have no variance but that of their last bits. Intervals mind the skewness of the losses, in whatever
        unit: if these differ by rounding errors of the predictions only, it is anything. A change of the data does not
        show that where all residuals come from the same last bits of y and move in proportion, as those of a model with
        as many coefficients as training rows do.
        """
        size = sizes(expected, self.model.loss)
        row = ROUNDED * moves["heldout_loss"] * size["heldout_loss"]
        allowed = {name: row / size[name] for name in MEANS}
        last_bits = ROUNDED * EPS * np.nanmax(expected.tables["heldout_loss"], axis=0)
        allowed["v_out"] = last_bits ** (2 / ROOTS[self.model.loss][1]) / size["v_out"]
        if expected.pairs is not None and self.model.loss in ("squared_error", "absolute_error"):
            spread = np.nanstd(expected.pairs.losses ** (1 / ROOTS[self.model.loss][0]), axis=1).min(axis=0)
            allowed["interval"] = np.where(spread <= ROUNDED * EPS * expected.response, np.inf, 0.0)
        return allowed

    def _largest_moves(self, moved: list[Expected], expected: Figures) -> dict[str, np.ndarray]:
        """Over several copies; without bound if one of them has no figures."""
        largest = {name: np.zeros(table.shape[-1]) for name, table in expected.tables.items()}
        for other in moved:
            for name in largest:
                gap = np.inf if isinstance(other, str) else differences(other, expected, self.model.loss)[name]
                largest[name] = np.maximum(largest[name], gap)
        return self._relative(largest, expected)

    def _references_of_copies(self) -> list[list[Expected]]:
        if self._moved is None:
            copies = [nudged(self.arrays, self.problem, copy) for copy in range(COPIES)]
            self._moved = [reference(model_of(self.problem, copy), copy.folds) for copy in copies]
        return self._moved


def _pairs_of(expected: list[Expected]) -> list[PairTables]:
    """The losses of all candidates; none if those of one are not known."""
    known = [each.pairs for each in expected if isinstance(each, Figures) and each.pairs is not None]
    return known if len(known) == len(expected) else []


def _extremes(arrays: Arrays) -> str:
    """Which numbers of the data are so large or small that a refusal is in order; empty if none are."""
    weights = arrays.weights
    for name, values in (("X", arrays.X), ("y", arrays.y), ("weights", weights)):
        present = np.abs(values[values != 0]) if values is not None else np.ones(1)
        if present.size and (present.max() > MODERATE or present.min() < 1 / MODERATE):
            return f"{name} from {present.min():.1g} to {present.max():.1g}"
    counted = arrays.X if weights is None else arrays.X[weights > 0]
    size = np.sqrt(np.square(counted).sum(axis=0))
    if (span := size.max() / size[size > 0].min(initial=np.inf)) > FAR_APART:
        return f"columns whose sizes span a ratio of {span:.1g}"
    if weights is not None and weights.max() > 1e12 * weights[weights > 0].min():
        return f"weights whose ratio is {weights.max() / weights[weights > 0].min():.1g}"
    return ""


def _extreme_penalties(problem: Problem) -> str:
    """Which penalty is beyond the range that onefit says it has; empty if none is."""
    beyond = [alpha for alpha in problem.alphas if alpha != 0 and not 1 / MOST_PENALTY <= alpha <= MOST_PENALTY]
    return f"a penalty of {beyond[0]:.1g}" if beyond else ""


def _drowned_penalties(problem: Problem, model: Model) -> str:
    """Which penalty is below the rounding errors of the kernel matrix: onefit says that it refuses it."""
    K = kernel_matrix(model)
    noise = problem.n * EPS * max(float(K[i, i].mid()) for i in range(problem.n))
    beyond = [alpha for alpha in problem.alphas if alpha < noise]
    return f"a penalty of {beyond[0]:.1g} where the kernel has rounding errors of {noise:.1g}" if beyond else ""


def _lost_scores(model: Model) -> str:
    """How little scores of classes can differ, if that is next to nothing beside codes of one: onefit says so."""
    w = np.ones(len(model.Y)) if model.weights is None else model.weights
    X = model.X - np.median(model.X, axis=0) * model.fit_intercept
    if model.is_scaled:
        X = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    penalty = np.ones(X.shape[1]) if model.penalty is None else np.diag(model.penalty)
    codes = model.Y - np.average(model.Y, axis=0, weights=w) * model.fit_intercept
    with np.errstate(all="ignore"):
        reach = np.linalg.norm(X, axis=1).max() * np.linalg.norm(X.T @ (w[:, None] * codes), axis=0).max()
        bound = float(reach / penalty.min() / max(map(max, model.candidates)))
    return f"scores that differ by at most {bound:.1g}" if bound < LEAST_SCORE else ""


def _is_moderate(figures: Figures) -> bool:
    return bool(max(np.nanmax(np.abs(figures.tables[name])) for name in ("e_in", "e_out")) < MODERATE**3)


def same_bits(one: Answer, two: Answer) -> Verdict | None:
    """A verdict if the figures of one and of two threads differ in any bit."""
    if [each is None for each in one.figures] != [each is None for each in two.figures]:
        reasons = [why for answer in (one, two) for why in answer.refusals if why]
        return Verdict("wrong", f"n_jobs=2 refuses what n_jobs=1 does not, or the reverse: {reasons[0]}")
    for first, second in zip(one.figures, two.figures, strict=True):
        for name, table in first.tables.items() if first is not None and second is not None else ():
            if not np.array_equal(table, second.tables[name], equal_nan=True):
                size = float(np.nanmax(np.abs(table - second.tables[name])) / np.nanmax(np.abs(table)))
                return Verdict("wrong", f"n_jobs=2 gives other bits in {name}", size)
    new = [leak for leak in two.leaks if leak not in one.leaks]  # the others were judged already
    return Verdict("leaked", new[0]) if new else None
