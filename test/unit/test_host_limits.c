/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "host/limits.h"

#define ROOT(name) "test/data/proc/" name

static const ka_limits_query nothing_known = {.listen_backlog = -1,
                                              .connections_per_child = -1,
                                              .max_request_workers = -1};

static ka_limits read_limits(const char *root, int parent,
                             const ka_limits_query *query, apr_pool_t *pool)
{
    apr_array_header_t *processes;
    ka_memory memory;
    ka_cgroup cgroup;
    ka_limits limits;

    assert_int_equal(ka_processes_read(&processes, root, pool), APR_SUCCESS);
    ka_memory_read(&memory, root, parent, processes, NULL, 0, pool);
    ka_cgroup_read(&cgroup, root, parent, pool);
    ka_limits_read(&limits, root, query, &memory, processes, &cgroup, pool);
    return limits;
}

static ka_limit_table judge(const ka_limits *limits, apr_pool_t *pool)
{
    ka_limit_table table;

    ka_limits_judge(&table, limits, pool);
    return table;
}

static const ka_limit *find(const ka_limit_table *table, const char *id)
{
    int i;

    for (i = 0; i < table->rows->nelts; i++) {
        const ka_limit *row = &APR_ARRAY_IDX(table->rows, i, const ka_limit);

        if (!strcmp(row->id, id)) {
            return row;
        }
    }
    return NULL;
}

static const char *missing(const ka_limit_table *table, const char *id)
{
    int i;

    for (i = 0; i < table->missing->nelts; i++) {
        const ka_limit_missing *row =
            &APR_ARRAY_IDX(table->missing, i, const ka_limit_missing);

        if (!strcmp(row->id, id)) {
            return row->help;
        }
    }
    return NULL;
}

typedef struct expected {
    const char *id;
    double value, capacity;
    ka_limit_verdict verdict;
    const char *text, *origin; /* what is in them */
} expected;

static void check(const ka_limit_table *table, const expected *e)
{
    const ka_limit *row = find(table, e->id);

    if (!row) {
        fail_msg("no row %s", e->id);
        return;
    }
    assert_near(row->value, e->value, 1e-9);
    assert_near(row->capacity, e->capacity, 1e-9);
    if (row->verdict != e->verdict || !strstr(row->text, e->text) ||
        !strstr(row->origin, e->origin) ||
        (row->remedy != NULL) != (row->verdict != KA_LIMIT_OK)) {
        fail_msg("%s: %s, \"%s\" from %s; %s", e->id,
                 ka_limit_verdict_name(row->verdict), row->text, row->origin,
                 row->remedy ? row->remedy : "no remedy");
    }
}

static void test_limits__r11_r18_each_row_of_a_whole_server(void **state)
{
    static const expected rows[] = {
        {"load", 0.4, 1, KA_LIMIT_OK, "on 2 cores", "/proc/loadavg"},
        {"memory", 1796.0 * 1048576, 4096.0 * 1048576, KA_LIMIT_OK, " of 4G",
         "/proc/meminfo"},
        {"swap", 124.0 * 1048576, 1073741824, KA_LIMIT_IS_NEAR, "124M of 1G",
         "/proc/meminfo"},
        {"oom_kills", 2, -1, KA_LIMIT_IS_NEAR, "2 since", "/proc/vmstat"},
        {"conntrack", 240000, 262144, KA_LIMIT_IS_BAD, "240,000 of 262,144",
         "nf_conntrack_max"},
        {"files", 8, 1024, KA_LIMIT_OK, "8 of 1,024", "/limits"},
        {"processes", 6, 15000, KA_LIMIT_OK, "6 of", "/limits"},
        {"pids", 120, 200, KA_LIMIT_IS_NEAR, "120 of 200", "pids.max"},
        {"cpu_quota", 0.05, 1, KA_LIMIT_IS_NEAR, "1.50 of 2 cores", "cpu.max"},
        {"httpd_swap", 3.0 * 1048576, -1, KA_LIMIT_IS_NEAR, "3M", "smaps"},
        {"cgroup_oom_kills", 1, -1, KA_LIMIT_IS_BAD, "1", "memory.events"},
        {"established", 20, -1, KA_LIMIT_OK, "20", "/proc/1000/net/tcp"},
        {"time_wait", 30, 16384, KA_LIMIT_OK, "0.50 server closes/s",
         "net/tcp"},
        {"close_wait", 4, -1, KA_LIMIT_OK, "4", "net/tcp"},
        {"listen_queue", 7, 511, KA_LIMIT_OK, "7 of 511", "net/tcp"},
        {"listen_overflows", 14, -1, KA_LIMIT_IS_NEAR, "100,000 accepted",
         "ListenOverflows"},
        {"listen_drops", 20, -1, KA_LIMIT_IS_NEAR, "20", "ListenDrops"},
        {"somaxconn", 511, 4096, KA_LIMIT_OK, "511 (default)", "somaxconn"},
        {"syn_backlog", 511, 512, KA_LIMIT_OK, "512", "tcp_max_syn_backlog"},
        {"ephemeral_ports", 5, 28232, KA_LIMIT_OK, "to 127.0.0.1:3306",
         "ip_local_port_range"}};
    ka_limits limits =
        read_limits(ROOT("prefork-v2"), 1000, &nothing_known, *state);
    ka_limit_table table = judge(&limits, *state);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(&table, &rows[i]);
    }
    assert_int_equal(table.rows->nelts, (int)i);
    assert_int_equal(table.missing->nelts, 0);
}

