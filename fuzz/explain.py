"""One case again, with its numbers side by side."""

from __future__ import annotations

import numpy as np

from .arrays import make_arrays
from .judge import judge
from .library import ask
from .models import model_of
from .problems import draw
from .reference import reference

__all__ = ["explain"]


def explain(seed: int) -> tuple[str, bool]:
    """The verdict on a case, with what the library and the reference say of each table; and whether it is bad."""
    problem = draw(seed)
    arrays, verdict = make_arrays(problem), judge(problem)
    answer, lines = ask(problem, arrays), [f"{verdict.name}, off by {verdict.size:.3g}. {verdict.why}"]
    lines += [f"leaked: {leak}" for leak in answer.leaks]
    for at, (expected, actual) in enumerate(
        zip(reference(model_of(problem, arrays), arrays.folds), answer.figures, strict=False)
    ):
        lines.append(f"model {at}: route {answer.routes[at] or 'none'}. {answer.refusals[at]}")
        if isinstance(expected, str):
            lines.append(f"  ill-posed: {expected}")
            continue
        for name, table in expected.tables.items():
            lines.append(f"  {name}: exact   {_short(table)}")
            if actual is not None:
                lines.append(f"  {' ' * len(name)}  onefit  {_short(actual.tables[name])}")
    return "\n".join(lines), verdict.is_bad


def _short(table: np.ndarray) -> str:
    """The first numbers of a table."""
    values = table.ravel()
    dots = " ..." if values.size > 6 else ""
    return " ".join(f"{value:.10g}" for value in values[:6]) + dots
