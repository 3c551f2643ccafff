/* What is done to every row that is read, before it is computed with: columns become rows, and rows get their folds. */

/* Columns as rows (count, width), W by W at a time: of every strip of rows, which stays in the first cache, some columns
 * after the others, or the processor would have more places to read from than it can look ahead at. */
static void NAME(interleave)(const interleave_task *t) {
    const long width = t->width, count = t->count, whole = width / W * W, rows = count / W * W;
    for (long low = 0; low < rows; low += CHUNK)
        for (long c = 0; c < whole; c += W)
            for (long i = low; i < low + CHUNK && i < rows; i += W) {
                VEC tile[W];
                for (int l = 0; l < W; l++) tile[l] = *(const VEC *)(t->columns[c + l] + i);
                NAME(transpose)(tile);
                for (int l = 0; l < W; l++) *(VEC *)(t->rows + (i + l) * width + c) = tile[l];
            }
    for (long i = 0; i < count; i++)
        for (long c = i < rows ? whole : 0; c < width; c++) t->rows[i * width + c] = t->columns[c][i];
}

/* Whether a number is larger than `most`, or none. */
static int NAME(exceeds)(const double *values, long count, double most) {
    typedef int64_t truth __attribute__((vector_size(8 * W)));
    truth fine = ~(truth){0};
    long i = 0;
    for (; i + W <= count; i += W) {
        const VEC x = *(const VEC *)(values + i);
        fine &= (x <= most) & (x >= -most);
    }
    int is_fine = 1;
    for (int l = 0; l < W; l++) is_fine &= fine[l] != 0;
    for (; i < count; i++) is_fine &= values[i] <= most && values[i] >= -most;
    return !is_fine;
}

/* Scaled columns of a row, which are written, and their product with coefficients. */
INLINE double NAME(project_part)(const double *restrict from, const double *restrict scale, const double *restrict pilot,
                                 long width, double *restrict to) {
    VEC sum = ZERO;
    long c = 0;
    for (; c + W <= width; c += W) {
        const VEC x = *(const VEC *)(from + c);
        sum += x * *(const VEC *)(pilot + c);
        *(VEC *)(to + c) = x * *(const VEC *)(scale + c);
    }
    double found = 0.0;
    for (int l = 0; l < W; l++) found += sum[l];
    for (; c < width; c++) {
        found += from[c] * pilot[c];
        to[c] = from[c] * scale[c];
    }
    return found;
}

/* Rows (scaled columns, y less what a pilot fit makes of them): every row is read once. */
static void NAME(project)(const project_task *t) {
    const long r = t->r, k = t->k, width = r + k + 1;
    for (long i = 0; i < t->n; i++) {
        double *to = t->rows + i * width;
        const double fitted = NAME(project_part)(t->E + i * r, t->scale, t->pilot, r, to);
        to[r + k] = t->y[i] - (fitted + NAME(project_part)(t->N + i * k, t->scale + r, t->pilot + r, k, to + r));
    }
}

#define DEALT 256
/* Folds of consecutive rows, see dealing.KeyedOrder: some of them at a time, all rounds of the network, and again for those
 * that are beyond the last row. */
#define DEAL(name, word, bits)                                                                                           \
    static inline word NAME(name##_sent)(const deal_task *t, word number) {                                             \
        word half[2] = {number / (word)t->width, number % (word)t->width};                                              \
        for (long round = 0; round < t->rounds; round++) {                                                              \
            const int own = round % 2;                                                                                  \
            const word size = (word)(own ? t->width : t->height);                                                       \
            word mixed = (word)(half[!own] * (word)t->keys[2 * round] + (word)t->keys[2 * round + 1]);                  \
            mixed *= mixed;                                                                                             \
            mixed = (word)((mixed >> bits) * size) >> bits;                                                             \
            half[own] += mixed;                                                                                         \
            half[own] -= half[own] >= size ? size : 0;                                                                  \
        }                                                                                                               \
        return half[0] * (word)t->width + half[1];                                                                      \
    }                                                                                                                   \
    static void NAME(name)(const deal_task *t) {                                                                        \
        word halves[2][DEALT];                                                                                          \
        const word width = (word)t->width, last = (word)(t->n - 1);                                                     \
        word left = (word)t->start / width, right = (word)t->start % width;                                             \
        for (long first = 0; first < t->count; first += DEALT) {                                                        \
            for (long i = 0; i < DEALT; i++) {                                                                          \
                halves[0][i] = left;                                                                                    \
                halves[1][i] = right++;                                                                                 \
                if (right == width) right = 0, left++;                                                                  \
            }                                                                                                           \
            for (long round = 0; round < t->rounds; round++) {                                                          \
                word *restrict half = halves[round % 2], *restrict other = halves[1 - round % 2];                       \
                const word size = (word)(round % 2 ? t->width : t->height), factor = (word)t->keys[2 * round],          \
                           added = (word)t->keys[2 * round + 1];                                                        \
                for (long i = 0; i < DEALT; i++) {                                                                      \
                    word mixed = other[i] * factor + added;                                                             \
                    mixed *= mixed;                                                                                     \
                    mixed = ((mixed >> bits) * size) >> bits;                                                           \
                    const word sum = half[i] + mixed, less = sum - size; /* below zero is far above without sign */     \
                    half[i] = sum < less ? sum : less;                                                                  \
                }                                                                                                       \
            }                                                                                                           \
            const long count = t->count - first < DEALT ? t->count - first : DEALT;                                     \
            for (long i = 0; i < count; i++) {                                                                          \
                word place = halves[0][i] * width + halves[1][i];                                                       \
                while (place > last) place = NAME(name##_sent)(t, place);                                               \
                t->ids[first + i] = (int64_t)place;                                                                     \
            }                                                                                                           \
        }                                                                                                               \
    }
DEAL(deal_few, uint32_t, 16)
DEAL(deal_many, uint64_t, 32)
#undef DEAL
#undef DEALT

/* The fold of every row, or its place if there are as many folds as rows. */
static void NAME(deal)(const deal_task *t) {
    if (t->n <= INT64_C(1) << 32) NAME(deal_few)(t);
    else NAME(deal_many)(t);
    if (t->n_folds >= t->n) return;
    const double inverse = 1.0 / (double)t->n_folds;
    for (long i = 0; i < t->count; i++) {
        if (t->n <= INT64_C(1) << 32) { /* a product in the place of a division: off by one at most */
            int64_t left = t->ids[i] - (int64_t)((double)t->ids[i] * inverse) * t->n_folds;
            left += left < 0 ? t->n_folds : 0;
            t->ids[i] = left - (left >= t->n_folds ? t->n_folds : 0);
        } else t->ids[i] %= t->n_folds;
    }
}
