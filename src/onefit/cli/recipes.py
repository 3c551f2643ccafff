"""Name of a model -> an estimator and the Python that makes it; the estimator is made by that very Python."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard

from ..errors import DataError
from .amounts import check_amounts
from .preparing import TAKE_TEXT, Prepared, wrapped
from .roles import listed

__all__ = ["Recipe", "make_recipe", "with_short_names"]

TUNED_BY: dict[str, tuple[str, ...]] = {
    "ridge": ("gcv", "loo", "reml"),
    "spline": ("reml", "gcv", "loo"),
    "fpcr": ("reml", "gcv", "loo"),
    "additive": ("reml", "gcv"),
}
"""Criteria that a model can tune its penalty by, the default one first."""

FEW_VALUES = 10
"""A column with fewer distinct values is a straight line in an additive model."""

OF_CLASSES = ("ridge", "logistic")
SCALER = "StandardScaler()"
ENCODER = 'OneHotEncoder(handle_unknown="ignore", sparse_output=False)'
"""A level that a training set lacks is none of those that it has."""

SCALED = ("ridge", "lasso", "kernel", "logistic", "poisson", "gamma")
OF_AMOUNTS = {"poisson": "PoissonRegressor", "gamma": "GammaRegressor"}
WEAK_PENALTY = 0.01
"""Penalty of counts and amounts, whose losses are means: scikit-learn's own default, 1, hides most of what there is."""

IMPORTS = {
    "make_pipeline": "from sklearn.pipeline import make_pipeline",
    "StandardScaler": "from sklearn.preprocessing import StandardScaler",
    "OneHotEncoder": "from sklearn.preprocessing import OneHotEncoder",
    "make_column_transformer": "from sklearn.compose import make_column_transformer",
    "SimpleImputer": "from sklearn.impute import SimpleImputer",
    "LinearRegression": "from sklearn.linear_model import LinearRegression",
    "LassoCV": "from sklearn.linear_model import LassoCV",
    "Lasso": "from sklearn.linear_model import Lasso",
    "RidgeCV": "from sklearn.linear_model import RidgeCV",
    "Ridge": "from sklearn.linear_model import Ridge",
    "RidgeClassifierCV": "from sklearn.linear_model import RidgeClassifierCV",
    "RidgeClassifier": "from sklearn.linear_model import RidgeClassifier",
    "LogisticRegression": "from sklearn.linear_model import LogisticRegression",
    "PoissonRegressor": "from sklearn.linear_model import PoissonRegressor",
    "GammaRegressor": "from sklearn.linear_model import GammaRegressor",
    "KernelRidge": "from sklearn.kernel_ridge import KernelRidge",
    "TransformedTargetRegressor": "from sklearn.compose import TransformedTargetRegressor",
    "np": "import numpy as np",
}


class Estimator(Protocol):
    """What can be fitted and predicts."""

    fit: Callable[..., object]
    predict: Callable[..., object]


@dataclass(frozen=True)
class Recipe:
    """A model.

    Attributes
    ----------
    name : str
        As it was asked for.
    estimator : estimator
    code : str
        The expression that makes it.
    imports : tuple of str
        What the expression needs.
    penalty : str
        The parameter that is its penalty; empty if it has none.
    notes : tuple of str
    """

    name: str
    estimator: Estimator
    code: str
    imports: tuple[str, ...]
    penalty: str
    notes: tuple[str, ...] = ()


def make_recipe(
    name: str, prepared: Prepared, lam: float | None = None, tuned: str | None = None, freeze: bool = False
) -> Recipe:
    """The model of a name for these data: at a penalty, or tuned by a criterion (None: by its default).

    ``freeze`` says that its steps will be fitted once, which changes nothing but the notes.
    """
    if ":" in name:
        return _imported(name, prepared, lam, tuned)
    if prepared.has_classes and name not in OF_CLASSES:
        raise DataError(
            f"The target holds classes, and --model {name} predicts numbers; use --model ridge, --model logistic, or a "
            "factory of a classifier as package.module:factory."
        )
    if name == "logistic" and not prepared.has_classes:
        raise DataError(
            "--model logistic predicts classes, and the target holds numbers; give --classes if they are classes, or "
            "use --model ridge."
        )
    check_amounts(name, prepared)
    if name == "fpcr" and prepared.categories:
        raise DataError(
            f"--model fpcr takes the columns as points of a curve, and {next(iter(prepared.categories))!r} is "
            "categorical; --drop it."
        )
    last = _last_step(name, prepared, lam, _criterion(name, prepared, lam, tuned))
    steps = [*_steps_before(name, prepared), last]
    code = _piped(steps)
    imports = _imports(code)
    prefix = f"{last.removeprefix('onefit.').partition('(')[0].lower()}__" if len(steps) > 1 else ""
    notes = _notes(name, prepared, freeze)
    return Recipe(name, _make(code, imports), code, tuple(imports), _penalty(name, last, prefix), notes)


