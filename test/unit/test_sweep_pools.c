/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * [M3]: the sweep looks at gaps taken once, with an infinite timeout; here
 * every timeout gets pools of its own, played request by request, and the
 * two must agree to the last connection and microsecond.
 *
 * A client keeps its idle connections and reuses the one used last, if its
 * idle age is at most the timeout and at most the patience that the client
 * has after that response; after a final response it closes.  A multiplexing
 * client has one connection and joins it while it is busy.
 */
#include "unit.h"
#include "model/sweep.h"

#define TRACES 300
#define REQUESTS_MAX 160
#define CLIENTS_MAX 8
#define FOREVER INT64_MAX
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const int64_t timeouts[] = {
    KA_TIMEOUT_OFF, 0,         1,          7,           250,     1000,
    5000,           20000,     100000,     1000000,     5000000, 15000000,
    60000000,       300000000, 3000000000, FOREVER / 2,
};

/* ---- random traffic ----------------------------------------------------- */

typedef struct request {
    int64_t start, end;
    int64_t patience; /* how long the client keeps the connection after it */
    bool final;       /* the response closes the connection */
    int client;
} request;

typedef struct traffic {
    request requests[REQUESTS_MAX]; /* in order of start */
    size_t n;
    bool multiplexes[CLIENTS_MAX];
} traffic;

static uint64_t random_below(uint64_t *seed, uint64_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (*seed >> 11) % n;
}

/* A time of any size, 0 and exactly one of the timeouts included. */
static int64_t random_time(uint64_t *seed)
{
    uint64_t digits = random_below(seed, 1000);

    switch (random_below(seed, 6)) {
    case 0:
        return 0;
    case 1:
        return timeouts[1 + random_below(seed, COUNT_OF(timeouts) - 3)];
    default:
        return (int64_t)(digits *
                         (uint64_t)pow(10, (double)random_below(seed, 7)));
    }
}

static request random_request(uint64_t *seed, int client, int64_t start)
{
    request r = {.start = start, .patience = 300000000, .client = client};

    r.end = start + random_time(seed) / 100;
    r.final = random_below(seed, 12) == 0;
    if (random_below(seed, 4) == 0) {
        r.patience = random_time(seed);
    }
    return r;
}

static void add_client(traffic *t, uint64_t *seed, int client, size_t n)
{
    int64_t now = random_time(seed);
    size_t i, burst;

    t->multiplexes[client] = random_below(seed, 4) == 0;
    for (i = 0; i < n;) {
        for (burst = 1 + random_below(seed, 4); burst > 0 && i < n; burst--) {
            t->requests[t->n++] = random_request(seed, client, now);
            now += (int64_t)random_below(seed, 3);
            i++;
        }
        now += random_time(seed);
    }
}

static int by_start(const void *a, const void *b)
{
    const request *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return x->client - y->client;
}

static void random_traffic(traffic *t, uint64_t *seed)
{
    int clients = 1 + (int)random_below(seed, CLIENTS_MAX), c;

    memset(t, 0, sizeof(*t));
    for (c = 0; c < clients; c++) {
        size_t n = 1 + random_below(seed, REQUESTS_MAX / CLIENTS_MAX);

        add_client(t, seed, c, n);
    }
    qsort(t->requests, t->n, sizeof(request), by_start);
}

/* ---- the pools ---------------------------------------------------------- */

typedef struct connection {
    int client;
    int64_t opened, busy_until, idle_us;
    int64_t patience;
    bool final;
} connection;

typedef struct pools {
    connection connections[REQUESTS_MAX];
    size_t n;
    int took[REQUESTS_MAX];     /* request -> connection */
    bool opened[REQUESTS_MAX];  /* request: did it open that one? */
    int64_t from[REQUESTS_MAX]; /* where the request adds busy time */
} pools;

static bool reusable(const connection *c, int64_t now, int64_t timeout)
{
    int64_t age = now - c->busy_until;

    return age >= 0 && age <= timeout && age <= c->patience && !c->final;
}

/* The connection that a request joins or reuses; -1: none. */
static int choose(const pools *p, const traffic *t, const request *r,
                  int64_t timeout)
{
    int best = -1;
    size_t i;

    for (i = 0; i < p->n; i++) {
        const connection *c = &p->connections[i];

        if (c->client != r->client) {
            continue;
        }
        if (t->multiplexes[r->client] && c->busy_until > r->start) {
            return (int)i;
        }
        if (reusable(c, r->start, timeout) &&
            (best < 0 || c->busy_until > p->connections[best].busy_until)) {
            best = (int)i;
        }
    }
    return best;
}

