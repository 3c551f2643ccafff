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

/* Add products of rows with themselves to the sums (d + TI, wide): the upper triangle, and what it takes to fill registers. */
static inline void NAME(add_tiles)(const double *const *left, const double *right, long wide, long rows, long d, VEC *sums) {
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

/* Add Z'[Z r] of some rows to the sums. Without weights rows are copied as they are, and both factors are the copies: they
 * stay in the first cache, where rows and copies together would not. */
static inline void NAME(add_rows)(const collect_task *t, const int64_t *members, long rows, double *right, VEC *sums) {
    const long d = t->d, wide = t->wide;
    const double *left[CHUNK];
    for (long k = 0; k < rows; k++) {
        const double *z = t->Z + members[k] * d;
        double *to = right + k * wide;
        if (t->weights) {
            const double w = t->weights[members[k]], *r = t->r + members[k] * t->C;
            left[k] = z;
            for (long c = 0; c < d; c++) to[c] = w * z[c];
            for (long c = 0; c < t->C; c++) to[d + c] = w * r[c];
        } else {
            left[k] = to;
            memcpy(to, z, 8 * d);
        }
    }
    NAME(add_tiles)(left, right, wide, rows, d, sums);
}

/* The sums of the rows of one fold, from nothing. */
static inline void NAME(sum_fold)(const collect_task *t, const int64_t *members, long size, double *right, double *sums) {
    memset(sums, 0, 8 * (t->d + TI) * t->wide);
    for (long low = 0; low < size; low += CHUNK)
        NAME(add_rows)(t, members + low, size - low < CHUNK ? size - low : CHUNK, right, (VEC *)sums);
}

/* Z_f'WZ_f and Z_f'W r_f of every fold f. */
static void NAME(collect)(const collect_task *t, double *space) {
    const long d = t->d, C = t->C, wide = t->wide;
    double *right = space, *sums = right + CHUNK * wide;
    for (long f = 0; f < t->F; f++) {
        NAME(sum_fold)(t, t->members + f * t->m, t->sizes[f], right, sums);
        double *gram = t->grams + f * d * d, *products = t->right + f * d * C;
        for (long i = 0; i < d; i++) {
            for (long c = i; c < d; c++) gram[i * d + c] = gram[c * d + i] = sums[i * wide + c];
            for (long c = 0; c < C; c++) products[i * C + c] = sums[i * wide + d + c];
        }
    }
}

/* Add the upper triangles of Z_f'Z_f; the rows of fold f are those from starts[f] on among the members. */
static void NAME(gather)(const collect_task *t, double *space) {
    const long d = t->d, wide = t->wide;
    double *right = space, *sums = right + CHUNK * wide;
    for (long f = 0; f < t->F; f++) {
        NAME(sum_fold)(t, t->members + t->starts[f], t->starts[f + 1] - t->starts[f], right, sums);
        double *gram = t->grams + f * d * d;
        for (long i = 0; i < d; i++)
            for (long c = i; c < d; c++) gram[i * d + c] += sums[i * wide + c];
    }
}

/* One column of coefficients: W rows at once, sums along each of them that are turned over at the end. `rest` are the
 * coefficients of the last W columns, zero for those that the registers before them have. */
INLINE void NAME(residuals_of_one)(const residuals_task *t, const int64_t *rows, long left, const double *change, VEC rest,
                                   double *u) {
    const double *own[W];
    VEC acc[W];
    for (int l = 0; l < W; l++) own[l] = t->Z + rows[l < left ? l : 0] * t->d; /* beyond the last: computed and dropped */
    for (int l = 0; l < W; l++) acc[l] = *(const VEC *)(own[l] + t->d - W) * rest;
    for (long c = 0; c + W <= t->d; c += W)
        for (int l = 0; l < W; l++) acc[l] += *(const VEC *)(own[l] + c) * *(const VEC *)(change + c);
    NAME(transpose)(acc);
    for (int l = 1; l < W; l++) acc[0] += acc[l];
    const double *sums = (const double *)acc;
    for (long l = 0; l < W && l < left; l++) u[l] = t->r[rows[l]] + sums[l];
}

/* Several: TI rows at once, nv registers of columns from q on. */
INLINE void NAME(residuals_of_some)(const residuals_task *t, const int64_t *rows, long left, const double *change, long q,
                                    double *u, const int nv) {
    const long C = t->C;
    const double *own[TI];
    VEC acc[TI][MOST];
    for (int a = 0; a < TI; a++) {
        const long row = rows[a < left ? a : 0];
        own[a] = t->Z + row * t->d;
        for (int v = 0; v < nv; v++) acc[a][v] = *(const VEC *)(t->r + row * C + q + v * W);
    }
    for (long c = 0; c < t->d; c++)
        for (int v = 0; v < nv; v++) {
            const VEC column = *(const VEC *)(change + c * C + q + v * W);
            for (int a = 0; a < TI; a++) acc[a][v] += own[a][c] * column;
        }
    for (int a = 0; a < TI; a++)
        for (int v = 0; v < nv && a < left; v++) *(VEC *)(u + a * C + q + v * W) = acc[a][v];
}

/* Fewer than a register holds, row by row. */
static inline void NAME(residuals_of_few)(const residuals_task *t, long row, const double *change, double *u) {
    for (long q = 0; q < t->C; q++) {
        u[q] = t->r[row * t->C + q];
        for (long c = 0; c < t->d; c++) u[q] += t->Z[row * t->d + c] * change[c * t->C + q];
    }
}

/* Residuals u_f = r_f + Z_f change_f of the rows of every fold f; zero in the place of padding. */
static void NAME(residuals)(const residuals_task *t, double *space) {
    (void)space;
    const long C = t->C;
    for (long f = 0; f < t->F; f++) {
        const double *change = t->change + f * t->d * C;
        const int64_t *rows = t->members + f * t->m;
        const long size = t->sizes[f];
        double *u = t->u + f * t->m * C;
        memset(u + size * C, 0, 8 * (t->m - size) * C);
        if (C == 1 && t->d >= W) {
            double rest[W];
            for (long l = 0; l < W; l++) rest[l] = l < W - t->d % W ? 0.0 : change[t->d - W + l];
            for (long i = 0; i < size; i += W) NAME(residuals_of_one)(t, rows + i, size - i, change, *(const VEC *)rest, u + i);
        } else if (C < W)
            for (long i = 0; i < size; i++) NAME(residuals_of_few)(t, rows[i], change, u + i * C);
        else
            for (long i = 0; i < size; i += TI) {
                long q = 0;
                for (; q + MOST * W <= C; q += MOST * W)
                    NAME(residuals_of_some)(t, rows + i, size - i, change, q, u + i * C, MOST);
                for (; q < C; q += W) /* the last columns once more rather than what is beyond them */
                    NAME(residuals_of_some)(t, rows + i, size - i, change, q + W <= C ? q : C - W, u + i * C, 1);
            }
    }
}
#undef MOST
