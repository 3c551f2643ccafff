"""Figure 4: the choice of the penalty in functional principal component regression."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline

import onefit
from onefit.datasets import Simulation, make_signal

from .peers import PEERS
from .shapes import Array, System, partitions
from .timing import Settings, compare_peer, proportional, quietly

__all__ = ["Study", "curve", "figure4a", "figure4b", "mgcv_scale", "study", "system_at"]

N, SPLINES, FOLDS, TEST_ROWS = 100, 40, 20, 100
COMPONENTS = (5, 10)
RULES = ("gcv", "loo", "reml", "min")
QUANTILES = (2.5, 25, 50, 75, 97.5)
LIKELIHOOD = 1.92
"""Half the 95% quantile of chi-squared with one degree of freedom: how far REML may be above its minimum."""


@dataclass(frozen=True)
class Study:
    """Values of the penalty, repeats, repeats for the bias, and test sets."""

    values: int = 100
    repeats: int = 200
    bias: int = 40
    tests: int = 1000

    @property
    def paper_lams(self) -> Array:
        """The authors' values of lambda."""
        return np.logspace(-2, 2.5, self.values)

    @property
    def lams(self) -> Array:
        """The same in onefit's units."""
        return self.paper_lams / mgcv_scale()

    @property
    def folds(self) -> dict[str, Any]:
        """Partitions, and those for the bias."""
        return {"folds": partitions(N, FOLDS, self.repeats, 1), "bias_folds": partitions(N, FOLDS, self.bias, 2)}


FULL, QUICK = Study(), Study(12, 4, 2, 50)


def study(settings: Settings) -> Study:
    """The authors' settings, or few of everything."""
    return QUICK if settings.quick else FULL


def roughness(knots: Array) -> Array:
    """Integrals of products of second derivatives of the cubic B-splines on these knots, between the inner ones.

    The products are quadratic between knots, so that Simpson's rule is exact.
    """
    size = len(knots) - 4
    second = BSpline(knots, np.eye(size), 3).derivative(2)
    inner = np.unique(knots[3 : size + 1])
    S = np.zeros((size, size))
    for a, b in pairwise(inner):
        # just inside the ends: at a knot of full multiplicity the derivative is that of the other side
        points = np.array([a + 1e-13 * (b - a), (a + b) / 2, b - 1e-13 * (b - a)])
        values = second(points)
        S += (b - a) / 6 * (values.T * [1.0, 4.0, 1.0]) @ values
    return S


def mgcv_scale() -> float:
    """The number by which the authors' lambda is divided to get ``lam``.

    They take splines and penalty from mgcv, which divides S by ``||S||_1 / ||B||_inf^2``; its cubic B-splines have
    evenly spaced knots, 38 of them over the unit interval widened by a thousandth at both ends. Rows of B sum to one.
    """
    step = 1.002 / (SPLINES - 3)
    knots: Array = -0.001 + step * np.arange(-3, SPLINES + 1, dtype=np.float64)
    return float(np.abs(roughness(knots)).sum(axis=0).max())


def simulation() -> Simulation:
    """The one data set of the figure."""
    return make_signal(N, n_points=N, noise=0.1, random_state=0)


def model(p: int) -> onefit.FPCR:
    """The authors' model: components of all rows."""
    return onefit.FPCR(n_basis=SPLINES, n_components=p)


def system_at(sim: Simulation, p: int, lam: float) -> System:
    """The same model for loops written by hand, from splines, penalty and components of their own."""
    knots = np.concatenate([np.zeros(3), np.linspace(0, 1, SPLINES - 2), np.ones(3)])
    D = sim.X @ BSpline(knots, np.eye(SPLINES), 3)(np.arange(1, N + 1) / N) / N
    V = np.linalg.svd(D - D.mean(axis=0))[2][:p].T
    e, U = np.linalg.eigh(V.T @ roughness(knots) @ V)
    root = np.sqrt(lam * e)[:, None] * U.T
    return System(np.column_stack([np.ones(N), D @ V]), np.hstack([np.zeros((p, 1)), root]), sim.y)


@cache
def curve(p: int, size: Study, two: bool = False) -> tuple[onefit.ErrorCurve, float]:
    """The error curve by the paper's rule, or by leaving two out and the covariance rule; and its processor seconds."""
    sim = simulation()
    how = {"n_folds": "n"} if two else {"interval": "paper", **size.folds}
    start = time.process_time()
    found = quietly(
        onefit.error_curve, model(p), sim.X, sim.y, param_name="lam", param_range=size.lams, random_state=0, **how
    )
    return found, time.process_time() - start


