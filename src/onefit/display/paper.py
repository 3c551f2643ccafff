"""A result as it stands in a paper: the sentence of its methods, and the table of its figures."""

from __future__ import annotations

from importlib.metadata import version

import pandas as pd

from ..vocabulary import RULE_WORDS
from .numbers import interval_text
from .shown import ShownResult
from .style import loss_label

__all__ = ["latex_table", "methods_sentence", "references_of"]

CITATIONS = {
    "covariance": "by the covariance rule of onefit, version {version}",
    "bates": "after Bates, Hastie and Tibshirani (2024)",
    "paper": "after Cao and Stringer (2026)",
    "mlr3": "in the variant of mlr3inferr",
    "naive": "from the scatter of the errors of one cross-validation, taken for independent",
    "corrected_t": "by Nadeau and Bengio's (2003) corrected t",
}
"""By rule, how an interval came about."""

WAYS = {
    "refit": "by refitting the model in every training set",
    "given the transformers": "from one fit, with what precedes the fit learned from all rows",
    "exact": "exactly and without refits (Cao and Stringer 2026)",
    "converged": "without refits, every fit iterated until its gradient vanished",
}
"""How the held-out predictions were computed."""


BATES = (
    "Bates S, Hastie T, Tibshirani R (2024). Cross-validation: what does it estimate and how well does it do it? "
    "Journal of the American Statistical Association 119(546), 1434-1445. doi:10.1080/01621459.2023.2197686"
)
CAO = "Cao S, Stringer A (2026). Fast computation of nested cross-validation for penalized regression. arXiv:2609.04126"
NADEAU = "Nadeau C, Bengio Y (2003). Inference for the generalization error. Machine Learning 52, 239-281."
MLR3 = "Fischer S, Schulz-Kümpel H. mlr3inferr: inference on the generalization error. R package."

SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"}
SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
"""Characters that LaTeX would take for commands."""


def methods_sentence(result: ShownResult) -> str:
    """How the figures were computed, for the methods of a paper."""
    way = WAYS["refit"] if result.route == "refit" else WAYS.get(result.exactness, WAYS["exact"])
    single = result.n_folds == len(result.heldout)
    folds = "leaving out two rows at a time" if single else f"with {result.n_folds} folds"
    repeats = "" if single else f" and {result.n_repeats} repeat{'s' if result.n_repeats > 1 else ''}"
    meant = ""
    if result.dependence is not None:
        folds, repeats = f"with {result.n_folds} folds for rows that depend on their neighbours", ""
        meant = f" What is estimated is {result.dependence.meaning} ({result.dependence.short()})."
    rule = CITATIONS.get(result.rule, RULE_WORDS.get(result.rule, result.rule)).format(version=result.rule_version)
    level = f"{100 * result.confidence_level:g}%"
    figures = [
        f"{name} was {figure} ({level} confidence interval {low} to {high})"
        for name, (figure, low, high) in _figures(result.metrics)
    ]
    return (
        f"Generalization was estimated by nested cross-validation {folds}{repeats}, computed {way}, with intervals "
        f"{rule}.{meant} The estimated {'; the '.join(figures)}."
    )


def references_of(result: ShownResult) -> list[str]:
    """What a paper with the sentence cites: nested cross-validation, how it was computed, the rule, the software."""
    found = [BATES]
    if result.rule == "paper" or (result.route != "refit" and result.exactness == "exact"):
        found.append(CAO)
    found += {"corrected_t": [NADEAU], "mlr3": [MLR3]}.get(result.rule, [])
    return [*found, f"onefit {version('onefit')}: exact nested cross-validation from one fit. Python package."]


def _figures(metrics: pd.DataFrame) -> list[tuple[str, tuple[str, str, str]]]:
    """Names of the metrics, and their estimates with both ends as text."""
    rows = []
    for key, row in metrics.iterrows():
        names = key if isinstance(key, tuple) else (key,)
        name = " of ".join(loss_label(str(part)) for part in names)
        rows.append((name, interval_text(row["estimate"], row["low"], row["high"])))
    return rows


def latex_table(result: ShownResult) -> str:
    """All metrics with their intervals, as a tabular of booktabs."""
    level = f"{100 * result.confidence_level:g}\\%"
    lines = [
        "\\begin{tabular}{lrr}",
        "\\toprule",
        f"metric & estimate & {level} interval \\\\",
        "\\midrule",
    ]
    for name, (estimate, low, high) in _figures(result.metrics):
        lines.append(f"{_escaped(name)} & {_math(estimate)} & {_math(low)} to {_math(high)} \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _escaped(text: str) -> str:
    """Text without what LaTeX would take for commands."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _math(number: str) -> str:
    """A number with a minus sign that LaTeX knows."""
    return f"${number.replace('−', '-').replace(',', '{,}')}$" if number not in ("–", "∞") else "--"
