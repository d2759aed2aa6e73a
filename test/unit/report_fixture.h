/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Hand-written reports for the renderers' tests. */
#ifndef KA_TEST_REPORT_FIXTURE_H
#define KA_TEST_REPORT_FIXTURE_H

#include "profile/sample.h"
#include "report_fixture_traffic.h"

/* ---- source and server ------------------------------------------------------
 */

static inline void fixture_source(fixture *f)
{
    static const char *files[] = {"/var/log/apache2/access.log.1",
                                  "/var/log/apache2/access.log"};
    static const char *vhosts[] = {""};

    f->source = (ka_source_info){
        .kind = "log",
        .files = files,
        .file_n = 2,
        .lines = 96571,
        .parsed = 96534,
        .skipped = 37,
        .overlong = 1,
        .cut = 1,
        .samples = {{"/var/log/apache2/access.log", 20114, 23,
                     "expected %t, a time in brackets, found \"\\x16\\x03\""},
                    {"/var/log/apache2/access.log", 61002, 1,
                     "expected %h, found the end of the line"},
                    {"/var/log/apache2/access.log", 61007, 1,
                     "expected %h, found the end of the line"}},
        .sample_n = 3,
        .log_format = "combined_d",
        .log_format_text = "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" "
                           "\"%{User-Agent}i\" %D %k %X",
        .log_format_detected = true,
        .clock_us = 1000000,
        .service_clock_us = 1,
        .first_us = FIXTURE_FIRST_US,
        .last_us = FIXTURE_FIRST_US + INT64_C(21599000000),
        .requests = FIXTURE_REQUESTS,
        .excluded = {[KA_EXCLUDED_DUMMY] = 108},
        .vhosts = vhosts,
        .vhost_n = 1};
}

static inline void fixture_server(fixture *f, bool full)
{
    ka_server_init(&f->server);
    ka_server_set(&f->server, KA_FACT_KEEP_ALIVE, 1, false, "--timeout 15");
    ka_server_set(&f->server, KA_FACT_TIMEOUT, 15000000, false, "--timeout 15");
    if (!full) {
        return;
    }
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_PREFORK, false,
                  "--mpm prefork");
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 150, false,
                  "--max-request-workers 150");
    ka_server_set(&f->server, KA_FACT_MEMORY, 1200 * FIXTURE_MB, false,
                  "--memory 1200M");
    ka_server_set(&f->server, KA_FACT_PROCESS_MEMORY, 139 * FIXTURE_MB / 10,
                  false, "--process-memory 13.9M");
    ka_server_set(&f->server, KA_FACT_SHARED_MEMORY, 120 * FIXTURE_MB, true,
                  "assumed: nothing is shared beyond the code");
}

/* ---- advice
 * ------------------------------------------------------------------ */

#define FIXTURE_PREFORK_ROWS 9

