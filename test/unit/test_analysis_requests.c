/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A log that is too long to keep is counted from its first requests on, and
 * says the same (MODEL 6, 7).  KA_LOGS may name a directory that holds
 * connections-truth.log.gz (see test_connections_truth.c). */
#include "tempdir.h"

#include <commands/analysis.h>

#define LOGS "test/data/logs/"
#define BEGIN_S 1700000000

typedef struct given {
    const char *path, *log_format;
    int64_t timeout_us; /* 0: not told */
    size_t keep;
} given;

static void analyse(ka_analysis *a, const given *g, apr_pool_t *pool)
{
    const ka_log_options with = {.log_format = g->log_format};
    const char *error = NULL;
    ka_options options;
    ka_log *log;

    memset(a, 0, sizeof(*a));
    ka_options_init(&options);
    options.quiet = true;
    options.threads = 1;
    if (g->timeout_us) {
        ka_server_set(&a->server, KA_FACT_TIMEOUT, g->timeout_us, false,
                      "test");
        ka_server_set(&a->server, KA_FACT_KEEP_ALIVE, 1, false, "test");
    }
    if (ka_log_open(&log, &a->source, &error, &with, &g->path, 1, pool) ||
        ka_analysis_requests(a, &error, log, g->keep, &options, pool)) {
        fail_msg("%s: %s", g->path, error);
    }
}

static void clear(ka_analysis *a)
{
    ka_tally_free(a->tally);
    free(a->without.items);
    free(a->served.items);
    ka_connections_clear(&a->connections);
}

/* Both ways, told apart by how many are kept; connections within a share. */
static void assert_same_both_ways(given g, size_t keep, double share,
                                  apr_pool_t *pool)
{
    const ka_report *x, *y;
    ka_analysis kept, counted;
    size_t i;

    g.keep = SIZE_MAX;
    analyse(&kept, &g, pool);
    g.keep = keep;
    analyse(&counted, &g, pool);
    x = &kept.report;
    y = &counted.report;
    assert_null(kept.tally);
    assert_non_null(counted.tally);
    assert_string_equal(x->identity, y->identity);
    assert_int_equal(x->timeout_us, y->timeout_us);
    assert_int_equal(x->profile->total.requests, y->profile->total.requests);
    assert_int_equal(x->profile->no_request, y->profile->no_request);
    assert_int_equal(x->profile->bracket, y->profile->bracket);
    assert_int_equal(x->timeout_n, y->timeout_n);
    for (i = 0; i < x->timeout_n; i++) {
        const double low = (double)x->low[i].connections;
        const double high = (double)x->high[i].connections;

        assert_near((double)y->low[i].connections, low, low * share);
        assert_near((double)y->high[i].connections, high, high * share);
        assert_near((double)y->low[i].busy_us, (double)x->low[i].busy_us,
                    (double)x->low[i].busy_us * share);
        assert_near((double)y->low[i].idle_us, (double)x->low[i].idle_us,
                    (double)x->low[i].idle_us * share);
    }
    clear(&kept);
    clear(&counted);
}

/* ---- logs ---------------------------------------------------------------- */

static char *format_of(tempdir *dir, const char *path)
{
    size_t n;
    char *text = tempdir_read(dir, path, &n);

    while (n > 0 && text[n - 1] <= ' ') {
        n--;
    }
    text[n] = '\0';
    return text;
}

static uint64_t draw(uint64_t n)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % n;
}

#define LINES 900

/* Combined with %X: no connection can be told, and times are coarse. */
static const char *coarse_log(tempdir *dir)
{
    char *text = apr_palloc(dir->pool, LINES * 100 + 1), *to = text;
    size_t i, second = 0;

    for (i = 0; i < LINES; i++) {
        second += draw(3);
        to += sprintf(to,
                      "10.0.0.%u - - [14/Nov/2023:22:%02u:%02u +0000] \"GET / "
                      "HTTP/1.1\" 200 5 \"-\" \"Browser\" %c\n",
                      (unsigned)draw(20), (unsigned)(second / 60 % 60),
                      (unsigned)(second % 60), "+++-"[draw(4)]);
    }
    return tempdir_text(dir, "coarse.log", text);
}

