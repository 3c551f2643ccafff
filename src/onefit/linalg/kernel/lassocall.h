/* lasso(A (S, p, p), h (S, Q, p), D (S, p), l1 (S, V), l2 (S, V), beta (S, V, Q, p), status (S, V, Q), S, p, V,
 * Q, positive) */
static PyObject *py_lasso(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[7];
    lasso_task t;
    if (!PyArg_ParseTuple(args, "OOOOOOOllllp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &t.S, &t.p, &t.V, &t.Q,
                          &t.positive))
        return NULL;
    buffers b = {.count = 0};
    t.A = take(&b, o[0], 0, SIZE(t.S, t.p, t.p), "A");
    t.h = take(&b, o[1], 0, SIZE(t.S, t.Q, t.p), "h");
    t.D = take(&b, o[2], 0, SIZE(t.S, t.p), "D");
    t.l1 = take(&b, o[3], 0, SIZE(t.S, t.V), "l1");
    t.l2 = take(&b, o[4], 0, SIZE(t.S, t.V), "l2");
    t.beta = take(&b, o[5], 1, SIZE(t.S, t.V, t.Q, t.p), "beta");
    t.status = take(&b, o[6], 1, SIZE(t.S, t.V, t.Q), "status");
    if (b.count < 0) return NULL;
    const size_t ld = (size_t)t.p + (size_t)chosen->lanes;
    double *space = workspace(ld * ((size_t)t.p + 6));
    long *places = malloc(sizeof(long) * (3 * (size_t)t.p + 2));
    const int is_ready = space && places;
    if (is_ready) {
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * ld * ((size_t)t.p + 6));
        chosen->lasso(&t, space, places);
        Py_END_ALLOW_THREADS
    }
    free(space);
    free(places);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
