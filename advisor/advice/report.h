/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_report: all that a renderer prints.  Renderers read it and compute
 * nothing beyond rounding; everything in it is owned by one pool.
 */
#ifndef KA_REPORT_H
#define KA_REPORT_H

#include <stdbool.h>
#include <apr_pools.h>
#include "../host/facts.h"
#include "../host/site.h"
#include "../model/block.h"
#include "../model/capacity.h"
#include "../model/formula.h"
#include "../model/intervals.h"
#include "../model/outcome.h"
#include "../model/sim.h"
#include "../model/spawn.h"
#include "../model/stretch.h"
#include "../profile/demand.h"
#include "../profile/profile.h"
#include "../sources/observation.h"
#include "report_policy.h"

typedef enum ka_confidence {
    KA_CONFIDENCE_LOW,
    KA_CONFIDENCE_MEDIUM,
    KA_CONFIDENCE_HIGH
} ka_confidence;

/** "low", "medium", "high". */
const char *ka_confidence_name(ka_confidence confidence);

/* One number that stands behind a piece of advice. */
typedef struct ka_evidence {
    const char *name;    /* JSON key, unit suffix included */
    bool is_text;
    double number;
    const char *text;
} ka_evidence;

#define KA_EVIDENCE_MAX 8

/* One row of advice. */
typedef struct ka_advice {
    const char *rule;      /* "M18", "R8" ... */
    ka_mpm mpm;            /* whose block it belongs to; KA_MPM_N: any */
    const char *directive; /* "KeepAliveTimeout" */
    const char *vhost;     /* NULL: server-wide */
    const char *from;      /* present value as text; NULL if not known */
    bool from_differs;     /* a group's servers have different ones */
    const char *to;        /* proposed value as httpd reads it */
    bool change;           /* to differs from from, or from is not known and
                              to differs from httpd's default; of a group,
                              from some server's */
    const char *because;   /* one or two sentences with the numbers */
    ka_evidence evidence[KA_EVIDENCE_MAX];
    size_t evidence_n;
    ka_confidence confidence;
    const char *applies;   /* "reload" or "restart" */
    const char *where;     /* file:line of the section or file to change;
                              NULL: not known, or the server's own
                              configuration */
} ka_advice;

/* R16, R17: one class of requests by itself, under the timeout that is
 * proposed, as far as it was seen. */
typedef struct ka_class_advice {
    double requests_share;   /* of all requests */
    bool busy_known;         /* service times are told */
    double service_s;        /* mean */
    double busy_mean;        /* requests/s x service time */
    double busy_share;       /* of all busy time */
    double busy_peak;        /* [M12] in the busiest period, growth included:
                                requests in progress at once */
    bool idle_known;         /* idle times are told by class */
    double reuse;            /* share that another request follows within the
                                timeout */
    double idle_mean;        /* connections idle after one, in the mean */
    int64_t alone_us;        /* the KeepAliveTimeout that it would want by
                                itself; KA_TIMEOUT_OFF */
    bool alone_longer;       /* or a longer one: the present one cuts it */
    double opens_per_s;      /* connections that closing after each would open,
                                at most */
    bool close_pays;         /* closing after each frees more than it costs */
} ka_class_advice;

typedef struct ka_by_class {
    bool known;          /* else nothing below is set */
    int64_t timeout_us;  /* at which classes are compared */
    ka_class_advice classes[KA_CLASS_N];
    const char *verdict; /* sentences */
    const char **lines;  /* lines[line_n]: what stock httpd needs for it, each
                            a directive; 0 unless it pays */
    size_t line_n;
} ka_by_class;

typedef struct ka_warning {
    const char *id;   /* stable, snake_case */
    const char *text; /* sentences */
    const char *rule; /* "R1" ... that it comes from; NULL: none */
} ka_warning;

typedef enum ka_rule_state {
    KA_RULE_QUIET,  /* judged, and nothing to say */
    KA_RULE_SPEAKS, /* advice or a warning comes from it */
    KA_RULE_UNKNOWN /* what it is judged on is not known */
} ka_rule_state;

/* What became of a rule of operating httpd (rules.h). */
typedef struct ka_finding {
    const char *rule;  /* "R1" ... "R18" */
    const char *title; /* the rule, in a few words */
    ka_rule_state state;
    const char *text;  /* where it speaks, or what is missing; NULL: quiet */
} ka_finding;

#define KA_RULES 18

/* A number of spare or started ones beside the one that is proposed: the
 * present one, or httpd's default where that is not known. */
typedef struct ka_spawn_other {
    uint32_t number;
    bool is_default;
    ka_spawn_result result; /* in the same hour */
} ka_spawn_other;

/* [M15] What httpd's spawn loop makes of the busiest hour at the proposed
 * timeout.  Of a group, spare and start are each those of the server that
 * needs most of them. */
typedef struct ka_spawned {
    const char *why_not; /* why it could not be run, a clause; then there is
                            nothing else.  NULL: it was */
    bool scaled;         /* seconds are estimated from another timeout's */
    bool feasible;       /* as in ka_spawn_advice */
    uint32_t min_spare, max_spare, start_servers;
    ka_spawn_result running, started;
    ka_spawn_other spare, start;
    const char *spare_host, *start_host; /* whose; NULL: no group */

    /* All present settings under the present timeout: */
    bool now_known;
    ka_spawn_settings now;
    ka_spawn_result now_result;
    bool now_scarce;     /* as many would wait with all workers there */
} ka_spawned;

