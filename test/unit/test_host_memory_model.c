/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What memory.h computes, on made-up numbers. */
#include "unit.h"
#include "host/memory.h"

#define M (INT64_C(1) << 20)

/* ---- [M17] ------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static double uniform(uint32_t *seed)
{
    return next_random(seed) / 16777216.0;
}

static void test_memory__m17_leak_cases(void **state)
{
    static const struct {
        const char *what;
        size_t n;
        double least, most; /* requests */
        double leak, fill;  /* bytes a request; working set, filled by 1000 */
        double noise;       /* bytes */
        bool measured;
        double base; /* bytes of a child at its start; 0: 30 MB */
    } cases[] = {{"none", 40, 200, 20000, 0, 0, 1e6, false, 0},
                 {"clear", 40, 200, 20000, 1000, 0, 1e6, true, 0},
                 {"without noise", 5, 200, 20000, 1000, 0, 0, true, 0},
                 {"hidden by noise", 10, 200, 2000, 100, 0, 1e7, false, 0},
                 {"too few", 4, 200, 20000, 1000, 0, 0, false, 0},
                 {"cold", 40, 0, 150, 5000, 0, 0, false, 0},
                 {"all alike", 40, 5000, 5000, 0, 0, 1e6, false, 0},
                 {"working set fills", 40, 200, 20000, 0, 1e7, 1e5, false, 0},
                 {"shrinks", 40, 200, 20000, -1000, 0, 1e6, false, 0},
                 {"too small to matter", 40, 200, 20000, 10, 0, 0, false, 0},
                 {"a small child's garbage", 40, 200, 2000, 50, 0, 1e4, false,
                  1e6},
                 {"a small child's leak", 40, 200, 2000, 700, 0, 1e4, true,
                  1e6}};
    ka_memory_child children[40];
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t seed = 5;
        ka_memory_leak leak;

        memset(children, 0, sizeof(children));
        for (k = 0; k < cases[i].n; k++) {
            double x = cases[i].least + (cases[i].most - cases[i].least) *
                                            (double)k /
                                            (double)(cases[i].n - 1);
            double y = (cases[i].base > 0 ? cases[i].base : 3e7) +
                       cases[i].leak * x +
                       cases[i].fill * (1 - exp(-x / 1000)) +
                       cases[i].noise * (uniform(&seed) - 0.5);

            children[k].requests = (int64_t)x;
            children[k].memory.uss = (int64_t)y;
        }
        leak = ka_memory_leak_of(children, cases[i].n);
        if (leak.measured != cases[i].measured) {
            fail_msg("%s: measured %d, %.4g +- %.4g bytes a request",
                     cases[i].what, leak.measured, leak.bytes_per_request,
                     leak.error);
        }
        if (leak.measured) {
            assert_near(leak.bytes_per_request, cases[i].leak,
                        3 * leak.error + 1);
        }
        else {
            assert_near(leak.bytes_per_request, 0, 0);
        }
    }
}

/* Five children without a leak, in much noise: chance alone seldom passes. */
static void test_memory__m17_chance_is_seldom_taken_for_a_leak(void **state)
{
    ka_memory_child children[5];
    uint32_t seed = 11, i, k, measured = 0;

    (void)state;
    memset(children, 0, sizeof(children));
    for (i = 0; i < 2000; i++) {
        for (k = 0; k < 5; k++) {
            children[k].requests = 200 + next_random(&seed) % 20000;
            children[k].memory.uss = (int64_t)(3e7 + 2e7 * uniform(&seed));
        }
        measured += ka_memory_leak_of(children, 5).measured;
    }
    assert_true(measured < 2000 * 5 / 100);
}

/* Below a limit from above a container is all that can be seen. */
static void test_memory__m14_hidden_limit_holds_everything(void **state)
{
    static const ka_memory no_httpd;
    ka_cgroup cgroup = {
        .memory = apr_array_make(*state, 1, sizeof(ka_cgroup_memory))};
    ka_memory_others others = {
        .processes = apr_array_make(*state, 1, sizeof(ka_memory_other))};
    ka_machine machine = {0};
    ka_memory_budget budget;
    ka_cgroup_memory *group = apr_array_push(cgroup.memory);

    *group = (ka_cgroup_memory){.path = "/a",
                                .origin = "test",
                                .seen = false,
                                .limit_bytes = 100 * M,
                                .used_bytes = -1};
    APR_ARRAY_PUSH(others.processes, ka_memory_other) =
        (ka_memory_other){.name = "x", .group = "/b", .bytes = 30 * M};
    ka_memory_budget_make(&budget, &machine, &cgroup, &no_httpd, &others, 0,
                          *state);
    assert_int_equal(budget.bytes, 70 * M);
    assert_string_equal(budget.bounds[0].name, "above /a");
    group->seen = true;
    ka_memory_budget_make(&budget, &machine, &cgroup, &no_httpd, &others, 0,
                          *state);
    assert_int_equal(budget.bytes, 100 * M);
}

