/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor simulate`: what mod_kapolicy is told in a configuration, as far as
 * traffic can tell where it applies. */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../host/config_text.h"
#include "../words.h"

/* mod_kapolicy's defaults. */
#define LOW_PERCENT 50
#define HIGH_PERCENT 90

#define UNSET INT64_C(-1)

/* What a line is about; what a log calls dynamic may be proxied. */
enum { OF_STATIC = 1, OF_DYNAMIC = 2, OF_OTHERS = 4 };

typedef struct rule {
    bool close, keep;
    int64_t timeout_us;   /* UNSET */
    unsigned served;      /* 0: any */
    const char *why_not;  /* what keeps it from being obeyed, a clause */
    const char *left_out; /* of a line that is, what of it is not */
} rule;

typedef struct reading {
    ka_sim_side *side;
    apr_array_header_t *remarks; /* of const char * */
    apr_array_header_t *lines;   /* of ka_sim_rule */
    const ka_cfg_tree *tree;
    apr_pool_t *pool;
    /* Of each class so far: */
    bool close[KA_CLASS_N];
    int64_t after_us[KA_CLASS_N]; /* or KA_POLICY_STAYS, or AS_CONFIGURED */
    bool any;
} reading;

#define AS_CONFIGURED INT64_C(-3)

/* ---- one line of KAPolicy ------------------------------------------------ */

static unsigned served_of(const char *word)
{
    static const struct {
        const char *name;
        unsigned served;
    } names[] = {{"static", OF_STATIC},
                 {"dynamic", OF_DYNAMIC},
                 {"proxy", OF_OTHERS},
                 {"error", OF_OTHERS}};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcasecmp(word, names[i].name)) {
            return names[i].served;
        }
    }
    return 0;
}

static void read_served(rule *r, const char *value, apr_pool_t *pool)
{
    char *rest = apr_pstrdup(pool, value), *word;

    while ((word = apr_strtok(rest, ",", &rest)) != NULL) {
        r->served |= served_of(word);
    }
    if (!(r->served & (OF_STATIC | OF_DYNAMIC))) {
        r->why_not = "a log does not tell what was proxied, or answered "
                     "before any handler was asked";
    }
}

static void read_timeout(rule *r, const char *value, apr_pool_t *pool)
{
    if (ka_parse_duration(&r->timeout_us, value) || r->timeout_us == 0) {
        r->why_not = apr_psprintf(pool, "%s is no time to wait", value);
    }
}

static bool begins(const char *word, const char *key, const char **value)
{
    size_t n = strlen(key);

    *value = word + n;
    return strncasecmp(word, key, n) == 0;
}

static void read_word(rule *r, const char *word, apr_pool_t *pool)
{
    const char *value;

    if (!strcasecmp(word, "close")) {
        r->close = true;
    }
    else if (!strcasecmp(word, "keep")) {
        r->keep = true;
    }
    else if (begins(word, "timeout=", &value)) {
        read_timeout(r, value, pool);
    }
    else if (begins(word, "served=", &value)) {
        read_served(r, value, pool);
    }
    else if (begins(word, "max=", &value)) {
        r->left_out = word;
    }
    else {
        r->why_not = apr_psprintf(
            pool,
            "%s is not what a log can be asked about: served=static "
            "and served=dynamic are",
            word);
    }
}

static rule rule_of(const char *args, apr_pool_t *pool)
{
    const apr_array_header_t *words = ka_cfg_words(args, pool);
    rule r = {.timeout_us = UNSET};
    int i;

    for (i = 0; i < words->nelts; i++) {
        read_word(&r, APR_ARRAY_IDX(words, i, const char *), pool);
    }
    if (!r.why_not && !r.close && !r.keep && r.timeout_us == UNSET) {
        r.why_not = r.left_out ? "max= is not simulated by kind of content"
                               : "it asks for nothing";
    }
    return r;
}

/* As mod_kapolicy does: the last word counts, keep is as configured. */
static void obey(reading *in, const rule *r)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        unsigned bit = i == KA_CLASS_STATIC ? OF_STATIC : OF_DYNAMIC;

        if (r->served && !(r->served & bit)) {
            continue;
        }
        in->close[i] = r->close;
        if (r->keep) {
            in->after_us[i] = AS_CONFIGURED;
        }
        if (r->timeout_us != UNSET) {
            in->after_us[i] = r->timeout_us;
        }
        in->any = true;
    }
}

/* ---- lines --------------------------------------------------------------- */

static void remark(reading *in, const ka_cfg_node *node, const char *why)
{
    APR_ARRAY_PUSH(in->remarks, const char *) =
        apr_psprintf(in->pool, "%s:%d: %s %s: %s", node->file, node->line,
                     node->name, node->args, why);
}

static void list(reading *in, const ka_cfg_node *node, bool obeyed)
{
    APR_ARRAY_PUSH(in->lines, ka_sim_rule) =
        (ka_sim_rule){.directive = node->name,
                      .value = node->args,
                      .origin = ka_cfg_origin(in->tree, node),
                      .obeyed = obeyed};
}

/* NULL: it is the main server's. */
static const char *elsewhere(const reading *in, const ka_cfg_node *node)
{
    const ka_cfg_node *around;

    if (node->parent == KA_CFG_TOP) {
        return NULL;
    }
    around = ka_cfg_node_at(in->tree, node->parent);
    return apr_psprintf(in->pool,
                        "it stands in <%s %s>, and what is "
                        "simulated is the main server",
                        around->name, around->args);
}

static void take_rule(reading *in, const ka_cfg_node *node)
{
    rule r = rule_of(node->args, in->pool);
    const char *where = elsewhere(in, node);
    const char *why = where ? where : r.why_not;

    list(in, node, !why);
    if (why) {
        remark(in, node, apr_pstrcat(in->pool, "left out: ", why, NULL));
        return;
    }
    if (r.left_out) {
        remark(in, node,
               apr_pstrcat(in->pool, r.left_out,
                           " is left out, the rest is simulated", NULL));
    }
    obey(in, &r);
}

/* ---- KAPolicyAdaptive ---------------------------------------------------- */

static bool read_percent(uint32_t *out, const char *word)
{
    char *end;
    long percent = strtol(word, &end, 10);

    if (end == word || percent < 0 || percent > 100 ||
        (*end && strcmp(end, "%"))) {
        return false;
    }
    *out = (uint32_t)percent;
    return true;
}

static bool read_adaptive(ka_adaptive *a, const char *args, apr_pool_t *pool)
{
    const apr_array_header_t *words = ka_cfg_words(args, pool);
    const char *const *word = (const char *const *)words->elts;

    *a = (ka_adaptive){.low = LOW_PERCENT, .high = HIGH_PERCENT};
    return (words->nelts == 2 || words->nelts == 4) &&
           !ka_parse_duration(&a->min_us, word[0]) &&
           !ka_parse_duration(&a->max_us, word[1]) &&
           (words->nelts == 2 || (read_percent(&a->low, word[2]) &&
                                  read_percent(&a->high, word[3]))) &&
           a->max_us > 0 && a->min_us <= a->max_us && a->low < a->high;
}

static void take_adaptive(reading *in, const ka_cfg_node *node)
{
    ka_adaptive adaptive;
    bool good = node->parent == KA_CFG_TOP &&
                read_adaptive(&adaptive, node->args, in->pool);

    list(in, node, good);
    if (!good) {
        remark(in, node, "left out: httpd would refuse it");
        return;
    }
    in->side->adaptive = adaptive;
    in->side->config.adaptive = &in->side->adaptive;
}

/* ---- all of it ----------------------------------------------------------- */

/* On event no wait is longer than the queue that it is in. */
static int64_t within_mpm(reading *in, int64_t us, int64_t configured_us)
{
    char buffer[KA_UNITS_BUFFER];

    if (in->side->mpm != KA_MPM_EVENT || us <= configured_us) {
        return us;
    }
    APR_ARRAY_PUSH(in->remarks, const char *) =
        apr_psprintf(in->pool,
                     "httpd would not start: on event no rule may wait longer "
                     "than KeepAliveTimeout; %s counts as that here",
                     ka_print_duration(buffer, us));
    return configured_us;
}

static void conclude(reading *in)
{
    ka_sim_side *side = in->side;
    const ka_fact *timeout =
        &side->settings.facts[KA_SETTING_KEEP_ALIVE_TIMEOUT];
    int64_t configured_us = timeout->known ? timeout->value : 0;
    int64_t usual_us = configured_us;
    int i;

    if (side->config.adaptive) {
        side->adaptive.max_us =
            within_mpm(in, side->adaptive.max_us, configured_us);
        usual_us = side->adaptive.max_us;
        if (side->adaptive.min_us > usual_us) {
            side->adaptive.min_us = usual_us;
        }
    }
    if (!in->any) {
        return;
    }
    side->policy.other_us =
        side->config.timeout_us == KA_TIMEOUT_OFF ? KA_TIMEOUT_OFF : usual_us;
    for (i = 0; i < KA_CLASS_N; i++) {
        int64_t us =
            in->after_us[i] == AS_CONFIGURED ? usual_us : in->after_us[i];

        side->policy.after_us[i] =
            in->close[i] ? KA_TIMEOUT_OFF : within_mpm(in, us, configured_us);
    }
    side->config.policy = &side->policy;
}

void ka_simulate_policy(ka_sim_side *side, apr_array_header_t *remarks,
                        const ka_cfg_tree *tree, apr_pool_t *pool)
{
    reading in = {.side = side,
                  .remarks = remarks,
                  .lines = apr_array_make(pool, 4, sizeof(ka_sim_rule)),
                  .tree = tree,
                  .pool = pool};
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        in.after_us[i] = KA_POLICY_STAYS;
    }
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (ka_cfg_is(node, "KAPolicy")) {
            take_rule(&in, node);
        }
        else if (ka_cfg_is(node, "KAPolicyAdaptive")) {
            take_adaptive(&in, node);
        }
    }
    conclude(&in);
    side->rules = (const ka_sim_rule *)in.lines->elts;
    side->rule_n = (size_t)in.lines->nelts;
}
