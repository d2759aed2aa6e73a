/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside the configuration's renderer: what its parts share.
 */
#ifndef KA_RENDER_CONF_H
#define KA_RENDER_CONF_H

#include <stdio.h>
#include "../advice/report.h"

#define KA_CONF_WIDTH 78

/* Leads of lines in the head. */
#define KA_CONF_WRITTEN "Written by kaadvisor"
#define KA_CONF_APPLY "Apply:    "
#define KA_CONF_BACK "Go back:  "
#define KA_CONF_MORE "          " /* goes on */

typedef struct ka_conf {
    FILE *out;
    apr_pool_t *pool;
    const ka_report *report;
    bool legacy;
    bool follows; /* a directive stands above in this section */
} ka_conf;

/**
 * A wrapped comment; its text is cleaned, and no line ends with a backslash.
 * @param first  leads its first line, blanks the others
 */
void ka_conf_comment(const ka_conf *c, int indent, const char *first,
                     const char *text);

/** The server-wide row of a directive in a report: the MPM's own one, else
 * that of any; NULL if there is none. */
const ka_advice *ka_conf_row(const ka_report *report, const char *directive,
                             ka_mpm mpm);

/** Behind the blocks, as comments that a person takes over: settings of single
 * virtual hosts, lines by kind of content, limits of backends. */
void ka_conf_parts(const ka_conf *c);

/** A block for mod_kapolicy: in force only where the report says so, else as
 * comments. */
void ka_conf_policy(const ka_conf *c);

/** In the head: who the group's servers are; nothing without any. */
void ka_conf_servers(const ka_conf *c);

/** At the end: which of the group's servers would get other values alone, as
 * comments. */
void ka_conf_deviations(const ka_conf *c);

#endif
