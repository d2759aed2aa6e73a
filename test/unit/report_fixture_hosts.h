/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A hand-written report about a group: three servers of which one is busier,
 * and one says too little. */
#ifndef KA_TEST_REPORT_FIXTURE_HOSTS_H
#define KA_TEST_REPORT_FIXTURE_HOSTS_H

#include "advice/advise.h"
#include "report_fixture.h"

#define FIXTURE_HOSTS 3
/* Off to 15s, that the document does not grow without need. */
#define FIXTURE_HOST_TIMEOUTS (FIXTURE_NOW + 1)

static ka_warning fixture_group_warnings[] = {
    {"hosts_differ",
     "One configuration fits some of these servers badly. Over twice the 14 "
     "workers of the median server are needed by: web2.example.org 49.",
     NULL},
    {"hosts_refused", "These have too little data for advice of their own: "
                      "web3.example.org. What there is counts for the group.",
                      "R13"}};

/* A server whose profile was read from a file. */
static inline fixture *fixture_host(apr_pool_t *pool, const char *name)
{
    static const char *files[] = {"/var/tmp/fleet.kap"};
    fixture *f = fixture_prefork(pool);

    f->source.kind = "profile";
    f->source.files = files;
    f->source.file_n = 1;
    f->source.log_format = f->source.log_format_text = NULL;
    f->source.log_format_detected = false;
    f->source.sample_n = 0;
    f->report.host = name;
    f->report.timeout_n = FIXTURE_HOST_TIMEOUTS;
    f->report.warning_n = 0;
    f->report.next_n = 1;
    return f;
}

/* Four times the holders, and a timeout of its own. */
static inline fixture *fixture_busy_host(apr_pool_t *pool, const char *name)
{
    fixture *f = fixture_host(pool, name);
    ka_report *r = &f->report;
    ka_advice *rows =
        apr_pmemdup(pool, r->advice, FIXTURE_PREFORK_ROWS * sizeof(*rows));

    f->low = f->high = fixture_outcomes(pool, 12100, 4);
    r->low = r->high = f->low;
    r->answers[0].fits = fixture_fits(f, false, 4800 * FIXTURE_MB);
    r->answers[0].choice.index = 7;
    r->answers[0].block.value[KA_BLOCK_MAX_REQUEST_WORKERS] = 310;
    rows[1].to = "5";
    rows[7].from = "300";
    rows[7].to = "310";
    r->advice = rows;
    fixture_traffic(&f->profile.total, "", 289278, 233);
    f->source.forgotten = 12;
    f->source.distinct_estimated = true;
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 300, false,
                  "profile of web2.example.org: --max-request-workers 300");
    return f;
}

/* A server of which next to nothing is known. */
static inline fixture *fixture_quiet_host(apr_pool_t *pool, const char *name)
{
    fixture *f = fixture_refused(pool);

    f->source.kind = "profile";
    f->source.log_format = NULL;
    f->report.host = name;
    f->report.generated_us = 0;
    return f;
}

/* The group of hosts[n]; its own numbers are those of a plain server. */
static inline fixture *fixture_group_of(apr_pool_t *pool,
                                        const ka_report *const *hosts, size_t n)
{
    fixture *f = fixture_host(pool, NULL);
    ka_report *r = &f->report;
    ka_advice *rows =
        apr_pmemdup(pool, r->advice, FIXTURE_PREFORK_ROWS * sizeof(*rows));

    r->answers[0].block.value[KA_BLOCK_SERVER_LIMIT] = 310;
    r->answers[0].block.value[KA_BLOCK_MAX_REQUEST_WORKERS] = 310;
    rows[3].to = "310";
    rows[7].because = "49 needed so that 1 arrival in 1,000 waits on "
                      "web2.example.org, the busiest server: mean 8.41, peak "
                      "43. Not below the largest present limit: it reserves "
                      "nothing.";
    rows[7].from = NULL;
    rows[7].from_differs = true;
    rows[7].to = "310";
    r->advice = rows;
    ka_report_group(r, &f->server, hosts, n);
    f->profile.window_s = FIXTURE_WINDOW_S * 3;
    f->source.forgotten = 12;
    f->source.distinct_estimated = true;
    r->warnings = fixture_group_warnings;
    r->warning_n = FIXTURE_COUNT(fixture_group_warnings);
    r->next_n = FIXTURE_COUNT(fixture_next);
    r->verdict.text = "For each of 3 servers: Set KeepAliveTimeout to 3s (15s "
                      "now): 2.20 workers held in the mean instead of 6.56, "
                      "reuse 78.8% instead of 85.5%; MaxRequestWorkers 310.";
    return f;
}

static inline fixture *fixture_group(apr_pool_t *pool)
{
    static const char *names[FIXTURE_HOSTS] = {
        "web1.example.org", "web2.example.org", "web3.example.org"};
    const ka_report **hosts = apr_palloc(pool, FIXTURE_HOSTS * sizeof(*hosts));

    hosts[0] = &fixture_host(pool, names[0])->report;
    hosts[1] = &fixture_busy_host(pool, names[1])->report;
    hosts[2] = &fixture_quiet_host(pool, names[2])->report;
    return fixture_group_of(pool, hosts, FIXTURE_HOSTS);
}

/* So many servers, each with one worker more than the one before. */
static inline fixture *fixture_many_hosts(apr_pool_t *pool, size_t n,
                                          const char *name)
{
    const ka_report **hosts = apr_palloc(pool, n * sizeof(*hosts));
    size_t i;

    for (i = 0; i < n; i++) {
        fixture *f =
            fixture_host(pool, apr_psprintf(pool, "%s%03d", name, (int)i));
        ka_mpm_answer *answer = &f->report.answers[0];

        answer->fits[answer->choice.index].workers = 100 + (double)i;
        hosts[i] = &f->report;
    }
    return fixture_group_of(pool, hosts, n);
}

#endif