static const char *port_log(tempdir *dir)
{
    char *text = apr_palloc(dir->pool, LINES * 120 + 1), *to = text;
    int64_t us = INT64_C(1000000) * BEGIN_S;
    size_t i;

    for (i = 0; i < LINES; i++) {
        us += (int64_t)draw(4000000);
        to += sprintf(to,
                      "10.0.0.%u %u %lld %u HTTP/1.1 200 5 %s \"GET / "
                      "HTTP/1.1\" \"Browser\"\n",
                      (unsigned)draw(6), (unsigned)(1024 + draw(4)),
                      (long long)us, (unsigned)draw(500000),
                      i < LINES / 2 ? "a.example" : "b.example");
    }
    return tempdir_text(dir, "ports.log", text);
}

/* ---- tests --------------------------------------------------------------- */

static void test_requests__slots_are_the_same_counted(void **state)
{
    tempdir *dir = *state;
    const given g = {.path = LOGS "demo.log",
                     .log_format = format_of(dir, LOGS "demo.format"),
                     .timeout_us = 15000000};

    assert_same_both_ways(g, 300, 0, dir->pool);
}

/* And a vhost that the first requests do not show. */
static void test_requests__ports_are_the_same_counted(void **state)
{
    tempdir *dir = *state;
    const given g = {
        .path = port_log(dir),
        .log_format = "LogFormat \"%h %{remote}p %{begin:usec}t %D %H %>s %O "
                      "%v \\\"%r\\\" \\\"%{User-Agent}i\\\"\"",
        .timeout_us = 5000000,
        .keep = 200};
    ka_analysis counted;

    assert_same_both_ways(g, 200, 0, dir->pool);
    analyse(&counted, &g, dir->pool);
    assert_int_equal(counted.profile.vhost_n, 2);
    assert_int_equal(counted.profile.vhosts[0].requests, LINES / 2);
    assert_int_equal(counted.profile.vhosts[1].requests, LINES / 2);
    assert_true(counted.profile.vhosts[1].peak_per_s > 0);
    clear(&counted);
}

static void test_requests__coarse_times_are_the_same_counted(void **state)
{
    static const char format[] =
        "LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" "
        "\\\"%{User-Agent}i\\\" %X\"";
    tempdir *dir = *state;
    const given g = {.path = coarse_log(dir),
                     .log_format = format,
                     .timeout_us = 5000000};

    assert_same_both_ways(g, 200, 0, dir->pool);
}

static void test_requests__say_what_decided(void **state)
{
    tempdir *dir = *state;
    given g = {.path = LOGS "demo.log",
               .log_format = format_of(dir, LOGS "demo.format"),
               .keep = 300};
    ka_analysis a;

    analyse(&a, &g, dir->pool);
    assert_non_null(strstr(a.report.identity_note, "requests decided how"));
    clear(&a);
    g.keep = 10000;
    analyse(&a, &g, dir->pool);
    assert_null(a.report.identity_note);
    clear(&a);
}

static const char *truth_path(tempdir *dir)
{
    const char *directory = getenv("KA_LOGS");

    if (!directory) {
        print_message("skipped: KA_LOGS does not name a directory with "
                      "connections-truth.log.gz\n");
        skip();
    }
    return apr_pstrcat(dir->pool, directory, "/connections-truth.log.gz",
                       NULL);
}

/* Microseconds lie between the ticks; connections are the same. */
static void test_requests__true_connections_are_the_same(void **state)
{
    tempdir *dir = *state;
    const given g = {.path = truth_path(dir),
                     .log_format = format_of(dir, LOGS "demo.format"),
                     .timeout_us = 15000000};

    assert_same_both_ways(g, 3000, 0.001, dir->pool);
}

/* By times alone clients keep the round trips that the first requests showed;
 * others have the typical one (lanes.h). */
static void test_requests__round_trips_are_those_of_the_first(void **state)
{
    tempdir *dir = *state;
    char *format = format_of(dir, LOGS "demo.format");
    given g = {.log_format = format, .timeout_us = 15000000};

    g.path = truth_path(dir);
    memcpy(strstr(format, "UNIQUE_ID"), "SOMETHING", 9);
    assert_same_both_ways(g, 3000, 0.03, dir->pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_requests__slots_are_the_same_counted),
        tempdir_test(test_requests__ports_are_the_same_counted),
        tempdir_test(test_requests__coarse_times_are_the_same_counted),
        tempdir_test(test_requests__say_what_decided),
        tempdir_test(test_requests__true_connections_are_the_same),
        tempdir_test(test_requests__round_trips_are_those_of_the_first),
    };

    return unit_main(tests);
}
