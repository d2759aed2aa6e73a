/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The busiest hour second by second, against counting it the slow way. */
#include "unit.h"
#include "model/outcome.h"
#include "profile/demand.h"
#include "profile/live_demand.h"

#define SECOND INT64_C(1000000)
#define INTERVALS_MAX 4000
#define SECONDS_MAX 20000
/* An hour of the clock begins here. */
#define HOUR_S (INT64_C(3600) * 480000)

static uint64_t seed;

static int64_t draw(int64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* ---- the slow way -------------------------------------------------------- */

typedef struct interval {
    int64_t from, to;
} interval;

typedef struct slow {
    interval held[INTERVALS_MAX];
    size_t held_n;
    int64_t came[INTERVALS_MAX];
    size_t came_n;
    int64_t begin, end;
    uint32_t holders[SECONDS_MAX], arrivals[SECONDS_MAX];
} slow;

static void hold(slow *s, int64_t from, int64_t to)
{
    s->held[s->held_n++] = (interval){from, to};
}

/* One chain's connections at T: each from its opening to its close. */
static void hold_chain(slow *s, const ka_trace *trace, uint32_t chain,
                       int64_t timeout_us)
{
    const int64_t wait = timeout_us > 0 ? timeout_us : 0;
    const int64_t len = trace->tails[chain].len_us;
    int64_t from = -1, last = -1;
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        if (r->chain != chain) {
            continue;
        }
        if (from < 0 || r->gap_us > timeout_us) {
            if (from >= 0) {
                hold(s, from, last + wait);
            }
            from = r->busy_from_us;
            s->came[s->came_n++] = from;
        }
        last = r->busy_to_us;
    }
    hold(s, from, last + (len > timeout_us ? wait : len));
}

static void hold_busy(slow *s, const ka_trace *trace)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        hold(s, r->busy_from_us, r->busy_to_us);
        if (r->gap_us != KA_GAP_JOINED) {
            s->came[s->came_n++] = r->busy_from_us;
        }
    }
}

static uint32_t at(const slow *s, int64_t us)
{
    uint32_t n = 0;
    size_t i;

    for (i = 0; i < s->held_n; i++) {
        n += s->held[i].from <= us && us < s->held[i].to;
    }
    return n;
}

/* The count changes only where an interval begins. */
static uint32_t most_in(const slow *s, int64_t from, int64_t to)
{
    uint32_t most;
    size_t i;

    from = from > s->begin ? from : s->begin;
    to = to < s->end ? to : s->end;
    most = from < to ? at(s, from) : 0;
    for (i = 0; i < s->held_n && from < to; i++) {
        const int64_t us = s->held[i].from;

        if (us >= from && us < to && at(s, us) > most) {
            most = at(s, us);
        }
    }
    return most;
}

static void count_slowly(slow *s)
{
    const int64_t first = s->begin / SECOND;
    int64_t second;
    size_t i;

    assert_in_range(s->end / SECOND - first, 0, SECONDS_MAX - 1);
    for (second = first; second <= s->end / SECOND; second++) {
        s->holders[second - first] =
            most_in(s, second * SECOND, (second + 1) * SECOND);
    }
    for (i = 0; i < s->came_n; i++) {
        s->arrivals[s->came[i] / SECOND - first]++;
    }
}

/* The first second of the hour with most holders, then most arrivals. */
static int64_t busiest(const slow *s)
{
    const int64_t first = s->begin / SECOND, last = s->end / SECOND;
    uint64_t most = 0;
    int64_t hour, best = -1, second;

    for (hour = first / 3600 * 3600; hour <= last; hour += 3600) {
        uint64_t sum = 0;

        for (second = hour; second < hour + 3600; second++) {
            if (second >= first && second <= last) {
                sum += ((uint64_t)s->holders[second - first] << 32) +
                       s->arrivals[second - first];
            }
        }
        if (sum > most) {
            most = sum;
            best = hour;
        }
    }
    return best;
}

