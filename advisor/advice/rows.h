/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside advice/: what the rows of one answer are made from. */
#ifndef KA_ROWS_H
#define KA_ROWS_H

#include "decide.h"

typedef struct ka_row_context {
    ka_decision *d;
    const ka_mpm_answer *answer;
    const ka_outcome *to;  /* at the proposed timeout, side advised from */
    const ka_outcome *now; /* at T0 */
    const ka_fit *fit;     /* at the proposed timeout */
} ka_row_context;

/** Appends a row for the answer's MPM, with the confidence of the whole. */
ka_advice *ka_row_push(const ka_row_context *c, const char *rule,
                       const char *directive, const char *applies);

/** Where a group's servers have different values of a fact (KA_FACTS: none),
 * the row has no present value, and changes that of some. */
void ka_row_differs(const ka_row_context *c, ka_advice *row, ka_fact_id fact);

/** Adds a number to a row; beyond KA_EVIDENCE_MAX nothing. */
void ka_row_evidence(ka_advice *row, const char *name, double number);

/** KeepAlive, KeepAliveTimeout, MaxKeepAliveRequests. */
void ka_rows_keepalive(const ka_row_context *c);

/** Reasons for StartServers, MinSpare* and MaxSpare*, and the numbers behind
 * them. [M15] */
const char *ka_why_start(const ka_row_context *c);
const char *ka_why_min_spare(const ka_row_context *c);
const char *ka_why_max_spare(const ka_row_context *c);
void ka_spawn_evidence(ka_advice *row, const ka_row_context *c,
                       ka_block_item item);

/** Warnings about them, for where no simulation decides; NULL where there is
 * nothing to say. */
const char *ka_warn_spawn(const ka_decision *d);
const char *ka_warn_spawn_now(const ka_decision *d);

/** The reason of an item of the block, with that for which it was raised. */
const char *ka_why_raised(const ka_row_context *c, ka_block_item item,
                          const char *why);

/** Who waits under the settings that are proposed, and under the present ones
 * where these are others; by the simulation, else by the spawn loop. */
const char *ka_warn_waits(const ka_decision *d);
const char *ka_warn_waits_now(const ka_decision *d);

/** KeepAlive and KeepAliveTimeout of virtual hosts whose own traffic asks for
 * something else (R3). */
void ka_rows_vhosts(const ka_row_context *c);

/** What backends must be able to do at once (R17). */
void ka_rows_backends(const ka_row_context *c);

/** The reason of an item of the block, with that for which it stays. */
const char *ka_why_stays(const ka_row_context *c, ka_block_item item,
                         const char *why);

/** The directives of the MPM's block. */
void ka_rows_block(const ka_row_context *c);

/** Directives of the server around it: ListenBacklog, EnableSendfile. */
void ka_rows_server(const ka_row_context *c);

#endif
