"""Counts of a run, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .judge import VERDICTS
from .run import Outcome

__all__ = ["counts", "line", "not_fine"]


def counts(outcomes: Sequence[Outcome]) -> str:
    """A line for each kind, and one for all."""
    kinds = sorted({outcome.kind for outcome in outcomes})
    header = f"{'kind':<12}{'tried':>8}" + "".join(f"{name:>17}" for name in VERDICTS)
    lines = [header]
    for kind in [*kinds, "all"]:
        found = Counter(each.verdict.name for each in outcomes if kind in (each.kind, "all"))
        lines.append(f"{kind:<12}{found.total():>8}" + "".join(f"{found[name]:>17}" for name in VERDICTS))
    return "\n".join(lines)


def line(outcome: Outcome) -> str:
    """One case."""
    verdict = outcome.verdict
    return f"{outcome.seed} {outcome.kind}: {verdict.name}, off by {verdict.size:.1e}; {' '.join(verdict.why.split())}"


def not_fine(outcomes: Sequence[Outcome]) -> list[str]:
    """The cases that are not fine, by verdict and kind."""
    bad = [outcome for outcome in outcomes if outcome.verdict.is_bad]
    return [line(each) for each in sorted(bad, key=lambda o: (VERDICTS.index(o.verdict.name), o.kind, o.seed))]
