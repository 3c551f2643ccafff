/* Factorization and solution of W positive definite systems at once, one in each lane of a SIMD register.
 *
 * Included once for every instruction set, with
 *   W      number of lanes
 *   TI     rows of a register tile
 *   NB     columns of a register tile
 *   NAME   macro that gives functions a name of their own
 */

typedef double NAME(vec) __attribute__((vector_size(8 * W), aligned(8)));

#define VEC NAME(vec)
#define ZERO ((VEC){0})
#define SPREAD(x) (ZERO + (x))

/* In place: 1/sqrt; NaN if an entry is negative, as then the system is not positive definite. */
static inline void NAME(invert_root)(VEC *x) {
    double *entry = (double *)x;
    for (int l = 0; l < W; l++) entry[l] = 1.0 / sqrt(entry[l]);
}

/* The triangle on the diagonal, columns j..j+NB-1: all of its entries at once, or each would wait for its own sum. */
static inline void NAME(corner)(VEC *restrict A, long ld, long j) {
    VEC acc[NB][NB];
    for (int b = 0; b < NB; b++)
        for (int c = 0; c <= b; c++) acc[b][c] = A[(j + b) * ld + j + c];
    for (long k = 0; k < j; k++) {
        VEC row[NB];
        for (int b = 0; b < NB; b++) row[b] = A[(j + b) * ld + k];
        for (int b = 0; b < NB; b++)
            for (int c = 0; c <= b; c++) acc[b][c] -= row[b] * row[c];
    }
    for (int b = 0; b < NB; b++) {
        for (int c = 0; c < b; c++) {
            for (int k = 0; k < c; k++) acc[b][c] -= acc[b][k] * acc[c][k];
            acc[b][c] *= acc[c][c];
        }
        for (int k = 0; k < b; k++) acc[b][b] -= acc[b][k] * acc[b][k];
        NAME(invert_root)(&acc[b][b]);
    }
    for (int b = 0; b < NB; b++)
        for (int c = 0; c <= b; c++) A[(j + b) * ld + j + c] = acc[b][c];
}

/* One tile below it: rows i..i+TI-1. */
static inline void NAME(tile)(VEC *restrict A, long ld, long i, long j) {
    VEC acc[TI][NB];
    for (int a = 0; a < TI; a++)
        for (int b = 0; b < NB; b++) acc[a][b] = A[(i + a) * ld + j + b];
    for (long k = 0; k < j; k++) {
        VEC right[NB];
        for (int b = 0; b < NB; b++) right[b] = A[(j + b) * ld + k];
        for (int a = 0; a < TI; a++) {
            VEC left = A[(i + a) * ld + k];
            for (int b = 0; b < NB; b++) acc[a][b] -= left * right[b];
        }
    }
    for (int b = 0; b < NB; b++) {
        VEC pivot = A[(j + b) * ld + j + b];
        for (int a = 0; a < TI; a++) acc[a][b] *= pivot;
        for (int c = b + 1; c < NB; c++) {
            VEC l = A[(j + c) * ld + j + b];
            for (int a = 0; a < TI; a++) acc[a][c] -= acc[a][b] * l;
        }
    }
    for (int a = 0; a < TI; a++)
        for (int b = 0; b < NB; b++) A[(i + a) * ld + j + b] = acc[a][b];
}

/* Cholesky factor L of the leading d x d part of A (rows, ld), in place; d is a multiple of NB. The rows below it become
 * rows times L^-T, which is forward substitution. The diagonal holds 1/l_ii. There must be room for TI - 1 more rows. */
static inline void NAME(factor)(VEC *restrict A, long ld, long d, long rows) {
    for (long j = 0; j < d; j += NB) {
        NAME(corner)(A, ld, j);
        for (long i = j + NB; i < rows; i += TI) NAME(tile)(A, ld, i, j);
    }
}

/* Row `row` of A times L^-1, which is back substitution, in place; NB unknowns at a time. */
static inline void NAME(back)(VEC *restrict A, long ld, long d, long row) {
    VEC *x = A + row * ld;
    for (long i = d - NB; i >= 0; i -= NB) {
        VEC own[NB];
        for (int b = NB - 1; b >= 0; b--) {
            own[b] = x[i + b];
            for (int c = NB - 1; c > b; c--) own[b] -= own[c] * A[(i + c) * ld + i + b];
            own[b] *= A[(i + b) * ld + i + b];
            x[i + b] = own[b];
        }
        for (long k = 0; k < i; k++) {
            VEC v = x[k];
            for (int b = 0; b < NB; b++) v -= own[b] * A[(i + b) * ld + k];
            x[k] = v;
        }
    }
}
