/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_counting: the rest of an analysis whose log turned out to be too long to
 * keep.  Its first requests, which were kept, say how connections are told
 * apart; they and all further ones are counted one by one.
 */
#ifndef KA_COMMAND_ANALYSIS_LANES_H
#define KA_COMMAND_ANALYSIS_LANES_H

#include "analysis.h"

/* What is known of the server changes what a log's requests mean. */
typedef struct ka_meaning {
    uint16_t unsaid;    /* flags that say nothing about the client */
    bool child_is_slot; /* %P without %{tid}P: a process of prefork is one */
} ka_meaning;

/** Gives a request, as read, its meaning. */
void ka_meaning_give(const ka_meaning *meaning, ka_request *request);

typedef struct ka_counting ka_counting;

/**
 * Decides by the analysis's `served` requests, of which there is one at
 * least.  Sets connections (without traces), T0 and the tally.
 * @param analysis    outlives it
 * @param connection  copied
 * @return to be freed by ka_counting_free; NULL without memory
 */
ka_counting *ka_counting_make(ka_analysis *analysis, const ka_meaning *meaning,
                              const ka_connection_options *connection,
                              const ka_options *options, apr_pool_t *pool);
void ka_counting_free(ka_counting *counting);

/** Takes a request as it was read, in order of start; the first ones are
 * those of the analysis. */
void ka_counting_take(ka_counting *counting, const ka_request *request);

/** Completes the analysis once all is read.
 * @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_counting_finish(ka_counting *counting,
                                const ka_options *options, apr_pool_t *pool);

#endif
