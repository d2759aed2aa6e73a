/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Under a timeout T a connection lasts from a request that opens it (no gap,
 * or gap > T) to its close; the reuses in between change nothing:
 *
 *      opens         reused             opens
 *   |====|.....|======|..........:         |===|....:
 *         g <= T       T         close         T    close
 *
 * So the holders at T are made of three lists, each sorted once for all T:
 *   opens   request starts with their gap: those with gap > T go up
 *   waits   gap and tail starts with their length: those with length > T go
 *           down T later, in the order of their starts (a FIFO, as event's
 *           own timeout queues)
 *   quits   tail ends with their length: those with length <= T go down
 * As T grows, opens and waits only lose items: they are dropped in place, and
 * what is left is the N(T) of [M4] and the N_to(T) of [M8]; the lengths that
 * were dropped add up to the uncapped part of [M5].
 *
 * Busy workers are the same for all T, unless accepting takes time.
 */
#include "sweep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "erlang.h"
#include "held.h"
#include "radix.h"

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)

/* The longest that httpd waits for a client that does not answer a close. */
#define LINGER_BOUND_S 2.0

/* Instants with a length each: at[n] ascending, len[n]. */
typedef struct spans {
    int64_t *at, *len;
    size_t n;
} spans;

typedef struct sweep {
    const ka_trace *trace;
    ka_held_window window;
    int64_t measured_up_to_us, accept_us, linger_us;
    spans opens, waits, quits;
    spans busy_from, busy_to;        /* without len */
    int64_t *quits_now;              /* quits_now[quits.n] */
    int64_t idle_dropped_us;         /* gaps and tails <= T, their sum */
    ka_held busy;                    /* if accept_us is 0 */
    const ka_sweep_visitor *visitor; /* takes the distributions; or NULL */
} sweep;

const int64_t *ka_sweep_default_timeouts(size_t *n)
{
    static const int64_t timeouts[] = {
        KA_TIMEOUT_OFF, SECOND / 5,  SECOND / 2,   SECOND,       3 * SECOND / 2,
        2 * SECOND,     3 * SECOND,  4 * SECOND,   5 * SECOND,   6 * SECOND,
        8 * SECOND,     10 * SECOND, 12 * SECOND,  15 * SECOND,  20 * SECOND,
        25 * SECOND,    30 * SECOND, 40 * SECOND,  50 * SECOND,  60 * SECOND,
        75 * SECOND,    90 * SECOND, 115 * SECOND, 180 * SECOND, 300 * SECOND,
    };

    *n = sizeof(timeouts) / sizeof(timeouts[0]);
    return timeouts;
}

/* ---- arithmetic that stops at the ends ---------------------------------- */

static int64_t within(int64_t us, int64_t min, int64_t max)
{
    return us < min ? min : us > max ? max : us;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t times_saturated(size_t n, int64_t us)
{
    int64_t product;

    return __builtin_mul_overflow(n, us, &product) ? INT64_MAX : product;
}

/* ---- the lists ---------------------------------------------------------- */

static bool spans_make(spans *s, size_t n, bool with_len)
{
    s->n = 0;
    /* One more: malloc(0) may be NULL. */
    s->at = calloc(n + 1, sizeof(*s->at));
    s->len = with_len ? calloc(n + 1, sizeof(*s->len)) : NULL;
    return s->at && (s->len || !with_len);
}

static void spans_clear(spans *s)
{
    free(s->at);
    free(s->len);
    memset(s, 0, sizeof(*s));
}

static void spans_add(spans *s, int64_t at, int64_t len)
{
    s->at[s->n] = at;
    if (s->len) {
        s->len[s->n] = len;
    }
    s->n++;
}

static apr_status_t spans_sort(spans *s)
{
    return ka_radix_sort(s->at, s->len, s->n);
}

/* Drops the spans that T outlasts. @return what they add up to */
static int64_t spans_drop(spans *s, int64_t timeout_us)
{
    int64_t dropped = 0;
    size_t i, kept = 0;

    for (i = 0; i < s->n; i++) {
        bool stays = s->len[i] > timeout_us;

        /* Without a branch: which ones stay cannot be predicted. */
        s->at[kept] = s->at[i];
        dropped = add_saturated(dropped, stays ? 0 : s->len[i]);
        s->len[kept] = s->len[i];
        kept += stays;
    }
    s->n = kept;
    return dropped;
}

static apr_status_t collect_busy(sweep *s)
{
    const ka_trace *trace = s->trace;
    apr_status_t rv;
    size_t i;

    if (!spans_make(&s->busy_from, trace->request_n, false) ||
        !spans_make(&s->busy_to, trace->request_n, false)) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->request_n; i++) {
        spans_add(&s->busy_from, trace->requests[i].busy_from_us, 0);
        spans_add(&s->busy_to, trace->requests[i].busy_to_us, 0);
    }
    rv = spans_sort(&s->busy_from);
    return rv == APR_SUCCESS ? spans_sort(&s->busy_to) : rv;
}

