/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arrays of millions of items that are allocated once, at their largest.
 */
#ifndef KA_ARRAY_H
#define KA_ARRAY_H

#include <stddef.h>

/**
 * A zeroed array; what is never touched costs no memory.
 * @return to be freed with free(); NULL without memory.  n == 0 gives an
 *         array of one item.
 */
void *ka_array_alloc(size_t n, size_t width);

#endif
