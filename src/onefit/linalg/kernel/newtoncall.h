/* newton(design (n, q), y (P, n), weights (n,), cells (n,), factors (n_cells, T), maps (T, q, p) or None, penalty (S, p),
 * pieces (M, c p, c p), curvature (S,), basis (P, c), first (S, c, p) or None, bends (M, c p, c p) or None, made (S, 3),
 * theta (S, c, p), converged (S,), steps (S,), n, q, p, P, c, S, n_cells, T, M, family, power, tolerance, window, slow,
 * wild, least_pivot, noise); theta is the start, and overwritten */
static PyObject *py_newton(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    newton_task t = {0};
    long M;
    if (!read_call(&c, args, 16, "llllllllliddldddd", &t.n, &t.q, &t.p, &t.P, &t.c, &t.S, &t.n_cells, &t.T, &M, &t.family,
                   &t.power, &t.tolerance, &t.window, &t.slow, &t.wild, &t.least_pivot, &t.noise))
        return NULL;
    const int is_softmax = t.family == NEWTON_SOFTMAX;
    if (t.n < 1 || t.q < 1 || t.p < 1 || t.S < 1 || t.c < 1 || t.T < 1 || t.window < 1 || t.family < 0 ||
        t.family > NEWTON_SOFTMAX || (is_softmax ? t.P < 2 || t.P > NEWTON_CLASSES : t.P != 1) ||
        (is_none(&c, 5) && t.p != t.q))
        return PyErr_Format(PyExc_ValueError, "kernel: no such model");
    t.design = input(&c, "design", SIZE(t.n, t.q));
    t.y = input(&c, "y", SIZE(t.P, t.n));
    t.weights = input(&c, "weights", SIZE(t.n));
    t.cells = input(&c, "cells", SIZE(t.n));
    t.factors = input(&c, "factors", SIZE(t.n_cells, t.T));
    t.maps = input_if_any(&c, "maps", SIZE(t.T, t.q, t.p));
    t.penalty = input(&c, "penalty", SIZE(t.S, t.p));
    t.pieces = input(&c, "pieces", SIZE(M, t.c, t.p, t.c, t.p));
    t.curvature = input(&c, "curvature", SIZE(t.S));
    t.basis = input(&c, "basis", SIZE(t.P, t.c));
    t.first = input_if_any(&c, "first", SIZE(t.S, t.c, t.p));
    t.bends = input_if_any(&c, "bends", SIZE(M, t.c, t.p, t.c, t.p));
    t.made = input(&c, "made", SIZE(t.S, 3));
    t.theta = output(&c, "theta", SIZE(t.S, t.c, t.p));
    t.converged = output(&c, "converged", SIZE(t.S));
    t.steps = output(&c, "steps", SIZE(t.S));
    if (c.is_wrong) return end_call(&c);
    hold(&c, "cells", t.cells, SIZE(t.n), 0, t.n_cells - 1);
    for (long i = 0; i < 3 * t.S; i++) hold(&c, "made", t.made + i, 1, i % 3 ? -1 : 0, M - 1);
    const kernels *k = chosen;
    const size_t d = (size_t)t.c * t.p, rows = (t.n + 7) / 8 * 8; /* whole strips of rows */
    const int is_exponential = t.family != NEWTON_TWEEDIE && t.family != NEWTON_NORMAL;
    if (is_exponential && rows * t.c * k->lanes <= NEWTON_KEPT) t.kept = rows * t.c;
    const size_t tables = (d + k->TI) * (d | 1) + (6 + 2 * NEWTON_MEMORY) * d + t.p + (t.maps ? (size_t)t.q * t.p : 0) +
                          t.n_cells + (3 * (size_t)t.P + t.c) * t.q + d * (d + 2) + t.kept;
    double *space = workspace(&c, tables * k->lanes);
    if (start_call(&c)) k->newton(&t, space);
    return end_call(&c);
}
