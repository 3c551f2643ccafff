"""What was asked -> the library's results, with notes, warnings and the Python that repeats it."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

import onefit

from ..display.estimators import last_step
from ..errors import DataError, InterruptedWarning, OneFitError, how_to_install
from ..files import check_page_name, check_writable
from ..learners.refitted import weight_name
from ..results import Comparison, ErrorCurve, NestedCVResult
from ..typing import Estimator, FloatArray
from .amounts import suggested
from .asking import Ask
from .dependent import sum_of_others
from .options import STANDARD_INPUT
from .parsing import Penalties, Value
from .preparing import TAKE_TEXT, Prepared, prepare
from .reading import read_table
from .recipes import Recipe, make_recipe, with_short_names
from .script import Call, write_script
from .streaming import find_table, is_many, penalty_of, prepare_table, read_many
from .telling import CommandBar
from .texts import show_lines

__all__ = ["Answer", "answer_compare", "answer_curve", "answer_plan", "answer_run", "check_outputs"]

T = TypeVar("T")

FAST_VALUES, REFIT_VALUES = 30, 10
"""Values of a curve whose range was not given."""

DECADES = 3
"""So many on either side of the penalty that was chosen."""


@dataclass
class Answer:
    """Results and what goes with them."""

    ask: Ask
    prepared: Prepared
    recipes: tuple[Recipe, ...]
    result: NestedCVResult | None = None
    curve: ErrorCurve | None = None
    comparison: Comparison | None = None
    fitted: Estimator | None = None
    python: str = ""
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    was_interrupted: bool = False

    def call(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """Call the library and keep its warnings, each once."""
        with warnings.catch_warnings(record=True) as caught, self._at_work(keywords):
            warnings.simplefilter("always")
            try:
                found = function(*arguments, **keywords)
            except OneFitError as error:
                raise _for_tables(error, self.ask, self.prepared) from error
        for each in caught:
            if not issubclass(each.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
                self.warnings.append(" ".join(str(each.message).split()))
            self.was_interrupted |= issubclass(each.category, InterruptedWarning)
        self.warnings = list(dict.fromkeys(self.warnings))
        return found

    def note(self, *lines: str) -> None:
        """Keep what the reader should know, and say it at once: what follows may take long."""
        self.notes += lines
        show_lines("note", [] if self.ask.quiet else lines)

    def note_unused(self, result: NestedCVResult) -> None:
        """Say so if repeats that were asked for were not drawn."""
        if self.ask.repeats in ("auto", result.n_repeats) or self.was_interrupted:
            return
        why = "these folds are one partition" if self.folds is not None else "two rows or groups are left out at a time"
        self.note(f"--repeats {self.ask.repeats} is not used: {why}, and nothing is random.")

    def _at_work(self, keywords: dict[str, Any]) -> AbstractContextManager[object]:
        """What is told while the library works: the plan, and how far it is."""
        bar = keywords.get("progress")
        return bar.at_work() if isinstance(bar, CommandBar) else nullcontext()

    def keywords(self) -> dict[str, Any]:
        """Keywords of the public functions."""
        data = {"groups": self.prepared.groups, "sample_weight": self.prepared.weights}
        code = self.ask.loss_code()
        loss = eval(code, {"onefit": onefit}) if code else None
        plain = {**self.ask.keywords(), **data, "loss": loss, "progress": False if self.ask.quiet else CommandBar()}
        return plain if self.folds is None else {**_without_folds(plain), "cv": self.folds[0]}

    @property
    def folds(self) -> tuple[object, str] | None:
        """Folds for rows that follow one another, and the Python that makes them."""
        return self.prepared.ordering.folds(self.ask.ahead, self.ask.folds)

    def keywords_code(self, **other: object) -> dict[str, str]:
        """The same in Python; ``other`` stand in their place."""
        plain = {**self.ask.keywords(), **other}
        code = {name: repr(value) for name, value in plain.items()}
        if self.folds is not None:
            code = {**_without_folds(code), "cv": self.folds[1]}
        if self.prepared.groups is not None:
            code["groups"] = "groups"
        if self.prepared.weights is not None:
            code["sample_weight"] = "weights"
        if self.ask.loss_code():
            code["loss"] = self.ask.loss_code()
        return code


def _without_folds(keywords: dict[str, T]) -> dict[str, T]:
    """What is left where the folds follow from the order of the rows."""
    return {name: value for name, value in keywords.items() if name not in ("n_folds", "n_repeats", "random_state")}


def _classifier(ask: Ask) -> str:
    """The options that make a classification of it."""
    needs_model = "logistic" not in ask.models and not any(":" in name for name in ask.models)
    return "--classes --model logistic" if needs_model else "--classes"


def _for_tables(error: OneFitError, ask: Ask, prepared: Prepared) -> OneFitError:
    """The error in the words of options, with what the table tells of its cause.

    If a training set has dependent columns, that is a column of numbers that depends on others in all rows, or else the
    level that is lacking there most easily.
    """
    if "is of classes, and the estimator predicts numbers" in str(error) and not prepared.has_classes:
        return DataError(
            f"--scoring {','.join(ask.scoring)} is of classes, and the target {ask.roles.target!r} holds numbers; if "
            f"its {len(np.unique(prepared.y))} values are classes, give {_classifier(ask)}, else a score of numbers, "
            "such as --scoring r2 or neg_mean_absolute_error."
        )
    if "linear combinations" not in str(error):
        return error
    if dependent := sum_of_others(prepared):
        return type(error)(
            f"{error} {dependent!r} is a sum of other columns: give --drop {dependent!r}, or --model ridge."
        )
    if prepared.rarest is None:
        return error
    column, level, count = prepared.rarest
    return type(error)(
        f"{error} The rarest level is {level!r} of {column!r}, in {count} row(s): give --model ridge, or "
        f"--drop {column!r}."
    )


def check_outputs(report: Path | None, json: str | None, force: bool, data: str = STANDARD_INPUT) -> None:
    """Refuse before anything is computed what could not be written after it."""
    files = [Path(path) for path in (report, None if json == STANDARD_INPUT else json) if path is not None]
    for path in files:
        check_writable(path, force)
        if data != STANDARD_INPUT and os.path.exists(data) and path.exists() and os.path.samefile(path, data):
            raise OneFitError(f"{str(path)!r} is the table itself and is not overwritten; give another name.")
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise OneFitError("--report and --json name the same file; give two names.")
    if report is not None:
        check_page_name(report)
    if report is not None and importlib.util.find_spec("jinja2") is None:
        raise OneFitError(f"--report needs jinja2, which is not installed: {how_to_install('cli')}.")


def _read(ask: Ask, fits_frame: bool) -> tuple[Prepared, str]:
    """The data, and the Python that reads the table."""
    on_disk = find_table(ask.source)
    if on_disk is not None:
        return prepare_table(on_disk, ask)
    table, read = read_many(ask.source) if is_many(ask.source) else read_table(ask.source)
    is_additive = fits_frame and ask.models == ("additive",)
    return prepare(table, ask.roles, keeps_categories=is_additive or set(ask.models) <= set(TAKE_TEXT)), read


def _start(ask: Ask, fits_frame: bool) -> tuple[Answer, str]:
    """The data and the models, and the Python that reads the table."""
    check_outputs(ask.report, ask.json, ask.force, ask.source.data)
    is_told = not ask.quiet and ask.source.data != STANDARD_INPUT  # who types the table needs no line in between
    with CommandBar().at_work() if is_told else nullcontext():
        prepared, read = _read(ask, fits_frame)
    if len(prepared.X) < 3:
        raise DataError(f"There are only {len(prepared.X)} row(s); nested cross-validation needs at least 3.")
    if ask.loss in ("zero_one", "log_loss", "brier") and not prepared.has_classes:
        raise DataError(
            f"--loss {ask.loss} is for classes, and the target {ask.roles.target!r} holds numbers; give "
            f"{_classifier(ask)} if they are classes, or leave --loss out."
        )
    recipes = tuple(
        make_recipe(name, prepared, penalty_of(name, ask, prepared), ask.tuned, ask.freeze) for name in ask.models
    )
    answer = Answer(ask, prepared, recipes)
    answer.note(*prepared.notes, *dict.fromkeys(note for recipe in recipes for note in recipe.notes))
    if prepared.is_streamed:
        return answer, read
    if suggestion := suggested(prepared, ask.roles.target, ask.models):
        answer.note(suggestion)
    if prepared.is_incomplete:
        how = "once: the error is that given the imputation" if ask.freeze else "anew in every training set"
        answer.note(f"Missing values are imputed (median, most frequent level) {how}.")
    return answer, read


def answer_run(ask: Ask) -> Answer:
    """How well one model predicts."""
    answer, read = _start(ask, fits_frame=True)
    recipe, X, y = answer.recipes[0], answer.prepared.X, answer.prepared.y
    if ask.range is not None and not recipe.penalty:
        raise DataError(f"--lambda: the model {recipe.name} has no penalty; leave --lambda out.")
    answer.result = answer.call(onefit.nested_cv, recipe.estimator, X, y, **answer.keywords())
    answer.note_unused(answer.result)
    calls = [Call("nested_cv", "result", recipe.code, answer.keywords_code())]
    if answer.was_interrupted:  # the repeats that are complete are the first ones of the seed
        calls = [Call("nested_cv", "result", recipe.code, answer.keywords_code(n_repeats=answer.result.n_repeats))]
        answer.python = write_script(ask, read, answer.prepared, [recipe], calls)
        return answer
    is_fast = bool(recipe.penalty) and answer.result.route != "refit"
    if (ask.wants_file or ask.range is not None) and not answer.prepared.is_streamed:
        answer.fitted = _fit(answer, recipe)
    if ask.range is not None or (ask.wants_file and is_fast):
        calls.append(_add_curve(answer, recipe))
    answer.python = write_script(ask, read, answer.prepared, [recipe], calls)
    return answer


def _fit(answer: Answer, recipe: Recipe) -> Estimator:
    """The model on all rows."""
    weights = answer.prepared.weights
    extra = {} if weights is None else {weight_name(recipe.estimator): weights}
    try:
        fitted: Estimator = answer.call(clone(recipe.estimator).fit, answer.prepared.X, answer.prepared.y, **extra)
    except Exception as error:  # of an estimator of the user's, on more rows than it was just fitted to
        raise DataError(
            f"The model {recipe.name} cannot be fitted to all rows: {type(error).__name__}: {error}"
        ) from error
    return fitted


def _add_curve(answer: Answer, recipe: Recipe) -> Call:
    """The error along the penalty, on the folds of the result."""
    ask, result = answer.ask, answer.result
    assert result is not None
    at = make_recipe(recipe.name, answer.prepared, lam=1.0)
    values = ask.range or _default_range(answer, recipe, answer.fitted)
    # a curve on the folds of the result can be set beside it; leave two out has only one way to fold
    leaves_two = result.n_folds == (len(answer.prepared.X) if answer.prepared.groups is None else _n_groups(answer))
    folds = {"n_folds": "n" if leaves_two else result.n_folds, "n_repeats": result.n_repeats}
    if answer.folds is not None:
        folds = {}
    path = {"param_name": at.penalty, "param_range": values.values}
    answer.curve = answer.call(
        onefit.error_curve, at.estimator, answer.prepared.X, answer.prepared.y, **{**answer.keywords(), **folds, **path}
    )
    path_code = (repr(at.penalty), values.code)
    return Call("error_curve", "curve", at.code, answer.keywords_code(**folds), path_code, at.imports)


def _n_groups(answer: Answer) -> int:
    return 0 if answer.prepared.groups is None else len(np.unique(answer.prepared.groups))


def _default_range(answer: Answer, recipe: Recipe, fitted: Estimator | None) -> Penalties:
    """Three decades on either side of the penalty that the model chose, in whole powers of ten."""
    last = last_step(fitted)
    count = REFIT_VALUES if recipe.name in ("lasso", "kernel") and not answer.ask.freeze else FAST_VALUES
    if hasattr(last, "alphas_"):  # LassoCV: from the penalty that leaves nothing
        return Penalties(float(np.min(last.alphas_)), float(np.max(last.alphas_)), count)
    own = (getattr(last, name) for name in ("lam_", "alpha_", "alpha") if hasattr(last, name))
    chosen = np.atleast_1d(next(own, 1.0)).astype(float)
    if hasattr(last, "lam_range_"):
        chosen = np.clip(chosen, last.lam_range_[0] * 10**DECADES, last.lam_range_[1] / 10**DECADES)
    elif hasattr(last, "lam_at_end_"):  # terms that are straight lines have any large penalty
        inside = [lam for lam, end in zip(chosen, last.lam_at_end_, strict=True) if not end]
        chosen = np.array(inside or [1.0])
    positive = chosen[chosen > 0]
    middle = round(float(np.log10(np.median(positive)))) if len(positive) else 0
    return Penalties(float(f"1e{middle - DECADES}"), float(f"1e{middle + DECADES}"), count)


def answer_plan(ask: Ask) -> tuple[Answer, onefit.Plan]:
    """Which route would be taken to the answer of `answer_run`, and what it would cost."""
    answer, _ = _start(ask, fits_frame=True)
    estimator, X, y = answer.recipes[0].estimator, answer.prepared.X, answer.prepared.y
    return answer, answer.call(onefit.plan_for, estimator, X, y, **answer.keywords())


def answer_curve(ask: Ask) -> Answer:
    """The error of one model along a parameter."""
    answer, read = _start(replace(ask, penalties=None if ask.range else ask.penalties), fits_frame=True)
    answer.ask = ask
    recipe = answer.recipes[0]
    values: list[Value] | FloatArray
    if ask.param is not None:
        at, name, values, code = recipe, _parameter(recipe, ask.param), list(ask.values), repr(list(ask.values))
    elif not recipe.penalty:
        parameter = "C --simpler smaller" if recipe.name == "logistic" else "NAME"
        raise DataError(f"The model {recipe.name} has no penalty lambda; give --param {parameter} --values 0.1,1,10.")
    else:
        at = make_recipe(recipe.name, answer.prepared, lam=1.0)
        fitted = None if answer.prepared.is_streamed else _fit(answer, recipe)
        penalties = ask.range or _default_range(answer, recipe, fitted)
        name, values, code = at.penalty, penalties.values, penalties.code
    path = {"param_name": name, "param_range": values, "simpler": ask.simpler}
    X, y = answer.prepared.X, answer.prepared.y
    answer.curve = answer.call(onefit.error_curve, at.estimator, X, y, **{**answer.keywords(), **path})
    best = answer.curve.results[int(answer.curve.best)]
    if best is not None:
        answer.note_unused(best)
    other = {} if ask.simpler == "larger" else {"simpler": ask.simpler}
    call = Call("error_curve", "curve", at.code, answer.keywords_code(**other), (repr(name), code))
    answer.recipes = (at,)
    answer.python = write_script(ask, read, answer.prepared, [at], [call])
    if ask.wants_file and not answer.was_interrupted and not answer.prepared.is_streamed:
        chosen = clone(at.estimator).set_params(**{name: answer.curve.select("min")})
        answer.fitted = _fit(answer, replace(at, estimator=chosen))
    return answer


def _parameter(recipe: Recipe, name: str) -> str:
    """The full name of a parameter; that of one step of a pipeline may be given without the step."""
    known = recipe.estimator.get_params() if hasattr(recipe.estimator, "get_params") else {}
    inside = [each for each in known if each.endswith(f"__{name}")]
    return inside[0] if name not in known and len(inside) == 1 else name


def answer_compare(ask: Ask) -> Answer:
    """Several models on the same folds."""
    answer, read = _start(ask, fits_frame=False)
    answer.recipes = with_short_names(answer.recipes)
    estimators = {recipe.name: recipe.estimator for recipe in answer.recipes}
    answer.comparison = answer.call(
        onefit.compare, estimators, answer.prepared.X, answer.prepared.y, **answer.keywords()
    )
    answer.note_unused(next(iter(answer.comparison.results.values())))
    call = Call("compare", "comparison", "", answer.keywords_code())
    answer.python = write_script(ask, read, answer.prepared, answer.recipes, [call])
    return answer
