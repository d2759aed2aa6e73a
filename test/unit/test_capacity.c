/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/capacity.h"

#define S INT64_C(1000000)
#define M (INT64_C(1) << 20)

/* Outcomes of a made-up site: n = 10,000; workers grow with T. */
static const struct {
    int64_t timeout_us;
    uint64_t connections;
    double held;
} site[] = {{KA_TIMEOUT_OFF, 10000, 5}, {S / 2, 6000, 10}, {S, 5000, 15},
            {2 * S, 4000, 25},          {5 * S, 3000, 50}, {15 * S, 2550, 120},
            {30 * S, 2500, 220},        {65 * S, 2480, 400},
            {115 * S, 2470, 700}};

#define SITE_N (sizeof(site) / sizeof(site[0]))

static void make_site(ka_outcome *outcomes)
{
    size_t i;

    memset(outcomes, 0, SITE_N * sizeof(*outcomes));
    for (i = 0; i < SITE_N; i++) {
        outcomes[i].timeout_us = site[i].timeout_us;
        outcomes[i].requests = 10000;
        outcomes[i].connections = site[i].connections;
        outcomes[i].reuse = 1 - (double)site[i].connections / 10000;
        outcomes[i].held.workers = site[i].held;
        outcomes[i].held.p999 = site[i].held;
        outcomes[i].held.peak = site[i].held * 1.2;
        outcomes[i].busy.workers = 5;
        outcomes[i].busy.p999 = 5;
        outcomes[i].busy.mean = 2;
    }
}

static ka_supply prefork(int64_t memory_bytes)
{
    return (ka_supply){.memory_bytes = memory_bytes,
                       .process_bytes = memory_bytes < 0 ? -1 : 10 * M,
                       .threads_per_child = 1,
                       .holds_idle = true,
                       .growth = 1};
}

static ka_choice choose(const ka_supply *supply, int64_t now_us,
                        int64_t proxy_us)
{
    ka_outcome outcomes[SITE_N];
    ka_fit fits[SITE_N];
    ka_choice_options options = {
        .delta = 0.01, .now_us = now_us, .proxy_idle_us = proxy_us};
    size_t i;

    make_site(outcomes);
    for (i = 0; i < SITE_N; i++) {
        fits[i] = ka_capacity_fit(&outcomes[i], supply);
    }
    return ka_choose(outcomes, fits, SITE_N, supply, &options);
}

static void test_capacity__m18_cases(void **state)
{
    static const struct {
        int64_t memory_bytes, now_us, proxy_us, want_us;
        ka_choice_reason reason;
        bool infeasible;
    } cases[] = {
        /* plenty: the knee, the smallest T with N <= 2470 + 100 */
        {10000 * M, 5 * S, -1, 15 * S, KA_CHOICE_KNEE, false},
        /* 600M: 60 workers, so 5 s fits and 15 s does not */
        {600 * M, 5 * S, -1, 5 * S, KA_CHOICE_FIT, false},
        /* 120M: 0.5 s fits, 1 s is proposed before Off */
        {120 * M, 5 * S, -1, S, KA_CHOICE_PAGE_BURST, false},
        /* 60M: only Off fits */
        {60 * M, 5 * S, -1, KA_TIMEOUT_OFF, KA_CHOICE_OFF_NO_FIT, false},
        /* 20M: nothing fits */
        {20 * M, 5 * S, -1, KA_TIMEOUT_OFF, KA_CHOICE_OFF_NO_FIT, true},
        /* memory not known: never above the present timeout */
        {-1, 5 * S, -1, 5 * S, KA_CHOICE_KEEP, false},
        {-1, KA_TIMEOUT_OFF, -1, KA_TIMEOUT_OFF, KA_CHOICE_KEEP, false},
        /* ... but below it, if the knee is */
        {-1, 65 * S, -1, 15 * S, KA_CHOICE_KNEE, false},
        /* R1: 60 s at the proxy wants 65 s here */
        {10000 * M, 5 * S, 60 * S, 65 * S, KA_CHOICE_PROXY, false},
        {600 * M, 5 * S, 60 * S, 65 * S, KA_CHOICE_PROXY, true},
        /* a proxy that is quicker than the knee asks for nothing */
        {10000 * M, 5 * S, 4 * S, 15 * S, KA_CHOICE_KNEE, false}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_supply supply = prefork(cases[i].memory_bytes);
        ka_choice choice =
            choose(&supply, cases[i].now_us, cases[i].proxy_us);

        if (site[choice.index].timeout_us != cases[i].want_us ||
            choice.reason != cases[i].reason ||
            choice.infeasible != cases[i].infeasible) {
            fail_msg("case %zu: T %lld us, reason %d, infeasible %d", i,
                     (long long)site[choice.index].timeout_us, choice.reason,
                     choice.infeasible);
        }
    }
}

static void test_capacity__event_needs_no_memory_for_the_knee(void **state)
{
    ka_supply supply = {.memory_bytes = -1,
                        .process_bytes = -1,
                        .threads_per_child = 64,
                        .idle_bytes = KA_IDLE_TLS_BYTES,
                        .growth = 1};
    ka_choice choice = choose(&supply, 5 * S, -1);

    (void)state;
    assert_int_equal(site[choice.index].timeout_us, 15 * S);
    assert_false(choice.fit_known);
}

