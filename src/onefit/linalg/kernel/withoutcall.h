/* without(gram (w, w), folds (F, w, w), out (S, t), sums (S, w), mean (S, w - 1), products (S, w - 1, w - 1), w, F, S, t) */
static PyObject *py_without(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    without_task t;
    long F;
    if (!read_call(&c, args, 6, "llll", &t.w, &F, &t.S, &t.t)) return NULL;
    if (t.w < 1 || t.t < 1) return PyErr_Format(PyExc_ValueError, "kernel: no such training sets");
    t.gram = input(&c, "gram", SIZE(t.w, t.w));
    t.folds = input(&c, "folds", SIZE(F, t.w, t.w));
    t.out = input(&c, "out", SIZE(t.S, t.t));
    t.sums = output(&c, "sums", SIZE(t.S, t.w));
    t.mean = output(&c, "mean", SIZE(t.S, t.w - 1));
    t.products = output(&c, "products", SIZE(t.S, t.w - 1, t.w - 1));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "out", t.out, SIZE(t.S, t.t), 0, F - 1);
    if (start_call(&c)) chosen->without(&t);
    return end_call(&c);
}

/* scale(products (S, q, q), by (S, q), scaled (S, q, q), S, q) */
static PyObject *py_scale(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    scale_task t;
    if (!read_call(&c, args, 3, "ll", &t.S, &t.q)) return NULL;
    t.products = input(&c, "products", SIZE(t.S, t.q, t.q));
    t.by = input(&c, "by", SIZE(t.S, t.q));
    t.scaled = output(&c, "scaled", SIZE(t.S, t.q, t.q));
    if (c.is_wrong) return end_call(&c);
    if (start_call(&c)) chosen->scale(&t);
    return end_call(&c);
}
