/* Products of columns about their means in training sets: those of all rows less those of some folds, each set by itself
 * while it is in the first cache. A constant is the last column. */

/* A row of products less those of the folds that are out, and less a multiple of the means. */
INLINE void NAME(without_row)(const without_task *t, const int64_t *out, long i, const double *mean, double by, double *own) {
    const long q = t->w - 1, at = i * t->w, each = t->w * t->w;
    const double *all = t->gram + at, *one = t->folds + out[0] * each + at;
    const double *two = t->t > 1 ? t->folds + out[1] * each + at : NULL;
    long j = 0;
    for (; j + W <= q; j += W) {
        VEC left = *(const VEC *)(all + j) - *(const VEC *)(one + j);
        if (two) left -= *(const VEC *)(two + j);
        for (long k = 2; k < t->t; k++) left -= *(const VEC *)(t->folds + out[k] * each + at + j);
        *(VEC *)(own + j) = left - by * *(const VEC *)(mean + j);
    }
    for (; j < q; j++) {
        double left = all[j] - one[j];
        if (two) left -= two[j];
        for (long k = 2; k < t->t; k++) left -= t->folds[out[k] * each + at + j];
        own[j] = left - by * mean[j];
    }
}

static void NAME(without)(const without_task *t) {
    const long w = t->w, q = w - 1, each = w * w;
    for (long s = 0; s < t->S; s++) {
        const int64_t *out = t->out + s * t->t;
        double *sums = t->sums + s * w, *mean = t->mean + s * q;
        for (long j = 0; j < w; j++) {
            sums[j] = t->gram[q * w + j];
            for (long k = 0; k < t->t; k++) sums[j] -= t->folds[out[k] * each + q * w + j];
        }
        for (long j = 0; j < q; j++) mean[j] = sums[j] / sums[q];
        for (long i = 0; i < q; i++) NAME(without_row)(t, out, i, mean, sums[i], t->products + (s * q + i) * q);
    }
}

/* Rows and columns of matrices (S, q, q) times the same factors (S, q). */
static void NAME(scale)(const scale_task *t) {
    const long q = t->q;
    for (long row = 0; row < t->S * q; row++) {
        const double *from = t->products + row * q, *by = t->by + row / q * q;
        double *to = t->scaled + row * q;
        const double own = t->by[row];
        long j = 0;
        for (; j + W <= q; j += W) *(VEC *)(to + j) = *(const VEC *)(from + j) * own * *(const VEC *)(by + j);
        for (; j < q; j++) to[j] = from[j] * own * by[j];
    }
}
