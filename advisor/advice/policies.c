/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What mod_kapolicy would do: by kind of content (R16), by load (R7), behind a
 * proxy (R1). */
#include "policies.h"

#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../words.h"
#include "simulated.h"

/* mod_kapolicy's defaults. */
#define LOW_PERCENT 50
#define HIGH_PERCENT 90

/* The shortest wait of KAPolicyAdaptive, where not even that fits. */
#define SHORTEST_US INT64_C(200000)

/* The addresses of a proxy are not known: these stand in the sample, too. */
#define ADDRESSES "10.0.0.0/8"

/* ---- by load ------------------------------------------------------------- */

static const char *why_not_played(const ka_decision *d, const ka_mpm_answer *a)
{
    return !a->block_known ? "the sizes of the MPM are not known"
           : !ka_service_known(d->report->profile)
               ? "there are no service times (%D)"
               : NULL;
}

static void predict_load(ka_policy_by_load *by, const ka_decision *d,
                         const ka_mpm_answer *a)
{
    int64_t fixed_us = d->report->high[a->choice.index].timeout_us;
    int64_t wanted_us = by->adaptive.max_us;

    by->why_not = why_not_played(d, a);
    if (!by->why_not &&
        (!ka_simulate_otherwise(&by->fixed, d, a, fixed_us, NULL) ||
         !ka_simulate_otherwise(&by->wanted, d, a, wanted_us, NULL) ||
         !ka_simulate_otherwise(&by->by_load, d, a, wanted_us,
                                &by->adaptive))) {
        by->why_not = "there is no traffic to play here";
    }
    by->traffic = a->simulated.known ? a->simulated.stretch.how : NULL;
}

static void advise_load(ka_decision *d, const ka_mpm_answer *a)
{
    ka_policy_by_load *by = &d->report->policy.by_load;
    const ka_choice *c = &a->choice;
    apr_pool_t *p = d->pool;
    int64_t least = c->fit_us > SHORTEST_US ? c->fit_us : SHORTEST_US;

    if (d->report->policy.by_class.proposed ||
        (c->reason != KA_CHOICE_FIT && c->reason != KA_CHOICE_PAGE_BURST) ||
        !c->fit_known || least >= c->knee_us) {
        return;
    }
    by->proposed = true;
    by->adaptive = (ka_adaptive){.min_us = least,
                                 .max_us = c->knee_us,
                                 .low = LOW_PERCENT,
                                 .high = HIGH_PERCENT};
    by->because = apr_psprintf(
        p,
        "The traffic would want %s, of which %s fits at the peak (R7): by load "
        "it waits %s while less than %d%% of the workers are taken, and less "
        "as they are.",
        ka_words_timeout(p, c->knee_us), ka_words_timeout(p, least),
        ka_words_timeout(p, c->knee_us), LOW_PERCENT);
    predict_load(by, d, a);
}

/* ---- behind a proxy ------------------------------------------------------ */

static ka_policy_side side_at(const ka_decision *d, const ka_mpm_answer *a,
                              size_t index)
{
    return (ka_policy_side){.outcome = d->report->high[index],
                            .fit = a->fits[index]};
}

static void advise_proxy(ka_decision *d, const ka_mpm_answer *a)
{
    const ka_report *r = d->report;
    ka_policy_by_proxy *by = &d->report->policy.by_proxy;
    ka_choice_options options = {.delta = d->options->delta,
                                 .now_us = r->timeout_us,
                                 .proxy_idle_us = -1};
    apr_pool_t *p = d->pool;
    ka_choice others;

    if (a->choice.reason != KA_CHOICE_PROXY || !a->supply.holds_idle) {
        return;
    }
    others = ka_choose(r->high, a->fits, r->timeout_n, &a->supply, &options);
    if (others.index >= a->choice.index) {
        return;
    }
    *by = (ka_policy_by_proxy){.proposed = true,
                               .proxy_us = r->high[a->choice.index].timeout_us,
                               .others_us = r->high[others.index].timeout_us,
                               .all = side_at(d, a, a->choice.index),
                               .none = side_at(d, a, others.index)};
    by->because = apr_psprintf(
        p,
        "Only the proxy's own connections need %s (R1); by themselves others "
        "would get %s. Between %s and %s workers are held in the mean then, by "
        "how much comes through the proxy, which is not told apart here. Put "
        "its addresses in the place of %s.",
        ka_words_timeout(p, by->proxy_us), ka_words_timeout(p, by->others_us),
        ka_words_number(p, by->none.outcome.held_mean),
        ka_words_number(p, by->all.outcome.held_mean), ADDRESSES);
}

