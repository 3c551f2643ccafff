/* interleave(columns, rows (count, width), first, count, width): columns are buffers of doubles, of which those from `first`
 * on are taken */
static PyObject *py_interleave(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *list, *out;
    interleave_task t = {0};
    long first;
    if (!PyArg_ParseTuple(args, "OOlll", &list, &out, &first, &t.count, &t.width)) return NULL;
    buffers b = {.count = 0};
    t.rows = take(&b, out, 1, SIZE(t.count, t.width), "rows");
    if (b.count < 0) return NULL;
    PyObject *columns = PySequence_Tuple(list);
    Py_buffer *views = calloc((size_t)t.width + 1, sizeof(Py_buffer));
    t.columns = calloc((size_t)t.width + 1, sizeof(double *));
    long taken = 0;
    int is_right = columns && views && t.columns && first >= 0 && PyTuple_Size(columns) == t.width;
    while (is_right && taken < t.width && PyObject_GetBuffer(PyTuple_GetItem(columns, taken), &views[taken], PyBUF_SIMPLE) == 0) {
        const Py_buffer *view = &views[taken++];
        is_right = view->len % 8 == 0 && first <= view->len / 8 && t.count <= view->len / 8 - first;
        if (is_right) t.columns[taken - 1] = (const double *)view->buf + first;
    }
    is_right = is_right && taken == t.width;
    if (is_right) {
        Py_BEGIN_ALLOW_THREADS
        chosen->interleave(&t);
        Py_END_ALLOW_THREADS
    } else if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "kernel: columns are too few or too short");
    for (long c = 0; c < taken; c++) PyBuffer_Release(&views[c]);
    free(views);
    free(t.columns);
    Py_XDECREF(columns);
    release(&b);
    if (!is_right) return NULL;
    Py_RETURN_NONE;
}

/* exceeds(values (count,), count, most): whether a number is larger than `most`, or none */
static PyObject *py_exceeds(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o;
    long count;
    double most;
    if (!PyArg_ParseTuple(args, "Old", &o, &count, &most)) return NULL;
    buffers b = {.count = 0};
    const double *values = take(&b, o, 0, SIZE(count), "values");
    if (b.count < 0) return NULL;
    int found;
    Py_BEGIN_ALLOW_THREADS
    found = chosen->exceeds(values, count, most);
    Py_END_ALLOW_THREADS
    release(&b);
    return PyBool_FromLong(found);
}

/* deal(keys (rounds, 2), ids (count,), start, n, width, height, n_folds, rounds, count): the folds of rows start to start +
 * count - 1 of n; see dealing.KeyedOrder */
static PyObject *py_deal(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[2];
    deal_task t = {0};
    long long start, n, width, height, n_folds;
    if (!PyArg_ParseTuple(args, "OOLLLLLll", &o[0], &o[1], &start, &n, &width, &height, &n_folds, &t.rounds, &t.count)) return NULL;
    buffers b = {.count = 0};
    t.keys = take(&b, o[0], 0, SIZE(t.rounds, 2), "keys");
    t.ids = take(&b, o[1], 1, SIZE(t.count), "ids");
    if (b.count < 0) return NULL;
    const long long most = INT64_C(1) << 62, half = INT64_C(1) << 31;
    const int is_order = n >= 1 && n <= most && width >= 1 && width <= half && height >= 1 && height <= half &&
                         width * height >= n && width * height - n < width && n_folds >= 1 && start >= 0 && start <= n &&
                         t.count <= n - start;
    if (!is_order) return refuse(&b, "the network");
    t.start = start, t.n = n, t.width = width, t.height = height, t.n_folds = n_folds;
    Py_BEGIN_ALLOW_THREADS
    chosen->deal(&t);
    Py_END_ALLOW_THREADS
    release(&b);
    Py_RETURN_NONE;
}

/* project(E (n, r), N (n, k), y (n,), scale (r + k,), pilot (r + k,), rows (n, r + k + 1), n, r, k) */
static PyObject *py_project(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[6];
    project_task t = {0};
    if (!PyArg_ParseTuple(args, "OOOOOOlll", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &t.n, &t.r, &t.k)) return NULL;
    if (t.r < 0 || t.k < 0 || t.r > LONG_MAX / 4 || t.k > LONG_MAX / 4)
        return PyErr_Format(PyExc_ValueError, "kernel: there are no such columns");
    buffers b = {.count = 0};
    t.E = take(&b, o[0], 0, SIZE(t.n, t.r), "E");
    t.N = take(&b, o[1], 0, SIZE(t.n, t.k), "N");
    t.y = take(&b, o[2], 0, SIZE(t.n), "y");
    t.scale = take(&b, o[3], 0, SIZE(t.r + t.k), "scale");
    t.pilot = take(&b, o[4], 0, SIZE(t.r + t.k), "pilot");
    t.rows = take(&b, o[5], 1, SIZE(t.n, t.r + t.k + 1), "rows");
    if (b.count < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    chosen->project(&t);
    Py_END_ALLOW_THREADS
    release(&b);
    Py_RETURN_NONE;
}
