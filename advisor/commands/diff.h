/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `advise --diff`: advice as a unified diff of the configuration's own files.
 * They are read, not written.
 */
#ifndef KA_COMMAND_DIFF_H
#define KA_COMMAND_DIFF_H

#include "analysis_host.h"

/**
 * Whether the options can give a diff at all; what is wrong is said.
 * @return KA_EXIT_DONE or KA_EXIT_USAGE
 */
int ka_diff_usage(const ka_options *options, apr_pool_t *pool);

/**
 * Prints it to where the result goes; on stderr what it leaves to a person and
 * how to apply it, or that there is nothing to change.
 * @return KA_EXIT_DONE; KA_EXIT_FAILED, which has been said
 */
int ka_diff_write(const ka_host *host, const ka_report *report);

#endif
