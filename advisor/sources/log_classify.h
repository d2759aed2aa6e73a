/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_classifier: a line of the log, taken apart, becomes a ka_request or is
 * traffic to be counted apart.
 *
 * It remembers what one source has shown: names of vhosts, traits of user
 * agents, the alphabet of UNIQUE_IDs.
 *
 * Concurrency: one thread per classifier.
 */
#ifndef KA_LOG_CLASSIFY_H
#define KA_LOG_CLASSIFY_H

#include "log_hits.h"
#include "logformat.h"
#include "observation.h"

/* Names of vhosts kept apart; more are taken together as "(other)": with
 * UseCanonicalName Off, %V is what the client sent. */
#define KA_VHOSTS_MAX 1000

typedef struct ka_classifier ka_classifier;

/**
 * @param fields    of the format (ka_logformat_fields)
 * @param vhost     NULL: all; else other vhosts are excluded; case and port
 *                  do not matter
 * @param since_us, until_us  requests that start outside [since, until) are
 *                  excluded; 0: no limit
 */
ka_classifier *ka_classifier_make(uint64_t fields, const char *vhost,
                                  int64_t since_us, int64_t until_us,
                                  apr_pool_t *pool);

/**
 * @param out   filled if the request is kept; slot and child come from
 *              %P with %{tid}P, else from UNIQUE_ID, else child alone from %P
 * @param why   filled if it is excluded; where two kinds fit, the first of:
 *              time, vhost, dummy connection, pagespeed, health check
 * @param line  with a start
 * @return whether it is kept
 */
bool ka_classify(ka_classifier *self, ka_request *out, ka_excluded *why,
                 const ka_logline *line);

/**
 * As ka_classify, for logs whose items name no connection.
 * @param out         filled if the request is kept; vhost is the number that
 *                    ka_request.vhost would be, the others are the fields of
 *                    the same names, limit_s is client_limit_us in seconds
 * @param vhost_name  the line's vhost as logged; ptr NULL if it has none; may
 *                    be NULL
 */
bool ka_classify_hit(ka_classifier *self, ka_hit *out, ka_str *vhost_name,
                     ka_excluded *why, const ka_logline *line);

/** Names by ka_request.vhost: lower case, without port, escaped for a
 * terminal; "" where the log has none.  names[n], owned by the pool. */
void ka_classifier_vhosts(const ka_classifier *self, const char ***names,
                          size_t *n);

#endif
