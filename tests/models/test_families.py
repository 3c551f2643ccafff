"""Classes, counts and amounts in additive models and splines: against mgcv, on every route, in scikit-learn."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import onefit
from helpers import quiet_nested_cv
from onefit import AdditiveModel, SplineRegression, factor, smooth
from onefit.errors import DataError, ExtrapolationWarning, OneFitWarning

FOLDER = Path(__file__).parents[1] / "data" / "families"
DATA = pd.read_csv(FOLDER / "data.csv")
ROWS = pd.read_csv(FOLDER / "rows.csv").set_index("row")
FITS = pd.read_csv(FOLDER / "fits.csv").set_index("name")
SPANS = np.array([np.ptp(DATA["x1"]), np.ptp(DATA["x2"])])
TERMS = [smooth("x1", n_basis=8), smooth("x2", n_basis=6), factor("g")]
LOSSES = {"binomial": "log_loss", "poisson": "poisson_deviance", "gamma": "gamma_deviance"}
FAMILIES = pytest.mark.parametrize("family", LOSSES)


def additive(family, lam=0.01):
    return AdditiveModel(TERMS, lam=lam, family=family)


def target(family):
    return np.where(DATA["binomial"] > 0, "yes", "no") if family == "binomial" else DATA[family].to_numpy()


# ---------------------------------------------------------------------------------------------------------------- mgcv


def fitted_like(name):
    """The fit that mgcv made, and its penalties in mgcv's units."""
    family, *_, kind = name.split(".")
    expected, is_one = FITS.loc[name], ".one." in name
    units = np.ones(1) if is_one else 1 / SPANS**3  # one column is in its units, several in their knots' interval
    given = expected[["lam1", "lam2"]].to_numpy(float)[: len(units)] * units
    lam = kind if kind in ("gcv", "reml") else float(given[0]) if is_one else list(given)
    model = SplineRegression(n_basis=12, lam=lam, family=family) if is_one else additive(family, lam)
    X = DATA[["x1"]] if is_one else DATA
    model.fit(X, DATA[family], sample_weight=DATA["w"] if kind == "weighted" else None)
    return model, X, np.atleast_1d(model.lam_) / units


@pytest.mark.parametrize("name", FITS.index)
def test_fits_have_mgcv_s_numbers(name):
    model, X, lams = fitted_like(name)
    expected, kind = FITS.loc[name], name.split(".")[-1]
    rtol = {"gcv": 1e-6, "reml": 2e-5}.get(kind, 1e-8)  # how far mgcv's own iterations go
    eta, std = model.predict(X, return_std=True)
    some = ROWS.index - 1
    np.testing.assert_allclose(eta[some], ROWS[f"{name}.link"], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(std[some], ROWS[f"{name}.se"], rtol=rtol)
    np.testing.assert_allclose(lams, expected[["lam1", "lam2"]].to_numpy(float)[: len(lams)], rtol=rtol)
    for ours, theirs in ((model.edf_, "edf"), (model.scale_, "scale"), (model.deviance_, "deviance")):
        np.testing.assert_allclose(ours, expected[theirs], rtol=rtol)
    np.testing.assert_allclose(model.null_deviance_, expected["null_deviance"], rtol=1e-10)
    if kind != "reml":  # whose score has other constants in mgcv
        np.testing.assert_allclose(model.scores_["gcv"], expected["score"], rtol=1e-5, atol=1e-8)


@FAMILIES
def test_chosen_penalties_are_those_of_the_working_model_at_the_fit(family):
    """The fixed point, written out: least squares with the working weights chooses the same penalties."""
    model = additive(family, "reml").fit(DATA, target(family))
    eta = model.predict(DATA, return_std=True)[0]
    mean = special.expit(eta) if family == "binomial" else np.exp(eta)
    weights = {"binomial": mean * (1 - mean), "poisson": mean, "gamma": np.ones(len(eta))}[family]
    slope = mean if family != "binomial" else weights
    z = eta + (DATA[family] - mean) / slope
    if family == "gamma":  # whose scale is not known, as that of least squares
        again = AdditiveModel(TERMS).fit(DATA, z, sample_weight=weights)
        np.testing.assert_allclose(again.lam_, model.lam_, rtol=1e-6)
    again = AdditiveModel(TERMS, lam=list(model.lam_)).fit(DATA, z, sample_weight=weights)
    np.testing.assert_allclose(again.predict(DATA), eta, rtol=1e-9, atol=1e-9)
    assert again.edf_ == pytest.approx(model.edf_, rel=1e-9)


# -------------------------------------------------------------------------------------------------------------- routes


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        *((family, "additive") for family in LOSSES),
        ("poisson", "weighted"),
        ("binomial", "own lams"),
        ("gamma", "spline"),
    ],
)
def test_training_sets_at_given_penalties_are_those_of_refits(family, kind):
    model = additive(family, [0.001, 0.1] if kind == "own lams" else 0.01)
    X = DATA[["x1", "x2", "g"]]
    if kind == "spline":
        model, X = SplineRegression(n_basis=8, lam=0.1, family=family), DATA[["x1"]]
    keywords = {"loss": LOSSES[family], "n_folds": 4, "n_repeats": 2, "random_state": 0}
    if kind == "weighted":
        keywords["sample_weight"] = DATA["w"].to_numpy()
    fast, slow = (quiet_nested_cv(model, X, target(family), route=each, **keywords) for each in ("auto", "refit"))
    assert (fast.route, fast.exactness) == ("newton", "given the transformers")
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-10)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-9)


