"""Results as they stand in the methods of a paper: the sentences, and what these cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from ..vocabulary import RULE_WORDS
from .estimators import short_name
from .html import at, selections, span
from .numbers import number_text
from .printed import printed_interval, printed_label, printed_metrics, printed_rows
from .shown import ShownComparison, ShownCurve, ShownResult

__all__ = ["comparison_sentences", "curve_sentences", "methods_sentence", "references_of"]

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


def methods_sentence(result: ShownResult) -> str:
    """How the figures of a result were computed, and what they are."""
    level = result.confidence_level
    figures = [f"{name} was {_stated(texts, level)}" for name, texts in printed_metrics(result.metrics)]
    return f"Generalization was estimated {_design({'': result})} The estimated {'; the '.join(figures)}."


def comparison_sentences(comparison: ShownComparison) -> str:
    """The same of several models, and the paired difference of the first, the best on the whole, from every other."""
    level, table = comparison.confidence_level, comparison.differences
    best = comparison.models.index.get_level_values("model")[0]
    pairs = printed_rows(table[table.index.get_level_values("first") == best], comparison.loss)
    models, differences = (
        "; ".join(f"{_stated(texts, level)} for {name}" for name, *texts in rows)
        for rows in (printed_rows(comparison.models, comparison.loss), pairs)
    )
    rules = {result.rule for result in comparison.results.values()}
    own = "" if rules == {"covariance"} else f", with intervals {_rule_text('covariance', comparison.rule_version)},"
    label = printed_label(comparison.loss)
    return (
        f"Generalization of {len(comparison.results)} models was compared on the same rows and folds "
        f"{_design(comparison.results)} The estimated {label} was {models}. The paired difference"
        f"{own} was {differences}; its intervals do not allow for the choice of the best model on the same rows."
    )


def curve_sentences(curve: ShownCurve) -> str:
    """The same of the values of a parameter: the best one, those not told from it, and what one_se selects."""
    outputs = curve.output_names or ("",)
    name = short_name(curve.param_name)
    best = next(result for result in curve.results if result is not None)
    same = curve.indistinguishable()
    sentences = []
    for q, output in enumerate(outputs):
        chosen = {rule: position for position, rules in selections(curve, q).items() for rule in rules}
        where, simple = chosen["min"], curve.values[chosen["one_se"]]
        texts = printed_interval(curve.loss, *(at(part[where], q) for part in (curve.estimate, curve.low, curve.high)))
        inside = same[q] if curve.output_names else same
        sentences.append(
            f"{f'Of {output}, the' if output else 'The'} best estimate of the {printed_label(curve.loss)} was "
            f"{_stated(texts, curve.confidence_level)} at {name} {number_text(curve.values[where])}; {len(inside)} of "
            f"{len(curve.values)} values{span(inside)} could not be told from it by their paired differences, and the "
            f"simplest within one standard error was {number_text(simple)}."
        )
    return (
        f"Generalization at {len(curve.values)} values of {name}{span(curve.values)} was estimated "
        f"{_design({'': best})} {' '.join(sentences)} The intervals do not allow for the choice of the "
        "value on the same rows."
    )


def _design(results: Mapping[str, ShownResult]) -> str:
    """Folds, repeats, way and rule of results on the same folds, to the end of the sentence; who took which way."""
    result = next(iter(results.values()))
    single = result.n_folds == len(result.heldout)
    folds = "leaving out two rows at a time" if single else f"with {result.n_folds} folds"
    repeats = "" if single else f" and {result.n_repeats} repeat{'s' if result.n_repeats > 1 else ''}"
    meant = ""
    if result.dependence is not None:
        folds, repeats = f"with {result.n_folds} folds for rows that depend on their neighbours", ""
        meant = f" What is estimated is {result.dependence.meaning} ({result.dependence.short()})."
    ways: dict[str, list[str]] = {}
    for name, each in results.items():
        ways.setdefault(_way(each), []).append(name)
    named = [way if len(ways) == 1 else f"{way} for {', '.join(names)}" for way, names in ways.items()]
    rule = _rule_text(result.rule, result.rule_version)
    method = f"nested cross-validation (Bates et al. 2024) {folds}{repeats}"
    return f"by {method}, computed {'; '.join(named)}, with intervals {rule}.{meant}"


def _way(result: ShownResult) -> str:
    return WAYS["refit"] if result.route == "refit" else WAYS.get(result.exactness, WAYS["exact"])


def _rule_text(rule: str, rule_version: int) -> str:
    return CITATIONS.get(rule, RULE_WORDS.get(rule, rule)).format(version=rule_version)


def _stated(texts: Sequence[str], level: float) -> str:
    """An estimate with its interval, as it stands in a sentence."""
    estimate, low, high = texts
    return f"{estimate} ({100 * level:g}% confidence interval {low} to {high})"


def references_of(results: Sequence[ShownResult]) -> list[str]:
    """What a paper with the sentences cites: nested cross-validation, how it was computed, the rules, the software."""
    found = [BATES]
    for result in results:
        if result.rule == "paper" or (result.route != "refit" and result.exactness == "exact"):
            found.append(CAO)
        found += {"corrected_t": [NADEAU], "mlr3": [MLR3]}.get(result.rule, [])
    software = f"onefit {version('onefit')}: exact nested cross-validation from one fit. Python package."
    return [*dict.fromkeys(found), software]
