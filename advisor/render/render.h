/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Renderers: they print a report and compute nothing.  Each writes to a
 * FILE and returns APR_SUCCESS, or the system's status if writing failed.
 * Text that came from a log is escaped before it gets into a report or by the
 * renderer (JSON, comments in a configuration).
 */
#ifndef KA_RENDER_H
#define KA_RENDER_H

#include <stdio.h>
#include <apr_errno.h>
#include "../advice/report.h"

typedef struct ka_render_options {
    bool color;        /* text: the stream is a terminal that wants it */
    int width;         /* text: columns, 80 if not known */
    bool legacy_names; /* conf: 2.2 names (MaxClients ...) */
    bool verbose;      /* text: all samples, all timeouts, all vhosts */
} ka_render_options;

typedef apr_status_t ka_render_fn(FILE *out, const ka_report *report,
                                  const ka_render_options *options);

/* advise */
ka_render_fn ka_render_text;
ka_render_fn ka_render_json;
ka_render_fn ka_render_conf;
/* show: what the source holds, without advice */
ka_render_fn ka_render_show_text;
ka_render_fn ka_render_show_json;

/** `kaadvisor formula`: the document's formula alone. */
apr_status_t ka_render_formula_text(FILE *out, const ka_formula *f,
                                    const char *rule, const char *why);
apr_status_t ka_render_formula_json(FILE *out, const ka_formula *f,
                                    const char *rule, const char *why);

#endif