static void test_capacity__m18_little_reuse_is_off(void **state)
{
    ka_outcome outcomes[2] = {
        {.timeout_us = KA_TIMEOUT_OFF, .requests = 100, .connections = 100},
        {.timeout_us = 5 * S, .requests = 100, .connections = 97,
         .reuse = 0.03}};
    ka_supply supply = prefork(1000 * M);
    ka_fit fits[2] = {ka_capacity_fit(&outcomes[0], &supply),
                      ka_capacity_fit(&outcomes[1], &supply)};
    ka_choice_options options = {
        .delta = 0.01, .now_us = 5 * S, .proxy_idle_us = -1};
    ka_choice choice = ka_choose(outcomes, fits, 2, &supply, &options);

    (void)state;
    assert_int_equal(choice.index, 0);
    assert_int_equal(choice.reason, KA_CHOICE_OFF_NO_REUSE);
}

static void test_capacity__m14_memory(void **state)
{
    ka_supply sync = {.memory_bytes = 1000 * M,
                      .process_bytes = 20 * M,
                      .shared_bytes = 100 * M,
                      .threads_per_child = 1,
                      .holds_idle = true,
                      .growth = 1};
    ka_supply event = sync;

    (void)state;
    assert_int_equal(ka_capacity_limit(&sync, 500), 45);
    assert_int_equal(ka_capacity_memory(&sync, 45, 500), 1000 * M);
    event.holds_idle = false;
    event.threads_per_child = 64;
    event.idle_bytes = M;
    /* 1000 - 100 shared - 500 idle = 400: 20 processes of 64 threads */
    assert_int_equal(ka_capacity_limit(&event, 500), 20 * 64);
    assert_int_equal(ka_capacity_memory(&event, 65, 500), 640 * M);
    assert_int_equal(ka_capacity_limit(&event, 5000), 0);
    sync.process_bytes = -1;
    assert_int_equal(ka_capacity_limit(&sync, 0), -1);
    assert_int_equal(ka_capacity_memory(&sync, 1, 0), -1);
}

static void test_capacity__m14_the_limit_itself_fits(void **state)
{
    int64_t memory;

    (void)state;
    for (memory = 0; memory < 400 * M; memory += 7 * M + 12345) {
        ka_supply supply = prefork(memory);
        int64_t limit = ka_capacity_limit(&supply, 0);

        assert_true(ka_capacity_memory(&supply, limit, 0) <= memory);
        assert_true(ka_capacity_memory(&supply, limit + 1, 0) > memory);
    }
}

static void test_capacity__growth_and_silent_connections_add(void **state)
{
    ka_outcome outcome = {.held = {.workers = 40, .p999 = 30, .peak = 50}};
    ka_supply supply = prefork(1000 * M);

    (void)state;
    supply.growth = 1.5;
    supply.extra_mean = 2.2;
    assert_near(ka_capacity_fit(&outcome, &supply).workers, 63, 0);
    assert_near(ka_capacity_fit(&outcome, &supply).connections, 75, 0);
    outcome.held.p999 = 45; /* never under what the trace shows */
    assert_near(ka_capacity_fit(&outcome, &supply).workers, 70, 0);
}

static uint64_t extra_of(void *context, uint32_t m)
{
    return *(uint64_t *)context / m;
}

static void test_capacity__m16_smallest_that_costs_little(void **state)
{
    static const struct {
        uint64_t scale;
        uint32_t want;
    } cases[] = {{0, 100}, {1000, 100}, {1100, 500}, {10000, 1000},
                 {90000, 10000}, {1000000, 0}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t scale = cases[i].scale;

        assert_int_equal(ka_choose_max_requests(10000, extra_of, &scale),
                         cases[i].want);
    }
}

static void test_capacity__m13_async_factor(void **state)
{
    (void)state;
    assert_int_equal(ka_async_factor(128, 10), 2);
    assert_int_equal(ka_async_factor(128, 200), 3); /* 1.031/0.35 */
    assert_int_equal(ka_async_factor(64, 1000), 56);
}

static void test_capacity__m17_only_a_measured_leak(void **state)
{
    (void)state;
    assert_int_equal(ka_max_connections_per_child(-1, 100 * M, 3), 0);
    assert_int_equal(ka_max_connections_per_child(0, 100 * M, 3), 0);
    assert_int_equal(ka_max_connections_per_child(1024, 100 * M, 4), 25600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_capacity__m18_cases),
        unit_test(test_capacity__event_needs_no_memory_for_the_knee),
        unit_test(test_capacity__m18_little_reuse_is_off),
        unit_test(test_capacity__m14_memory),
        unit_test(test_capacity__m14_the_limit_itself_fits),
        unit_test(test_capacity__growth_and_silent_connections_add),
        unit_test(test_capacity__m16_smallest_that_costs_little),
        unit_test(test_capacity__m13_async_factor),
        unit_test(test_capacity__m17_only_a_measured_leak)};

    return unit_main(tests);
}
