/* Pairs of folds, or of rows, from the residual operator of one fit. */

/* onestep(M (height, width), rows (L, last - first, m), columns (L, K, m), diagonal (L, K, m, m), right (L, K, m, Q + 1),
 * gains (L, K, m), sizes (L, K), out, out, squares (L, last - first, K), height, width, L, K, m, Q, first, last, is_table);
 * out are mean and scatter (L, K, K, Q), or, if is_table, solutions at j and k (L, last - first, K, m, Q) */
static PyObject *py_onestep(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    int is_table;
    long height, width, L, K, m, Q, first, last;
    if (!read_call(&c, args, 10, "llllllllp", &height, &width, &L, &K, &m, &Q, &first, &last, &is_table)) return NULL;
    if (first < 0 || last < first || last > K) return PyErr_Format(PyExc_ValueError, "kernel: folds are out of range");
    const long J = last - first;
    const size_t outputs = is_table ? SIZE(L, J, K, m, Q) : SIZE(L, K, K, Q);
    onestep_task t = {.width = width, .L = L, .K = K, .m = m, .Q = Q, .first = first, .last = last};
    t.M = input(&c, "M", SIZE(height, width));
    t.rows = input(&c, "rows", SIZE(L, J, m));
    t.columns = input(&c, "columns", SIZE(L, K, m));
    t.diagonal = input(&c, "diagonal", SIZE(L, K, m, m));
    t.right = input(&c, "right", SIZE(L, K, m, Q + 1));
    t.gains = input(&c, "gains", SIZE(L, K, m));
    t.sizes = input(&c, "sizes", SIZE(L, K));
    double *out[2];
    for (int i = 0; i < 2; i++) out[i] = output(&c, "an output", outputs);
    t.squares = output(&c, "squares", SIZE(L, J, K));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "rows", t.rows, SIZE(L, J, m), 0, height - 1);
    hold(&c, "columns", t.columns, SIZE(L, K, m), 0, width - 1);
    hold(&c, "sizes", t.sizes, SIZE(L, K), 0, m);
    *(is_table ? &t.at_j : &t.mean) = out[0];
    *(is_table ? &t.at_k : &t.scatter) = out[1];
    const kernels *k = chosen;
    t.ld = (2 * m) | 1;
    const size_t system = ((size_t)t.ld * (2 * m + Q + 1 + k->TI) + 2 * (2 * m + 1)) * k->lanes;
    double *space = workspace(&c, system);
    if (start_call(&c)) k->onestep(&t, space);
    return end_call(&c);
}

/* leavetwo(A (V, I, J), of_i (4, V, I), of_j (4, V, J), least (V,), order (V,), parents (V,), changes_j (V, I, J) or (1,) if
 * V is 1, sums_i (2, V, I), sums_j (2, V, J), own (V,), doubtful (1,), V, I, J, on_diagonal, is_absolute); of_i and of_j
 * are the diagonal, r, gains and losses, the sums those of changes and of losses. All sums are added to. */
static PyObject *py_leavetwo(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    leavetwo_task t = {0};
    if (!read_call(&c, args, 11, "lllpp", &t.V, &t.I, &t.J, &t.on_diagonal, &t.is_absolute)) return NULL;
    const size_t V = t.V, I = V * t.I, J = V * t.J;
    t.A = output(&c, "A", SIZE(t.V, t.I, t.J));
    t.a_i = input(&c, "of_i", SIZE(4, t.V, t.I));
    t.a_j = input(&c, "of_j", SIZE(4, t.V, t.J));
    t.least = input(&c, "least", SIZE(t.V));
    t.order = input(&c, "order", SIZE(t.V));
    t.parents = input(&c, "parents", SIZE(t.V));
    t.changes_j = output(&c, "changes_j", t.V > 1 ? SIZE(t.V, t.I, t.J) : 1);
    t.rows_i = output(&c, "sums_i", SIZE(2, t.V, t.I));
    t.rows_j = output(&c, "sums_j", SIZE(2, t.V, t.J));
    t.own = output(&c, "own", SIZE(t.V));
    t.doubtful = output(&c, "doubtful", 1);
    if (c.is_wrong) return end_call(&c);
    hold(&c, "order", t.order, V, 0, t.V - 1);
    hold(&c, "parents", t.parents, V, 0, t.V - 1);
    t.r_i = t.a_i + I, t.g_i = t.a_i + 2 * I, t.loss_i = t.a_i + 3 * I, t.columns_i = t.rows_i + I;
    t.r_j = t.a_j + J, t.g_j = t.a_j + 2 * J, t.loss_j = t.a_j + 3 * J, t.columns_j = t.rows_j + J;
    double *space = workspace(&c, 2 * J);
    if (start_call(&c)) chosen->leavetwo(&t, space);
    return end_call(&c);
}
