/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Real logs of which the connections are known.  They are not part of the
 * sources: KA_LOGS names the directory that holds connections-truth.log.gz
 * (10,000 lines of a prefork server, KeepAliveTimeout 15: 9,959 requests with
 * a UNIQUE_ID on 4,811 connections) and every-field.log (4 connections). */
#include "unit.h"
#include "requests.h"

#include <profile/profile.h>
#include <sources/log.h>
#include <apr_strings.h>

#define TRUE_CONNECTIONS 4811.0

static const char truth_format[] =
    "%h %{GEOIP_COUNTRY_CODE}e %u [%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t] "
    "\\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\" %v %A %p %R "
    "%{BALANCER_WORKER_ROUTE}e %X \\\"%{cookie}n\\\" %{UNIQUE_ID}e "
    "%{SSL_PROTOCOL}x %{SSL_CIPHER}x %I %O %{ratio}n%% %D %{ModSecTimeIn}e "
    "%{ApplicationTime}e %{ModSecTimeOut}e %{ModSecAnomalyScoreIn}e "
    "%{ModSecAnomalyScoreOut}e";

static const char every_field_format[] =
    "\\\"%%\\\" \\\"%a\\\" \\\"%{c}a\\\" \\\"%A\\\" \\\"%B\\\" \\\"%b\\\" "
    "\\\"%D\\\" \\\"%f\\\" \\\"%h\\\" \\\"%H\\\" \\\"%k\\\" \\\"%l\\\" "
    "\\\"%L\\\" \\\"%m\\\" \\\"%p\\\" \\\"%{canonical}p\\\" "
    "\\\"%{local}p\\\" \\\"%{remote}p\\\" \\\"%P\\\" \\\"%{pid}P\\\" "
    "\\\"%{tid}P\\\" \\\"%{hextid}P\\\" \\\"%q\\\" \\\"%r\\\" \\\"%R\\\" "
    "\\\"%s\\\" \\\"%>s\\\" \\\"%t\\\" \\\"%{msec}t\\\" "
    "\\\"%{begin:msec}t\\\" \\\"%{end:msec}t\\\" \\\"%{usec}t\\\" "
    "\\\"%{begin:usec}t\\\" \\\"%{end:usec}t\\\" \\\"%{msec_frac}t\\\" "
    "\\\"%{begin:msec_frac}t\\\" \\\"%{end:msec_frac}t\\\" "
    "\\\"%{usec_frac}t\\\" \\\"%{begin:usec_frac}t\\\" "
    "\\\"%{end:usec_frac}t\\\" \\\"%T\\\" \\\"%u\\\" \\\"%U\\\" \\\"%v\\\" "
    "\\\"%V\\\" \\\"%X\\\" \\\"%I\\\" \\\"%O\\\" \\\"%{cookie}i\\\" "
    "\\\"%{set-cookie}o\\\" \\\"%{user-agent}i\\\" \\\"%{referer}i\\\"";

typedef struct served {
    ka_request *items;
    size_t n;
    ka_requests list;
    ka_source_info info;
} served;

static void take(void *context, const ka_request *r)
{
    served *s = context;

    if (!(r->flags & KA_REQ_NO_REQUEST) && s->n < 16384) {
        s->items[s->n++] = *r;
    }
}

static void read_log(served *s, const char *name, const char *format,
                     apr_pool_t *pool)
{
    const char *directory = getenv("KA_LOGS"), *path, *error = NULL;
    ka_log_options options = {.log_format = format};

    if (directory == NULL) {
        print_message("skipped: KA_LOGS does not name a directory with %s\n",
                      name);
        skip();
    }
    path = apr_pstrcat(pool, directory, "/", name, NULL);
    s->items = apr_pcalloc(pool, 16384 * sizeof(*s->items));
    s->n = 0;
    if (ka_log_read(&s->info, &error, &options, &path, 1, take, s, pool) !=
        APR_SUCCESS) {
        fail_msg("%s: %s", path, error);
    }
    s->list = (ka_requests){.items = s->items, .n = s->n};
}

static void group(ka_connections *c, const served *s, double timeout_s,
                  int64_t clock_us, int64_t service_clock_us)
{
    ka_connection_options options = fine_options(timeout_s);

    options.clock_us = clock_us;
    options.service_clock_us = service_clock_us;
    assert_int_equal(ka_connections_group(c, &s->list, &options),
                     APR_SUCCESS);
}

