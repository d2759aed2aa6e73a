/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "histsweep.h"

#include <math.h>
#include <stdlib.h>

#include "closers.h"
#include "cover.h"

/* Largest double that is a whole number and fits. */
#define COUNT_MAX 9e15
/* What sums of many terms may differ by. */
#define ROUNDING 1e-6

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(fmin(value, COUNT_MAX)) : 0;
}

/* ---- one distribution that ends at T0 ----------------------------------- */

/* Upper edge of a bin: nothing in T0's bin lies above T0. */
static double edge_of(size_t bin, int64_t limit_us)
{
    double high = (double)ka_hist_bin_low(bin + 1);

    if (limit_us >= 0 && bin == ka_hist_bin_index((uint64_t)limit_us)) {
        return fmin(high, (double)limit_us + 1);
    }
    return high;
}

static double count_from(const ka_hist *h, size_t bin)
{
    double count = 0;

    for (; bin < KA_HIST_BINS; bin++) {
        count += (double)h->bins[bin].count;
    }
    return count;
}

/* #{v > us} */
static double count_above(const ka_hist *h, int64_t us, int64_t limit_us)
{
    double low, high, share;
    size_t cut;

    if (us < 0) {
        return count_from(h, 0);
    }
    if (us >= (int64_t)KA_HIST_MAX - 1) {
        return 0;
    }
    cut = ka_hist_bin_index((uint64_t)us);
    low = (double)ka_hist_bin_low(cut);
    high = edge_of(cut, limit_us);
    share = fmax(0, (high - 1 - (double)us) / (high - low));
    return (double)h->bins[cut].count * share + count_from(h, cut + 1);
}

/* sum min(v, us) */
static double sum_capped(const ka_hist *h, int64_t us, int64_t limit_us)
{
    double sum = 0, low, high, count, in_bin;
    size_t cut, i;

    if (us <= 0) {
        return 0;
    }
    cut = ka_hist_bin_index((uint64_t)us);
    for (i = 0; i < cut; i++) {
        sum += (double)h->bins[i].sum;
    }
    low = (double)ka_hist_bin_low(cut);
    high = edge_of(cut, limit_us) - 1;
    count = (double)h->bins[cut].count;
    in_bin = (double)h->bins[cut].sum;
    if ((double)us < high) {
        in_bin = low * count + fmax(0, in_bin - low * count) *
                                   ((double)us - low) / (high + 1 - low);
    }
    return sum + fmin(in_bin, count * (double)us) +
           count_from(h, cut + 1) * (double)us;
}

/* ---- parts -------------------------------------------------------------- */

void ka_hist_part_init(ka_hist_part *part)
{
    *part = (ka_hist_part){.limit_us = KA_TIMEOUT_OFF};
}

/* Values of the bins after T0's, up to the slack, become T0. */
static void fold(ka_hist *h, int64_t limit_us, int64_t slack_us)
{
    size_t to = ka_hist_bin_index((uint64_t)limit_us);
    size_t last = ka_hist_bin_index((uint64_t)(limit_us + slack_us)), i;
    ka_hist_bin *bin = &h->bins[to];

    for (i = to + 1; i <= last; i++) {
        bin->count += h->bins[i].count;
        bin->sum += h->bins[i].count * (uint64_t)limit_us;
        h->bins[i] = (ka_hist_bin){0};
    }
    if ((double)bin->sum > (double)bin->count * (double)limit_us) {
        bin->sum = bin->count * (uint64_t)limit_us;
    }
}

/* Takes the n largest values out. @return how many there were */
static uint64_t take_largest(ka_hist *h, uint64_t n)
{
    uint64_t taken = 0;
    size_t i = KA_HIST_BINS;

    while (i-- > 0 && taken < n) {
        ka_hist_bin *bin = &h->bins[i];
        uint64_t part = bin->count < n - taken ? bin->count : n - taken;

        if (part == 0) {
            continue;
        }
        bin->sum = part == bin->count ? 0
                                      : (uint64_t)((double)bin->sum *
                                                   (double)(bin->count - part) /
                                                   (double)bin->count);
        bin->count -= part;
        taken += part;
    }
    return taken;
}

void ka_hist_part_cut(ka_hist_part *part, uint64_t timed_out, int64_t slack_us)
{
    part->cut += timed_out;
    take_largest(&part->tail, timed_out);
    if (part->limit_us >= 0 &&
        part->limit_us < (int64_t)KA_HIST_MAX - slack_us) {
        fold(&part->gap, part->limit_us, slack_us);
        fold(&part->tail, part->limit_us, slack_us);
    }
}

