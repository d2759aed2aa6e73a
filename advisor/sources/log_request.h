/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the client asked for, whichever items of the format tell it: %m %U %q
 * %H, or the request line %r taken apart.
 */
#ifndef KA_LOG_REQUEST_H
#define KA_LOG_REQUEST_H

#include "logformat.h"

typedef enum ka_request_shape {
    KA_SHAPE_UNTOLD, /* the format has no item that tells */
    KA_SHAPE_NONE,   /* `-` or nothing: no request was read */
    KA_SHAPE_HTTP,   /* METHOD SP target [SP HTTP/x.y] */
    KA_SHAPE_OTHER   /* bytes of another protocol, or garbage */
} ka_request_shape;

/* Texts point into the line and are absent (NULL) where nothing tells. */
typedef struct ka_log_request {
    ka_request_shape shape;
    ka_str method;
    ka_str path; /* without the query */
    ka_str protocol;
    ka_str line;        /* %r, if all of these are parts of it */
    bool query;         /* there is one */
    bool protocol_told; /* its absence means that there was none */
} ka_log_request;

/**
 * Fills `out` from a line.
 * @param fields  of the line's format (ka_logformat_fields): tells an item
 *                that printed `-` from one that is not in the format
 * Pure.
 */
void ka_log_request_read(ka_log_request *out, uint64_t fields,
                         const ka_logline *line);

#endif
