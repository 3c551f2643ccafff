/* Training sets of generalized linear models, one in each lane: quasi-Newton steps (BFGS) from given Hessians, with linear
 * predictors, residuals and gradients of all rows in one pass. Lanes do not see each other, so that it does not matter which
 * training sets are computed together. */

typedef int64_t NAME(whole) __attribute__((vector_size(8 * W), aligned(8)));
#define WHOLE NAME(whole)
#define STRIP (W < 8 ? 4 : 8) /* rows at a time, as registers allow: coefficients that are loaded serve all of them */

INLINE VEC NAME(pick)(WHOLE mask, VEC yes, VEC no) { return (VEC)((mask & (WHOLE)yes) | (~mask & (WHOLE)no)); }

/* exp to the last bit or two; arguments beyond the range are taken for its ends (sums of some do not overflow), and NaN stays. */
INLINE VEC NAME(exponential)(VEC x) {
    const VEC high = SPREAD(700.0), low = SPREAD(-708.0), magic = SPREAD(6755399441055744.0);
    x = NAME(pick)(x > high, high, x);
    x = NAME(pick)(x < low, low, x);
    const VEC shifted = x * 1.4426950408889634 + magic, k = shifted - magic;
    const VEC r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    VEC sum = SPREAD(1.0 / 479001600.0);
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r * r + r + 1.0;
    const WHOLE exponent = ((WHOLE)shifted - (WHOLE)magic + 1023) << 52;
    return sum * (VEC)exponent;
}

#define NEAR 0.03
/* exp of what is at most NEAR away from zero, to the last bit. */
INLINE VEC NAME(exponential_near)(VEC x) {
    VEC sum = SPREAD(1.0 / 5040.0);
    sum = sum * x + 1.0 / 720.0;
    sum = sum * x + 1.0 / 120.0;
    sum = sum * x + 1.0 / 24.0;
    sum = sum * x + 1.0 / 6.0;
    sum = sum * x + 0.5;
    return sum * x * x + x + 1.0;
}

/* What is raised by a unit of the linear predictor, if all that a loss needs is one exponential. */
INLINE double NAME(exponent)(double y, const int family) {
    return family == NEWTON_BINOMIAL ? y : family == NEWTON_GAMMA ? -1.0 : 1.0;
}

/* Minus the derivative of a loss, from that exponential, or from its linear predictor. */
INLINE VEC NAME(slope)(VEC x, double y, double power, const int family) {
    if (family == NEWTON_BINOMIAL) return y / (1.0 + x);
    if (family == NEWTON_POISSON) return y - x;
    if (family == NEWTON_GAMMA) return y * x - 1.0;
    if (family == NEWTON_TWEEDIE) return y * NAME(exponential)((1.0 - power) * x) - NAME(exponential)((2.0 - power) * x);
    return y - x;
}

/* Linear predictors of the rows of a strip from coefficients (q,). */
INLINE void NAME(predictors)(const double *const *own, const VEC *restrict gamma, long q, VEC *eta) {
    VEC acc[STRIP];
    for (int a = 0; a < STRIP; a++) acc[a] = ZERO;
    for (long j = 0; j < q; j++) {
        const VEC g = gamma[j];
        for (int a = 0; a < STRIP; a++) acc[a] += own[a][j] * g;
    }
    for (int a = 0; a < STRIP; a++) eta[a] = acc[a];
}

/* Exponentials of a strip in the lanes where its linear predictors are but changes near zero: those that are kept, times what
 * follows from these. Which lanes in which rows are not near, and whether there are any. */
INLINE int64_t NAME(exponentials_near)(const double *exponent, const VEC *change, const VEC *kept, WHOLE may_be, WHOLE *is_far,
                                       VEC *found) {
    WHOLE some = (WHOLE)ZERO;
    for (int a = 0; a < STRIP; a++) {
        is_far[a] = ~may_be | (change[a] > SPREAD(NEAR)) | (change[a] < SPREAD(-NEAR));
        some |= is_far[a];
        found[a] = kept[a] * NAME(exponential_near)(exponent[a] * change[a]);
    }
    int64_t any = 0;
    for (int l = 0; l < W; l++) any |= some[l];
    return any;
}

