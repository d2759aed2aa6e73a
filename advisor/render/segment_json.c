/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "segment.h"

#include <errno.h>

static void to_stream(void *baton, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, baton); /* ferror tells */
}

apr_status_t ka_render_segment_json(FILE *out, const ka_segment_header *header,
                                    const ka_segment_json_options *options,
                                    apr_pool_t *pool)
{
    ka_json json = {.sink = to_stream, .baton = out};

    errno = 0;
    ka_segment_json(&json, header, options, pool);
    fputc('\n', out);
    if (fflush(out) || ferror(out)) {
        return errno ? errno : APR_EGENERAL;
    }
    return APR_SUCCESS;
}
