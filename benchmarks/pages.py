"""Blocks of README and documentation that show measured figures, made from ``benchmarks/results``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paper.page import names_of, write_blocks

from .bars import A_ROW, Bar
from .everyday import times
from .reports import BAR_HEAD
from .table import HEAD, cells_of, markdown, number

__all__ = ["BLOCKS", "COMMAND", "PAGES", "render"]

COMMAND = "python -m benchmarks --evidence"
PAGES = ("README.md", "docs/speed.md", "docs/speed-details.md", "docs/howto/scale.md")
QUIET = 0.1
"""Cores that others may use on a machine with nothing else at work."""

NUMBERS = {1: "one run", 2: "two runs", 3: "three runs"}
Result = dict[str, Any]


def render(root: Path, results: dict[str, Result]) -> dict[str, str]:
    """The pages as they should be; a block whose part was not measured stays as it is."""
    pages = {}
    for page in PAGES:
        text = (root / page).read_text(encoding="utf-8")
        known = [name for name in names_of(text, COMMAND) if all(part in results for part in needs(name))]
        made = {name: BLOCKS[name](results) for name in known}
        blocks = {name: block for name, block in made.items() if block is not None}
        pages[page] = write_blocks(text, blocks, COMMAND)
    return pages


def needs(block: str) -> Sequence[str]:
    """Parts without which a block cannot be made."""
    others = {"machine": ("bars",), "scale_long": ("scale-long",), "scale_costs": ("scale",)}
    return others.get(block, (block,))


def span(figures: Sequence[float], shown: Callable[[float], str] = number) -> str:
    """A figure, or the smallest and the largest of several runs."""
    ends = dict.fromkeys((shown(min(figures)), shown(max(figures))))
    return " to ".join(ends)


def source(result: Result) -> str:
    """The sentence under a table: how many runs, when, and whether others were at work."""
    others, runs = result["others"], NUMBERS[len(result["runs"])]
    busy = "" if others is None else f", beside other processes that used up to {others:.1f} cores"
    if others is not None and others <= QUIET:
        busy = ", with nothing else at work on the machine"
    return f"{runs[0].upper()}{runs[1:]} of `{result['command']}` on {result['date']}{busy}."


def _with_source(table: str, result: Result) -> str:
    return f"{table}\n\n{source(result)}"


def bar_table(result: Result) -> str:
    """Figures beside what they should be."""
    lines = [_bar_cells([Bar(**record) for record in same]) for same in zip(*result["runs"], strict=True)]
    return _with_source(markdown(BAR_HEAD, lines, ("bar", "")), result)


def _bar_cells(runs: Sequence[Bar]) -> list[str]:
    name, _, should, _ = runs[0].cells()
    shown = span([bar.figure for bar in runs], lambda figure: f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}")
    met = sum(bar.holds for bar in runs)
    verdict = {0: "FAIL", len(runs): "pass"}.get(met, f"{met} of {len(runs)} runs")
    return [name, f"{shown} {runs[0].unit}", should, verdict if runs[0].counts and runs[0].bar else ""]


def everyday_table(result: Result) -> str:
    """What the models of every day cost beside `cross_val_score`."""
    head = ("your model", "times `cross_val_score`", "by refits", "how it is computed")
    lines = [
        [first["model"], span([run[i]["ratio"] for run in result["runs"]], times), first["by_refits"], first["how"]]
        for i, first in enumerate(result["runs"][0])
    ]
    return _with_source(markdown(head, lines, ("your model", "how it is computed")), result)


def peer_table(result: Result) -> str:
    """What onefit costs beside others."""
    head = ("question", "peer", "its time over onefit's", "what the peer gives")
    lines = [
        [first["question"], first["peer"], span([run[i]["ratio"] for run in result["runs"]]), first["gives"]]
        for i, first in enumerate(result["runs"][0])
    ]
    return _with_source(markdown(head, lines, ("question", "peer", "what the peer gives")), result)


def ratio_table(result: Result) -> str:
    """A few shapes."""
    head = ("rows n", "columns p", "folds K", "scikit-learn refits", "NumPy refits", "formula", "in NumPy", "onefit")
    lines = []
    for same in zip(*result["runs"], strict=True):
        n, p, K, *_ = same[0]["sizes"]
        ratios = [
            span([each["ratios"][name] for each in same]) if name in same[0]["ratios"] else "-"
            for name in ("scikit-learn", "NumPy", "Proposition 1", "twin")
        ]
        took = f"{same[0]['route']}, {span([each['milliseconds'] for each in same])} ms a repeat"
        lines.append([f"{n:,}", str(p), str(K), *ratios, took])
    return _with_source(markdown(head, lines, ("onefit",)), result)


def shape_tables(result: Result) -> str:
    """All shapes, section by section."""
    sections: dict[str, list[list[str]]] = {}
    for record in result["runs"][0]:
        sections.setdefault(record["section"], []).append(cells_of(record))
    tables = [f"**{name}**\n\n{markdown(HEAD, lines)}" for name, lines in sections.items()]
    return "\n\n".join([*tables, source(result)])


def machine_line(result: Result) -> str:
    """What it was all measured on."""
    about = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    kernel = f"compiled kernels with {about['kernel']}" if about["kernel"] else "no compiled kernels"
    return (
        f"All figures are of one thread: Python {about['python']}, {versions} (unreleased), {kernel}, on a machine "
        f"whose large matrix products run at {about['gemm']:.0f} GF/s."
    )


def plan_lines(results: dict[str, Result]) -> str:
    """How good the choice of route was, by the settings under which it was judged."""
    settings = {"plan": "as it is", "plan-haswell": "on code paths without AVX-512", "plan-off": "without the kernels"}
    lines = []
    for name, words in settings.items():
        if name in results:
            found = results[name]["runs"][0][0]
            lines.append(
                f"- {words}: at most {found['worst']:.2f} times the time of the better route ({found['allowed']} are "
                f"allowed), on {found['shapes']} shapes, on {found['both']} of which both were run. "
                f"{source(results[name])}"
            )
    return "\n".join(lines)


def sparse_line(result: Result) -> str:
    """The same of sparse designs."""
    found = result["runs"][0][0]
    return (
        f"The choice, with what it costs to make it, took at most {found['worst']:.2f} times the time of the best "
        f"({found['allowed']} are allowed) on {found['shapes']} shapes, of which {found['judged']} take long enough to "
        f"judge. {source(result)}"
    )


def _of(part: str, made: Callable[[Result], str | None]) -> Callable[[dict[str, Result]], str | None]:
    return lambda results: made(results[part])


def cost_model(result: Result) -> str | None:
    """What rows by the thousand million cost, from the time that a row took; None if that was not measured."""
    found = [bar["figure"] for run in result["runs"] for bar in run if bar["name"].endswith(A_ROW)]
    if not found:
        return None
    a_row = min(found)
    hours = [a_row * 1e-6 * rows / 3600 for rows in (1e9, 1e11)]
    clock = f"{hours[0] * 3600 / 64:.0f} s on 64 cores", f"{hours[1] * 60 / 2000:.1f} minutes on 2,000 cores"
    lines = [
        ["bytes read, doubles as they are", "16 p in two passes", "0.83 TB", "83 TB"],
        ["operations", "L (p^2 + 2 V p)", "2.4e13", "2.4e15"],
        ["processor, from (b) below", f"{a_row:.2g} us", *(f"{each:.2g} core hours" for each in hours)],
        ["by the clock, if storage keeps up", "", *clock],
    ]
    head = ("", "per row", "10^9 rows, p = 52, L = 5, V = 20", "10^11 rows")
    last = f"A core that takes {a_row:.2g} us a row reads {16 * 52 / a_row:.0f} MB a second."
    return f"{markdown(head, lines, head)}\n\n{last}"


BARS = ("bars", "pipelines", "learners", "classifiers", "glm", "series", "scale")
BLOCKS: dict[str, Callable[[dict[str, Result]], str | None]] = {
    **{name: _of(name, bar_table) for name in BARS},
    "everyday": _of("everyday", everyday_table),
    "peers": _of("peers", peer_table),
    "ratios": _of("ratios", ratio_table),
    "shapes": _of("shapes", shape_tables),
    "machine": _of("bars", machine_line),
    "plan": plan_lines,
    "sparse": _of("sparse", sparse_line),
    "scale_long": _of("scale-long", bar_table),
    "scale_costs": _of("scale", cost_model),
}
"""By the name of a block, what is between its markers."""
