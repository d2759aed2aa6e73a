/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A unified diff of edits to one file, as patch(1) takes it.
 */
#ifndef KA_RENDER_UDIFF_H
#define KA_RENDER_UDIFF_H

#include <stdio.h>
#include "../advice/confedit.h"

/* Lines around a change that does not touch others. */
#define KA_UDIFF_CONTEXT 3

/**
 * Prints what edits do to a file.  Its name stands in both headers as it is:
 * absolute, `patch -p0` and `patch -p1` from / take it.
 * @param edits  edits[n], n > 0, of one file, ascending, none over another
 * @param color  removed lines red, added ones green
 * @return APR_SUCCESS; APR_EINVAL, nothing printed: the name holds what a
 *         header cannot; the system's status if writing failed
 */
apr_status_t ka_udiff_print(FILE *out, const ka_edit *edits, size_t n,
                            bool color, apr_pool_t *pool);

#endif
