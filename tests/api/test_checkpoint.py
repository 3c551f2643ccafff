"""A job that was stopped goes on where it ended, to the same bits; another job's file is refused."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import onefit
from onefit.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::onefit.errors.OneFitWarning")


class Counting(DecisionTreeRegressor):
    """A tree that counts its fits, and stops the job after so many."""

    fits = 0
    stop_after = np.inf

    def fit(self, X, y, **rest):
        type(self).fits += 1
        if type(self).fits > type(self).stop_after:
            raise KeyboardInterrupt
        return super().fit(X, y, **rest)


@pytest.fixture
def counting():
    Counting.fits, Counting.stop_after = 0, np.inf
    return Counting


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X[:, 0] + rng.normal(size=40)


KEYWORDS = {"n_folds": 4, "n_repeats": 5, "random_state": 3, "progress": False}


@pytest.mark.parametrize("more", [{}, {"scoring": ["r2", "neg_mean_absolute_error"]}], ids=["loss", "metrics"])
def test_finished_repeats_are_not_fitted_again(counting, tmp_path, more):
    X, y = data()
    model, path = counting(max_depth=2, random_state=0), tmp_path / "job"
    whole = onefit.nested_cv(model, X, y, **KEYWORDS, **more)
    counting.fits, counting.stop_after = 0, 25  # a repeat takes 10
    part = onefit.nested_cv(model, X, y, **KEYWORDS, **more, checkpoint=path)
    assert part.n_repeats == 2
    counting.fits, counting.stop_after = 0, np.inf
    again = onefit.nested_cv(model, X, y, **KEYWORDS, **more, checkpoint=path)
    assert counting.fits == 30
    assert (again.estimate, again.interval) == (whole.estimate, whole.interval)
    np.testing.assert_array_equal(again.heldout, whole.heldout)
    counting.fits = 0
    assert onefit.nested_cv(model, X, y, **KEYWORDS, **more, checkpoint=str(path)).estimate == whole.estimate
    assert counting.fits == 0


def test_automatic_repeats_go_on_to_the_same_number(counting, tmp_path):
    X, y = data()
    model, keywords = counting(max_depth=2, random_state=0), KEYWORDS | {"n_repeats": "auto", "max_fits": 60}
    whole = onefit.nested_cv(model, X, y, **keywords)
    counting.fits, counting.stop_after = 0, 15
    onefit.nested_cv(model, X, y, **keywords, checkpoint=tmp_path / "job")
    counting.stop_after = np.inf
    again = onefit.nested_cv(model, X, y, **keywords, checkpoint=tmp_path / "job")
    assert (again.n_repeats, again.interval) == (whole.n_repeats, whole.interval)


def test_another_jobs_file_is_refused_and_kept(tmp_path):
    X, y = data()
    path = tmp_path / "job"
    model = DecisionTreeRegressor(max_depth=1, random_state=0)
    onefit.nested_cv(model, X, y, **KEYWORDS, checkpoint=path)
    before = path.read_bytes()
    others = [
        (model, X, y + 1, KEYWORDS),
        (model, X, y, KEYWORDS | {"random_state": 4}),
        (model, X, y, KEYWORDS | {"loss": "absolute_error"}),
        (DecisionTreeRegressor(max_depth=3, random_state=0), X, y, KEYWORDS),
    ]
    for estimator, A, b, keywords in others:
        with pytest.raises(DataError, match="another job"):
            onefit.nested_cv(estimator, A, b, **keywords, checkpoint=path)
    assert path.read_bytes() == before
    path.write_bytes(b"something else\n")
    with pytest.raises(DataError, match="no checkpoint"):
        onefit.nested_cv(model, X, y, **KEYWORDS, checkpoint=path)
    path.write_bytes(before[:-20])
    with pytest.raises(DataError, match="damaged"):
        onefit.nested_cv(model, X, y, **KEYWORDS, checkpoint=path)


def test_a_checkpoint_needs_a_seed_and_a_place(tmp_path):
    X, y = data()
    model = DecisionTreeRegressor()
    with pytest.raises(DataError, match="random_state"):
        onefit.nested_cv(model, X, y, n_folds=4, checkpoint=tmp_path / "job")
    with pytest.raises(DataError, match="directory"):
        onefit.nested_cv(model, X, y, **KEYWORDS, checkpoint=tmp_path / "nowhere" / "job")
    with pytest.raises(DataError, match="path"):
        onefit.nested_cv(model, X, y, **KEYWORDS, checkpoint=3)


def test_given_folds_need_no_seed(tmp_path):
    X, y = data()
    first, second = (
        onefit.nested_cv(
            DecisionTreeRegressor(random_state=0), X, y, folds=np.arange(40) % 4, checkpoint=tmp_path / "job"
        )
        for _ in range(2)
    )
    assert first.interval == second.interval


def test_folds_that_differ_in_a_later_repeat_and_functions_of_one_name_are_other_jobs(tmp_path):
    X, y = data()
    folds = np.stack([np.arange(40) % 4, np.arange(40)[::-1] % 4])
    other = folds.copy()
    other[1, :2] = other[1, [1, 0]]
    model = DecisionTreeRegressor(random_state=0)
    onefit.nested_cv(model, X, y, folds=folds, checkpoint=tmp_path / "folds")
    with pytest.raises(DataError, match="another job"):
        onefit.nested_cv(model, X, y, folds=other, checkpoint=tmp_path / "folds")
    squares, cubes = (lambda y, p: np.abs(y - p) ** 2), (lambda y, p: np.abs(y - p) ** 3)
    onefit.nested_cv(model, X, y, loss=squares, **KEYWORDS, checkpoint=tmp_path / "loss")
    with pytest.raises(DataError, match="another job"):
        onefit.nested_cv(model, X, y, loss=cubes, **KEYWORDS, checkpoint=tmp_path / "loss")
