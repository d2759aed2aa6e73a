/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What other modules may ask mod_kapolicy, as optional functions: neither
 * needs the other to be loaded.
 */
#ifndef MOD_KAPOLICY_H
#define MOD_KAPOLICY_H

#include <apr_optional.h>
#include <httpd.h>

typedef struct ka_policy_wait {
    apr_interval_time_t timeout; /* granted by the last response, us */
    int ended;                   /* mod_kapolicy has ended the wait: the socket
                                    reads as if the client had closed it */
} ka_policy_wait;

/**
 * What is in force for the connection's wait for its next request.
 * @param c    a primary connection, in the thread that works on it
 * @param out  untouched if the return value is 0
 * @return 1; 0 if the server's KeepAliveTimeout is, unchanged
 */
APR_DECLARE_OPTIONAL_FN(int, ka_policy_wait_get,
                        (conn_rec * c, ka_policy_wait *out));

#endif
