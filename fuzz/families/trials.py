"""The table of families; one integer -> a trial of one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

import onefit
from onefit.dealing import DealtRows

from .contract import Asked, Family, Trial, pick
from .data import deal, draw_groups, draw_weights
from .glm import generalized, logistic
from .linear import evidence, latent, plain, selecting
from .near import discriminants, neighbours
from .pipelines import pipelines
from .searches import searches

__all__ = ["FAMILIES", "draw_trial"]

FAMILIES: dict[str, tuple[Family, ...]] = {
    "pipelines": (pipelines,),
    "selecting": (selecting,),
    "latent": (latent,),
    "evidence": (evidence,),
    "neighbours": (neighbours,),
    "discriminant": (discriminants,),
    "logistic": (logistic,),
    "generalized": (generalized,),
    "searches": (searches,),
    "drops": (plain, pipelines, selecting, latent, evidence, logistic, generalized, searches),
    "tables": (plain, plain, pipelines, selecting, latent),
    "metrics": (plain, pipelines, selecting, logistic, discriminants, neighbours, generalized),
}
"""What each kind draws from."""

PRECISE = ("logistic", "generalized")
"""Kinds whose reference keeps its digits where a row weighs far more than others."""

HOWS = ("drops", "tables", "metrics")
"""Kinds that ask otherwise than for a loss with given folds of rows in memory."""

NUMBERS = ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error", "explained_variance")
TWO_CLASSES = ("roc_auc", "neg_log_loss", "neg_brier_score", "balanced_accuracy", "average_precision", "accuracy")
CLASSES = ("neg_log_loss", "balanced_accuracy", "accuracy", "roc_auc_ovr")


def draw_trial(seed: int, kind: str) -> Trial:
    """The trial of a seed that is of a kind."""
    rng = np.random.default_rng([seed, 6])
    families = FAMILIES[kind]
    how = kind if kind in HOWS else "rows"
    asked = families[int(rng.integers(len(families)))](rng)
    if how == "tables" and asked.y.ndim == 2:  # of a table one column is named as y
        asked = replace(asked, y=asked.y[:, 0])
    scoring = _scoring(rng, asked) if how == "metrics" else ()
    n = len(asked.y)
    groups = draw_groups(rng, n) if how == "rows" and rng.random() < 0.12 else None
    weights = draw_weights(rng, n) if asked.takes_weights else None
    asked, weights = _extreme(np.random.default_rng([seed, 7]), kind, asked, weights)
    has_all = asked.is_classes and (bool(scoring) or asked.loss in ("log_loss", "brier") or rng.random() < 0.8)
    folds = _folds(rng, how, asked, groups, has_all)
    return Trial(
        seed=seed,
        kind=kind,
        how=how,
        asked=asked,
        folds=folds,
        weights=weights,
        groups=groups,
        scoring=scoring,
        is_curve=how == "rows" and asked.path is not None and bool(rng.random() < 0.25),
        route="auto",
        is_compiled=bool(rng.random() < 0.75),
        checks_jobs=bool(rng.random() < 0.15),
    )


def _extreme(
    rng: np.random.Generator, kind: str, asked: Asked, weights: np.ndarray | None
) -> tuple[Asked, np.ndarray | None]:
    """Now and then columns of all sizes that can be squared, or a row that weighs more than all others together."""
    if isinstance(asked.X, np.ndarray) and rng.random() < 0.04:
        asked = replace(asked, X=asked.X * 10.0 ** rng.uniform(-150, 150, asked.X.shape[1]))
    if kind in PRECISE and rng.random() < 0.08:
        weights = np.ones(len(asked.y)) if weights is None else weights.copy()
        weights[int(rng.integers(len(weights)))] = 10.0 ** rng.uniform(3, 12)
    return asked, weights


def _scoring(rng: np.random.Generator, asked: Asked) -> tuple[str, ...]:
    """Two or three metrics."""
    names = NUMBERS
    if asked.is_classes:
        names = TWO_CLASSES if len(np.unique(asked.y)) == 2 else CLASSES
        if asked.y.dtype.kind == "U":
            names = tuple(name for name in names if name not in ("average_precision", "neg_brier_score"))
    chosen = rng.permutation(names)[: int(rng.integers(2, 4))]
    return tuple(str(name) for name in chosen)


def _folds(rng: np.random.Generator, how: str, asked: Asked, groups: np.ndarray | None, has_all: bool) -> Any:
    """Partitions, or a splitter with neighbourhoods."""
    n, K = len(asked.y), int(rng.integers(3, 6))
    if how == "drops":
        if rng.random() < 0.3:
            return TimeSeriesSplit(K, gap=int(rng.integers(0, 4)))
        return onefit.TimeBlocks(K, buffer=int(rng.integers(0, 4)))
    if how == "tables":
        dealt = DealtRows(n, K, 3)
        return np.stack([dealt.ids(0, n, repeat) for repeat in range(int(pick(rng, {1: 1, 2: 1})))])
    return deal(rng, n, asked.y, groups, has_all)
