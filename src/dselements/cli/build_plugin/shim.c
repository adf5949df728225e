/* A GStreamer plugin whose elements are Python classes.
 *
 * dselements puts a head of #defines and the table of modules before this text and compiles
 * both together with the user's modules. In a C program it boots Python; where Python runs
 * already it joins it. Once plugin_init() has returned, it holds neither the GIL nor a lock.
 *
 * GStreamer's plugin descriptor is stable ABI and is declared here in the few fields that it
 * has, so no GStreamer headers are needed. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define PROTOCOL 1
#define ENVIRONMENT "DSELEMENTS_PYTHON"

/* -- GStreamer ------------------------------------------------------------- */

typedef struct {
    int major, minor;
    const char *name, *description;
    int (*init)(void *plugin);
    const char *version, *license, *source, *package, *origin, *release_datetime;
    void *reserved[4];
} PluginDesc;

enum { LEVEL_ERROR = 1 };
extern int gst_element_register(void *plugin, const char *name, unsigned rank, size_t type);
extern void gst_plugin_add_dependency_simple(void *plugin, const char *env_vars,
                                             const char *paths, const char *names, int flags);
extern void *_gst_debug_get_category(const char *name);
extern void gst_debug_log(void *category, int level, const char *file, const char *function,
                          int line, void *object, const char *format, ...);

/* -- The modules inside ------------------------------------------------------ */

typedef struct {
    const char *name;
    int is_package;
    const char *source;         /* name of the file that it was made of */
    PyObject *(*init)(void);    /* compiled by Cython, or */
    const unsigned char *code;  /* marshalled bytecode */
    Py_ssize_t size;
} Module;

MODULES

static void *current;  /* the GstPlugin while its plugin_init() runs */

static const char *own_file(void) {
    static char path[4096];
    Dl_info info;
    if (!path[0] && dladdr((void *)&own_file, &info) && info.dli_fname)
        snprintf(path, sizeof path, "%s", info.dli_fname);
    return path;
}

/* Tells in the debug log and, as few look there, on standard error. */
static void tell(const char *text) {
    void *category = _gst_debug_get_category("GST_PLUGIN_LOADING");
    if (category)
        gst_debug_log(category, LEVEL_ERROR, "dselements", "plugin_init", 0, NULL, "%s: %s",
                      own_file(), text);
    fprintf(stderr,
            "dselements: %s cannot be loaded: %s\n"
            "dselements: where GStreamer was scanning for plugins, it skips this file from now "
            "on until the file changes. After mending the cause, run: touch %s\n",
            own_file(), text, own_file());
}

/* -- Which Python -------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

typedef struct {
    int count;
    char path[8][1024];
} Paths;

/* The linker's lock is held here: no dlopen(). */
static int collect_pythons(struct dl_phdr_info *info, size_t size, void *found) {
    Paths *paths = found;
    const char *name = info->dlpi_name ? base_name(info->dlpi_name) : "";
    (void)size;
    if (!strncmp(name, "libpython", 9) && strcmp(name, LIBPYTHON) &&
        strcmp(name, "libpython3.so") && paths->count < 8)
        snprintf(paths->path[paths->count++], sizeof paths->path[0], "%s", info->dlpi_name);
    return 0;
}

/* A second, other libpython that runs already but is not the one our calls are bound to. */
static int other_python(char *name, size_t size) {
    Paths paths = {0};
    dl_iterate_phdr(collect_pythons, &paths);
    for (int i = 0; i < paths.count; i++) {
        void *library = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        int (*initialized)(void) = (int (*)(void))dlsym(library, "Py_IsInitialized");
        int runs = initialized && initialized != Py_IsInitialized && initialized();
        dlclose(library);
        if (!runs) continue;
        snprintf(name, size, "%s", base_name(paths.path[i]));
        return 1;
    }
    return 0;
}

/* Both build and process are free-threaded, or neither is: the object layouts differ. */
static int same_threading(const char *version) {
#ifdef Py_GIL_DISABLED
    return strstr(version, "free-threading") != NULL;
#else
    return strstr(version, "free-threading") == NULL;
#endif
}

