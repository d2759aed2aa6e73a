/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `advise --output conf -o FILE`: a configuration comes to where httpd may
 * read it at its next reload.  So it is whole or not there; httpd has been
 * asked before it takes its place, where it can be; what the file held is
 * kept; and how to apply it and to go back is said, and stands in it.
 */
#ifndef KA_COMMAND_CONF_H
#define KA_COMMAND_CONF_H

#include "analysis_host.h"

/**
 * Writes it.  A file that httpd refuses is not put in place but kept as
 * FILE.rejected.
 * @param host    with a httpd, or NULL: none is known
 * @param report  gets its `apply`
 * @return KA_EXIT_DONE; KA_EXIT_FAILED, which has been said
 */
int ka_conf_write(const ka_host *host, const ka_options *options,
                  ka_report *report, apr_pool_t *pool);

#endif