double ka_hist_part_waited(const ka_hist_part *part, int64_t us)
{
    return sum_capped(&part->gap, us, part->limit_us);
}

/* ---- beyond T0 ---------------------------------------------------------- */

/* What becomes of an idle time that T0 cut off, by T0 + over. */
typedef struct fate {
    double open;     /* share: neither a request nor the client ended it */
    double returned; /* share: a request found it open */
    double idle_us;  /* mean, between T0 and there */
} fate;

static fate fate_of(const ka_survival *s, const ka_closers *closers,
                    int64_t over_us)
{
    fate f = {0};
    double share = 1, before_us = 0, idle_us;
    size_t i;

    for (i = 0; i < s->n && s->over_us[i] <= over_us; i++) {
        idle_us = ka_closers_idle(closers, s->over_us[i]);
        f.idle_us += share * (idle_us - before_us);
        f.returned += (share - s->share[i]) *
                      ka_closers_stay(closers, s->over_us[i]);
        before_us = idle_us;
        share = s->share[i];
    }
    f.idle_us += share * (ka_closers_idle(closers, over_us) - before_us);
    f.open = share * ka_closers_stay(closers, over_us);
    return f;
}

/* Bounds (survival.n 0) stay bounds: nobody closes. */
static ka_closers closers_of(const ka_hist_part *part,
                             const ka_survival *survival, int64_t limit_us)
{
    return survival->n == 0
               ? (ka_closers){.limit_us = limit_us}
               : ka_closers_of(&part->gap, &part->tail, part->closed,
                               part->cut, limit_us);
}

/* ---- all parts at a timeout --------------------------------------------- */

typedef struct sums {
    double requests, opened, timed_out, idle_us, covered;
} sums;

static void add_part(sums *s, const ka_hist_part *part, int64_t timeout_us,
                     const ka_survival *survival)
{
    int64_t limit_us = part->limit_us;
    double gaps = count_from(&part->gap, 0), cut = (double)part->cut;
    double requests = (double)part->opens + (double)part->joined + gaps;
    double longer = count_above(&part->gap, timeout_us, limit_us);

    s->requests += requests;
    s->opened += (double)part->opens + longer;
    s->covered += timeout_us <= limit_us ? requests : 0;
    if (timeout_us < 0) {
        s->opened += (double)part->parted;
        s->timed_out += longer + count_from(&part->tail, 0) + cut;
        return;
    }
    s->idle_us += sum_capped(&part->gap, timeout_us, limit_us) +
                  sum_capped(&part->tail, timeout_us, limit_us);
    s->timed_out += longer + count_above(&part->tail, timeout_us, limit_us);
    limit_us = limit_us > 0 ? limit_us : 0;
    if (timeout_us <= limit_us) {
        s->timed_out += cut;
        s->idle_us += cut * (double)timeout_us;
    }
    else {
        const ka_closers closers = closers_of(part, survival, limit_us);
        const fate f = fate_of(survival, &closers, timeout_us - limit_us);

        s->timed_out += cut * f.open;
        s->opened -= fmin(cut * f.returned, (double)part->opens);
        s->idle_us += cut * ((double)limit_us + f.idle_us);
    }
}

static sums sums_at(const ka_hist_traffic *t, int64_t timeout_us)
{
    sums s = {0};
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        add_part(&s, &t->parts[i], timeout_us, &t->survival);
    }
    return s;
}

/* Each part so long after its own T0; after_us 0: what is in force. */
static sums sums_in_force(const ka_hist_traffic *t, int64_t after_us)
{
    sums s = {0};
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        int64_t limit_us = t->parts[i].limit_us;

        if (after_us > 0) {
            limit_us = (limit_us > 0 ? limit_us : 0) + after_us;
        }
        add_part(&s, &t->parts[i], limit_us, &t->survival);
    }
    return s;
}

/* H(T + c) - H(T) at the timeouts in force. */
static double unanswered_in_force(const ka_hist_traffic *t,
                                  const sums *in_force)
{
    return sums_in_force(t, KA_LINGER_US).idle_us - in_force->idle_us;
}

/* H(T + c) - H(T). */
static double unanswered_at(const ka_hist_traffic *t, const sums *s,
                            int64_t timeout_us)
{
    int64_t wait_us = KA_LINGER_US;

    if (timeout_us < 0 && t->linger_off_us > 0) {
        wait_us = t->linger_off_us;
    }
    return sums_at(t, (timeout_us > 0 ? timeout_us : 0) + wait_us).idle_us -
           s->idle_us;
}