static apr_status_t collect_opens(sweep *s)
{
    const ka_trace *trace = s->trace;
    size_t i;

    if (!spans_make(&s->opens, trace->request_n, true)) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *request = &trace->requests[i];
        bool opens = request->gap_us == KA_GAP_OPENS;

        if (request->gap_us != KA_GAP_JOINED) {
            spans_add(&s->opens, request->busy_from_us,
                      opens ? INT64_MAX : request->gap_us);
        }
    }
    return spans_sort(&s->opens);
}

static apr_status_t collect_waits(sweep *s)
{
    const ka_trace *trace = s->trace;
    size_t i;

    /* Each request but the joined ones ends one wait, and each chain has a
     * tail where it has no first gap. */
    if (!spans_make(&s->waits, trace->request_n + trace->chain_n, true)) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *request = &trace->requests[i];

        if (request->gap_us >= 0) {
            spans_add(&s->waits, request->busy_from_us - request->gap_us,
                      request->gap_us);
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        spans_add(&s->waits, trace->tails[i].from_us, trace->tails[i].len_us);
    }
    return spans_sort(&s->waits);
}

static apr_status_t collect_quits(sweep *s)
{
    const ka_trace *trace = s->trace;
    size_t i;

    s->quits_now = calloc(trace->chain_n + 1, sizeof(*s->quits_now));
    if (!s->quits_now || !spans_make(&s->quits, trace->chain_n, true)) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->chain_n; i++) {
        const ka_trace_tail *tail = &trace->tails[i];

        spans_add(&s->quits, tail->from_us + tail->len_us, tail->len_us);
    }
    return spans_sort(&s->quits);
}

/* ---- distributions ------------------------------------------------------ */

static ka_steps steps_of(const spans *s, int64_t shift_us, int step)
{
    return (ka_steps){s->at, s->n, shift_us, step};
}

static size_t choose_quits(sweep *s, int64_t timeout_us)
{
    size_t i, n = 0;

    for (i = 0; i < s->quits.n; i++) {
        s->quits_now[n] = s->quits.at[i];
        n += s->quits.len[i] <= timeout_us;
    }
    return n;
}

static apr_status_t distribute(ka_held *out, const sweep *s,
                               const ka_steps *steps, size_t n,
                               const ka_held_window *window, bool busy)
{
    const ka_sweep_visitor *visitor = s->visitor;

    if (visitor == NULL) {
        return ka_held_of(out, steps, n, window);
    }
    ka_held_walk(steps, n, window->begin_us, window->end_us,
                 busy ? visitor->busy : visitor->held, visitor->context);
    return APR_SUCCESS;
}

static apr_status_t held_at(ka_held *out, sweep *s, int64_t timeout_us)
{
    int64_t wait_us = timeout_us > 0 ? timeout_us : 0;
    const ka_steps steps[] = {
        steps_of(&s->opens, -s->accept_us, 1),
        steps_of(&s->waits, wait_us + s->linger_us, -1),
        {s->quits_now, choose_quits(s, timeout_us), 0, -1},
    };
    ka_held_window window = s->window;

    window.settle_us = wait_us;
    return distribute(out, s, steps, 3, &window, false);
}

