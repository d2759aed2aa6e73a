/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_SAY_H
#define KA_SAY_H

#include <apr_pools.h>

/**
 * Says something to the user on standard error, as `kaadvisor: ...`.  Names of
 * files and values of options are foreign text: control bytes become \\xHH.
 * @param format  as printf's, without a line feed at its end
 */
void ka_say(apr_pool_t *pool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
