/* Factorization and solution of W positive definite systems at once, one in each lane of a SIMD register.
 *
 * Included once for every instruction set, with
 *   W      number of lanes
 *   TI     rows of a register tile
 *   NB     columns of a register tile
 *   NAME   macro that gives functions a name of their own
 * and INLINE: what takes a number of rows or columns as an argument is compiled for each of them.
 */

typedef double NAME(vec) __attribute__((vector_size(8 * W), aligned(8)));

#define VEC NAME(vec)
#define ZERO ((VEC){0})
#define SPREAD(x) (ZERO + (x))

/* 1/sqrt of all lanes; NaN where an entry is negative, as then the system is not positive definite. */
INLINE VEC NAME(invert_root)(VEC x) {
    VEC root;
    for (int l = 0; l < W; l++) root[l] = sqrt(x[l]);
    return 1.0 / root;
}

/* The triangle on the diagonal, columns j..j+nb-1: all of its entries at once, or each would wait for its own sum. */
INLINE void NAME(corner)(VEC *restrict A, long ld, long j, const int nb, const int is_first) {
    VEC acc[NB][NB];
    for (int b = 0; b < nb; b++)
        for (int c = 0; c <= b; c++) acc[b][c] = A[(j + b) * ld + j + c];
    if (!is_first) { /* j > 0: no way around the loop, or the compiler would keep the sums in memory */
        long k = 0;
        do {
            VEC row[NB];
            for (int b = 0; b < nb; b++) row[b] = A[(j + b) * ld + k];
            for (int b = 0; b < nb; b++)
                for (int c = 0; c <= b; c++) acc[b][c] -= row[b] * row[c];
        } while (++k < j);
    }
    for (int c = 0; c < nb; c++) {
        acc[c][c] = NAME(invert_root)(acc[c][c]);
        for (int b = c + 1; b < nb; b++) acc[b][c] *= acc[c][c];
        for (int b = c + 1; b < nb; b++)
            for (int k = c + 1; k <= b; k++) acc[b][k] -= acc[b][c] * acc[k][c];
    }
    for (int b = 0; b < nb; b++)
        for (int c = 0; c <= b; c++) A[(j + b) * ld + j + c] = acc[b][c];
}

/* One tile below it: rows i..i+TI-1. */
INLINE void NAME(tile)(VEC *restrict A, long ld, long i, long j, const int nb, const int is_first) {
    VEC acc[TI][NB];
    for (int a = 0; a < TI; a++)
        for (int b = 0; b < nb; b++) acc[a][b] = A[(i + a) * ld + j + b];
    if (!is_first) {
        long k = 0;
        do {
            VEC right[NB];
            for (int b = 0; b < nb; b++) right[b] = A[(j + b) * ld + k];
            for (int a = 0; a < TI; a++) {
                VEC left = A[(i + a) * ld + k];
                for (int b = 0; b < nb; b++) acc[a][b] -= left * right[b];
            }
        } while (++k < j);
    }
    for (int b = 0; b < nb; b++) {
        VEC pivot = A[(j + b) * ld + j + b];
        for (int a = 0; a < TI; a++) acc[a][b] *= pivot;
        for (int c = b + 1; c < nb; c++) {
            VEC l = A[(j + c) * ld + j + b];
            for (int a = 0; a < TI; a++) acc[a][c] -= acc[a][b] * l;
        }
    }
    for (int a = 0; a < TI; a++)
        for (int b = 0; b < nb; b++) A[(i + a) * ld + j + b] = acc[a][b];
}

/* Columns j..j+nb-1 of rows i..rows-1. */
static inline void NAME(panel)(VEC *restrict A, long ld, long i, long j, long rows) {
    if (j)
        for (; i < rows; i += TI) NAME(tile)(A, ld, i, j, NB, 0);
    else
        for (; i < rows; i += TI) NAME(tile)(A, ld, i, j, NB, 1);
}

/* The last columns, fewer than a tile has: none are made up, which would be most of the work of a small system. */
INLINE void NAME(rest)(VEC *restrict A, long ld, long j, long rows, const int nb, const int is_first) {
    NAME(corner)(A, ld, j, nb, is_first);
    for (long i = j + nb; i < rows; i += TI) NAME(tile)(A, ld, i, j, nb, is_first);
}