static const ka_advice fixture_prefork_advice[FIXTURE_PREFORK_ROWS] = {
    {.rule = "M18",
     .mpm = KA_MPM_PREFORK,
     .directive = "KeepAlive",
     .from = "On",
     .to = "On",
     .because = "without it 4.46 connections a second would be opened "
                "instead of 0.95.",
     .confidence = KA_CONFIDENCE_HIGH,
     .applies = "reload"},
    {.rule = "M18",
     .mpm = KA_MPM_PREFORK,
     .directive = "KeepAliveTimeout",
     .from = "15",
     .to = "3",
     .change = true,
     .because = "78.8% of requests reuse a connection; waiting up to 115s "
                "would make it 87.4%. It holds 2.20 workers in the mean and "
                "12 at p99.9.",
     .evidence = {{"reuse", false, 0.788, NULL},
                  {"held_mean", false, 2.2, NULL},
                  {"side", true, 0, "measured"}},
     .evidence_n = 3,
     .confidence = KA_CONFIDENCE_HIGH,
     .applies = "reload"},
    {.rule = "M16",
     .mpm = KA_MPM_PREFORK,
     .directive = "MaxKeepAliveRequests",
     .from = "100",
     .to = "500",
     .change = true,
     .because = "100 cut 214 connections short in this log, 500 would cut 3.",
     .confidence = KA_CONFIDENCE_HIGH,
     .applies = "reload"},
    {.rule = "R8",
     .mpm = KA_MPM_PREFORK,
     .directive = "ServerLimit",
     .to = "150",
     .because = "room for MaxRequestWorkers (R8).",
     .change = true,
     .confidence = KA_CONFIDENCE_HIGH,
     .applies = "restart"},
    {.rule = "M15",
     .mpm = KA_MPM_PREFORK,
     .directive = "StartServers",
     .to = "10",
     .change = true,
     .because = "the mean of 2.20 workers and the spare ones at once after a "
                "start.",
     .confidence = KA_CONFIDENCE_MEDIUM,
     .applies = "reload"},
    {.rule = "M15",
     .mpm = KA_MPM_PREFORK,
     .directive = "MinSpareServers",
     .to = "8",
     .change = true,
     .because = "a busy second (p99) opens 4.31 connections; httpd adds "
                "workers once a second.",
     .confidence = KA_CONFIDENCE_MEDIUM,
     .applies = "reload"},
    {.rule = "R4",
     .mpm = KA_MPM_PREFORK,
     .directive = "MaxSpareServers",
     .to = "16",
     .change = true,
     .because = "twice the minimum, so that children are not stopped and "
                "started in turn.",
     .confidence = KA_CONFIDENCE_MEDIUM,
     .applies = "reload"},
    {.rule = "M12",
     .mpm = KA_MPM_PREFORK,
     .directive = "MaxRequestWorkers",
     .from = "150",
     .to = "77",
     .change = true,
     .because = "14 needed so that 1 arrival in 1,000 waits: mean 2.20, peak "
                "15. 77 of them take 1.16G of 1200M.",
     .confidence = KA_CONFIDENCE_HIGH,
     .applies = "reload"},
    {.rule = "M17",
     .mpm = KA_MPM_PREFORK,
     .directive = "MaxConnectionsPerChild",
     .to = "0",
     .because = "no leak was measured; it counts connections, not requests "
                "(R9).",
     .confidence = KA_CONFIDENCE_MEDIUM,
     .applies = "reload"}};

static const ka_block fixture_blocks[KA_MPM_N] = {
    [KA_MPM_PREFORK] = {{77, -1, -1, 10, 8, 16, 77, 0, -1}},
    [KA_MPM_WORKER] = {{4, 64, 64, 1, 64, 192, 128, 0, -1}},
    [KA_MPM_EVENT] = {{4, 64, 64, 1, 64, 128, 128, 0, 2}}};

static const char *fixture_next[] = {
    "Log what settles it, for a busy day, and run this on it:\n"
    "    LogFormat \"%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s %O %P "
    "%{tid}P %v \\\"%r\\\" \\\"%{User-Agent}i\\\"\" kastats\n"
    "    CustomLog logs/kastats.log kastats",
    "Write the block with --output conf -o httpd-mpm.conf, include it, check "
    "it with `apachectl configtest`, then reload."};

static ka_warning fixture_warnings[] = {
    {"several_vhosts",
     "Several virtual hosts: httpd takes KeepAliveTimeout from the first "
     "virtual host of the address and port unless the virtual host that "
     "serves the request sets its own (R3).",
     "R3"},
    {"slow_clients",
     "Slow clients (R15): 88 requests took over a second for bytes sent at "
     "under 100 kB/s, and they hold 4.8% of all busy worker time.",
     "R15"}};

/* ---- reports
 * ----------------------------------------------------------------- */

static inline ka_formula fixture_formula(double k, int64_t process_bytes)
{
    ka_formula f = {.timeout_s = 15,
                    .requests_per_s = FIXTURE_REQUESTS / FIXTURE_WINDOW_S,
                    .keepalive_requests = k,
                    .process_bytes = process_bytes};

    assert_int_equal(ka_formula_compute(&f), APR_SUCCESS);
    return f;
}

static inline fixture *fixture_make(apr_pool_t *pool, bool full)
{
    fixture *f = apr_pcalloc(pool, sizeof(*f));
    ka_report *r = &f->report;

    f->pool = pool;
    fixture_profile(f);
    fixture_source(f);
    fixture_server(f, full);
    f->low = f->high = fixture_outcomes(pool, 12100, 1);
    *r = (ka_report){
        .generated_us = FIXTURE_FIRST_US + INT64_C(86400000000),
        .version = "0.0.0",
        .source = &f->source,
        .identity = "slot",
        .profile = &f->profile,
        .server = &f->server,
        .formula = fixture_formula(5.595, full ? 139 * FIXTURE_MB / 10 : -1),
        .formula_rule = "By the document's rule KeepAlive Off "
                        "pays here, since 5.6 requests per "
                        "connection are not more than the "
                        "KeepAliveTimeout of 15 seconds.",
        .why_it_differs = "The formula counts only the last wait "
                          "of each connection. It gives an "
                          "average, while MaxRequestWorkers has "
                          "to hold the peak.",
        .timeout_n = FIXTURE_TIMEOUTS,
        .low = f->low,
        .high = f->high,
        .now = FIXTURE_NOW,
        .timeout_us = 15000000,
        .warnings = fixture_warnings,
        .warning_n = FIXTURE_COUNT(fixture_warnings),
        .next = fixture_next,
        .next_n = FIXTURE_COUNT(fixture_next)};
    return f;
}