/* ---- lines --------------------------------------------------------------- */

typedef struct writer {
    ka_policy_advice *out;
    apr_pool_t *pool;
} writer;

/* Of lines that are proposed; there are fewer. */
#define LINES_MAX 16

static void add(writer *w, const char *line)
{
    w->out->lines[w->out->line_n++] = line;
}

static const char *time_text(apr_pool_t *pool, int64_t us)
{
    return ka_print_httpd_time(apr_palloc(pool, KA_UNITS_BUFFER), us);
}

static const char *action(apr_pool_t *pool, int64_t us)
{
    return us == KA_TIMEOUT_OFF
               ? "close"
               : apr_pstrcat(pool, "keep timeout=", time_text(pool, us), NULL);
}

/* What no handler was asked about counts as static: what follows it comes at
 * once.  A log calls dynamic what is proxied. */
static void add_class_lines(writer *w)
{
    static const char *const served[KA_CLASS_N] = {
        [KA_CLASS_STATIC] = "static,error",
        [KA_CLASS_DYNAMIC] = "dynamic,proxy"};
    const ka_policy_by_class *by = &w->out->by_class;
    int i;

    for (i = 0; i < KA_CLASS_N && by->proposed; i++) {
        add(w,
            apr_pstrcat(w->pool, "KAPolicy ", action(w->pool, by->after_us[i]),
                        " served=", served[i], NULL));
    }
}

static void add_proxy_lines(writer *w)
{
    const ka_policy_by_proxy *by = &w->out->by_proxy;

    if (!by->proposed) {
        return;
    }
    if (!w->out->by_class.proposed) {
        add(w, apr_pstrcat(w->pool, "KAPolicy ", action(w->pool, by->others_us),
                           NULL));
    }
    add(w, apr_pstrcat(w->pool, "KAPolicy ", action(w->pool, by->proxy_us),
                       " max=0 \"expr=%{CONN_REMOTE_ADDR} -ipmatch '" ADDRESSES
                       "'\"",
                       NULL));
}

static void add_load_line(writer *w)
{
    const ka_policy_by_load *by = &w->out->by_load;
    const ka_adaptive *a = &by->adaptive;

    if (by->proposed) {
        add(w, apr_psprintf(w->pool, "KAPolicyAdaptive %s %s %u%% %u%%",
                            time_text(w->pool, a->min_us),
                            time_text(w->pool, a->max_us), a->low, a->high));
    }
}

/* ---- whether they can be in force ---------------------------------------- */

/* file:line of the first rule that is there; NULL: none. */
static const char *present_rule(const ka_site *site)
{
    const ka_cfg_tree *tree = site->httpd->tree;
    int i;

    for (i = 0; tree && i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (ka_cfg_is(node, "KAPolicy") ||
            ka_cfg_is(node, "KAPolicyAdaptive")) {
            return ka_cfg_origin(tree, node);
        }
    }
    return NULL;
}

/* One of the lines above, put into force earlier. */
static bool is_ours(const ka_cfg_node *node)
{
    return node->parent == KA_CFG_TOP &&
           (ka_cfg_is(node, "KAPolicyAdaptive") ||
            (ka_cfg_is(node, "KAPolicy") &&
             (strstr(node->args, "served=static,error") ||
              strstr(node->args, "served=dynamic,proxy"))));
}

