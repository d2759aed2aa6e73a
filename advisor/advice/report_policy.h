/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_policy_advice: what mod_kapolicy would do, beside what one
 * KeepAliveTimeout does, and the lines for it.  Part of ka_report; owned by its
 * pool.
 */
#ifndef KA_REPORT_POLICY_H
#define KA_REPORT_POLICY_H

#include <stdbool.h>
#include <apr_pools.h>
#include <ka_adaptive.h>
#include "../model/capacity.h"
#include "../model/policy.h"
#include "../model/sim.h"

/* Where single requests were kept: they are played again under something else.
 * Of a bracket, those of the side that is advised from. */
typedef struct ka_replay_source {
    /* @return false: there are none, or no memory */
    bool (*policy)(ka_outcome *out, void *context, const ka_policy *policy);
    void *context;
} ka_replay_source;

/* Under one KeepAliveTimeout, or under a policy. */
typedef struct ka_policy_side {
    ka_outcome outcome;
    ka_fit fit;
} ka_policy_side;

/* By kind of content (R16): a timeout after each. */
typedef struct ka_policy_by_class {
    bool proposed;                /* else nothing below is set */
    int64_t after_us[KA_CLASS_N]; /* KA_TIMEOUT_OFF: close */
    bool estimated; /* not from single requests: peaks are those at timeouts
                       with such a mean */
    ka_policy_side one, policy;
    const char *because;
} ka_policy_by_class;

/* By load (R7): a longer timeout while there is room, where what is wanted does
 * not fit; not beside a policy by kind of content, which does. */
typedef struct ka_policy_by_load {
    bool proposed;
    ka_adaptive adaptive;
    const char *because;
    const char *why_not; /* not predicted, a clause; NULL: it is */
    /* Played against the proposed block, under its busiest stretch of traffic:
     * the longest timeout that fits, the one that is wanted, and
     * KAPolicyAdaptive between them. */
    const char *traffic; /* where that is from, a clause */
    ka_sim_result fixed, wanted, by_load;
} ka_policy_by_load;

/* Behind a proxy (R1): its connections alone are kept so long. */
typedef struct ka_policy_by_proxy {
    bool proposed;
    int64_t proxy_us, others_us; /* KA_TIMEOUT_OFF: close */
    /* All under proxy_us, all under others_us: what comes of the rule lies
     * between, by what comes through the proxy. */
    ka_policy_side all, none;
    const char *because;
} ka_policy_by_proxy;

typedef struct ka_policy_advice {
    ka_policy_by_class by_class;
    ka_policy_by_load by_load;
    ka_policy_by_proxy by_proxy;
    const char **lines; /* lines[line_n]: directives, in order; 0: none */
    size_t line_n;
    bool active;        /* httpd has the module, and no rules of its own: the
                           lines can be in force with the rest */
    bool not_event;     /* the MPM is not known, and event may refuse them */
    bool kept;          /* they are in force already, as kaadvisor wrote them:
                           nothing is proposed, since this traffic does not tell
                           what one timeout would do */
    const char *to_use; /* what stands between the lines and their use, a
                           sentence */
} ka_policy_advice;

#endif
