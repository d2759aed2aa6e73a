/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment_html: a segment as one HTML page for people.
 *
 * Needs no script and no other resource; light and dark by the reader's
 * preference; every figure of a chart is in text too.  What did not come from
 * the program itself is escaped.
 */
#ifndef KA_SEGMENT_HTML_H
#define KA_SEGMENT_HTML_H

#include <apr_pools.h>

#include "ka_segment.h"
#include "ka_text.h"

/* What the page needs, and nothing else. */
#define KA_SEGMENT_HTML_POLICY                                                 \
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "           \
    "base-uri 'none'; form-action 'none'"

typedef struct ka_segment_html_options {
    int64_t now_at;   /* us since the epoch */
    size_t history_s; /* seconds that the charts show; 0 = five minutes */
    size_t recent_n;  /* recent connections; 0 = leave them out */
    const char *version; /* of the module; NULL = untold */
} ka_segment_html_options;

/**
 * Writes the page, UTF-8.
 * @param header  checked; may be written to meanwhile
 * @param pool    for about 300 kB and what the options ask for
 */
void ka_segment_html(const ka_text *out, const ka_segment_header *header,
                     const ka_segment_html_options *options, apr_pool_t *pool);

#endif