/* One configuration under the busiest stretch. */
typedef struct ka_simulated_run {
    int64_t timeout_us;
    ka_sim_result result;  /* without its series */
    double held_expected;  /* [M6] of the stretch, had nobody to wait:
                              result.outcome.held_mean else, where no request
                              waits and no connection is evicted */
    bool waits;            /* somebody: see advice/simulated.h */
} ka_simulated_run;

/* What the MPM itself, simulated, makes of the busiest stretch. */
typedef struct ka_simulated {
    bool known;          /* else nothing below is set */
    bool decides;        /* spare workers and warnings; not where the traffic is
                            drawn and the spawn loop knew its own seconds, which
                            are less bursty than draws */
    ka_stretch stretch;
    const char *host;    /* whose; NULL: no group */
    ka_simulated_run proposed;
    unsigned raised;     /* 1u << ka_block_item: what was raised since somebody
                            had waited */
    ka_block before;     /* without that, */
    ka_sim_result before_result;
    bool started_known;
    ka_simulated_run started; /* the proposed ones, from a start */
    ka_sim_result before_start; /* with before's StartServers */
    int64_t limit;       /* workers that memory holds; -1: not known */
    bool now_known;      /* all present settings that count */
    bool now_differs;    /* from those proposed */
    ka_simulated_run now;
    ka_spawn_settings now_settings;
} ka_simulated;

/* The model's answer for one MPM. */
typedef struct ka_mpm_answer {
    ka_mpm mpm;
    ka_supply supply;
    ka_fit *fits;     /* fits[timeout_n], of the side that is advised from */
    ka_interval *workers; /* workers[timeout_n]: intervals of those of fits;
                             NULL: none */
    ka_choice choice;
    double idle_bytes; /* of idle connections at the chosen timeout, at most;
                          known also where processes are not */
    ka_spawned spawned;
    ka_simulated simulated;
    ka_block block;
    unsigned stays;   /* 1u << ka_block_item: the present value, which is
                         enough */
    bool block_known; /* false: sizes need a fact that is missing */
    const char *needs; /* what block or fits would need; NULL if nothing */
} ka_mpm_answer;

/* Something to do. */
typedef struct ka_step {
    const char *text;    /* a sentence */
    const char *command; /* to type, or to put into a file; NULL: none */
} ka_step;

typedef struct ka_report {
    int64_t generated_us; /* us since the epoch */
    const char *version;
    const ka_source_info *source;
    const char *const *found;   /* found[found_n]: sentences, how the host's
                                   httpd and the source were found */
    size_t found_n;
    const char *identity;       /* "port|slot|k|time|live" */
    const char *identity_note;  /* NULL if it is the best */
    const ka_profile *profile;
    const ka_server *server;
    const ka_site *site;        /* the server on its host; NULL: not known, or
                                   a group */

    /* A group: servers that share a configuration.  The report itself is then
     * about a server of this kind: all their server time together, rates and
     * holders per server; hosts[host_n] are the same about each one's own
     * traffic, complete, ascending by name. */
    const char *host;           /* the server's name; NULL: not told, or a
                                   group */
    const struct ka_report *const *hosts;
    size_t host_n;              /* 0: no group */
    bool facts_differ[KA_FACTS]; /* hosts know different values, so that
                                   `server` knows none */

    ka_demand_source demand;    /* what a timeout asks second by second; of a
                                   group, its hosts have their own.  Without
                                   `at` there is none */

    ka_replay_source replay;    /* the same of single requests; of a group,
                                   its hosts'.  Without `policy` there are
                                   none */
    ka_stretch_source stretch;  /* its busiest stretch; of a group, its hosts'.
                                   Without `at` there is none */

    ka_formula formula;         /* [M1] on this traffic */
    ka_formula formula_high;    /* with a bracket: K of the other side */
    const char *formula_rule;   /* [M2] in words */
    const char *why_it_differs;

    /* outcomes[timeout_n], ascending timeouts, Off first.  `low` has the
     * fewest connections; without bracket high == low (same pointer). */
    size_t timeout_n;
    const ka_outcome *low, *high;
    size_t now;                 /* index of T0 in them */
    int64_t timeout_us;         /* T0 */
    bool longer_unknown;        /* above T0, connections opened and held are
                                   upper bounds: what a longer timeout would
                                   save nothing tells */

    const ka_intervals *intervals; /* of the outcomes; NULL: none */
    const char *no_intervals;   /* why there are none, part of a sentence; NULL:
                                   nothing tells */

    ka_mpm_answer *answers;     /* one if the MPM is known, else all three */
    size_t answer_n;
    ka_mpm_answer *alternative; /* event, beside an MPM whose idle connections
                                   hold workers; NULL: not asked.  Its memory
                                   of processes is not known: what was measured
                                   is the present MPM's */
    ka_advice *advice;
    size_t advice_n;
    ka_by_class by_class;       /* of the first answer; not of a group */
    ka_policy_advice policy;    /* of the first answer; not of a group */
    ka_warning *warnings;
    size_t warning_n;
    ka_finding findings[KA_RULES];
    const char **next;          /* what to do next, a sentence each */
    size_t next_n;

    /* How the configuration that is written comes into force on this server,
     * and how the present one comes back; apply_n 0: no server is known. */
    const ka_step *apply;
    size_t apply_n;
    ka_step go_back;

    struct {
        const char *text;       /* one or two sentences */
        bool change_advised;
        ka_confidence confidence;
        const char *confidence_why; /* what limits it; NULL if nothing */
        bool refused;           /* too little data for advice */
    } verdict;
} ka_report;

/** Whether a change that is advised needs a full restart. */
bool ka_report_restarts(const ka_report *report);

#endif
