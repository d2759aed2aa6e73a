/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How much of the server is taken.
 *
 * Prefork and worker: an open connection holds a worker until it is closed,
 * whatever it does, and any worker of any child may take the next one.  So it
 * is counted in memory that all children share:
 *
 *   held | place 0 | place 1 | ...     one place a worker
 *          0 = free, BUSY, or since when its connection waits
 *
 * Each place has one writer.  `held` is how many places are not 0, so that a
 * request need not look at all of them.  A child that is killed leaves both
 * wrong: the parent clears its places, and corrects `held` where it has been
 * off by the same number for a while.
 *
 * Event: a connection that waits holds no thread, but a child takes no new
 * ones from a limit on, and drops all that wait once its threads are all busy.
 * Both are a child's own, so the counters are process-local.
 */
#include "kapolicy.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <ap_mpm.h>

#define RETAINED_KEY "mod_kapolicy"
#define BUSY 1
#define SETTLE_TURNS 3 /* seconds that `held` must be off by the same */
#define FACTOR_DEFAULT 2

#define atomic_get(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define atomic_set(field, value)                                               \
    __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define atomic_swap(field, value)                                              \
    __atomic_exchange_n(&(field), (value), __ATOMIC_RELAXED)
#define atomic_add(field, value)                                               \
    __atomic_fetch_add(&(field), (value), __ATOMIC_RELAXED)

typedef struct shared_load {
    int32_t held; /* signed: corrections may come early */
    int32_t off;  /* the parent's: by how much it was wrong last time */
    int32_t turns;
    char own_line[64 - 3 * sizeof(int32_t)];
    int64_t place[];
} shared_load;

/* Survives restarts, which unload and load the module. */
typedef struct retained_load {
    shared_load *shared;
    uint32_t places;
} retained_load;

struct kapolicy_load {
    uint32_t limit;
    /* Prefork and worker: */
    shared_load *shared;
    uint32_t places;
    uint32_t places_per_child;
    /* Event: */
    uint32_t threads; /* of a child */
    uint32_t factor;  /* AsyncRequestWorkerFactor */
    int32_t busy;     /* threads */
    int32_t open;     /* connections, without those in lingering close */
};

int64_t kapolicy_now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000) + (uint32_t)ts.tv_nsec / 1000;
}

static uint32_t ask_mpm(int code, uint32_t standard)
{
    int value;

    return ap_mpm_query(code, &value) == APR_SUCCESS && value > 0
               ? (uint32_t)value
               : standard;
}

/* ---- made by the parent -------------------------------------------------- */

static retained_load *retained_get(void)
{
    retained_load *retained = ap_retained_data_get(RETAINED_KEY);

    return retained ? retained
                    : ap_retained_data_create(RETAINED_KEY, sizeof(*retained));
}

/* ServerLimit and ThreadLimit need a full stop, so that the size is for life.
 * Children of an earlier generation go on counting in it. */
static apr_status_t share(kapolicy_load *load)
{
    retained_load *retained = retained_get();

    if (!retained->shared) {
        void *at = mmap(NULL,
                        sizeof(shared_load) + load->places * sizeof(int64_t),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);

        if (at == MAP_FAILED) {
            return APR_FROM_OS_ERROR(errno);
        }
        retained->shared = at;
        retained->places = load->places;
    }
    load->shared = retained->shared;
    load->places = retained->places;
    return APR_SUCCESS;
}

/* event does not tell it. */
static uint32_t async_factor(void)
{
    const ap_directive_t *directive;

    for (directive = ap_conftree; directive; directive = directive->next) {
        if (strcasecmp(directive->directive, "AsyncRequestWorkerFactor") == 0) {
            double factor = strtod(directive->args, NULL);

            return factor >= 0 && factor < 1e6 ? (uint32_t)factor
                                               : FACTOR_DEFAULT;
        }
    }
    return FACTOR_DEFAULT;
}

