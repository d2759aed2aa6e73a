/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment_json: a segment as JSON, schema "kastats/1": one object for the
 * handler and for the command line.  Keys are only ever added.
 *
 *   {schema, started_at, heartbeat_at, generated_at, live, generation, server,
 *    mpm, config:{...}, totals:{...}, vhosts:[{name, ...}], history:[{t, ...}],
 *    recent:[{...}]}
 *
 * Times are seconds; *_at and t count from the epoch.
 */
#ifndef KA_SEGMENT_JSON_H
#define KA_SEGMENT_JSON_H

#include "ka_json.h"
#include "ka_segment_reader.h"

typedef struct ka_segment_json_options {
    int64_t now_at;   /* us since the epoch */
    size_t history_s; /* seconds of history; 0 = leave it out */
    size_t recent_n;  /* recent connections; 0 = leave them out */
} ka_segment_json_options;

/**
 * Writes the object.
 * @param header  checked; may be written to meanwhile
 * @param pool    for about 300 kB and what the options ask for
 */
void ka_segment_json(ka_json *j, const ka_segment_header *header,
                     const ka_segment_json_options *options, apr_pool_t *pool);

#endif
