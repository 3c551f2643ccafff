/* Lasso and elastic net of many training sets from their Gram matrices, by active sets.
 *
 * Columns have length one; D are the inverses of their lengths, so that the penalties of a column are l1 D and l2 D^2.
 * On a face, where the columns E that are not zero and their signs are given, the minimum is a linear system. The fit
 * goes towards it until a coefficient reaches zero, which leaves E, or it is there; then the column that violates the
 * conditions of a minimum most enters. Every step lowers the objective, so that no face comes twice. The rows of the
 * factor that precede the first change of E stay as they are; each value of a path begins where the one before it ended. */

#define LASSO_VIOLATED 1e-12  /* of the largest product with y: less is rounding errors */
#define LASSO_TIED 1e-9       /* columns so close to entering might take part, and other solutions do as well */
#define LASSO_DEPENDENT 1e-10 /* pivots of columns that the others span */
#define LASSO_DOUBTFUL 1e-3   /* pivots that say that the condition should be looked at */

typedef struct {
    const double *A, *D;
    double *L, *b, *x, *sign, *g; /* L (p + 1, ld); b, x and sign in the order of the list */
    long *list, *place, *barred;  /* columns of E; where a column stands there, -1 if nowhere; not to enter again */
    long p, ld, m, factored;
    double l1, l2;
} NAME(lasso_face);

INLINE double NAME(lasso_dot)(const double *a, const double *b, long n) {
    VEC sum = ZERO;
    long i = 0;
    for (; i + W <= n; i += W) sum += *(const VEC *)(a + i) * *(const VEC *)(b + i);
    double total = 0.0;
    for (int l = 0; l < W; l++) total += sum[l];
    for (; i < n; i++) total += a[i] * b[i];
    return total;
}

INLINE void NAME(lasso_add)(double *to, const double *from, double by, long n) {
    long i = 0;
    for (; i + W <= n; i += W) *(VEC *)(to + i) += *(const VEC *)(from + i) * by;
    for (; i < n; i++) to[i] += from[i] * by;
}

/* Row i of the factor, for the column at place i of the list; the pivot, whose root stands on the diagonal. */
static double NAME(lasso_row)(NAME(lasso_face) *f, long i) {
    const double *A = f->A + f->list[i] * f->p, D = f->D[f->list[i]];
    double *row = f->L + i * f->ld;
    for (long j = 0; j < i; j++) {
        const double *other = f->L + j * f->ld;
        row[j] = (A[f->list[j]] - NAME(lasso_dot)(row, other, j)) / other[j];
    }
    const double pivot = A[f->list[i]] + f->l2 * D * D - NAME(lasso_dot)(row, row, i);
    row[i] = pivot > 0 ? sqrt(pivot) : 0.0;
    return pivot;
}

/* x becomes L'^-1 x, for the first m rows. */
static void NAME(lasso_back)(const NAME(lasso_face) *f, double *x, long m) {
    for (long i = m - 1; i >= 0; i--) {
        x[i] /= f->L[i * f->ld + i];
        NAME(lasso_add)(x, f->L + i * f->ld, -x[i], i);
    }
}

static void NAME(lasso_drop)(NAME(lasso_face) *f, long k) {
    f->place[f->list[k]] = -1;
    for (long i = k + 1; i < f->m; i++) {
        f->list[i - 1] = f->list[i], f->b[i - 1] = f->b[i], f->sign[i - 1] = f->sign[i];
        f->place[f->list[i - 1]] = i - 1;
    }
    f->m--;
    if (f->factored > k) f->factored = k;
}

static void NAME(lasso_enter)(NAME(lasso_face) *f, long column, double value, double sign) {
    f->list[f->m] = column, f->b[f->m] = value, f->sign[f->m] = sign;
    f->place[column] = f->m++;
}

/* The last of the list is spanned by the others: along the direction in which no prediction changes the penalty falls,
 * until one of them is zero. Returns 0 if none becomes so. */
static int NAME(lasso_exchange)(NAME(lasso_face) *f) {
    const long last = f->m - 1;
    const double sign = f->sign[last];
    double best = INFINITY;
    long leaves = -1;
    memcpy(f->x, f->L + last * f->ld, 8 * (size_t)last);
    NAME(lasso_back)(f, f->x, last);
    for (long k = 0; k < last; k++) {
        const double along = sign * f->x[k], t = f->b[k] / along;
        if (along != 0 && t >= 0 && t < best) best = t, leaves = k;
    }
    if (leaves < 0) return 0;
    for (long k = 0; k < last; k++) f->b[k] -= best * sign * f->x[k];
    f->b[last] = best * sign;
    f->factored = f->factored < last ? f->factored : last;
    NAME(lasso_drop)(f, leaves);
    return 1;
}

/* The factor of all of E. Those that others span are dropped, but for the last, which may have come by itself. */
static int NAME(lasso_factor)(NAME(lasso_face) *f, int is_entering) {
    while (f->factored < f->m) {
        if (NAME(lasso_row)(f, f->factored) > LASSO_DEPENDENT) f->factored++;
        else if (is_entering && f->factored == f->m - 1) {
            if (!NAME(lasso_exchange)(f)) return 0;
            is_entering = 0;
        } else NAME(lasso_drop)(f, f->factored);
    }
    return 1;
}

