"""One integer -> the description of one problem: which model, data of which shape and scales, folds, route."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["FAMILIES", "KINDS", "Problem", "draw", "kind_of"]

KINDS = {
    "linear": 2,
    "ridge": 5,
    "classifier": 1,
    "kernel": 3,
    "penalized": 3,
    "scaled": 2,
    "tuned": 2,
    "sparse": 2,
    "curve": 2,
    "compare": 1,
}
"""What is held to refits in ball arithmetic, and how often."""

FAMILIES = {
    "pipelines": 3,
    "selecting": 3,
    "latent": 1,
    "evidence": 1,
    "neighbours": 2,
    "discriminant": 2,
    "logistic": 3,
    "generalized": 2,
    "searches": 3,
    "drops": 3,
    "tables": 3,
    "metrics": 3,
}
"""What is held to refits of the estimator itself (`fuzz.families`), and how often."""

SHARE_OF_FAMILIES = 0.3

MATRICES = ("identity", "differences", "diagonal", "with zeros")


@dataclass(frozen=True)
class Problem:
    """All that is needed to make a problem again; numbers and words only.

    Attributes
    ----------
    model : what is fitted: the kind itself, or, of curves and comparisons, what they vary the penalty of
    variant : of a tuned ridge regression, "per target" (each output has its own choice), "scaled" (after a
        StandardScaler), or ""
    columns : what each column of X is, a word of `fuzz.arrays`
    column_scales, column_offsets : powers of ten, one for each column; an offset of None is none
    response : "signal", "noise", "constant", "exact"
    response_scale, response_offset : powers of ten; the offset is relative to the scale
    alphas : penalties; one for all outputs, one for each (``per_output``), or the values of a curve, a comparison, a
        grid
    matrix : penalty of `PenalizedRegression`
    weights : "none", "plain", "zeros", "wild", "extreme"
    folds : "given", "unscored" (some rows are always trained on), "n" (leave two rows, or groups, out)
    is_compiled : whether the compiled kernels are used
    checks_jobs : whether two threads must give the same bits
    is_streamed : whether the gram route goes over the rows in blocks, as it does with very many
    """

    seed: int
    kind: str
    model: str
    variant: str
    n: int
    p: int
    n_outputs: int
    fit_intercept: bool
    columns: tuple[str, ...]
    column_scales: tuple[float, ...]
    column_offsets: tuple[float | None, ...]
    response: str
    response_scale: float
    response_offset: float | None
    alphas: tuple[float, ...]
    per_output: bool
    matrix: str
    kernel: str
    is_sparse: bool
    weights: str
    has_groups: bool
    folds: str
    n_folds: int
    n_repeats: int
    route: str
    loss: str
    is_compiled: bool
    checks_jobs: bool
    is_streamed: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain Python, for JSON."""
        return asdict(self)


def kind_of(seed: int) -> str:
    """The kind of a problem, or the family, without drawing the rest of it."""
    if np.random.default_rng([seed, 5]).random() < SHARE_OF_FAMILIES:
        return str(_pick(np.random.default_rng([seed, 8]), FAMILIES))
    return str(_pick(np.random.default_rng([seed, 0]), KINDS))


def draw(seed: int) -> Problem:
    """The problem of a seed."""
    rng = np.random.default_rng([seed, 1])
    kind = kind_of(seed)
    model, variant = _model(np.random.default_rng([seed, 4]), kind)
    is_scaled = "scaled" in (model, variant)
    n, p = _shape(rng, "scaled" if is_scaled else model)
    n_outputs = 1 if model == "classifier" else int(_pick(rng, {1: 7, 2: 2, 3: 1}))
    fit_intercept = is_scaled or model == "classifier" or (model != "kernel" and bool(rng.random() < 0.75))
    common = _common_scale(rng)
    weights = _weights(rng, is_scaled)
    has_groups = n >= 9 and rng.random() < 0.15
    folds, n_folds, n_repeats = _folds(rng, kind, n, has_groups)
    alphas, per_output = _alphas(rng, kind, model, common, n_outputs)
    return Problem(
        seed=seed,
        kind=kind,
        model=model,
        variant=variant,
        n=n,
        p=p,
        n_outputs=n_outputs,
        fit_intercept=fit_intercept,
        **_values(rng, p, model, common),
        alphas=alphas,
        per_output=per_output,
        matrix=str(rng.choice(MATRICES)) if model == "penalized" else "identity",
        kernel=str(rng.choice(["linear", "rbf", "poly", "precomputed"])) if model == "kernel" else "",
        is_sparse=model == "sparse",
        weights=weights,
        has_groups=has_groups,
        folds=folds,
        n_folds=n_folds,
        n_repeats=n_repeats,
        route=_route(rng, model),
        loss="zero_one" if model == "classifier" else str(_pick(rng, {"squared_error": 4, "absolute_error": 1})),
        is_compiled=bool(rng.random() < 0.75),
        checks_jobs=bool(rng.random() < 0.2),
        is_streamed=bool(rng.random() < 0.3),
    )


def _values(rng: np.random.Generator, p: int, model: str, common: float) -> dict[str, Any]:
    """What the columns and the response are made of."""
    return {
        "columns": _columns(rng, p, model),
        "column_scales": _column_scales(rng, p, common),
        "column_offsets": _column_offsets(rng, p),
        "response": _pick(rng, {"signal": 16, "noise": 2, "constant": 1, "exact": 1}),
        "response_scale": float(_pick(rng, {0.0: 12, rng.uniform(-8, 8): 6, rng.uniform(-150, 150): 1})),
        "response_offset": float(rng.uniform(0, 8)) if rng.random() < 0.3 else None,
    }