/* To either side of every number a share of it; 10 to 20 workers. */
static inline void fixture_intervals(fixture *f, double share)
{
    ka_intervals *of = apr_pcalloc(f->pool, sizeof(*of));
    ka_mpm_answer *answer = f->report.answers;
    size_t i;

    of->timeouts =
        apr_pcalloc(f->pool, FIXTURE_TIMEOUTS * sizeof(*of->timeouts));
    answer->workers =
        apr_pcalloc(f->pool, FIXTURE_TIMEOUTS * sizeof(*answer->workers));
    for (i = 0; i < FIXTURE_TIMEOUTS; i++) {
        const double n = (double)f->high[i].connections;
        const double held = f->high[i].held_mean;

        of->timeouts[i].connections =
            (ka_interval){n * (1 - share), n * (1 + share)};
        of->timeouts[i].held_mean =
            (ka_interval){held * (1 - share), held * (1 + share)};
        answer->workers[i] = (ka_interval){10, 20};
    }
    of->knee_us = (ka_interval){2e6, 5e6};
    of->groups = KA_SAMPLE_GROUPS;
    f->report.intervals = of;
}

/* The MPM is known, and the timeout and the workers change. */
static inline fixture *fixture_prefork(apr_pool_t *pool)
{
    fixture *f = fixture_make(pool, true);
    ka_report *r = &f->report;

    r->answers = apr_pcalloc(pool, sizeof(*r->answers));
    r->answers[0] =
        (ka_mpm_answer){.mpm = KA_MPM_PREFORK,
                        .fits = fixture_fits(f, false, 1200 * FIXTURE_MB),
                        .choice = {.index = 5,
                                   .reason = KA_CHOICE_KNEE,
                                   .knee_us = 3000000,
                                   .fit_us = 60000000,
                                   .fit_known = true,
                                   .reuse_cap = 0.874},
                        .block = fixture_blocks[KA_MPM_PREFORK],
                        .block_known = true};
    r->answer_n = 1;
    r->advice = apr_pmemdup(pool, fixture_prefork_advice,
                            sizeof(fixture_prefork_advice));
    r->advice_n = FIXTURE_PREFORK_ROWS;
    r->verdict.text = "Set KeepAliveTimeout to 3s (15s now): 2.20 workers "
                      "held in the mean instead of 6.56, reuse 78.8% instead "
                      "of 85.5%; MaxRequestWorkers 77 (150 now).";
    r->verdict.change_advised = true;
    r->verdict.confidence = KA_CONFIDENCE_HIGH;
    return f;
}

/* Two rows for each MPM; 3s on prefork and worker, 15s on event. */
static inline void fixture_unknown_advice(fixture *f)
{
    ka_report *r = &f->report;
    int mpm;

    r->advice = apr_pcalloc(f->pool, 2 * KA_MPM_N * sizeof(*r->advice));
    for (mpm = 0; mpm < KA_MPM_N; mpm++) {
        bool event = mpm == KA_MPM_EVENT;

        r->advice[r->advice_n++] = (ka_advice){
            .rule = "M18",
            .mpm = (ka_mpm)mpm,
            .directive = "KeepAliveTimeout",
            .from = "15",
            .to = event ? "15" : "400ms",
            .change = !event,
            .because = event ? "an idle connection holds no worker."
                             : "longer would hold more workers than the "
                               "memory given has room for.",
            .confidence = KA_CONFIDENCE_LOW,
            .applies = "reload"};
        r->advice[r->advice_n++] = (ka_advice){
            .rule = "R8",
            .mpm = (ka_mpm)mpm,
            .directive = "ServerLimit",
            .to = apr_psprintf(
                f->pool, "%d",
                (int)fixture_blocks[mpm].value[KA_BLOCK_SERVER_LIMIT]),
            .change = true,
            .because = "room for MaxRequestWorkers (R8).",
            .confidence = KA_CONFIDENCE_LOW,
            .applies = "restart"};
    }
}

