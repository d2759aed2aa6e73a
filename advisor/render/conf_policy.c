/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A block for mod_kapolicy.  Its lines are ours and hold nothing of a log; they
 * are not wrapped, since each has to be one line. */
#include "conf.h"

#include "../words.h"

#define INDENT "    "

static void because(const ka_conf *c, const char *text)
{
    if (text) {
        ka_conf_comment(c, 0, "", text);
    }
}

static void line(const ka_conf *c, const char *indent, const char *text)
{
    fprintf(c->out, "%s%s%s\n", c->report->policy.active ? "" : "# ", indent,
            text);
}

/* Event refuses rules that wait longer than KeepAliveTimeout. */
void ka_conf_policy(const ka_conf *c)
{
    const ka_policy_advice *policy = &c->report->policy;
    size_t i;

    if (policy->line_n == 0) {
        return;
    }
    fputc('\n', c->out);
    ka_conf_comment(c, 0, "", "By mod_kapolicy:");
    because(c, policy->by_class.because);
    because(c, policy->by_proxy.because);
    because(c, policy->by_load.because);
    because(c, policy->to_use);
    line(c, "", "<IfModule kapolicy_module>");
    if (policy->not_event) {
        line(c, "", "<IfModule !mpm_event_module>");
    }
    for (i = 0; i < policy->line_n; i++) {
        line(c, INDENT, policy->lines[i]);
    }
    if (policy->not_event) {
        line(c, "", "</IfModule>");
    }
    line(c, "", "</IfModule>");
}
