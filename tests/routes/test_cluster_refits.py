"""Refits on a Dask cluster of two processes: the same digits as here, with X placed once, and with a worker killed."""

import os
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.tree import DecisionTreeRegressor

import onefit
from onefit.errors import ClusterError
from onefit.routes.fitting import FitData, RowSet

FEW = {"n_folds": 4, "n_repeats": 2, "random_state": 0, "route": "refit", "progress": False}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 6))
    return X, X[:, 0] + rng.standard_normal(400)


class KillsItsWorker(DecisionTreeRegressor):
    """Ends the process in which it is fitted, if the file is not there yet."""

    def __init__(self, flag=None, max_depth=3, random_state=0):
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.flag = flag

    def fit(self, X, y):
        if self.flag is not None and not os.path.exists(self.flag):
            with open(self.flag, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@pytest.mark.parametrize("chosen", [[], [0], [1, 2, 5], range(9), [8]])
def test_sets_of_rows_come_back(chosen):
    rows = np.array(list(chosen), dtype=np.intp)
    assert np.array_equal(RowSet.of(rows, 9).rows, rows)


@pytest.mark.cluster
@pytest.mark.parametrize("weighted", [False, True])
def test_refits_on_a_cluster_are_those_of_this_process_and_x_goes_there_once(cluster, rows, weighted, monkeypatch):
    X, y = rows
    weights = np.linspace(1, 2, len(y)) if weighted else None
    here = onefit.nested_cv(Lasso(alpha=0.1), X, y, sample_weight=weights, **FEW)
    sent = []
    monkeypatch.setattr(FitData, "__getstate__", lambda self: sent.append(1) or self.__dict__, raising=False)
    with joblib.parallel_config(backend="dask"):
        there = onefit.nested_cv(Lasso(alpha=0.1), X, y, sample_weight=weights, **FEW)
    assert there.estimate == here.estimate
    assert there.interval == here.interval
    assert len(sent) == 1  # 20 fits


class Slow(DecisionTreeRegressor):
    """Takes its time."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


CLUSTER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(100)
"""


@pytest.mark.cluster
def test_a_lost_scheduler_is_a_clear_error(rows, tmp_path):
    import distributed

    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=paths)
    client = None
    try:
        client = distributed.Client(process.stdout.readline().strip(), set_as_default=False)
        settings = FEW | {"n_repeats": 50, "progress": lambda done, total: done > 3 and process.kill()}
        with joblib.parallel_config(backend="dask", client=client), pytest.raises(ClusterError, match="was lost"):
            onefit.nested_cv(Slow(), *rows, **settings)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if client is not None:
            client.close(timeout=1)


@pytest.mark.cluster
def test_a_worker_that_is_killed_changes_no_digit(cluster, rows, tmp_path):
    flag = str(tmp_path / "killed")
    here = onefit.nested_cv(KillsItsWorker(), *rows, **FEW)
    with joblib.parallel_config(backend="dask"):
        there = onefit.nested_cv(KillsItsWorker(flag), *rows, **FEW)
    assert os.path.exists(flag)
    assert there.estimate == here.estimate
    assert there.interval == here.interval
    cluster.wait_for_workers(2)