/* With accept_us 0 the same at any T, so opens need not be known. */
static apr_status_t busy_at(ka_held *out, const sweep *s)
{
    const ka_steps steps[] = {
        steps_of(&s->busy_from, 0, 1),
        steps_of(&s->busy_to, 0, -1),
        steps_of(&s->opens, -s->accept_us, 1),
        steps_of(&s->opens, 0, -1),
    };

    return distribute(out, s, steps, s->accept_us ? 4 : 2, &s->window, true);
}

/* ---- all timeouts ------------------------------------------------------- */

static int64_t busy_sum(const ka_trace *trace)
{
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        sum = add_saturated(sum, trace->requests[i].busy_to_us -
                                     trace->requests[i].busy_from_us);
    }
    return sum;
}

static apr_status_t prepare(sweep *s)
{
    apr_status_t rv = collect_busy(s);

    if (rv == APR_SUCCESS && s->accept_us == 0) {
        rv = busy_at(&s->busy, s);
        spans_clear(&s->busy_from);
        spans_clear(&s->busy_to);
    }
    if (rv == APR_SUCCESS) {
        rv = collect_opens(s);
    }
    if (rv == APR_SUCCESS) {
        rv = collect_waits(s);
    }
    return rv == APR_SUCCESS ? collect_quits(s) : rv;
}

/* [M4] [M5] [M8], from what is left of the lists at T. */
static void count_at(ka_outcome *out, sweep *s, int64_t timeout_us)
{
    int64_t wait_us = timeout_us > 0 ? timeout_us : 0;

    spans_drop(&s->opens, timeout_us);
    s->idle_dropped_us =
        add_saturated(s->idle_dropped_us, spans_drop(&s->waits, timeout_us));
    out->requests = s->trace->request_n;
    out->connections = s->opens.n;
    out->timeout_closes = timeout_us < 0 ? 0 : s->waits.n;
    out->idle_us =
        add_saturated(s->idle_dropped_us, times_saturated(s->waits.n, wait_us));
    if (out->requests > 0) {
        out->reuse = 1 - (double)out->connections / (double)out->requests;
    }
}

/* [M6] [M7] [M9] [M10]; server_closes is N_to(T), and with KeepAlive Off all
 * closes. */
static void rate_at(ka_outcome *out, const sweep *s)
{
    double opened = (double)out->connections;
    double server_closes = (double)s->waits.n;
    double us = (double)(s->window.end_us - s->window.begin_us);

    if (us <= 0) {
        return;
    }
    out->window_s = us / (double)SECOND;
    out->connections_per_s = opened / out->window_s;
    out->handshakes_saved_per_s =
        ((double)out->requests - opened) / out->window_s;
    out->idle_mean = (double)out->idle_us / us;
    out->busy_mean =
        ((double)out->busy_us + opened * (double)s->accept_us) / us;
    out->held_mean = out->busy_mean + out->idle_mean +
                     server_closes * (double)s->linger_us / us;
    out->linger_bound_mean = server_closes * LINGER_BOUND_S / out->window_s;
    out->held_per_second = (double)out->timeout_closes / out->window_s;
}

static apr_status_t evaluate(ka_outcome *out, sweep *s, int64_t timeout_us)
{
    int64_t busy_us = out->busy_us;
    apr_status_t rv;

    *out = (ka_outcome){.timeout_us = timeout_us,
                        .measured = timeout_us <= s->measured_up_to_us,
                        .busy_us = busy_us};
    timeout_us = within(timeout_us, KA_TIMEOUT_OFF, KA_TRACE_TIME_MAX);
    count_at(out, s, timeout_us);
    rate_at(out, s);
    rv = held_at(&out->held, s, timeout_us);
    if (rv == APR_SUCCESS && s->accept_us > 0) {
        return busy_at(&out->busy, s);
    }
    out->busy = s->busy;
    return rv;
}

