/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Profile files: the tallies of servers as JSON lines, one line a part of one
 * server's traffic.
 *
 *     {"schema":"kaadvisor-profile/1","host":"web1",...}
 *     {"schema":"kaadvisor-profile/1","host":"web2",...}
 *
 * A file may hold any number of lines in any order, several of one server
 * too, so files add up by cat(1); whoever reads them merges the lines of one
 * host (tally.h).  Compressed files are recognised as logs are.
 *
 * All numbers are whole.  9223372036854775807 stands for itself and all above
 * it: sums that have grown past it stay there.  Histograms are flat arrays of
 * their bins that are not empty: [step from the bin before, count, sum, ...].
 * Keys are only ever added, and unknown ones are skipped; another number
 * behind the slash means that old readers would read it wrongly, and they
 * refuse it.
 *
 * A line is at most KA_PROFILE_LINE_SIZE long.  Where it would be longer, it
 * gets coarser, in this order: hours that are not the fullest are left out,
 * vhosts that are not the busiest counted together, then left out, and
 * holders' bins joined, to the larger number of holders; the sample's blocks
 * are joined, then it is left out.  More vhosts than KA_TALLY_VHOSTS are never
 * kept apart.
 *
 * Addresses of clients are not in it, but the hashes of some are: a profile
 * is about as private as its log.
 *
 * Concurrency: one thread.
 */
#ifndef KA_PROFILEFILE_H
#define KA_PROFILEFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include "../profile/tally.h"

#define KA_PROFILE_SCHEMA "kaadvisor-profile/1"

/* What a line is made to fit, its end included. */
#define KA_PROFILE_LINE_SIZE 1000000
/* A longer one is refused. */
#define KA_PROFILE_LINE_MAX (8 * 1024 * 1024)
/* Servers that are read, at some 1 MB of memory each; more are refused. */
#define KA_PROFILE_HOSTS 1024
/* Bytes of a server's name. */
#define KA_PROFILE_NAME_MAX 255

/* Servers, each with the sum of its parts. */
typedef struct ka_hosts {
    ka_tally **items; /* ascending by name (bytes), each name once; of one
                         server each */
    size_t n, size;
    size_t most;      /* KA_PROFILE_HOSTS */
    apr_pool_t *pool;
} ka_hosts;

/** Prepares storage that lives as long as the pool, which frees what is put
 * in. */
void ka_hosts_init(ka_hosts *hosts, apr_pool_t *pool);

/**
 * Adds a tally of one server; takes it over, also on failure.
 * @return APR_SUCCESS; APR_ENOMEM; APR_ENOSPC: `most` are there
 */
apr_status_t ka_hosts_add(ka_hosts *hosts, ka_tally *tally);

/**
 * All of them as one: the group.
 * @return to be freed by ka_tally_free; NULL without memory
 */
ka_tally *ka_hosts_sum(const ka_hosts *hosts);

/**
 * Whether a source begins as profiles do, or as other JSON of kaadvisor's,
 * which is refused when it is read.  Nothing is taken from standard input;
 * nothing is waited for but its first bytes.
 * @param path  "-" is standard input; a FIFO by name is no profile
 */
bool ka_profile_source_is(const char *path);

/**
 * Adds all lines of a file.
 * @param path   "-" is standard input
 * @param error  on failure one sentence with file, line, key and remedy
 * @return APR_SUCCESS; the system's status if it cannot be opened;
 *         APR_ENOTIMPL: another schema; APR_EINVAL: no profile, damaged or
 *         foreign; APR_ENOMEM.  Unless APR_SUCCESS, hosts holds what came
 *         before and must not be used.
 */
apr_status_t ka_profilefile_read(ka_hosts *hosts, const char **error,
                                 const char *path, apr_pool_t *pool);

/**
 * Writes one line.
 * @param tally  of one server
 * @return APR_SUCCESS; APR_ENOMEM; APR_ENOSPC: nothing makes it short enough;
 *         the system's status if writing failed
 */
apr_status_t ka_profilefile_write(FILE *out, const ka_tally *tally,
                                  apr_pool_t *pool);

#endif
