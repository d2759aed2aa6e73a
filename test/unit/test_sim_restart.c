/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A graceful restart in the simulation (R10): what it closes, and who waits.
 */
#include "unit.h"
#include "sim_fixed.h"

#define SEC INT64_C(1000000)
#define CLIENTS 40

/* Clients that come in the first second and ask again every 10 s: idle at all
 * other times, for KeepAliveTimeout 15. */
typedef struct regulars {
    ka_sim_chain chains[CLIENTS];
    ka_sim_request requests[CLIENTS * 6];
    ka_sim_traffic traffic;
} regulars;

static regulars *make_regulars(apr_pool_t *pool)
{
    regulars *r = apr_pcalloc(pool, sizeof(*r));
    size_t i, k;

    for (i = 0; i < CLIENTS; i++) {
        r->chains[i] = (ka_sim_chain){
            .start_us = (int64_t)i * SEC / CLIENTS, .first = i * 6, .n = 6};
        for (k = 0; k < 6; k++) {
            r->requests[i * 6 + k] = (ka_sim_request){
                .gap_us = k ? 10 * SEC : 0, .busy_us = SEC / 10, .requests = 1};
        }
    }
    r->traffic = (ka_sim_traffic){.chains = r->chains,
                                  .chain_n = CLIENTS,
                                  .requests = r->requests,
                                  .request_n = CLIENTS * 6,
                                  .end_us = 60 * SEC};
    return r;
}

static ka_sim_config config_of(ka_mpm mpm, int64_t restart_us)
{
    ka_sim_config c = sim_fixed(mpm, mpm == KA_MPM_PREFORK ? 200 : 8,
                                mpm == KA_MPM_PREFORK ? 1 : 25);

    c.timeout_us = 15 * SEC;
    c.max_requests = 0;
    c.restart_us = restart_us;
    return c;
}

static ka_sim_result run(const ka_sim_config *config, apr_pool_t *pool)
{
    regulars *r = make_regulars(pool);
    ka_sim_result result;

    assert_int_equal(ka_sim_run(&result, config, &r->traffic, 1, pool),
                     APR_SUCCESS);
    assert_int_equal(result.outcome.requests + result.given_up, CLIENTS * 6);
    return result;
}

static void test_sim_restart__none_changes_nothing(void **state)
{
    const int64_t none[] = {-1, 60 * SEC, INT64_MAX};
    size_t i;

    for (i = 0; i < 3; i++) {
        ka_sim_config c = config_of(KA_MPM_EVENT, none[i]);
        ka_sim_result r = run(&c, *state);

        assert_int_equal(r.outcome.connections, CLIENTS);
        assert_int_equal(r.restart.closed + r.restart.waited, 0);
        assert_int_equal(r.retired, 0);
        assert_int_equal(r.spawned + r.ended, 0);
    }
}

/* All are idle at 25 s, and come back as they next ask. */
static void test_sim_restart__event_closes_the_idle(void **state)
{
    ka_sim_config c = config_of(KA_MPM_EVENT, 25 * SEC);
    ka_sim_result r = run(&c, *state);

    assert_int_equal(r.restart.closed, CLIENTS);
    assert_int_equal(r.outcome.connections, 2 * CLIENTS);
    assert_int_equal(r.restart.opened_before, 0);
    assert_int_equal(r.restart.opened_after, CLIENTS);
    assert_int_equal(r.restart.waited, 0);
    assert_int_equal(r.ended, 8);
    assert_int_equal(r.spawned, 8);
    assert_int_equal(r.children_most, 8); /* the old ones are gone at once */
    assert_int_equal(r.given_up, 0);
}

/* prefork and worker serve one request more on each. */
static void test_sim_restart__the_others_let_them_ask_once_more(void **state)
{
    static const ka_mpm mpms[] = {KA_MPM_PREFORK, KA_MPM_WORKER};
    size_t i;

    for (i = 0; i < 2; i++) {
        ka_sim_config c = config_of(mpms[i], 25 * SEC);
        ka_sim_result r = run(&c, *state);

        assert_int_equal(r.restart.closed, 0);
        assert_int_equal(r.outcome.connections, 2 * CLIENTS);
        assert_int_equal(r.outcome.requests, CLIENTS * 6);
        assert_int_equal(r.restart.opened_after, 0); /* they ask at 30 s */
    }
}

/* Two children of 2 threads at first, where the old ones were eight: the wave
 * waits for those that are started second by second. */
static void test_sim_restart__few_to_start_with(void **state)
{
    ka_sim_config c = config_of(KA_MPM_EVENT, 29 * SEC);
    ka_sim_result r;

    c.spawn.start_servers = 1;
    c.spawn.threads_per_child = 2;
    c.spawn.server_limit = 100;
    c.spawn.max_request_workers = 100;
    c.spawn.min_spare = 2;
    c.async_factor = 1;
    r = run(&c, *state);
    assert_true(r.restart.waited > CLIENTS / 4);
    assert_true(r.restart.wait_most_us > SEC / 2);
    assert_true(r.restart.wait_most_us <= r.wait_most_us);
}

/* The scoreboard of prefork is full of the old generation: 40 slots, as many
 * clients that hold them. */
static void test_sim_restart__no_slot_for_the_new(void **state)
{
    ka_sim_config c = config_of(KA_MPM_PREFORK, 25 * SEC);
    ka_sim_result r;

    c.spawn.start_servers = c.spawn.server_limit = CLIENTS;
    c.spawn.max_request_workers = CLIENTS;
    r = run(&c, *state);
    assert_int_equal(r.children_most, CLIENTS);
    assert_int_equal(r.given_up, 0);
    assert_int_equal(r.outcome.connections, 2 * CLIENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim_restart__none_changes_nothing),
        unit_test(test_sim_restart__event_closes_the_idle),
        unit_test(test_sim_restart__the_others_let_them_ask_once_more),
        unit_test(test_sim_restart__few_to_start_with),
        unit_test(test_sim_restart__no_slot_for_the_new)};

    return unit_main(tests);
}
