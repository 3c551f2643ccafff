/* Training sets of generalized linear models, one in each lane: quasi-Newton steps (BFGS) from given Hessians, with the
 * gradients of newtonrows.h. Lanes do not see each other, so that it does not matter which training sets are computed
 * together. */
#include "newtonrows.h"

typedef struct {
    VEC *A, *D, *maps, *factors, *gamma, *sums, *inner, *theta, *g, *before, *step, *part, *steps, *changes, *penalty, *along, *kept;
    VEC scales[NEWTON_MEMORY], curvature;
    double *H;      /* of each set, and two vectors */
    int is_bent[W]; /* whether the Hessian is that where the set is expected to end */
} NAME(lane_sets);
#define SETS NAME(lane_sets)

static VEC *NAME(cut)(VEC **space, long count) {
    VEC *found = *space;
    *space += count;
    return found;
}

#define MOST_BENT 10.0 /* times the diagonal of a Hessian: what changes it more is no small change */
/* The lower half of a set's Hessian (d, d), where it starts or where it is expected to end; 0 if that cannot be told. */
static int NAME(assemble)(const newton_task *t, long set, int is_bent, double *restrict H) {
    const long p = t->p, d = t->c * p;
    const int64_t *made = t->made + 3 * set;
    const double *whole = t->pieces + made[0] * d * d;
    for (long i = 0; i < d; i++)
        for (long j = 0; j <= i; j++) H[i * d + j] = whole[i * d + j];
    for (int k = 1; k < 3; k++) {
        if (made[k] < 0) continue;
        const double *less = t->pieces + made[k] * d * d;
        for (long i = 0; i < d; i++)
            for (long j = 0; j <= i; j++) H[i * d + j] -= less[i * d + j];
    }
    for (long i = 0; i < d; i++) H[i * d + i] += t->penalty[set * p + i % p];
    double *restrict before = H + d * d;
    for (long i = 0; i < d; i++) before[i] = H[i * d + i];
    for (int k = 1; k < 3 && is_bent; k++) {
        if (made[k] < 0) continue;
        const double *more = t->bends + made[k] * d * d;
        for (long i = 0; i < d; i++)
            for (long j = 0; j <= i; j++) H[i * d + j] += more[i * d + j];
    }
    int is_told = 1;
    for (long i = 0; i < d; i++)
        is_told &= MOST_BENT * H[i * d + i] >= before[i] && H[i * d + i] <= MOST_BENT * before[i];
    return is_told;
}

/* The Hessians of the sets first.., of length one, a lane each; lanes beyond the last repeat it. */
static void NAME(load_hessians)(const newton_task *t, SETS *s, long first) {
    const long d = t->c * t->p, ld = d | 1;
    const long each = d * (d + 2); /* from one to the next */
    for (int l = 0; l < W; l++) {
        const long set = first + l < t->S ? first + l : t->S - 1;
        double *H = s->H + l * each;
        if (!NAME(assemble)(t, set, s->is_bent[l], H) && s->is_bent[l]) NAME(assemble)(t, set, s->is_bent[l] = 0, H);
        for (long i = 0; i < d; i++) s->D[i][l] = H[i * d + i] > 0 ? 1.0 / sqrt(H[i * d + i]) : 0.0;
    }
    for (long i = 0; i < d; i++) {
        long j = 0;
        for (; j + W <= i; j += W) { /* tiles, which the lanes of a register have in columns */
            VEC tile[W];
            for (int l = 0; l < W; l++) tile[l] = *(const VEC *)(s->H + l * each + i * d + j);
            NAME(transpose)(tile);
            for (int k = 0; k < W; k++) s->A[i * ld + j + k] = tile[k] * s->D[i] * s->D[j + k];
        }
        for (; j < i; j++)
            for (int l = 0; l < W; l++) s->A[i * ld + j][l] = s->H[l * each + i * d + j] * s->D[i][l] * s->D[j][l];
        s->A[i * ld + i] = SPREAD(1.0);
    }
}

/* The least squared pivot of a set's factor; NaN or below zero if there is none. */
static double NAME(least_pivot)(const SETS *s, long d, int lane) {
    double least = INFINITY;
    for (long i = 0; i < d; i++) {
        const double inverse = s->A[i * (d | 1) + i][lane], pivot = 1.0 / (inverse * inverse);
        if (pivot != pivot) return pivot;
        least = pivot < least ? pivot : least;
    }
    return least;
}

