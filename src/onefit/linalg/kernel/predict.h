/* Predictions of folds by the training sets that leave them and another fold out, and the moments of their squared
 * residuals, without a table of residuals: columns (partner, value, output) in lanes, NV registers of them at a time. */
#define NV 3

/* Some of the columns of fold f: pack their changes of coefficients, predict row by row, and reduce. */
static inline void NAME(predict_columns)(const predict_task *t, long repeat, long f, const int64_t *list, long low, long count,
                                         VEC *pack, VEC *losses) {
    const long d = t->d, C = t->C, m = t->m, rows = t->sizes[repeat * t->K + f];
    const double *Z = t->Z + (repeat * t->K + f) * m * d, *r = t->r + (repeat * t->K + f) * m * C;
    const double *weights = t->weights + (repeat * t->K + f) * m;
    const double *change[NV * W];
    long column[NV * W];
    for (long l = 0; l < NV * W; l++) {
        const long at = low + (l < count ? l : 0);
        change[l] = t->change + (repeat * t->n_sets + list[at / C]) * d * C + at % C;
        column[l] = at % C;
    }
    for (long c = 0; c < d; c++) {
        double *to = (double *)(pack + c * NV);
        for (long l = 0; l < NV * W; l++) to[l] = change[l][c * C];
    }
    VEC sum[NV];
    for (int v = 0; v < NV; v++) sum[v] = ZERO;
    for (long first = 0; first < rows; first += TI) {
        VEC acc[TI][NV];
        const double *own[TI];
        for (int a = 0; a < TI; a++) {
            const long i = first + a < rows ? first + a : rows - 1;
            double *to = (double *)acc[a];
            own[a] = Z + i * d;
            if (C == 1)
                for (int v = 0; v < NV; v++) acc[a][v] = SPREAD(r[i]);
            else
                for (long l = 0; l < NV * W; l++) to[l] = r[i * C + column[l]];
        }
        for (long c = 0; c < d; c++)
            for (int a = 0; a < TI; a++)
                for (int v = 0; v < NV; v++) acc[a][v] += own[a][c] * pack[c * NV + v];
        for (int a = 0; a < TI && first + a < rows; a++)
            for (int v = 0; v < NV; v++) {
                const VEC loss = weights[first + a] * acc[a][v] * acc[a][v];
                losses[(first + a) * NV + v] = loss;
                sum[v] += loss;
            }
    }
    VEC scatter[NV];
    for (int v = 0; v < NV; v++) {
        sum[v] /= (double)rows;
        scatter[v] = ZERO;
    }
    for (long i = 0; i < rows; i++)
        for (int v = 0; v < NV; v++) {
            const VEC gap = losses[i * NV + v] - sum[v];
            scatter[v] += gap * gap;
        }
    const double *means = (const double *)sum, *scatters = (const double *)scatter;
    for (long l = 0; l < count; l++) {
        const int64_t *set = t->sets + 2 * list[(low + l) / C];
        const long to = ((repeat * t->K + f) * t->K + (set[0] == f ? set[1] : set[0])) * C + (low + l) % C;
        t->mean[to] = means[l];
        t->scatter[to] = scatters[l];
    }
}

static void NAME(predict)(const predict_task *t, double *space) {
    VEC *pack = (VEC *)space, *losses = pack + t->d * NV;
    int64_t *starts = (int64_t *)(losses + t->m * NV), *list = starts + t->K + 1; /* sets by fold */
    memset(starts, 0, 8 * (t->K + 1));
    for (long s = 0; s < 2 * t->n_sets; s++) starts[t->sets[s] + 1]++;
    for (long f = 0; f < t->K; f++) starts[f + 1] += starts[f];
    for (long s = 2 * t->n_sets - 1; s >= 0; s--) list[--starts[t->sets[s] + 1]] = s / 2;
    for (long f = 0; f < t->K; f++) {
        const int64_t *own = list + starts[f + 1];
        const long end = f + 1 < t->K ? starts[f + 2] : 2 * t->n_sets, columns = (end - starts[f + 1]) * t->C;
        for (long repeat = 0; repeat < t->L; repeat++)
            for (long low = 0; low < columns; low += NV * W)
                NAME(predict_columns)(t, repeat, f, own, low, columns - low < NV * W ? columns - low : NV * W, pack, losses);
    }
}
#undef NV
