"""Time against each size, on logarithmic axes, with the exponents that it grows by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case
from .literal import literal
from .measure import best_of
from .ours import run
from .refits import scikit_learn
from .sweep import sample

__all__ = ["Curve", "exponent", "growth"]

BASE = Case(2000, 20, 10, 10)
SIZES = {
    "n": ("rows n", (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)),
    "p": ("columns p", (5, 10, 20, 40, 80, 160, 320)),
    "n_folds": ("folds K", (5, 10, 20, 40, 80, 160, 320, 500)),
    "n_repeats": ("repeats L", (1, 4, 16, 64, 256)),
    "n_values": ("values of the penalty", (1, 2, 4, 8, 16, 32, 64, 128)),
}
SMALL = Case(60, 3, 5, 2)
FEW = {"n": (40, 80), "p": (3, 6), "n_folds": (4, 8), "n_repeats": (1, 2), "n_values": (1, 2)}
LARGEST_HAT = 4000
BUDGET = 0.5


@dataclass(frozen=True)
class Curve:
    """Seconds of a method at some sizes."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope on logarithmic axes over the last four sizes: what holds for large ones."""
    return float(np.polyfit(np.log(sizes[-4:]), np.log(seconds[-4:]), 1)[0])


def _curves(base: Case, size: str, sizes: Sequence[int], budget: float) -> list[Curve]:
    """onefit, refits and the literal formula with one size changed and the others kept."""
    cases = [replace(base, **{size: value}) for value in sizes]
    ours = tuple(_best(case, budget) for case in cases)
    refits = tuple(_sampled(scikit_learn, case, budget) for case in cases)
    small = [case for case in cases if case.n <= LARGEST_HAT]
    formula = tuple(_sampled(literal, case, budget) for case in small)
    return [
        Curve("onefit", tuple(sizes), ours),
        Curve("scikit-learn refits", tuple(sizes), refits),
        Curve("Proposition 1, literal", tuple(sizes)[: len(small)], formula),
    ]


def _best(case: Case, budget: float) -> float:
    run(case)  # the first call pays for things that the others have
    return best_of(lambda: run(case), budget)[0]


def _sampled(prepare: Any, case: Case, budget: float) -> float:
    return sample(lambda: prepare(case), case.folds[0], budget).seconds(case.n_repeats, case.n_values)


def growth(path: str, quick: bool) -> str:
    """Draw the picture, and say the exponents."""
    found = {}
    for size, (label, sizes) in SIZES.items():
        curves = _curves(SMALL, size, FEW[size], 0.01) if quick else _curves(BASE, size, sizes, BUDGET)
        found[size] = label, curves
    _draw(found, Path(path))
    lines = [
        f"{label}: " + ", ".join(f"{c.name} {exponent(c.sizes, c.seconds):.2f}" for c in curves)
        for label, curves in found.values()
    ]
    return "\n".join([f"Exponents over the last four sizes; {path} is written.", *lines])


def _draw(found: dict[str, tuple[str, list[Curve]]], path: Path) -> None:
    from matplotlib.figure import Figure

    styles = (("#0072B2", "o", "-"), ("#5F5F5F", "s", "--"), ("#B84A00", "^", "-."))
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = list(figure.subplots(2, 3).ravel())
    for axes, (size, (label, curves)) in zip(panels, found.items(), strict=False):
        for curve, (colour, marker, dashes) in zip(curves, styles, strict=True):
            power = f"{curve.name}: power {round(exponent(curve.sizes, curve.seconds), 1) + 0.0:.1f}"  # not -0.0
            axes.plot(
                curve.sizes,
                curve.seconds,
                dashes,
                color=colour,
                marker=marker,
                markersize=4,
                linewidth=1.5,
                label=power,
            )
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * 60)  # room for the legend
        axes.grid(color="#E3E3E3")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left")
        axes.set_title(_others(size), fontsize=9, loc="left")
    panels[-1].axis("off")
    panels[-1].text(0, 0.95, _CAPTION, va="top", fontsize=9, transform=panels[-1].transAxes)
    figure.savefig(path, dpi=120)


def _others(size: str) -> str:
    names = {"n": "n", "p": "p", "n_folds": "K", "n_repeats": "L"}
    return ", ".join(f"{short} = {getattr(BASE, name)}" for name, short in names.items() if name != size)


_CAPTION = (
    "nested_cv (error_curve for several values)\nof ridge regression, on one thread.\n\n"
    "The power is the slope over the last four sizes.\n\nRefits and the literal formula are sampled,\n"
    "and extended by proportion.\n\npython -m benchmarks --growth FILE"
)