/* Sums over all rows of their columns times their weighted residuals, (P, q), at coefficients (P, q); of a softmax these are
 * less those of the first class. `changes` are the coefficients less those of the pass before, or NULL, and `may_be` the lanes
 * where they may be near zero: a lane's numbers must not depend on the others, so that each does what it would do alone. */
INLINE void NAME(pass)(const newton_task *t, const VEC *restrict gamma, const VEC *restrict changes, WHOLE may_be,
                       VEC *restrict kept, const VEC *restrict factors, VEC *restrict sums, const int family) {
    const long q = t->q, P = family == NEWTON_SOFTMAX ? t->P : 1, low = family == NEWTON_SOFTMAX;
    for (long j = 0; j < P * q; j++) sums[j] = ZERO;
    for (long i = 0; i < t->n; i += STRIP) {
        VEC eta[NEWTON_CLASSES][STRIP];
        const double *own[STRIP];
        double exponent[STRIP];
        long row[STRIP];
        for (int a = 0; a < STRIP; a++) {
            row[a] = i + a < t->n ? i + a : t->n - 1;
            own[a] = t->design + row[a] * q;
            exponent[a] = NAME(exponent)(t->y[row[a]], family);
        }
        for (long p = low; p < P; p++) {
            VEC *place = kept ? kept + (i * (P - low) + (p - low) * STRIP) : NULL, near[STRIP];
            WHOLE is_far[STRIP];
            for (int a = 0; a < STRIP; a++) near[a] = ZERO, is_far[a] = (WHOLE)ZERO;
            if (changes) {
                NAME(predictors)(own, changes + p * q, q, eta[p]);
                const int64_t any = NAME(exponentials_near)(exponent, eta[p], place, may_be, is_far, near);
                for (int a = 0; a < STRIP; a++) eta[p][a] = place[a] = near[a];
                if (!any) continue;
            }
            NAME(predictors)(own, gamma + p * q, q, eta[p]);
            if (family == NEWTON_TWEEDIE || family == NEWTON_NORMAL) continue;
            for (int a = 0; a < STRIP; a++) {
                eta[p][a] = NAME(exponential)(exponent[a] * eta[p][a]);
                if (changes) eta[p][a] = NAME(pick)(is_far[a], eta[p][a], near[a]);
                if (kept) place[a] = eta[p][a];
            }
        }
        for (int a = 0; a < STRIP; a++) {
            const VEC weight = (i + a < t->n ? t->weights[row[a]] : 0.0) * factors[t->cells[row[a]]];
            if (family == NEWTON_SOFTMAX) { /* indicators of all classes but the first, less their probabilities */
                VEC sum = SPREAD(1.0);
                for (long p = 1; p < P; p++) sum += eta[p][a];
                const VEC share = 1.0 / sum;
                for (long p = 1; p < P; p++)
                    eta[p][a] = ((t->y[p * t->n + row[a]] > 0 ? 1.0 : 0.0) - eta[p][a] * share) * weight;
            } else eta[0][a] = NAME(slope)(eta[0][a], t->y[row[a]], t->power, family) * weight;
        }
        for (long p = low; p < P; p++) {
            VEC r[STRIP];
            for (int a = 0; a < STRIP; a++) r[a] = eta[p][a];
            for (long j = 0; j < q; j++) {
                VEC sum = sums[p * q + j];
                for (int a = 0; a < STRIP; a++) sum += own[a][j] * r[a];
                sums[p * q + j] = sum;
            }
        }
    }
    for (long p = low; p < P && low; p++)
        for (long j = 0; j < q; j++) sums[j] -= sums[p * q + j];
}

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
        const VEC squares = NAME(inner_product)(s->step, s->g, d);
        if (k == 0 && t->first && t->bends) NAME(bend)(t, s, first);
        for (int l = 0; l < W; l++) {
            const double x = squares[l] > 0 ? squares[l] : squares[l] != squares[l] ? NAN : 0.0;
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
