/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Each shortcoming of the data, by itself (MODEL 6, R13): the confidence that
 * it leaves, what it says, and whether there is advice at all. */
#include "advise_fixture.h"
#include "profile/sample.h"

#include <apr_strings.h>

/* ---- intervals ----------------------------------------------------------- */

/* 10 % to either side of everything. */
static ka_intervals *give_intervals(fixture *f, apr_pool_t *pool)
{
    ka_intervals *of = apr_pcalloc(pool, sizeof(*of));
    size_t i;

    of->timeouts = apr_pcalloc(pool, SITE_N * sizeof(*of->timeouts));
    for (i = 0; i < SITE_N; i++) {
        const ka_outcome *o = &f->outcomes[i];

        of->timeouts[i] = (ka_timeout_intervals){
            .connections = {0.9 * (double)o->connections,
                            1.1 * (double)o->connections},
            .held_mean = {0.9 * o->held_mean, 1.1 * o->held_mean},
            .held_workers = {0.9 * o->held.workers, 1.1 * o->held.workers}};
    }
    of->busy_workers = (ka_interval){5, 7};
    of->knee_us = (ka_interval){15e6, 15e6};
    of->groups = KA_SAMPLE_GROUPS;
    f->report.intervals = of;
    return of;
}

static void narrow(fixture *f, apr_pool_t *pool)
{
    give_intervals(f, pool);
}

static void held_by(fixture *f, apr_pool_t *pool, double share)
{
    ka_intervals *of = give_intervals(f, pool);
    size_t i;

    for (i = 0; i < SITE_N; i++) {
        const double held = f->outcomes[i].held_mean;

        of->timeouts[i].held_mean =
            (ka_interval){held * (1 - share), held * (1 + share)};
    }
}

static void held_wide(fixture *f, apr_pool_t *pool)
{
    held_by(f, pool, 0.26);
}

static void held_too_wide(fixture *f, apr_pool_t *pool)
{
    held_by(f, pool, 0.51);
}

/* The site needs 120 workers at 15 s, and 200 fit. */
static void workers_by(fixture *f, apr_pool_t *pool, double low, double high)
{
    ka_intervals *of = give_intervals(f, pool);
    size_t i;

    for (i = 0; i < SITE_N; i++) {
        of->timeouts[i].held_workers = (ka_interval){low, high};
    }
    /* Not httpd's 256, which would be enough. */
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 110, false, "test");
}

static void workers_wide(fixture *f, apr_pool_t *pool)
{
    workers_by(f, pool, 90, 160);
}

static void workers_too_wide(fixture *f, apr_pool_t *pool)
{
    workers_by(f, pool, 60, 220);
}

/* As wide, but what is there is enough. */
static void workers_enough(fixture *f, apr_pool_t *pool)
{
    workers_by(f, pool, 60, 150);
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 190, false, "test");
}

static void knee_wide(fixture *f, apr_pool_t *pool)
{
    give_intervals(f, pool)->knee_us = (ka_interval){5e6, 65e6};
}

/* A bracket says itself that everything is a range. */
static void bracket_wide(fixture *f, apr_pool_t *pool)
{
    ka_outcome *low = apr_pmemdup(pool, f->outcomes, sizeof(f->outcomes));

    held_too_wide(f, pool);
    f->report.low = low;
    f->profile->bracket = true;
}

/* ---- the rest ------------------------------------------------------------ */

static void nothing(fixture *f, apr_pool_t *pool)
{
    (void)f;
    (void)pool;
}

static void few_requests(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->total.requests = 99;
}

static void short_window(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->window_s = 59;
}

static void bracketed(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->bracket = true;
}

static void without_service(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->with_service = 9999;
}

static void under_an_hour(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->window_s = 3599;
}

static void few_connections(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->high.connections = 999;
}

static void hidden_http2(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->report.identity = "k";
    f->profile->http2 = 4001;
}

static void skipped(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->source.lines = 30000;
    f->source.skipped = 3001;
}

static void late(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->source.late = 201;
}

static void assumed(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    ka_server_set(&f->server, KA_FACT_TIMEOUT, 5 * S, true, "a guess");
}

static void guessed(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->report.identity = "time";
}

