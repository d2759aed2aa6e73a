/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside advice/: what the servers of a group ask of the one configuration
 * that all of them get.  Means are those of a server of this kind; what must
 * be enough is the most that any of them needs.
 */
#ifndef KA_GROUP_H
#define KA_GROUP_H

#include "decide.h"

/**
 * Index of a timeout among a report's; where it was not evaluated, of the next
 * longer one, which needs no less, or of the longest.
 */
size_t ka_timeout_index(const ka_report *report, int64_t timeout_us);

/** Fills fits[timeout_n]: of each timeout the most workers, connections and
 * memory that one of the servers needs. */
void ka_group_fits(ka_fit *fits, const ka_report *group,
                   const ka_supply *supply);

/**
 * The server that needs most workers at a timeout.
 * @param outcome  set to what it was evaluated to there, the side advised from
 * @return the first of those with the same need; NULL: no group
 */
const ka_report *ka_group_busiest(const ka_outcome **outcome,
                                  const ka_report *group,
                                  const ka_supply *supply,
                                  int64_t timeout_us);

/** Connections that a busy second (p99) opens at a timeout; of a group, on the
 * server that opens most. */
double ka_busy_opens(const ka_report *report, int64_t timeout_us);

/** The longest time that is covered of one server, in seconds. */
double ka_longest_window(const ka_report *report);

/** The largest value of a fact that is known of the report's server, or of
 * one of the group's; -1: of none. */
int64_t ka_most_known(const ka_report *report, ka_fact_id fact);

/** T0 in words; of a group set up differently the shortest and longest. */
const char *ka_timeout_now(const ka_report *report, apr_pool_t *pool);

/** Warnings about a group; NULL where there is nothing to say, or no group. */
const char *ka_warn_hosts_differ(const ka_decision *d);
const char *ka_warn_host_facts(const ka_decision *d);
const char *ka_warn_hosts_refused(const ka_decision *d);

#endif
