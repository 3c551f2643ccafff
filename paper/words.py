"""What the tables say: a block of the page for each experiment, made of its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.table import markdown

__all__ = ["describe_counts", "describe_errors", "describe_fits", "describe_folds", "describe_growth"]
__all__ += ["describe_growing", "describe_likelihood", "describe_rows", "span"]

Tables = Mapping[str, pd.DataFrame]
REPEATS = 200
TEXT = ("regime", "way", "route", "faster route", "step", "flops", "rule", "measured", "onestep from", "gram from")
WAYS = {"refit": "refit", "literal": "formula, literal", "gram": "onefit, gram", "onestep": "onefit, onestep"}


def number(value: float) -> str:
    """Two significant digits, or whole numbers."""
    if not np.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}"


def span(values: pd.Series) -> str:
    """From the smallest to the largest."""
    low, high = float(values.min()), float(values.max())
    return number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f}%" if part >= 0.095 else f"{100 * part:.1g}%"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return markdown(head, lines, TEXT)


def _speed_table(found: pd.DataFrame) -> str:
    head = (
        "n",
        "p",
        "K",
        "refit s",
        "scikit-learn",
        "literal",
        "gram",
        "onestep",
        "one of 10",
        "route",
        "refits timed",
    )
    lines = [
        [
            *(f"{row[name]:.0f}" for name in ("n", "p", "K")),
            f"{row['refit_s']:.2g}",
            *(number(row[f"refit/{way}"]) for way in ("scikit-learn", "literal", "gram", "onestep", "many")),
            str(row["auto_route"]),
            _percent(row["refit_sampled"] / row["training_sets"]),
        ]
        for _, row in found.iterrows()
    ]
    return _table(head, lines)


def _speed_findings(found: pd.DataFrame, groups: str, name: str) -> list[str]:
    """Where the formula beats refitting, whether its lead grows, and what onefit takes."""
    ratio = found["refit/literal"]
    ends = [
        (label, part.sort_values("n")["refit/literal"].iloc[[0, -1]].to_numpy())
        for label, part in found.groupby(groups)
    ]
    grows = sum(last > first for _, (first, last) in ends)
    shown = ", ".join(f"{number(first)} to {number(last)} at {name} {label}" for label, (first, last) in ends)
    many, two = found["many_s"], found["leave_two_s"]
    both = _both(found)
    faster = (both["gram_s"] < both["onestep_s"]).sum()
    return [
        f"- The formula, taken literally, is faster than refitting in {(ratio > 1).sum()} of {len(found)} shapes: "
        f"refitting takes {span(ratio)} times as long.",
        f"- Its lead grows with n in {grows} of {len(ends)} series: {shown}.",
        f"- onefit, one of 10 repeats: refitting takes {span(found['refit/many'])} times as long, the literal formula "
        f"{span(found['literal_s'] / many)} times. In a single repeat the fixed cost of a call counts: refitting takes "
        f"{span(found['refit/auto'])} times as long as the whole call, which is slower than refitting in "
        f"{(found['refit/auto'] < 1).sum()} shapes.",
        f"- The gram route is faster than onestep in {faster} of {_run(both, found)} (single repeat).",
        f"- Leave two out, which needs no repeats, takes {span(1e3 * two)} ms; {REPEATS} repeats of the literal "
        f"formula take {span(REPEATS * found['literal_s'] / two)} times as long, {REPEATS} of onefit "
        f"{span(REPEATS * many / two)} times.",
        f"- A loop over scikit-learn's `Ridge` takes {span(1 / found['refit/scikit-learn'])} times as long as the "
        "NumPy refits.",
        f"- All ways agree: the largest relative difference of a fold error is {found['difference'].max():.0e}.",
    ]


def describe_rows(tables: Tables) -> str:
    """Figure 1."""
    found = tables["figure1"]
    return "\n".join([*_speed_findings(found, "p", "p ="), "", _speed_table(found)])


def describe_growing(tables: Tables) -> str:
    """Figure 2."""
    found = tables["figure2"]
    return "\n".join([*_speed_findings(found, "n/p", "n/p ="), "", _speed_table(found)])


def describe_folds(tables: Tables) -> str:
    """Figure 3."""
    found, lines = tables["figure3"], tables["figure3_crossover"]
    head = ("n", "p", "K* predicted", "measured", "onestep from", "gram from")
    names = ("measured", "onestep_against_gram", "gram_against_refit")
    cells = [
        [f"{row['n']:.0f}", f"{row['p']:.0f}", f"{row['predicted']:.1f}", *(str(row[name]) for name in names)]
        for _, row in lines.iterrows()
    ]
    factors = _factors(lines)
    near = [f for f in factors if 0.5 <= f <= 2]
    both, gram = _both(found), found[found["gram_s"].notna()]
    right = (both["auto_route"] == both["fastest"]).sum()
    beaten = found[found["refit/many"] < 1]
    findings = [
        f"- The measured crossover lies within K = {found['K'].min()} to {found['K'].max()} in {len(factors)} of "
        f"{len(lines)} panels; there it is {span(pd.Series(factors, dtype=float))} times the predicted one, and "
        f"within a factor of two of it in {len(near)}.",
        f"- On the side of K* that the prediction is about: the formula is faster in {_right_side(tables)}.",
        f"- onefit, one of 10 repeats: refitting takes {span(found['refit/many'])} times as long, and is faster in "
        f"{len(beaten)} of {len(found)} shapes; the literal formula takes {span(found['literal_s'] / found['many_s'])} "
        "times as long.",
        f"- Gram downdating is faster than the literal formula in {(gram['gram_s'] < gram['literal_s']).sum()} of "
        f"{_run(gram, found)}, a whole call against a bare loop.",
        f"- `onefit.plan` takes the faster of the two routes in {right} of {_run(both, found)}; its choice takes "
        f"at most {both['choice/fastest'].max():.2f} times the time of the faster one.",
        f"- All ways agree: the largest relative difference of a fold error is {found['difference'].max():.0e}.",
    ]
    return "\n".join([*findings, "", _table(head, cells), "", _speed_table(found)])


def _both(found: pd.DataFrame) -> pd.DataFrame:
    """The shapes in which both routes were run: one that should take long is not, and its seconds are missing."""
    return found.dropna(subset=["gram_s", "onestep_s"])


def _run(part: pd.DataFrame, found: pd.DataFrame) -> str:
    """How many shapes, and how many are left out of the count."""
    left = len(found) - len(part)
    return f"{len(part)} shapes" + (f" ({left} left out, as a route was not run)" if left else "")


def _factors(lines: pd.DataFrame) -> list[float]:
    """Measured over predicted break-even, where it was measured between two numbers of folds."""
    measured = pd.to_numeric(lines["measured"], errors="coerce")
    return [float(f) for f in (measured / lines["predicted"]).dropna()]


def _right_side(tables: Tables) -> str:
    """How often the formula wins above K*, and below."""
    found = tables["figure3"].merge(tables["figure3_crossover"][["n", "p", "predicted"]], on=["n", "p"])
    above = found["K"] > found["predicted"]
    wins = found["refit/literal"] > 1
    return (
        f"{(wins & above).sum()} of {above.sum()} shapes above it, and slower in {(~wins & ~above).sum()} of "
        f"{(~above).sum()} below"
    )


def describe_growth(tables: Tables) -> str:
    """Table 1."""
    head = ("regime", "way", "order", "counted", "measured power", "n")
    lines = [
        [
            str(row["regime"]),
            WAYS[row["method"]],
            f"{row['order']:.0f}",
            f"{row['counted']:.2f}",
            f"{row['measured']:.2f}",
            f"{row['from_n']} to {row['to_n']}",
        ]
        for _, row in tables["table1"].iterrows()
    ]
    return _table(head, lines)


def _steps(found: pd.DataFrame) -> str:
    n, p, K = (int(found[name].iloc[0]) for name in ("n", "p", "K"))
    head = ("step", "flops", "a pair", "a fold", "a repeat", "share")
    lines = [
        [
            str(row["step"]),
            "" if pd.isna(row["flops"]) else f"`{row['flops']}`" if row["flops"] else "",
            *(f"{row[name]:,.0f}" for name in ("pair", "fold", "repeat")),
            f"{100 * row['share']:.1f}%",
        ]
        for _, row in found.iterrows()
    ]
    about = f"At n = {n}, p = {p}, K = {K}; `h` rows are held out, `2n/K` in a pair and `n/K` in a fold."
    return f"{about}\n\n{_table(head, lines)}"


def describe_counts(tables: Tables) -> str:
    """Table 2."""
    return _steps(tables["table2"])


def describe_fits(tables: Tables) -> str:
    """Table 3, and both totals beside the plan's counts."""
    found = tables["table3_plan"]
    head = ("n", "p", "K", "paper: refit", "formula", "plan: refit", "onestep", "gram")
    names = ("paper_refit", "paper_one_step", "plan_refit", "plan_onestep", "plan_gram")
    lines = [
        [*(f"{row[name]:.0f}" for name in ("n", "p", "K")), *(f"{row[name] / 1e6:,.3g}" for name in names)]
        for _, row in found.iterrows()
    ]
    least = found[["paper_refit", "paper_one_step"]].min(axis=1) / found["plan_gram"]
    text = (
        f"Millions of operations for one repeat. Gram downdating needs {span(least)} times fewer than the better of "
        "the paper's two ways."
    )
    return "\n\n".join([_steps(tables["table3"]), text, _table(head, lines)])


