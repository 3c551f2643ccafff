/* Predictions of folds by the training sets that leave them and another fold out, and the moments of their squared
 * residuals, without a table of residuals: columns (partner, value, output) in lanes, up to MOST registers of them. */
#define MOST 3

/* Entries at some places, often one after the other; they rise, but for lanes beyond the last column, which are dropped. */
INLINE VEC NAME(lanes_of)(const double *from, const long *at) {
    if (at[W - 1] == at[0] + W - 1) return *(const VEC *)(from + at[0]);
    VEC lanes = ZERO;
    for (int l = 0; l < W; l++) lanes[l] = from[at[l]];
    return lanes;
}

/* Predict a few rows, and add their losses to the sums; what is beyond the last row is computed and dropped. */
INLINE void NAME(predict_rows)(const predict_task *t, const some_columns *s, const int64_t *rows, long left, const long *column,
                               VEC *losses, VEC *sum, const int ti, const int nv) {
    VEC acc[8][MOST];
    const double *own[8];
    for (int a = 0; a < ti; a++) {
        const long i = rows[a < left ? a : left - 1];
        own[a] = t->Z + i * t->d;
        for (int v = 0; v < nv; v++)
            if (t->C == 1) acc[a][v] = SPREAD(t->r[i]);
            else acc[a][v] = NAME(lanes_of)(t->r + i * t->C, column + v * W);
    }
    const VEC *pack = (const VEC *)s->pack;
    long c = 0;
    do {
        VEC change[MOST];
        for (int v = 0; v < nv; v++) change[v] = pack[c * nv + v];
        for (int a = 0; a < ti; a++)
            for (int v = 0; v < nv; v++) acc[a][v] += own[a][c] * change[v];
    } while (++c < t->d);
    for (int a = 0; a < ti; a++)
        if (a < left)
            for (int v = 0; v < nv; v++) {
                const VEC loss = t->weights[rows[a]] * acc[a][v] * acc[a][v];
                losses[a * nv + v] = loss;
                sum[v] += loss;
            }
}

/* Some of the columns of a fold: pack their changes of coefficients, predict some rows after the other, and reduce. */
INLINE void NAME(predict_columns)(const predict_task *t, const some_columns *s, const int64_t *rows, const int ti, const int nv) {
    const long d = t->d, C = t->C, n_rows = t->sizes[s->repeat * t->K + s->f];
    long column[MOST * W], place[MOST * W]; /* of what is added, and of the first coefficient */
    for (long l = 0; l < nv * W; l++) {
        const long at = s->low + (l < s->count ? l : 0);
        column[l] = at % C;
        place[l] = (s->repeat * t->n_sets + s->list[at / C]) * d * C + at % C;
    }
    for (long c = 0; c < d; c++)
        for (int v = 0; v < nv; v++) ((VEC *)s->pack)[c * nv + v] = NAME(lanes_of)(t->change + c * C, place + v * W);
    VEC sum[MOST], scatter[MOST], *losses = (VEC *)s->losses;
    for (int v = 0; v < nv; v++) sum[v] = scatter[v] = ZERO;
    for (long i = 0; i < n_rows; i += ti)
        NAME(predict_rows)(t, s, rows + i, n_rows - i, column, losses + i * nv, sum, ti, nv);
    for (int v = 0; v < nv; v++) sum[v] /= (double)n_rows;
    for (long i = 0; i < n_rows; i++)
        for (int v = 0; v < nv; v++) {
            const VEC gap = losses[i * nv + v] - sum[v];
            scatter[v] += gap * gap;
        }
    const double *means = (const double *)sum, *scatters = (const double *)scatter;
    for (long l = 0; l < s->count; l++) {
        const int64_t *set = t->sets + 2 * s->list[(s->low + l) / C];
        const long other = set[0] == s->f ? set[1] : set[0];
        const long to = ((s->repeat * t->K + s->f) * t->K + other) * C + (s->low + l) % C;
        t->mean[to] = means[l];
        t->scatter[to] = scatters[l];
    }
}

/* All columns of a fold, as few registers of them as will do. */
static void NAME(predict_fold)(const predict_task *t, some_columns s, long columns, const int64_t *rows) {
    for (; s.low < columns; s.low += s.count) {
        const long left = columns - s.low;
        s.count = left < MOST * W ? left : MOST * W;
        if (left > 2 * W) NAME(predict_columns)(t, &s, rows, 4, 3);
        else if (left > W) NAME(predict_columns)(t, &s, rows, 5, 2);
        else NAME(predict_columns)(t, &s, rows, 8, 1);
    }
}

static void NAME(predict)(const predict_task *t, double *space) {
    double *losses = space + t->d * MOST * W;
    int64_t *starts = (int64_t *)(losses + t->m * MOST * W), *list = starts + t->K + 2, *index = list + 2 * t->n_sets;
    memset(starts, 0, 8 * (t->K + 2)); /* of the sets of each fold in their list */
    for (long s = 0; s < 2 * t->n_sets; s++) starts[t->sets[s] + 2]++;
    for (long f = 0; f <= t->K; f++) starts[f + 1] += starts[f];
    for (long s = 0; s < 2 * t->n_sets; s++) list[starts[t->sets[s] + 1]++] = s / 2;
    for (long repeat = 0; repeat < t->L; repeat++)
        for (long f = 0; f < t->K; f++) {
            const long fold = repeat * t->K + f;
            for (long i = 0; i < t->m && !t->members; i++) index[i] = fold * t->m + i;
            const some_columns s = {.repeat = repeat, .f = f, .list = list + starts[f], .pack = space, .losses = losses};
            const int64_t *rows = t->members ? t->members + fold * t->m : index;
            const long columns = (starts[f + 1] - starts[f]) * t->C;
#ifdef NARROWER
            if (halves_registers && columns <= 3 * W / 2 && (columns - 1) % W < W / 2) { /* half of one would be idle */
                NARROWER(predict_fold)(t, s, columns, rows);
                continue;
            }
#endif
            NAME(predict_fold)(t, s, columns, rows);
        }
}
#undef MOST
