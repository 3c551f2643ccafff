/* lasso(A (S, p, p), h (S, Q, p), D (S, p), l1 (S, V), l2 (S, V), beta (S, V, Q, p), status (S, V, Q), S, p, V,
 * Q, positive) */
static PyObject *py_lasso(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    lasso_task t;
    if (!read_call(&c, args, 7, "llllp", &t.S, &t.p, &t.V, &t.Q, &t.positive)) return NULL;
    t.A = input(&c, "A", SIZE(t.S, t.p, t.p));
    t.h = input(&c, "h", SIZE(t.S, t.Q, t.p));
    t.D = input(&c, "D", SIZE(t.S, t.p));
    t.l1 = input(&c, "l1", SIZE(t.S, t.V));
    t.l2 = input(&c, "l2", SIZE(t.S, t.V));
    t.beta = output(&c, "beta", SIZE(t.S, t.V, t.Q, t.p));
    t.status = output(&c, "status", SIZE(t.S, t.V, t.Q));
    if (c.is_wrong) return end_call(&c);
    const size_t ld = (size_t)t.p + (size_t)chosen->lanes;
    double *space = workspace(&c, ld * ((size_t)t.p + 6));
    long *places = room(&c, malloc(sizeof(long) * (3 * (size_t)t.p + 2)));
    if (start_call(&c)) chosen->lasso(&t, space, places);
    return end_call(&c);
}
