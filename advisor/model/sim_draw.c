/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Traffic drawn from distributions, where there is no trace. */
#include "sim_traffic.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define FIRST_SIZE 1024

/* Bins [first, end) of a histogram, ready to draw from. */
typedef struct sampler {
    const ka_hist *h;
    size_t first, end;
    double below[KA_HIST_BINS + 1]; /* values in bins before it; [end]: all */
} sampler;

typedef struct drawing {
    const ka_sim_draws *draws;
    ka_random random;
    sampler lengths, within, beyond, service, tail, together;
    sampler class_within[KA_CLASS_N], class_service[KA_CLASS_N];
    ka_sim_chain *chains;
    size_t chain_n, chain_size;
    ka_sim_request *requests;
    size_t request_n, request_size;
    int64_t end_us;
    bool failed; /* no memory, or too much of it */
} drawing;

/* ---- values ------------------------------------------------------------- */

static void sampler_init(sampler *s, const ka_hist *h, size_t first, size_t end)
{
    size_t i;

    s->h = h;
    s->first = first;
    s->end = end;
    s->below[first] = 0;
    for (i = first; i < end; i++) {
        s->below[i + 1] = s->below[i] + (h ? (double)h->bins[i].count : 0);
    }
}

static double sampler_n(const sampler *s)
{
    return s->below[s->end];
}

/* Evenly around the bin's mean, as far as the nearer of its edges: so that the
 * mean of what is drawn is that of what was recorded. */
static int64_t draw_in_bin(ka_random *random, const ka_hist *h, size_t bin)
{
    double mean = (double)h->bins[bin].sum / (double)h->bins[bin].count;
    double low = (double)ka_hist_bin_low(bin);
    double high = (double)ka_hist_bin_low(bin + 1) - 1;
    double half = fmax(0, fmin(mean - low, high - mean));

    return (int64_t)fmin(mean + half * (2 * ka_random_unit(random) - 1) + 0.5,
                         (double)KA_TRACE_TIME_MAX);
}

/* @param otherwise  where there is nothing to draw from */
static int64_t draw(ka_random *random, const sampler *s, int64_t otherwise)
{
    double rank = ka_random_unit(random) * sampler_n(s);
    size_t low = s->first, high = s->end;

    if (sampler_n(s) <= 0) {
        return otherwise;
    }
    /* The last bin with below <= rank: it is not empty. */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->below[middle] <= rank) {
            low = middle;
        }
        else {
            high = middle;
        }
    }
    return draw_in_bin(random, s->h, low);
}

static double mean_of(const sampler *s, double otherwise)
{
    double sum = 0;
    size_t i;

    if (sampler_n(s) <= 0) {
        return otherwise;
    }
    for (i = s->first; i < s->end; i++) {
        sum += (double)s->h->bins[i].sum;
    }
    return sum / sampler_n(s);
}

/* ---- chains ------------------------------------------------------------- */

static void *room(void *items, size_t *size, size_t used, size_t width)
{
    size_t wanted = *size ? *size * 2 : FIRST_SIZE;
    void *grown;

    if (used < *size) {
        return items;
    }
    grown = realloc(items, wanted * width);
    if (grown != NULL) {
        *size = wanted;
    }
    return grown;
}

/* Nothing is drawn where classes are not told apart. */
static ka_class draw_class(drawing *d, bool followed)
{
    const ka_sim_draws_class *classes = d->draws->classes;
    const ka_sim_draws_class *dynamic = &classes[KA_CLASS_DYNAMIC];

    if (classes == NULL) {
        return KA_CLASS_STATIC;
    }
    return ka_random_unit(&d->random) <
                   (followed ? dynamic->followed : dynamic->last)
               ? KA_CLASS_DYNAMIC
               : KA_CLASS_STATIC;
}

/* @param keep  false: only its time is wanted */
static int64_t add_request(drawing *d, int64_t gap_us, ka_class cls, bool keep)
{
    int64_t busy_us = draw(&d->random,
                           d->draws->classes ? &d->class_service[cls]
                                             : &d->service,
                           0);
    ka_sim_request *items;

    if (!keep) {
        return busy_us;
    }
    items = room(d->requests, &d->request_size, d->request_n,
                 sizeof(*d->requests));
    if (items == NULL || d->request_n >= KA_SIM_DRAWN_MAX) {
        d->requests = items ? items : d->requests;
        d->failed = true;
        return 0;
    }
    d->requests = items;
    items[d->request_n++] = (ka_sim_request){
        .gap_us = gap_us, .busy_us = busy_us, .requests = 1, .cls = cls};
    return busy_us;
}