/* Their factors: where the set is expected to end, if that is definite, else where it starts. */
static void NAME(factor_hessians)(const newton_task *t, SETS *s, long first) {
    const long d = t->c * t->p;
    int is_whole = 1;
    for (int l = 0; l < W; l++) s->is_bent[l] = t->bends != NULL;
    NAME(load_hessians)(t, s, first);
    NAME(factor)(s->A, d | 1, 0, d, d);
    for (int l = 0; l < W && t->bends; l++) 
        if (s->is_bent[l] && !(NAME(least_pivot)(s, d, l) > t->least_pivot)) is_whole = s->is_bent[l] = 0;
    if (is_whole) return;
    NAME(load_hessians)(t, s, first);
    NAME(factor)(s->A, d | 1, 0, d, d);
}

/* The other tables of the sets first... */
static void NAME(load_sets)(const newton_task *t, SETS *s, long first) {
    const long c = t->c, q = t->q, p = t->p, d = c * p;
    for (int l = 0; l < W; l++) {
        const long set = first + l < t->S ? first + l : t->S - 1, own = set % t->T;
        for (long i = 0; i < d; i++) s->theta[i][l] = t->theta[set * d + i];
        for (long i = 0; i < d && t->first; i++) s->g[i][l] = t->first[set * d + i];
        for (long i = 0; i < p; i++) s->penalty[i][l] = t->penalty[set * p + i];
        for (long i = 0; i < q * p && t->maps; i++) s->maps[i][l] = t->maps[own * q * p + i];
        for (long i = 0; i < t->n_cells; i++) s->factors[i][l] = t->factors[i * t->T + own];
        s->curvature[l] = t->curvature[set];
    }
}

/* Coefficients (P, q) of the linear predictors from those of the fits, (c, p); of a softmax less those of the first class. */
static void NAME(spread_out)(const newton_task *t, SETS *s, const VEC *restrict theta, VEC *restrict gamma) {
    const long c = t->c, q = t->q, p = t->p, P = t->P;
    for (long a = 0; a < c; a++)
        for (long j = 0; j < q; j++) {
            VEC sum = ZERO;
            if (t->maps)
                for (long k = 0; k < p; k++) sum += s->maps[j * p + k] * theta[a * p + k];
            else sum = theta[a * p + j];
            s->inner[a * q + j] = sum;
        }
    for (long b = 0; b < P; b++)
        for (long j = 0; j < q; j++) {
            VEC sum = ZERO;
            for (long a = 0; a < c; a++) sum += t->basis[b * c + a] * s->inner[a * q + j];
            gamma[b * q + j] = sum;
        }
    for (long b = 1; b < P && t->family == NEWTON_SOFTMAX; b++)
        for (long j = 0; j < q; j++) gamma[b * q + j] -= gamma[j];
}

/* Minus the gradient at theta, where a step led that changed linear predictors by `change` (W) on average, or NULL if no
 * exponentials are kept yet; lanes that are not active stay where they are. */
static void NAME(descend)(const newton_task *t, SETS *s, const double *change, const int *is_active) {
    const long c = t->c, q = t->q, p = t->p, P = t->P;
    const VEC *changes = NULL;
    WHOLE may_be = (WHOLE)ZERO;
    NAME(spread_out)(t, s, s->theta, s->gamma);
    for (int l = 0; l < W && change && s->kept; l++)
        if (!is_active[l] || change[l] <= NEAR / 4) may_be[l] = -1, changes = is_active[l] ? s->along : changes;
    if (changes) NAME(spread_out)(t, s, s->step, s->along);
#define PASS(family) NAME(pass)(t, s->gamma, changes, may_be, s->kept, s->factors, s->sums, family)
    switch (t->family) {
    case NEWTON_BINOMIAL: PASS(NEWTON_BINOMIAL); break;
    case NEWTON_POISSON: PASS(NEWTON_POISSON); break;
    case NEWTON_GAMMA: PASS(NEWTON_GAMMA); break;
    case NEWTON_TWEEDIE: PASS(NEWTON_TWEEDIE); break;
    case NEWTON_NORMAL: PASS(NEWTON_NORMAL); break;
    default: PASS(NEWTON_SOFTMAX);
    }
#undef PASS
    for (long a = 0; a < c; a++) {
        for (long j = 0; j < q; j++) {
            VEC sum = ZERO;
            for (long b = 0; b < P; b++) sum += t->basis[b * c + a] * s->sums[b * q + j];
            s->inner[a * q + j] = sum;
        }
        for (long k = 0; k < p; k++) {
            VEC sum = ZERO;
            if (t->maps)
                for (long j = 0; j < q; j++) sum += s->maps[j * p + k] * s->inner[a * q + j];
            else sum = s->inner[a * q + k];
            s->g[a * p + k] = sum - s->penalty[k] * s->theta[a * p + k];
        }
    }
}

