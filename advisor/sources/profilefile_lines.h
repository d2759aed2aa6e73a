/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Long lines of a file that is plain or compressed, for profile files.
 *
 * Concurrency: one thread per reader.
 */
#ifndef KA_PROFILEFILE_LINES_H
#define KA_PROFILEFILE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>

typedef struct ka_profilelines ka_profilelines;

/**
 * Opens a file or standard input ("-").
 * @param out    owned by pool; its cleanup closes the file
 * @param error  on failure a sentence with path, reason and remedy
 * @return APR_SUCCESS; the system's status
 */
apr_status_t ka_profilelines_open(ka_profilelines **out, const char **error,
                                  const char *path, apr_pool_t *pool);

/**
 * The next line that is not empty.
 * @param text    text[length], without the line's end; valid until the next
 *                call
 * @param number  of the line, from 1
 * @param error   on failure a sentence with file, line and remedy
 * @return APR_SUCCESS; APR_EOF at the end; APR_EINVAL where the data is
 *         damaged or a line is longer than KA_PROFILE_LINE_MAX; APR_ENOMEM
 */
apr_status_t ka_profilelines_next(ka_profilelines *lines, const char **text,
                                  size_t *length, uint64_t *number,
                                  const char **error);

/**
 * The first bytes of a source, decompressed, without taking them from a pipe:
 * from a FIFO by name there are none.
 * @param first  first[size]
 * @return how many there are
 */
size_t ka_profilelines_peek(char *first, size_t size, const char *path);

/** "standard input" for "-". */
const char *ka_profilelines_name(const char *path);

#endif