static int python_fits(void) {
    char text[512], other[256];
    const char *version = Py_GetVersion();
    size_t length = strlen(PYTHON_VERSION);
    if (strncmp(version, PYTHON_VERSION, length) || version[length] != '.' ||
        !same_threading(version)) {
        snprintf(text, sizeof text,
                 "it was built for CPython " PYTHON_VERSION ", but this process has Python %.60s; "
                 "build it again with that Python", version);
        tell(text);
        return 0;
    }
    if (other_python(other, sizeof other)) {
        snprintf(text, sizeof text,
                 "it was built for CPython " PYTHON_VERSION ", but %.80s runs in this process "
                 "already; build it again with that Python", other);
        tell(text);
        return 0;
    }
    return 1;
}

/* Extension modules are not linked to libpython: they must find its symbols globally. */
static void make_global(void) {
    Dl_info info;
    if (dladdr((void *)&Py_IsInitialized, &info) && info.dli_fname &&
        !strncmp(base_name(info.dli_fname), "libpython", 9))
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* -- Booting ------------------------------------------------------------------- */

/* The interpreter whose environment is used: ENVIRONMENT (a file, or the folder of a virtual
 * environment), or that of the build. */
static int find_executable(char *path, size_t size) {
    char text[5000];
    struct stat state;
    const char *chosen = getenv(ENVIRONMENT);
    int baked = !chosen || !chosen[0];
    if (baked) chosen = EXECUTABLE;
    int folder = stat(chosen, &state) == 0 && S_ISDIR(state.st_mode);
    int length = snprintf(path, size, folder ? "%s/bin/python3" : "%s", chosen);
    if (length > 0 && (size_t)length < size && access(path, X_OK) == 0) return 1;
    snprintf(text, sizeof text,
             "%s names no Python: %.4000s; set " ENVIRONMENT " to a Python " PYTHON_VERSION
             " environment that dselements is installed in",
             baked ? "the environment of its build" : ENVIRONMENT, chosen);
    tell(text);
    return 0;
}

/* Leaves the GIL held. */
static int boot(void) {
    char path[4096], text[1024];
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    if (!find_executable(path, sizeof path)) return 0;
    /* The process is not ours: its locale, signals and arguments stay as they are. */
    PyPreConfig_InitPythonConfig(&before);
    before.parse_argv = 0;
    before.configure_locale = 0;
    before.coerce_c_locale = 0;
    before.coerce_c_locale_warn = 0;
    before.utf8_mode = 1;
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status)) goto failed_early;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    config.install_signal_handlers = 0;
    config.buffered_stdio = 0; /* nobody flushes when a C program ends */
    status = PyConfig_SetBytesString(&config, &config.program_name, path);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.executable, path);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (!PyStatus_Exception(status)) return 1;
failed_early:
    snprintf(text, sizeof text, "Python (%.300s) does not start: %.300s; see " ENVIRONMENT, path,
             status.err_msg ? status.err_msg : "it wants to exit");
    tell(text);
    return 0;
}

/* -- What Python code calls ------------------------------------------------------ */

static const Module *find_module(const char *name) {
    for (const Module *m = modules; m->name; m++)
        if (!strcmp(m->name, name)) return m;
    PyErr_Format(PyExc_ImportError, "%s is not in %s", name, own_file());
    return NULL;
}

static PyObject *create(PyObject *self, PyObject *args) {
    (void)self;
    const char *name;
    PyObject *spec;
    if (!PyArg_ParseTuple(args, "sO", &name, &spec)) return NULL;
    const Module *m = find_module(name);
    if (!m) return NULL;
    if (!m->init) Py_RETURN_NONE;
    PyObject *made = m->init();
    if (made && PyObject_TypeCheck(made, &PyModuleDef_Type))
        return PyModule_FromDefAndSpec((PyModuleDef *)made, spec);
    return made;
}

static PyObject *execute(PyObject *self, PyObject *module) {
    (void)self;
    PyModuleDef *def = PyModule_GetDef(module);
    if (!def) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "the module is not compiled");
        return NULL;
    }
    if (PyModule_ExecDef(module, def)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *bytecode(PyObject *self, PyObject *name) {
    (void)self;
    const char *text = PyUnicode_AsUTF8(name);
    const Module *m = text ? find_module(text) : NULL;
    if (!m) return NULL;
    if (!m->code) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)m->code, m->size);
}

static PyObject *add_element(PyObject *self, PyObject *args) {
    (void)self;
    const char *name;
    unsigned rank;
    Py_ssize_t type;
    if (!PyArg_ParseTuple(args, "sIn", &name, &rank, &type)) return NULL;
    if (!current) {
        PyErr_SetString(PyExc_RuntimeError, "the plugin is not being loaded");
        return NULL;
    }
    return PyBool_FromLong(gst_element_register(current, name, rank, (size_t)type));
}