static int64_t join(drawing *d, bool keep)
{
    int64_t busy_us = draw(&d->random, &d->service, 0);

    if (keep) {
        d->requests[d->request_n - 1].busy_us += busy_us;
        d->requests[d->request_n - 1].requests++;
    }
    return busy_us;
}

static void keep_chain(drawing *d, const ka_sim_chain *chain)
{
    ka_sim_chain *items =
        room(d->chains, &d->chain_size, d->chain_n, sizeof(*d->chains));

    if (items == NULL) {
        d->failed = true;
        return;
    }
    d->chains = items;
    items[d->chain_n++] = *chain;
}

/* Within T0; with KeepAlive Off there are none. */
static int64_t gap_within(drawing *d, ka_class after)
{
    int64_t most = d->draws->timeout_us > 0 ? d->draws->timeout_us : 0;
    int64_t gap = draw(&d->random,
                       d->draws->classes ? &d->class_within[after]
                                         : &d->within,
                       0);

    return gap < most ? gap : most;
}

static int64_t gap_beyond(drawing *d)
{
    int64_t least = d->draws->timeout_us > 0 ? d->draws->timeout_us + 1 : 0;
    int64_t gap = draw(&d->random, &d->beyond, least);

    return gap > least ? gap : least;
}

/* What one connection carries under T0. @return how long that takes */
static int64_t add_connection(drawing *d, int64_t gap_us, bool keep)
{
    int64_t length = draw(&d->random, &d->lengths, 1), gap;
    ka_class cls = draw_class(d, length > 1);
    int64_t us = add_request(d, gap_us, cls, keep);

    for (; length > 1 && !d->failed; length--) {
        if (ka_random_unit(&d->random) < d->draws->joined) {
            us += join(d, keep);
        }
        else {
            gap = gap_within(d, cls);
            cls = draw_class(d, length > 2);
            us += gap + add_request(d, gap, cls, keep);
        }
    }
    return us;
}

/* A chain from where it enters the window to where it leaves it, if it does:
 * what a client would have done after the end, it waits with. */
static void add_chain(drawing *d, int64_t start_us)
{
    ka_sim_chain chain = {.first = d->request_n};
    int64_t at = start_us, gap = 0;

    while (at < d->end_us && !d->failed) {
        bool keep = at >= 0, goes_on;

        if (keep && d->request_n == chain.first) {
            chain.start_us = at;
            gap = 0;
        }
        at += add_connection(d, gap, keep);
        goes_on = ka_random_unit(&d->random) < d->draws->again;
        gap = goes_on ? gap_beyond(d) : draw(&d->random, &d->tail, 0);
        chain.tail_us = gap;
        at = goes_on ? at + gap : d->end_us;
    }
    chain.n = d->request_n - chain.first;
    if (chain.n > 0) {
        keep_chain(d, &chain);
    }
}

/* Chains that begin between two times, in seconds. */
static void add_span(drawing *d, double from, double to, double clients_per_s)
{
    if (!(clients_per_s > 0)) {
        return;
    }
    while (!d->failed) {
        int64_t together;

        from -= log(1 - ka_random_unit(&d->random)) / clients_per_s;
        if (from >= to) {
            return;
        }
        together = draw(&d->random, &d->together, 1);
        for (; together > 0 && !d->failed; together--) {
            add_chain(d, (int64_t)floor(from * 1e6));
        }
    }
}

/* ---- all of it ---------------------------------------------------------- */

