/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Subcommands: one file each.  To add one: a bit in options.h, its mask in
 * the option table, its file here, its row in commands.c.
 */
#ifndef KA_COMMANDS_H
#define KA_COMMANDS_H

#include "../options.h"

/** The table; ends with a NULL name.  The first row is the default. */
const ka_command *ka_commands(void);

/* Each returns an exit status (KA_EXIT_*) and has said why on stderr. */
int ka_command_advise(const ka_options *options, apr_pool_t *pool);
int ka_command_doctor(const ka_options *options, apr_pool_t *pool);
int ka_command_formula(const ka_options *options, apr_pool_t *pool);
int ka_command_profile(const ka_options *options, apr_pool_t *pool);
int ka_command_simulate(const ka_options *options, apr_pool_t *pool);
int ka_command_show(const ka_options *options, apr_pool_t *pool);

#endif