static inline void fixture_vhosts(fixture *f)
{
    size_t i;

    f->profile.vhosts = f->vhosts;
    f->profile.vhost_n = FIXTURE_COUNT(f->vhosts);
    for (i = 0; i < FIXTURE_COUNT(f->vhosts); i++) {
        fixture_traffic(&f->vhosts[i],
                        apr_psprintf(f->pool, "www%d.example.org", (int)i),
                        31000 / (i + 1), 20);
    }
    f->vhosts[1].name = "\xc3\xa4\xff.example\n.org";
}

/* Nobody named the MPM, and the log does not tell connections apart. */
static inline fixture *fixture_unknown_mpm(apr_pool_t *pool)
{
    fixture *f = fixture_make(pool, false);
    ka_report *r = &f->report;
    int mpm;

    f->high = fixture_outcomes(pool, 24200, 1.6);
    r->high = f->high;
    f->profile.bracket = true;
    f->profile.high.connections = 31902;
    f->profile.high.requests_per_connection =
        (ka_dist){31902, 3.023, 2, 6, 22, 301};
    f->profile.high.single_share = 0.47;
    f->profile.high.parallel = (ka_dist){2904, 2.9, 2, 6, 6, 41};
    fixture_vhosts(f);
    r->formula_high = fixture_formula(3.023, -1);
    r->identity = "time";
    r->identity_note = "The log has neither %{remote}p nor %P with %{tid}P.";
    r->answers = apr_pcalloc(pool, KA_MPM_N * sizeof(*r->answers));
    r->answer_n = KA_MPM_N;
    for (mpm = 0; mpm < KA_MPM_N; mpm++) {
        bool event = mpm == KA_MPM_EVENT;

        r->answers[mpm] = (ka_mpm_answer){
            .mpm = (ka_mpm)mpm,
            .fits = fixture_fits(f, event, event ? 900 * FIXTURE_MB : -1),
            .choice = {.index = event ? FIXTURE_NOW : 2,
                       .reason = event ? KA_CHOICE_KNEE : KA_CHOICE_KEEP,
                       .knee_us = 20000000,
                       .fit_us = -2,
                       .reuse_cap = 0.85},
            .block = fixture_blocks[mpm],
            .block_known = mpm != KA_MPM_WORKER,
            .needs = mpm == KA_MPM_WORKER ? "The sizes need --process-memory."
                                          : NULL};
    }
    fixture_unknown_advice(f);
    r->verdict.text = "On prefork, set KeepAliveTimeout to 400ms (15s now).\n"
                      "On worker, set KeepAliveTimeout to 400ms (15s now).\n"
                      "On event, leave KeepAliveTimeout at 15s.";
    r->verdict.change_advised = true;
    r->verdict.confidence = KA_CONFIDENCE_LOW;
    r->verdict.confidence_why = "the log does not tell connections apart, so "
                                "every number that depends on them is a range";
    return f;
}

/* A log without one request. */
static inline fixture *fixture_refused(apr_pool_t *pool)
{
    fixture *f = fixture_make(pool, false);
    ka_report *r = &f->report;

    f->profile =
        (ka_profile){.total = {.name = ""},
                     .classes = {{.name = "static"}, {.name = "dynamic"}}};
    f->source.requests = 0;
    f->source.first_us = f->source.last_us = 0;
    f->source.log_format_detected = false;
    f->source.service_clock_us = 0;
    r->formula =
        (ka_formula){.timeout_s = 15, .process_bytes = -1, .memory_bytes = -1};
    r->identity = "none";
    r->timeout_n = 0;
    r->low = r->high = NULL;
    r->now = 0;
    r->warning_n = 0;
    r->verdict.text = "No advice: 0 requests, and at least 100 are needed to "
                      "say anything.";
    r->verdict.confidence = KA_CONFIDENCE_LOW;
    r->verdict.confidence_why = "0 requests, and at least 100 are needed to "
                                "say anything";
    r->verdict.refused = true;
    return f;
}

/* What a renderer writes, 80 columns unless options say else. */
static inline char *fixture_render(ka_render_fn *render, const fixture *f,
                                   const ka_render_options *options)
{
    static const ka_render_options plain = {.width = 80};
    char *buffer = NULL, *text;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);

    assert_non_null(out);
    assert_int_equal(render(out, &f->report, options ? options : &plain),
                     APR_SUCCESS);
    fclose(out);
    text = apr_pstrmemdup(f->pool, buffer, size);
    free(buffer);
    return text;
}

#endif