def with_short_names(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    """Classes of other packages without their modules, for labels of tables and charts, where no two are the same."""
    classes = [recipe.name.rpartition(":")[2] for recipe in recipes]
    return tuple(
        replace(recipe, name=short) if short[:1].isupper() and classes.count(short) == 1 else recipe
        for recipe, short in zip(recipes, classes, strict=True)
    )


def _piped(steps: Sequence[str]) -> str:
    """Steps one after the other; one is itself."""
    return f"make_pipeline({', '.join(steps)})" if len(steps) > 1 else steps[0]


def _imports(code: str) -> list[str]:
    """What an expression needs."""
    return [line for word, line in IMPORTS.items() if re.search(rf"\b(?<!onefit\.){word}[(.]", code)]


def _make(code: str, imports: Sequence[str]) -> Estimator:
    """Evaluate the expression, so that what is shown is what is run."""
    names: dict[str, object] = {}
    exec("\n".join(["import onefit", *imports]), names)
    made: Estimator = eval(code, names)
    return made


def _criterion(name: str, prepared: Prepared, lam: float | None, tuned: str | None) -> str:
    """The criterion that chooses the penalty; empty if there is none."""
    if name == "logistic":
        allowed: tuple[str, ...] = ()
    else:
        allowed = ("loo",) if prepared.has_classes else TUNED_BY.get(name, ())
    if name == "ridge" and _is_mixed(name, prepared) and tuned is None:
        allowed = ("loo",)  # scikit-learn's own, which needs no refits after its encoders
    if tuned is not None and tuned not in allowed:
        choices = f"by {' or '.join(allowed)}" if allowed else "by none of these"
        kind = " of classes" if prepared.has_classes else ""
        raise DataError(f"--tuned {tuned}: the model {name}{kind} can be tuned {choices}; leave --tuned out.")
    if lam is not None or not allowed:
        return ""
    return tuned or allowed[0]


def _last_step(name: str, prepared: Prepared, lam: float | None, criterion: str) -> str:
    """The model without what goes before it."""
    strength = repr(criterion) if criterion else repr(lam)
    if name == "ols":
        if lam is not None:
            raise DataError("--model ols has no penalty; leave --lambda out, or use --model ridge.")
        return "LinearRegression()"
    if name == "logistic":
        if lam is not None:
            raise DataError(
                "--model logistic has C, the inverse of a penalty, which is 1: leave --lambda out, and see how much it "
                "matters by onefit curve --param C --values 0.01,0.1,1,10 --simpler smaller."
            )
        return "LogisticRegression(max_iter=1000)"
    if name == "ridge" and prepared.has_classes:
        return "RidgeClassifierCV(alphas=np.logspace(-3, 5, 25))" if criterion else f"RidgeClassifier(alpha={lam!r})"
    if name == "ridge" and _is_mixed(name, prepared) and criterion in ("", "loo"):
        return "RidgeCV(alphas=np.logspace(-2, 5, 29))" if criterion else f"Ridge(alpha={lam!r})"
    if name == "lasso":
        return "LassoCV(max_iter=10000)" if lam is None else f"Lasso(alpha={lam!r}, max_iter=10000)"
    if name == "kernel":
        # it has no intercept, so the target is centred, anew in every training set
        kernel = f'KernelRidge(kernel="rbf", alpha={1.0 if lam is None else lam!r})'
        return f"TransformedTargetRegressor({kernel}, transformer={SCALER})"
    if name in OF_AMOUNTS:
        return f"{OF_AMOUNTS[name]}(alpha={WEAK_PENALTY if lam is None else lam!r}, max_iter=1000)"
    if name == "additive":
        return f"onefit.AdditiveModel({_terms(prepared)}, lam={strength})"
    made = {"ridge": "PenalizedRegression", "spline": "SplineRegression", "fpcr": "FPCR"}[name]
    return f"onefit.{made}(lam={strength})"


def _terms(prepared: Prepared) -> str:
    """Terms of an additive model: curves, straight lines for columns of few values, factors."""
    terms = []
    for column in prepared.columns:
        if column.kind == "number":
            kind = "smooth" if column.n_distinct >= FEW_VALUES else "linear"
            terms.append(f"onefit.{kind}({column.name!r})")
        elif prepared.is_encoded:
            terms.extend(f"onefit.linear({f'{column.name}={level}'!r})" for level in column.levels[1:])
        else:
            terms.append(f"onefit.factor({column.name!r}, levels={list(column.levels)!r})")
    return f"[{', '.join(terms)}]"


def _is_mixed(name: str, prepared: Prepared) -> bool:
    """Whether a model gets text or gaps, which steps before it make numbers of."""
    return not prepared.is_encoded and (prepared.is_incomplete or (bool(prepared.categories) and name != "additive"))


def _steps_before(name: str, prepared: Prepared) -> list[str]:
    """Medians, most frequent levels, deviations and levels, all found anew wherever the model is fitted."""
    scaler = [SCALER] if name in SCALED else []
    if not _is_mixed(name, prepared):
        return scaler
    encoder = ENCODER if name in SCALED else ENCODER.replace("(", '(drop="first", ')  # which a penalty can do without
    if name not in TAKE_TEXT:  # these need columns that do not depend on each other, the same in every training set
        levels = [list(each) for each in prepared.categories.values()]
        encoder = f'OneHotEncoder(categories={levels!r}, drop="first", sparse_output=False)'
    parts = [
        (prepared.numbers, "median", scaler),
        (list(prepared.categories), "most_frequent", [] if name == "additive" else [encoder]),
    ]
    written = []
    for columns, strategy, after in parts:
        has_gaps = any(column.n_missing for column in prepared.columns if column.name in columns)
        steps = [*([f'SimpleImputer(strategy="{strategy}")'] if has_gaps else []), *after]
        if columns:
            written.append(f"({_piped(steps) if steps else repr('passthrough')}, {wrapped(columns)})")
    if name == "additive":
        inside = f"{', '.join(written)}, verbose_feature_names_out=False"
        return [f'make_column_transformer({inside}).set_output(transform="pandas")']
    return [f"make_column_transformer({', '.join(written)})"]


def _penalty(name: str, last: str, prefix: str) -> str:
    if name in ("ols", "logistic"):
        return ""
    if name == "kernel":
        return f"{prefix}regressor__alpha"
    return prefix + ("lam" if last.startswith("onefit.") else "alpha")


def _notes(name: str, prepared: Prepared, freeze: bool) -> tuple[str, ...]:
    """What the reader should know of the model."""
    when = "once, on all rows" if freeze else "anew in every training set"
    notes = []
    if prepared.categories and not prepared.is_encoded:
        each = "Each level" if name in SCALED else "Each level but the first (in sorted order)"
        levels = (
            f"{each} is a column of zeros and ones; the levels are found {when}."
            if name in TAKE_TEXT
            else "The levels are those of all rows."
        )
        notes.append(f"Categorical: {listed(list(prepared.categories))}. {levels}")
    if name in SCALED and (prepared.numbers or prepared.is_encoded):
        columns = "columns of numbers" if _is_mixed(name, prepared) and prepared.categories else "columns"
        notes.append(f"{name}: the {columns} are scaled to unit variance, {when}.")
    if name == "spline" and len(prepared.columns) > 1:
        notes.append("spline: one penalty serves all columns; --model additive chooses one for each.")
    return tuple(notes)


# ------------------------------------------------------------------------------------------------ factories of the user


def _imported(name: str, prepared: Prepared, lam: float | None, tuned: str | None) -> Recipe:
    """An estimator that the user's own module holds or makes."""
    if lam is not None or tuned is not None:
        raise DataError("--lambda and --tuned are for the models of onefit; set the penalty in the factory.")
    module, _, attribute = name.partition(":")
    found = _find(module, attribute)
    is_instance = hasattr(found, "fit") and not isinstance(found, type)
    try:
        estimator = found if is_instance or not callable(found) else found()
    except Exception as error:
        raise DataError(
            f"--model {name!r} fails when called without arguments: {type(error).__name__}: {error}"
        ) from error
    if not _is_estimator(estimator):
        raise DataError(
            f"--model {name!r} gives {type(estimator).__name__}, which has no fit and predict; return an estimator."
        )
    imports = ["import sys", 'sys.path.insert(0, "")', f"import {module}"]
    code = f"{module}.{attribute}" if is_instance else f"{module}.{attribute}()"
    steps = _steps_before("", prepared)
    if steps:
        code = _piped([*steps, code])
        imports += _imports(code)
        estimator = _make(code, imports)
    return Recipe(name, estimator, code, tuple(imports), "")


def _is_estimator(found: object) -> TypeGuard[Estimator]:
    """Whether it is one, and not a class of them."""
    return not isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "predict")


def _find(module: str, attribute: str) -> object:
    """What a module calls by that name; modules in the current folder are found first."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module)
    except Exception as error:
        raise DataError(
            f"--model: module {module!r} cannot be imported ({type(error).__name__}: {error}); check its name."
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise DataError(f"--model: {module!r} has no {attribute!r}; check its name.")
        found = getattr(found, part)
    return found