static void assert_slowly(const ka_demand *is, const slow *s, int64_t settle)
{
    const int64_t first = s->begin / SECOND;
    int64_t from = busiest(s), to = from + 3600, settled = first, i;
    int64_t end = s->end / SECOND + (s->end % SECOND > 0);

    /* Nothing is left in a last second that only begins, but for who came. */
    if (s->end % SECOND == 0 && s->arrivals[s->end / SECOND - first]) {
        end++;
    }
    if (settle > 0 && 4 * settle <= s->end - s->begin) {
        settled = (s->begin + settle + SECOND - 1) / SECOND;
    }
    to = to < end ? to : end;
    from = from > first ? from : first;
    from = settled > from && settled < to ? settled : from;
    assert_int_equal(is->first_us, from * SECOND);
    assert_int_equal(is->n, to - from);
    for (i = 0; i < to - from; i++) {
        if (is->holders[i] != s->holders[from + i - first] ||
            is->arrivals[i] != s->arrivals[from + i - first]) {
            fail_msg("second %d: %u held, %u came; expected %u, %u", (int)i,
                     is->holders[i], is->arrivals[i],
                     s->holders[from + i - first],
                     s->arrivals[from + i - first]);
        }
    }
}

/* ---- random traces ------------------------------------------------------- */

/* @param grain  of all times, us */
static void make_trace(ka_trace *trace, int chains, int64_t grain,
                       int64_t pause_s)
{
    int64_t now = HOUR_S * SECOND + draw(7000) * SECOND;
    uint32_t open[50];
    int i, n = 0;

    ka_trace_init(trace);
    for (i = 0; i < 6 * chains; i++) {
        const int64_t begin = now / grain * grain;
        const int64_t end = begin + draw(4 * SECOND) / grain * grain;

        if (n < chains && (n == 0 || draw(4) == 0)) {
            open[n++] = ka_trace_open(trace, begin, end);
        }
        else {
            ka_trace_follow(trace, open[draw(n)], begin, end);
        }
        now += draw(pause_s * SECOND);
    }
    for (i = 0; i < n; i++) {
        ka_trace_tail_set(trace, open[i], draw(90 * SECOND) / grain * grain);
    }
}

static void check_trace(const ka_trace *trace, int64_t timeout_us,
                        ka_demand_kind kind, apr_pool_t *pool)
{
    static slow s;
    ka_demand demand;
    uint32_t chain;

    memset(&s, 0, sizeof(s));
    s.begin = trace->begin_us;
    s.end = trace->end_us;
    if (kind == KA_DEMAND_BUSY) {
        hold_busy(&s, trace);
    }
    for (chain = 0; kind == KA_DEMAND_HELD && chain < trace->chain_n;
         chain++) {
        hold_chain(&s, trace, chain, timeout_us);
    }
    count_slowly(&s);
    assert_true(ka_demand_of_trace(&demand, trace, timeout_us, kind, pool));
    assert_false(demand.scaled);
    assert_slowly(&demand, &s, kind == KA_DEMAND_HELD ? timeout_us : 0);
}

static void test_demand__of_a_trace_is_what_counting_gives(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 0, SECOND / 5,
                                       5 * SECOND, 60 * SECOND, 300 * SECOND};
    static const int64_t grains[] = {1, 1000, SECOND / 10, SECOND};
    size_t i, j;

    for (i = 0; i < 24; i++) {
        ka_trace trace;

        seed = i + 1;
        make_trace(&trace, 5 + (int)draw(40), grains[i % 4],
                   i % 3 ? 20 : 60);
        for (j = 0; j < sizeof(timeouts) / sizeof(timeouts[0]); j++) {
            check_trace(&trace, timeouts[j], KA_DEMAND_HELD, *state);
        }
        check_trace(&trace, 5 * SECOND, KA_DEMAND_BUSY, *state);
        ka_trace_clear(&trace);
    }
}

static void test_demand__of_nothing_is_none(void **state)
{
    ka_trace trace;
    ka_demand demand;

    ka_trace_init(&trace);
    assert_false(
        ka_demand_of_trace(&demand, &trace, SECOND, KA_DEMAND_HELD, *state));
    ka_trace_open(&trace, SECOND, SECOND);
    trace.failed = true;
    assert_false(
        ka_demand_of_trace(&demand, &trace, SECOND, KA_DEMAND_HELD, *state));
    ka_trace_clear(&trace);
}

