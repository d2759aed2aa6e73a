/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Parts of the traffic that want something else than the whole.  All of it is
 * comments: it belongs into sections and files of others, or is a choice. */
#include "conf.h"

#include <string.h>
#include <apr_strings.h>

#include "../words.h"

static void gap(const ka_conf *c)
{
    fputc('\n', c->out);
}

static void lead(const ka_conf *c, const ka_advice *a)
{
    const char *mpm =
        c->report->answer_n > 1 && a->mpm < KA_MPM_N
            ? apr_pstrcat(c->pool, ", on ", ka_mpm_name(a->mpm), NULL)
            : "";

    gap(c);
    ka_conf_comment(
        c, 0, "",
        apr_psprintf(c->pool, "In the <VirtualHost> of %s%s%s%s%s:",
                     ka_words_clean(c->pool, a->vhost, false),
                     a->where ? " (" : "",
                     ka_words_clean(c->pool, a->where, false),
                     a->where ? ")" : "", mpm));
}

static void vhosts(const ka_conf *c)
{
    size_t i;

    for (i = 0; i < c->report->advice_n; i++) {
        const ka_advice *a = &c->report->advice[i];

        if (a->vhost && a->directive && a->to) {
            lead(c, a);
            ka_conf_comment(
                c, 0, "    ",
                apr_pstrcat(c->pool, a->directive, " ", a->to, NULL));
            ka_conf_comment(c, 0, "", a->because ? a->because : "");
        }
    }
}

/* These are not wrapped: taken over, each has to be one line.  They are ours,
 * and hold nothing of a log. */
static void kinds(const ka_conf *c)
{
    const ka_by_class *by = &c->report->by_class;
    size_t i;

    if (by->line_n == 0) {
        return;
    }
    gap(c);
    ka_conf_comment(c, 0, "", "By kind of content (needs mod_setenvif):");
    for (i = 0; i < by->line_n; i++) {
        fprintf(c->out, "#     %s\n", by->lines[i]);
    }
    ka_conf_comment(c, 0, "", by->verdict);
}

static void backends(const ka_conf *c)
{
    size_t i;

    for (i = 0; i < c->report->advice_n; i++) {
        const ka_advice *a = &c->report->advice[i];

        if (strcmp(a->rule, "R17") || !a->change) {
            continue;
        }
        gap(c);
        ka_conf_comment(c, 0, "",
                        apr_psprintf(c->pool, "%s %s%s%s instead of %s:",
                                     a->directive, a->to,
                                     a->where ? " at " : "",
                                     ka_words_clean(c->pool, a->where, false),
                                     a->from ? a->from : "what it is"));
        ka_conf_comment(c, 0, "", a->because);
    }
}

void ka_conf_parts(const ka_conf *c)
{
    vhosts(c);
    kinds(c);
    backends(c);
}
