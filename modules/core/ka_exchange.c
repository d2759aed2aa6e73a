/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_exchange.h"

/* Gaps at T are looked for in the last quarter of the wait: near enough to T,
 * and wide enough to hold some. */
#define NEAR_PART 4

static uint64_t bins_count(const ka_hist *h, size_t first, size_t end)
{
    uint64_t n = 0;
    size_t i;

    for (i = first; i < end; i++) {
        n += h->bins[i].count;
    }
    return n;
}

/* Gaps per second of gap just below T.  Whole bins, so that the count is
 * exact; T's own bin has none above T, whatever its upper edge is. */
static double gaps_near(const ka_hist *gap, uint64_t timeout_us)
{
    size_t first = ka_hist_bin_index(timeout_us - timeout_us / NEAR_PART);
    size_t end = ka_hist_bin_index(timeout_us) + 1;
    uint64_t low = ka_hist_bin_low(first);

    if (timeout_us <= low) {
        return 0;
    }
    return (double)bins_count(gap, first, end) /
           ((double)(timeout_us - low) / 1e6);
}

void ka_exchange_add(ka_exchange *out, const ka_stats *stats,
                     int64_t timeout_us, double window_s)
{
    unsigned i;

    if (timeout_us <= 0 || !(window_s > 0)) {
        return;
    }
    out->held += (double)stats->counter[KA_COUNTER_CLOSE +
                                        KA_REASON_IDLE_TIMEOUT] / window_s;
    for (i = 0; i < KA_SERVED_N; i++) {
        out->saved += gaps_near(&stats->quantity[KA_QUANTITY_GAP + i],
                                (uint64_t)timeout_us) / window_s;
    }
}

void ka_waits_read(ka_waits *out, const ka_stats *stats, double window_s)
{
    ka_stats_classes(&out->gap, stats, KA_QUANTITY_GAP);
    ka_stats_classes(&out->tail, stats, KA_QUANTITY_TAIL);
    out->requests = ka_stats_requests(stats);
    out->reused = ka_stats_reused(stats);
    out->connections = ka_stats_closed(stats) + stats->open;
    out->window_s = window_s;
}

ka_shorter ka_waits_try(const ka_waits *waits, int64_t timeout_us)
{
    uint64_t t = timeout_us > 0 ? (uint64_t)timeout_us : 0;
    double cut = ka_hist_count_above(&waits->gap, t);
    double idle = ka_hist_sum_capped(&waits->gap, t) +
                  ka_hist_sum_capped(&waits->tail, t);

    if (waits->requests == 0 || !(waits->window_s > 0)) {
        return (ka_shorter){0};
    }
    if (timeout_us == INT64_MAX) {
        cut = 0;
        idle = (double)ka_hist_sum(&waits->gap) +
               (double)ka_hist_sum(&waits->tail);
    }
    return (ka_shorter){
        .idle = idle / 1e6 / waits->window_s,
        .opened = ((double)waits->connections + cut) / waits->window_s,
        .reused = ((double)waits->reused - cut) / (double)waits->requests};
}
