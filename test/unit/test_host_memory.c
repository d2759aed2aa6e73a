/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "host/memory.h"

#define M (INT64_C(1) << 20)
#define ROOT(name) "test/data/proc/" name

typedef struct fixture {
    apr_array_header_t *processes;
    ka_memory memory;
    ka_cgroup cgroup;
    ka_memory_others others;
    ka_machine machine;
    ka_memory_budget budget;
} fixture;

static fixture gather(const char *root, int parent,
                      const ka_memory_requests *requests, size_t n,
                      apr_pool_t *pool)
{
    fixture f;

    assert_int_equal(ka_processes_read(&f.processes, root, pool), APR_SUCCESS);
    ka_memory_read(&f.memory, root, parent, f.processes, requests, n, pool);
    ka_cgroup_read(&f.cgroup, root, parent, pool);
    ka_memory_others_read(&f.others, root, f.processes, &f.memory,
                          f.cgroup.version, pool);
    ka_machine_read(&f.machine, root, pool);
    ka_memory_budget_make(&f.budget, &f.machine, &f.cgroup, &f.memory,
                          &f.others, KA_MEMORY_HEADROOM, pool);
    return f;
}

static void test_memory__m14_shared_once_and_unique_of_the_warm(void **state)
{
    fixture f = gather(ROOT("prefork-v2"), 1000, NULL, 0, *state);
    const ka_memory *m = &f.memory;

    assert_true(m->known);
    assert_int_equal(m->measure, KA_MEASURE_ROLLUP);
    assert_int_equal(m->child_n, 4);
    assert_int_equal(m->warm_n, 3);
    assert_int_equal(m->pss_sum, 114 * M);
    assert_int_equal(m->shared_bytes, 42 * M); /* 114 - (20 + 22 + 24 + 6) */
    assert_int_equal(m->unique_bytes, 22 * M);
    assert_int_equal(m->unique_most, 24 * M);
    assert_int_equal(m->held, 70 * M);
    assert_int_equal(m->swap_bytes, 3 * M);
    assert_int_equal(m->threads, 1);
    assert_int_equal(m->trust, KA_TRUST_MEDIUM);
    assert_int_equal(m->wait_us, 0);
    assert_non_null(strstr(m->origin, "smaps_rollup of 4 children"));
    assert_non_null(strstr(m->remark, "age and processor time"));
}

static void test_memory__requests_tell_who_is_warm(void **state)
{
    static const ka_memory_requests requests[] = {
        {1001, 1000}, {1002, 150}, {1003, 100}, {1004, 20}};
    static const ka_memory_requests all[] = {
        {1001, 1000}, {1002, 900}, {1003, 800}, {1004, 20}};
    fixture few = gather(ROOT("prefork-v2"), 1000, requests, 4, *state);
    fixture enough = gather(ROOT("prefork-v2"), 1000, all, 4, *state);

    assert_int_equal(few.memory.warm_n, 1);
    assert_int_equal(few.memory.unique_bytes, 20 * M);
    assert_int_equal(few.memory.trust, KA_TRUST_LOW);
    /* The third: 1004 has 20 in 10 s, 180 more take 90 s; 1002 would take
     * longer. */
    assert_int_equal(few.memory.children[3].age_us, 10 * 1000000);
    assert_int_equal(few.memory.wait_us, INT64_C(28780) * 1000000);
    assert_non_null(strstr(few.memory.remark, "1 of 4 children are warm"));
    assert_int_equal(enough.memory.trust, KA_TRUST_HIGH);
    assert_null(enough.memory.remark);
}

static void test_memory__without_requests_there_is_no_wait(void **state)
{
    ka_memory_child children[3] = {{.pid = 2}, {.pid = 3}, {.pid = 4}};
    ka_memory m = {.parent = {KA_MEASURE_ROLLUP, M, M, M, 0, 0},
                   .children = children,
                   .child_n = 3};
    size_t i;

    for (i = 0; i < 3; i++) {
        children[i].memory =
            (ka_process_memory){KA_MEASURE_ROLLUP, M, M, M, 0, 0};
        children[i].age_us = 1000000;
        children[i].requests = 0;
    }
    ka_memory_fit(&m, *state);
    assert_int_equal(m.warm_n, 0);
    assert_int_equal(m.wait_us, -1);
    assert_non_null(strstr(m.remark, "put load on it"));
    assert_int_equal(m.unique_bytes, M); /* of cold ones, and it is said */
    assert_int_equal(m.trust, KA_TRUST_LOW);
}