/* H^-1 x in place, by the factor of the scaled Hessian. */
static void NAME(precondition)(const SETS *s, VEC *x, long d) {
    const long ld = d | 1;
    for (long i = 0; i < d; i++) x[i] *= s->D[i];
    for (long i = 0; i < d; i++) { /* along rows, as they stand; two sums, as each waits for itself */
        const VEC *row = s->A + i * ld;
        VEC even = ZERO, odd = ZERO;
        long j = 0;
        for (; j + 1 < i; j += 2) even += row[j] * x[j], odd += row[j + 1] * x[j + 1];
        if (j < i) even += row[j] * x[j];
        x[i] = (x[i] - even - odd) * row[i];
    }
    for (long i = d - 1; i >= 0; i--) {
        x[i] *= s->A[i * ld + i];
        for (long j = 0; j < i; j++) x[j] -= s->A[i * ld + j] * x[i];
    }
    for (long i = 0; i < d; i++) x[i] *= s->D[i];
}

INLINE VEC NAME(inner_product)(const VEC *a, const VEC *b, long d) {
    VEC sum = ZERO;
    for (long i = 0; i < d; i++) sum += a[i] * b[i];
    return sum;
}

/* The sum of the sizes of what an inner product sums. */
INLINE VEC NAME(sizes_of)(const VEC *a, const VEC *b, long d) {
    VEC sum = ZERO;
    for (long i = 0; i < d; i++) {
        const VEC part = a[i] * b[i];
        sum += NAME(pick)(part > ZERO, part, -part);
    }
    return sum;
}

/* The step: minus the gradient times the inverse Hessian after `count` updates, of which the last NEWTON_MEMORY are kept. */
static void NAME(direct)(SETS *s, long d, long count) {
    const long oldest = count > NEWTON_MEMORY ? count - NEWTON_MEMORY : 0;
    VEC parts[NEWTON_MEMORY];
    for (long i = 0; i < d; i++) s->part[i] = s->g[i];
    for (long k = count - 1; k >= oldest; k--) {
        const long at = k % NEWTON_MEMORY;
        parts[at] = s->scales[at] * NAME(inner_product)(s->steps + at * d, s->part, d);
        for (long i = 0; i < d; i++) s->part[i] -= parts[at] * s->changes[at * d + i];
    }
    NAME(precondition)(s, s->part, d);
    for (long k = oldest; k < count; k++) {
        const long at = k % NEWTON_MEMORY;
        const VEC gap = parts[at] - s->scales[at] * NAME(inner_product)(s->changes + at * d, s->part, d);
        for (long i = 0; i < d; i++) s->part[i] += s->steps[at * d + i] * gap;
    }
    for (long i = 0; i < d; i++) s->step[i] = s->part[i];
}

/* Let the first step go by the Hessian half way, M - C/2 where M is that at the end: M^-1 g + M^-1 C M^-1 g / 2. */
static void NAME(bend)(const newton_task *t, SETS *s, long first) {
    const long d = t->c * t->p;
    double *restrict x = s->H, *restrict y = s->H + d;
    for (int l = 0; l < W; l++) {
        const long set = first + l < t->S ? first + l : t->S - 1;
        for (long i = 0; i < d; i++) x[i] = s->is_bent[l] ? 0.5 * s->step[i][l] : 0.0, y[i] = 0.0;
        for (int k = 1; k < 3; k++) {
            const int64_t at = t->made[3 * set + k];
            for (long j = 0; j < d && at >= 0; j++) {
                const double *restrict row = t->bends + (at * d + j) * d; /* as it is symmetric, the column */
                for (long i = 0; i < d; i++) y[i] += row[i] * x[j];
            }
        }
        for (long i = 0; i < d; i++) s->part[i][l] = y[i];
    }
    NAME(precondition)(s, s->part, d);
    for (long i = 0; i < d; i++) s->step[i] += s->part[i];
}

