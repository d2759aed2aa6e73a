/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A group's servers in the configuration that is made for all of them: in
 * comments only, since which server reads it is not known here. */
#include "conf.h"

#include <string.h>
#include <apr_strings.h>

#include "../words.h"

#define SERVERS_NAMED 10
#define DEVIATIONS_SHOWN 40

static const char *name_of(const ka_conf *c, size_t host)
{
    const char *name = c->report->hosts[host]->host;

    return name ? ka_words_clean(c->pool, name, false) : "(no name)";
}

void ka_conf_servers(const ka_conf *c)
{
    size_t n = c->report->host_n, i;
    const char *text = "";

    if (!n) {
        return;
    }
    for (i = 0; i < n && i < SERVERS_NAMED; i++) {
        text = apr_pstrcat(c->pool, text, i ? ", " : "", name_of(c, i), NULL);
    }
    ka_conf_comment(c, 0, "Servers:  ",
                    apr_psprintf(c->pool,
                                 "%s: %s%s; means are per server, workers are "
                                 "those of the server that needs most",
                                 ka_words_count(c->pool, (int64_t)n), text,
                                 i < n ? ", ..." : ""));
}

/* What the server's own advice says otherwise; NULL: nothing. */
static const char *deviation(const ka_conf *c, const ka_report *host)
{
    static const char *const names[] = {"KeepAlive", "KeepAliveTimeout",
                                        "MaxKeepAliveRequests",
                                        "MaxRequestWorkers"};
    const char *text = NULL;
    size_t i;

    for (i = 0; host->answer_n && i < sizeof(names) / sizeof(names[0]); i++) {
        ka_mpm mpm = host->answers[0].mpm;
        const ka_advice *own = ka_conf_row(host, names[i], mpm);
        const ka_advice *group = ka_conf_row(c->report, names[i], mpm);

        if (own && group && own->to && group->to &&
            strcmp(own->to, group->to)) {
            text = apr_pstrcat(c->pool, text ? text : "", text ? ", " : "",
                               names[i], " ", own->to, NULL);
        }
    }
    return text;
}

void ka_conf_deviations(const ka_conf *c)
{
    size_t shown = 0, more = 0, i;

    for (i = 0; i < c->report->host_n; i++) {
        const char *text = deviation(c, c->report->hosts[i]);

        if (!text) {
            continue;
        }
        if (shown == DEVIATIONS_SHOWN) {
            more++;
            continue;
        }
        if (shown++ == 0) {
            fputc('\n', c->out);
            ka_conf_comment(c, 0, "",
                            "By their own traffic alone, these servers would "
                            "get other values:");
        }
        ka_conf_comment(c, 0, "    ",
                        apr_pstrcat(c->pool, name_of(c, i), ": ", text, NULL));
    }
    if (more) {
        ka_conf_comment(c, 0, "    ",
                        apr_psprintf(c->pool,
                                     "... and %s; --output json has "
                                     "all",
                                     ka_words_plural(c->pool, (int64_t)more,
                                                     "more server")));
    }
}
