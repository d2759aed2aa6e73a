/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The rules of operating httpd that advice is judged by, R1 to R18.  Each is a
 * row: what it says, and whether it can be judged.  Rows of advice and warnings
 * name their rule; ka_judge_rules draws up which of them spoke, which had
 * nothing to say, and which could not be judged and why.
 */
#ifndef KA_RULES_H
#define KA_RULES_H

#include "decide.h"

/** Fills the report's findings; rows and warnings must be there. */
void ka_judge_rules(ka_decision *d);

/* Warnings about the server on its host; NULL where there is nothing to say,
 * or report->site is not known.  (warnings_host.c) */
const char *ka_warn_evicted(const ka_decision *d);
const char *ka_warn_mod_php(const ka_decision *d);
const char *ka_warn_tls(const ka_decision *d);
const char *ka_warn_workers_reached(const ka_decision *d);
const char *ka_warn_per_child(const ka_decision *d);
const char *ka_warn_limits(const ka_decision *d);
const char *ka_warn_closes(const ka_decision *d);
const char *ka_warn_utilisation(const ka_decision *d);

#endif