static bool timeouts_valid(const int64_t *timeouts, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (timeouts[i] < (i ? timeouts[i - 1] : KA_TIMEOUT_OFF)) {
            return false;
        }
    }
    return true;
}

static void sweep_init(sweep *s, const ka_trace *trace,
                       const ka_sweep_options *options)
{
    bool eps_given = options->eps > 0 && options->eps < 1;

    *s = (sweep){.trace = trace,
                 .measured_up_to_us = options->measured_up_to_us,
                 .accept_us = within(options->accept_us, 0, KA_TRACE_TIME_MAX),
                 .linger_us = within(options->linger_us, 0, KA_TRACE_TIME_MAX)};
    s->window = (ka_held_window){
        .begin_us = trace->begin_us,
        .end_us = trace->end_us,
        .period_us = options->period_us > 0 ? options->period_us : HOUR,
        .eps = eps_given ? options->eps : KA_BLOCKING};
}

static void sweep_clear(sweep *s)
{
    spans_clear(&s->opens);
    spans_clear(&s->waits);
    spans_clear(&s->quits);
    spans_clear(&s->busy_from);
    spans_clear(&s->busy_to);
    free(s->quits_now);
}

static apr_status_t check(const int64_t *timeouts, size_t n,
                          const ka_trace *trace)
{
    if (!timeouts_valid(timeouts, n)) {
        return APR_EINVAL;
    }
    return trace->failed ? APR_ENOMEM : APR_SUCCESS;
}

apr_status_t ka_sweep(ka_outcome *out, const int64_t *timeouts, size_t n,
                      const ka_trace *trace, const ka_sweep_options *options)
{
    int64_t busy_us = busy_sum(trace);
    apr_status_t rv = check(timeouts, n, trace);
    sweep s;
    size_t i;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    sweep_init(&s, trace, options);
    rv = prepare(&s);
    for (i = 0; i < n && rv == APR_SUCCESS; i++) {
        out[i].busy_us = busy_us;
        rv = evaluate(&out[i], &s, timeouts[i]);
    }
    sweep_clear(&s);
    return rv;
}

apr_status_t ka_sweep_visit(const ka_sweep_visitor *visitor,
                            const int64_t *timeouts, size_t n,
                            const ka_trace *trace)
{
    static const ka_sweep_options none;
    apr_status_t rv = check(timeouts, n, trace);
    sweep s;
    size_t i;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    sweep_init(&s, trace, &none);
    s.visitor = visitor;
    rv = prepare(&s);
    for (i = 0; i < n && rv == APR_SUCCESS; i++) {
        int64_t timeout_us =
            within(timeouts[i], KA_TIMEOUT_OFF, KA_TRACE_TIME_MAX);
        ka_outcome counts = {.timeout_us = timeouts[i]};
        ka_held unused;

        count_at(&counts, &s, timeout_us);
        visitor->timeout(visitor->context, i, &counts, s.waits.n);
        rv = held_at(&unused, &s, timeout_us);
    }
    sweep_clear(&s);
    return rv;
}

/* ---- MaxKeepAliveRequests ----------------------------------------------- */

uint64_t ka_extra_opens(const ka_trace *trace, int64_t timeout_us,
                        uint32_t max_requests)
{
    uint64_t served = (uint64_t)max_requests + 1, extra = 0;
    uint32_t *length; /* requests so far on each chain's connection at T */
    size_t i;

    if (max_requests == 0) {
        return 0;
    }
    length = calloc(trace->chain_n + 1, sizeof(*length));
    if (length == NULL) {
        return UINT64_MAX;
    }
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *request = &trace->requests[i];
        uint32_t *len = &length[request->chain];

        if (request->gap_us == KA_GAP_OPENS || request->gap_us > timeout_us) {
            *len = 0;
        }
        /* The (m + 2)th, (2m + 3)th ... request needs a connection more. */
        extra += *len > 0 && *len % served == 0;
        ++*len;
    }
    free(length);
    return extra;
}