/* Remember a step and the change of the gradient, the `count`-th. */
static void NAME(remember)(SETS *s, long d, long count) {
    const long at = count % NEWTON_MEMORY;
    for (long i = 0; i < d; i++) {
        s->steps[at * d + i] = s->step[i];
        s->changes[at * d + i] = s->before[i] - s->g[i];
    }
    const VEC along = NAME(inner_product)(s->steps + at * d, s->changes + at * d, d);
    s->scales[at] = NAME(pick)(along > ZERO, 1.0 / along, ZERO);
}

/* The steps of W training sets. */
static void NAME(iterate)(const newton_task *t, SETS *s, long first) {
    const long d = t->c * t->p;
    int is_active[W], left = 0;
    double history[NEWTON_STEPS][W];
    for (int l = 0; l < W; l++) left += is_active[l] = first + l < t->S && NAME(least_pivot)(s, d, l) > t->least_pivot;
    for (long k = 0; k < NEWTON_STEPS && left; k++) {
        if (k || !t->first) NAME(descend)(t, s, k > (t->first != NULL) ? history[k - 1] : NULL, is_active);
        if (k) NAME(remember)(s, d, k - 1);
        for (int l = 0; l < W && k == 1 && t->first; l++) /* along a long step the Hessian half way is not that at the end */
            if (s->is_bent[l]) s->scales[0][l] = 0.0;
        NAME(direct)(s, d, k);
        const VEC squares = NAME(inner_product)(s->step, s->g, d), sizes = NAME(sizes_of)(s->step, s->g, d);
        if (k == 0 && t->first && t->bends) NAME(bend)(t, s, first);
        for (int l = 0; l < W; l++) {
            /* uphill, but for rounding errors: steps of the past have led astray, and nothing has converged */
            const double noise = t->noise * sizes[l];
            const double x = squares[l] > noise ? squares[l] : squares[l] >= -noise ? noise : NAN;
            const double change = history[k][l] = sqrt(x / s->curvature[l]);
            if (!is_active[l]) {
                for (long i = 0; i < d; i++) s->step[i][l] = 0.0;
                continue;
            }
            const double ratio = k && change < history[k - 1][l] ? change / history[k - 1][l] : 1.0;
            t->steps[first + l] = k + 1;
            t->converged[first + l] = change * ratio <= t->tolerance;
            is_active[l] = !t->converged[first + l] && isfinite(change) && change <= t->wild * history[0][l] &&
                           (k < t->window || change <= t->slow * history[k - t->window][l]);
            left -= !is_active[l];
        }
        for (long i = 0; i < d; i++) {
            s->theta[i] += s->step[i];
            s->before[i] = s->g[i];
        }
    }
    for (int l = 0; l < W && first + l < t->S; l++)
        for (long i = 0; i < d; i++) t->theta[(first + l) * d + i] = s->theta[i][l];
}

static void NAME(newton)(const newton_task *t, double *space) {
    const long c = t->c, q = t->q, p = t->p, P = t->P, d = c * p;
    VEC *at = (VEC *)space;
    SETS s;
    s.A = NAME(cut)(&at, (d + TI) * (d | 1));
    s.D = NAME(cut)(&at, d), s.theta = NAME(cut)(&at, d), s.g = NAME(cut)(&at, d), s.before = NAME(cut)(&at, d);
    s.step = NAME(cut)(&at, d), s.part = NAME(cut)(&at, d), s.penalty = NAME(cut)(&at, p);
    s.steps = NAME(cut)(&at, NEWTON_MEMORY * d), s.changes = NAME(cut)(&at, NEWTON_MEMORY * d);
    s.maps = NAME(cut)(&at, t->maps ? q * p : 0), s.factors = NAME(cut)(&at, t->n_cells);
    s.gamma = NAME(cut)(&at, P * q), s.along = NAME(cut)(&at, P * q), s.sums = NAME(cut)(&at, P * q), s.inner = NAME(cut)(&at, c * q);
    s.H = (double *)NAME(cut)(&at, d * (d + 2));
    s.kept = t->kept ? NAME(cut)(&at, t->kept) : NULL;
    for (long first = 0; first < t->S; first += W) {
        NAME(factor_hessians)(t, &s, first);
        NAME(load_sets)(t, &s, first);
        NAME(iterate)(t, &s, first);
    }
}
#undef WHOLE
#undef SETS
#undef STRIP
#undef NEAR
#undef MOST_BENT
