/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "group.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"

/* Two servers know different values. */
static bool known_differently(const ka_report *report, ka_fact_id id)
{
    const ka_fact *first = NULL;
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        const ka_fact *own = &report->hosts[i]->server->facts[id];

        if (own->known && first && own->value != first->value) {
            return true;
        }
        first = own->known ? own : first;
    }
    return false;
}

void ka_report_group(ka_report *report, ka_server *server,
                     const ka_report *const *hosts, size_t n)
{
    int i;

    report->hosts = hosts;
    report->host_n = n;
    for (i = 0; i < KA_FACTS; i++) {
        report->facts_differ[i] = known_differently(report, (ka_fact_id)i);
        if (report->facts_differ[i]) {
            server->facts[i] = (ka_fact){.known = false};
        }
    }
}

size_t ka_timeout_index(const ka_report *report, int64_t timeout_us)
{
    size_t i;

    for (i = 0; i + 1 < report->timeout_n; i++) {
        if (report->high[i].timeout_us >= timeout_us) {
            break;
        }
    }
    return i;
}

/* One server's fit at a timeout of the group's.  Connections without a request
 * are its own; the rest of the supply is what all of them have. */
static ka_fit host_fit(const ka_report *host, const ka_supply *supply,
                       int64_t timeout_us)
{
    ka_supply own = *supply;

    own.extra_mean = ka_no_request_workers(host->profile);
    return ka_fit_of(host, ka_timeout_index(host, timeout_us), &own);
}

/* The largest memory is also the one that fits least. */
static void take_in(ka_fit *fit, const ka_fit *other)
{
    fit->workers = fmax(fit->workers, other->workers);
    fit->connections = fmax(fit->connections, other->connections);
    if (other->memory_bytes > fit->memory_bytes) {
        fit->memory_bytes = other->memory_bytes;
        fit->fits = other->fits;
    }
}

void ka_group_fits(ka_fit *fits, const ka_report *group,
                   const ka_supply *supply)
{
    size_t i, h;

    for (i = 0; i < group->timeout_n; i++) {
        int64_t timeout_us = group->high[i].timeout_us;

        fits[i] = (ka_fit){.memory_bytes = -1, .fits = -1};
        for (h = 0; h < group->host_n; h++) {
            ka_fit own;

            if (group->hosts[h]->timeout_n > 0) {
                own = host_fit(group->hosts[h], supply, timeout_us);
                take_in(&fits[i], &own);
            }
        }
    }
}

const ka_report *ka_group_busiest(const ka_outcome **outcome,
                                  const ka_report *group,
                                  const ka_supply *supply, int64_t timeout_us)
{
    const ka_report *busiest = NULL;
    double most = -1;
    size_t i;

    for (i = 0; i < group->host_n; i++) {
        const ka_report *host = group->hosts[i];
        double workers;

        if (host->timeout_n == 0) {
            continue;
        }
        workers = host_fit(host, supply, timeout_us).workers;
        if (workers > most) {
            most = workers;
            busiest = host;
            *outcome = &host->high[ka_timeout_index(host, timeout_us)];
        }
    }
    return busiest;
}

double ka_busy_opens(const ka_report *report, int64_t timeout_us)
{
    double most = 0;
    size_t i;

    if (report->timeout_n == 0) {
        return 0;
    }
    if (report->host_n == 0) {
        i = ka_timeout_index(report, timeout_us);
        return report->profile->total.p99_per_s * (1 - report->high[i].reuse);
    }
    for (i = 0; i < report->host_n; i++) {
        most = fmax(most, ka_busy_opens(report->hosts[i], timeout_us));
    }
    return most;
}

double ka_longest_window(const ka_report *report)
{
    double longest = 0;
    size_t i;

    if (report->host_n == 0) {
        return report->profile->window_s;
    }
    for (i = 0; i < report->host_n; i++) {
        longest = fmax(longest, report->hosts[i]->profile->window_s);
    }
    return longest;
}

int64_t ka_most_known(const ka_report *report, ka_fact_id fact)
{
    int64_t most = ka_server_get(report->server, fact, -1);
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        int64_t own = ka_server_get(report->hosts[i]->server, fact, -1);

        most = own > most ? own : most;
    }
    return most;
}

const char *ka_timeout_now(const ka_report *report, apr_pool_t *pool)
{
    int64_t least = report->timeout_us, most = least;
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        int64_t own = report->hosts[i]->timeout_us;

        least = own < least ? own : least;
        most = own > most ? own : most;
    }
    return least == most
               ? ka_words_timeout(pool, least)
               : apr_psprintf(pool, "%s to %s", ka_words_timeout(pool, least),
                              ka_words_timeout(pool, most));
}
