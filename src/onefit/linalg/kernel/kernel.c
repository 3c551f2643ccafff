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
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
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

#include "gramcall.h"
#include "pairscall.h"
#include "newtoncall.h"
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