static void play(pools *p, const traffic *t, int64_t timeout)
{
    size_t i;

    memset(p, 0, sizeof(*p));
    for (i = 0; i < t->n; i++) {
        const request *r = &t->requests[i];
        int index = choose(p, t, r, timeout);
        connection *c;

        p->opened[i] = index < 0;
        index = index < 0 ? (int)p->n++ : index;
        c = &p->connections[index];
        if (p->opened[i]) {
            *c = (connection){.client = r->client,
                              .opened = r->start,
                              .busy_until = r->start};
        }
        p->took[i] = index;
        p->from[i] = r->start > c->busy_until ? r->start : c->busy_until;
        c->idle_us += p->from[i] - c->busy_until;
        c->busy_until = r->end > p->from[i] ? r->end : p->from[i];
        c->patience = r->patience;
        c->final = r->final;
    }
}

/* ---- what they add up to ------------------------------------------------ */

typedef struct interval {
    int64_t from, to;
} interval;

typedef struct truth {
    uint64_t opened, timeout_closes;
    int64_t idle_us;
    double held_us; /* whole, not cut by the window */
    interval held[REQUESTS_MAX];
    size_t held_n;
    interval busy[2 * REQUESTS_MAX];
    size_t busy_n;
} truth;

static void end_connection(truth *out, const connection *c, int64_t timeout,
                           int64_t accept, int64_t linger)
{
    int64_t patience = c->final ? 0 : c->patience, to = c->busy_until;
    bool off = timeout < 0;
    bool timed_out = !off && patience > timeout;
    int64_t wait = off ? 0 : timed_out ? timeout : patience;

    out->opened++;
    out->timeout_closes += timed_out;
    out->idle_us += c->idle_us + wait;
    to += wait + (off || timed_out ? linger : 0);
    out->held[out->held_n++] = (interval){c->opened - accept, to};
    out->held_us += (double)(to - c->opened + accept);
}

