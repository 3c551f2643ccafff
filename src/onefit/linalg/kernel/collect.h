/* Statistics of folds from rows of a table, which stands there once for all folds of all partitions: the rows are read
 * where they are, and no table of them by fold is made. */
#define MOST 3

/* Rows i..i+TI-1 of the sums, nv registers of columns: left (rows, d) is broadcast, right (rows, wide) is not. */
INLINE void NAME(add_products)(const double *const *left, const double *right, long wide, long rows, long d, long i, VEC *sums,
                               const int nv) {
    VEC acc[TI][MOST];
    long at[TI];
    for (int a = 0; a < TI; a++) {
        at[a] = i + a < d ? i + a : d - 1; /* rows beyond the last are those of the last, and dropped */
        for (int v = 0; v < nv; v++) acc[a][v] = sums[a * (wide / W) + v];
    }
    long k = 0;
    do {
        VEC columns[MOST];
        for (int v = 0; v < nv; v++) columns[v] = *(const VEC *)(right + k * wide + v * W);
        for (int a = 0; a < TI; a++)
            for (int v = 0; v < nv; v++) acc[a][v] += left[k][at[a]] * columns[v];
    } while (++k < rows);
    for (int a = 0; a < TI; a++)
        for (int v = 0; v < nv; v++) sums[a * (wide / W) + v] = acc[a][v];
}

/* Add Z'[Z r] of some rows to the sums (d + TI, wide): the upper triangle, and what it takes to fill registers. */
static inline void NAME(add_rows)(const collect_task *t, const int64_t *members, long rows, double *right, VEC *sums) {
    const long d = t->d, wide = t->wide;
    const double *left[CHUNK];
    for (long k = 0; k < rows; k++) {
        const double *z = t->Z + members[k] * d, *r = t->r + members[k] * t->C, w = t->weights[members[k]];
        double *to = right + k * wide;
        left[k] = z;
        for (long c = 0; c < d; c++) to[c] = w * z[c];
        for (long c = 0; c < t->C; c++) to[d + c] = w * r[c];
    }
    for (long i = 0; i < d; i += TI)
        for (long v = i / W; v < wide / W;) {
            VEC *to = sums + i * (wide / W) + v;
            const long registers = wide / W - v;
            if (registers >= 3) NAME(add_products)(left, right + v * W, wide, rows, d, i, to, 3);
            else if (registers == 2) NAME(add_products)(left, right + v * W, wide, rows, d, i, to, 2);
            else NAME(add_products)(left, right + v * W, wide, rows, d, i, to, 1);
            v += registers < MOST ? registers : MOST;
        }
}

/* Z_f'WZ_f and Z_f'W r_f of every fold f. */
static void NAME(collect)(const collect_task *t, double *space) {
    const long d = t->d, C = t->C, wide = t->wide;
    double *right = space, *sums = right + CHUNK * wide;
    for (long f = 0; f < t->F; f++) {
        memset(sums, 0, 8 * (d + TI) * wide);
        for (long low = 0; low < t->sizes[f]; low += CHUNK) {
            const long rows = t->sizes[f] - low < CHUNK ? t->sizes[f] - low : CHUNK;
            NAME(add_rows)(t, t->members + f * t->m + low, rows, right, (VEC *)sums);
        }
        double *gram = t->grams + f * d * d, *products = t->right + f * d * C;
        for (long i = 0; i < d; i++) {
            for (long c = i; c < d; c++) gram[i * d + c] = gram[c * d + i] = sums[i * wide + c];
            for (long c = 0; c < C; c++) products[i * C + c] = sums[i * wide + d + c];
        }
    }
}
#undef MOST

/* Residuals u_f = r_f + Z_f change_f of the rows of every fold f; zero in the place of padding. */
static void NAME(residuals)(const residuals_task *t, double *space) {
    (void)space;
    const long d = t->d, C = t->C;
    for (long f = 0; f < t->F; f++) {
        const double *change = t->change + f * d * C;
        double *u = t->u + f * t->m * C;
        memset(u + t->sizes[f] * C, 0, 8 * (t->m - t->sizes[f]) * C);
        for (long i = 0; i < t->sizes[f]; i++, u += C) {
            const long row = t->members[f * t->m + i];
            const double *z = t->Z + row * d, *r = t->r + row * C;
            if (C == 1) {
                VEC acc = ZERO;
                long c = 0;
                for (; c + W <= d; c += W) acc += *(const VEC *)(z + c) * *(const VEC *)(change + c);
                double sum = r[0];
                for (; c < d; c++) sum += z[c] * change[c];
                for (int l = 0; l < W; l++) sum += acc[l];
                u[0] = sum;
                continue;
            }
            long q = 0;
            for (; q + W <= C; q += W) {
                VEC acc = *(const VEC *)(r + q);
                for (long c = 0; c < d; c++) acc += z[c] * *(const VEC *)(change + c * C + q);
                *(VEC *)(u + q) = acc;
            }
            for (; q < C; q++) {
                double sum = r[q];
                for (long c = 0; c < d; c++) sum += z[c] * change[c * C + q];
                u[q] = sum;
            }
        }
    }
}
