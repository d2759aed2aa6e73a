/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A segment of mod_kastats as a source: a private copy of the file, live or
 * not, checked and taken apart.
 *
 * Concurrency: one thread; the file may be written to meanwhile.
 */
#ifndef KA_SOURCE_SEGMENT_H
#define KA_SOURCE_SEGMENT_H

#include <ka_segment_reader.h>

/* A vhost with traffic. */
typedef struct ka_live_vhost {
    const ka_segment_vhost *vhost;
    int64_t timeout_us; /* T0 there, or KA_TIMEOUT_OFF */
    ka_stats *stats;
} ka_live_vhost;

typedef struct ka_live {
    const char *path;
    const ka_segment_header *header; /* the copy */
    int64_t read_at;                 /* when, us since the epoch */
    bool live;                       /* somebody wrote within the minute */
    ka_snapshot snapshot;
    ka_stats *total;       /* of the vhosts below */
    ka_live_vhost *vhosts; /* most requests first */
    size_t vhost_n;
    bool narrowed;             /* --vhost: not all there are */
    int64_t first_us, last_us; /* of the traffic: its first and last
                                  request; 0 if there was none */
    ka_second *history;        /* from the first to the last second of
                                  the traffic, or as far as it reaches */
    size_t history_n;
    ka_segment_recent *recent; /* latest first */
    size_t recent_n;
    bool recent_whole; /* all that ever closed are in there */
} ka_live;

/** Whether a file begins as segments do.  What is no regular file is none. */
bool ka_segment_source_is(const char *path);

/**
 * Reads a segment.
 * @param out    owned by pool
 * @param error  on failure one sentence with the file and what to do
 * @param vhost  only this one, by `host:port` or by all of a host; NULL: all
 * @param now_at us since the epoch
 * @return as ka_segment_load; APR_ENOENT: no such vhost
 */
apr_status_t ka_segment_source_read(ka_live *out, const char **error,
                                    const char *path, const char *vhost,
                                    int64_t now_at, apr_pool_t *pool);

#endif
