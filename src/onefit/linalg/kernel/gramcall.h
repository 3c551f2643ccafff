/* Systems of the gram route, and the products, residuals and losses of folds that it goes by. */

/* gram(grams (L, K, d, d), right (L, K, d, V, Q), D (V, d), probe (V, d), sets (n_sets, 2), change (L, n_sets, d, V, Q),
 * norms (L, n_sets, V), L, K, d, V, Q, n_sets) */
static PyObject *py_gram(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[7];
    long L, K, d, V, Q, n_sets;
    if (!PyArg_ParseTuple(args, "OOOOOOOllllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &L, &K, &d, &V, &Q, &n_sets))
        return NULL;
    buffers b = {.count = 0};
    gram_task t = {.K = K, .d = d, .V = V, .Q = Q, .n_sets = n_sets};
    t.grams = take(&b, o[0], 0, SIZE(L, K, d, d), "grams");
    t.right = take(&b, o[1], 0, SIZE(L, K, d, V, Q), "right");
    t.D = take(&b, o[2], 0, SIZE(V, d), "D");
    t.probe = take(&b, o[3], 0, SIZE(V, d), "probe");
    t.sets = take(&b, o[4], 0, SIZE(2, n_sets), "sets");
    t.change = take(&b, o[5], 1, SIZE(L, n_sets, d, V, Q), "change");
    t.norms = take(&b, o[6], 1, SIZE(L, n_sets, V), "norms");
    if (b.count < 0) return NULL;
    t.last = L * n_sets; /* not before the axes are known to be those of arrays */
    for (long s = 0; s < n_sets; s++) /* the second fold may be none */
        if (!in_range(t.sets + 2 * s, 1, K) || !lie_between(t.sets + 2 * s + 1, 1, -1, K - 1)) return refuse(&b, "sets");
    const kernels *k = chosen;
    t.ld = d | 1; /* odd: rows that are a multiple of 4 kB apart would fight for the same lines of the cache */
    const size_t system = (size_t)t.ld * (d + Q + 1 + k->TI) * k->lanes;
    double *space = workspace(system + 2 * (size_t)d * (V + k->lanes));
    double *zeros = calloc((size_t)d * (d > V * Q ? d : V * Q) + 1, 8);
    const int is_ready = space && zeros;
    if (is_ready) {
        t.zeros = zeros;
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * system); /* rows beyond the last are computed, too, and must not slow down as denormals */
        k->gram(&t, space);
        Py_END_ALLOW_THREADS
    }
    free(space);
    free(zeros);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* moments(u (F, m, O, C), r (F, m, C), weights (F, m), sizes (F,), mean (F, O, C), scatter (F, O, C), F, m, O, C) */
static PyObject *py_moments(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[6];
    long F, m, O, C;
    if (!PyArg_ParseTuple(args, "OOOOOOllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &F, &m, &O, &C)) return NULL;
    buffers b = {.count = 0};
    moments_task t = {.F = F, .m = m, .O = O, .C = C};
    t.u = take(&b, o[0], 0, SIZE(F, m, O, C), "u");
    t.r = take(&b, o[1], 0, SIZE(F, m, C), "r");
    t.weights = take(&b, o[2], 0, SIZE(F, m), "weights");
    t.sizes = take(&b, o[3], 0, SIZE(F), "sizes");
    t.mean = take(&b, o[4], 1, SIZE(F, O, C), "mean");
    t.scatter = take(&b, o[5], 1, SIZE(F, O, C), "scatter");
    if (b.count < 0) return NULL;
    if (!lie_between(t.sizes, (size_t)F, 0, m)) return refuse(&b, "sizes");
    double *space = workspace((size_t)O * C + 1);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        chosen->moments(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* predict(Z (n, d), r (n, C), change (L, n_sets, d, C), weights (n,), members (L, K, m) or None, sizes (L, K),
 * sets (n_sets, 2), mean (L, K, K, C), scatter (L, K, K, C), n, L, K, m, d, C, n_sets); members are rows of the first, which
 * are all rows of all folds, n = L K m, without them; only the places of the sets are written */
static PyObject *py_predict(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[9];
    predict_task t = {0};
    long n;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOlllllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8], &n, &t.L,
                          &t.K, &t.m, &t.d, &t.C, &t.n_sets))
        return NULL;
    if (t.d < 1 || t.C < 1) return PyErr_Format(PyExc_ValueError, "kernel: there are no columns");
    buffers b = {.count = 0};
    const size_t n_members = SIZE(t.L, t.K, t.m);
    t.Z = take(&b, o[0], 0, SIZE(n, t.d), "Z");
    t.r = take(&b, o[1], 0, SIZE(n, t.C), "r");
    t.change = take(&b, o[2], 0, SIZE(t.L, t.n_sets, t.d, t.C), "change");
    t.weights = take(&b, o[3], 0, SIZE(n), "weights");
    if (o[4] != Py_None) t.members = take(&b, o[4], 0, n_members, "members");
    t.sizes = take(&b, o[5], 0, SIZE(t.L, t.K), "sizes");
    t.sets = take(&b, o[6], 0, SIZE(2, t.n_sets), "sets");
    t.mean = take(&b, o[7], 1, SIZE(t.L, t.K, t.K, t.C), "mean");
    t.scatter = take(&b, o[8], 1, SIZE(t.L, t.K, t.K, t.C), "scatter");
    if (b.count < 0) return NULL;
    if (t.members ? !in_range(t.members, n_members, n) : (size_t)n != n_members) return refuse(&b, "members");
    if (!in_range(t.sets, SIZE(2, t.n_sets), t.K)) return refuse(&b, "sets");
    if (!lie_between(t.sizes, SIZE(t.L, t.K), 0, t.m)) return refuse(&b, "sizes");
    double *space = workspace((size_t)(t.d + t.m) * 3 * 8 + t.K + 2 + 2 * t.n_sets + t.m);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        chosen->predict(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* collect(Z (n, d), r (n, C), weights (n,), members (F, m), sizes (F,), grams (F, d, d), right (F, d, C), n, F, m, d, C) */
static PyObject *py_collect(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[7];
    collect_task t = {0};
    long n;
    if (!PyArg_ParseTuple(args, "OOOOOOOlllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &n, &t.F, &t.m, &t.d, &t.C))
        return NULL;
    buffers b = {.count = 0};
    t.Z = take(&b, o[0], 0, SIZE(n, t.d), "Z");
    t.r = take(&b, o[1], 0, SIZE(n, t.C), "r");
    t.weights = take(&b, o[2], 0, SIZE(n), "weights");
    t.members = take(&b, o[3], 0, SIZE(t.F, t.m), "members");
    t.sizes = take(&b, o[4], 0, SIZE(t.F), "sizes");
    t.grams = take(&b, o[5], 1, SIZE(t.F, t.d, t.d), "grams");
    t.right = take(&b, o[6], 1, SIZE(t.F, t.d, t.C), "right");
    if (b.count < 0) return NULL;
    if (!in_range(t.members, SIZE(t.F, t.m), n)) return refuse(&b, "members");
    if (!lie_between(t.sizes, SIZE(t.F), 0, t.m)) return refuse(&b, "sizes");
    const kernels *k = chosen;
    t.wide = (t.d + t.C + k->lanes - 1) / k->lanes * k->lanes;
    const size_t doubles = (size_t)t.wide * (CHUNK + t.d + k->TI);
    double *space = workspace(doubles);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * doubles);
        k->collect(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* residuals(Z (n, d), r (n, C), change (F, d, C), members (F, m), sizes (F,), u (F, m, C), n, F, m, d, C) */
static PyObject *py_residuals(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[6];
    residuals_task t = {0};
    long n;
    if (!PyArg_ParseTuple(args, "OOOOOOlllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &n, &t.F, &t.m, &t.d, &t.C)) return NULL;
    buffers b = {.count = 0};
    t.Z = take(&b, o[0], 0, SIZE(n, t.d), "Z");
    t.r = take(&b, o[1], 0, SIZE(n, t.C), "r");
    t.change = take(&b, o[2], 0, SIZE(t.F, t.d, t.C), "change");
    t.members = take(&b, o[3], 0, SIZE(t.F, t.m), "members");
    t.sizes = take(&b, o[4], 0, SIZE(t.F), "sizes");
    t.u = take(&b, o[5], 1, SIZE(t.F, t.m, t.C), "u");
    if (b.count < 0) return NULL;
    if (!in_range(t.members, SIZE(t.F, t.m), n)) return refuse(&b, "members");
    if (!lie_between(t.sizes, SIZE(t.F), 0, t.m)) return refuse(&b, "sizes");
    Py_BEGIN_ALLOW_THREADS
    chosen->residuals(&t, NULL);
    Py_END_ALLOW_THREADS
    release(&b);
    Py_RETURN_NONE;
}