/* Of those who leave a close unanswered. */
static double lazy_at(const ka_hist_traffic *t, const sums *s,
                      const sums *in_force, int64_t timeout_us)
{
    double now = t->lazy_us > 0 ? unanswered_in_force(t, in_force) : 0;

    return now > 0 ? unanswered_at(t, s, timeout_us) * t->lazy_us / now
                   : t->lazy_us;
}

/* [M6]'s last term, in connection-microseconds: as measured, and l for each
 * close by the server more or less than in force.  With KeepAlive Off all
 * closes are the server's. */
static double linger_at(const ka_hist_traffic *t, const sums *s,
                        const sums *in_force, int64_t timeout_us)
{
    double drain_us = timeout_us < 0 ? t->drain_us : 0;
    double closes = (double)t->server_closes;
    double more = timeout_us < 0 ? s->opened - closes
                                 : s->timed_out - in_force->timed_out;

    if (closes <= 0) {
        return drain_us + t->linger_us;
    }
    return drain_us + fmax(0, t->linger_us + more * t->linger_us / closes);
}

/* Of held connections, what those who do not answer may make too many. */
#define BOUND_SHARE 0.01

static bool is_bound(const ka_hist_traffic *t, const sums *s,
                     const sums *in_force, const ka_outcome *off)
{
    return t->lazy_us > 0 && t->linger_off_us > KA_LINGER_US &&
           lazy_at(t, s, in_force, KA_TIMEOUT_OFF) >
               BOUND_SHARE * off->held_mean * t->window_s * 1e6;
}

/* [M6] in connection-microseconds, but for what children take to warm up. */
static double warm_us(const ka_hist_traffic *t, const sums *s, double linger_us)
{
    return t->busy_us + s->opened * t->accept_us + s->idle_us + linger_us;
}

/* Warming up: as measured in force, and the more the more are held. */
static double cold_us(const ka_hist_traffic *t, double warm_us, double now_us)
{
    return now_us > 0 ? t->cold_us * warm_us / now_us : 0;
}

/* [M4] .. [M10].  now_us: warm_us in force. */
static void evaluate(ka_outcome *out, const ka_hist_traffic *t, const sums *s,
                     double linger_us, int64_t timeout_us, double now_us)
{
    double us = t->window_s * 1e6;

    *out = (ka_outcome){
        .timeout_us = timeout_us,
        .measured = s->covered >= KA_HIST_MEASURED_SHARE * s->requests,
        .requests = whole(s->requests),
        .connections = whole(s->opened),
        .timeout_closes = timeout_us < 0 ? 0 : whole(s->timed_out),
        .idle_us = (int64_t)whole(s->idle_us),
        .busy_us = (int64_t)whole(t->busy_us)};
    if (s->requests > 0) {
        out->reuse = 1 - s->opened / s->requests;
    }
    if (!(us > 0)) {
        return;
    }
    out->window_s = t->window_s;
    out->connections_per_s = s->opened / t->window_s;
    out->handshakes_saved_per_s = (s->requests - s->opened) / t->window_s;
    out->idle_mean = s->idle_us / us;
    out->busy_mean = (t->busy_us + s->opened * t->accept_us +
                      cold_us(t, warm_us(t, s, linger_us), now_us)) /
                     us;
    out->held_mean = out->busy_mean + out->idle_mean + linger_us / us;
    out->held_per_second = timeout_us < 0 ? 0 : s->timed_out / t->window_s;
}

/* Expected holders of each second, in force and at a timeout; NULL: they are
 * not known. */
typedef struct expected {
    double *now, *to;
} expected;

static double waiting_mean(const ka_outcome *o)
{
    return fmax(0, o->held_mean - o->busy_mean);
}

static double linger_each(const ka_outcome *o)
{
    double us = (waiting_mean(o) - o->idle_mean) * o->window_s * 1e6;

    return o->connections > 0 ? fmax(0, us) / (double)o->connections : 0;
}

/* What lies beyond T0 the seconds do not show. */
static const ka_levels_expected *
expect_at(ka_levels_expected *levels, const expected *e, const ka_outcome *out,
          const ka_hist_traffic *t)
{
    if (e->now == NULL || !out->measured ||
        ka_cover_held(e->to, t, out->timeout_us, linger_each(out),
                      waiting_mean(out)) != APR_SUCCESS) {
        return NULL;
    }
    *levels = (ka_levels_expected){.now = e->now, .to = e->to};
    return levels;
}

