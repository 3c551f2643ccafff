/* newton(design (n, q), y (P, n), weights (n,), cells (n,), factors (n_cells, T), maps (T, q, p) or None, penalty (S, p),
 * pieces (M, c p, c p), curvature (S,), basis (P, c), first (S, c, p) or None, bends (M, c p, c p) or None, made (S, 3),
 * theta (S, c, p), converged (S,), steps (S,), n, q, p, P, c, S, n_cells, T, M, family, power, tolerance, window, slow, wild, least_pivot, noise); theta is the start,
 * and overwritten */
static PyObject *py_newton(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[16];
    newton_task t = {0};
    long M;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOOOllllllllliddldddd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7],
                          &o[8], &o[9], &o[10], &o[11], &o[12], &o[13], &o[14], &o[15], &t.n, &t.q, &t.p, &t.P, &t.c, &t.S,
                          &t.n_cells, &t.T, &M, &t.family, &t.power, &t.tolerance, &t.window, &t.slow, &t.wild, &t.least_pivot,
                          &t.noise))
        return NULL;
    const int is_softmax = t.family == NEWTON_SOFTMAX;
    if (t.n < 1 || t.q < 1 || t.p < 1 || t.S < 1 || t.c < 1 || t.T < 1 || t.window < 1 || t.family < 0 ||
        t.family > NEWTON_SOFTMAX || (is_softmax ? t.P < 2 || t.P > NEWTON_CLASSES : t.P != 1) ||
        (o[5] == Py_None && t.p != t.q))
        return PyErr_Format(PyExc_ValueError, "kernel: no such model");
    buffers b = {.count = 0};
    t.design = take(&b, o[0], 0, SIZE(t.n, t.q), "design");
    t.y = take(&b, o[1], 0, SIZE(t.P, t.n), "y");
    t.weights = take(&b, o[2], 0, SIZE(t.n), "weights");
    t.cells = take(&b, o[3], 0, SIZE(t.n), "cells");
    t.factors = take(&b, o[4], 0, SIZE(t.n_cells, t.T), "factors");
    if (o[5] != Py_None) t.maps = take(&b, o[5], 0, SIZE(t.T, t.q, t.p), "maps");
    t.penalty = take(&b, o[6], 0, SIZE(t.S, t.p), "penalty");
    t.pieces = take(&b, o[7], 0, SIZE(M, t.c, t.p, t.c, t.p), "pieces");
    t.curvature = take(&b, o[8], 0, SIZE(t.S), "curvature");
    t.basis = take(&b, o[9], 0, SIZE(t.P, t.c), "basis");
    if (o[10] != Py_None) t.first = take(&b, o[10], 0, SIZE(t.S, t.c, t.p), "first");
    if (o[11] != Py_None) t.bends = take(&b, o[11], 0, SIZE(M, t.c, t.p, t.c, t.p), "bends");
    t.made = take(&b, o[12], 0, SIZE(t.S, 3), "made");
    t.theta = take(&b, o[13], 1, SIZE(t.S, t.c, t.p), "theta");
    t.converged = take(&b, o[14], 1, SIZE(t.S), "converged");
    t.steps = take(&b, o[15], 1, SIZE(t.S), "steps");
    if (b.count < 0) return NULL;
    if (!in_range(t.cells, SIZE(t.n), t.n_cells)) return refuse(&b, "cells");
    for (long i = 0; i < 3 * t.S; i++)
        if (t.made[i] >= M || t.made[i] < (i % 3 ? -1 : 0)) return refuse(&b, "made");
    const kernels *k = chosen;
    const size_t d = (size_t)t.c * t.p, rows = (t.n + 7) / 8 * 8; /* whole strips of rows */
    const int is_exponential = t.family != NEWTON_TWEEDIE && t.family != NEWTON_NORMAL;
    if (is_exponential && rows * t.c * k->lanes <= NEWTON_KEPT) t.kept = rows * t.c;
    const size_t tables = (d + k->TI) * (d | 1) + (6 + 2 * NEWTON_MEMORY) * d + t.p + (t.maps ? (size_t)t.q * t.p : 0) +
                          t.n_cells + (3 * (size_t)t.P + t.c) * t.q + d * (d + 2) + t.kept;
    double *space = workspace(tables * k->lanes);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * tables * k->lanes); /* rows beyond the last are computed, too */
        k->newton(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
