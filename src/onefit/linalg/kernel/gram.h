/* The gram route: systems D - G_j - G_k of the training sets of some partitions, D diagonal, at every value of a path.
 *
 * Below the system stand Q right-hand sides and a probe. */

static inline void NAME(finish)(const gram_task *t, VEC *A) {
    NAME(factor)(A, t->ld, 0, t->d, t->d + t->Q + 1);
    NAME(back)(A, t->ld, t->d, t->d, t->d + t->Q + 1);
}

/* Lanes over the values of a path: one training set after the other. */
static void NAME(gram_values)(const gram_task *t, double *space) {
    const long d = t->d, V = t->V, Q = t->Q, ld = t->ld, step = (V + W - 1) / W * W;
    VEC *A = (VEC *)space;
    double *D = space + ld * (d + Q + 1 + TI) * W, *probe = D + d * step; /* (d, step) */
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
            const int is_whole = Q == 1 && count == W; /* a register of values stands together */
            for (long i = 0; i < d; i++) {
                for (long c = 0; c <= i; c++) A[i * ld + c] = SPREAD(-(Gj[i * d + c] + Gk[i * d + c]));
                A[i * ld + i] += *(const VEC *)(D + i * step + low);
                A[(d + Q) * ld + i] = *(const VEC *)(probe + i * step + low);
            }
            for (long i = 0; i < d && is_whole; i++)
                A[d * ld + i] = *(const VEC *)(bj + i * V + low) + *(const VEC *)(bk + i * V + low);
            for (long q = 0; q < Q && !is_whole; q++)
                for (long i = 0; i < d; i++) {
                    const long at = (i * V + low) * Q + q;
                    double *to = (double *)(A + (d + q) * ld + i);
                    for (long l = 0; l < count; l++) to[l] = bj[at + l * Q] + bk[at + l * Q];
                    for (long l = count; l < W; l++) to[l] = 0.0;
                }
            NAME(finish)(t, A);
            VEC size = ZERO;
            for (long i = 0; i < d; i++) {
                VEC answer = A[(d + Q) * ld + i];
                size += *(const VEC *)(D + i * step + low) * answer * answer;
            }
            for (long l = 0; l < count; l++) t->norms[s * V + low + l] = size[l];
            for (long i = 0; i < d && is_whole; i++) *(VEC *)(out + i * V + low) = A[d * ld + i];
            for (long q = 0; q < Q && !is_whole; q++)
                for (long i = 0; i < d; i++) {
                    const double *from = (const double *)(A + (d + q) * ld + i);
                    for (long l = 0; l < count; l++) out[(i * V + low + l) * Q + q] = from[l];
                }
        }
    }
}

/* Columns c..c+W-1 of row i of -(G_j + G_k), a training set in each lane. */
INLINE void NAME(fill_lanes)(const double *const *Gj, const double *const *Gk, long at, VEC *to) {
    VEC rows[W];
    for (int l = 0; l < W; l++) rows[l] = -(*(const VEC *)(Gj[l] + at) + *(const VEC *)(Gk[l] + at));
    NAME(transpose)(rows); /* whole registers: lane by lane, the tiles would wait for the stores */
    for (int l = 0; l < W; l++) to[l] = rows[l];
}

/* The lower triangle of -(G_j + G_k), and at the end of a row some of what stands right of it. */
static inline void NAME(fill_sets)(const gram_task *t, const double *const *Gj, const double *const *Gk, VEC *A) {
    const long d = t->d, ld = t->ld;
    for (long i = 0; i < d; i++) {
        if (d < W) {
            for (long c = 0; c <= i; c++) {
                VEC v = ZERO;
                for (int l = 0; l < W; l++) v[l] = -(Gj[l][i * d + c] + Gk[l][i * d + c]);
                A[i * ld + c] = v;
            }
            continue;
        }
        for (long c = 0; c <= i; c += W) { /* the last columns once more rather than what is beyond the matrix */
            const long first = c + W <= d ? c : d - W;
            NAME(fill_lanes)(Gj, Gk, i * d + first, A + i * ld + first);
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
            NAME(fill_sets)(t, Gj, Gk, A);
            for (long i = 0; i < d; i++) {
                A[i * ld + i] += D[i];
                A[(d + Q) * ld + i] = SPREAD(probe[i]);
                for (long q = 0; q < Q; q++) {
                    const long at = (i * V + value) * Q + q;
                    VEC v = ZERO;
                    for (int l = 0; l < W; l++) v[l] = bj[l][at] + bk[l][at];
                    A[(d + q) * ld + i] = v;
                }
            }
            NAME(finish)(t, A);
            VEC size = ZERO;
            for (long i = 0; i < d; i++) {
                VEC answer = A[(d + Q) * ld + i];
                size += D[i] * answer * answer;
            }
            for (long l = 0; l < count; l++) {
                double *out = t->change + (low + l) * d * V * Q;
                for (long q = 0; q < Q; q++)
                    for (long i = 0; i < d; i++) out[(i * V + value) * Q + q] = A[(d + q) * ld + i][l];
                t->norms[(low + l) * V + value] = size[l];
            }
        }
    }
}

static void NAME(gram)(const gram_task *t, double *space) {
    if (t->V >= W) NAME(gram_values)(t, space);
    else NAME(gram_sets)(t, space);
}
