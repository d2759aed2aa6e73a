/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From the module's own records to pieces of traffic (pieces.h).  Histograms
 * know neither who nor when; what does only shows how pieces differ, and all
 * numbers are scaled to what the histograms lead to:
 *
 *   by visitor  the latest connections, by a hash of the client.  Of each one
 *               its gaps' number and the longest one, L, is known; the others
 *               are taken as any gaps of the segment that are not longer than
 *               L, which they are if gaps do not depend on each other
 *   by time     requests r and new connections c of each second.  N(T) is made
 *               of what opens at T0, which goes with c, and of the gaps that T
 *               cuts off, which go with r - c; H(T) of gaps and of tails, which
 *               go likewise.  That gaps are longer at some hours does not show
 *
 * Where only the latest connections are known, or the last day, the intervals
 * are those of so much traffic: rather too wide for all there was, since how
 * often visitors come back in a longer time is not known.
 */
#ifndef KA_LIVE_PIECES_H
#define KA_LIVE_PIECES_H

#include "../model/histsweep.h"
#include "../model/pieces.h"
#include "../sources/segment.h"

/* What the histograms lead to. */
typedef struct ka_led {
    const ka_hist_traffic *traffic;
    const ka_outcome *outcomes; /* outcomes[n] */
    size_t n;
    size_t now; /* index of T0 */
} ka_led;

/* A span of time. */
typedef struct ka_span_counts {
    double covered_us;
    double requests, connections; /* opened */
} ka_span_counts;

/** The pieces of a segment; of a virtual host there are none by time.
 * @param out  arrays owned by pool */
void ka_live_pieces(ka_pieces *out, const ka_live *live, const ka_led *led,
                    apr_pool_t *pool);

/**
 * Rows by time.
 * @param spans  spans[n]; those that are covered less than the fullest one
 *               count by that
 * @param out    arrays owned by pool; n 0: nobody came
 */
void ka_spans_rows(ka_piece_rows *out, const ka_span_counts *spans, size_t n,
                   const ka_led *led, apr_pool_t *pool);

#endif
