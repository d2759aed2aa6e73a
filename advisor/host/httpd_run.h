/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Running a server's binary to ask it: no shell, a time limit, a limit on what
 * it prints, an environment of its own, nothing of ours open.
 */
#ifndef KA_HTTPD_RUN_H
#define KA_HTTPD_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

#define KA_HTTPD_RUN_SECONDS 10
#define KA_HTTPD_RUN_BYTES (8u << 20)

typedef struct ka_httpd_command {
    const char *const *argv; /* argv[0] absolute; NULL at the end */
    const apr_table_t *environment; /* all of it; may be NULL: empty */
    uid_t uid; /* to become when we are root, so that a user's binary and */
    gid_t gid; /* modules run as that user; 0: stay what we are */
    int64_t limit_us; /* of time; 0: KA_HTTPD_RUN_SECONDS */
} ka_httpd_command;

typedef struct ka_httpd_answer {
    const char *out; /* standard output, NUL bytes become `?` */
    const char *err; /* standard error, its first 4 kB */
    int status;      /* of exit; 128 + signal if it was killed */
} ka_httpd_answer;

/**
 * Runs it and waits.  Children that it leaves in its process group are killed.
 * @param answer  owned by pool
 * @return APR_SUCCESS if it ended by itself, whatever its status; APR_TIMEUP;
 *         APR_ENOSPC if it printed more than KA_HTTPD_RUN_BYTES; the system's
 *         status if it could not be started
 * Not for a process that reaps all its children elsewhere.
 */
apr_status_t ka_httpd_run_command(ka_httpd_answer *answer,
                                  const ka_httpd_command *command,
                                  apr_pool_t *pool);

/**
 * May this process run a binary that another user could have put there?
 * @param reason  if not: a clause, "... is writable by others"
 * @return true if the file and the directories above it belong to root, to us
 *         or to `uid`, whom the binary will run as, and nobody else may write
 *         them
 */
bool ka_httpd_may_run(const char **reason, const char *path, uid_t uid,
                      apr_pool_t *pool);

#endif
