/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Static or dynamic: what httpd served from a file, or had a program answer.
 */
#ifndef KA_LOG_CONTENT_H
#define KA_LOG_CONTENT_H

#include "log_request.h"
#include "observation.h"

/**
 * Class by handler name (%R).  NULL (`-`) is httpd's own file server.
 * Pure.
 */
ka_class ka_content_by_handler(ka_str handler);

/* Extensions, to be looked up; immutable once made. */
typedef struct ka_content ka_content;

ka_content *ka_content_make(apr_pool_t *pool);

/**
 * Class by method, path's extension, query and status, for logs without a
 * handler.  What it takes for granted: a file that browsers fetch as part of
 * a page (style sheet, script, image, font) stays static with a query, which
 * is there to defeat caches; documents and data with a query are dynamic; no
 * extension means a program, except that a program rarely answers 304.
 * Pure.
 */
ka_class ka_content_by_request(const ka_content *self,
                               const ka_log_request *request, int status);

/**
 * The extensions that are static without a query, as a regular expression
 * takes them: "7z|apk|asc|...".
 * @return owned by pool
 */
const char *ka_content_static_names(apr_pool_t *pool);

#endif
