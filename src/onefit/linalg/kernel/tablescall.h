/* interleave(columns, rows (count, width), first, count, width): columns are buffers of doubles, of which those from `first`
 * on are taken */
static PyObject *py_interleave(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    interleave_task t = {0};
    long first;
    if (!read_call(&c, args, 2, "lll", &first, &t.count, &t.width)) return NULL;
    PyObject *list = next_argument(&c);
    t.rows = output(&c, "rows", SIZE(t.count, t.width));
    if (c.is_wrong) return end_call(&c);
    PyObject *columns = PySequence_Tuple(list);
    Py_buffer *views = room(&c, malloc(((size_t)t.width + 1) * sizeof(Py_buffer)));
    t.columns = room(&c, malloc(((size_t)t.width + 1) * sizeof(double *)));
    long taken = 0;
    int is_right = columns && !c.is_wrong && first >= 0 && PyTuple_Size(columns) == t.width;
    while (is_right && taken < t.width && PyObject_GetBuffer(PyTuple_GetItem(columns, taken), &views[taken], PyBUF_SIMPLE) == 0) {
        const Py_buffer *view = &views[taken++];
        is_right = view->len % 8 == 0 && first <= view->len / 8 && t.count <= view->len / 8 - first;
        if (is_right) t.columns[taken - 1] = (const double *)view->buf + first;
    }
    c.is_wrong = !is_right || taken < t.width;
    if (c.is_wrong && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "kernel: columns are too few or too short");
    if (start_call(&c)) chosen->interleave(&t);
    stop_call(&c);
    for (long i = 0; i < taken; i++) PyBuffer_Release(&views[i]);
    Py_XDECREF(columns);
    return end_call(&c);
}

/* exceeds(values (count,), count, most): whether a number is larger than `most`, or none */
static PyObject *py_exceeds(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    long count;
    double most;
    if (!read_call(&c, args, 1, "ld", &count, &most)) return NULL;
    const double *values = input(&c, "values", SIZE(count));
    const int found = start_call(&c) && chosen->exceeds(values, count, most);
    PyObject *none = end_call(&c);
    if (!none) return NULL;
    Py_DECREF(none);
    return PyBool_FromLong(found);
}

/* deal(keys (rounds, 2), ids (count,), start, n, width, height, n_folds, rounds, count): the folds of rows start to start +
 * count - 1 of n; see dealing.KeyedOrder */
static PyObject *py_deal(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    deal_task t = {0};
    long long start, n, width, height, n_folds;
    if (!read_call(&c, args, 2, "LLLLLll", &start, &n, &width, &height, &n_folds, &t.rounds, &t.count)) return NULL;
    t.keys = input(&c, "keys", SIZE(t.rounds, 2));
    t.ids = output(&c, "ids", SIZE(t.count));
    if (c.is_wrong) return end_call(&c);
    const long long most = INT64_C(1) << 62, half = INT64_C(1) << 31;
    const int is_order = n >= 1 && n <= most && width >= 1 && width <= half && height >= 1 && height <= half &&
                         width * height >= n && width * height - n < width && n_folds >= 1 && start >= 0 && start <= n &&
                         t.count <= n - start;
    if (!is_order) refuse(&c, "the network");
    t.start = start, t.n = n, t.width = width, t.height = height, t.n_folds = n_folds;
    if (start_call(&c)) chosen->deal(&t);
    return end_call(&c);
}

/* project(E (n, r), N (n, k), y (n,), scale (r + k,), pilot (r + k,), rows (n, r + k + 1), n, r, k) */
static PyObject *py_project(PyObject *self, PyObject *args) {
    (void)self;
    call c = {0};
    project_task t = {0};
    if (!read_call(&c, args, 6, "lll", &t.n, &t.r, &t.k)) return NULL;
    if (t.r < 0 || t.k < 0 || t.r > LONG_MAX / 4 || t.k > LONG_MAX / 4)
        return PyErr_Format(PyExc_ValueError, "kernel: there are no such columns");
    t.E = input(&c, "E", SIZE(t.n, t.r));
    t.N = input(&c, "N", SIZE(t.n, t.k));
    t.y = input(&c, "y", SIZE(t.n));
    t.scale = input(&c, "scale", SIZE(t.r + t.k));
    t.pilot = input(&c, "pilot", SIZE(t.r + t.k));
    t.rows = output(&c, "rows", SIZE(t.n, t.r + t.k + 1));
    if (c.is_wrong) return end_call(&c);
    if (start_call(&c)) chosen->project(&t);
    return end_call(&c);
}