def test_given_knots_and_levels_are_exact_without_conditions():
    knots = np.linspace(DATA["x1"].min(), DATA["x1"].max(), 8)
    model = AdditiveModel([smooth("x1", knots=knots), factor("g", levels=["a", "b", "c"])], 0.01, family="poisson")
    result = quiet_nested_cv(model, DATA, target("poisson"), n_folds=4, n_repeats=1, random_state=0)
    assert (result.route, result.exactness) == ("newton", "converged")


def test_chosen_penalties_are_refitted_and_the_reason_is_said():
    X, y = DATA[["x1"]], target("poisson")
    model = SplineRegression(n_basis=6, family="poisson")
    plan = onefit.plan_for(model, X, y, n_folds=3, n_repeats=1)
    assert plan.choice == "refit"
    assert "working models" in str(plan)


def test_a_curve_along_lam_takes_no_refits_and_has_the_numbers_of_its_values():
    model, values = additive("binomial", "reml"), [1e-4, 1e-2, 1.0]
    keywords = {"loss": "log_loss", "n_folds": 4, "n_repeats": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)
        y = target("binomial")
        curve = onefit.error_curve(model, DATA, y, param_name="lam", param_range=values, **keywords)
    alone = [quiet_nested_cv(clone(model).set_params(lam=lam), DATA, y, **keywords).estimate for lam in values]
    assert curve.results[0].route == "newton"
    np.testing.assert_allclose(curve.estimate, alone, rtol=1e-10)


def test_probabilities_have_scores_and_a_calibration():
    result = quiet_nested_cv(
        additive("binomial"), DATA, target("binomial"), scoring=["roc_auc", "neg_log_loss"], n_folds=5, random_state=0
    )
    assert list(result.metrics.index) == ["roc_auc", "neg_log_loss"]
    assert 0.5 < result.metrics.loc["roc_auc", "estimate"] < 1
    assert result.calibration is not None


def test_bits_do_not_depend_on_the_number_of_jobs():
    keywords = {"loss": "poisson_deviance", "n_folds": 5, "n_repeats": 4, "random_state": 0}
    one, two = (quiet_nested_cv(additive("poisson"), DATA, target("poisson"), n_jobs=k, **keywords) for k in (1, 2))
    assert one.interval == two.interval
    assert np.array_equal(one.heldout, two.heldout)


def test_separation_names_the_training_set():
    """Two rows alone keep the classes from being told apart by a line; without them there is no fit."""
    x = np.concatenate([np.arange(20.0), [3.5, 15.5]])
    y = np.concatenate([np.arange(20) >= 10, [True, False]]).astype(int)
    folds = np.concatenate([np.arange(20) % 4, [0, 0]])
    model = SplineRegression(n_basis=4, lam=1e9, knots=np.linspace(0, 19, 4), family="binomial")
    with pytest.raises(onefit.errors.OneFitError, match=r"In repeat 0 with folds? 0.*no maximum"):
        onefit.nested_cv(model, x[:, None], y, folds=folds)


