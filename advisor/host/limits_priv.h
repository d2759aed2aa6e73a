/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Rows of the table of limits: each has a function that fills it. */
#ifndef KA_LIMITS_PRIV_H
#define KA_LIMITS_PRIV_H

#include "limits.h"

/* What a row's function found. */
typedef enum ka_limit_finding {
    KA_LIMIT_SHOWN,
    KA_LIMIT_MISSING, /* could not be read */
    KA_LIMIT_ABSENT   /* there is no such limit here: nothing to say */
} ka_limit_finding;

/** Fills value, capacity, text, origin and verdict; the rest is set. */
typedef ka_limit_finding ka_limit_fill(ka_limit *row, const ka_limits *limits,
                                       apr_pool_t *pool);

ka_limit_fill ka_limit_fill_load;
ka_limit_fill ka_limit_fill_memory;
ka_limit_fill ka_limit_fill_swap;
ka_limit_fill ka_limit_fill_oom;
ka_limit_fill ka_limit_fill_conntrack;
ka_limit_fill ka_limit_fill_somaxconn;
ka_limit_fill ka_limit_fill_syn_backlog;
ka_limit_fill ka_limit_fill_queue;
ka_limit_fill ka_limit_fill_overflows;
ka_limit_fill ka_limit_fill_drops;
ka_limit_fill ka_limit_fill_established;
ka_limit_fill ka_limit_fill_time_wait;
ka_limit_fill ka_limit_fill_close_wait;
ka_limit_fill ka_limit_fill_ports;
ka_limit_fill ka_limit_fill_files;
ka_limit_fill ka_limit_fill_processes;
ka_limit_fill ka_limit_fill_pids;
ka_limit_fill ka_limit_fill_quota;
ka_limit_fill ka_limit_fill_swapped;
ka_limit_fill ka_limit_fill_group_oom;

#endif
