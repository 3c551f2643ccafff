/* Compiled kernels of onefit: many small positive definite systems at once, one in each lane of a SIMD register.
 *
 * Every kernel has a twin in NumPy with the same meaning. Arrays come in as contiguous buffers of doubles; nothing here
 * knows of NumPy. The interpreter's lock is released while a kernel runs. The same source is compiled for several
 * instruction sets, and the best that the machine has is taken when the module is loaded; by a rule, never by measuring
 * then, or results could differ from run to run.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "tasks.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(f) JOIN(f, SUFFIX)
#define INLINE static inline __attribute__((always_inline))

/* SSE2 or NEON: sixteen or more registers of two lanes */
#define SUFFIX base
#define LABEL "baseline"
#define W 2
#define TI 4
#define NB 2
#include "isa.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <cpuid.h>
#define X86 1
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SUFFIX avx2
#define LABEL "AVX2"
#define W 4
#define TI 4
#define NB 3
#include "isa.h"
#pragma GCC pop_options

/* Whether registers of 512 bits are computed with by halves, as on AMD's Zen 4: a wider register is then faster only if
 * none of its lanes are idle. Measured there, the pairs of the one-step route take longer than with AVX2 if there are few
 * folds (1.3 times with 10), about as long with 50 to 100, and less with more (0.85 times with 320). */
static int halves_registers = 0;
#define FEW_PARTNERS 50

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")
#define SUFFIX avx512
#define LABEL "AVX-512"
#define NARROWER(f) JOIN(f, avx2)
#define W 8
#define TI 4
#define NB 4
#include "isa.h"
#pragma GCC pop_options
#endif

static const kernels *chosen = &kernels_of_base;

#ifdef X86
/* Family 19h of AMD; those of it that have AVX-512 at all are Zen 4. */
static int is_zen4(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || d != signature_AMD_edx || c != signature_AMD_ecx) return 0;
    return __get_cpuid(1, &a, &b, &c, &d) && ((a >> 8) & 15) + ((a >> 20) & 255) == 0x19;
}
#endif

static void choose(const char *most) {
    chosen = &kernels_of_base;
#ifdef X86
    __builtin_cpu_init();
    if (strcmp(most, "baseline") == 0) return;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) chosen = &kernels_of_avx2;
    if (strcmp(most, "AVX2") == 0) return;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        chosen = &kernels_of_avx512;
    halves_registers = is_zen4();
#else
    (void)most;
#endif
}

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

/* onestep(M (height, width), rows (L, last - first, m), columns (L, K, m), diagonal (L, K, m, m), right (L, K, m, Q + 1),
 * gains (L, K, m), sizes (L, K), is_table, out, out, squares (L, last - first, K), height, width, L, K, m, Q, first, last);
 * out are mean and scatter (L, K, K, Q), or, if is_table, solutions at j and k (L, last - first, K, m, Q) */
static PyObject *py_onestep(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[10];
    int is_table;
    long height, width, L, K, m, Q, first, last;
    if (!PyArg_ParseTuple(args, "OOOOOOOpOOOllllllll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &is_table, &o[7],
                          &o[8], &o[9], &height, &width, &L, &K, &m, &Q, &first, &last))
        return NULL;
    if (first < 0 || last < first || last > K) return PyErr_Format(PyExc_ValueError, "kernel: folds are out of range");
    const long J = last - first;
    const size_t outputs = is_table ? SIZE(L, J, K, m, Q) : SIZE(L, K, K, Q);
    buffers b = {.count = 0};
    onestep_task t = {.width = width, .L = L, .K = K, .m = m, .Q = Q, .first = first, .last = last};
    t.M = take(&b, o[0], 0, SIZE(height, width), "M");
    t.rows = take(&b, o[1], 0, SIZE(L, J, m), "rows");
    t.columns = take(&b, o[2], 0, SIZE(L, K, m), "columns");
    t.diagonal = take(&b, o[3], 0, SIZE(L, K, m, m), "diagonal");
    t.right = take(&b, o[4], 0, SIZE(L, K, m, Q + 1), "right");
    t.gains = take(&b, o[5], 0, SIZE(L, K, m), "gains");
    t.sizes = take(&b, o[6], 0, SIZE(L, K), "sizes");
    double *out[2];
    for (int i = 0; i < 2; i++) out[i] = take(&b, o[7 + i], 1, outputs, "an output");
    t.squares = take(&b, o[9], 1, SIZE(L, J, K), "squares");
    if (b.count < 0) return NULL;
    if (!in_range(t.rows, SIZE(L, J, m), height)) return refuse(&b, "rows");
    if (!in_range(t.columns, SIZE(L, K, m), width)) return refuse(&b, "columns");
    if (!lie_between(t.sizes, SIZE(L, K), 0, m)) return refuse(&b, "sizes");
    *(is_table ? &t.at_j : &t.mean) = out[0];
    *(is_table ? &t.at_k : &t.scatter) = out[1];
    const kernels *k = chosen;
    t.ld = (2 * m) | 1;
    const size_t system = ((size_t)t.ld * (2 * m + Q + 1 + k->TI) + 2 * (2 * m + 1)) * k->lanes;
    double *space = workspace(system);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        memset(space, 0, 8 * system);
        k->onestep(&t, space);
        Py_END_ALLOW_THREADS
    }
    const int is_ready = space != NULL;
    free(space);
    release(&b);
    if (!is_ready) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* leavetwo(A (V, I, J), of_i (4, V, I), of_j (4, V, J), least (V,), order (V,), parents (V,), changes_j (V, I, J) or (1,) if
 * V is 1, sums_i (2, V, I), sums_j (2, V, J), own (V,), doubtful (1,), V, I, J, on_diagonal, is_absolute); of_i and of_j
 * are the diagonal, r, gains and losses, the sums those of changes and of losses. All sums are added to. */
