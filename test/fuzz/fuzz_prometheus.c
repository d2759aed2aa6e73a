/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arbitrary bytes as what Prometheus answers, and all that is computed from
 * what was taken of them.
 *
 * Few inputs would pass by chance.  So the first byte chooses: the bytes as
 * one answer; or laid over sound answers to all questions, which changes
 * digits, brackets and labels in them: (which, place, place, byte).  Checked
 * beyond crashes: a refusal is one sentence; numbers are finite; there are no
 * more servers, virtual hosts and steps than are allowed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "model/intervals.h"
#include "profile/prom_traffic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_MAX 64
#define STEP_S 60
#define BLOCK_S 600
#define BEGIN_S 1700000000

static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 1000000, 5000000, 60000000};
#define TIMEOUT_N 4

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* ---- sound answers ------------------------------------------------------- */

/* The labels that a row asks for, with a value each. */
static const char *labels_of(const ka_prom_row *row, size_t i,
                             apr_pool_t *pool)
{
    static const char *const bounds[] = {"0.5", "4", "+Inf"};
    static const struct {
        const char *label, *value;
    } known[] = {{"vhost", "v:80"},     {"reason", "idle_timeout"},
                 {"class", "static"},   {"protocol", "http/1.1"},
                 {"mpm", "event"},      {"over", "5"}};
    const char *text = "\"job\":\"j\",\"instance\":\"a:80\"";
    size_t k;

    for (k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        if (strstr(row->by, known[k].label)) {
            text = apr_pstrcat(pool, text, ",\"", known[k].label, "\":\"",
                               known[k].value, "\"", NULL);
        }
    }
    if (strstr(row->by, "le") || strstr(row->by, "up_to")) {
        text = apr_pstrcat(pool, text, ",\"",
                           strstr(row->by, "up_to") ? "up_to" : "le", "\":\"",
                           bounds[i], "\"", NULL);
    }
    return text;
}

static const char *values_of(const ka_prom_row *row, apr_pool_t *pool)
{
    const int64_t step_s = row->function == KA_PROM_BLOCK ? BLOCK_S : STEP_S;
    const char *text = "\"values\":[";
    int i;

    for (i = 0; i < 8; i++) {
        text = apr_psprintf(pool, "%s%s[%" APR_INT64_T_FMT ",\"%d\"]", text,
                            i ? "," : "", BEGIN_S + i * step_s,
                            (i + 1) * 10 - (int)row->index / 8 % 7);
    }
    return apr_pstrcat(pool, text, "]", NULL);
}

static char *sound_answer(const ka_prom_row *row, apr_pool_t *pool)
{
    const bool range = ka_prom_is_range(row);
    const char *text = "";
    size_t i;

    for (i = 0; i < 3; i++) {
        text = apr_pstrcat(
            pool, text, i ? "," : "", "{\"metric\":{", labels_of(row, i, pool),
            "},",
            range ? values_of(row, pool)
                  : apr_psprintf(pool, "\"value\":[%d,\"%d\"]", BEGIN_S,
                                 (int)(i + 1) * 40),
            "}", NULL);
    }
    return apr_pstrcat(pool,
                       "{\"status\":\"success\",\"data\":{\"resultType\":\"",
                       range ? "matrix" : "vector", "\",\"result\":[", text,
                       "]}}", NULL);
}

/* ---- taking -------------------------------------------------------------- */

static void take(ka_prom *prom, const ka_prom_row *row, const char *text,
                 size_t n)
{
    const ka_prom_answer answer = {
        .status = 200, .type = "application/json", .text = text, .n = n};
    const char *error = NULL;
    size_t taken;

    if (ka_prom_take(prom, &taken, &error, row, &answer)) {
        check(error && *error && !strchr(error, '\n'), "a refusal says why");
    }
}

static void take_sound(ka_prom *prom, const ka_prom_row *rows, size_t n,
                       const uint8_t *data, size_t size)
{
    char *texts[ROWS_MAX];
    size_t i;

    check(n <= ROWS_MAX, "room for all rows");
    for (i = 0; i < n; i++) {
        texts[i] = sound_answer(&rows[i], prom->pool);
    }
    for (; size > 3; data += 4, size -= 4) {
        char *text = texts[data[0] % n];

        text[(data[1] | (size_t)data[2] << 8) % strlen(text)] =
            (char)(data[3] ? data[3] : 'x');
    }
    for (i = 0; i < n; i++) {
        take(prom, &rows[i], texts[i], strlen(texts[i]));
    }
}

/* ---- what is taken ------------------------------------------------------- */