def _pick(rng: np.random.Generator, odds: dict[Any, float]) -> Any:
    """One of the keys, by odds."""
    shares = np.array(list(odds.values()), dtype=float)
    return list(odds)[int(rng.choice(len(odds), p=shares / shares.sum()))]


def _model(rng: np.random.Generator, kind: str) -> tuple[str, str]:
    """The model of a kind, and its variant."""
    if kind == "tuned":
        return kind, str(_pick(rng, {"": 6, "per target": 2, "scaled": 2}))
    if kind in ("curve", "compare"):
        return str(_pick(rng, {"ridge": 6, "kernel": 2, "penalized": 2, "scaled": 2, "sparse": 1, "classifier": 1})), ""
    return kind, ""


def _shape(rng: np.random.Generator, model: str) -> tuple[int, int]:
    """Rows and columns: mostly tall and small, sometimes wide."""
    n = int(rng.integers(6, 25) if rng.random() < 0.7 else rng.integers(25, 61))
    shape = _pick(rng, {"narrow": 5, "near": 2, "wide": 2})
    if shape == "narrow":
        p = int(rng.integers(1, max(2, n // 3) + 1))
    else:
        p = int(rng.integers(max(1, n // 2), n + 3) if shape == "near" else rng.integers(n, 81))
    most = {"penalized": 20, "tuned": 30, "scaled": n - 1, "linear": n}.get(model, 80)
    return n, min(p, most)


def _common_scale(rng: np.random.Generator) -> float:
    """Power of ten that all columns share."""
    return float(_pick(rng, {0.0: 12, rng.uniform(-8, 8): 6, rng.uniform(-150, 150): 1}))


def _columns(rng: np.random.Generator, p: int, model: str) -> tuple[str, ...]:
    """Most problems have ordinary columns; the others mix in what is awkward."""
    awkward = {"rare": 2, "dummy": 3, "constant": 1, "duplicate": 1, "copy": 1, "sum": 1}
    if rng.random() < 0.4 and model != "sparse":
        return ("normal",) * p
    chosen = {name: odds for name, odds in awkward.items() if rng.random() < 0.4}
    total = sum(chosen.values())
    odds = {"normal": max(1.0, 2.0 * total), **chosen}
    return tuple(str(_pick(rng, odds)) for _ in range(p))


def _column_scales(rng: np.random.Generator, p: int, common: float) -> tuple[float, ...]:
    """Powers of ten."""
    spread = float(_pick(rng, {0.0: 10, 1.0: 3, 6.0: 4, 40.0: 1, 140.0: 1}))
    return tuple(float(np.clip(common + rng.uniform(-spread, spread), -150, 150)) for _ in range(p))


def _column_offsets(rng: np.random.Generator, p: int) -> tuple[float | None, ...]:
    """Powers of ten relative to the scale of the column."""
    share = _pick(rng, {0.0: 6, 0.3: 2, 1.0: 2})
    most = rng.uniform(0, 8)
    return tuple(float(rng.uniform(0, most)) if rng.random() < share else None for _ in range(p))


def _weights(rng: np.random.Generator, is_scaled: bool) -> str:
    if is_scaled:
        return "none"  # a pipeline's weights go to its last step only, and it is then refitted
    return str(_pick(rng, {"none": 11, "plain": 3, "zeros": 3, "wild": 3, "extreme": 1}))


def _folds(rng: np.random.Generator, kind: str, n: int, has_groups: bool) -> tuple[str, int, int]:
    """Where the folds come from, how many, and how many partitions."""
    if n <= 20 and rng.random() < 0.2 and kind != "tuned":
        return "n", 0, 1
    units = n // 3 if has_groups else n
    n_folds = int(rng.integers(3, min(8, units) + 1))
    return ("unscored" if rng.random() < 0.2 and n >= 10 else "given"), n_folds, int(rng.integers(1, 3))


def _route(rng: np.random.Generator, model: str) -> str:
    if model in ("scaled", "tuned", "sparse"):
        return str(_pick(rng, {"auto": 3, "gram": 3, "refit": 0.3}))
    return str(_pick(rng, {"auto": 3, "gram": 4, "onestep": 4, "refit": 0.3}))


def _alpha(rng: np.random.Generator, model: str, common: float) -> float:
    """A penalty that suits the columns, or one from the whole range, or none."""
    how = _pick(rng, {"suitable": 6, "any": 3, "none": 0 if model in ("kernel", "tuned") else 1})
    if how == "none":
        return 0.0
    if how == "suitable":
        return float(10 ** (rng.uniform(-4, 3) + 2 * np.clip(common, -100, 100)))
    return float(10 ** rng.uniform(-18, 18))


def _alphas(
    rng: np.random.Generator, kind: str, model: str, common: float, n_outputs: int
) -> tuple[tuple[float, ...], bool]:
    """One penalty, one for each output, or several values."""
    if kind == "linear":
        return (0.0,), False
    if kind in ("curve", "tuned", "compare"):
        count = 2 if kind == "compare" else int(rng.integers(2, 5))
        return tuple(sorted({_alpha(rng, model, common) for _ in range(count)} | {1.0 + rng.random()})), False
    if n_outputs > 1 and kind in ("ridge", "kernel") and rng.random() < 0.5:
        return tuple(_alpha(rng, model, common) for _ in range(n_outputs)), True
    return (_alpha(rng, model, common),), False
