/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "demand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#define SECOND_US INT64_C(1000000)

/* ---- time ---------------------------------------------------------------- */

static int64_t second_of(int64_t us)
{
    return us / SECOND_US - (us % SECOND_US < 0);
}

static int64_t hour_of(int64_t second)
{
    int64_t in_hour = second % KA_DEMAND_SECONDS;

    return second - (in_hour < 0 ? in_hour + KA_DEMAND_SECONDS : in_hour);
}

static uint32_t limited(uint64_t count)
{
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* ---- the busiest hour ---------------------------------------------------- */

void ka_busiest_init(ka_busiest *b, int64_t begin_us, int64_t settle_us)
{
    *b = (ka_busiest){.begin_us = begin_us,
                      .settle_us = settle_us,
                      .now_us = begin_us,
                      .second = second_of(begin_us)};
    b->hour_s = hour_of(b->second);
}

void ka_busiest_clear(ka_busiest *b)
{
    free(b->hour);
    free(b->best);
    memset(b, 0, sizeof(*b));
}

static bool is_busier(const ka_busiest *b)
{
    return b->sums[0] > b->best_sums[0] ||
           (b->sums[0] == b->best_sums[0] && b->sums[1] > b->best_sums[1]);
}

static void next_hour(ka_busiest *b, int64_t second)
{
    if (is_busier(b)) {
        uint32_t *swapped = b->best;

        b->best = b->hour;
        b->hour = swapped;
        b->best_s = b->hour_s;
        memcpy(b->best_sums, b->sums, sizeof(b->sums));
    }
    b->sums[0] = b->sums[1] = 0;
    b->hour_s = hour_of(second);
}

/* Seconds without anybody need no memory as long as nobody came. */
static bool has_room(ka_busiest *b, bool wanted)
{
    if (!b->hour && wanted && !b->failed) {
        b->hour = calloc((size_t)2 * KA_DEMAND_SECONDS, sizeof(*b->hour));
        b->failed = !b->hour;
    }
    return b->hour != NULL;
}

/* Every second of an hour is put, in order, so that nothing is left in it of
 * an hour before. */
static void put(ka_busiest *b, int64_t second, uint64_t most, uint64_t came)
{
    size_t at;

    if (second - b->hour_s >= KA_DEMAND_SECONDS) {
        next_hour(b, second);
    }
    b->sums[0] += most;
    b->sums[1] += came;
    if (has_room(b, most || came)) {
        at = (size_t)(second - b->hour_s);
        b->hour[at] = limited(most);
        b->hour[KA_DEMAND_SECONDS + at] = limited(came);
    }
}

/* As many holders all the time.  Of whole hours alike only the first can be
 * the busiest one: a log may span centuries. */
static void put_alike(ka_busiest *b, int64_t from, int64_t to, uint64_t count)
{
    const int64_t whole = hour_of(from + KA_DEMAND_SECONDS - 1);
    const int64_t skip = whole + KA_DEMAND_SECONDS;
    const int64_t resume = hour_of(to);

    for (; from < to; from++) {
        if (from == skip && resume > skip) {
            from = resume;
            if (from == to) {
                break;
            }
        }
        put(b, from, count, 0);
    }
}

void ka_busiest_move(ka_busiest *b, int64_t to_us, uint64_t count)
{
    const int64_t second = second_of(to_us);

    b->most = count > b->most ? count : b->most;
    if (second > b->second) {
        put(b, b->second, b->most, b->came);
        put_alike(b, b->second + 1, second, count);
        b->second = second;
        b->most = to_us > second * SECOND_US ? count : 0;
        b->came = 0;
    }
    b->now_us = to_us;
}

void ka_busiest_end(ka_busiest *b, int64_t end_us, uint64_t count)
{
    ka_busiest_hold(b, end_us, count);
    b->end_s = b->second;
    if (b->now_us > b->second * SECOND_US || b->came) {
        put(b, b->second, b->most, b->came);
        b->end_s++;
    }
    next_hour(b, b->second);
    if (b->settle_us > 0 && b->settle_us <= (b->now_us - b->begin_us) / 4) {
        b->begin_us += b->settle_us;
    }
}

bool ka_busiest_demand(ka_demand *out, const ka_busiest *b)
{
    const int64_t settled = second_of(b->begin_us + SECOND_US - 1);
    int64_t from = b->best_s, to = from + KA_DEMAND_SECONDS;

    if (b->failed || !b->best) {
        return false;
    }
    to = to < b->end_s ? to : b->end_s;
    from = settled > from && settled < to ? settled : from;
    *out = (ka_demand){.holders = b->best + (from - b->best_s),
                       .arrivals =
                           b->best + KA_DEMAND_SECONDS + (from - b->best_s),
                       .n = (size_t)(to - from),
                       .first_us = from * SECOND_US};
    return true;
}

void ka_demand_keep(ka_demand *demand, apr_pool_t *pool)
{
    const size_t size = demand->n * sizeof(*demand->holders);

    demand->holders = apr_pmemdup(pool, demand->holders, size);
    demand->arrivals = apr_pmemdup(pool, demand->arrivals, size);
}

/* ---- arithmetic ---------------------------------------------------------- */

void ka_demand_raise(uint32_t *to, const uint32_t *from, size_t n,
                     double factor)
{
    size_t i;

    for (i = 0; i < n; i++) {
        to[i] = (uint32_t)fmin(ceil(from[i] * factor), UINT32_MAX);
    }
}

void ka_demand_spread(uint32_t *to, const uint32_t *from, size_t n,
                      double factor)
{
    double sum = 0, given = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        double now;

        sum += from[i] * factor;
        now = fmin(floor(sum + 0.5) - given, UINT32_MAX);
        to[i] = (uint32_t)now;
        given += now;
    }
}