/* One request that lasts no time: a second in which it came. */
static void test_demand__of_an_instant(void **state)
{
    ka_trace trace;
    ka_demand demand;

    ka_trace_init(&trace);
    ka_trace_open(&trace, 7 * SECOND, 7 * SECOND);
    assert_true(
        ka_demand_of_trace(&demand, &trace, SECOND, KA_DEMAND_HELD, *state));
    assert_int_equal(demand.n, 1);
    assert_int_equal(demand.first_us, 7 * SECOND);
    assert_int_equal(demand.holders[0], 0);
    assert_int_equal(demand.arrivals[0], 1);
    ka_trace_clear(&trace);
}

/* ---- the accumulator ----------------------------------------------------- */

/* Times before 1970, a holder for ten thousand years, and a busier hour after
 * it: whole hours alike are passed over. */
static void test_busiest__time_without_end(void **state)
{
    const int64_t begin = -1800 * SECOND, far = INT64_C(1) << 58;
    ka_busiest b;
    ka_demand demand;

    (void)state;
    ka_busiest_init(&b, begin, 0);
    ka_busiest_come(&b, 1);
    ka_busiest_hold(&b, far, 1);
    ka_busiest_come(&b, 1);
    ka_busiest_hold(&b, far + 2 * SECOND, 2);
    ka_busiest_end(&b, far + 10 * SECOND, 0);
    assert_true(ka_busiest_demand(&demand, &b));
    assert_int_equal(demand.n, KA_DEMAND_SECONDS);
    /* The two of that instant make its hour the busiest, unless it ends. */
    assert_in_range(demand.first_us, 0, 0);
    assert_int_equal(demand.holders[0], 1);
    assert_int_equal(demand.arrivals[0], 0);
    ka_busiest_clear(&b);
}

/* What an hour held before does not show in one that is kept later. */
static void test_busiest__hours_do_not_mix(void **state)
{
    ka_busiest b;
    ka_demand demand;
    int64_t hour;
    size_t i;

    (void)state;
    ka_busiest_init(&b, 0, 0);
    for (hour = 0; hour < 6; hour++) {
        const int64_t from = hour * 3600 * SECOND;

        ka_busiest_hold(&b, from + 100 * SECOND, 0);
        ka_busiest_come(&b, 7);
        ka_busiest_hold(&b, from + (110 + hour % 4) * SECOND, 7);
    }
    ka_busiest_end(&b, 6 * 3600 * SECOND, 0);
    assert_true(ka_busiest_demand(&demand, &b));
    assert_int_equal(demand.first_us, 3 * 3600 * SECOND);
    for (i = 0; i < demand.n; i++) {
        const bool in = i >= 100 && i < 113;

        assert_int_equal(demand.holders[i], in ? 7 : 0);
        assert_int_equal(demand.arrivals[i], i == 100 ? 7 : 0);
    }
    ka_busiest_clear(&b);
}

/* ---- arithmetic ---------------------------------------------------------- */

static void test_demand__factors(void **state)
{
    static const uint32_t from[] = {1, 1, 1, 1, 0, 3, UINT32_MAX};
    static const uint32_t raised[] = {2, 2, 2, 2, 0, 4, UINT32_MAX};
    static const uint32_t spread[] = {1, 2, 1, 1, 0, 4};
    uint32_t to[7];

    (void)state;
    ka_demand_raise(to, from, 7, 1.25);
    assert_memory_equal(to, raised, sizeof(raised));
    ka_demand_spread(to, from, 6, 1.25);
    assert_memory_equal(to, spread, sizeof(spread));
    ka_demand_raise(to, from, 7, 1);
    assert_memory_equal(to, from, sizeof(from));
    ka_demand_spread(to, from, 7, 1);
    assert_memory_equal(to, from, sizeof(from));
}

