/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Pieces of a foreign line: nothing is taken before it has been checked.  Each
 * function returns false, and the taker then holds the sentence, if what it
 * finds is not what it must be.  Private to profilefile*.c.
 */
#ifndef KA_PROFILEFILE_TAKE_H
#define KA_PROFILEFILE_TAKE_H

#include "profilefile_priv.h"

/* Where in the line: a chain of keys and indices, the innermost first. */
typedef struct ka_pf_place {
    const struct ka_pf_place *up; /* NULL: the line itself */
    const char *key;              /* NULL: an index */
    size_t index;
} ka_pf_place;

typedef struct ka_pf_taker {
    apr_pool_t *pool;
    const char *error; /* the first one */
    apr_status_t rv;
} ka_pf_taker;

/** Notes what was expected there. @return false */
bool ka_pf_refuse(ka_pf_taker *d, const ka_pf_place *at, const char *wanted);

/** Notes that memory ran out. @return false */
bool ka_pf_no_memory(ka_pf_taker *d);

/** A whole number >= 0; KA_PF_MOST is UINT64_MAX. */
bool ka_pf_take_whole(ka_pf_taker *d, uint64_t *out, const json_t *value,
                      const ka_pf_place *at);

/** A whole number in [least, most]. */
bool ka_pf_take_range(ka_pf_taker *d, int64_t *out, const json_t *value,
                      const ka_pf_place *at, int64_t least, int64_t most);

/** The object, array or string of a key.
 * @return NULL: there is none, which has been noted */
const json_t *ka_pf_member(ka_pf_taker *d, const json_t *object,
                           const char *key, json_type type,
                           const ka_pf_place *at);

/** The rows' numbers, into a struct. */
bool ka_pf_take_counts(ka_pf_taker *d, void *into, const ka_pf_count *row,
                       const json_t *object, const ka_pf_place *up);

bool ka_pf_take_ranges(ka_pf_taker *d, void *into, const ka_pf_range *row,
                       const json_t *object, const ka_pf_place *up);

/** A histogram, into an empty one. */
bool ka_pf_take_hist(ka_pf_taker *d, ka_hist *h, const json_t *object,
                     const char *key, const ka_pf_place *up);

/** The rows' histograms, into a struct. */
bool ka_pf_take_hists(ka_pf_taker *d, void *into, const ka_pf_hist *row,
                      const json_t *object, const ka_pf_place *at);

/** The row of numbers of ka_weights, into row[KA_WEIGHTS_N]. */
bool ka_pf_take_row(ka_pf_taker *d, uint64_t *row, const json_t *array,
                    const ka_pf_place *at);

/** An occupancy, into an empty one. */
bool ka_pf_take_occupancy(ka_pf_taker *d, ka_occupancy *o, uint32_t server,
                          const json_t *object, const char *key,
                          const ka_pf_place *up);

/** The line's sample, if it has one; tally has its timeouts and sides. */
bool ka_pf_take_sample(ka_pf_taker *d, ka_tally *tally, const json_t *line);

#endif
