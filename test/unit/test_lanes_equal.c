/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Lanes count what grouping, profile and sweep find on the same requests:
 * MODEL 7.1 to 7.4, [M4] [M5] [M8] [M11]. */
#include "unit.h"
#include "lanes_both.h"

/* Looked at once a tick: some of 1,500 requests' ends lie within one. */
static void assert_nearly_held(const ka_held *is, const ka_held *of)
{
    assert_near(is->mean, of->mean, 0.01 + 0.002 * of->mean);
    assert_near(is->p99, of->p99, 1.5 + bin_of(of->p99));
    assert_near(is->peak, of->peak, 3 + 0.01 * of->peak);
}

static void assert_side(const both *b, bool high, bool exact)
{
    const ka_outcome *of = high ? b->high : b->low;
    ka_outcome is[64];
    size_t j;

    assert_int_equal(ka_tally_outcomes(is, b->timeouts, b->n, b->tally, high,
                                       5000000),
                     APR_SUCCESS);
    for (j = 0; j < b->n; j++) {
        assert_int_equal(is[j].requests, of[j].requests);
        assert_int_equal(is[j].connections, of[j].connections);
        assert_int_equal(is[j].timeout_closes, of[j].timeout_closes);
        assert_int_equal(is[j].idle_us, of[j].idle_us);
        assert_int_equal(is[j].busy_us, of[j].busy_us);
        (exact ? assert_held : assert_nearly_held)(&is[j].held, &of[j].held);
        (exact ? assert_held : assert_nearly_held)(&is[j].busy, &of[j].busy);
    }
}

/* Of lanes that ended at the same time either may be taken: then a gap may
 * belong to another class.  And where the sides change their roles in the end,
 * the gaps are those of the other side. */
static void forget_gaps(ka_traffic *is, const ka_traffic *of)
{
    is->gap = of->gap;
}

static void assert_profile(both *b, bool ties, apr_pool_t *pool)
{
    const ka_profile *of = &b->profile;
    ka_tally *t = b->tally;
    ka_tally_server *server = ka_tally_server_at(t, "");
    ka_profile is;
    size_t i;

    server->first_us = of->first_us;
    server->last_us = of->last_us;
    server->window_us = t->window_us;
    ka_tally_profile(&is, t, pool);
    assert_near(is.window_s, of->window_s, 1e-9);
    if (of->bracket) {
        forget_gaps(&is.total, &of->total);
    }
    assert_traffic(&is.total, &of->total);
    for (i = 0; i < KA_CLASS_N && ties; i++) {
        forget_gaps(&is.classes[i], &of->classes[i]);
    }
    for (i = 0; i < is.vhost_n && ties; i++) {
        forget_gaps(&is.vhosts[i], &of->vhosts[i]);
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_traffic(&is.classes[i], &of->classes[i]);
    }
    assert_int_equal(is.vhost_n, of->vhost_n);
    for (i = 0; i < of->vhost_n; i++) {
        assert_traffic(&is.vhosts[i], &of->vhosts[i]);
    }
    assert_int_equal(is.addresses, of->addresses);
    assert_int_equal(is.low.clients, of->low.clients);
    assert_int_equal(is.final, of->final);
    assert_int_equal(is.bracket, of->bracket);
    assert_dist(&is.low.requests_per_connection,
                &of->low.requests_per_connection);
    assert_dist(&is.high.requests_per_connection,
                &of->high.requests_per_connection);
}

/* ---- equality ------------------------------------------------------------ */

static void run_kind(const kind *k, uint64_t of_seed, int64_t known_us,
                     apr_pool_t *pool)
{
    const bool exact = k->grain_us > 1; /* all times are at ticks */
    both *b = make_log(k, of_seed, known_us);
    int64_t timeout_us;

    timeout_us = group_all(b, pool);
    assert_int_equal(b->connections.identity, k->identity);
    lanes_all(b, b->q.n, timeout_us, KA_LANES_MAX, pool);
    assert_int_equal(b->tally->bracket, b->connections.bracket);
    assert_side(b, false, exact);
    if (b->tally->bracket) {
        assert_side(b, true, exact);
    }
    if (exact) {
        assert_demands(b, pool);
    }
    assert_profile(b,
                   k->identity == KA_IDENTITY_K ||
                       k->identity == KA_IDENTITY_TIME,
                   pool);
    assert_int_equal(b->tally->forgotten, 0);
    both_free(b);
}

static void test_lanes__equal_grouping_and_sweep(void **state)
{
    static const double timeouts_s[] = {5, 15, 1, 60, 0, 300, 2.5, -1};
    size_t i, s;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (s = 1; s <= 24; s++) {
            run_kind(&kinds[i], s, seconds_us(timeouts_s[s % 8]), *state);
        }
    }
}

/* The first requests decide as all of them would; the others are unseen. */
static void test_lanes__need_the_first_requests_only(void **state)
{
    static const size_t which[] = {0, 1, 4, 6};
    size_t i;

    for (i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
        const kind *k = &kinds[which[i]];
        both *b = make_log(k, 99, seconds_us(5));

        group_all(b, *state);
        lanes_all(b, 400, seconds_us(5), KA_LANES_MAX, *state);
        assert_side(b, false, true);
        both_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_lanes__equal_grouping_and_sweep),
        unit_test(test_lanes__need_the_first_requests_only),
    };

    return unit_main(tests);
}
