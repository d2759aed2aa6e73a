/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Every timeout at once, from histograms that keep COUNT and SUM per bin:
 * what sweep.h computes on a trace, [M4] to [M10].  N and H are exact at bin
 * edges and at T0, linear by share of the bin in between.
 *
 * What histograms recorded under a timeout T0 cannot show:
 *   - idle times that T0 cut off are only known to be longer.  For T > T0
 *     N(T) is therefore an upper bound of the connections opened (reuse a
 *     lower one), H(T) an upper bound of the idle time; `measured` is false.
 *     Where it was observed how soon clients of connections that timed out
 *     came back (survival), N and H above T0 are estimates instead: of those
 *     that T0 cut off, R(x) would not have come back after x and S(x) not have
 *     closed by themselves (closers.h), so that T > T0
 *       keeps open  R(T) S(T)       saves  sum of S(x) over the returns x <= T
 *       is idle     integral of R(x) S(x) from T0 to T
 *   - who held at once.  Peaks, quantiles and z are those of curve.h up to
 *     T0; above it, and without that, they come from a history of single
 *     seconds at T0, scaled for other T as levels.h says.
 *
 * Unlike a log they show the accept term a of [M6], what it took more in
 * children that had to warm up, at T0 just as measured, and elsewhere as many
 * of them as are needed to hold what is held; and lingering closes: at T0 just
 * as measured, elsewhere
 *   - those that clients answered, by their mean for a close that the server
 *     began;
 *   - those that clients left unanswered until they next looked: for a wait of
 *     length x that T cuts off that is min(c, x - T), c being how long httpd
 *     waits for the answer.  Over all waits x it adds up to H(T + c) - H(T),
 *     of which a share lambda, measured at T0, belongs to such clients.  With
 *     KeepAlive Off event has a long c: most who never come back will have
 *     closed within it, but nothing tells how soon, so all are taken to stay:
 *     held is a bound then (held_is_bound).  When they do come back, it is on
 *     any of their connections, another one's x;
 *   - with KeepAlive Off those of slow readers, who under a timeout take part
 *     of the idle time to read what the kernel still has.
 */
#ifndef KA_HISTSWEEP_H
#define KA_HISTSWEEP_H

#include <apr_errno.h>
#include <ka_histogram.h>
#include <ka_survival.h>
#include "curve.h"
#include "levels.h"
#include "outcome.h"

/* A timeout counts as measured if T0 covers it for this share of requests. */
#define KA_HIST_MEASURED_SHARE 0.99

/* How long httpd waits for the answer to its close: all MPMs after an idle
 * time, and after a response all but event, which waits longer. */
#define KA_LINGER_US INT64_C(2000000)
#define KA_LINGER_ASYNC_US INT64_C(30000000)

/* The traffic under one T0: a vhost's. */
typedef struct ka_hist_part {
    ka_hist gap;      /* us: idle times that ended with a request */
    ka_hist tail;     /* us: those that ended with a close */
    uint64_t opens;   /* requests that opened a connection */
    uint64_t joined;  /* requests without an idle time before: pipelined */
    uint64_t parted;  /* of them, HTTP/1: with KeepAlive Off each opens one */
    uint64_t cut;     /* idle times that only are known to exceed T0: it, or
                         KeepAlive Off, ended the connection */
    uint64_t closed;  /* idle times in tail that the client's close ended;
                         others, the server's for another reason than T0 */
    int64_t limit_us; /* T0, or KA_TIMEOUT_OFF */
} ka_hist_part;

typedef struct ka_hist_traffic {
    const ka_hist_part *parts;
    size_t part_n;
    double busy_us;         /* S */
    double accept_us;       /* a: mean from accept to first request */
    double cold_us;         /* beyond a, in the first connections of children,
                               together */
    double linger_us;       /* lingering closes that were answered, together */
    double lazy_us;         /* those left unanswered: what httpd waited */
    double drain_us;        /* what httpd would linger with KeepAlive Off till
                               slow readers have read, together */
    int64_t linger_off_us;  /* c with KeepAlive Off; 0: KA_LINGER_US */
    uint64_t server_closes; /* closes that the server began: with T0's */
    double window_s;        /* W */
    ka_survival survival;
    ka_levels open; /* maxima of open connections at T0 */
    ka_levels busy; /* ... of busy ones */
    ka_curve curve; /* open connections at once up to T0, if counted */
} ka_hist_traffic;

/** Empties the distributions of a part. */
void ka_hist_part_init(ka_hist_part *part);

/**
 * Makes a part's distributions end at its T0: idle times up to slack_us over
 * it are as long as T0 (the server's timer was late), and the `timed_out`
 * longest tails are moved to `cut`.
 */
void ka_hist_part_cut(ka_hist_part *part, uint64_t timed_out, int64_t slack_us);

/** Sum of min(g, us) over a part's gaps. */
double ka_hist_part_waited(const ka_hist_part *part, int64_t us);

/**
 * Evaluates timeouts[n] (ascending; KA_TIMEOUT_OFF first if wanted).
 * @param out  out[n], in the same order; linger_bound_mean is 0, since
 *             lingering is measured
 * @return APR_SUCCESS; APR_EINVAL if timeouts are not ascending or one is
 *         below KA_TIMEOUT_OFF; APR_ENOMEM
 */
apr_status_t ka_histsweep(ka_outcome *out, const int64_t *timeouts, size_t n,
                          const ka_hist_traffic *traffic);

/**
 * [M16] from requests per connection at T0: sum of floor((len - 1)/(m + 1)),
 * a bin's connections as long as their mean.
 * @param limit   MaxKeepAliveRequests in force, 0: none
 * @param limited closes by it: those connections would have been longer.
 *                Each opened one more; with m above the limit, fewer in the
 *                proportion of m + 1 at least
 * @return 0 for max_requests == 0 (unlimited)
 */
uint64_t ka_hist_extra_opens(const ka_hist *lengths, uint32_t max_requests,
                             uint32_t limit, uint64_t limited);

#endif
