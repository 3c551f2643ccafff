/* What the arguments of a call are: buffers of the right sizes, and indices that lie within them. */

/* Buffers of one call: asked for in order, checked for their size, released together. */
#define MOST_BUFFERS 16
typedef struct {
    Py_buffer view[MOST_BUFFERS];
    int count;
} buffers;

static void *take(buffers *b, PyObject *object, int is_output, size_t doubles, const char *name) {
    if (b->count < 0) return NULL;
    Py_buffer *view = &b->view[b->count];
    if (PyObject_GetBuffer(object, view, is_output ? PyBUF_WRITABLE : PyBUF_SIMPLE) == 0) {
        b->count++;
        if (view->len % 8 == 0 && (size_t)view->len / 8 == doubles) return view->buf;
        if (doubles == SIZE_MAX) PyErr_Format(PyExc_ValueError, "kernel: no array has the axes given for %s", name);
        else
            PyErr_Format(PyExc_ValueError, "kernel: %s has %zd bytes and should have %zd", name, view->len,
                         (Py_ssize_t)(8 * doubles));
    }
    for (int i = 0; i < b->count; i++) PyBuffer_Release(&b->view[i]);
    b->count = -1;
    return NULL;
}

/* The product of some axes; what no buffer can have if one is negative or it is too large. */
static size_t product(int count, const long *axes) {
    size_t size = 1;
    int is_empty = 0;
    for (int i = 0; i < count; i++) {
        if (axes[i] < 0) return SIZE_MAX;
        is_empty |= axes[i] == 0;
    }
    for (int i = 0; i < count && !is_empty; i++) {
        if (size > SIZE_MAX / 64 / (size_t)axes[i]) return SIZE_MAX;
        size *= (size_t)axes[i];
    }
    return is_empty ? 0 : size;
}
#define SIZE(...) product((int)(sizeof((long[]){__VA_ARGS__}) / sizeof(long)), (long[]){__VA_ARGS__})

static void release(buffers *b) {
    for (int i = 0; i < b->count; i++) PyBuffer_Release(&b->view[i]);
    b->count = 0;
}

/* Whether whole numbers lie between low and high: an index that does not would crash the interpreter. */
static int lie_between(const int64_t *values, size_t count, int64_t low, int64_t high) {
    for (size_t i = 0; i < count; i++)
        if (values[i] < low || values[i] > high) return 0;
    return 1;
}

static int in_range(const int64_t *index, size_t count, int64_t end) { return lie_between(index, count, 0, end - 1); }

static PyObject *refuse(buffers *b, const char *name) {
    release(b);
    return PyErr_Format(PyExc_ValueError, "kernel: %s holds a number that is out of range", name);
}

static double *workspace(size_t doubles) { return aligned_alloc(64, (8 * doubles + 127) / 64 * 64); }
