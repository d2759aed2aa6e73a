/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Threads that share the items of a job: each item once, all done at the
 * end, jobs one after another. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "crew.h"

typedef struct tally {
    uint32_t *done; /* done[item]: not atomic, one writer each */
    size_t workers;
    atomic_size_t strangers; /* worker numbers out of range */
} tally;

static ka_crew *crew_of(void **state, size_t workers)
{
    ka_crew *crew = NULL;

    assert_int_equal(ka_crew_make(&crew, workers, *state), APR_SUCCESS);
    return crew;
}

static void count(void *context, size_t item, size_t worker)
{
    tally *self = context;

    self->done[item]++;
    if (worker >= self->workers) {
        atomic_fetch_add(&self->strangers, 1);
    }
}

static void test_crew__every_item_once(void **state)
{
    static const size_t items[] = {0, 1, 2, 3, 17, 1000};

    for (size_t workers = 1; workers <= 8; workers++) {
        ka_crew *crew = crew_of(state, workers);

        assert_int_equal(ka_crew_size(crew), workers);
        for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
            tally t = {.done = apr_pcalloc(*state, 1001 * sizeof(uint32_t)),
                       .workers = workers};

            ka_crew_run(crew, count, &t, items[i]);
            for (size_t k = 0; k < 1001; k++) {
                assert_int_equal(t.done[k], k < items[i]);
            }
            assert_int_equal(atomic_load(&t.strangers), 0);
        }
    }
}

/* What a job wrote is there for the caller, and for the next job. */
static void sum_up(void *context, size_t item, size_t worker)
{
    uint64_t *cells = context;

    (void)worker;
    cells[item] = cells[item] * 3 + item;
}

static void test_crew__jobs_see_what_earlier_ones_wrote(void **state)
{
    enum { CELLS = 50, JOBS = 2000 };
    ka_crew *crew = crew_of(state, 4);
    uint64_t cells[CELLS] = {0}, wanted[CELLS] = {0};

    for (int job = 0; job < JOBS; job++) {
        ka_crew_run(crew, sum_up, cells, CELLS);
        for (size_t i = 0; i < CELLS; i++) {
            sum_up(wanted, i, 0);
            assert_true(cells[i] == wanted[i]);
            cells[i]++;
            wanted[i]++;
        }
    }
}

/* Items 0 and 1 end only when both are being done: two at a time. */
typedef struct meeting {
    pthread_barrier_t barrier;
    size_t worker[2];
} meeting;

static void meet(void *context, size_t item, size_t worker)
{
    meeting *self = context;

    self->worker[item] = worker;
    pthread_barrier_wait(&self->barrier);
}

static void test_crew__items_run_side_by_side(void **state)
{
    ka_crew *crew = crew_of(state, 2);
    meeting m;

    pthread_barrier_init(&m.barrier, NULL, 2);
    ka_crew_run(crew, meet, &m, 2);
    pthread_barrier_destroy(&m.barrier);
    assert_int_equal(m.worker[0] + m.worker[1], 1);
}

/* The caller is done with its item long before the other thread is. */
typedef struct straggler {
    meeting meeting;
    bool done[2];
} straggler;

static void linger(void *context, size_t item, size_t worker)
{
    straggler *self = context;

    meet(&self->meeting, item, worker);
    for (int i = 0; worker && i < 1000; i++) {
        sched_yield();
    }
    self->done[item] = true;
}

static void test_crew__returns_when_all_are_done(void **state)
{
    ka_crew *crew = crew_of(state, 2);

    for (int i = 0; i < 20; i++) {
        straggler s = {.done = {false, false}};

        pthread_barrier_init(&s.meeting.barrier, NULL, 2);
        ka_crew_run(crew, linger, &s, 2);
        pthread_barrier_destroy(&s.meeting.barrier);
        assert_true(s.done[0] && s.done[1]);
    }
}

static void note_thread(void *context, size_t item, size_t worker)
{
    *(bool *)context &= worker == 0 && item < 5;
}

static void test_crew__one_is_the_caller(void **state)
{
    ka_crew *crew = crew_of(state, 1);
    bool ours = true;

    ka_crew_run(crew, note_thread, &ours, 5);
    assert_true(ours);
}

static void test_crew__size_is_bounded_and_follows_the_affinity(void **state)
{
    cpu_set_t before, one;

    assert_int_equal(ka_crew_size(crew_of(state, 1000)), KA_CREW_MAX);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(ka_crew_size(crew_of(state, 0)), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_true(ka_crew_size(crew_of(state, 0))
                == (size_t)(CPU_COUNT(&before) < KA_CREW_MAX
                                ? CPU_COUNT(&before)
                                : KA_CREW_MAX));
}

typedef struct masks {
    meeting meeting;
    sigset_t of[2];
} masks;

static void note_signals(void *context, size_t item, size_t worker)
{
    masks *self = context;

    pthread_sigmask(SIG_SETMASK, NULL, &self->of[worker]);
    meet(&self->meeting, item, worker);
}

/* SIGINT must reach the thread that knows what to do. */
static void test_crew__threads_block_signals(void **state)
{
    masks m;

    pthread_barrier_init(&m.meeting.barrier, NULL, 2);
    ka_crew_run(crew_of(state, 2), note_signals, &m, 2);
    pthread_barrier_destroy(&m.meeting.barrier);
    assert_false(sigismember(&m.of[0], SIGINT));
    assert_true(sigismember(&m.of[1], SIGINT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_crew__every_item_once),
        unit_test(test_crew__jobs_see_what_earlier_ones_wrote),
        unit_test(test_crew__items_run_side_by_side),
        unit_test(test_crew__returns_when_all_are_done),
        unit_test(test_crew__one_is_the_caller),
        unit_test(test_crew__size_is_bounded_and_follows_the_affinity),
        unit_test(test_crew__threads_block_signals),
    };

    return unit_main(tests);
}