/* One step towards the minimum of the face; whether it is reached. */
static int NAME(lasso_step)(NAME(lasso_face) *f, const double *h, int is_entering) {
    const long m = f->m, last = is_entering ? m - 1 : -1;
    double t = 1.0;
    long leaves = -1;
    for (long i = 0; i < m; i++) {
        const long column = f->list[i];
        const double right = h[column] - f->l1 * f->D[column] * f->sign[i];
        f->x[i] = (right - NAME(lasso_dot)(f->L + i * f->ld, f->x, i)) / f->L[i * f->ld + i];
    }
    NAME(lasso_back)(f, f->x, m);
    for (long k = 0; k < m; k++)
        if (f->x[k] * f->sign[k] <= 0) {
            const double at = f->b[k] == 0 ? 0.0 : f->b[k] / (f->b[k] - f->x[k]);
            if (leaves < 0 || at < t) t = at, leaves = k;
        }
    if (leaves < 0) {
        memcpy(f->b, f->x, 8 * (size_t)m);
        return 1;
    }
    for (long k = 0; k < m; k++) f->b[k] += t * (f->x[k] - f->b[k]);
    if (leaves == last) f->barred[f->list[leaves]] = 1; /* it entered by rounding errors */
    NAME(lasso_drop)(f, leaves);
    return 0;
}

/* The column that violates the conditions most, or -1; g is what is left of the products with y. */
static long NAME(lasso_violator)(NAME(lasso_face) *f, const double *h, double scale, int positive) {
    double most = LASSO_VIOLATED * scale;
    long found = -1;
    memcpy(f->g, h, 8 * (size_t)f->p);
    for (long k = 0; k < f->m; k++) NAME(lasso_add)(f->g, f->A + f->list[k] * f->p, -f->b[k], f->p);
    for (long j = 0; j < f->p; j++) {
        const double over = (positive ? f->g[j] : fabs(f->g[j])) - f->l1 * f->D[j];
        if (over > most && f->place[j] < 0 && !f->barred[j] && f->D[j] > 0) most = over, found = j;
    }
    return found;
}

/* Whether the solution is the only one, as far as pivots tell: columns that are about to enter would have theirs. */
static int NAME(lasso_is_sure)(NAME(lasso_face) *f, double scale, int positive) {
    const long m = f->m;
    int is_sure = 1;
    for (long i = 0; i < m && is_sure; i++) is_sure = f->L[i * f->ld + i] * f->L[i * f->ld + i] > LASSO_DOUBTFUL;
    for (long j = 0; j < f->p && is_sure; j++) {
        const double over = (positive ? f->g[j] : fabs(f->g[j])) - f->l1 * f->D[j];
        if (f->place[j] >= 0 || f->D[j] == 0 || over < -LASSO_TIED * scale) continue;
        f->list[f->m] = j;
        is_sure = NAME(lasso_row)(f, f->m++) > LASSO_DOUBTFUL;
    }
    f->m = m;
    return is_sure;
}

/* One fit, from where the face is; 0 if it is sure, 1 if the caller should look at it, 2 if it was not found. */
static double NAME(lasso_fit)(NAME(lasso_face) *f, const double *h, int positive) {
    double scale = 0.0;
    for (long j = 0; j < f->p; j++) scale = fabs(h[j]) > scale ? fabs(h[j]) : scale;
    memset(f->barred, 0, sizeof(long) * (size_t)f->p);
    int is_entering = 0;
    for (long step = 0; step < 20 * f->p + 100; step++) {
        if (!NAME(lasso_factor)(f, is_entering)) return 2.0;
        const int is_last = is_entering && f->m && f->b[f->m - 1] == 0;
        is_entering = 0;
        if (f->m && !NAME(lasso_step)(f, h, is_last)) continue;
        const long column = NAME(lasso_violator)(f, h, scale, positive);
        if (column < 0) return NAME(lasso_is_sure)(f, scale, positive) ? 0.0 : 1.0;
        NAME(lasso_enter)(f, column, 0.0, f->g[column] > 0 ? 1.0 : -1.0);
        is_entering = 1;
    }
    return 2.0;
}

static void NAME(lasso)(const lasso_task *t, double *space, long *places) {
    const long p = t->p, ld = (p + W - 1) / W * W;
    NAME(lasso_face) f = {.p = p, .ld = ld, .L = space, .b = space + (p + 1) * ld};
    f.x = f.b + ld, f.sign = f.x + ld, f.g = f.sign + ld;
    f.list = places, f.place = places + p + 1, f.barred = f.place + p;
    for (long s = 0; s < t->S; s++) {
        f.A = t->A + s * p * p, f.D = t->D + s * p, f.m = f.factored = 0;
        for (long j = 0; j < p; j++) f.place[j] = -1;
        for (long q = 0; q < t->Q; q++) {
            while (f.m) NAME(lasso_drop)(&f, f.m - 1);
            for (long v = 0; v < t->V; v++) {
                const long at = (s * t->V + v) * t->Q + q;
                const double l2 = t->l2[s * t->V + v];
                if (l2 != f.l2) f.factored = 0;
                f.l1 = t->l1[s * t->V + v], f.l2 = l2;
                t->status[at] = NAME(lasso_fit)(&f, t->h + (s * t->Q + q) * p, t->positive);
                memset(t->beta + at * p, 0, 8 * (size_t)p);
                for (long k = 0; k < f.m; k++) t->beta[at * p + f.list[k]] = f.b[k] * f.D[f.list[k]];
            }
        }
    }
}
