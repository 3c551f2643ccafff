/* Held-out residuals of the rows of folds at many values, and what they add up to, without a table of them: some rows at a
 * time, which stay in the first cache, are predicted, added to the sums of their rows, squared, and multiplied. */
#define MOST 3

/* Residuals of TI rows, nv registers of values: maps (d, wide) are broadcast to rows, u has as many columns. */
INLINE void NAME(score_rows)(const double *const *rows, const double *maps, long d, long wide, double *u, const int nv) {
    VEC acc[TI][MOST];
    for (int a = 0; a < TI; a++)
        for (int v = 0; v < nv; v++) acc[a][v] = ZERO;
    long c = 0;
    do {
        VEC column[MOST];
        for (int v = 0; v < nv; v++) column[v] = *(const VEC *)(maps + c * wide + v * W);
        for (int a = 0; a < TI; a++)
            for (int v = 0; v < nv; v++) acc[a][v] += rows[a][c] * column[v];
    } while (++c < d);
    for (int a = 0; a < TI; a++)
        for (int v = 0; v < nv; v++) *(VEC *)(u + a * wide + v * W) = acc[a][v];
}

/* Add some numbers to their sums. */
INLINE void NAME(add_values)(double *restrict sums, const double *restrict values, long V) {
    long v = 0;
    for (; v + W <= V; v += W) *(VEC *)(sums + v) += *(const VEC *)(values + v);
    for (; v < V; v++) sums[v] += values[v];
}

/* Add a row's residuals and losses to its sums, and write 1, its weight less 1, and the increments of its weighted losses
 * along the chain, of which that at the root is taken about the shift of its fold. */
INLINE void NAME(score_row)(const score_task *t, long row, double shift, const double *restrict u, double *restrict loss,
                            double *restrict table) {
    const long V = t->V;
    const double w = t->weights ? t->weights[row] : 1.0;
    for (long v = 0; v < V; v += W) *(VEC *)(loss + v) = *(const VEC *)(u + v) * *(const VEC *)(u + v);
    if (t->residuals) NAME(add_values)(t->residuals + row * V, u, V);
    NAME(add_values)(t->losses + row * V, loss, V);
    if (t->weights)
        for (long v = 0; v < V; v += W) *(VEC *)(loss + v) *= w;
    table[0] = 1.0;
    table[1] = w - 1.0;
    for (long v = 0; v < V; v++) table[2 + v] = loss[v] - loss[t->parents[v]];
    table[2 + t->root] = loss[t->root] - shift;
}

/* Add powers w^a T^b, a + b <= 3, of some rows to their sums (4, 4, wide), with T = w (scale u^2 - middle): one register of
 * values after the other, whose sums stay in registers. Without weights the powers of T are all there is. */
INLINE void NAME(add_thirds)(const score_task *t, const int64_t *members, long count, const double *u, const double *about,
                             double *sums, const int powers) {
    const long wide = t->wide;
    for (long v = 0; v < t->V; v += W) {
        const VEC scale = *(const VEC *)(about + v), middle = *(const VEC *)(about + wide + v);
        VEC acc[4][4];
        for (int a = 0; a < powers; a++)
            for (int b = 0; a + b < 4; b++) acc[a][b] = *(const VEC *)(sums + (4 * a + b) * wide + v);
        for (long k = 0; k < count; k++) {
            const double w = powers > 1 ? t->weights[members[k]] : 1.0;
            const VEC x = *(const VEC *)(u + k * wide + v), T = w * (scale * x * x - middle);
            VEC left = SPREAD(1.0);
            for (int a = 0; a < powers; a++) {
                VEC term = left;
                for (int b = 0; a + b < 4; b++) {
                    acc[a][b] += term;
                    term *= T;
                }
                left *= w;
            }
        }
        for (int a = 0; a < powers; a++)
            for (int b = 0; a + b < 4; b++) *(VEC *)(sums + (4 * a + b) * wide + v) = acc[a][b];
    }
}

static void NAME(score)(const score_task *t, double *space) {
    const long d = t->d, V = t->V, wide = t->wide, width = V + 2;
    double *maps = space, *u = maps + d * wide, *table = u + CHUNK * wide, *sums = table + CHUNK * wide;
    double *loss = sums + (width + TI) * wide, *about = loss + wide, *thirds = about + 2 * wide;
    const double *left[CHUNK];
    for (long k = 0; k < CHUNK; k++) left[k] = table + k * wide;
    for (int i = 0; i < 2; i++) memcpy(about + i * wide, t->about + i * V, 8 * V);
    for (long f = 0; f < t->F; f++) {
        const int64_t *members = t->members + t->starts[f];
        const long size = t->starts[f + 1] - t->starts[f];
        for (long c = 0; c < d; c++) memcpy(maps + c * wide, t->maps + (f * d + c) * V, 8 * V);
        memset(sums, 0, 8 * (width + TI) * wide);
        for (long low = 0; low < size; low += CHUNK) {
            const long count = size - low < CHUNK ? size - low : CHUNK;
            for (long k = 0; k < count; k += TI) {
                const double *rows[TI];
                for (long a = 0; a < TI; a++) rows[a] = t->rows + members[low + (k + a < count ? k + a : k)] * d;
                for (long v = 0; v < V;) { /* as few registers as will do */
                    const long registers = (V - v + W - 1) / W;
                    if (registers >= 3) NAME(score_rows)(rows, maps + v, d, wide, u + k * wide + v, 3);
                    else if (registers == 2) NAME(score_rows)(rows, maps + v, d, wide, u + k * wide + v, 2);
                    else NAME(score_rows)(rows, maps + v, d, wide, u + k * wide + v, 1);
                    v += MOST * W;
                }
            }
            for (long k = 0; k < count; k++)
                NAME(score_row)(t, members[low + k], t->shift[f], u + k * wide, loss, table + k * wide);
            NAME(add_tiles)(left, table, wide, count, width, (VEC *)sums);
            if (t->weights) NAME(add_thirds)(t, members + low, count, u, about, thirds, 4);
            else NAME(add_thirds)(t, members + low, count, u, about, thirds, 1);
        }
        double *products = t->products + f * width * width;
        for (long i = 0; i < width; i++)
            for (long c = i; c < width; c++) {
                products[i * width + c] += sums[i * wide + c];
                if (c > i) products[c * width + i] += sums[i * wide + c];
            }
    }
    for (long a = 0; a < 4; a++)
        for (long b = 0; a + b < 4; b++) {
            const double *found = thirds + (t->weights ? 4 * a + b : b) * wide;
            for (long v = 0; v < V; v++) t->thirds[(4 * a + b) * V + v] += found[v];
        }
}
#undef MOST
