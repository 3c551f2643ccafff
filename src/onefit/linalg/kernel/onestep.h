/* The one-step route: residuals of folds j and k when both are out, for every pair of a range of j, lanes over k.
 *
 * In lanes stand rows 0..m-1 [A_jj], m..2m-1 [A_kj A_kk] and below them the right-hand sides, the probe last. The columns of A_jj that fill whole tiles, `done` of them, are eliminated once for all partners k. */

static inline void NAME(begin_fold)(const onestep_task *t, VEC *A, const double *own, long done) {
    const long m = t->m, ld = t->ld;
    for (long i = 0; i < m; i++)
        for (long c = 0; c <= i; c++) A[i * ld + c] = SPREAD(own[i * m + c]);
    NAME(factor)(A, ld, 0, done, m);
}

/* The rows of W partners; j and k are counted over all repeats. */
static inline void NAME(fill_partners)(const onestep_task *t, VEC *A, const int64_t *rows, long j, const long *k) {
    const long m = t->m, ld = t->ld, sides = t->Q + 1;
    for (long c = 0; c < m; c++) {
        VEC *to = A + (m + c) * ld;
        const double *cross[W], *own[W];
        for (long l = 0; l < W; l++) {
            cross[l] = t->M + t->columns[k[l] * m + c];
            own[l] = t->diagonal + (k[l] * m + c) * m;
        }
        for (long a = 0; a < m; a++) { /* whole registers: lane by lane, the tiles would wait for the stores */
            VEC v = ZERO;
            for (int l = 0; l < W; l++) v[l] = cross[l][rows[a] * t->width];
            to[a] = v;
        }
        for (long a = 0; a <= c; a++) {
            VEC v = ZERO;
            for (int l = 0; l < W; l++) v[l] = own[l][a];
            to[m + a] = v;
        }
    }
    for (long q = 0; q < sides; q++) {
        VEC *side = A + (2 * m + q) * ld;
        for (long a = 0; a < m; a++) {
            VEC v = ZERO;
            for (int l = 0; l < W; l++) v[l] = t->right[(k[l] * m + a) * sides + q];
            side[a] = SPREAD(t->right[(j * m + a) * sides + q]);
            side[m + a] = v;
        }
    }
}

static inline void NAME(solve_partners)(const onestep_task *t, VEC *A, const double *own, long done) {
    const long m = t->m, ld = t->ld, rows = 2 * m + t->Q + 1;
    for (long i = done; i < m; i++) /* the last columns of A_jj go with those of the partners */
        for (long c = done; c <= i; c++) A[i * ld + c] = SPREAD(own[i * m + c]);
    for (long j = 0; j < done; j += NB) NAME(panel)(A, ld, m, j, rows);
    NAME(factor)(A, ld, done, 2 * m, rows);
    NAME(back)(A, ld, 2 * m, 2 * m, rows);
}

/* Mean of the squares x_i^2 g_i over rows, and sum of squares about it; `there` is one for rows and zero for padding. */
static inline void NAME(square_moments)(const VEC *x, const VEC *g, const VEC *there, VEC size, long m, VEC *out) {
    VEC sum = ZERO, scatter = ZERO;
    for (long i = 0; i < m; i++) sum += g[i] * x[i] * x[i];
    const VEC mean = sum / size;
    for (long i = 0; i < m; i++) {
        const VEC gap = there[i] * (g[i] * x[i] * x[i] - mean);
        scatter += gap * gap;
    }
    out[0] = mean;
    out[1] = scatter;
}

/* Gains, which rows are there, and the size, of a fold in each lane: 2m + 1 vectors. */
static inline void NAME(fill_gains)(const onestep_task *t, VEC *gains, const long *fold) {
    for (long l = 0; l < W; l++) {
        const long size = t->sizes[fold[l]];
        double *to = (double *)gains + l;
        for (long i = 0; i < t->m; i++) {
            to[i * W] = t->gains[fold[l] * t->m + i];
            to[(t->m + i) * W] = i < size ? 1.0 : 0.0;
        }
        to[2 * t->m * W] = (double)size;
    }
}

static inline void NAME(record_moments)(const onestep_task *t, const VEC *A, const VEC *of_j, VEC *of_k, long first,
                                        long j, const long *k, long count) {
    const long m = t->m, K = t->K, Q = t->Q;
    NAME(fill_gains)(t, of_k, k);
    for (long q = 0; q < Q; q++) {
        const VEC *x = A + (2 * m + q) * t->ld;
        VEC at_j[2], at_k[2];
        NAME(square_moments)(x, of_j, of_j + m, of_j[2 * m], m, at_j);
        NAME(square_moments)(x + m, of_k, of_k + m, of_k[2 * m], m, at_k);
        for (long l = 0; l < count; l++) {
            const long there = (j * K + k[l] - first) * Q + q, back = (k[l] * K + j - first) * Q + q;
            t->mean[there] = at_j[0][l];
            t->scatter[there] = at_j[1][l];
            t->mean[back] = at_k[0][l];
            t->scatter[back] = at_k[1][l];
        }
    }
}

/* Solutions at j and at k, (m, Q) each, for pair number `pair`. */
static inline void NAME(record_table)(const onestep_task *t, const VEC *A, long pair, long count) {
    const long m = t->m, Q = t->Q;
    for (long l = 0; l < count; l++)
        for (long q = 0; q < Q; q++) {
            const double *x = (const double *)(A + (2 * m + q) * t->ld) + l;
            double *at_j = t->at_j + (pair + l) * m * Q + q, *at_k = t->at_k + (pair + l) * m * Q + q;
            for (long i = 0; i < m; i++) {
                at_j[i * Q] = x[i * W];
                at_k[i * Q] = x[(m + i) * W];
            }
        }
}

static void NAME(onestep)(const onestep_task *t, double *space) {
#ifdef NARROWER
    if (halves_registers && t->K < FEW_PARTNERS) { /* too many lanes would be idle */
        NARROWER(onestep)(t, space);
        return;
    }
#endif
    const long m = t->m, K = t->K, J = t->last - t->first, done = m / NB * NB;
    VEC *A = (VEC *)space, *of_j = A + t->ld * (2 * m + t->Q + 1 + TI), *of_k = of_j + 2 * m + 1;
    for (long index = 0; index < t->L * J; index++) {
        const long first = index / J * K, j = t->first + index % J; /* fold j of the repeat whose folds begin at first */
        const double *own = t->diagonal + (first + j) * m * m;
        long same[W], k[W];
        for (long l = 0; l < W; l++) same[l] = first + j;
        NAME(begin_fold)(t, A, own, done);
        if (t->mean) NAME(fill_gains)(t, of_j, same);
        for (long low = j + 1; low < K; low += W) {
            const long count = K - low < W ? K - low : W;
            for (long l = 0; l < W; l++) k[l] = first + low + (l < count ? l : 0);
            NAME(fill_partners)(t, A, t->rows + index * m, first + j, k);
            NAME(solve_partners)(t, A, own, done);
            const VEC *probe = A + (2 * m + t->Q) * t->ld;
            VEC square = ZERO;
            for (long i = 0; i < 2 * m; i++) square += probe[i] * probe[i];
            for (long l = 0; l < count; l++) t->squares[index * K + low + l] = square[l];
            if (t->mean) NAME(record_moments)(t, A, of_j, of_k, first, first + j, k, count);
            else NAME(record_table)(t, A, index * K + low, count);
        }
    }
}
