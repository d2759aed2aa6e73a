/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Shared by the parts of ka_openmetrics: what was read, and how lines are
 * written. */
#ifndef KA_OPENMETRICS_PRIV_H
#define KA_OPENMETRICS_PRIV_H

#include "ka_openmetrics.h"
#include "ka_segment_reader.h"

#define KA_OM_NAME(base) "kastats_" base
#define KA_OM_BUCKETS_MAX 64
#define KA_OM_HISTOGRAMS 4
#define KA_OM_HISTOGRAM_SERVICE 1
#define KA_OM_SUMMARIES 2

typedef struct ka_om_buckets {
    uint64_t up_to[KA_OM_BUCKETS_MAX]; /* cumulative */
    uint64_t sum_up_to[KA_OM_BUCKETS_MAX];
    uint64_t count, sum;
} ka_om_buckets;

typedef struct ka_om_summary {
    uint64_t count, sum_us;
} ka_om_summary;

typedef struct ka_om_vhost {
    const ka_segment_vhost *vhost;
    uint64_t closed, reused;
    uint64_t counter[KA_COUNTER_N];
    ka_om_buckets histograms[KA_OM_HISTOGRAMS][KA_SERVED_N];
    ka_om_summary summaries[KA_OM_SUMMARIES];
} ka_om_vhost;

typedef struct ka_om {
    const ka_text *out;
    const ka_openmetrics_options *options;
    const ka_segment_header *header;
    apr_pool_t *pool;
    int64_t now_at;
    ka_hist *life; /* of connections, all vhosts */
    ka_snapshot snapshot;
    ka_om_vhost *vhosts;
    size_t vhost_n;
} ka_om;

typedef struct ka_om_label {
    const char *name, *value; /* name NULL = none */
} ka_om_label;

/** # HELP, # TYPE and # UNIT; NULL = without that line. */
void ka_om_head(const ka_om *e, const char *name, const char *type,
                const char *unit, const char *help);
/** name suffix {labels} and a space: the value comes next. */
void ka_om_name(const ka_om *e, const char *name, const char *suffix,
                const ka_om_label *labels, size_t n);
/** A sample that is a whole number, and one of microseconds. */
void ka_om_number(const ka_om *e, const char *name, const ka_om_label *labels,
                  size_t n, uint64_t value);
void ka_om_seconds(const ka_om *e, const char *name, const ka_om_label *labels,
                   size_t n, uint64_t us);
/** "counter", or NULL in the dialect that has no type for ours. */
const char *ka_om_counter_type(const ka_om *e);
/** "seconds", or NULL in the dialect that has no units. */
const char *ka_om_unit_seconds(const ka_om *e);

/** Fills a vhost's histograms and summaries. @param h  scratch */
void ka_om_histograms_fill(ka_om_vhost *row, const ka_stats *stats, ka_hist *h);

/* Families, or groups of them. */
void ka_om_histograms(const ka_om *e);
void ka_om_sums(const ka_om *e);
void ka_om_summaries(const ka_om *e);
void ka_om_levels(const ka_om *e);
void ka_om_peaks(const ka_om *e);
void ka_om_recent(const ka_om *e);
void ka_om_settings(const ka_om *e);
void ka_om_build_info(const ka_om *e);

#endif
