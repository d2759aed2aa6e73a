/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What one part of the traffic, a class or a virtual host, does to the whole
 * under a timeout.  Pure functions of a report whose outcomes are there.
 *
 *   follows(T)  requests of the part that another one follows on its
 *               connection within T: #{g <= T}, g after a request of the part
 *   idle(T)     what its requests leave idle: sum min(g, T), and of the tails,
 *               which are known only in all, the share of its requests that
 *               nothing follows
 *
 * So the parts of a whole add up to [M5] H(T) at every T.  Gaps are those of
 * the side with the fewest connections, and so are the outcomes here.
 */
#ifndef KA_PARTS_H
#define KA_PARTS_H

#include "report.h"

/* Requests that a part must have to be judged by itself. */
#define KA_PART_REQUESTS 1000

/* Under it keep-alive is pointless (R14). */
#define KA_LITTLE_REUSE 0.05

typedef struct ka_part {
    double follows;   /* requests, see above */
    double reuse;     /* their share of the part's requests; 0 .. 1 */
    double idle_mean; /* idle(T)/W: connections, or workers, in the mean */
} ka_part;

/** A part at timeouts[index] of the report. */
ka_part ka_part_at(const ka_report *report, const ka_traffic *part,
                   size_t index);

/** Whether idle times are told by class: Prometheus has them for all alone. */
bool ka_part_classes_told(const ka_report *report);

/** The last timeout of the report up to which the part's gaps are known: T0,
 * or T_cap where longer ones are known.
 * @param limit_us  the part's own T0; < 0: Off */
size_t ka_part_last(const ka_report *report, int64_t limit_us);

/**
 * [M18] on one part: the smallest timeout at which at most a share `delta` of
 * its requests is followed only later, though within what is known.
 * @param last  of ka_part_last
 * @return its index; that of KeepAlive Off where under KA_LITTLE_REUSE of its
 *         requests are followed at all
 */
size_t ka_part_knee(const ka_report *report, const ka_traffic *part,
                    size_t last, double delta);

#endif
