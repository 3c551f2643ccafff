/* What each kernel is given. */

typedef struct {
    const double *grams, *right, *D, *probe, *zeros;
    const int64_t *sets; /* (n_sets, 2): the folds that are out; the second is -1 for one fold */
    double *change, *norms;
    long K, d, V, Q, n_sets, first, last;
    long ld; /* of the workspace */
} gram_task;

typedef struct {
    const double *u, *r, *weights;
    const int64_t *sizes;
    double *mean, *scatter;
    long F, m, O, C;
} moments_task;

typedef struct {
    const double *M, *diagonal, *right, *gains;
    const int64_t *rows, *columns, *sizes; /* rows and columns of M: of the range of j, and of all folds */
    double *mean, *scatter, *at_j, *at_k, *squares; /* either the first two or the next two */
    long width, L, K, m, Q, first, last;
    long ld; /* of the workspace */
} onestep_task;

typedef struct {
    double *A; /* overwritten if there are several values */
    const double *a_i, *r_i, *g_i, *loss_i, *a_j, *r_j, *g_j, *loss_j, *least;
    const int64_t *order, *parents;
    double *changes_j, *rows_i, *columns_i, *rows_j, *columns_j, *own, *doubtful;
    long V, I, J;
    int on_diagonal, is_absolute;
} leavetwo_task;

typedef struct {
    const double *Z, *r, *change, *weights;
    const int64_t *members, *sizes, *sets; /* members are rows of Z, r and weights; NULL if those stand fold by fold */
    double *mean, *scatter;
    long L, K, m, d, C, n_sets;
} predict_task;

typedef struct { /* columns low.. of fold f of a repeat, and the place where their predictions are made */
    long repeat, f, low, count;
    const int64_t *list; /* the sets of f */
    double *pack, *losses;
} some_columns;

typedef struct {
    const double *Z, *r, *weights; /* weights: or NULL, if there is no r either */
    const int64_t *members, *sizes, *starts; /* rows of the three, for each fold: m places, or from a start to the next */
    double *grams, *right;
    long F, m, d, C;
    long wide; /* columns of Z and r, as whole registers */
} collect_task;
#define CHUNK 64 /* rows that are held at a time: they stay in the first cache while every tile passes over them */

typedef struct {
    const double *Z, *r, *change;
    const int64_t *members, *sizes;
    double *u;
    long F, m, d, C;
} residuals_task;

typedef struct {
    const double *rows, *maps, *weights, *shift, *about; /* weights: or NULL */
    const int64_t *members, *starts, *parents; /* the rows of fold f are the members from starts[f] to starts[f + 1] */
    double *residuals, *losses, *products, *thirds; /* all are added to; residuals: or NULL */
    long F, d, V, root;
    long wide; /* values and the two columns beside them, as whole registers */
} score_task;

enum { NEWTON_BINOMIAL, NEWTON_POISSON, NEWTON_GAMMA, NEWTON_TWEEDIE, NEWTON_NORMAL, NEWTON_SOFTMAX };
#define NEWTON_CLASSES 16 /* most classes of a softmax */
#define NEWTON_MEMORY 12  /* steps that are remembered */
#define NEWTON_STEPS 30   /* steps at most */
#define NEWTON_KEPT 65536 /* exponentials of all lanes that are kept at most: about what the second cache holds */

typedef struct {
    const double *design, *y, *weights, *factors, *maps, *penalty, *pieces, *curvature, *basis;
    const double *first, *bends; /* these and maps: or NULL */
    const int64_t *cells, *made;
    double *theta;
    int64_t *converged, *steps;
    long n, q, p, P, c, S, T, n_cells, window;
    long kept; /* exponentials of a set that are kept from pass to pass, or none */
    int family;
    double power, tolerance, slow, wild, least_pivot, noise;
} newton_task;

typedef struct {
    const double *A, *h, *D, *l1, *l2;
    double *beta, *status;
    long S, p, V, Q;
    int positive;
} lasso_task;

typedef struct {
    const double *gram, *folds;
    const int64_t *out; /* (S, t), folds */
    double *sums, *mean, *products;
    long w, S, t;
} without_task;

typedef struct {
    const double *products, *by;
    double *scaled;
    long S, q;
} scale_task;

typedef struct {
    const double *E, *N, *y, *scale, *pilot;
    double *rows;
    long n, r, k;
} project_task;

typedef struct {
    const double **columns;
    double *rows;
    long count, width;
} interleave_task;

typedef struct {
    const uint64_t *keys; /* (rounds, 2) */
    int64_t *ids;
    int64_t start, n, width, height, n_folds;
    long rounds, count;
} deal_task;

typedef struct {
    const char *name;
    int lanes, TI, NB;
    void (*gram)(const gram_task *, double *);
    void (*moments)(const moments_task *, double *);
    void (*onestep)(const onestep_task *, double *);
    void (*leavetwo)(const leavetwo_task *, double *);
    void (*predict)(const predict_task *, double *);
    void (*collect)(const collect_task *, double *);
    void (*gather)(const collect_task *, double *);
    void (*residuals)(const residuals_task *, double *);
    void (*score)(const score_task *, double *);
    void (*newton)(const newton_task *, double *);
    void (*lasso)(const lasso_task *, double *, long *);
    void (*without)(const without_task *);
    void (*scale)(const scale_task *);
    void (*project)(const project_task *);
    void (*interleave)(const interleave_task *);
    int (*exceeds)(const double *, long, double);
    void (*deal)(const deal_task *);
} kernels;
