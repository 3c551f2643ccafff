"""Scores in report, plots and notebook: greater is better, all metrics, calibration, and rows without losses."""

from __future__ import annotations

from html import unescape

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

import onefit
from onefit.errors import DataError
from onefit.report import render

matplotlib.use("Agg")
FOLDS = {"n_folds": 5, "n_repeats": 2, "random_state": 0}


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.where(rng.random(150) < 1 / (1 + np.exp(-2 * X[:, 0])), "ill", "well")


@pytest.fixture(scope="module")
def result(classes):
    return onefit.nested_cv(LogisticRegression(), *classes, scoring=["roc_auc", "neg_log_loss"], **FOLDS)


def test_the_report_of_probabilities_has_metrics_baseline_calibration_and_pictures(classes, result):
    page = unescape(render(result=result, y=classes[1]))
    assert "Expect an AUC of about" in page
    assert "The best constant has 0.5: the whole interval is better." in page
    for part in ("log loss (negative)", "calibration slope", "chart-calibration-0", "chart-roc-0", "Scores and prob"):
        assert part in page
    assert "Observed classes by those predicted" in page
    assert "largest held-out losses" not in page
    assert "scoring=['roc_auc', 'neg_log_loss']" in page


def test_the_observed_classes_stand_beside_the_probabilities(classes, result):
    np.testing.assert_array_equal(result.heldout["observed"], classes[1])
    found = onefit.nested_cv(RidgeClassifier(), *classes, **FOLDS)
    assert "observed" not in found.heldout.columns


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_the_larger_score_is_the_better_model_everywhere(classes, scoring):
    models = {"good": LogisticRegression(), "bad": LogisticRegression(C=1e-6), "worse": _Backwards()}
    found = onefit.compare(models, *classes, scoring=scoring, **FOLDS)
    page = unescape(render(comparison=found, y=classes[1]))
    assert found.models["estimate"].idxmax() == found.models.index[0] != "worse"
    assert f"Of 3 models, {found.models.index[0]} has the largest" in page
    assert "positive favours the first" in page
    assert "good is better" in page
    assert "worse is better" not in page
    assert "positive favours the first" in found._repr_html_()
    assert "(above 0: the first is better)" in found.plot()[1].get_xlabel()
    loss = onefit.compare(models, *classes, **FOLDS)
    assert "(below 0: the first is better)" in loss.plot()[1].get_xlabel()


def test_models_compared_by_errors_beside_an_answer_in_scores_have_their_own_best_and_columns(classes, result):
    models = {"good": LogisticRegression(), "bad": _Backwards()}
    compared = onefit.compare(models, *classes, **FOLDS)
    page = unescape(render(result=result, comparison=compared))
    assert result.greater_is_better
    assert not compared.greater_is_better
    assert "The paired differences tell good from every other model" in page
    table = page[page.index("<span>Models, with") :].partition("</table>")[0]
    rows = [row.count("<th") + row.count("<td") for row in table.split("<tr")[1:]]
    assert rows == [3, 3, 3]  # model, error rate, route
    assert '<tr class="strong"><th scope="row">good' in table


class _Backwards(LogisticRegression):
    """Has the probabilities, which scikit-learn makes of the decision, the wrong way round."""

    def decision_function(self, X):
        return -super().decision_function(X)


def test_a_curve_of_scores_cuts_what_is_far_below(classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=60)
    curve = onefit.error_curve(
        Ridge(), X, y, scoring="neg_mean_squared_error", param_name="alpha", param_range=np.logspace(-3, 4, 8), **FOLDS
    )
    upper, _ = curve.plot()
    bottom, top = upper.get_ylim()
    assert bottom <= curve.estimate.max() <= top
    assert curve.estimate.min() < bottom
    assert any(text.get_text().startswith("down to -") for text in upper.texts)
    assert "The score along alpha" in unescape(render(curve=curve, y=y))


def test_rows_of_a_metric_that_is_no_mean_have_no_losses_in_the_report():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    found = onefit.nested_cv(Ridge(), X, y, scoring=["r2", "neg_mean_absolute_error"], **FOLDS)
    page = unescape(render(result=found, y=y))
    assert "Expect an R² of about" in page
    assert "chart-rows-0" in page
    assert "Influential rows" not in page


def test_pictures_of_probabilities(classes, result):
    axes = result.plot(kind="calibration")
    assert axes.get_xlabel() == "held-out probability of well"
    assert axes.get_title(loc="left").startswith("Calibration: slope")
    assert result.plot(kind="roc").get_title(loc="left").startswith("ROC curve: AUC 0.")
    with pytest.raises(DataError, match="needs held-out probabilities"):
        onefit.nested_cv(RidgeClassifier(), *classes, **FOLDS).plot(kind="roc")
    with pytest.raises(DataError, match="kind"):
        result.plot(kind="pie")
    assert "Generalization score" in result._repr_html_()
    assert "calibration slope" in result._repr_html_()
