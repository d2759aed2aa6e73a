/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor simulate`: what one or two configurations do under a source's
 * traffic.
 */
#ifndef KA_RENDER_SIM_H
#define KA_RENDER_SIM_H

#include "../host/config_settings.h"
#include "../model/sim.h"
#include "../model/stretch.h"
#include "render.h"

#define KA_SIM_DOC_SCHEMA "kaadvisor/simulate/1"
#define KA_SIM_SIDES 2

/* A line of mod_kapolicy's. */
typedef struct ka_sim_rule {
    const char *directive, *value, *origin;
    bool obeyed; /* else a remark says why not */
} ka_sim_rule;

/* One configuration. */
typedef struct ka_sim_side {
    const char *file;
    ka_mpm mpm;
    const char *mpm_origin;
    ka_settings settings; /* as httpd obeys them */
    const ka_sim_rule *rules; /* rules[rule_n], in order */
    size_t rule_n;
    ka_policy policy;     /* of these, where config.policy points to it */
    ka_adaptive adaptive; /* the same of config.adaptive */
    const char *const *remarks; /* remarks[remark_n]: sentences about the file */
    size_t remark_n;
    ka_sim_config config;
    ka_sim_result result;
} ka_sim_side;

typedef struct ka_sim_view {
    const ka_report *report; /* of the source; advice is not in it */
    const ka_sim_side *sides; /* sides[side_n]: --config, --against */
    size_t side_n;
    ka_stretch stretch;   /* the traffic */
    uint64_t seed;
    const char *verdicts[KA_SIM_SIDES]; /* a sentence or two on each side */
    const char *const *notes; /* notes[note_n]: what to know of the numbers */
    size_t note_n;
} ka_sim_view;

/** The settings of an MPM that a simulation obeys, in the order in which they
 * are shown. @param n  their number */
const ka_setting_id *ka_sim_settings(size_t *n, ka_mpm mpm);

apr_status_t ka_render_sim_text(FILE *out, const ka_sim_view *view,
                                const ka_render_options *options);
apr_status_t ka_render_sim_json(FILE *out, const ka_sim_view *view);

#endif
