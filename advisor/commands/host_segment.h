/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The segment of an httpd that was found: where it is, and how many requests
 * each child has served.
 */
#ifndef KA_COMMAND_HOST_SEGMENT_H
#define KA_COMMAND_HOST_SEGMENT_H

#include "../host/httpd.h"
#include "../host/memory.h"

/** The path by which this process opens the segment of mod_kastats; NULL if
 * there is none that it can see. */
const char *ka_host_segment_path(const ka_httpd *httpd, apr_pool_t *pool);

/**
 * Requests that the children have served since they began, for
 * ka_memory_read.
 * @param out        requests[n] by pid as this process sees them, owned by
 *                   pool; NULL without a segment that counts them
 * @param httpd      one that runs
 * @param root       of proc/, as in procfs.h
 * @param processes  of ka_process, from the same root
 * @return n
 */
size_t ka_host_requests(ka_memory_requests **out, const ka_httpd *httpd,
                        const char *root, const apr_array_header_t *processes,
                        apr_pool_t *pool);

#endif
