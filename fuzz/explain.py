"""One case again, with its numbers side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import make_arrays
from .families.asking import ask_trial
from .families.loop import expected_figures
from .families.trials import draw_trial
from .families.verdict import judge_trial
from .figures import Figures
from .judge import Verdict, judge
from .library import Answer, ask
from .models import model_of
from .problems import FAMILIES, draw, kind_of
from .reference import Expected, reference

__all__ = ["explain"]


def explain(seed: int) -> tuple[dict[str, Any], str, bool]:
    """What a case is, the verdict, with what the library and the reference say of each table; whether it is bad."""
    if (kind := kind_of(seed)) in FAMILIES:
        trial = draw_trial(seed, kind)
        asked, answer, verdict = trial.asked, ask_trial(trial), judge_trial(trial)
        said = [
            expected_figures(trial, at, route != "refit", asked.X, asked.y, trial.weights)
            for at, route in enumerate(answer.routes)
        ]
        return trial.as_dict(), _side_by_side(verdict, answer, said), verdict.is_bad
    problem = draw(seed)
    arrays, verdict = make_arrays(problem), judge(problem)
    answer, said = ask(problem, arrays), reference(model_of(problem, arrays), arrays.folds)
    return problem.as_dict(), _side_by_side(verdict, answer, said), verdict.is_bad


def _side_by_side(verdict: Verdict, answer: Answer, said: list[Expected]) -> str:
    """The figures of the reference and of onefit."""
    lines = [f"{verdict.name}, off by {verdict.size:.3g}. {verdict.why}"]
    lines += [f"leaked: {leak}" for leak in answer.leaks]
    for at, (expected, actual) in enumerate(zip(said, answer.figures, strict=False)):
        lines.append(f"model {at}: route {answer.routes[at] or 'none'}. {answer.refusals[at]}")
        if not isinstance(expected, Figures):
            lines.append(f"  ill-posed: {expected}")
            continue
        for name, table in expected.tables.items():
            lines.append(f"  {name}: exact   {_short(table)}")
            if actual is not None and name in actual.tables:
                lines.append(f"  {' ' * len(name)}  onefit  {_short(actual.tables[name])}")
    return "\n".join(lines)


def _short(table: np.ndarray) -> str:
    """The first numbers of a table."""
    values = table.ravel()
    dots = " ..." if values.size > 6 else ""
    return " ".join(f"{value:.10g}" for value in values[:6]) + dots
