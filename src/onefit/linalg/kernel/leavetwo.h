/* Leave two out: one pass over a tile of pairs of rows, at all values of a path.
 *
 * For rows i and j, with d = a_i a_j - a_ij^2: x_i = (a_j r_i - a_ij r_j) / d, its loss g_i x_i^2, or g_i |x_i|, and the
 * change from the loss without i alone. A tile on the diagonal has the pairs above it only; each counts once. */

typedef int64_t NAME(ints) __attribute__((vector_size(8 * W), aligned(8)));

/* Some rows at one value: diagonal of the operator, r, gains, losses. */
typedef struct {
    const double *a, *r, *g, *loss;
} NAME(rows);

/* What is summed over the j of one i. */
typedef struct {
    VEC loss_j, change_i, own;
    NAME(ints) doubtful;
} NAME(sums);

static inline VEC NAME(load)(const double *from, long count) {
    if (count >= W) return *(const VEC *)from;
    VEC v = ZERO;
    for (long l = 0; l < count; l++) v[l] = from[l];
    return v;
}

static inline void NAME(store)(double *to, VEC v, long count) {
    if (count >= W) *(VEC *)to = v;
    else
        for (long l = 0; l < count; l++) to[l] = v[l];
}

static inline VEC NAME(loss_of)(VEC x, int is_absolute) {
    if (!is_absolute) return x * x;
    return (VEC)((NAME(ints))x & INT64_MAX);
}

/* W pairs of i with j..j+W-1, of which `count` are in the tile and those with keep = 1 are meant. */
static inline void NAME(few_pairs)(const double *A, NAME(rows) at_i, long i, NAME(rows) at_j, long j, long count, VEC keep,
                                   double least, int is_absolute, NAME(sums) *sums, double *loss_i, double *change_j,
                                   double *out_i, double *out_j) {
    const double a_i = at_i.a[i], r_i = at_i.r[i];
    const VEC a = NAME(load)(A, count), a_j = NAME(load)(at_j.a + j, count), r_j = NAME(load)(at_j.r + j, count);
    const VEC determinant = keep * (a_i * a_j - a * a) + (1.0 - keep);
    /* the trace says nothing if rounding errors have made both diagonals negative */
    sums->doubtful += ~((determinant >= least * (a_i + a_j)) & (a_j >= least) & (SPREAD(a_i) >= least)) & (keep > 0.0);
    const VEC inverse = 1.0 / determinant;
    const VEC x_i = (r_i * a_j - a * r_j) * inverse, x_j = (a_i * r_j - a * r_i) * inverse;
    const VEC l_i = keep * (at_i.g[i] * NAME(loss_of)(x_i, is_absolute));
    const VEC l_j = keep * (NAME(load)(at_j.g + j, count) * NAME(loss_of)(x_j, is_absolute));
    const VEC d_i = keep * at_i.loss[i] - l_i, d_j = keep * NAME(load)(at_j.loss + j, count) - l_j;
    sums->loss_j += l_j;
    sums->change_i += d_i;
    sums->own += d_i * d_j;
    NAME(store)(loss_i + j, NAME(load)(loss_i + j, count) + l_i, count);
    NAME(store)(change_j + j, NAME(load)(change_j + j, count) + d_j, count);
    if (out_i) {
        NAME(store)(out_i + j, d_i, count);
        NAME(store)(out_j + j, d_j, count);
    }
}

static inline double NAME(total)(VEC v) {
    double sum = 0.0;
    for (int l = 0; l < W; l++) sum += v[l];
    return sum;
}

/* Row i of the tile at one value. */
static inline void NAME(row_of_pairs)(const leavetwo_task *t, long v, long i, int is_absolute, double *out_i, double *out_j) {
    const long I = t->I, J = t->J;
    const double *a = t->A + (v * I + i) * J;
    const NAME(rows) at_i = {t->a_i + v * I, t->r_i + v * I, t->g_i + v * I, t->loss_i + v * I};
    const NAME(rows) at_j = {t->a_j + v * J, t->r_j + v * J, t->g_j + v * J, t->loss_j + v * J};
    double *loss_i = t->columns_j + v * J, *change_j = t->rows_j + v * J;
    NAME(sums) sums = {ZERO, ZERO, ZERO, {0}};
    long j = t->on_diagonal ? (i + 1) / W * W : 0;
    if (out_i) memset(out_i, 0, 8 * (j < J ? j : J)), memset(out_j, 0, 8 * (j < J ? j : J));
    for (; j < J; j += W) {
        const long count = J - j;
        if (count >= W && (!t->on_diagonal || j > i)) {
            NAME(few_pairs)(a + j, at_i, i, at_j, j, W, SPREAD(1.0), t->least[v], is_absolute, &sums, loss_i, change_j, out_i, out_j);
            continue;
        }
        VEC keep = ZERO;
        for (long l = 0; l < W && l < count; l++) keep[l] = !t->on_diagonal || j + l > i;
        NAME(few_pairs)(a + j, at_i, i, at_j, j, count, keep, t->least[v], is_absolute, &sums, loss_i, change_j, out_i, out_j);
    }
    t->columns_i[v * I + i] += NAME(total)(sums.loss_j);
    t->rows_i[v * I + i] += NAME(total)(sums.change_i);
    t->own[v] += NAME(total)(sums.own);
    for (int l = 0; l < W; l++) *t->doubtful -= sums.doubtful[l];
}

/* With several values the changes are written, as increments from the parent's: over A, and into changes_j. The values come in
 * an order in which parents are before their children; `space` holds the changes of one row at all values. */
static void NAME(leavetwo)(const leavetwo_task *t, double *space) {
    const long I = t->I, J = t->J, V = t->V;
    for (long i = 0; i < I; i++)
        for (long at = 0; at < V; at++) {
            const long v = t->order[at], parent = t->parents[v];
            double *own_i = V > 1 ? space + 2 * v * J : NULL, *own_j = V > 1 ? own_i + J : NULL;
            if (t->is_absolute) NAME(row_of_pairs)(t, v, i, 1, own_i, own_j);
            else NAME(row_of_pairs)(t, v, i, 0, own_i, own_j);
            if (V == 1) continue;
            const double *from_i = space + 2 * parent * J, *from_j = from_i + J;
            double *restrict to_i = t->A + (v * I + i) * J, *restrict to_j = t->changes_j + (v * I + i) * J;
            const double share = parent == v ? 0.0 : 1.0;
            for (long j = 0; j < J; j++) {
                to_i[j] = own_i[j] - share * from_i[j];
                to_j[j] = own_j[j] - share * from_j[j];
            }
        }
}