static bool prepare(drawing *d)
{
    const ka_sim_draws *draws = d->draws;
    size_t split = draws->timeout_us >= 0
                       ? ka_hist_bin_index((uint64_t)draws->timeout_us) + 1
                       : 0;
    double connections = 0;
    size_t i;

    sampler_init(&d->lengths, draws->lengths, 1, KA_HIST_BINS);
    sampler_init(&d->within, draws->gap, 0, split);
    sampler_init(&d->beyond, draws->gap, split, KA_HIST_BINS);
    sampler_init(&d->service, draws->service, 0, KA_HIST_BINS);
    for (i = 0; draws->classes && i < KA_CLASS_N; i++) {
        sampler_init(&d->class_within[i], draws->classes[i].gap, 0, split);
        sampler_init(&d->class_service[i], draws->classes[i].service, 0,
                     KA_HIST_BINS);
    }
    sampler_init(&d->tail, draws->tail, 0, KA_HIST_BINS);
    sampler_init(&d->together, draws->together, 1, KA_HIST_BINS);
    for (i = 0; i < draws->rate_n; i++) {
        connections += draws->rates[i] * draws->rate_step_s * draws->growth;
    }
    return draws->rate_n > 0 && draws->rate_step_s > 0 && draws->growth > 0 &&
           draws->again >= 0 && draws->again < 1 &&
           connections * mean_of(&d->lengths, 1) <= KA_SIM_DRAWN_MAX &&
           (double)draws->rate_n * draws->rate_step_s < 1e12;
}

static apr_status_t release(void *memory)
{
    free(memory);
    return APR_SUCCESS;
}

static int by_start(const void *a, const void *b)
{
    const ka_sim_chain *x = a, *y = b;

    if (x->start_us != y->start_us) {
        return x->start_us < y->start_us ? -1 : 1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

/* How long before the window chains must begin so that nearly all are there
 * that reach into it: some times the mean of a chain's length. */
#define LENGTHS_BEFORE 5

static double seconds_before(const drawing *d, double chains_per_s)
{
    double again = d->draws->again;
    double requests = mean_of(&d->lengths, 1);
    double connection = requests * mean_of(&d->service, 0) +
                        (requests - 1) * mean_of(&d->within, 0);
    double gaps = again * mean_of(&d->beyond, (double)d->draws->timeout_us);
    double seconds =
        LENGTHS_BEFORE * (connection + gaps) / (1 - again) / 1e6;
    double most = KA_SIM_DRAWN_MAX * (1 - again) /
                  fmax(chains_per_s * requests, 1e-9);

    return again > 0 ? fmin(seconds, most) : 0;
}

static void run(drawing *d)
{
    const ka_sim_draws *draws = d->draws;
    /* Of the connections opened only some begin a chain, and of these some
     * come together. */
    double begin = draws->growth * (1 - draws->again);
    double share = begin / mean_of(&d->together, 1);
    double before = seconds_before(d, draws->rates[0] * begin);
    size_t i;

    d->end_us =
        (int64_t)((double)draws->rate_n * draws->rate_step_s * 1e6);
    add_span(d, -before, 0, draws->rates[0] * share);
    for (i = 0; i < draws->rate_n && !d->failed; i++) {
        add_span(d, (double)i * draws->rate_step_s,
                 (double)(i + 1) * draws->rate_step_s,
                 draws->rates[i] * share);
    }
    if (d->chain_n > 0) {
        qsort(d->chains, d->chain_n, sizeof(*d->chains), by_start);
    }
}

apr_status_t ka_sim_traffic_draw(ka_sim_traffic *out, const ka_sim_draws *draws,
                                 uint64_t seed, apr_pool_t *pool)
{
    drawing *d = calloc(1, sizeof(*d));
    apr_status_t rv = APR_EINVAL;

    memset(out, 0, sizeof(*out));
    if (d == NULL) {
        return APR_ENOMEM;
    }
    d->draws = draws;
    d->random.state = seed;
    if (prepare(d)) {
        run(d);
        rv = !d->failed                           ? APR_SUCCESS
             : d->request_n >= KA_SIM_DRAWN_MAX ? APR_EINVAL
                                                  : APR_ENOMEM;
        apr_pool_cleanup_register(pool, d->chains, release,
                                  apr_pool_cleanup_null);
        apr_pool_cleanup_register(pool, d->requests, release,
                                  apr_pool_cleanup_null);
        *out = (ka_sim_traffic){
            .chains = d->chains,
            .chain_n = d->chain_n,
            .requests = d->requests,
            .request_n = d->request_n,
            .end_us = d->end_us};
    }
    free(d);
    return rv;
}
