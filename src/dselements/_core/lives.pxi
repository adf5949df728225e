# Which batches still live, for handles that are kept longer than a call.
#
# A batch that a handle points into is watched: its release ends its life first, under one
# mutex. A field is read and written under the same mutex, after a look whether the batch lives.

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <unistd.h>

    typedef void (*ds_release_t)(void *, void *);
    typedef struct ds_life {
        void *batch;
        long refs;             /* handles, and one of the table while the batch lives */
        int alive;
        ds_release_t release;  /* what to call at its end, if another owner made the batch */
        void *handle;          /* the LiveBatch of it, not owned; touched under the GIL */
        struct ds_life *next;
    } ds_life;

    enum { DS_LIVES = 1024 };
    static pthread_mutex_t ds_lives_lock = PTHREAD_MUTEX_INITIALIZER;
    static ds_life *ds_lives[DS_LIVES];

    static size_t ds_hash(void *p, size_t slots) {
        return (size_t)((((unsigned long)p >> 4) * 11400714819323198485ul) >> 40) % slots;
    }
    static ds_life *ds_life_find(void *batch) {
        ds_life *life = ds_lives[ds_hash(batch, DS_LIVES)];
        while (life && life->batch != batch) life = life->next;
        return life;
    }
    /* The life of a batch that lives now, with a reference; NULL if memory ran out. */
    static ds_life *ds_life_of(void *batch) {
        ds_life *life;
        pthread_mutex_lock(&ds_lives_lock);
        life = ds_life_find(batch);
        if (!life && (life = calloc(1, sizeof(ds_life)))) {
            size_t k = ds_hash(batch, DS_LIVES);
            life->batch = batch;
            life->alive = 1;
            life->refs = 1;
            life->next = ds_lives[k];
            ds_lives[k] = life;
        }
        if (life) life->refs++;
        pthread_mutex_unlock(&ds_lives_lock);
        return life;
    }
    static ds_life *ds_life_keep(ds_life *life) {
        pthread_mutex_lock(&ds_lives_lock);
        life->refs++;
        pthread_mutex_unlock(&ds_lives_lock);
        return life;
    }
    /* The table forgets what no handle needs, unless it has to remember a release function. */
    static void ds_life_drop(ds_life *life) {
        long refs;
        if (!life) return;
        pthread_mutex_lock(&ds_lives_lock);
        refs = --life->refs;
        if (refs == 1 && life->alive && !life->release) {
            ds_life **at = &ds_lives[ds_hash(life->batch, DS_LIVES)];
            while (*at != life) at = &(*at)->next;
            *at = life->next;
            refs = 0;
        }
        pthread_mutex_unlock(&ds_lives_lock);
        if (!refs) free(life);
    }
    /* The batch is about to be released. */
    static ds_release_t ds_life_end(void *batch) {
        ds_release_t release = NULL;
        ds_life *life, **at;
        pthread_mutex_lock(&ds_lives_lock);
        at = &ds_lives[ds_hash(batch, DS_LIVES)];
        while (*at && (*at)->batch != batch) at = &(*at)->next;
        life = *at;
        if (life) {
            *at = life->next;
            life->alive = 0;
            release = life->release;
            if (--life->refs) life = NULL;
        }
        pthread_mutex_unlock(&ds_lives_lock);
        free(life);
        return release;
    }
    static int ds_peek(ds_life *life, const void *at, void *out, size_t n) {
        int ok;
        pthread_mutex_lock(&ds_lives_lock);
        ok = !life || life->alive;
        if (ok) memcpy(out, at, n);
        pthread_mutex_unlock(&ds_lives_lock);
        return ok;
    }
    static int ds_poke(ds_life *life, void *at, const void *in, size_t n) {
        int ok;
        pthread_mutex_lock(&ds_lives_lock);
        ok = !life || life->alive;
        if (ok) memcpy(at, in, n);
        pthread_mutex_unlock(&ds_lives_lock);
        return ok;
    }
    /* The pointer at ``at`` and a copy of the text it leads to; both NULL for no text. */
    static int ds_peek_text(ds_life *life, void *at, void **pointer, char **copy) {
        int ok;
        *copy = NULL;
        *pointer = NULL;
        pthread_mutex_lock(&ds_lives_lock);
        ok = !life || life->alive;
        if (ok && (*pointer = *(void **)at)) *copy = strdup((char *)*pointer);
        pthread_mutex_unlock(&ds_lives_lock);
        return ok;
    }
    /* 1 if ``n`` bytes can be read, asked of the kernel: a pipe refuses what is not mapped. */
    static int ds_readable(const char *at, size_t n) {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static int ends[2] = {-1, -1};
        char byte;
        size_t k = 0;
        int ok = 1;
        if (!at || !n || (size_t)at > (size_t)-1 - n) return 0;
        pthread_mutex_lock(&lock);
        if (ends[0] < 0 && (pipe(ends) || fcntl(ends[0], F_SETFD, FD_CLOEXEC) ||
                            fcntl(ends[1], F_SETFD, FD_CLOEXEC)))
            ok = 0;
        while (ok && k < n) {
            ok = write(ends[1], at + k, 1) == 1 && read(ends[0], &byte, 1) == 1;
            if (k == n - 1) break;
            k = k + 4096 < n ? k + 4096 : n - 1;
        }
        pthread_mutex_unlock(&lock);
        return ok;
    }
    """
    ctypedef struct ds_life:
        void* batch
        int alive
        release_func_t release
        void* handle
    ds_life* ds_life_of(void* batch) noexcept nogil
    ds_life* ds_life_keep(ds_life* life) noexcept nogil
    void ds_life_drop(ds_life* life) noexcept nogil
    release_func_t ds_life_end(void* batch) noexcept nogil
    bint ds_peek(ds_life* life, const void* at, void* out, size_t n) noexcept nogil
    bint ds_poke(ds_life* life, void* at, const void* source, size_t n) noexcept nogil
    bint ds_peek_text(ds_life* life, void* at, void** pointer, char** copy) noexcept nogil
    bint ds_readable(const char* at, size_t n) noexcept nogil