static PyObject *py_leavetwo(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[11];
    leavetwo_task t = {0};
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOlllpp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7], &o[8], &o[9],
                          &o[10], &t.V, &t.I, &t.J, &t.on_diagonal, &t.is_absolute))
        return NULL;
    const size_t V = t.V, I = V * t.I, J = V * t.J;
    buffers b = {.count = 0};
    t.A = take(&b, o[0], 1, SIZE(t.V, t.I, t.J), "A");
    t.a_i = take(&b, o[1], 0, SIZE(4, t.V, t.I), "of_i");
    t.a_j = take(&b, o[2], 0, SIZE(4, t.V, t.J), "of_j");
    t.least = take(&b, o[3], 0, SIZE(t.V), "least");
    t.order = take(&b, o[4], 0, SIZE(t.V), "order");
    t.parents = take(&b, o[5], 0, SIZE(t.V), "parents");
    t.changes_j = take(&b, o[6], 1, t.V > 1 ? SIZE(t.V, t.I, t.J) : 1, "changes_j");
    t.rows_i = take(&b, o[7], 1, SIZE(2, t.V, t.I), "sums_i");
    t.rows_j = take(&b, o[8], 1, SIZE(2, t.V, t.J), "sums_j");
    t.own = take(&b, o[9], 1, SIZE(t.V), "own");
    t.doubtful = take(&b, o[10], 1, 1, "doubtful");
    if (b.count < 0) return NULL;
    if (!in_range(t.order, V, t.V)) return refuse(&b, "order");
    if (!in_range(t.parents, V, t.V)) return refuse(&b, "parents");
    t.r_i = t.a_i + I, t.g_i = t.a_i + 2 * I, t.loss_i = t.a_i + 3 * I, t.columns_i = t.rows_i + I;
    t.r_j = t.a_j + J, t.g_j = t.a_j + 2 * J, t.loss_j = t.a_j + 3 * J, t.columns_j = t.rows_j + J;
    double *space = workspace(2 * J);
    if (space) {
        Py_BEGIN_ALLOW_THREADS
        chosen->leavetwo(&t, space);
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

/* newton(design (n, q), y (P, n), weights (n,), cells (n,), factors (n_cells, T), maps (T, q, p) or None, penalty (S, p),
 * pieces (M, c p, c p), curvature (S,), basis (P, c), first (S, c, p) or None, bends (M, c p, c p) or None, made (S, 3),
 * theta (S, c, p), converged (S,), steps (S,), n, q, p, P, c, S, n_cells, T, M, family, power, tolerance, window, slow, wild, least_pivot); theta is the start,
 * and overwritten */
static PyObject *py_newton(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[16];
    newton_task t = {0};
    long M;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOOOllllllllliddlddd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &o[7],
                          &o[8], &o[9], &o[10], &o[11], &o[12], &o[13], &o[14], &o[15], &t.n, &t.q, &t.p, &t.P, &t.c, &t.S,
                          &t.n_cells, &t.T, &M, &t.family, &t.power, &t.tolerance, &t.window, &t.slow, &t.wild, &t.least_pivot))
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

#include "foldscall.h"
#include "lassocall.h"
#include "withoutcall.h"
#include "tablescall.h"

static PyObject *py_use(PyObject *self, PyObject *args) {
    (void)self;
    const char *most;
    if (!PyArg_ParseTuple(args, "s", &most)) return NULL;
    choose(most);
    return PyUnicode_FromString(chosen->name);
}

static PyMethodDef methods[] = {
    {"gram", py_gram, METH_VARARGS, "Systems of the gram route."},
    {"moments", py_moments, METH_VARARGS, "Means and sums of squares of squared residuals."},
    {"onestep", py_onestep, METH_VARARGS, "Pairs of folds of the one-step route."},
    {"leavetwo", py_leavetwo, METH_VARARGS, "Pairs of rows, a tile of them."},
    {"predict", py_predict, METH_VARARGS, "Moments of the squared residuals of folds, of the gram route."},
    {"collect", py_collect, METH_VARARGS, "Gram matrices of folds and products with a right-hand side."},
    {"residuals", py_residuals, METH_VARARGS, "Residuals of folds with changed coefficients."},
    {"deal", py_deal, METH_VARARGS, "Folds of consecutive rows."},
    {"exceeds", py_exceeds, METH_VARARGS, "Whether numbers are too large, or missing."},
    {"project", py_project, METH_VARARGS, "Scaled columns, and residuals of a pilot fit."},
    {"interleave", py_interleave, METH_VARARGS, "Columns as rows."},
    {"gather", py_gather, METH_VARARGS, "Gram matrices of the folds of some rows, added up."},
    {"score", py_score, METH_VARARGS, "Held-out losses of the rows of folds, and what they add up to."},
    {"lasso", py_lasso, METH_VARARGS, "Lasso and elastic net from Gram matrices."},
    {"newton", py_newton, METH_VARARGS, "Training sets of generalized linear models."},
    {"without", py_without, METH_VARARGS, "Products about means of training sets from those of folds."},
    {"scale", py_scale, METH_VARARGS, "Matrices with their rows and columns scaled."},
    {"use", py_use, METH_VARARGS, "Take instructions up to 'baseline', 'AVX2' or 'AVX-512'; returns those taken."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernel", "Compiled kernels of onefit.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) {
    choose("AVX-512");
    return PyModule_Create(&module);
}