def figure4a(settings: Settings) -> dict[str, pd.DataFrame]:
    """Error curves, the errors on test sets, the penalties that criteria choose, and seconds."""
    size, sim = study(settings), simulation()
    fresh = sim.sample(TEST_ROWS * size.tests, random_state=3)
    curves, choices, times = [], [], []
    for p in COMPONENTS:
        print(f"  {p} components", file=sys.stderr, flush=True)
        (paper, seconds), (two, two_seconds) = curve(p, size), curve(p, size, two=True)
        table = _along(paper, two, sim, fresh, p, size)
        curves.append(table)
        choices.append(_choices(paper, two, table, p))
        times.append({"components": p, "onefit_s": seconds, "leave_two_s": two_seconds, "route": _route(paper)})
        times[-1] |= _peer_seconds(paper, sim, p, size, settings.budget)
    return {
        "figure4a": pd.concat(curves, ignore_index=True),
        "figure4_choices": pd.concat(choices, ignore_index=True),
        "figure4_times": pd.DataFrame(times),
    }


def figure4b(settings: Settings) -> dict[str, pd.DataFrame]:
    """Minus the restricted log-likelihood, up to a constant."""
    size = study(settings)
    parts = []
    for p in COMPONENTS:
        found, _ = curve(p, size)
        reml = found.scores["reml"].to_numpy(float)
        part = pd.DataFrame({"lam": size.lams, "lam_paper": size.paper_lams, "reml": reml - reml.min()})
        part.insert(0, "components", p)
        parts.append(part.assign(chosen=part["reml"] == 0, likely=part["reml"] <= LIKELIHOOD))
    return {"figure4b": pd.concat(parts, ignore_index=True)}


def _route(found: onefit.ErrorCurve) -> str:
    return next(result.route for result in found.results if result is not None)


def _along(
    paper: onefit.ErrorCurve, two: onefit.ErrorCurve, sim: Simulation, fresh: tuple[Array, Array], p: int, size: Study
) -> pd.DataFrame:
    """One row a penalty: both intervals, criteria, the true error, and quantiles of the error on test sets."""
    fits = [paper.deploy(lam) for lam in size.lams]
    # predictions are linear in the curve: one product serves all test sets and penalties
    slopes = np.column_stack([fit.coefficient_function() for fit in fits]) / N
    X, y = fresh
    losses = (y[:, None] - X @ slopes - [fit.intercept_ for fit in fits]) ** 2
    sets = losses.reshape(size.tests, TEST_ROWS, -1).mean(axis=1)
    columns = {
        "components": p,
        "variance": float(fits[0].explained_variance_ratio_.sum()),
        "lam": size.lams,
        "lam_paper": size.paper_lams,
        "edf": paper.edf,
        "paper": paper.estimate,
        "paper_low": paper.low,
        "paper_high": paper.high,
        "leave_two": two.estimate,
        "leave_two_low": two.low,
        "leave_two_high": two.high,
        "indistinguishable": np.isin(size.lams, two.indistinguishable()),
        "monte_carlo_error": [result.monte_carlo_error for result in paper.results if result is not None],
        "cv": [result.cv_estimate for result in paper.results if result is not None],
        "loo": paper.scores["loo"].to_numpy(float),
        "gcv": paper.scores["gcv"].to_numpy(float),
        "true": [sim.true_error(fit) for fit in fits],
    }
    within = (sets >= np.asarray(paper.low)) & (sets <= np.asarray(paper.high))
    columns["tests_within_paper"] = within.mean(axis=0)
    columns |= {f"test_{q:g}": np.percentile(sets, q, axis=0) for q in QUANTILES}
    return pd.DataFrame(columns)


def _choices(paper: onefit.ErrorCurve, two: onefit.ErrorCurve, table: pd.DataFrame, p: int) -> pd.DataFrame:
    """The row of the penalty that each rule selects."""
    lams = [(rule, paper.select(rule)) for rule in RULES] + [("min, leave two out", two.select("min"))]
    rows = [table[table["lam"] == lam].iloc[0] for _, lam in lams]
    found = pd.DataFrame(rows)[
        ["lam", "lam_paper", "edf", "paper", "paper_low", "paper_high", "leave_two", "leave_two_low", "leave_two_high"]
    ]
    found["true"] = [row["true"] for row in rows]
    found.insert(0, "rule", [rule for rule, _ in lams])
    found.insert(0, "components", p)
    return found


def _peer_seconds(paper: onefit.ErrorCurve, sim: Simulation, p: int, size: Study, budget: float) -> dict[str, Any]:
    """Seconds that loops would take for the whole curve, from one partition at three penalties, which must agree."""
    found: dict[str, Any] = {}
    ids = size.folds["folds"][0]
    some = (0, size.values // 2, size.values - 1)
    singles = FOLDS * size.bias  # the bias needs no pairs
    differences = []
    for name in PEERS:
        seconds = []
        for at in some:
            result = paper.results[at]
            assert result is not None
            expected = result.fold_errors.e_in, result.fold_errors.e_out
            one, difference = compare_peer(name, system_at(sim, p, size.lams[at]), ids, expected, budget)
            seconds.append(proportional(one, size.repeats) + singles * float(np.median(one.singles)))
            differences.append(difference)
        found[f"{name}_s"] = size.values * float(np.mean(seconds))
    return found | {
        "sampled": f"1 of {size.repeats} repeats at 3 of {size.values} penalties",
        "difference": max(differences),
    }
