"""The study of scores: it goes on where it stopped, and its baselines are the known ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score


@pytest.mark.slow
def test_the_study_goes_on_and_has_a_row_for_every_rule(tmp_path):
    from validation.scoredata import Setting
    from validation.scores import study

    settings = [
        Setting("pair", 0.5, "strong", 100),
        Setting("logistic", 0.15, "weak", 100),
        Setting("ridge", 0.0, "weak", 100),
    ]
    first = study(1, np.inf, tmp_path / "sets", settings)
    both = study(2, np.inf, tmp_path / "sets", settings)
    assert (first["datasets"].max(), both["datasets"].min()) == (1, 2)
    assert set(both["rule"]) == {"onefit", "naive", "bootstrap", "delong"}
    assert {"all - half", "half - half", "roc_auc", "r2"} <= set(both["metric"])
    assert both["coverage"].between(0, 1).all()
    path = tmp_path / "sets" / "ridge.csv"
    table = pd.read_csv(path)
    table.assign(low=table["low"] + 1e-5).to_csv(path, index=False)
    with pytest.raises(SystemExit, match="made by other code"):
        study(3, np.inf, tmp_path / "sets", settings)


def test_settings_have_data_sets_of_their_own():
    from validation.scoredata import SETTINGS, draw

    seen = {draw(setting, 0).X[0, 0] for setting in SETTINGS}
    assert len(seen) == len(SETTINGS)


def test_scores_of_pooled_predictions_are_scikit_learns():
    from validation.pooled import Predicted, delong

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (rng.random(80) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    found = Predicted.of(LogisticRegression(), X, y, 5, 0)
    tied = Predicted(found.y, found.p.round(1), found.folds, has_classes=True)
    scores = tied.scores(np.arange(80)[None])
    np.testing.assert_allclose(scores["roc_auc"], roc_auc_score(y, tied.p))
    np.testing.assert_allclose(scores["average_precision"], average_precision_score(y, tied.p))
    np.testing.assert_allclose(scores["f1"], f1_score(y, tied.p > 0.5))
    np.testing.assert_allclose(delong(tied, 0.9, 0)["roc_auc"][0], roc_auc_score(y, tied.p))
