/* What every call of a kernel does besides: it reads its arguments, checks sizes and indices, and runs without the
 * interpreter's lock.
 *
 * A call's arrays come first and its numbers after them. What is wrong is kept until the end, so that a call is
 *
 *     call c = {0};
 *     if (!read_call(&c, args, 2, "l", &n)) return NULL;
 *     t.rows = input(&c, "rows", SIZE(n));      // the arrays in their order
 *     t.found = output(&c, "found", SIZE(n));
 *     if (c.is_wrong) return end_call(&c);      // what follows computes with axes that arrays have
 *     hold(&c, "rows", t.rows, SIZE(n), 0, n - 1);
 *     if (start_call(&c)) chosen->kernel(&t);
 *     return end_call(&c);
 */
#define MOST_ARRAYS 16
#define MOST_ROOMS 2
typedef struct {
    PyObject *args;
    Py_buffer view[MOST_ARRAYS];
    void *room[MOST_ROOMS];
    double *space;            /* the room that is zero when the kernel starts */
    size_t doubles;           /* of space */
    const char *out_of_range; /* the array that holds such a number */
    PyThreadState *thread;    /* while the interpreter's lock is released */
    int next, n_views, n_rooms;
    int is_wrong; /* an exception is set */
} call;

/* The number of arguments, and those after the arrays: `numbers` are their formats, a letter each. */
static int read_call(call *c, PyObject *args, int n_arrays, const char *numbers, ...) {
    const Py_ssize_t count = n_arrays + (Py_ssize_t)strlen(numbers), given = PyTuple_Size(args);
    if (given != count) {
        PyErr_Format(PyExc_TypeError, "function takes exactly %zd arguments (%zd given)", count, given);
        return 0;
    }
    c->args = args;
    PyObject *rest = PyTuple_GetSlice(args, n_arrays, count);
    if (!rest) return 0;
    va_list places;
    va_start(places, numbers);
    const int is_read = PyArg_VaParse(rest, numbers, places);
    va_end(places);
    Py_DECREF(rest);
    return is_read;
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

static PyObject *next_argument(call *c) { return PyTuple_GetItem(c->args, c->next++); }

static void *take(call *c, const char *name, size_t doubles, int flags) {
    PyObject *object = next_argument(c);
    Py_buffer *view = &c->view[c->n_views];
    if (c->is_wrong) return NULL;
    if (PyObject_GetBuffer(object, view, flags) == 0) {
        c->n_views++;
        if (view->len % 8 == 0 && (size_t)view->len / 8 == doubles) return view->buf;
        if (doubles == SIZE_MAX) PyErr_Format(PyExc_ValueError, "kernel: no array has the axes given for %s", name);
        else
            PyErr_Format(PyExc_ValueError, "kernel: %s has %zd bytes and should have %zd", name, view->len,
                         (Py_ssize_t)(8 * doubles));
    }
    c->is_wrong = 1;
    return NULL;
}

/* The next array, which should have so many doubles, or whole numbers of as many bytes. */
static const void *input(call *c, const char *name, size_t doubles) { return take(c, name, doubles, PyBUF_SIMPLE); }
static void *output(call *c, const char *name, size_t doubles) { return take(c, name, doubles, PyBUF_WRITABLE); }

static int is_none(const call *c, int argument) { return PyTuple_GetItem(c->args, argument) == Py_None; }
static void *take_if_any(call *c, const char *name, size_t doubles, int flags) {
    if (!is_none(c, c->next)) return take(c, name, doubles, flags);
    c->next++;
    return NULL;
}
/* The same, or NULL if it is None. */
static const void *input_if_any(call *c, const char *name, size_t doubles) {
    return take_if_any(c, name, doubles, PyBUF_SIMPLE);
}
static void *output_if_any(call *c, const char *name, size_t doubles) {
    return take_if_any(c, name, doubles, PyBUF_WRITABLE);
}

/* Whether whole numbers lie between low and high: an index that does not would crash the interpreter. */
static int lie_between(const int64_t *values, size_t count, int64_t low, int64_t high) {
    for (size_t i = 0; i < count; i++)
        if (values[i] < low || values[i] > high) return 0;
    return 1;
}

static void refuse(call *c, const char *name) {
    if (!c->out_of_range) c->out_of_range = name;
}

static void hold(call *c, const char *name, const int64_t *values, size_t count, int64_t low, int64_t high) {
    if (!lie_between(values, count, low, high)) refuse(c, name);
}

/* Memory until the end of the call. */
static void *room(call *c, void *memory) {
    if (!memory && !c->is_wrong) {
        PyErr_NoMemory();
        c->is_wrong = 1;
    }
    c->room[c->n_rooms++] = memory;
    return memory;
}

/* What a kernel computes in: aligned doubles, zero at its start, because rows beyond the last are computed, too, and must
 * not slow down as denormals. */
static double *workspace(call *c, size_t doubles) {
    c->doubles = doubles;
    return c->space = room(c, aligned_alloc(64, (8 * doubles + 127) / 64 * 64));
}

/* Whether all is right; if so, the interpreter's lock is released. */
static int start_call(call *c) {
    if (c->is_wrong || c->out_of_range) return 0;
    c->thread = PyEval_SaveThread();
    if (c->space) memset(c->space, 0, 8 * c->doubles);
    return 1;
}

static void stop_call(call *c) {
    if (c->thread) PyEval_RestoreThread(c->thread);
    c->thread = NULL;
}

/* What a call returns; all that it holds is let go. */
static PyObject *end_call(call *c) {
    stop_call(c);
    for (int i = 0; i < c->n_rooms; i++) free(c->room[i]);
    for (int i = 0; i < c->n_views; i++) PyBuffer_Release(&c->view[i]);
    if (c->is_wrong) return NULL;
    if (c->out_of_range) return PyErr_Format(PyExc_ValueError, "kernel: %s holds a number that is out of range", c->out_of_range);
    Py_RETURN_NONE;
}