# --------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize(
    "model",
    [
        SplineRegression(5, lam=1.0, family="poisson"),
        pytest.param(SplineRegression(5, lam=1.0, family="binomial"), marks=pytest.mark.slow),
    ],
    ids=["poisson", "binomial"],
)
def test_scikit_learn_checks(model):
    """All pass, but those of classifiers whose data can be told apart without error, where there is no fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(model, on_fail=None)
    failed = [each for each in found if each["status"] == "failed"]
    assert not failed or model.family == "binomial"
    for each in failed:
        cause = each["exception"]
        assert "no maximum" in str(cause) or "no maximum" in str(cause.__cause__), each["check_name"]
    assert len([each for each in found if each["status"] == "passed"]) > 30


def test_two_classes_of_any_labels_make_a_classifier():
    y = target("binomial")
    model = additive("binomial").fit(DATA, y)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert model.classes_.tolist() == ["no", "yes"]
    eta, probabilities = model.decision_function(DATA), model.predict_proba(DATA)
    np.testing.assert_allclose(probabilities[:, 1], special.expit(eta), rtol=1e-14)
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(DATA), rtol=1e-12)
    assert (model.predict(DATA) == np.where(eta > 0, "yes", "no")).all()
    assert model.score(DATA, y) == np.mean(model.predict(DATA) == y)
    assert model.classes_[1] in y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        assert cross_val_score(additive("binomial"), DATA, y, scoring="roc_auc", cv=3).min() > 0.5


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_means_are_on_the_scale_of_y_and_deviations_on_that_of_the_link(family):
    model = additive(family).fit(DATA, target(family))
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    eta, std = model.predict(DATA, return_std=True)
    np.testing.assert_allclose(model.predict(DATA), np.exp(eta), rtol=1e-14)
    assert (std > 0).all()
    assert model.score(DATA, target(family)) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-12)
    effects = model.effects(DATA).groupby("term")["effect"]
    total = sum(effects.get_group(term).to_numpy() for term in model.term_names_) + model.intercept_
    np.testing.assert_allclose(total, eta, rtol=1e-12, atol=1e-12)


def test_no_penalty_is_maximum_likelihood():
    """A column of three values and no penalty: the fitted means are those of the values."""
    x = np.repeat([0.0, 1.0, 2.0], 20)
    y = np.random.default_rng(0).poisson([2, 5, 3], (20, 3)).T.ravel()
    model = AdditiveModel([smooth(0, n_basis=3)], lam=0.0, family="poisson").fit(x[:, None], y)
    means = [y[x == value].mean() for value in (0, 1, 2)]
    np.testing.assert_allclose(model.predict([[0.0], [1.0], [2.0]]), means, rtol=1e-10)
    assert model.scores_["reml"] == np.inf
    assert model.edf_ == pytest.approx(3, rel=1e-10)


def test_rows_without_weight_are_not_there():
    seen = np.arange(len(DATA)) % 4 > 0
    weighted = additive("poisson", "reml").fit(DATA, target("poisson"), sample_weight=seen.astype(float))
    alone = additive("poisson", "reml").fit(DATA[seen], target("poisson")[seen])
    np.testing.assert_allclose(weighted.predict(DATA[seen]), alone.predict(DATA[seen]), rtol=1e-8)


def test_the_summary_names_the_deviance_and_the_criterion():
    text = additive("poisson", "gcv").fit(DATA, target("poisson")).summary()
    assert "scale 1, UBRE" in text
    assert "deviance explained" in text
    assert "adjusted R2" not in text


@FAMILIES
def test_curves_are_drawn_on_the_scale_of_y(family):
    pytest.importorskip("matplotlib")
    y = target(family)
    model = SplineRegression(n_basis=8, lam=0.1, family=family).fit(DATA[["x1"]], y)
    ax = model.plot(X=DATA[["x1"]], y=y)
    assert ax.get_ylabel() == ("probability of yes" if family == "binomial" else "y")
    line = ax.lines[0].get_ydata()
    assert line.min() > 0
    first = DATA[["x1"]].iloc[:1].assign(x1=ax.lines[0].get_xdata()[0])
    mean = model.predict_proba(first)[0, 1] if family == "binomial" else model.predict(first)[0]
    np.testing.assert_allclose(line[0], mean, rtol=1e-9)
    two = SplineRegression(n_basis=6, lam=0.1, family=family).fit(DATA[["x1", "x2"]], y)
    assert len(two.plot(X=DATA[["x1", "x2"]], y=y)) == 2


# ---------------------------------------------------------------------------------------------------------- odd input


@pytest.mark.parametrize(
    ("family", "y", "said"),
    [
        ("poisson", [-1.0, 2.0], "counts, zero or larger, and y is -1 in row 0"),
        ("gamma", [2.0, 0.0], "larger than zero, and y is 0 in row 1"),
        ("binomial", [0, 1, 2], "y has 3 classes"),
        ("binomial", [1, 1], "only one class"),
        ("binomial", [0.2, 0.7], "continuous"),
        ("poisson", [0.0, 0.0], "no maximum"),
        ("cauchy", [0.0, 1.0], "family='cauchy' is unknown"),
    ],
)
def test_targets_that_a_family_is_not_made_for(family, y, said):
    X = np.random.default_rng(0).standard_normal((30, 1))
    for model in (SplineRegression(5, lam=1.0, family=family), AdditiveModel(n_basis=5, lam=1.0, family=family)):
        with pytest.raises(ValueError, match=said):
            model.fit(X, np.resize(y, 30))


def test_weights_that_leave_one_class():
    y = np.resize([0, 1], 30)
    with pytest.raises(DataError, match="only one class, 1,"):
        SplineRegression(5, family="binomial").fit(np.arange(30.0)[:, None], y, sample_weight=y)


def test_several_outputs_and_leave_one_out_are_refused():
    X = np.arange(30.0)[:, None]
    with pytest.raises(ValueError, match=r"1d|y should be"):
        SplineRegression(5, family="poisson").fit(X, np.ones((30, 2)))
    with pytest.raises(DataError, match='lam="loo" is for family="gaussian"'):
        SplineRegression(5, lam="loo", family="poisson").fit(X, np.arange(30))


def test_separated_classes_are_refused_with_a_remedy():
    x = np.arange(30.0)[:, None]
    with pytest.raises(DataError, match=r"no maximum.*Use fewer terms"):
        SplineRegression(5, lam=1.0, family="binomial").fit(x, (x[:, 0] > 14).astype(int))
