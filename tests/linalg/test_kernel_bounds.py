"""The compiled kernels refuse every index and every axis that would lead them outside of their arrays."""

from __future__ import annotations

import numpy as np
import pytest

from onefit.linalg import compiled

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="there are no compiled kernels")

L, K, m, d, V, Q, S, C = 1, 3, 2, 4, 2, 1, 2, 2
n = 7
PAIRS = np.array([[0, 1], [1, 2]])


def gram(sets=PAIRS, axes=(L, K, d, V, Q, S)):
    systems = np.zeros((L, K, d, d)), np.zeros((L, K, d, V, Q)), np.ones((V, d)), np.ones((V, d))
    out = np.empty((L, S, d, V, Q)), np.empty((L, S, V))
    compiled._kernel.gram(*systems, np.asarray(sets, dtype=np.int64), *out, *axes)


def moments(sizes=(2, 1, 0), axes=(3, m, 2, C)):
    rows = np.zeros((3, m, 2, C)), np.zeros((3, m, C)), np.ones((3, m))
    compiled._kernel.moments(*rows, np.array(sizes, dtype=np.int64), *np.empty((2, 3, 2, C)), *axes)


def onestep(rows=None, columns=None, sizes=(2, 2, 2), axes=(6, 6, L, K, m, Q, 0, K), is_table=False):
    members = np.arange(6).reshape(L, K, m)
    rows, columns = (members if each is None else np.full((L, K, m), each) for each in (rows, columns))
    out = np.empty((2, L, K, K, m, Q)) if is_table else np.empty((2, L, K, K, Q))
    diagonal, right = np.ones((L, K, m, m)), np.ones((L, K, m, Q + 1))
    arrays = np.eye(6), rows, columns, diagonal, right, np.ones((L, K, m)), np.array([sizes], dtype=np.int64)
    compiled._kernel.onestep(*arrays, *out, np.empty((L, K, K)), *axes, is_table)


def leavetwo(order=(0, 1), parents=(0, 0), axes=(V, 2, 3)):
    tables = np.ones((V, 2, 3)), np.ones((4, V, 2)), np.ones((4, V, 3)), np.zeros(V)
    chain = np.array(order, dtype=np.int64), np.array(parents, dtype=np.int64)
    sums = np.zeros((V, 2, 3)), np.zeros((2, V, 2)), np.zeros((2, V, 3)), np.zeros(V), np.zeros(1)
    compiled._kernel.leavetwo(*tables, *chain, *sums, *axes, False, False)


def predict(sets=PAIRS, sizes=(2, 2, 2), axes=(L * K * m, L, K, m, d, C, S), members=None):
    arrays = np.zeros((L, K, m, d)), np.zeros((L, K, m, C)), np.zeros((L, S, d, C)), np.ones((L, K, m))
    integers = np.array([sizes], dtype=np.int64), np.asarray(sets, dtype=np.int64)
    compiled._kernel.predict(*arrays, members, *integers, *np.empty((2, L, K, K, C)), *axes)


def predict_by_row(last=n - 1, axes=(n, L, K, m, d, C, S)):
    arrays = np.zeros((n, d)), np.zeros((n, C)), np.zeros((L, S, d, C)), np.ones(n)
    members = np.array([[[0, 1], [2, 3], [4, last]]])
    compiled._kernel.predict(*arrays, members, np.full((L, K), m), PAIRS, *np.empty((2, L, K, K, C)), *axes)


def collect(last=n - 1, sizes=(2, 2, 1), axes=(n, K, m, d, C)):
    members = np.array([[0, 1], [2, 3], [4, last]])
    out = np.empty((K, d, d)), np.empty((K, d, C))
    arrays = np.zeros((n, d)), np.zeros((n, C)), np.ones(n)
    compiled._kernel.collect(*arrays, members, np.array(sizes, dtype=np.int64), *out, *axes)


def residuals(last=n - 1, sizes=(2, 2, 1), axes=(n, K, m, d, C)):
    members = np.array([[0, 1], [2, 3], [4, last]])
    arrays = np.zeros((n, d)), np.zeros((n, C)), np.zeros((K, d, C))
    compiled._kernel.residuals(*arrays, members, np.array(sizes, dtype=np.int64), np.empty((K, m, C)), *axes)


