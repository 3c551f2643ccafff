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

/* Run a kernel on n rows sorted by their folds `ids` (L, n), repeat by repeat, in a space of so many doubles; ends the call. */
static PyObject *run_sorted(call *c, const kernels *k, sorted_run *run, void *task, const int64_t *ids, long L, long n, long F,
                            size_t doubles) {
    double *space = workspace(c, doubles);
    int64_t *order = room(c, malloc(8 * ((size_t)n + (size_t)F + 2)));
    if (start_call(c)) {
        int64_t *starts = order + n;
        for (long repeat = 0; repeat < L && !c->out_of_range; repeat++)
            if (sort_by_fold(ids + repeat * n, n, F, order, starts)) run(k, task, order, starts, space);
            else refuse(c, "ids");
    }
    return end_call(c);
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
    call c = {0};
    collect_task t = {0};
    long n, L;
    if (!read_call(&c, args, 3, "llll", &n, &L, &t.F, &t.d)) return NULL;
    t.Z = input(&c, "rows", SIZE(n, t.d));
    const int64_t *ids = input(&c, "ids", SIZE(L, n));
    t.grams = output(&c, "products", SIZE(L, t.F, t.d, t.d));
    if (c.is_wrong) return end_call(&c);
    const kernels *k = chosen;
    t.wide = (t.d + k->lanes - 1) / k->lanes * k->lanes;
    const size_t doubles = (size_t)t.wide * (CHUNK + t.d + k->TI);
    return run_sorted(&c, k, gather_sorted, &t, ids, L, n, t.F, doubles);
}

/* score(rows (n, d), maps (F, d, V), weights (n,) or None, shift (F,), about (2, V), ids (n,), parents (V,),
 * residuals (n, V) or None, losses (n, V), products (F, V + 2, V + 2), thirds (4, 4, V), n, F, d, V, root); the last four arrays
 * are added to */
static PyObject *py_score(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    score_task t = {0};
    long n;
    if (!read_call(&c, args, 11, "lllll", &n, &t.F, &t.d, &t.V, &t.root)) return NULL;
    if (t.d < 1) return PyErr_Format(PyExc_ValueError, "kernel: there are no columns");
    t.rows = input(&c, "rows", SIZE(n, t.d));
    t.maps = input(&c, "maps", SIZE(t.F, t.d, t.V));
    t.weights = input_if_any(&c, "weights", SIZE(n));
    t.shift = input(&c, "shift", SIZE(t.F));
    t.about = input(&c, "about", SIZE(2, t.V));
    const int64_t *ids = input(&c, "ids", SIZE(n));
    t.parents = input(&c, "parents", SIZE(t.V));
    t.residuals = output_if_any(&c, "residuals", SIZE(n, t.V));
    t.losses = output(&c, "losses", SIZE(n, t.V));
    t.products = output(&c, "products", SIZE(t.F, t.V + 2, t.V + 2));
    t.thirds = output(&c, "thirds", SIZE(4, 4, t.V));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "parents", t.parents, SIZE(t.V), 0, t.V - 1);
    if (t.root < 0 || t.root >= t.V) refuse(&c, "root");
    const kernels *k = chosen;
    t.wide = (t.V + 2 + k->lanes - 1) / k->lanes * k->lanes;
    const size_t lines = t.d + 2 * CHUNK + (t.V + 2 + k->TI) + 1 + 2 + 16; /* as score() cuts the space up */
    const size_t doubles = (size_t)t.wide * lines;
    return run_sorted(&c, k, score_sorted, &t, ids, 1, n, t.F, doubles);
}
