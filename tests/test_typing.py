"""What a type checker says of code that uses onefit: right calls pass, and each wrong one is found where it stands."""

import importlib.util
import re
import subprocess
import sys

import pytest

USER_CODE = '''
import numpy as np
import onefit
import pandas as pd
from numpy.typing import NDArray
from onefit.losses import huber, nonnegative
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

Floats = NDArray[np.float64]


class Mean:
    """No estimator of scikit-learn, and with names of its own."""

    def fit(self, rows: Floats, target: Floats) -> "Mean":
        self.mean = float(target.mean())
        return self

    def predict(self, rows: Floats, verbose: bool = False) -> Floats:
        return np.full(len(rows), self.mean)


class WithoutFit:
    def predict(self, rows: Floats) -> Floats:
        return rows[:, 0]


def distance(y: Floats, prediction: Floats) -> Floats:
    return np.abs(y - prediction)


def tell(done: int, total: int) -> None:
    print(done, total)


X, y, rng = np.eye(9), np.arange(9.0), np.random.default_rng(0)
frame, column = pd.DataFrame(X), pd.Series(y)

result = onefit.nested_cv(Mean(), X, y, n_folds="n", n_repeats=3, loss=distance, route="refit", progress=tell)
onefit.nested_cv(Ridge(), frame, column, groups=column, sample_weight=column, folds=KFold(), bias_folds=2)
onefit.nested_cv(Ridge(), frame, frame[[0, 1]], groups=list("aabbccddd"), folds=[[0, 1, 2] * 3], random_state=rng)
onefit.nested_cv(Mean(), ["some", "texts"], [1, 2], interval="bates", loss=huber(2.0), transformers="freeze")
onefit.nested_cv(onefit.SplineRegression(knots=[0.0, 1.0]), X, y, loss=nonnegative(lambda y, u: abs(y - u)))
curve = onefit.error_curve(
    onefit.PenalizedRegression(), X, y, param_name="lam", param_range=np.logspace(-2, 2, 5), simpler="larger"
)
onefit.error_curve(Mean(), X, y, param_name="kind", param_range=["a", "b"], n_folds=5, loss="huber")
comparison = onefit.compare({"mean": Mean(), "ridge": Ridge(), "own": onefit.FPCR(lam="gcv")}, X, y, n_repeats="auto")
print(result.summary(), 2 * curve.select("one_se"), curve.refit("gcv").coef_, comparison.plot()[0])

onefit.nested_cv(Mean(), X, y, route="fast")  # wrong
onefit.nested_cv(Mean(), X, y, interval="bootstrap")  # wrong
onefit.nested_cv(Mean(), X, y, loss="hubert")  # wrong
onefit.nested_cv(Mean(), X, y, n_folds="all")  # wrong
onefit.nested_cv(Mean(), X, y, transformers="thaw")  # wrong
onefit.nested_cv(Mean(), X, y, progress="bar")  # wrong
onefit.nested_cv(WithoutFit(), X, y)  # wrong
onefit.nested_cv(Mean, X, y)  # wrong
onefit.error_curve(Mean(), X, y, param_name="kind", param_range=3)  # wrong
onefit.error_curve(Mean(), X, y, param_name="kind", param_range=["a", "b"], simpler="fewer")  # wrong
curve.select("largest")  # wrong
onefit.compare([Mean(), Mean()], X, y)  # wrong
onefit.compare({"mean": Mean(), "other": WithoutFit()}, X, y)  # wrong
onefit.FPCR(lam="aic")  # wrong
'''


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_type_checker_finds_the_wrong_calls_and_no_others(tmp_path):
    (tmp_path / "user.py").write_text(USER_CODE, encoding="utf-8")
    options = ["--strict", "--config-file=", "--ignore-missing-imports", "--no-error-summary", "--cache-dir=cache"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    found = {int(line) for line in re.findall(r"^user\.py:(\d+): error:", run.stdout, re.MULTILINE)}
    wrong = {at for at, line in enumerate(USER_CODE.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, run.stdout + run.stderr
