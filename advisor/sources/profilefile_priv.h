/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The keys of a profile's line: encoder and decoder walk the same tables.
 * Private to profilefile*.c.
 */
#ifndef KA_PROFILEFILE_PRIV_H
#define KA_PROFILEFILE_PRIV_H

#include <jansson.h>
#include "profilefile.h"

/* Times and durations beyond it are nonsense (36,000 years). */
#define KA_PF_MOST_US (INT64_C(1) << 60)

/* A sum in a struct: a whole number >= 0 that stops at UINT64_MAX. */
typedef struct ka_pf_count {
    const char *key;
    size_t offset; /* of a uint64_t */
} ka_pf_count;

/* A number in a struct that lies within limits. */
typedef struct ka_pf_range {
    const char *key;
    size_t offset; /* of an int64_t */
    int64_t least, most;
} ka_pf_range;

/* A histogram in a struct. */
typedef struct ka_pf_hist {
    const char *key;
    size_t offset; /* of a ka_hist */
} ka_pf_hist;

/* Tables end with a NULL key. */
extern const ka_pf_count ka_pf_tally_counts[], ka_pf_server_counts[],
    ka_pf_traffic_counts[], ka_pf_side_counts[], ka_pf_timeout_counts[],
    ka_pf_occupancy_counts[];
extern const ka_pf_range ka_pf_tally_ranges[], ka_pf_server_ranges[];
extern const ka_pf_hist ka_pf_traffic_hists[], ka_pf_side_hists[];

/* The facts that a profile keeps, by the key of their value. */
typedef struct ka_pf_fact {
    const char *key;
    ka_fact_id id;
} ka_pf_fact;

extern const ka_pf_fact ka_pf_facts[];

extern const char *const ka_pf_classes[KA_CLASS_N];

/* What all above the largest number that a file can hold becomes. */
#define KA_PF_MOST INT64_MAX

/* How fine a line is. */
typedef struct ka_pf_detail {
    size_t hours;  /* of each occupancy, at most */
    size_t vhosts; /* "(other)" included, at most */
    unsigned join; /* 2^join bins of an occupancy become one */
    size_t blocks; /* of the sample, at most; 0: no sample */
} ka_pf_detail;

/**
 * A tally of one server as an object.
 * @return NULL without memory
 */
json_t *ka_pf_encode(const ka_tally *tally, const ka_pf_detail *detail,
                     apr_pool_t *pool);

/**
 * A sample as an object.
 * @param bracket  with its high side
 * @param blocks   at most, > 0
 * @return NULL without memory
 */
json_t *ka_pf_encode_sample(const ka_sample *sample, bool bracket,
                            size_t blocks);

/**
 * An object as a tally.
 * @param out    to be freed by ka_tally_free; its names live in pool
 * @param error  on failure a sentence about the key, without the file
 * @return APR_SUCCESS; APR_ENOTIMPL: another schema; APR_EINVAL; APR_ENOMEM
 */
apr_status_t ka_pf_decode(ka_tally **out, const char **error,
                          const json_t *line, apr_pool_t *pool);

#endif