/* ---- segments ------------------------------------------------------------ */

static const ka_second history[] = {
    {.at = HOUR_S * SECOND, .requests = 9, .connections = 4, .open = 6,
     .busy = 2, .idle = 5},
    {.at = (HOUR_S + 1) * SECOND, .requests = 1, .connections = 2, .open = 8,
     .busy = 1, .idle = 7},
    {.at = (HOUR_S + 2) * SECOND, .requests = 0, .connections = 0, .open = 7,
     .busy = 0, .idle = 7}};

static ka_demand live_demand(int64_t timeout_us, ka_demand_kind kind,
                             apr_pool_t *pool)
{
    ka_live live = {.history = (ka_second *)history, .history_n = 3};
    const ka_outcome now = {.timeout_us = 5 * SECOND,
                            .idle_mean = 4,
                            .connections = 600};
    const ka_outcome to = {.timeout_us = timeout_us,
                           .idle_mean = timeout_us == 5 * SECOND ? 4 : 10,
                           .connections =
                               timeout_us == 5 * SECOND ? 600 : 400};
    ka_demand demand;

    assert_true(ka_live_demand(&demand, &live, &now, &to, kind, pool));
    assert_int_equal(demand.n, 3);
    assert_int_equal(demand.first_us, HOUR_S * SECOND);
    return demand;
}

static void assert_series(const ka_demand *is, const uint32_t *holders,
                          const uint32_t *arrivals)
{
    assert_memory_equal(is->holders, holders, 3 * sizeof(*holders));
    assert_memory_equal(is->arrivals, arrivals, 3 * sizeof(*arrivals));
}

static void test_live_demand__is_measured_at_the_present_timeout(void **state)
{
    ka_demand demand = live_demand(5 * SECOND, KA_DEMAND_HELD, *state);

    assert_false(demand.scaled);
    assert_series(&demand, (uint32_t[]){6, 8, 7}, (uint32_t[]){4, 2, 0});
}

/* Idle x 2.5, connections x 2/3. */
static void test_live_demand__is_scaled_at_others(void **state)
{
    ka_demand demand = live_demand(20 * SECOND, KA_DEMAND_HELD, *state);

    assert_true(demand.scaled);
    assert_series(&demand, (uint32_t[]){12, 19, 18}, (uint32_t[]){3, 1, 0});
}

static void test_live_demand__busy_is_the_same_at_all(void **state)
{
    ka_demand demand = live_demand(20 * SECOND, KA_DEMAND_BUSY, *state);

    assert_false(demand.scaled);
    assert_series(&demand, (uint32_t[]){2, 1, 0}, (uint32_t[]){9, 1, 0});
}

static void test_live_demand__without_history_is_none(void **state)
{
    ka_live live = {.history = (ka_second *)history};
    const ka_outcome off = {.timeout_us = KA_TIMEOUT_OFF, .connections = 1};
    const ka_outcome on = {.timeout_us = SECOND, .idle_mean = 1};
    ka_demand demand;

    assert_false(
        ka_live_demand(&demand, &live, &on, &on, KA_DEMAND_HELD, *state));
    live.history_n = 3;
    live.narrowed = true;
    assert_false(
        ka_live_demand(&demand, &live, &on, &on, KA_DEMAND_HELD, *state));
    /* With KeepAlive Off nothing was idle: there is no scale. */
    live.narrowed = false;
    assert_false(
        ka_live_demand(&demand, &live, &off, &on, KA_DEMAND_HELD, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_demand__of_a_trace_is_what_counting_gives),
        unit_test(test_demand__of_nothing_is_none),
        unit_test(test_demand__of_an_instant),
        unit_test(test_busiest__time_without_end),
        unit_test(test_busiest__hours_do_not_mix),
        unit_test(test_demand__factors),
        unit_test(test_live_demand__is_measured_at_the_present_timeout),
        unit_test(test_live_demand__is_scaled_at_others),
        unit_test(test_live_demand__busy_is_the_same_at_all),
        unit_test(test_live_demand__without_history_is_none)};

    return unit_main(tests);
}