/* smaps of an older kernel; the one without threads is mod_cgid's daemon. */
static void test_memory__m14_smaps_and_helpers(void **state)
{
    fixture f = gather(ROOT("docker-v1"), 1, NULL, 0, *state);
    const ka_memory *m = &f.memory;

    assert_int_equal(m->measure, KA_MEASURE_SMAPS);
    assert_int_equal(m->child_n, 2);
    assert_int_equal(m->threads, 28);
    assert_int_equal(m->pss_sum, 80 * M);
    assert_int_equal(m->shared_bytes, 16 * M);
    assert_int_equal(m->unique_bytes, 32 * M);
    assert_int_equal(m->held, 63 * M);
    assert_int_equal(f.others.bytes, 67 * M);
}

/* RSS is an upper bound: no size of a child is made of it. */
static void test_memory__rss_is_never_the_truth(void **state)
{
    fixture f = gather(ROOT("not-root"), 1000, NULL, 0, *state);
    const ka_memory *m = &f.memory;

    assert_int_equal(m->measure, KA_MEASURE_RSS);
    assert_false(m->known);
    assert_int_equal(m->child_n, 3);
    assert_int_equal(m->shared_bytes, -1);
    assert_int_equal(m->unique_bytes, -1);
    assert_int_equal(m->pss_sum, -1);
    assert_int_equal(m->held, 24 * M); /* the largest one's own pages */
    assert_int_equal(m->trust, KA_TRUST_LOW);
    assert_non_null(strstr(m->origin, "over-counts"));
    assert_non_null(strstr(m->remark, "run as root"));
    assert_int_equal(ka_memory_children(m, 1000 * M), -1);
    assert_true(f.others.upper_bound);
    assert_int_equal(f.others.bytes, 900 * M);
    assert_true(f.budget.bounds[0].others_upper_bound);
}

static void test_memory__others_are_named(void **state)
{
    fixture f = gather(ROOT("prefork-v2"), 1000, NULL, 0, *state);
    const ka_service *s = (const ka_service *)f.others.services->elts;

    assert_int_equal(f.others.bytes, 701 * M);
    assert_false(f.others.upper_bound);
    assert_int_equal(f.others.services->nelts, 6);
    assert_string_equal(s[0].name, "mariadbd");
    assert_string_equal(s[0].kind, "database");
    assert_string_equal(s[1].name, "php-fpm8.2");
    assert_string_equal(s[1].kind, "PHP");
    assert_int_equal(s[1].processes, 3);
    assert_int_equal(s[1].bytes, 90 * M);
    assert_null(s[2].kind); /* systemd */
}

static void test_memory__m14_budget_is_that_of_the_tightest(void **state)
{
    fixture f = gather(ROOT("prefork-v2"), 1000, NULL, 0, *state);
    const ka_memory_bound *b = f.budget.bounds;

    assert_int_equal(f.budget.n, 3);
    assert_string_equal(b[0].name, "machine");
    assert_int_equal(b[0].others, 1726 * M); /* 4096 - 2300 - 70 */
    assert_string_equal(b[1].name, "/system.slice/apache2.service");
    assert_int_equal(b[1].others, 90 * M); /* 160 - 70 */
    assert_string_equal(b[2].name, "/system.slice");
    assert_int_equal(b[2].others, 930 * M); /* 1000 - 70, above 691 */
    assert_int_equal(f.budget.tightest, 2);
    /* 2048 - 930 - 204.8 */
    assert_near((double)f.budget.bytes / M, 913.2, 1e-5);
    assert_int_equal(ka_memory_children(&f.memory, f.budget.bytes), 39);
}

