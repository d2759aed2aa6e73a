/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Large arrays ask for large pages: a page fault per 4 kB would cost more
 * than all the work on what the page holds, on a virtual machine many times
 * more, and hash maps miss the TLB less.
 */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)4 << 20)

void *ka_array_alloc(size_t n, size_t width)
{
    void *array = calloc(n ? n : 1, width);

#ifdef MADV_HUGEPAGE
    if (array != NULL && n >= LARGE_BYTES / width) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t first = ((uintptr_t)array + page - 1) & ~(page - 1);
        uintptr_t last = ((uintptr_t)array + n * width) & ~(page - 1);

        /* Advice: without large pages the array works all the same. */
        (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
    }
#endif
    return array;
}