static void test_limits__r11_what_is_configured_is_held_against(void **state)
{
    static const int ports[] = {443, 0, 70000, -1};
    static const expected rows[] = {
        {"files", 1908, 1024, KA_LIMIT_IS_BAD, "(8 open + 1,900 connections)",
         "/limits"},
        {"established", 0, 150, KA_LIMIT_OK, "0 of 150", "net/tcp"},
        {"time_wait", 30, 16384, KA_LIMIT_OK, "30", "net/tcp"},
        {"listen_queue", 0, 4096, KA_LIMIT_OK, "0 of 4,096", "net/tcp"},
        {"somaxconn", 10000, 4096, KA_LIMIT_IS_NEAR,
         "4,096, ListenBacklog 10,000", "somaxconn"},
        {"syn_backlog", 10000, 512, KA_LIMIT_IS_NEAR, "512", "syn_backlog"}};
    ka_limits_query query = {.listen_backlog = 10000,
                             .connections_per_child = 1900,
                             .max_request_workers = 150,
                             .ports = ports,
                             .port_n = 4};
    ka_limits limits = read_limits(ROOT("prefork-v2"), 1000, &query, *state);
    ka_limit_table table = judge(&limits, *state);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(&table, &rows[i]);
    }
    assert_int_equal(limits.sockets.ports->nelts, 1);
}

static void test_limits__ports_are_those_of_the_parent(void **state)
{
    ka_limits limits =
        read_limits(ROOT("prefork-v2"), 1000, &nothing_known, *state);
    const apr_array_header_t *ports = limits.sockets.ports;

    assert_int_equal(ports->nelts, 2); /* not 8080 and 3306, of others */
    assert_int_equal(APR_ARRAY_IDX(ports, 0, int), 80);
    assert_int_equal(APR_ARRAY_IDX(ports, 1, int), 443);
    assert_int_equal(limits.sockets.syn_recv, 2);
}

static void test_limits__what_cannot_be_read_is_said(void **state)
{
    static const struct {
        const char *id, *help;
    } rows[] = {{"files", "run as root"},
                {"established", "run as root"},
                {"listen_queue", "run as root"},
                {"httpd_swap", "run as root"},
                {"listen_overflows", "netstat"}};
    ka_limits limits =
        read_limits(ROOT("not-root"), 1000, &nothing_known, *state);
    ka_limit_table table = judge(&limits, *state);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *help = missing(&table, rows[i].id);

        if (!help || !strstr(help, rows[i].help)) {
            fail_msg("%s: %s", rows[i].id, help ? help : "not missing");
        }
        assert_null(find(&table, rows[i].id));
    }
    assert_non_null(find(&table, "load"));
    assert_non_null(find(&table, "somaxconn"));
}

static void test_limits__nothing_readable_is_no_failure(void **state)
{
    ka_limits limits = read_limits(ROOT("broken"), 101, &nothing_known, *state);
    ka_limit_table table = judge(&limits, *state);

    assert_int_equal(table.rows->nelts, 1); /* of the parent's smaps */
    assert_non_null(find(&table, "httpd_swap"));
    assert_non_null(missing(&table, "load"));
    assert_non_null(missing(&table, "memory"));
}

static void test_limits__without_httpd_there_is_the_host(void **state)
{
    ka_limits limits =
        read_limits(ROOT("prefork-v2"), 0, &nothing_known, *state);
    ka_limit_table table = judge(&limits, *state);
    int i;

    assert_true(table.rows->nelts >= 4);
    for (i = 0; i < table.rows->nelts; i++) {
        assert_true(APR_ARRAY_IDX(table.rows, i, ka_limit).of_host);
    }
}

