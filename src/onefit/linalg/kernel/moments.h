/* Mean and sum of squares about it of the squared residuals of folds: one pass for each, while they are in the caches.
 *
 * u (F, m, O, C) with r (F, m, C) added, weights (F, m); the first sizes[f] rows of a fold are there, the others padding. */

/* Sum over rows of w (u + r)^2, or of its squared distance from a mean. */
INLINE double NAME(sum_of_rows)(const double *u, const double *r, const double *w, long rows, double mean, const int is_scatter) {
    VEC acc = ZERO;
    double sum = 0.0;
    long i = 0;
    for (; i + W <= rows; i += W) {
        const VEC x = *(const VEC *)(u + i) + *(const VEC *)(r + i);
        const VEC gap = *(const VEC *)(w + i) * x * x - mean;
        acc += is_scatter ? gap * gap : gap;
    }
    for (; i < rows; i++) {
        const double gap = w[i] * (u[i] + r[i]) * (u[i] + r[i]) - mean;
        sum += is_scatter ? gap * gap : gap;
    }
    for (int l = 0; l < W; l++) sum += acc[l];
    return sum;
}

static void NAME(moments)(const moments_task *t, double *space) {
    const long C = t->C, all = t->O * t->C;
    double *mean = space;
    for (long f = 0; f < t->F; f++) {
        double *scatter = t->scatter + f * all;
        const long rows = t->sizes[f];
        if (all == 1) { /* lanes along the rows */
            const double *u = t->u + f * t->m, *r = t->r + f * t->m, *w = t->weights + f * t->m;
            t->mean[f] = NAME(sum_of_rows)(u, r, w, rows, 0.0, 0) / rows;
            t->scatter[f] = NAME(sum_of_rows)(u, r, w, rows, t->mean[f], 1);
            continue;
        }
        memset(mean, 0, 8 * all);
        memset(scatter, 0, 8 * all);
        for (int pass = 0; pass < 2; pass++) {
            for (long i = 0; i < rows; i++) {
                const double *u = t->u + (f * t->m + i) * all, *r = t->r + (f * t->m + i) * C;
                const double w = t->weights[f * t->m + i];
                if (C == 1) { /* the usual case of one value and one output: along the other axis */
                    double *restrict square = scatter;
                    const double add = r[0];
                    if (pass == 0)
                        for (long o = 0; o < all; o++) mean[o] += w * (u[o] + add) * (u[o] + add);
                    else
                        for (long o = 0; o < all; o++) {
                            const double gap = w * (u[o] + add) * (u[o] + add) - mean[o];
                            square[o] += gap * gap;
                        }
                    continue;
                }
                for (long o = 0; o < t->O; o++) {
                    const double *own = u + o * C;
                    double *restrict sum = mean + o * C, *restrict square = scatter + o * C;
                    if (pass == 0)
                        for (long c = 0; c < C; c++) sum[c] += w * (own[c] + r[c]) * (own[c] + r[c]);
                    else
                        for (long c = 0; c < C; c++) {
                            const double gap = w * (own[c] + r[c]) * (own[c] + r[c]) - sum[c];
                            square[c] += gap * gap;
                        }
                }
            }
            if (pass == 0)
                for (long c = 0; c < all; c++) mean[c] /= rows;
        }
        memcpy(t->mean + f * all, mean, 8 * all);
    }
}