static void test_memory__m14_limit_from_above_a_container(void **state)
{
    fixture f = gather(ROOT("docker-v1"), 1, NULL, 0, *state);

    assert_int_equal(f.budget.n, 2);
    assert_int_equal(f.budget.tightest, 1);
    assert_int_equal(f.budget.bounds[1].others, 67 * M);
    assert_near((double)f.budget.bytes / M, 512 - 67 - 51.2, 1e-5);
    assert_int_equal(ka_memory_children(&f.memory, f.budget.bytes), 11);
}

static void test_memory__broken_files_are_survived(void **state)
{
    fixture f = gather(ROOT("broken"), 101, NULL, 0, *state);

    assert_int_equal(f.processes->nelts, 2); /* 100 and 103 hold no process */
    assert_int_equal(f.memory.child_n, 0);   /* 102 went while it was read */
    assert_false(f.memory.known);
    assert_false(f.machine.known);
    assert_int_equal(f.budget.n, 0);
    assert_int_equal(f.budget.bytes, -1);
    assert_int_equal(ka_memory_children(&f.memory, f.budget.bytes), -1);
}

static void test_procfs__names_may_hold_brackets(void **state)
{
    ka_process p;

    assert_int_equal(ka_process_read(&p, ROOT("prefork-v2"), 2300, *state),
                     APR_SUCCESS);
    assert_string_equal(p.comm, "my (odd) name)");
    assert_int_equal(p.ppid, 1);
    assert_int_equal(p.threads, 1);
}

static void test_procfs__numbers(void **state)
{
    static const char text[] =
        "MemTotal:       1024 kB\nMem:  7\nbig 99999999999999999999\nx:\n5\n"
        "kb 99999999999999999 kB\nno number\nmax max\n";
    static const struct {
        const char *key;
        bool found;
        int64_t value;
    } cases[] = {{"MemTotal", true, 1 << 20}, {"Mem", true, 7},
                 {"big", true, INT64_MAX},    {"x", false, 0},
                 {"kb", true, INT64_MAX},     {"no", false, 0},
                 {"max", true, INT64_MAX},    {"M", false, 0},
                 {"absent", false, 0}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 0;
        bool found = ka_procfs_field(&value, text, cases[i].key);

        if (found != cases[i].found || value != cases[i].value) {
            fail_msg("%s: %d, %lld", cases[i].key, found, (long long)value);
        }
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Files as they are, with bytes changed: whatever comes out, nothing breaks. */
static void test_procfs__changed_bytes_are_survived(void **state)
{
    static const char *const paths[] = {
        "/proc/1001/stat", "/proc/1001/smaps_rollup", "/proc/meminfo"};
    uint32_t seed = 3, i;

    for (i = 0; i < 30000; i++) {
        const char *text;
        char *changed;
        ka_process process;
        ka_process_memory memory = {0};
        int64_t value;
        size_t n, k;
        apr_pool_t *pool;

        assert_int_equal(apr_pool_create(&pool, *state), APR_SUCCESS);
        assert_int_equal(
            ka_procfs_read(&text, ROOT("prefork-v2"), paths[i % 3], pool),
            APR_SUCCESS);
        n = strlen(text);
        changed = (char *)text;
        for (k = 0; k < 4; k++) {
            changed[next_random(&seed) % n] = (char)next_random(&seed);
        }
        ka_process_parse(&process, changed, pool);
        ka_smaps_parse(&memory, changed);
        ka_procfs_field(&value, changed, "MemTotal");
        apr_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_memory__m14_shared_once_and_unique_of_the_warm),
        unit_test(test_memory__requests_tell_who_is_warm),
        unit_test(test_memory__without_requests_there_is_no_wait),
        unit_test(test_memory__m14_smaps_and_helpers),
        unit_test(test_memory__rss_is_never_the_truth),
        unit_test(test_memory__others_are_named),
        unit_test(test_memory__m14_budget_is_that_of_the_tightest),
        unit_test(test_memory__m14_limit_from_above_a_container),
        unit_test(test_memory__broken_files_are_survived),
        unit_test(test_procfs__names_may_hold_brackets),
        unit_test(test_procfs__numbers),
        unit_test(test_procfs__changed_bytes_are_survived)};

    return unit_main(tests);
}
