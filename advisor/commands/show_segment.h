/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_SHOW_SEGMENT_H
#define KA_SHOW_SEGMENT_H

#include "../options.h"

/** `kaadvisor show` of a segment.
 * @return KA_EXIT_DONE or KA_EXIT_FAILED, having said why on stderr */
int ka_show_segment(const char *path, const ka_options *options,
                    apr_pool_t *pool);

#endif