static void expected_init(expected *e, const ka_hist_traffic *t,
                         const ka_outcome *present)
{
    *e = (expected){0};
    if (t->open.n == 0 || !t->open.requests || !(present->window_s > 0)) {
        return;
    }
    e->now = malloc(t->open.n * sizeof(*e->now));
    e->to = malloc(t->open.n * sizeof(*e->to));
    if (e->now && e->to &&
        ka_cover_held(e->now, t, KA_COVER_IN_FORCE, linger_each(present),
                      waiting_mean(present)) == APR_SUCCESS) {
        return;
    }
    free(e->now);
    free(e->to);
    *e = (expected){0};
}

/* What was counted while it happened stands.  So does the most of each second
 * at T0, and with KeepAlive Off, where what was counted lacks short requests:
 * no instant was missed there. */
static void counted(ka_outcome *out, const ka_hist_traffic *t, const sums *s,
                    double lazy_us, double now)
{
    double us = t->window_s * 1e6, answered = out->held_mean - lazy_us / us;
    ka_held seconds = out->held;
    const ka_curve_means means = {
        .answered = answered,
        .unanswered = answered + unanswered_at(t, s, out->timeout_us) / us,
        .mean = out->held_mean,
        .now = now};

    /* Held may be a bound that nothing was counted up to. */
    if (!out->measured || out->held_mean > now * (1 + ROUNDING) ||
        !ka_curve_held_by(&out->held, &t->curve, &means)) {
        return;
    }
    if (out->timeout_us < 0 || out->held_mean >= now * (1 - ROUNDING)) {
        out->held.peak = out->timeout_us < 0
                             ? fmin(out->held.peak, seconds.peak)
                             : seconds.peak;
        out->held.p999 = fmin(out->held.p999, seconds.p999);
        out->held.p99 = fmin(out->held.p99, seconds.p99);
    }
}

static apr_status_t evaluate_at(ka_outcome *out, const ka_hist_traffic *t,
                                const ka_outcome *present, const sums *in_force,
                                const expected *e, double now_us,
                                int64_t timeout_us)
{
    sums s = sums_at(t, timeout_us);
    ka_levels_expected levels;
    double lazy_us;
    apr_status_t rv;

    lazy_us = lazy_at(t, &s, in_force, timeout_us);
    evaluate(out, t, &s, lazy_us + linger_at(t, &s, in_force, timeout_us),
             timeout_us, now_us);
    if (!(out->window_s > 0)) {
        return APR_SUCCESS;
    }
    out->held_is_bound =
        timeout_us < 0 && is_bound(t, &s, in_force, out);
    rv = ka_levels_held(&out->held, &t->open, expect_at(&levels, e, out, t),
                        present->held_mean, out->held_mean);
    counted(out, t, &s, lazy_us, present->held_mean);
    return rv ? rv
              : ka_levels_held(&out->busy, &t->busy, NULL, present->busy_mean,
                               out->busy_mean);
}

apr_status_t ka_histsweep(ka_outcome *out, const int64_t *timeouts, size_t n,
                          const ka_hist_traffic *traffic)
{
    sums in_force = sums_in_force(traffic, 0);
    double linger_us = traffic->linger_us + traffic->lazy_us;
    double now_us = warm_us(traffic, &in_force, linger_us);
    apr_status_t rv = APR_SUCCESS;
    ka_outcome present;
    expected e;
    size_t i;

    evaluate(&present, traffic, &in_force, linger_us, 0, now_us);
    expected_init(&e, traffic, &present);
    for (i = 0; i < n && !rv; i++) {
        rv = timeouts[i] < (i ? timeouts[i - 1] : KA_TIMEOUT_OFF)
                 ? APR_EINVAL
                 : evaluate_at(&out[i], traffic, &present, &in_force, &e,
                               now_us, timeouts[i]);
    }
    free(e.now);
    free(e.to);
    return rv;
}

/* ---- MaxKeepAliveRequests ----------------------------------------------- */

uint64_t ka_hist_extra_opens(const ka_hist *lengths, uint32_t max_requests,
                             uint32_t limit, uint64_t limited)
{
    double served = (double)max_requests + 1, extra = 0, longer;
    size_t i;

    if (max_requests == 0) {
        return 0;
    }
    for (i = 0; i < KA_HIST_BINS; i++) {
        double count = (double)lengths->bins[i].count;
        double mean = count > 0 ? (double)lengths->bins[i].sum / count : 0;

        if (mean > 1) {
            extra += count * floor((mean - 1) / served);
        }
    }
    longer = (double)limited;
    if (limit > 0 && max_requests > limit) {
        longer *= ((double)limit + 1) / served;
    }
    return whole(extra + longer);
}