/* Cholesky factor L of the leading d x d part of A (rows, ld), in place, from column `first` on, a multiple of NB; those
 * before it are done. The rows below become rows times L^-T, which is forward substitution. The diagonal holds 1/l_ii.
 * There must be room for TI - 1 more rows. */
static inline void NAME(factor)(VEC *restrict A, long ld, long first, long d, long rows) {
    long j = first;
    for (; j + NB <= d; j += NB) {
        if (j) NAME(corner)(A, ld, j, NB, 0);
        else NAME(corner)(A, ld, j, NB, 1);
        NAME(panel)(A, ld, j + NB, j, rows);
    }
#define REST(nb) (j ? NAME(rest)(A, ld, j, rows, nb, 0) : NAME(rest)(A, ld, j, rows, nb, 1))
    if (d - j == 1) REST(1);
#if NB > 2
    if (d - j == 2) REST(2);
#endif
#if NB > 3
    if (d - j == 3) REST(3);
#endif
#undef REST
}

/* Unknowns i..i+nb-1 of some rows, those after them being known. */
INLINE void NAME(unknowns)(VEC *restrict A, long ld, long d, long i, long row, const int nb, const int n_rows) {
    VEC acc[2][NB];
    for (int q = 0; q < n_rows; q++)
        for (int b = 0; b < nb; b++) acc[q][b] = A[(row + q) * ld + i + b];
    for (long k = i + nb; k < d; k++)
        for (int q = 0; q < n_rows; q++) {
            VEC known = A[(row + q) * ld + k];
            for (int b = 0; b < nb; b++) acc[q][b] -= known * A[k * ld + i + b];
        }
    for (int b = nb - 1; b >= 0; b--)
        for (int q = 0; q < n_rows; q++) {
            acc[q][b] *= A[(i + b) * ld + i + b];
            for (int c = 0; c < b; c++) acc[q][c] -= acc[q][b] * A[(i + b) * ld + i + c];
            A[(row + q) * ld + i + b] = acc[q][b];
        }
}

INLINE void NAME(back_rows)(VEC *restrict A, long ld, long d, long row, const int n_rows) {
    long i = d / NB * NB;
    switch (d - i) {
#if NB > 3
    case 3: NAME(unknowns)(A, ld, d, i, row, 3, n_rows); break;
#endif
#if NB > 2
    case 2: NAME(unknowns)(A, ld, d, i, row, 2, n_rows); break;
#endif
    case 1: NAME(unknowns)(A, ld, d, i, row, 1, n_rows); break;
    }
    for (i -= NB; i >= 0; i -= NB) NAME(unknowns)(A, ld, d, i, row, NB, n_rows);
}

/* Rows `row` to `end` of A times L^-1, which is back substitution, in place; two at a time, as they share L. */
static inline void NAME(back)(VEC *restrict A, long ld, long d, long row, long end) {
    for (; row + 1 < end; row += 2) NAME(back_rows)(A, ld, d, row, 2);
    if (row < end) NAME(back_rows)(A, ld, d, row, 1);
}

/* Registers that hold rows of W numbers become those that hold its columns. */
INLINE void NAME(transpose)(VEC *r) {
#if W == 2
    const VEC a = r[0], b = r[1];
    r[0] = (VEC){a[0], b[0]};
    r[1] = (VEC){a[1], b[1]};
#else
    typedef int64_t order __attribute__((vector_size(8 * W)));
#if W == 4
    const order low[2] = {{0, 1, 4, 5}, {0, 4, 2, 6}}, high[2] = {{2, 3, 6, 7}, {1, 5, 3, 7}};
#else
    const order low[3] = {{0, 1, 2, 3, 8, 9, 10, 11}, {0, 1, 8, 9, 4, 5, 12, 13}, {0, 8, 2, 10, 4, 12, 6, 14}};
    const order high[3] = {{4, 5, 6, 7, 12, 13, 14, 15}, {2, 3, 10, 11, 6, 7, 14, 15}, {1, 9, 3, 11, 5, 13, 7, 15}};
#endif
    for (int stage = 0, stride = W / 2; stride; stage++, stride /= 2)
        for (int i = 0; i < W; i++) {
            if (i & stride) continue;
            const VEC a = r[i], b = r[i + stride];
            r[i] = __builtin_shuffle(a, b, low[stage]);
            r[i + stride] = __builtin_shuffle(a, b, high[stage]);
        }
#endif
}
