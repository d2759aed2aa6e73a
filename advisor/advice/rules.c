/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "rules.h"

#include <assert.h>
#include <string.h>
#include <apr_strings.h>

#include "../words.h"

/* What is missing to judge a rule; NULL: nothing. */
typedef const char *missing(const ka_decision *d);

/* What the rule did where no row or warning shows it; NULL: nothing. */
typedef const char *did(const ka_decision *d);

static const char *no_site(const ka_decision *d)
{
    return d->report->site
               ? NULL
               : "the server's configuration was not read: run kaadvisor on "
                 "the host without a SOURCE, or with --httpd-config";
}

static const char *no_processes(const ka_decision *d)
{
    const char *why = no_site(d);

    return why || d->report->site->runs
               ? why
               : "no httpd runs with this configuration";
}

static const char *no_workers(const ka_decision *d)
{
    return d->report->server->facts[KA_FACT_MAX_REQUEST_WORKERS].known
               ? NULL
               : "the present MaxRequestWorkers is not known "
                 "(--max-request-workers)";
}

static const char *no_service(const ka_decision *d)
{
    return ka_service_known(d->report->profile)
               ? NULL
               : "there are no service times (%D)";
}

static const char *no_backends(const ka_decision *d)
{
    const char *why = no_service(d);

    return why ? why : no_site(d);
}

static const char *no_per_child(const ka_decision *d)
{
    return d->report->server->facts[KA_FACT_MAX_CONNECTIONS_PER_CHILD].known
               ? NULL
               : no_site(d);
}

static const char *no_addresses(const ka_decision *d)
{
    return d->report->profile->addresses > 0 ||
                   d->report->server->facts[KA_FACT_PROXY_IDLE].known
               ? NULL
               : "the source tells no addresses of clients (--proxy-idle says "
                 "that a proxy is in front)";
}

static const char *whole_block(const ka_decision *d)
{
    const ka_report *r = d->report;

    return r->answer_n && r->answers[0].block_known && !r->verdict.refused
               ? "the whole block is written, each limit fitting the others"
               : NULL;
}

static const char *how_applied(const ka_decision *d)
{
    return d->report->verdict.change_advised
               ? "each change says whether a reload or a restart is needed"
               : NULL;
}

static const char *confidence(const ka_decision *d)
{
    return d->report->verdict.confidence_why
               ? apr_psprintf(d->pool, "confidence %s: %s",
                              ka_confidence_name(d->report->verdict.confidence),
                              d->report->verdict.confidence_why)
               : NULL;
}

static const char *own_apart(const ka_decision *d)
{
    const ka_source_info *s = d->report->source;
    uint64_t n = 0;
    int i;

    for (i = 0; i < KA_EXCLUDED_N; i++) {
        n += s->excluded[i];
    }
    return n ? apr_psprintf(d->pool, "%s left out",
                            ka_words_plural(d->pool, (int64_t)n, "line"))
             : NULL;
}

static const char *classes_compared(const ka_decision *d)
{
    const ka_by_class *by = &d->report->by_class;

    return !by->known || !by->verdict ? NULL
           : d->report->policy.by_class.proposed
               ? "a timeout for each kind pays: see by policy"
           : by->line_n
               ? "closing after dynamic requests pays: see by kind of content"
               : "compared by kind of content: one setting serves both";
}

static const char *backend_demand(const ka_decision *d)
{
    const ka_class_advice *dynamic =
        &d->report->by_class.classes[KA_CLASS_DYNAMIC];

    return d->report->by_class.known && dynamic->busy_known
               ? apr_psprintf(
                     d->pool, "%s in progress at once at the peak",
                     ka_words_plural(d->pool, (int64_t)dynamic->busy_peak,
                                     "dynamic request"))
               : NULL;
}

static const struct {
    const char *id, *title;
    missing *missing;
    did *did;
} rules[KA_RULES] = {
    {"R1", "KeepAliveTimeout exceeds the idle timeout of a proxy in front",
     no_addresses, NULL},
    {"R2", "Ways out where that does not fit", NULL, NULL},
    {"R3", "Virtual hosts: whose timeout is in force", no_site, NULL},
    {"R4", "event: large children, none retired for being spare, sendfile",
     NULL, NULL},
    {"R5", "mod_php forces prefork; PHP-FPM does not", no_site, NULL},
    {"R6", "TLS: a new connection costs 10 to 15 requests", NULL, NULL},
    {"R7", "MaxRequestWorkers reached: a shorter timeout first", no_workers,
     NULL},
    {"R8", "The block is consistent", NULL, whole_block},
    {"R9", "MaxConnectionsPerChild counts connections", no_per_child, NULL},
    {"R10", "Reload or restart, and what it does to idle connections", NULL,
     how_applied},
    {"R11", "Limits around httpd", no_processes, NULL},
    {"R12", "The server's own traffic is apart", NULL, own_apart},
    {"R13", "Too little data is said", NULL, confidence},
    {"R14", "Whether keep-alive helps at all", NULL, NULL},
    {"R15", "Slow clients", no_service, NULL},
    {"R16", "Static and dynamic requests want different keep-alive", NULL,
     classes_compared},
    {"R17", "Backends are sized for their peak", no_backends, backend_demand},
    {"R18", "No resource above half of its capacity at the peak", no_workers,
     NULL}};

/* Whether `rule` is one of those in "R4" or "R7, R8". */
static bool names(const char *list, const char *rule)
{
    size_t n = strlen(rule);
    const char *at = list;

    while (at && (at = strstr(at, rule)) != NULL) {
        if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ',')) {
            return true;
        }
        at += n;
    }
    return false;
}

static const char *add(const ka_decision *d, const char *text,
                       const char *more)
{
    return text ? apr_pstrcat(d->pool, text, ", ", more, NULL) : more;
}

/* Directives and warnings that come from a rule, each once; NULL: none. */
static const char *spoken(const ka_decision *d, const char *rule)
{
    const ka_report *r = d->report;
    const char *text = NULL;
    size_t i;

    for (i = 0; i < r->advice_n; i++) {
        const ka_advice *row = &r->advice[i];

        if (names(row->rule, rule) &&
            (!text || !strstr(text, row->directive))) {
            text = add(d, text, row->directive);
        }
    }
    for (i = 0; i < r->warning_n; i++) {
        if (r->warnings[i].rule && names(r->warnings[i].rule, rule)) {
            text = add(d, text,
                       apr_pstrcat(d->pool, "warning ", r->warnings[i].id,
                                   NULL));
        }
    }
    return text;
}

void ka_judge_rules(ka_decision *d)
{
    size_t i;

    for (i = 0; i < KA_RULES; i++) {
        ka_finding *finding = &d->report->findings[i];
        const char *said = rules[i].did ? rules[i].did(d) : NULL;
        const char *rows = spoken(d, rules[i].id);

        *finding = (ka_finding){.rule = rules[i].id, .title = rules[i].title};
        finding->text = said && rows ? add(d, said, rows) : said ? said : rows;
        if (finding->text) {
            finding->state = KA_RULE_SPEAKS;
            continue;
        }
        finding->text = rules[i].missing ? rules[i].missing(d) : NULL;
        finding->state = finding->text ? KA_RULE_UNKNOWN : KA_RULE_QUIET;
    }
}
