/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One job at a time.  Threads join it while it is open; it closes when the
 * caller finds no item left, and a thread that wakes up too late just goes
 * back to sleep, so that a small job never waits for a slow wake-up:
 *
 *     caller   | open | items ......... | close | wait for those who joined |
 *     thread         | join | items ...... | leave |
 *     thread                                    | too late |
 */
#include "crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct seat {
    ka_crew *crew;
    size_t worker;
    pthread_t thread;
} seat;

struct ka_crew {
    size_t size;
    seat seats[KA_CREW_MAX]; /* seats[0] is the caller's: no thread */
    atomic_size_t next;      /* item to be handed out */
    pthread_mutex_t lock;    /* of all below */
    pthread_cond_t opened, left;
    ka_crew_fn *fn;
    void *context;
    size_t item_n;
    uint64_t job; /* counts them, so that nobody joins one twice */
    bool open;
    size_t joined;
    bool ending;
};

static void do_items(ka_crew *crew, ka_crew_fn *fn, void *context,
                     size_t item_n, size_t worker)
{
    size_t item;

    /* The lock publishes what items read and write. */
    while ((item = atomic_fetch_add_explicit(&crew->next, 1,
                                             memory_order_relaxed))
           < item_n) {
        fn(context, item, worker);
    }
}

/* Waits for a job to join; false at the end. */
static bool join_job(ka_crew *crew, uint64_t *seen)
{
    while (!crew->ending && !(crew->open && crew->job != *seen)) {
        pthread_cond_wait(&crew->opened, &crew->lock);
    }
    *seen = crew->job;
    crew->joined += !crew->ending;
    return !crew->ending;
}

static void *work(void *data)
{
    const seat *self = data;
    ka_crew *crew = self->crew;
    uint64_t seen = 0;

    pthread_mutex_lock(&crew->lock);
    while (join_job(crew, &seen)) {
        ka_crew_fn *fn = crew->fn;
        void *context = crew->context;
        const size_t item_n = crew->item_n;

        pthread_mutex_unlock(&crew->lock);
        do_items(crew, fn, context, item_n, self->worker);
        pthread_mutex_lock(&crew->lock);
        if (--crew->joined == 0) {
            pthread_cond_signal(&crew->left);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static apr_status_t crew_cleanup(void *data)
{
    ka_crew *crew = data;

    pthread_mutex_lock(&crew->lock);
    crew->ending = true;
    pthread_cond_broadcast(&crew->opened);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 1; i < crew->size; i++) {
        pthread_join(crew->seats[i].thread, NULL);
    }
    pthread_cond_destroy(&crew->left);
    pthread_cond_destroy(&crew->opened);
    pthread_mutex_destroy(&crew->lock);
    return APR_SUCCESS;
}

static size_t processors(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    /* Fails where the kernel's set is larger than ours: many processors. */
    if (sched_getaffinity(0, sizeof(set), &set)) {
        return KA_CREW_MAX;
    }
    return (size_t)CPU_COUNT(&set);
}

/* Signals are for the caller's thread. */
static void start_threads(ka_crew *crew, size_t workers)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (crew->size = 1; crew->size < workers; crew->size++) {
        seat *s = &crew->seats[crew->size];

        *s = (seat){.crew = crew, .worker = crew->size};
        if (pthread_create(&s->thread, NULL, work, s)) {
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

apr_status_t ka_crew_make(ka_crew **out, size_t workers, apr_pool_t *pool)
{
    ka_crew *crew = apr_pcalloc(pool, sizeof(*crew));

    if (workers == 0) {
        workers = processors();
    }
    if (workers > KA_CREW_MAX) {
        workers = KA_CREW_MAX;
    }
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->opened, NULL);
    pthread_cond_init(&crew->left, NULL);
    start_threads(crew, workers);
    /* Before the pool's own memory and its subpools go. */
    apr_pool_pre_cleanup_register(pool, crew, crew_cleanup);
    *out = crew;
    return APR_SUCCESS;
}

size_t ka_crew_size(const ka_crew *crew)
{
    return crew->size;
}

void ka_crew_run(ka_crew *crew, ka_crew_fn *fn, void *context, size_t item_n)
{
    const bool alone = crew->size == 1 || item_n <= 1;

    atomic_store_explicit(&crew->next, 0, memory_order_relaxed);
    if (alone) {
        do_items(crew, fn, context, item_n, 0);
        return;
    }
    pthread_mutex_lock(&crew->lock);
    crew->fn = fn;
    crew->context = context;
    crew->item_n = item_n;
    crew->job++;
    crew->open = true;
    pthread_cond_broadcast(&crew->opened);
    pthread_mutex_unlock(&crew->lock);

    do_items(crew, fn, context, item_n, 0);

    pthread_mutex_lock(&crew->lock);
    crew->open = false;
    while (crew->joined) {
        pthread_cond_wait(&crew->left, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
}
