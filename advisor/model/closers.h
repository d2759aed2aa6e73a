/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_closers: of the clients that the server closed at T0, how many would soon
 * have closed their idle connection by themselves.   [M6], above T0
 *
 * Of a connection that is idle, a close by the client and its next request
 * compete, and T0 cuts both off.  The hazard of a close at age x is what
 * clients closed at x of what was still idle then; it is taken as theta / x,
 * theta from the last octave of the ages that were seen:
 *
 *   theta = closes in (u, T0] / sum of ln(min(x, T0) / u) over all idle times
 *           x > u, whatever ended them                              u = T0 / 2
 *
 * which is the maximum likelihood of a power law whose larger values are cut
 * off: Hill, A Simple General Approach to Inference About the Tail of a
 * Distribution, Annals of Statistics 3 (1975); what else ends an idle time
 * cuts it off as well (competing risks: Kalbfleisch, Prentice, The Statistical
 * Analysis of Failure Time Data, 1980, chapter 7).  A hazard that falls with
 * age is what clients of many kinds have together, those who close soon being
 * gone (Vaupel, Manton, Stallard, Demography 16, 1979).  So there stay, at age
 * x,
 *
 *   S(x) = (x / T0)^-theta for x <= 2 T0, and S(2 T0) of them for good:
 *
 * an octave that was seen speaks for the next one, not for more; to take too
 * many for closers would size a server too small.  Where clients never close,
 * theta is 0 and S is 1.  When they come back does not depend on whether they
 * would have closed (histsweep.h).
 *
 * Pure, allocates nothing, safe from any thread.
 */
#ifndef KA_CLOSERS_H
#define KA_CLOSERS_H

#include <ka_histogram.h>
#include <stdint.h>

typedef struct ka_closers {
    double theta;     /* >= 0 */
    int64_t limit_us; /* T0 */
} ka_closers;

/**
 * @param gap       us: idle times that ended with a request, <= T0
 * @param tail      us: those that ended otherwise, but not by T0
 * @param closed    how many of those in tail the client ended: if not all, it
 *                  did so at any age in this proportion
 * @param cut       those that T0 ended
 * @param limit_us  T0; <= 0: no age was seen, theta is 0
 */
ka_closers ka_closers_of(const ka_hist *gap, const ka_hist *tail,
                         uint64_t closed, uint64_t cut, int64_t limit_us);

/** S(T0 + over_us), 0 .. 1.  @param over_us  >= 0 */
double ka_closers_stay(const ka_closers *closers, int64_t over_us);

/** Integral of S from T0 to T0 + over_us, in us. */
double ka_closers_idle(const ka_closers *closers, int64_t over_us);

#endif
