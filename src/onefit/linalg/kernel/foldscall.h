/* Rows of a block by folds that are given as a number for each: they are sorted here, repeat by repeat. */

/* Rows of every fold in order, by counting: those of fold f stand from starts[f] to starts[f + 1]. Rows of fold -1 are in
 * none; any other number that is no fold is refused. */
static int sort_by_fold(const int64_t *ids, long n, long F, int64_t *order, int64_t *starts) {
    memset(starts, 0, 8 * (size_t)(F + 1));
    for (long i = 0; i < n; i++) {
        if (ids[i] < -1 || ids[i] >= F) return 0;
        starts[ids[i] + 1]++;
    }
    int64_t before = starts[0] = 0;
    for (long f = 0; f < F; f++) { /* where the next row of each fold goes; at the end that is its end */
        const int64_t count = starts[f + 1];
        starts[f + 1] = before;
        before += count;
    }
    for (long i = 0; i < n; i++)
        if (ids[i] >= 0) order[starts[ids[i] + 1]++] = i;
    return 1;
}

typedef void sorted_run(const kernels *k, void *task, const int64_t *order, const int64_t *starts, double *space);

/* Run a kernel on n rows sorted by their folds `ids` (L, n), repeat by repeat, in a space of so many doubles. */
static PyObject *run_sorted(buffers *b, const kernels *k, sorted_run *run, void *task, const int64_t *ids, long L, long n, long F,
                            size_t doubles) {
    double *space = workspace(doubles);
    int64_t *order = malloc(8 * ((size_t)n + (size_t)F + 2));
    const int is_ready = space && order;
    int is_sorted = 1;
    if (is_ready) {
        int64_t *starts = order + n;
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * doubles);
        for (long repeat = 0; repeat < L && is_sorted; repeat++) {
            is_sorted = sort_by_fold(ids + repeat * n, n, F, order, starts);
            if (is_sorted) run(k, task, order, starts, space);
        }
        Py_END_ALLOW_THREADS
    }
    free(space);
    free(order);
    if (!is_sorted) return refuse(b, "ids");
    release(b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static void gather_sorted(const kernels *k, void *task, const int64_t *order, const int64_t *starts, double *space) {
    collect_task *t = task;
    t->members = order, t->starts = starts;
    k->gather(t, space);
    t->grams += t->F * t->d * t->d; /* those of the next repeat */
}

static void score_sorted(const kernels *k, void *task, const int64_t *order, const int64_t *starts, double *space) {
    score_task *t = task;
    t->members = order, t->starts = starts;
    k->score(t, space);
}

/* gather(rows (n, d), ids (L, n), products (L, F, d, d), n, L, F, d): the upper triangles of the products of the rows of
 * every fold are added */
static PyObject *py_gather(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[3];
    collect_task t = {0};
    long n, L;
    if (!PyArg_ParseTuple(args, "OOOllll", &o[0], &o[1], &o[2], &n, &L, &t.F, &t.d)) return NULL;
    buffers b = {.count = 0};
    t.Z = take(&b, o[0], 0, SIZE(n, t.d), "rows");
    const int64_t *ids = take(&b, o[1], 0, SIZE(L, n), "ids");
    t.grams = take(&b, o[2], 1, SIZE(L, t.F, t.d, t.d), "products");
    if (b.count < 0) return NULL;
    const kernels *k = chosen;
    t.wide = (t.d + k->lanes - 1) / k->lanes * k->lanes;
    const size_t doubles = (size_t)t.wide * (CHUNK + t.d + k->TI);
    return run_sorted(&b, k, gather_sorted, &t, ids, L, n, t.F, doubles);
}

/* score(rows (n, d), maps (F, d, V), weights (n,) or None, shift (F,), about (2, V), ids (n,), parents (V,),
 * residuals (n, V) or None, losses (n, V), products (F, V + 2, V + 2), thirds (4, 4, V), n, F, d, V, root); the last four arrays
 * are added to */
static PyObject *py_score(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[11];
    score_task t = {0};
    long n;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOlllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8], &o[9],
                          &o[10], &n, &t.F, &t.d, &t.V, &t.root))
        return NULL;
    if (t.d < 1) return PyErr_Format(PyExc_ValueError, "kernel: there are no columns");
    buffers b = {.count = 0};
    t.rows = take(&b, o[0], 0, SIZE(n, t.d), "rows");
    t.maps = take(&b, o[1], 0, SIZE(t.F, t.d, t.V), "maps");
    if (o[2] != Py_None) t.weights = take(&b, o[2], 0, SIZE(n), "weights");
    t.shift = take(&b, o[3], 0, SIZE(t.F), "shift");
    t.about = take(&b, o[4], 0, SIZE(2, t.V), "about");
    const int64_t *ids = take(&b, o[5], 0, SIZE(n), "ids");
    t.parents = take(&b, o[6], 0, SIZE(t.V), "parents");
    if (o[7] != Py_None) t.residuals = take(&b, o[7], 1, SIZE(n, t.V), "residuals");
    t.losses = take(&b, o[8], 1, SIZE(n, t.V), "losses");
    t.products = take(&b, o[9], 1, SIZE(t.F, t.V + 2, t.V + 2), "products");
    t.thirds = take(&b, o[10], 1, SIZE(4, 4, t.V), "thirds");
    if (b.count < 0) return NULL;
    if (!in_range(t.parents, SIZE(t.V), t.V)) return refuse(&b, "parents");
    if (t.root < 0 || t.root >= t.V) return refuse(&b, "root");
    const kernels *k = chosen;
    t.wide = (t.V + 2 + k->lanes - 1) / k->lanes * k->lanes;
    const size_t lines = t.d + 2 * CHUNK + (t.V + 2 + k->TI) + 1 + 2 + 16; /* as score() cuts the space up */
    const size_t doubles = (size_t)t.wide * lines;
    return run_sorted(&b, k, score_sorted, &t, ids, 1, n, t.F, doubles);
}
