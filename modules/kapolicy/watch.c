/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Event: a connection that waits is in a queue of the MPM's own, one for each
 * KeepAliveTimeout, and no module can take it out.  But a socket whose read
 * side is shut is readable: the MPM takes the connection out by itself and
 * gives it to a worker, which reads what the client has sent by then and
 * answers it, or finds end of file and closes.  So nothing that was sent is
 * dropped, unlike when the MPM itself closes idle connections.
 *
 * What to end, and when, is seen by one thread a child.  It begins with the
 * first connection that needs it, and sleeps while none waits.
 *
 *   suspend_connection       the watch             resume_connection
 *   TAKEN -> IDLE            IDLE -> ENDING        IDLE  -> TAKEN
 *                            shutdown()            ENDED -> TAKEN, and noted
 *                            ENDING -> ENDED
 *
 * Each that is ended takes a thread for a moment.  Where the MPM finds none
 * free, it drops all that wait, with what they have sent.  So the watch ends
 * no more at once than half of the free threads, and the next when these are
 * done.
 *
 * A slot has one owner, a connection, from its first wait to its close; the
 * states hand the descriptor back and forth, so that no lock is needed and it
 * is not closed while the watch has it.
 */
#include "kapolicy.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <ap_mpm.h>
#include <http_connection.h>
#include <mpm_common.h>
#include <scoreboard.h>

#define TICK_US 100000     /* a wait may last so much longer */
#define TICK_LOAD_US 25000 /* the same, where load decides too */
#define TICK_MORE_US 1000  /* some are due that had to wait */
#define SLOTS_PER_THREAD 64
#define TRIES 32

enum { SLOT_FREE, SLOT_TAKEN, SLOT_IDLE, SLOT_ENDING, SLOT_ENDED };

struct kapolicy_slot {
    uint32_t state;
    int fd;
    int64_t since_us;
    int64_t wanted_us;
};

static struct watch { /* of this child */
    kapolicy_slot *slots; /* [n] */
    uint32_t n;
    uint32_t next;
    uint32_t idle;  /* slots that are neither FREE nor TAKEN, about */
    uint32_t ended; /* slots that are ENDED, about */
    int child;      /* number of this child, once a connection told it */
    int threads;
    int started;   /* 1 = the thread is, or could not be, made */
    bool running;
    bool stop;
    pthread_t thread;
    sem_t wake;
} watch;

#define atomic_get(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define atomic_set(field, value)                                               \
    __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)
/* A slot's times: read before it is ours, and then again. */
#define time_get(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define time_set(field, value)                                                 \
    __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define atomic_add(field, value)                                               \
    __atomic_fetch_add(&(field), (value), __ATOMIC_ACQ_REL)