def gather(last=K - 1, axes=(n, L, K, d)):
    ids = np.array([[0, -1, 1, 1, 2, 0, last]])
    compiled._kernel.gather(np.zeros((n, d)), ids, np.zeros((L, K, d, d)), *axes)


def score(last=K - 1, parents=(0, 0), axes=(n, K, d, V, 0)):
    ids = np.array([0, -1, 1, 1, 2, 0, last])
    arrays = np.zeros((n, d)), np.zeros((K, d, V)), np.ones(n), np.zeros(K), np.ones((2, V))
    sums = *np.zeros((2, n, V)), np.zeros((K, V + 2, V + 2)), np.zeros((4, 4, V))
    compiled._kernel.score(*arrays, ids, np.array(parents, dtype=np.int64), *sums, *axes)


def interleave(first=1, axes=(n, d)):
    compiled._kernel.interleave([np.zeros(n + 1)] * d, np.empty((n, d)), first, *axes)


def project(axes=(n, d, 1)):
    arrays = np.zeros((n, d)), np.ones((n, 1)), np.zeros(n), np.ones(d + 1), np.ones(d + 1), np.empty((n, d + 2))
    compiled._kernel.project(*arrays, *axes)


def exceeds(axes=(n,)):
    compiled._kernel.exceeds(np.zeros(n), *axes, 1.0)


def deal(start=93, of=100, halves=(10, 10), n_folds=K, axes=(6, n)):
    keys = np.ones((6, 2), dtype=np.uint64)
    compiled._kernel.deal(keys, np.empty(n, dtype=np.int64), start, of, *halves, n_folds, *axes)


def lasso(axes=(S, d, V, Q)):
    arrays = np.tile(np.eye(d), (S, 1, 1)), np.ones((S, Q, d)), np.ones((S, d)), np.ones((S, V)), np.zeros((S, V))
    compiled._kernel.lasso(*arrays, np.empty((S, V, Q, d)), np.empty((S, V, Q)), *axes, False)


def without(out=PAIRS, axes=(d, K, S, 2)):
    found = np.empty((S, d)), np.empty((S, d - 1)), np.empty((S, d - 1, d - 1))
    compiled._kernel.without(np.ones((d, d)), np.zeros((K, d, d)), np.asarray(out, dtype=np.int64), *found, *axes)


def scale(axes=(S, d)):
    compiled._kernel.scale(np.ones((S, d, d)), np.ones((S, d)), np.empty((S, d, d)), *axes)


CALLS = [
    *(gram, moments, onestep, leavetwo, predict, predict_by_row, collect, residuals, score, lasso),
    *(without, scale, gather, interleave, project, exceeds, deal),
]
FAR = 2**40


@pytest.mark.parametrize("call", CALLS)
def test_what_is_in_order_is_computed(call):
    call()


def test_no_second_fold_is_minus_one():
    gram(sets=[[0, -1], [2, -1]])


@pytest.mark.parametrize(
    ("call", "arguments", "what"),
    [
        *((gram, {"sets": [[0, 1], pair]}, "sets") for pair in ([-1, 1], [-1, -1], [3, 0], [0, 3], [0, -2], [FAR, 0])),
        *((without, {"out": [[0, 1], pair]}, "out") for pair in ([-1, 1], [K, 0], [0, FAR])),
        *((moments, {"sizes": (2, 2, size)}, "sizes") for size in (-1, m + 1, FAR)),
        *((onestep, {"rows": row}, "rows") for row in (-1, 6, FAR)),
        *((onestep, {"columns": column}, "columns") for column in (-1, 6, -FAR)),
        *((onestep, {"sizes": (2, 2, size)}, "sizes") for size in (-1, m + 1)),
        *((leavetwo, {"order": (0, at)}, "order") for at in (-1, V, FAR)),
        *((call, {"parents": (0, at)}, "parents") for call in (leavetwo, score) for at in (-1, V, FAR)),
        *((predict, {"sets": [[0, 1], pair]}, "sets") for pair in ([-1, 1], [1, -1], [3, 0], [0, FAR])),
        *((call, {"sizes": (2, 2, size)}, "sizes") for call in (predict, collect, residuals) for size in (-1, m + 1)),
        *((call, {"last": fold}, "ids") for call in (gather, score) for fold in (-2, K, FAR)),
        *((deal, {"start": start}, "the network") for start in (-1, 94, FAR)),
        *((deal, {"halves": halves}, "the network") for halves in ((0, 10), (10, 9), (10, 11), (2**31 + 1, 1))),
        *((deal, {"n_folds": folds}, "the network") for folds in (0, -1)),
        *((call, {"last": row}, "members") for call in (predict_by_row, collect, residuals) for row in (-1, n, FAR)),
    ],
)
def test_an_index_out_of_range_is_refused(call, arguments, what):
    with pytest.raises(ValueError, match=f"{what} holds a number that is out of range"):
        call(**arguments)