static void check_outcomes(const ka_outcome *outcomes)
{
    size_t j;

    for (j = 0; j < TIMEOUT_N; j++) {
        const ka_outcome *o = &outcomes[j];

        check(isfinite(o->held_mean) && o->held_mean >= 0, "held");
        check(isfinite(o->busy_mean) && o->busy_mean >= 0, "busy");
        check(isfinite(o->reuse) && o->reuse <= 1, "reuse");
        check(isfinite(o->held.workers), "workers");
    }
}

static void check_intervals(const ka_pieces *pieces,
                            const ka_outcome *outcomes, apr_pool_t *pool)
{
    const ka_pieces *const both[2] = {pieces, pieces};
    ka_intervals found;
    size_t j;

    if (ka_intervals_make(&found, both, outcomes, outcomes, TIMEOUT_N, 0.01,
                          pool)) {
        return;
    }
    for (j = 0; j < TIMEOUT_N; j++) {
        const ka_timeout_intervals *of = &found.timeouts[j];

        check(of->connections.low <= of->connections.high, "an interval");
        check(isfinite(of->held_mean.low) && isfinite(of->held_mean.high),
              "an interval of held");
        check(isfinite(of->held_workers.high), "an interval of workers");
    }
}

static void use_server(const ka_prom *prom, const ka_prom_server *server,
                       ka_live *group, const ka_hist_traffic **of,
                       apr_pool_t *pool)
{
    ka_profile *profile = apr_palloc(pool, sizeof(*profile));
    ka_hist_traffic *traffic = apr_palloc(pool, sizeof(*traffic));
    ka_outcome outcomes[TIMEOUT_N];
    const ka_led led = {.traffic = traffic, .outcomes = outcomes,
                        .n = TIMEOUT_N, .now = 2};
    ka_pieces pieces;
    ka_live live;

    check(server->vhost_n <= KA_PROM_VHOSTS_MAX, "virtual hosts");
    ka_prom_live(&live, prom, server, NULL, pool);
    ka_prom_traffic(traffic, &live, server, STEP_S, pool);
    ka_prom_profile(profile, &live, ka_prom_addresses(server), pool);
    ka_prom_group_add(group, &live, pool);
    *of = traffic;
    check(ka_histsweep(outcomes, timeouts, TIMEOUT_N, traffic) == APR_SUCCESS,
          "timeouts are evaluated");
    check_outcomes(outcomes);
    ka_prom_pieces(&pieces, &server, 1, BLOCK_S, &led, pool);
    check_intervals(&pieces, outcomes, pool);
}

static void use(ka_prom *prom, apr_pool_t *pool)
{
    const ka_hist_traffic *traffic[8];
    ka_hist_traffic all;
    ka_outcome outcomes[TIMEOUT_N];
    ka_live group;
    size_t i, n = prom->server_n < 8 ? prom->server_n : 8, named;
    int course;

    check(prom->server_n <= KA_PROM_SERVERS_MAX, "servers");
    ka_prom_group_init(&group, pool);
    for (course = 0; course < KA_PROM_COURSES; course++) {
        ka_prom_instances(&named, prom, (ka_prom_course)course);
    }
    for (i = 0; i < n; i++) {
        use_server(prom, prom->servers[i], &group, &traffic[i], pool);
    }
    ka_prom_traffic_join(&all, traffic, n, pool);
    check(ka_histsweep(outcomes, timeouts, TIMEOUT_N, &all) == APR_SUCCESS,
          "a group is evaluated");
    check_outcomes(outcomes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    const ka_prom_asked asked = {.window_s = 3600,
                                 .at_s = BEGIN_S + 3600,
                                 .course = KA_PROM_STEADY,
                                 .step_s = STEP_S,
                                 .block_s = BLOCK_S};
    const ka_prom_row *rows;
    apr_pool_t *pool;
    ka_prom prom;
    size_t n;

    if (!started) {
        apr_initialize();
        started = 1;
    }
    if (size < 2) {
        return 0;
    }
    apr_pool_create(&pool, NULL);
    rows = ka_prom_rows(&n);
    ka_prom_init(&prom, "http://h", &asked, pool);
    ka_prom_set_courses(&prom);
    if (data[0] % 4 == 0) {
        take(&prom, &rows[data[1] % n], (const char *)data + 2, size - 2);
    }
    else {
        take_sound(&prom, rows, n, data + 1, size - 1);
    }
    ka_prom_set_courses(&prom);
    ka_prom_settle(&prom);
    use(&prom, pool);
    apr_pool_destroy(pool);
    return 0;
}