static bool slot_move(kapolicy_slot *slot, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&slot->state, &from, to, 0,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ---- the thread ---------------------------------------------------------- */

static int64_t timeout_of(const kapolicy_slot *slot, kapolicy_taken now)
{
    int64_t wanted = time_get(slot->wanted_us);

    return kapolicy->load ? ka_adaptive_timeout(kapolicy->adaptive, wanted,
                                                now.taken, now.limit)
                          : wanted;
}

/* How many may be on their way out: see above. */
static int room_for_ends(void)
{
    int n = 0, i;

    for (i = 0; i < watch.threads; i++) {
        const worker_score *thread =
            ap_get_scoreboard_worker_from_indexes(watch.child, i);

        n += thread && thread->status == SERVER_READY;
    }
    return (n + 1) / 2;
}

/* Read again once it is ours: meanwhile the connection may have served a
 * request and begun another wait. */
static bool end_slot(kapolicy_slot *slot, int64_t since_us)
{
    if (!slot_move(slot, SLOT_IDLE, SLOT_ENDING)) {
        return false;
    }
    if (time_get(slot->since_us) != since_us) {
        atomic_set(slot->state, SLOT_IDLE);
        return false;
    }
    atomic_add(watch.ended, 1);
    shutdown(slot->fd, SHUT_RD);
    atomic_set(slot->state, SLOT_ENDED);
    return true;
}

/* The one that waits longest, among those whose time is over; or, from
 * KAPolicyAdaptive's high on, among all. */
static kapolicy_slot *next_due(kapolicy_taken now, bool any, int64_t *since_us)
{
    int64_t at = kapolicy_now_us();
    kapolicy_slot *found = NULL;
    uint32_t i;

    for (i = 0; i < watch.n; i++) {
        kapolicy_slot *slot = &watch.slots[i];
        int64_t since = time_get(slot->since_us);

        if (atomic_get(slot->state) == SLOT_IDLE &&
            (any || since + timeout_of(slot, now) <= at) &&
            (!found || since < *since_us)) {
            found = slot;
            *since_us = since;
        }
    }
    return found;
}

/* @return whether some are left that ought to go. */
static bool end_due(void)
{
    kapolicy_taken now = {0, 0};
    uint32_t ended = atomic_get(watch.ended), excess = 0;
    int room = room_for_ends() - (int)ended;

    if (kapolicy->load) {
        now = kapolicy_load_now(kapolicy->load);
        excess = ka_adaptive_excess(kapolicy->adaptive, now.taken, now.limit);
        excess -= ended < excess ? ended : excess; /* they are on their way */
    }
    for (;;) {
        int64_t since = 0;
        kapolicy_slot *slot = next_due(now, excess > 0, &since);

        if (!slot || room <= 0) {
            return slot != NULL;
        }
        if (end_slot(slot, since)) {
            room--;
            excess -= excess > 0;
        }
    }
}

static void sleep_for(int64_t us)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)us * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&watch.wake, &until);
}

static void *watch_run(void *nothing)
{
    while (!atomic_get(watch.stop)) {
        if (atomic_get(watch.idle) == 0) {
            sem_wait(&watch.wake);
        }
        else if (end_due()) {
            sleep_for(TICK_MORE_US);
        }
        else {
            sleep_for(kapolicy->load ? TICK_LOAD_US : TICK_US);
        }
    }
    return nothing;
}

/* ---- its life ------------------------------------------------------------ */

static apr_status_t child_ends(void *data)
{
    (void)data;
    atomic_set(watch.stop, true);
    if (watch.running) {
        sem_post(&watch.wake);
        pthread_join(watch.thread, NULL);
        watch.running = false;
    }
    return APR_SUCCESS;
}

void kapolicy_watch_init(apr_pool_t *p)
{
    if (ap_mpm_query(AP_MPMQ_MAX_THREADS, &watch.threads) != APR_SUCCESS ||
        watch.threads < 1) {
        watch.threads = 1;
    }
    watch.n = (uint32_t)watch.threads * SLOTS_PER_THREAD;
    /* Not from the pool: the kernel gives pages only as they are used. */
    watch.slots = calloc(watch.n, sizeof(*watch.slots));
    if (!watch.slots || sem_init(&watch.wake, 0, 0) != 0) {
        watch.n = 0;
    }
    apr_pool_pre_cleanup_register(p, NULL, child_ends);
}

/* All signals are the other threads' business. */
static void watch_start(const conn_rec *c)
{
    sigset_t all, before;
    int error, threads;

    if (ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &threads) != APR_SUCCESS ||
        threads < 1) {
        return;
    }
    watch.child = (int)(c->id / threads);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&watch.thread, NULL, watch_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_set(watch.running, error == 0);
    if (error) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, APR_FROM_OS_ERROR(error),
                     c->base_server,
                     "mod_kapolicy: no thread to watch idle connections: in "
                     "this child they wait for KeepAliveTimeout");
    }
}

/* ---- connections --------------------------------------------------------- */

static kapolicy_slot *slot_take(void)
{
    uint32_t i;

    for (i = 0; i < TRIES && i < watch.n; i++) {
        kapolicy_slot *slot = &watch.slots[atomic_add(watch.next, 1) % watch.n];

        if (slot_move(slot, SLOT_FREE, SLOT_TAKEN)) {
            return slot;
        }
    }
    return NULL;
}