static void test_truth__slots_give_the_true_connections(void **state)
{
    static const double timeouts_s[] = {15, -1};
    served s;
    size_t i;

    read_log(&s, "connections-truth.log.gz", truth_format, *state);
    assert_near((double)s.n, 9959, 10);
    for (i = 0; i < 2; i++) {
        ka_connections c;
        double n;

        group(&c, &s, timeouts_s[i], 1, 1);
        assert_int_equal(c.identity, KA_IDENTITY_SLOT);
        assert_near((double)c.timeout_us / 1e6, 15.5, 1.5);
        assert_int_equal(c.timeout_estimated, timeouts_s[i] < 0);
        n = (double)trace_connections(&c.low, c.timeout_us);
        assert_near(n / TRUE_CONNECTIONS, 1, 0.01);
        assert_near((double)s.n / n, 2.07, 0.0207);
        ka_connections_clear(&c);
    }
}

static void forget_slots(served *s)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        s->items[i].slot = s->items[i].child = 0;
    }
}

/* Browsers far away: without the round trip this would be 20 % low. */
static void test_truth__fine_times_come_close(void **state)
{
    ka_connections c;
    served s;

    read_log(&s, "connections-truth.log.gz", truth_format, *state);
    forget_slots(&s);
    group(&c, &s, 15, 1, 1);
    assert_int_equal(c.identity, KA_IDENTITY_TIME);
    assert_false(c.bracket);
    assert_near((double)trace_connections(&c.low, seconds_us(15)) /
                    TRUE_CONNECTIONS,
                0.965, 0.045);
    ka_connections_clear(&c);
}

static void test_truth__coarse_times_bracket_it(void **state)
{
    ka_connections c;
    served s;
    size_t i;

    read_log(&s, "connections-truth.log.gz", truth_format, *state);
    forget_slots(&s);
    for (i = 0; i < s.n; i++) {
        ka_request *r = &s.items[i];

        r->begin_us -= r->begin_us % 1000000;
        r->service_us = -1;
        r->flags &= (uint16_t)~(KA_REQ_KEPT | KA_REQ_FINAL | KA_REQ_ABORTED);
    }
    group(&c, &s, 15, 1000000, 0);
    assert_true(c.bracket);
    assert_true((double)trace_connections(&c.low, seconds_us(15)) <
                TRUE_CONNECTIONS);
    assert_true((double)trace_connections(&c.high, seconds_us(15)) >
                TRUE_CONNECTIONS);
    ka_connections_clear(&c);
}

/* 197 addresses of the log peak at 6 connections. */
static void test_truth__browsers_peak_at_six(void **state)
{
    ka_connections c;
    ka_profile *p = apr_palloc(*state, sizeof(*p));
    served s;
    size_t i;

    read_log(&s, "connections-truth.log.gz", truth_format, *state);
    for (i = 0; i < s.n; i++) {
        s.items[i].client = s.items[i].address;
    }
    group(&c, &s, 15, 1, 1);
    assert_int_equal(ka_profile_build(p, &s.list, &s.list, &c, &s.info,
                                      c.timeout_us, *state),
                     APR_SUCCESS);
    assert_near(p->low.parallel.p90, 6, 0);
    assert_near(p->low.parallel.p99, 6, 2);
    assert_near(p->low.single_share, 0.59, 0.01);
    ka_connections_clear(&c);
}

static void test_truth__ports_of_every_field(void **state)
{
    ka_connections c;
    served s;

    read_log(&s, "every-field.log", every_field_format, *state);
    group(&c, &s, -1, 1, 1);
    assert_int_equal(c.identity, KA_IDENTITY_PORT);
    assert_int_equal(c.low.request_n, 6);
    assert_int_equal(c.low.chain_n, 4);
    ka_connections_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_truth__slots_give_the_true_connections),
        unit_test(test_truth__fine_times_come_close),
        unit_test(test_truth__coarse_times_bracket_it),
        unit_test(test_truth__browsers_peak_at_six),
        unit_test(test_truth__ports_of_every_field),
    };

    return unit_main(tests);
}