static PyMethodDef methods[] = {
    {"create", create, METH_VARARGS, NULL},
    {"execute", execute, METH_O, NULL},
    {"bytecode", bytecode, METH_O, NULL},
    {"add_element", add_element, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Returns the traceback as text, or None. A Python that ran already keeps its own packages; if it
 * has no dselements, it is given the folders of the build's environment, after its own. */
static const char LOAD[] =
    "def load(host, sites):\n"
    "    try:\n"
    "        import importlib.util, os, site\n"
    "        if importlib.util.find_spec('dselements') is None:\n"
    "            for folder in filter(os.path.isdir, sites):\n"
    "                site.addsitedir(folder)\n"
    "        from dselements.element.hosted import load\n"
    "        load(host)\n"
    "    except BaseException:\n"
    "        import sys, traceback\n"
    "        return f'{traceback.format_exc()}(Python {sys.version.split()[0]} of '\\\n"
    "               f'{sys.prefix}; " ENVIRONMENT " chooses another environment)'\n";

static PyObject *describe_host(void) {
    PyObject *list = PyList_New(0), *host = NULL;
    if (!list) return NULL;
    for (const Module *m = modules; m->name; m++) {
        PyObject *item = Py_BuildValue("(sOs)", m->name, m->is_package ? Py_True : Py_False,
                                       m->source);
        int failed = !item || PyList_Append(list, item);
        Py_XDECREF(item);
        if (failed) goto done;
    }
    host = Py_BuildValue("{s:i,s:s,s:s,s:O}", "protocol", PROTOCOL, "name", PLUGIN_NAME,
                         "filename", own_file(), "modules", list);
    for (PyMethodDef *m = methods; host && m->ml_name; m++) {
        PyObject *function = PyCFunction_New(m, NULL);
        if (!function || PyDict_SetItemString(host, m->ml_name, function)) Py_CLEAR(host);
        Py_XDECREF(function);
    }
done:
    Py_DECREF(list);
    return host;
}

static PyObject *list_sites(int joined) {
    PyObject *list = PyList_New(0);
    for (const char *const *path = sites; joined && list && *path; path++) {
        PyObject *item = PyUnicode_DecodeFSDefault(*path);
        if (!item || PyList_Append(list, item)) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* With the GIL. True if all went well; what did not is told. */
static int load(int joined) {
    PyObject *names = PyDict_New(), *ran = NULL, *host = NULL, *folders = NULL, *said = NULL;
    PyObject *function;
    int ok = 0;
    if (!names || PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins())) goto done;
    if (!(ran = PyRun_String(LOAD, Py_file_input, names, names))) goto done;
    if (!(function = PyDict_GetItemString(names, "load"))) goto done;
    if (!(host = describe_host()) || !(folders = list_sites(joined))) goto done;
    said = PyObject_CallFunctionObjArgs(function, host, folders, NULL);
    ok = said == Py_None;
    if (said && !ok) {
        const char *text = PyUnicode_AsUTF8(said);
        tell(text ? text : "its error cannot be shown");
    }
done:
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(NULL);
        tell("Python failed while loading it");
    }
    Py_XDECREF(said);
    Py_XDECREF(folders);
    Py_XDECREF(host);
    Py_XDECREF(ran);
    Py_XDECREF(names);
    return ok;
}

static int plugin_init(void *plugin) {
    int ok;
    if (!python_fits()) return 0;
    make_global();
    current = plugin;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        ok = load(1);
        PyGILState_Release(state);
    } else {
        if (!boot()) return 0;
        ok = load(0);
        PyEval_SaveThread(); /* for good: whoever needs Python takes the GIL */
    }
    current = NULL;
    /* Another environment may have other elements: GStreamer then scans this file again. */
    if (ok) gst_plugin_add_dependency_simple(plugin, ENVIRONMENT, NULL, NULL, 0);
    return ok;
}

EXPORTED PluginDesc gst_plugin_desc = {
    1, 16, PLUGIN_NAME, DESCRIPTION, plugin_init, VERSION, LICENSE, PLUGIN_NAME, PACKAGE, ORIGIN,
    NULL, {NULL, NULL, NULL, NULL},
};

EXPORTED const PluginDesc *GET_DESC(void) {
    return &gst_plugin_desc;
}