def describe_errors(tables: Tables) -> str:
    """Figure 4(a)."""
    found, choices, times = tables["figure4a"], tables["figure4_choices"], tables["figure4_times"]
    findings = []
    for p, part in found.groupby("components"):
        held = ((part["paper_low"] <= part["true"]) & (part["true"] <= part["paper_high"])).mean()
        two = ((part["leave_two_low"] <= part["true"]) & (part["true"] <= part["leave_two_high"])).mean()
        same = part[part["indistinguishable"].astype(bool)]["lam_paper"]
        width = (part["leave_two_high"] - part["leave_two_low"]) / (part["paper_high"] - part["paper_low"])
        noise = 100 * part["monte_carlo_error"].max()
        findings.append(
            f"- {p} components ({100 * part['variance'].iloc[0]:.1f}% of the variance): the paper's interval holds the "
            f"true error at {100 * held:.0f}% of the penalties, and {100 * part['tests_within_paper'].mean():.0f}% of "
            f"the errors on test sets; leave two out holds the true error at {100 * two:.0f}%, with "
            f"{span(width)} times the width. Over {np.log10(same.max() / same.min()):.1f} of "
            f"{np.log10(part['lam_paper'].max() / part['lam_paper'].min()):.1f} decades the error is not told apart "
            f"from the best. The Monte Carlo error of the paper's half-width is {noise:.0f}% at most; "
            "leave two out has none."
        )
    findings += [_seconds(row) for _, row in times.iterrows()]
    head = ("components", "rule", "lambda", "lam", "edf", "estimate", "interval", "leave two out", "true error")
    lines = [
        [
            f"{row['components']}",
            str(row["rule"]),
            f"{row['lam_paper']:.3g}",
            f"{row['lam']:.2e}",
            f"{row['edf']:.1f}",
            f"{row['paper']:.5f}",
            f"{row['paper_low']:.4f} to {row['paper_high']:.4f}",
            f"{row['leave_two_low']:.4f} to {row['leave_two_high']:.4f}",
            f"{row['true']:.5f}",
        ]
        for _, row in choices.iterrows()
    ]
    return "\n".join([*findings, "", _table(head, lines)])


def _seconds(row: pd.Series) -> str:
    """What the curve of Figure 4 takes, and would take."""
    ways = ("onefit", "leave_two", "refit", "literal", "scikit-learn")
    onefit, two, refit, literal, loop = (number(row[f"{way}_s"]) for way in ways)
    return (
        f"- Time, {row['components']} components: the curve takes onefit {onefit} s ({row['route']}), by leave two out "
        f"{two} s; refits would take {refit} s, the literal formula {literal} s, a loop over scikit-learn's `Ridge` "
        f"{loop} s (from {row['sampled']}; largest difference {row['difference']:.0e})."
    )


def describe_likelihood(tables: Tables) -> str:
    """Figure 4(b)."""
    findings = []
    for p, part in tables["figure4b"].groupby("components"):
        chosen = part[part["chosen"].astype(bool)]["lam_paper"].iloc[0]
        likely = part[part["likely"].astype(bool)]["lam_paper"]
        findings.append(
            f"- {p} components: REML chooses lambda = {chosen:.3g}; its 95% likelihood interval spans "
            f"{np.log10(likely.max() / likely.min()):.1f} decades."
        )
    return "\n".join(findings)
