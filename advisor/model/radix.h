/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_radix: sorts times.  A log's times share their high digits, so a radix
 * sort needs four passes where a comparison sort needs twenty.
 */
#ifndef KA_RADIX_H
#define KA_RADIX_H

#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>

/**
 * Sorts keys[n] ascending, stable; values[n], unless NULL, moves along.
 * @return APR_SUCCESS; APR_ENOMEM (the arrays untouched)
 * Temporary memory: as much as the arrays have; none if they are sorted.
 */
apr_status_t ka_radix_sort(int64_t *keys, int64_t *values, size_t n);

#endif