@pytest.mark.parametrize("call", CALLS)
def test_an_axis_that_is_negative_or_too_long_is_refused(call):
    axes = call.__defaults__[list(call.__code__.co_varnames).index("axes")]
    for at in range(len(axes)):
        for length in (-axes[at] or -1, -1, axes[at] + 1, 2**61, 2**62):
            wrong = (*axes[:at], length, *axes[at + 1 :])
            if call is score and at == len(axes) - 1 and length == 1:
                continue  # the root of the chain: another value is in order
            if call is onestep and at == len(axes) - 2 and length > 0:
                continue  # the first of some folds: from one on there are fewer, and the arrays do not fit
            with pytest.raises(ValueError, match="kernel"):
                call(axes=wrong)


def test_columns_that_are_too_short_or_too_few_are_refused():
    for columns, first in (([np.zeros(n)] * d, 1), ([np.zeros(n)] * d, -1), ([np.zeros(n)] * (d - 1), 0)):
        with pytest.raises(ValueError, match="too few or too short"):
            compiled._kernel.interleave(columns, np.empty((n, d)), first, n, d)
    with pytest.raises(TypeError):
        compiled._kernel.interleave([np.zeros(n)] * (d - 1) + [None], np.empty((n, d)), 0, n, d)


def test_rows_that_stand_fold_by_fold_are_as_many_as_the_folds_have():
    compiled._kernel.predict(
        *(np.zeros((0, d)), np.zeros((0, C)), np.zeros((0, S, d, C)), np.zeros(0), None),
        *(np.zeros((0, K), dtype=np.int64), PAIRS, *np.empty((2, 0, K, K, C)), 0, 0, K, m, d, C, S),
    )
    with pytest.raises(ValueError, match="members holds a number that is out of range"):
        compiled._kernel.predict(
            *(np.zeros((n, d)), np.zeros((n, C)), np.zeros((L, S, d, C)), np.zeros(n), None),
            *(np.full((L, K), m), PAIRS, *np.empty((2, L, K, K, C)), n, L, K, m, d, C, S),
        )


def test_predictions_need_a_column():
    with pytest.raises(ValueError, match="there are no columns"):
        compiled._kernel.predict(
            *(np.zeros((n, 0)), np.zeros((n, C)), np.zeros((L, S, 0, C)), np.zeros(n), np.full((L, K, m), 0)),
            *(np.full((L, K), m), PAIRS, *np.empty((2, L, K, K, C)), n, L, K, m, 0, C, S),
        )


def test_two_negative_axes_do_not_make_a_positive_one():
    with pytest.raises(ValueError, match="kernel"):
        gram(axes=(-L, -K, d, V, Q, S))
    with pytest.raises(ValueError, match="kernel"):
        predict(axes=(L * K * m, -L, -K, m, d, C, -S))


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (2, 1), (0, K + 1), (1, K + 1)])
def test_folds_out_of_range_are_refused(first, last):
    with pytest.raises(ValueError, match="folds are out of range"):
        onestep(axes=(6, 6, L, K, m, Q, first, last))


def test_the_first_fold_is_never_none():
    with pytest.raises(ValueError, match="sets holds a number that is out of range"):
        compiled.systems(
            np.zeros((L, K, d, d)), np.zeros((L, K, d, V, Q)), np.ones((V, d)), np.ones((V, d)), np.array([[-1, 0]])
        )
