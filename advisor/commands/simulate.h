/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Parts of `kaadvisor simulate`: configurations.
 */
#ifndef KA_COMMAND_SIMULATE_H
#define KA_COMMAND_SIMULATE_H

#include "../host/config_tree.h"
#include "../host/httpd.h"
#include "../render/sim.h"
#include "analysis.h"
#include "stretch.h"

/**
 * Reads a configuration: httpd's main file with what it includes, or a block
 * of directives such as --output conf writes; for a block mod_kapolicy is taken
 * to be loaded.  httpd is not asked.
 * @param side   file, mpm, settings, rules, remarks and the settings' part of
 *               config, which points into it
 * @param mpm    for a file that loads none; KA_MPM_UNKNOWN: the one MPM that
 *               the file has settings for
 * @param error  on failure a text for the user
 * @return APR_SUCCESS; APR_EINVAL: no MPM, or several; the system's status if
 *         the file cannot be read
 */
apr_status_t ka_simulate_config(ka_sim_side *side, const char **error,
                                const char *file, int32_t mpm,
                                apr_pool_t *pool);

/**
 * Reads KAPolicy and KAPolicyAdaptive: what stands in the main server, asks for
 * nothing but served=static or served=dynamic, and can be judged from a log.
 * @param side     rules, policy and adaptive, config.policy and
 *                 config.adaptive; its settings and config are there
 * @param remarks  of const char *: which lines are left out, and why
 */
void ka_simulate_policy(ka_sim_side *side, apr_array_header_t *remarks,
                        const ka_cfg_tree *tree, apr_pool_t *pool);

/**
 * The configuration of an httpd that was found.
 * @param mpm  the host's, or what an option says; KA_MPM_UNKNOWN: an error
 * @return APR_SUCCESS; APR_EINVAL: no MPM
 */
apr_status_t ka_simulate_server(ka_sim_side *side, const char **error,
                                const ka_httpd *httpd, int32_t mpm,
                                apr_pool_t *pool);

#endif