static const struct {
    const char *name;
    void (*cause)(fixture *f, apr_pool_t *pool);
    ka_confidence leaves;
    bool refused;
    const char *says; /* to its end; NULL: nothing */
} rows[] = {
    {"nothing", nothing, KA_CONFIDENCE_HIGH, false, NULL},
    {"requests", few_requests, KA_CONFIDENCE_LOW, true, "at least 100 are needed to say anything"},
    {"window", short_window, KA_CONFIDENCE_LOW, true, "and at least a minute, better a busy hour, is needed"},
    {"bracket", bracketed, KA_CONFIDENCE_LOW, false, "depends on them is a range"},
    {"service", without_service, KA_CONFIDENCE_LOW, false, "so busy workers are not counted"},
    {"hour", under_an_hour, KA_CONFIDENCE_LOW, false, "less than one busy hour"},
    {"connections", few_connections, KA_CONFIDENCE_LOW, false,
     "999 connections, fewer than 1,000"},
    {"http2", hidden_http2, KA_CONFIDENCE_LOW, false, "are guessed, one per client"},
    {"skipped", skipped, KA_CONFIDENCE_LOW, false, "could not be read"},
    {"late", late, KA_CONFIDENCE_LOW, false, "piping them together"},
    {"assumed", assumed, KA_CONFIDENCE_MEDIUM, false, "(a guess)"},
    {"guessed", guessed, KA_CONFIDENCE_MEDIUM, false, "inferred from times, not logged"},
    {"narrow", narrow, KA_CONFIDENCE_HIGH, false, NULL},
    {"held wide", held_wide, KA_CONFIDENCE_MEDIUM, false,
     "59.2..101 might be held in the mean (90% interval)"},
    {"held too wide", held_too_wide, KA_CONFIDENCE_LOW, false,
     "39.2..121 might be held in the mean (90% interval)"},
    {"workers wide", workers_wide, KA_CONFIDENCE_MEDIUM, false,
     "90..160 workers might be needed (90% interval)"},
    {"workers too wide", workers_too_wide, KA_CONFIDENCE_LOW, false,
     "60..220 workers might be needed (90% interval)"},
    {"workers enough", workers_enough, KA_CONFIDENCE_HIGH, false, NULL},
    {"knee wide", knee_wide, KA_CONFIDENCE_MEDIUM, false,
     "anything from 5s to 65s (90% interval)"},
    {"bracket wide", bracket_wide, KA_CONFIDENCE_LOW, false,
     "depends on them is a range"}};

static bool ends_with(const char *text, const char *end)
{
    if (!text || !end) {
        return text == end;
    }
    return strlen(text) >= strlen(end) &&
           !strcmp(text + strlen(text) - strlen(end), end);
}

static void test_confidence__each_shortcoming_by_itself(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fixture *f = make_fixture(*state);
        const ka_report *r;
        const char *why;

        rows[i].cause(f, *state);
        r = advise(f, *state);
        why = r->verdict.confidence_why;
        if (r->verdict.confidence != rows[i].leaves ||
            r->verdict.refused != rows[i].refused ||
            !ends_with(why, rows[i].says)) {
            fail_msg("%s: %s%s, %s", rows[i].name,
                     ka_confidence_name(r->verdict.confidence),
                     r->verdict.refused ? ", refused" : "",
                     why ? why : "(no reason)");
        }
        assert_int_equal(r->advice_n > 0, !rows[i].refused);
    }
}

/* The last value on the other side of each bound. */
static void test_confidence__bounds(void **state)
{
    fixture *f = make_fixture(*state);

    f->profile->window_s = 3600;
    f->profile->high.connections = 1000;
    f->profile->with_service = 10000;
    f->source.lines = 30000;
    f->source.skipped = 3000;
    f->source.late = 200;
    held_by(f, *state, 0.249);
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_HIGH);
    f = make_fixture(*state);
    f->profile->total.requests = 100;
    f->profile->window_s = 60;
    assert_false(advise(f, *state)->verdict.refused);
}

/* All that is wrong is told, and the weakest counts; once it is refused no
 * more is told. */
static void test_confidence__the_weakest_counts(void **state)
{
    fixture *f = make_fixture(*state);
    const ka_report *r;

    assumed(f, *state);
    under_an_hour(f, *state);
    r = advise(f, *state);
    assert_int_equal(r->verdict.confidence, KA_CONFIDENCE_LOW);
    assert_non_null(strstr(r->verdict.confidence_why, "; the present"));
    few_requests(f, *state);
    r = advise(f, *state);
    assert_true(r->verdict.refused);
    assert_null(strstr(r->verdict.confidence_why, "busy hour"));
}

/* ---- workers [M12] [M13] ------------------------------------------------- */

static void test_confidence__workers_follow_what_holds_them(void **state)
{
    fixture *f = make_fixture(*state);
    const ka_mpm_answer *a;

    f->server.facts[KA_FACT_ID_MPM].known = false;
    give_intervals(f, *state)->busy_workers = (ka_interval){3, 60};
    f->options.growth = 2;
    advise(f, *state);
    a = &f->report.answers[KA_MPM_PREFORK];
    /* At 5 s, 50 workers; twice as much with the growth. */
    assert_near(a->workers[NOW].low, 90, 1);
    assert_near(a->workers[NOW].high, 110, 1);
    a = &f->report.answers[KA_MPM_EVENT];
    assert_near(a->workers[NOW].low, 6, 1);
    assert_near(a->workers[NOW].high, 120, 1);
}

static void test_confidence__no_intervals_no_workers(void **state)
{
    assert_null(advise(make_fixture(*state), *state)->answers[0].workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_confidence__each_shortcoming_by_itself),
        unit_test(test_confidence__bounds),
        unit_test(test_confidence__the_weakest_counts),
        unit_test(test_confidence__workers_follow_what_holds_them),
        unit_test(test_confidence__no_intervals_no_workers)};

    return unit_main(tests);
}