/* Takes it back from the watch; true if that has ended the wait. */
static bool slot_back(kapolicy_slot *slot)
{
    if (slot_move(slot, SLOT_IDLE, SLOT_TAKEN)) {
        atomic_add(watch.idle, -1);
        return false;
    }
    while (atomic_get(slot->state) == SLOT_ENDING) {
        sched_yield(); /* for one system call */
    }
    if (slot_move(slot, SLOT_IDLE, SLOT_TAKEN)) { /* it let it be */
        atomic_add(watch.idle, -1);
        return false;
    }
    if (!slot_move(slot, SLOT_ENDED, SLOT_TAKEN)) {
        return false; /* was not idle */
    }
    atomic_add(watch.ended, -1);
    atomic_add(watch.idle, -1);
    return true;
}

void kapolicy_watch_release(kapolicy_conn *conn)
{
    if (conn->slot) {
        slot_back(conn->slot);
        atomic_set(conn->slot->state, SLOT_FREE);
        conn->slot = NULL;
    }
}

/* Only what the MPM would let wait too long. */
static bool needs_watch(const kapolicy_conn *conn, const conn_rec *c)
{
    return kapolicy->load ||
           (conn->flags & KAPOLICY_GRANTED &&
            conn->timeout_us != KAPOLICY_UNSET &&
            conn->timeout_us == conn->wanted_us && c->keepalives > 0);
}

static void begin_wait(kapolicy_conn *conn, conn_rec *c)
{
    kapolicy_slot *slot = conn->slot;

    if (!slot && !(slot = conn->slot = slot_take())) {
        return;
    }
    slot->fd = kapolicy_socket_of(c);
    time_set(slot->since_us, kapolicy_now_us());
    time_set(slot->wanted_us, conn->wanted_us);
    atomic_set(slot->state, SLOT_IDLE);
    if (atomic_add(watch.idle, 1) == 0) {
        sem_post(&watch.wake);
    }
    if (!atomic_get(watch.started) &&
        !__atomic_exchange_n(&watch.started, 1, __ATOMIC_ACQ_REL)) {
        watch_start(c);
    }
}

/* Suspended is also who waits to write, or lingers. */
static void suspend_connection(conn_rec *c, request_rec *r)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);

    (void)r;
    if (!conn || c->master || !c->cs) {
        return;
    }
    if (conn->flags & KAPOLICY_RUNNING) {
        conn->flags &= ~(unsigned)KAPOLICY_RUNNING;
        kapolicy_load_shift(kapolicy->load, -1, 0);
    }
    if (c->cs->state == CONN_STATE_CHECK_REQUEST_LINE_READABLE &&
        needs_watch(conn, c)) {
        begin_wait(conn, c);
    }
}

static void resume_connection(conn_rec *c, request_rec *r)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);

    (void)r;
    if (!conn || c->master) {
        return;
    }
    if (kapolicy->load && !(conn->flags & KAPOLICY_RUNNING)) {
        conn->flags |= KAPOLICY_RUNNING;
        kapolicy_load_shift(kapolicy->load, 1, 0);
    }
    if (conn->slot && slot_back(conn->slot)) {
        conn->flags |= KAPOLICY_ENDED;
    }
}

static int pre_close_connection(conn_rec *c)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);

    if (!conn || c->master || !kapolicy->async) {
        return DECLINED;
    }
    kapolicy_watch_release(conn);
    if (conn->flags & KAPOLICY_OPEN) {
        conn->flags &= ~(unsigned)KAPOLICY_OPEN;
        kapolicy_load_shift(kapolicy->load, 0, -1);
    }
    return DECLINED;
}

void kapolicy_watch_hooks(void)
{
    ap_hook_suspend_connection(suspend_connection, NULL, NULL,
                               APR_HOOK_MIDDLE);
    /* Before mod_kastats's pre_close: it asks how the wait ended. */
    ap_hook_resume_connection(resume_connection, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_close_connection(pre_close_connection, NULL, NULL,
                                 APR_HOOK_FIRST);
}
