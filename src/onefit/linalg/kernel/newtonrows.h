/* Linear predictors, residuals and gradients of generalized linear models, of all rows in one pass, with a training set in each
 * lane; newton.h, which includes it, takes its names back in the end. */

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
