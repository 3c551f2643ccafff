/* Systems of the gram route, and the products, residuals and losses of folds that it goes by. */

/* gram(grams (L, K, d, d), right (L, K, d, V, Q), D (V, d), probe (V, d), sets (n_sets, 2), change (L, n_sets, d, V, Q),
 * norms (L, n_sets, V), L, K, d, V, Q, n_sets) */
static PyObject *py_gram(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    long L, K, d, V, Q, n_sets;
    if (!read_call(&c, args, 7, "llllll", &L, &K, &d, &V, &Q, &n_sets)) return NULL;
    gram_task t = {.K = K, .d = d, .V = V, .Q = Q, .n_sets = n_sets};
    t.grams = input(&c, "grams", SIZE(L, K, d, d));
    t.right = input(&c, "right", SIZE(L, K, d, V, Q));
    t.D = input(&c, "D", SIZE(V, d));
    t.probe = input(&c, "probe", SIZE(V, d));
    t.sets = input(&c, "sets", SIZE(2, n_sets));
    t.change = output(&c, "change", SIZE(L, n_sets, d, V, Q));
    t.norms = output(&c, "norms", SIZE(L, n_sets, V));
    if (c.is_wrong) return end_call(&c);
    t.last = L * n_sets; /* not before the axes are known to be those of arrays */
    for (long s = 0; s < n_sets; s++) {
        hold(&c, "sets", t.sets + 2 * s, 1, 0, K - 1);
        hold(&c, "sets", t.sets + 2 * s + 1, 1, -1, K - 1); /* the second fold may be none */
    }
    const kernels *k = chosen;
    t.ld = d | 1; /* odd: rows that are a multiple of 4 kB apart would fight for the same lines of the cache */
    const size_t system = (size_t)t.ld * (d + Q + 1 + k->TI) * k->lanes, own = system + 2 * (size_t)d * (V + k->lanes);
    double *space = workspace(&c, own + (size_t)d * (d > V * Q ? d : V * Q) + 1);
    if (start_call(&c)) {
        t.zeros = space + own;
        k->gram(&t, space);
    }
    return end_call(&c);
}

/* moments(u (F, m, O, C), r (F, m, C), weights (F, m), sizes (F,), mean (F, O, C), scatter (F, O, C), F, m, O, C) */
static PyObject *py_moments(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    long F, m, O, C;
    if (!read_call(&c, args, 6, "llll", &F, &m, &O, &C)) return NULL;
    moments_task t = {.F = F, .m = m, .O = O, .C = C};
    t.u = input(&c, "u", SIZE(F, m, O, C));
    t.r = input(&c, "r", SIZE(F, m, C));
    t.weights = input(&c, "weights", SIZE(F, m));
    t.sizes = input(&c, "sizes", SIZE(F));
    t.mean = output(&c, "mean", SIZE(F, O, C));
    t.scatter = output(&c, "scatter", SIZE(F, O, C));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "sizes", t.sizes, (size_t)F, 0, m);
    double *space = workspace(&c, (size_t)O * C + 1);
    if (start_call(&c)) chosen->moments(&t, space);
    return end_call(&c);
}

/* predict(Z (n, d), r (n, C), change (L, n_sets, d, C), weights (n,), members (L, K, m) or None, sizes (L, K),
 * sets (n_sets, 2), mean (L, K, K, C), scatter (L, K, K, C), n, L, K, m, d, C, n_sets); members are rows of the first, which
 * are all rows of all folds, n = L K m, without them; only the places of the sets are written */
static PyObject *py_predict(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    predict_task t = {0};
    long n;
    if (!read_call(&c, args, 9, "lllllll", &n, &t.L, &t.K, &t.m, &t.d, &t.C, &t.n_sets)) return NULL;
    if (t.d < 1 || t.C < 1) return PyErr_Format(PyExc_ValueError, "kernel: there are no columns");
    const size_t n_members = SIZE(t.L, t.K, t.m);
    t.Z = input(&c, "Z", SIZE(n, t.d));
    t.r = input(&c, "r", SIZE(n, t.C));
    t.change = input(&c, "change", SIZE(t.L, t.n_sets, t.d, t.C));
    t.weights = input(&c, "weights", SIZE(n));
    t.members = input_if_any(&c, "members", n_members);
    t.sizes = input(&c, "sizes", SIZE(t.L, t.K));
    t.sets = input(&c, "sets", SIZE(2, t.n_sets));
    t.mean = output(&c, "mean", SIZE(t.L, t.K, t.K, t.C));
    t.scatter = output(&c, "scatter", SIZE(t.L, t.K, t.K, t.C));
    if (c.is_wrong) return end_call(&c);
    if (t.members) hold(&c, "members", t.members, n_members, 0, n - 1);
    else if ((size_t)n != n_members) refuse(&c, "members");
    hold(&c, "sets", t.sets, SIZE(2, t.n_sets), 0, t.K - 1);
    hold(&c, "sizes", t.sizes, SIZE(t.L, t.K), 0, t.m);
    double *space = workspace(&c, (size_t)(t.d + t.m) * 3 * 8 + t.K + 2 + 2 * t.n_sets + t.m);
    if (start_call(&c)) chosen->predict(&t, space);
    return end_call(&c);
}

/* collect(Z (n, d), r (n, C), weights (n,), members (F, m), sizes (F,), grams (F, d, d), right (F, d, C), n, F, m, d, C) */
static PyObject *py_collect(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    collect_task t = {0};
    long n;
    if (!read_call(&c, args, 7, "lllll", &n, &t.F, &t.m, &t.d, &t.C)) return NULL;
    t.Z = input(&c, "Z", SIZE(n, t.d));
    t.r = input(&c, "r", SIZE(n, t.C));
    t.weights = input(&c, "weights", SIZE(n));
    t.members = input(&c, "members", SIZE(t.F, t.m));
    t.sizes = input(&c, "sizes", SIZE(t.F));
    t.grams = output(&c, "grams", SIZE(t.F, t.d, t.d));
    t.right = output(&c, "right", SIZE(t.F, t.d, t.C));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "members", t.members, SIZE(t.F, t.m), 0, n - 1);
    hold(&c, "sizes", t.sizes, SIZE(t.F), 0, t.m);
    const kernels *k = chosen;
    t.wide = (t.d + t.C + k->lanes - 1) / k->lanes * k->lanes;
    const size_t doubles = (size_t)t.wide * (CHUNK + t.d + k->TI);
    double *space = workspace(&c, doubles);
    if (start_call(&c)) k->collect(&t, space);
    return end_call(&c);
}

/* residuals(Z (n, d), r (n, C), change (F, d, C), members (F, m), sizes (F,), u (F, m, C), n, F, m, d, C) */
static PyObject *py_residuals(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    residuals_task t = {0};
    long n;
    if (!read_call(&c, args, 6, "lllll", &n, &t.F, &t.m, &t.d, &t.C)) return NULL;
    t.Z = input(&c, "Z", SIZE(n, t.d));
    t.r = input(&c, "r", SIZE(n, t.C));
    t.change = input(&c, "change", SIZE(t.F, t.d, t.C));
    t.members = input(&c, "members", SIZE(t.F, t.m));
    t.sizes = input(&c, "sizes", SIZE(t.F));
    t.u = output(&c, "u", SIZE(t.F, t.m, t.C));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "members", t.members, SIZE(t.F, t.m), 0, n - 1);
    hold(&c, "sizes", t.sizes, SIZE(t.F), 0, t.m);
    if (start_call(&c)) chosen->residuals(&t, NULL);
    return end_call(&c);
}