static bool is_policy_of(const ka_cfg_node *node, const char *file)
{
    return node->parent == KA_CFG_TOP && !strcmp(node->file, file) &&
           (ka_cfg_is(node, "KAPolicy") || ka_cfg_is(node, "KAPolicyAdaptive"));
}

/* The file with our lines, which may be the one that is written anew: without
 * them it would take them away.  @return false: there is none */
static bool keep_present(ka_decision *d)
{
    ka_policy_advice *out = &d->report->policy;
    const ka_site *site = d->report->site;
    const ka_cfg_tree *tree = site ? site->httpd->tree : NULL;
    const ka_cfg_node *first = NULL;
    writer w = {.out = out, .pool = d->pool};
    int i, n = tree ? tree->nodes->nelts : 0;

    for (i = 0; i < n && !first; i++) {
        first =
            is_ours(ka_cfg_node_at(tree, i)) ? ka_cfg_node_at(tree, i) : NULL;
    }
    if (!first) {
        return false;
    }
    out->lines = apr_palloc(d->pool, (size_t)n * sizeof(*out->lines));
    for (i = 0; i < n; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (is_policy_of(node, first->file)) {
            add(&w, apr_pstrcat(d->pool, node->name, " ", node->args, NULL));
        }
    }
    out->active = out->kept = true;
    out->to_use =
        apr_psprintf(d->pool,
                     "These are in force already (%s) and stay: this traffic, "
                     "recorded under "
                     "them, does not tell what one KeepAliveTimeout would do.",
                     ka_cfg_origin(tree, first));
    return true;
}

/* Waits no longer than what fits would make them. */
static bool load_is_safe(const ka_policy_by_load *by)
{
    return !by->proposed ||
           (!by->why_not && by->by_load.wait_p99_us <= by->fixed.wait_p99_us);
}

static void settle(ka_decision *d)
{
    ka_policy_advice *out = &d->report->policy;
    const ka_site *site = d->report->site;
    bool loaded = site && ka_site_has_module(site, "kapolicy_module");
    const char *present = loaded ? present_rule(site) : NULL;

    out->not_event = d->report->answer_n > 1;
    if (!loaded) {
        out->to_use = "mod_kapolicy is not loaded as far as is known: take "
                      "the # away once it is.";
        return;
    }
    if (present) {
        out->to_use = apr_psprintf(d->pool,
                                   "There is a rule already (%s), under which "
                                   "this traffic was recorded: put these in "
                                   "its place.",
                                   present);
        return;
    }
    if (out->by_proxy.proposed) {
        out->to_use = "The proxy's addresses are not known here: put them in, "
                      "and take the # away.";
        return;
    }
    if (!load_is_safe(&out->by_load)) {
        out->to_use = "What it does to waiting clients is not known: try it "
                      "with kaadvisor simulate, and take the # away.";
        return;
    }
    out->active = true;
    out->to_use = "mod_kapolicy is loaded: these are in force with the rest of "
                  "the file, and change nothing without it.";
}

void ka_advise_policy(ka_decision *d)
{
    ka_report *r = d->report;
    writer w = {.out = &r->policy, .pool = d->pool};

    if (r->verdict.refused || r->host_n > 0 || r->answer_n == 0 ||
        !r->answers[0].supply.holds_idle) {
        return;
    }
    if (keep_present(d)) {
        return;
    }
    r->policy.lines = apr_palloc(d->pool, LINES_MAX * sizeof(char *));
    ka_policy_choose_classes(&r->policy.by_class, d, &r->answers[0]);
    advise_load(d, &r->answers[0]);
    advise_proxy(d, &r->answers[0]);
    add_class_lines(&w);
    add_proxy_lines(&w);
    add_load_line(&w);
    if (r->policy.line_n > 0) {
        settle(d);
    }
}