/* From plain numbers to verdicts, at both edges. */
static void test_limits__verdicts(void **state)
{
    static const struct {
        const char *id;
        size_t offset;
        int64_t value;
        ka_limit_verdict verdict;
    } cases[] = {
#define CASE(id, field, value, verdict)                                        \
    {id, offsetof(ka_limits, field), value, verdict}
        CASE("files", files_now, 511, KA_LIMIT_OK),
        CASE("files", files_now, 512, KA_LIMIT_IS_NEAR),
        CASE("files", files_now, 921, KA_LIMIT_IS_NEAR),
        CASE("files", files_now, 922, KA_LIMIT_IS_BAD),
        CASE("files", files_max, INT64_MAX, KA_LIMIT_OK),
        CASE("files", files_max, 0, KA_LIMIT_IS_BAD),
        CASE("conntrack", conntrack_now, 131071, KA_LIMIT_OK),
        CASE("conntrack", conntrack_now, 131072, KA_LIMIT_IS_NEAR),
        CASE("close_wait", sockets.close_wait, 10, KA_LIMIT_OK),
        CASE("close_wait", sockets.close_wait, 11, KA_LIMIT_IS_NEAR),
        CASE("close_wait", sockets.close_wait, 21, KA_LIMIT_IS_BAD),
        CASE("listen_queue", sockets.queue, 51, KA_LIMIT_OK),
        CASE("listen_queue", sockets.queue, 52, KA_LIMIT_IS_NEAR),
        CASE("listen_queue", sockets.queue, 256, KA_LIMIT_IS_BAD),
        CASE("listen_queue", somaxconn, 10, KA_LIMIT_IS_BAD),
        CASE("listen_overflows", overflows, 0, KA_LIMIT_OK),
        CASE("listen_overflows", overflows, 101, KA_LIMIT_IS_BAD),
        CASE("httpd_swap", swap_bytes, 0, KA_LIMIT_OK),
        CASE("httpd_swap", swap_bytes, 64 << 20, KA_LIMIT_IS_BAD),
        CASE("somaxconn", somaxconn, 510, KA_LIMIT_IS_NEAR),
        CASE("somaxconn", somaxconn, 511, KA_LIMIT_OK),
        CASE("ephemeral_ports", sockets.outgoing, 28000, KA_LIMIT_IS_BAD)};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_limits limits =
            read_limits(ROOT("prefork-v2"), 1000, &nothing_known, *state);
        ka_limit_table table;
        const ka_limit *row;

        memcpy((char *)&limits + cases[i].offset, &cases[i].value,
               sizeof(cases[i].value));
        table = judge(&limits, *state);
        row = find(&table, cases[i].id);
        if (!row || row->verdict != cases[i].verdict) {
            fail_msg("case %zu: %s with %lld is %s", i, cases[i].id,
                     (long long)cases[i].value,
                     row ? ka_limit_verdict_name(row->verdict) : "not there");
        }
    }
}

static void test_limits__r18_load_per_core(void **state)
{
    static const struct {
        double load;
        ka_limit_verdict verdict;
    } cases[] = {{0.99, KA_LIMIT_OK},
                 {1.0, KA_LIMIT_IS_NEAR},
                 {1.99, KA_LIMIT_IS_NEAR},
                 {2.0, KA_LIMIT_IS_BAD}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_limits limits =
            read_limits(ROOT("prefork-v2"), 1000, &nothing_known, *state);
        ka_limit_table table;

        limits.load[1] = cases[i].load;
        table = judge(&limits, *state);
        assert_int_equal(find(&table, "load")->verdict, cases[i].verdict);
    }
}

/* Settings of another network namespace are not httpd's. */
static void test_limits__another_network_is_not_ours(void **state)
{
    ka_limits limits =
        read_limits(ROOT("prefork-v2"), 1000, &nothing_known, *state);
    ka_limit_table table;

    assert_false(limits.other_network);
    limits.other_network = true;
    table = judge(&limits, *state);
    assert_null(find(&table, "somaxconn"));
    assert_non_null(strstr(missing(&table, "somaxconn"), "container"));
    assert_near(find(&table, "time_wait")->capacity, -1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_limits__r11_r18_each_row_of_a_whole_server),
        unit_test(test_limits__r11_what_is_configured_is_held_against),
        unit_test(test_limits__ports_are_those_of_the_parent),
        unit_test(test_limits__what_cannot_be_read_is_said),
        unit_test(test_limits__nothing_readable_is_no_failure),
        unit_test(test_limits__without_httpd_there_is_the_host),
        unit_test(test_limits__verdicts),
        unit_test(test_limits__r18_load_per_core),
        unit_test(test_limits__another_network_is_not_ours)};

    return unit_main(tests);
}
