/* without(gram (w, w), folds (F, w, w), out (S, t), sums (S, w), mean (S, w - 1), products (S, w - 1, w - 1), w, F, S, t) */
static PyObject *py_without(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[6];
    without_task t;
    long F;
    if (!PyArg_ParseTuple(args, "OOOOOOllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &t.w, &F, &t.S, &t.t)) return NULL;
    if (t.w < 1 || t.t < 1) return PyErr_Format(PyExc_ValueError, "kernel: no such training sets");
    buffers b = {.count = 0};
    t.gram = take(&b, o[0], 0, SIZE(t.w, t.w), "gram");
    t.folds = take(&b, o[1], 0, SIZE(F, t.w, t.w), "folds");
    t.out = take(&b, o[2], 0, SIZE(t.S, t.t), "out");
    t.sums = take(&b, o[3], 1, SIZE(t.S, t.w), "sums");
    t.mean = take(&b, o[4], 1, SIZE(t.S, t.w - 1), "mean");
    t.products = take(&b, o[5], 1, SIZE(t.S, t.w - 1, t.w - 1), "products");
    if (b.count < 0) return NULL;
    if (!in_range(t.out, SIZE(t.S, t.t), F)) return refuse(&b, "out");
    Py_BEGIN_ALLOW_THREADS
    chosen->without(&t);
    Py_END_ALLOW_THREADS
    release(&b);
    Py_RETURN_NONE;
}

/* scale(products (S, q, q), by (S, q), scaled (S, q, q), S, q) */
static PyObject *py_scale(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[3];
    scale_task t;
    if (!PyArg_ParseTuple(args, "OOOll", &o[0], &o[1], &o[2], &t.S, &t.q)) return NULL;
    buffers b = {.count = 0};
    t.products = take(&b, o[0], 0, SIZE(t.S, t.q, t.q), "products");
    t.by = take(&b, o[1], 0, SIZE(t.S, t.q), "by");
    t.scaled = take(&b, o[2], 1, SIZE(t.S, t.q, t.q), "scaled");
    if (b.count < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    chosen->scale(&t);
    Py_END_ALLOW_THREADS
    release(&b);
    Py_RETURN_NONE;
}