static void add_up(truth *out, const traffic *t, const pools *p,
                   int64_t timeout, int64_t accept, int64_t linger)
{
    size_t i;

    memset(out, 0, sizeof(*out));
    for (i = 0; i < p->n; i++) {
        end_connection(out, &p->connections[i], timeout, accept, linger);
    }
    for (i = 0; i < t->n; i++) {
        int64_t from = p->from[i], to = t->requests[i].end;

        out->busy[out->busy_n++] = (interval){from, to > from ? to : from};
        if (p->opened[i]) {
            out->busy[out->busy_n++] = (interval){from - accept, from};
        }
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* time_at[c]: us of [begin, end) with c of the intervals around, by asking
 * every interval at every instant where one begins or ends. */
static void count_everywhere(int64_t *time_at, const interval *intervals,
                             size_t n, int64_t begin, int64_t end)
{
    static int64_t instants[4 * REQUESTS_MAX + 2];
    size_t instant_n = 0, i, k;

    memset(time_at, 0, (n + 1) * sizeof(*time_at));
    instants[instant_n++] = begin;
    instants[instant_n++] = end;
    for (i = 0; i < n; i++) {
        instants[instant_n++] = intervals[i].from;
        instants[instant_n++] = intervals[i].to;
    }
    qsort(instants, instant_n, sizeof(instants[0]), by_value);
    for (i = 0; i + 1 < instant_n; i++) {
        size_t count = 0;

        if (instants[i] < begin || instants[i + 1] > end) {
            continue;
        }
        for (k = 0; k < n; k++) {
            count += intervals[k].from <= instants[i] &&
                     instants[i] < intervals[k].to;
        }
        time_at[count] += instants[i + 1] - instants[i];
    }
}

static double quantile(const int64_t *time_at, int64_t window, int permille)
{
    __int128 sum = 0;
    int c;

    for (c = 0;; c++) {
        sum += time_at[c];
        if (sum * 1000 >= (__int128)window * permille) {
            return c;
        }
    }
}

static void assert_relative(double a, double b)
{
    assert_near(a, b, fabs(b) * 1e-9 + 1e-300);
}

static void assert_distribution(const ka_held *held, const interval *intervals,
                                size_t n, const ka_trace *trace)
{
    static int64_t time_at[2 * REQUESTS_MAX + 1];
    int64_t window = ka_trace_window(trace);
    double mean = 0, variance = 0, peak = 0;
    size_t c;

    count_everywhere(time_at, intervals, n, trace->begin_us, trace->end_us);
    for (c = 0; c <= n; c++) {
        mean += (double)c * (double)time_at[c] / (double)window;
        peak = time_at[c] > 0 ? (double)c : peak;
    }
    for (c = 0; c <= n; c++) {
        variance += ((double)c - mean) * ((double)c - mean) *
                    (double)time_at[c] / (double)window;
    }
    assert_relative(held->mean, mean);
    assert_near(held->variance, variance, variance * 1e-9 + 1e-12);
    assert_near(held->peak, peak, 0);
    assert_near(held->p99, quantile(time_at, window, 990), 0);
    assert_near(held->p999, quantile(time_at, window, 999), 0);
}

/* ---- the comparison ----------------------------------------------------- */

static void build_trace(ka_trace *trace, const traffic *t)
{
    static pools p;
    size_t i;

    play(&p, t, FOREVER);
    ka_trace_init(trace);
    for (i = 0; i < t->n; i++) {
        const request *r = &t->requests[i];
        uint32_t chain = (uint32_t)p.took[i];

        if (p.opened[i]) {
            assert_int_equal(ka_trace_open(trace, r->start, r->end), chain);
        }
        else {
            ka_trace_follow(trace, chain, r->start, r->end);
        }
        ka_trace_tail_set(trace, chain, r->final ? 0 : r->patience);
    }
}

static void compare_at(const ka_outcome *o, const traffic *t,
                       const ka_trace *trace, const ka_sweep_options *options)
{
    double window = (double)ka_trace_window(trace);
    static pools p;
    static truth sum;

    play(&p, t, o->timeout_us);
    add_up(&sum, t, &p, o->timeout_us, options->accept_us, options->linger_us);
    assert_int_equal(o->requests, t->n);
    assert_int_equal(o->connections, sum.opened);
    assert_int_equal(o->timeout_closes, sum.timeout_closes);
    assert_int_equal(o->idle_us, sum.idle_us);
    if (window == 0) {
        return;
    }
    assert_relative(o->held_mean, sum.held_us / window);
    assert_relative(o->idle_mean, (double)sum.idle_us / window);
    assert_distribution(&o->held, sum.held, sum.held_n, trace);
    assert_distribution(&o->busy, sum.busy, sum.busy_n, trace);
}

static void compare_traces(uint64_t seed, bool with_worker_terms)
{
    static traffic t;
    int i;

    for (i = 0; i < TRACES; i++) {
        ka_outcome outcomes[COUNT_OF(timeouts)];
        ka_sweep_options options = {0};
        ka_trace trace;
        size_t k;

        random_traffic(&t, &seed);
        if (with_worker_terms) {
            options.accept_us = random_time(&seed) / 1000;
            options.linger_us = random_time(&seed) / 1000;
        }
        build_trace(&trace, &t);
        assert_int_equal(
            ka_sweep(outcomes, timeouts, COUNT_OF(timeouts), &trace, &options),
            APR_SUCCESS);
        for (k = 0; k < COUNT_OF(timeouts); k++) {
            compare_at(&outcomes[k], &t, &trace, &options);
        }
        ka_trace_clear(&trace);
    }
}

static void test_sweep_m3__equals_pools_at_every_timeout(void **state)
{
    (void)state;
    compare_traces(20240229, false);
}

static void test_sweep_m6__equals_pools_with_accept_and_linger(void **state)
{
    (void)state;
    compare_traces(4711, true);
}

/* Otherwise the comparisons above would say little. */
static void test_sweep_pools__traffic_has_every_kind(void **state)
{
    uint64_t seed = 20240229;
    size_t joined = 0, reused = 0, opened = 0, final = 0, tied = 0, i;
    static traffic t;
    int n;

    (void)state;
    for (n = 0; n < TRACES; n++) {
        ka_trace trace;

        random_traffic(&t, &seed);
        build_trace(&trace, &t);
        for (i = 0; i < trace.request_n; i++) {
            int64_t gap = trace.requests[i].gap_us;
            size_t k;

            joined += gap == KA_GAP_JOINED;
            opened += gap == KA_GAP_OPENS;
            reused += gap >= 0;
            final += t.requests[i].final;
            for (k = 1; k < COUNT_OF(timeouts); k++) {
                tied += gap == timeouts[k];
            }
        }
        ka_trace_clear(&trace);
    }
    assert_true(joined > 500 && reused > 5000 && opened > 2000);
    assert_true(final > 500 && tied > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sweep_m3__equals_pools_at_every_timeout),
        unit_test(test_sweep_m6__equals_pools_with_accept_and_linger),
        unit_test(test_sweep_pools__traffic_has_every_kind),
    };

    return unit_main(tests);
}
