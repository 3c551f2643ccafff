/* The gram route: systems D - G_j - G_k of the training sets of some partitions, D diagonal, at every value of a path.
 *
 * Below the system stand Q right-hand sides and a probe. Columns from d to `padded` are those of the identity. */

static inline void NAME(pad)(const gram_task *t, VEC *A) {
    for (long i = t->d; i < t->padded; i++) {
        for (long c = 0; c < i; c++) A[i * t->ld + c] = ZERO;
        A[i * t->ld + i] = SPREAD(1.0);
    }
    for (long row = t->padded; row <= t->padded + t->Q; row++)
        for (long i = t->d; i < t->padded; i++) A[row * t->ld + i] = ZERO;
}

static inline void NAME(finish)(const gram_task *t, VEC *A) {
    NAME(factor)(A, t->ld, t->padded, t->padded + t->Q + 1);
    for (long row = t->padded; row <= t->padded + t->Q; row++) NAME(back)(A, t->ld, t->padded, row);
}

/* Lanes over the values of a path: one training set after the other. */
static void NAME(gram_values)(const gram_task *t, double *space) {
    const long d = t->d, V = t->V, Q = t->Q, ld = t->ld, step = (V + W - 1) / W * W;
    VEC *A = (VEC *)space;
    double *D = space + ld * (t->padded + Q + 1 + TI) * W, *probe = D + d * step; /* (d, step) */
    for (long i = 0; i < d; i++)
        for (long v = 0; v < step; v++) {
            D[i * step + v] = t->D[(v < V ? v : V - 1) * d + i];
            probe[i * step + v] = t->probe[(v < V ? v : V - 1) * d + i];
        }
    for (long s = t->first; s < t->last; s++) {
        const long repeat = s / t->n_sets, set = s % t->n_sets, j = t->sets[2 * set], k = t->sets[2 * set + 1];
        const double *Gj = t->grams + (repeat * t->K + j) * d * d, *bj = t->right + (repeat * t->K + j) * d * V * Q;
        const double *Gk = k < 0 ? t->zeros : t->grams + (repeat * t->K + k) * d * d;
        const double *bk = k < 0 ? t->zeros : t->right + (repeat * t->K + k) * d * V * Q;
        double *out = t->change + s * d * V * Q;
        for (long low = 0; low < V; low += W) {
            const long count = V - low < W ? V - low : W;
            for (long i = 0; i < d; i++) {
                for (long c = 0; c <= i; c++) A[i * ld + c] = SPREAD(-(Gj[i * d + c] + Gk[i * d + c]));
                A[i * ld + i] += *(const VEC *)(D + i * step + low);
                A[(t->padded + Q) * ld + i] = *(const VEC *)(probe + i * step + low);
            }
            for (long q = 0; q < Q; q++)
                for (long i = 0; i < d; i++) {
                    const long at = (i * V + low) * Q + q;
                    double *to = (double *)(A + (t->padded + q) * ld + i);
                    for (long l = 0; l < count; l++) to[l] = bj[at + l * Q] + bk[at + l * Q];
                    for (long l = count; l < W; l++) to[l] = 0.0;
                }
            NAME(pad)(t, A);
            NAME(finish)(t, A);
            VEC size = ZERO;
            for (long i = 0; i < d; i++) {
                VEC answer = A[(t->padded + Q) * ld + i];
                size += *(const VEC *)(D + i * step + low) * answer * answer;
            }
            for (long l = 0; l < count; l++) t->norms[s * V + low + l] = size[l];
            for (long q = 0; q < Q; q++)
                for (long i = 0; i < d; i++) {
                    const double *from = (const double *)(A + (t->padded + q) * ld + i);
                    for (long l = 0; l < count; l++) out[(i * V + low + l) * Q + q] = from[l];
                }
        }
    }
}

/* Lanes over training sets: W of them at a time, one value after the other. */
static void NAME(gram_sets)(const gram_task *t, double *space) {
    const long d = t->d, V = t->V, Q = t->Q, ld = t->ld;
    VEC *A = (VEC *)space;
    for (long low = t->first; low < t->last; low += W) {
        const long count = t->last - low < W ? t->last - low : W;
        const double *Gj[W], *Gk[W], *bj[W], *bk[W];
        for (long l = 0; l < W; l++) {
            const long s = low + (l < count ? l : 0), repeat = s / t->n_sets, set = s % t->n_sets;
            const long j = t->sets[2 * set], k = t->sets[2 * set + 1];
            Gj[l] = t->grams + (repeat * t->K + j) * d * d;
            bj[l] = t->right + (repeat * t->K + j) * d * V * Q;
            Gk[l] = k < 0 ? t->zeros : t->grams + (repeat * t->K + k) * d * d;
            bk[l] = k < 0 ? t->zeros : t->right + (repeat * t->K + k) * d * V * Q;
        }
        for (long value = 0; value < V; value++) {
            const double *D = t->D + value * d, *probe = t->probe + value * d;
            for (long i = 0; i < d; i++) {
                for (long l = 0; l < W; l++) {
                    const double *a = Gj[l] + i * d, *b = Gk[l] + i * d;
                    double *to = (double *)(A + i * ld) + l;
                    for (long c = 0; c <= i; c++) to[c * W] = -(a[c] + b[c]);
                }
                A[i * ld + i] += D[i];
                A[(t->padded + Q) * ld + i] = SPREAD(probe[i]);
                for (long q = 0; q < Q; q++) {
                    const long at = (i * V + value) * Q + q;
                    double *to = (double *)(A + (t->padded + q) * ld + i);
                    for (long l = 0; l < W; l++) to[l] = bj[l][at] + bk[l][at];
                }
            }
            NAME(pad)(t, A);
            NAME(finish)(t, A);
            VEC size = ZERO;
            for (long i = 0; i < d; i++) {
                VEC answer = A[(t->padded + Q) * ld + i];
                size += D[i] * answer * answer;
            }
            for (long l = 0; l < count; l++) {
                double *out = t->change + (low + l) * d * V * Q;
                for (long q = 0; q < Q; q++)
                    for (long i = 0; i < d; i++) out[(i * V + value) * Q + q] = A[(t->padded + q) * ld + i][l];
                t->norms[(low + l) * V + value] = size[l];
            }
        }
    }
}

static void NAME(gram)(const gram_task *t, double *space) {
    if (t->V >= W) NAME(gram_values)(t, space);
    else NAME(gram_sets)(t, space);
}
