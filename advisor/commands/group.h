/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From an analysis with members to a report about a group (report.h).
 */
#ifndef KA_COMMAND_GROUP_H
#define KA_COMMAND_GROUP_H

#include "analysis.h"

/** ka_report_group with the members' reports; nothing without members. */
void ka_group_link(ka_analysis *analysis, apr_pool_t *pool);

/** Facts that all members know and agree on become the group's, but for those
 * that an option says. */
void ka_group_share_facts(ka_analysis *analysis, apr_pool_t *pool);

/** ka_advise for every member, then for the whole.
 * @return APR_SUCCESS, or what ka_advise says for the first that failed */
apr_status_t ka_group_advise(ka_analysis *analysis,
                             const ka_advise_options *options,
                             apr_pool_t *pool);

#endif