/* ---- nothing adds up to more than there is ----------------------------- */

/* A size, now and then one that a file could only hold by mistake. */
static int64_t size(uint32_t *seed, int64_t most)
{
    switch (next_random(seed) % 16) {
    case 0:
        return 0;
    case 1:
        return INT64_MAX;
    case 2:
        return -1;
    default:
        return (int64_t)(uniform(seed) * (double)most);
    }
}

static int64_t known(int64_t value)
{
    return value < 0 ? 0 : value;
}

static void random_memory(ka_memory *m, ka_memory_child *children,
                          uint32_t *seed, apr_pool_t *pool)
{
    size_t i;

    *m = (ka_memory){.children = children, .child_n = next_random(seed) % 8};
    m->parent = (ka_process_memory){KA_MEASURE_ROLLUP, 0, 0, 0, 0, 0};
    m->parent.pss = known(size(seed, 50 * M));
    for (i = 0; i < m->child_n; i++) {
        ka_process_memory *p = &children[i].memory;
        int64_t uss = known(size(seed, 100 * M));

        *p = (ka_process_memory){KA_MEASURE_ROLLUP,     uss, uss, uss, 0,
                                 known(size(seed, uss))};
        children[i].requests = next_random(seed) % 400;
        children[i].age_us = size(seed, INT64_C(1) << 50);
        children[i].cpu_us = known(size(seed, INT64_C(1) << 50));
        children[i].threads = (int)(next_random(seed) % 3);
        if (next_random(seed) % 8 == 0) {
            p->measure = KA_MEASURE_RSS;
            p->pss = p->uss = -1;
        }
    }
    ka_memory_fit(m, pool);
}

static void random_others(ka_memory_others *others, ka_cgroup *cgroup,
                          uint32_t *seed, apr_pool_t *pool)
{
    static const char *const groups[] = {"/a/b/c", "/a/b", "/a",
                                         "/",      "/x",   NULL};
    uint32_t i, n = next_random(seed) % 20, limits = next_random(seed) % 4;

    *cgroup = (ka_cgroup){0};
    cgroup->memory = apr_array_make(pool, 4, sizeof(ka_cgroup_memory));
    for (i = 0; i < limits; i++) {
        APR_ARRAY_PUSH(cgroup->memory, ka_cgroup_memory) =
            (ka_cgroup_memory){.path = groups[i],
                               .origin = "test",
                               .seen = next_random(seed) % 4 != 0,
                               .limit_bytes = known(size(seed, 4096 * M)),
                               .used_bytes = size(seed, 4096 * M)};
    }
    *others = (ka_memory_others){
        .processes = apr_array_make(pool, 4, sizeof(ka_memory_other))};
    for (i = 0; i < n; i++) {
        int64_t bytes = known(size(seed, 500 * M));

        APR_ARRAY_PUSH(others->processes, ka_memory_other) =
            (ka_memory_other){.name = "x",
                              .group = groups[next_random(seed) % 6],
                              .bytes = bytes};
        others->bytes = bytes > INT64_MAX - others->bytes
                            ? INT64_MAX
                            : others->bytes + bytes;
    }
}

static void test_memory__m14_never_more_than_there_is(void **state)
{
    ka_memory_child children[8];
    uint32_t seed = 1, i;

    for (i = 0; i < 20000; i++) {
        ka_machine machine = {.known = true};
        ka_memory_others others;
        ka_memory_budget budget;
        ka_cgroup cgroup;
        apr_pool_t *pool;
        int64_t n;
        ka_memory m;
        size_t k;

        assert_int_equal(apr_pool_create(&pool, *state), APR_SUCCESS);
        memset(children, 0, sizeof(children));
        random_memory(&m, children, &seed, pool);
        random_others(&others, &cgroup, &seed, pool);
        machine.total = known(size(&seed, 8192 * M));
        machine.available = size(&seed, machine.total);
        machine.free_bytes = size(&seed, machine.total);
        ka_memory_budget_make(&budget, &machine, &cgroup, &m, &others,
                              uniform(&seed), pool);
        n = ka_memory_children(&m, budget.bytes);
        for (k = 0; k < budget.n; k++) {
            const ka_memory_bound *b = &budget.bounds[k];

            assert_true(b->others >= 0 && b->headroom >= 0 && b->bytes >= 0);
            assert_true(b->others <= b->limit);
            assert_true(b->headroom <= b->limit - b->others);
            assert_true(b->bytes <= b->limit - b->others - b->headroom);
            assert_true(budget.bytes <= b->bytes);
            if (n > 0) {
                assert_true((__int128)m.shared_bytes +
                                (__int128)n * m.unique_bytes + b->others +
                                b->headroom <=
                            b->limit);
            }
        }
        apr_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_memory__m17_leak_cases),
        unit_test(test_memory__m17_chance_is_seldom_taken_for_a_leak),
        unit_test(test_memory__m14_hidden_limit_holds_everything),
        unit_test(test_memory__m14_never_more_than_there_is)};

    return unit_main(tests);
}
