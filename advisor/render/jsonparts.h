/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Objects that several JSON outputs share.  Keys are fixed: they are only
 * ever added.  Seconds, bytes, ratios; what is not known is null, never 0.
 * All functions return a new reference, NULL only without memory.
 */
#ifndef KA_JSONPARTS_H
#define KA_JSONPARTS_H

#include <stdio.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <jansson.h>
#include "../advice/report.h"

#define KA_DOC_SCHEMA "kaadvisor/1"
#define KA_DOC_SHOW_SCHEMA "kaadvisor/show/1"

/** A string; bytes that are no UTF-8 become \xHH; null for NULL. */
json_t *ka_doc_text(const char *text, apr_pool_t *pool);

/** A number; null for what is not finite. */
json_t *ka_doc_number(double value);

/** A whole number; null if negative, which means not known. */
json_t *ka_doc_whole(int64_t value);

/** Seconds from microseconds; null if negative. */
json_t *ka_doc_seconds(int64_t us);

/** Seconds of a KeepAliveTimeout; KA_TIMEOUT_OFF, which closes, is 0. */
json_t *ka_doc_timeout(int64_t us);

/** `wait`: who waited for a worker in a simulation, and how long. */
json_t *ka_doc_waits(const ka_sim_result *r);

/** RFC 3339, UTC; null if not known. */
json_t *ka_doc_time(int64_t us, apr_pool_t *pool);

/** a, or {low, high} of a and b in ascending order with a bracket. */
json_t *ka_doc_bracket(bool bracket, double a, double b);
json_t *ka_doc_bracket_whole(bool bracket, int64_t a, int64_t b);

/** {low, high, level} of an interval times scale; null for NULL. */
json_t *ka_doc_interval(const ka_interval *interval, double scale);

/** Adds the intervals of one timeout's numbers to it: `..._ci`. */
void ka_doc_add_intervals(json_t *object, const ka_report *report,
                          size_t timeout);

/** `intervals`: how they were found, and those of the whole. */
json_t *ka_doc_intervals(const ka_report *report, apr_pool_t *pool);

/** `source`: files, lines, format, identity, window. */
json_t *ka_doc_source(const ka_report *report, apr_pool_t *pool);

/** `traffic`: rates, connections, gaps, service, held, classes, vhosts. */
json_t *ka_doc_traffic(const ka_report *report, apr_pool_t *pool);

/** `advice`, `warnings`, `rules`, `next` and `verdict`, in one object. */
json_t *ka_doc_decisions(const ka_report *report, apr_pool_t *pool);

/** `formula`; `high` is the other side of a bracket, NULL without one. */
json_t *ka_doc_formula(const ka_formula *f, const ka_formula *high,
                       const char *rule, const char *why, apr_pool_t *pool);

/** Adds a report's own keys to an object. @return false without memory */
typedef bool ka_doc_add_fn(json_t *object, const ka_report *report,
                           apr_pool_t *pool);

/** `hosts`: what `add` makes of each of the group's servers; [] without.
 * NULL without memory. */
json_t *ka_doc_hosts(const ka_report *report, ka_doc_add_fn *add,
                     apr_pool_t *pool);

/**
 * Writes a document and a line feed.
 * @param root  its reference is taken over; NULL, left by a failure before,
 *              writes nothing
 * @return APR_SUCCESS; APR_ENOMEM for NULL; the system's status if writing
 *         failed
 */
apr_status_t ka_doc_write(FILE *out, json_t *root);

/** `policy`: what mod_kapolicy would do, beside one KeepAliveTimeout; null
 * where it has nothing to propose. */
json_t *ka_doc_policy(const ka_report *report, apr_pool_t *pool);

/** `simulation` of an answer: the busiest stretch under the present and the
 * proposed settings; null where there is none. */
json_t *ka_doc_simulated(const ka_mpm_answer *answer, apr_pool_t *pool);

/** classes_advice: kinds of content by themselves; null where not judged. */
json_t *ka_doc_kinds(const ka_report *report, apr_pool_t *pool);

#endif
