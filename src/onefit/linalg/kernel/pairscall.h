/* Pairs of folds, or of rows, from the residual operator of one fit. */

/* onestep(M (height, width), rows (L, last - first, m), columns (L, K, m), diagonal (L, K, m, m), right (L, K, m, Q + 1),
 * gains (L, K, m), sizes (L, K), is_table, out, out, squares (L, last - first, K), height, width, L, K, m, Q, first, last);
 * out are mean and scatter (L, K, K, Q), or, if is_table, solutions at j and k (L, last - first, K, m, Q) */
static PyObject *py_onestep(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[10];
    int is_table;
    long height, width, L, K, m, Q, first, last;
    if (!PyArg_ParseTuple(args, "OOOOOOOpOOOllllllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &is_table, &o[7],
                          &o[8], &o[9], &height, &width, &L, &K, &m, &Q, &first, &last))
        return NULL;
    if (first < 0 || last < first || last > K) return PyErr_Format(PyExc_ValueError, "kernel: folds are out of range");
    const long J = last - first;
    const size_t outputs = is_table ? SIZE(L, J, K, m, Q) : SIZE(L, K, K, Q);
    buffers b = {.count = 0};
    onestep_task t = {.width = width, .L = L, .K = K, .m = m, .Q = Q, .first = first, .last = last};
    t.M = take(&b, o[0], 0, SIZE(height, width), "M");
    t.rows = take(&b, o[1], 0, SIZE(L, J, m), "rows");
    t.columns = take(&b, o[2], 0, SIZE(L, K, m), "columns");
    t.diagonal = take(&b, o[3], 0, SIZE(L, K, m, m), "diagonal");
    t.right = take(&b, o[4], 0, SIZE(L, K, m, Q + 1), "right");
    t.gains = take(&b, o[5], 0, SIZE(L, K, m), "gains");
    t.sizes = take(&b, o[6], 0, SIZE(L, K), "sizes");
    double *out[2];
    for (int i = 0; i < 2; i++) out[i] = take(&b, o[7 + i], 1, outputs, "an output");
    t.squares = take(&b, o[9], 1, SIZE(L, J, K), "squares");
    if (b.count < 0) return NULL;
    if (!in_range(t.rows, SIZE(L, J, m), height)) return refuse(&b, "rows");
    if (!in_range(t.columns, SIZE(L, K, m), width)) return refuse(&b, "columns");
    if (!lie_between(t.sizes, SIZE(L, K), 0, m)) return refuse(&b, "sizes");
    *(is_table ? &t.at_j : &t.mean) = out[0];
    *(is_table ? &t.at_k : &t.scatter) = out[1];
    const kernels *k = chosen;
    t.ld = (2 * m) | 1;
    const size_t system = ((size_t)t.ld * (2 * m + Q + 1 + k->TI) + 2 * (2 * m + 1)) * k->lanes;
    double *space = workspace(system);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * system);
        k->onestep(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* leavetwo(A (V, I, J), of_i (4, V, I), of_j (4, V, J), least (V,), order (V,), parents (V,), changes_j (V, I, J) or (1,) if
 * V is 1, sums_i (2, V, I), sums_j (2, V, J), own (V,), doubtful (1,), V, I, J, on_diagonal, is_absolute); of_i and of_j
 * are the diagonal, r, gains and losses, the sums those of changes and of losses. All sums are added to. */
static PyObject *py_leavetwo(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[11];
    leavetwo_task t = {0};
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOlllpp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8], &o[9],
                          &o[10], &t.V, &t.I, &t.J, &t.on_diagonal, &t.is_absolute))
        return NULL;
    const size_t V = t.V, I = V * t.I, J = V * t.J;
    buffers b = {.count = 0};
    t.A = take(&b, o[0], 1, SIZE(t.V, t.I, t.J), "A");
    t.a_i = take(&b, o[1], 0, SIZE(4, t.V, t.I), "of_i");
    t.a_j = take(&b, o[2], 0, SIZE(4, t.V, t.J), "of_j");
    t.least = take(&b, o[3], 0, SIZE(t.V), "least");
    t.order = take(&b, o[4], 0, SIZE(t.V), "order");
    t.parents = take(&b, o[5], 0, SIZE(t.V), "parents");
    t.changes_j = take(&b, o[6], 1, t.V > 1 ? SIZE(t.V, t.I, t.J) : 1, "changes_j");
    t.rows_i = take(&b, o[7], 1, SIZE(2, t.V, t.I), "sums_i");
    t.rows_j = take(&b, o[8], 1, SIZE(2, t.V, t.J), "sums_j");
    t.own = take(&b, o[9], 1, SIZE(t.V), "own");
    t.doubtful = take(&b, o[10], 1, 1, "doubtful");
    if (b.count < 0) return NULL;
    if (!in_range(t.order, V, t.V)) return refuse(&b, "order");
    if (!in_range(t.parents, V, t.V)) return refuse(&b, "parents");
    t.r_i = t.a_i + I, t.g_i = t.a_i + 2 * I, t.loss_i = t.a_i + 3 * I, t.columns_i = t.rows_i + I;
    t.r_j = t.a_j + J, t.g_j = t.a_j + 2 * J, t.loss_j = t.a_j + 3 * J, t.columns_j = t.rows_j + J;
    double *space = workspace(2 * J);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        chosen->leavetwo(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
