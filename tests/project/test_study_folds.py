"""The study of folds for refits: its rows are what the public function gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from helpers import quiet_nested_cv
from validation import folds


def test_a_row_is_the_interval_of_nested_cv_with_so_many_folds_and_repeats():
    name, n, seed = "tree", 60, 3
    model = folds.LEARNERS[name].estimator
    X, y, error_of = folds.regression(n, seed)
    rows = list(folds.figures(name, n, seed))
    assert [(row["folds"], row["repeats"]) for row in rows] == list(folds.PLANS)
    for row in rows:
        plan = {"n_folds": row["folds"], "n_repeats": row["repeats"], "random_state": seed}
        result = quiet_nested_cv(clone(model), X, y, confidence_level=folds.LEVEL, **plan)
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
            (result.estimate, *result.interval), rel=1e-12
        )
        if row["repeats"] > 3:  # its error is estimated from all repeats
            assert row["half_width_error"] == pytest.approx(result.monte_carlo_error, rel=0.2)
    fresh, expected = folds._new_rows()
    predicted = clone(model).fit(X, y).predict(fresh)
    assert rows[0]["truth"] == error_of(predicted) == np.square(predicted - expected).mean() + folds.NOISE**2


def test_the_summary_counts_what_is_covered_and_compares_with_ten_folds_on_the_same_data():
    table = folds.study(2, ("lasso",))
    assert len(table) == len(folds.ROWS) * len(folds.PLANS)
    assert set(table["fits"]) == {45, 55, 150, 165}
    assert set(table["datasets"]) == {2}
    assert table["coverage"].between(0, 1).all()
    five = table[table["folds"] == 5].reset_index(drop=True)
    ten = table[table["folds"] == 10].reset_index(drop=True)
    assert five["more_than_ten"].to_numpy() == pytest.approx(five["coverage"] - ten["coverage"], abs=1e-4)
