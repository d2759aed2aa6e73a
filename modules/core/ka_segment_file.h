/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment_file: a segment as a file: made and mapped by the server, loaded
 * by readers.
 *
 * A regular file, mapped shared: it has our mode and our bytes, and `cp` of
 * it is a snapshot.  It is preallocated, since writing into a hole on a full
 * disk is SIGBUS.
 */
#ifndef KA_SEGMENT_FILE_H
#define KA_SEGMENT_FILE_H

#include <sys/types.h>
#include <apr_pools.h>

#include "ka_segment.h"

/* Where a new segment goes before it is renamed, and the one before it. */
#define KA_SEGMENT_NEW_SUFFIX ".new"
#define KA_SEGMENT_OLD_SUFFIX ".old"

typedef struct ka_segment_map {
    ka_segment_header *header; /* NULL = nothing is mapped */
    uint64_t size;
    dev_t dev; /* which file it is */
    ino_t ino;
} ka_segment_map;

/**
 * Creates a segment and puts it at path; what was there is renamed to
 * path.old (replacing an older one).  On failure the file at path is left
 * alone and nothing is mapped.
 * @param map    filled on APR_SUCCESS; ka_segment_unmap undoes the mapping
 * @param path   anything but a regular file there is an error
 * @param mode   exact, whatever the umask
 * @param error  set to a sentence without the path unless APR_SUCCESS: what
 *               could not be done
 * @return APR_SUCCESS or the system's error
 */
apr_status_t ka_segment_create(ka_segment_map *map, const char *path,
                               mode_t mode, const ka_segment_plan *plan,
                               int64_t now_at, int64_t now_mono,
                               const char **error, apr_pool_t *pool);

/** Whether path still is the mapped file, whole and untouched in size. */
bool ka_segment_is_at(const ka_segment_map *map, const char *path);

/** Unmaps; the file stays.  An empty map is allowed. */
void ka_segment_unmap(ka_segment_map *map);

/**
 * Reads a file into memory and checks it, so that nothing that happens to
 * the file afterwards can harm the reader.
 * @param out    lives as long as pool
 * @param error  set to one clause that says what is wrong unless APR_SUCCESS
 * @return as ka_segment_check, or the system's error
 */
apr_status_t ka_segment_load(const ka_segment_header **out, const char *path,
                             const char **error, apr_pool_t *pool);

#endif