kapolicy_load *kapolicy_load_make(server_rec *s, bool async)
{
    kapolicy_load *load = apr_pcalloc(s->process->pconf, sizeof(*load));
    apr_status_t rv;

    load->threads = ask_mpm(AP_MPMQ_MAX_THREADS, 1);
    load->limit = ask_mpm(AP_MPMQ_MAX_DAEMONS, 0) * load->threads;
    if (async) {
        load->factor = async_factor();
        return load;
    }
    load->places_per_child = ask_mpm(AP_MPMQ_HARD_LIMIT_THREADS, 1);
    load->places =
        load->places_per_child * ask_mpm(AP_MPMQ_HARD_LIMIT_DAEMONS, 256);
    rv = share(load);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s,
                     "mod_kapolicy: no shared memory: KAPolicyAdaptive keeps "
                     "connections as if there were no load");
        return NULL;
    }
    return load;
}

static int32_t count_places(const kapolicy_load *load)
{
    int32_t n = 0;
    uint32_t i;

    for (i = 0; i < load->places; i++) {
        n += atomic_get(load->shared->place[i]) != 0;
    }
    return n;
}

void kapolicy_load_settle(kapolicy_load *load)
{
    shared_load *shared = load->shared;
    int32_t off;

    if (!shared) {
        return;
    }
    off = count_places(load) - atomic_get(shared->held);
    shared->turns = off && off == shared->off ? shared->turns + 1 : 0;
    shared->off = off;
    if (shared->turns >= SETTLE_TURNS) {
        atomic_add(shared->held, off);
        shared->turns = 0;
    }
}

static void place_clear(shared_load *shared, uint32_t place)
{
    if (atomic_swap(shared->place[place], 0)) {
        atomic_add(shared->held, -1);
    }
}

void kapolicy_load_child_gone(kapolicy_load *load, int child)
{
    uint32_t first = (uint32_t)child * load->places_per_child;
    uint32_t i;

    if (!load->shared || child < 0) {
        return;
    }
    for (i = first; i < first + load->places_per_child && i < load->places;
         i++) {
        place_clear(load->shared, i);
    }
}

/* ---- counted by workers -------------------------------------------------- */

/* The connection's number is its worker's: of the child, times ThreadLimit,
 * and of the thread. */
void kapolicy_load_begin(kapolicy_load *load, kapolicy_conn *conn)
{
    conn->place = (uint32_t)conn->c->id;
    if (conn->c->id >= 0 && conn->place < load->places &&
        atomic_swap(load->shared->place[conn->place], BUSY) == 0) {
        atomic_add(load->shared->held, 1);
    }
}

void kapolicy_load_idle(kapolicy_load *load, const kapolicy_conn *conn,
                        int64_t since_us)
{
    if (conn->place < load->places) {
        atomic_set(load->shared->place[conn->place], since_us);
    }
}

void kapolicy_load_busy(kapolicy_load *load, const kapolicy_conn *conn)
{
    kapolicy_load_idle(load, conn, BUSY);
}

void kapolicy_load_end(kapolicy_load *load, kapolicy_conn *conn)
{
    if (conn->place < load->places) {
        place_clear(load->shared, conn->place);
    }
}

uint32_t kapolicy_load_older(const kapolicy_load *load, int64_t since_us)
{
    uint32_t n = 0, i;

    for (i = 0; i < load->places; i++) {
        int64_t since = atomic_get(load->shared->place[i]);

        n += since > BUSY && since < since_us;
    }
    return n;
}

void kapolicy_load_shift(kapolicy_load *load, int threads, int connections)
{
    if (threads) {
        atomic_add(load->busy, threads);
    }
    if (connections) {
        atomic_add(load->open, connections);
    }
}

/* ---- asked --------------------------------------------------------------- */

static uint32_t positive(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}

uint32_t kapolicy_load_free_threads(const kapolicy_load *load)
{
    return positive((int32_t)load->threads - atomic_get(load->busy));
}

/* Whichever of its two limits the child is closer to. */
static kapolicy_taken taken_of_child(const kapolicy_load *load)
{
    uint32_t free = kapolicy_load_free_threads(load);
    kapolicy_taken threads = {load->threads - free, load->threads};
    kapolicy_taken open = {positive(atomic_get(load->open)),
                           load->threads + free * load->factor};

    return (uint64_t)open.taken * threads.limit >
                   (uint64_t)threads.taken * open.limit
               ? open
               : threads;
}

kapolicy_taken kapolicy_load_now(const kapolicy_load *load)
{
    if (!load->shared) {
        return taken_of_child(load);
    }
    return (kapolicy_taken){positive(atomic_get(load->shared->held)),
                            load->limit};
}
