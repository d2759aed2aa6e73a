/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Merging: random tallies, random trees. */
#include "unit.h"
#include "tallies.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define SEC INT64_C(1000000)

static ka_tally *empty_tally(apr_pool_t *pool)
{
    return ka_tally_make(NULL, 0, pool);
}

/* One that is not empty, under a T0, for a while. */
static ka_tally *part_of(int64_t timeout_us, uint64_t window_us,
                         apr_pool_t *pool)
{
    ka_tally *tally = empty_tally(pool);

    tally->timeout_us = timeout_us;
    tally->window_us = window_us;
    tally->requests = 1;
    return tally;
}

/* Adds `from`, and frees it. */
static void take(ka_tally *into, ka_tally *from)
{
    ka_tally_merge(into, from);
    ka_tally_free(from);
}

/* ---- properties --------------------------------------------------------- */

#define PARTS 6

/* Parts are made anew from their seeds: merging moves nothing out of them. */
static ka_tally *tree(const uint64_t *seeds, size_t n, uint64_t *shape,
                      apr_pool_t *pool)
{
    uint64_t seed = seeds[0];
    ka_tally *left, *right;
    size_t cut;

    if (n == 1) {
        return random_tally(&seed, pool);
    }
    cut = 1 + random_below(shape, n - 1);
    left = tree(seeds, cut, shape, pool);
    right = tree(seeds + cut, n - cut, shape, pool);
    if (random_below(shape, 2)) {
        take(left, right);
        return left;
    }
    take(right, left);
    return right;
}

static void shuffle(uint64_t *seeds, size_t n, uint64_t *shape)
{
    size_t i;

    for (i = n; i > 1; i--) {
        size_t other = random_below(shape, i);
        uint64_t seed = seeds[i - 1];

        seeds[i - 1] = seeds[other];
        seeds[other] = seed;
    }
}

static void test_tally_merge__any_tree_gives_the_same(void **state)
{
    uint64_t shape = 20261130;
    int round, again;

    for (round = 0; round < 40; round++) {
        uint64_t seeds[PARTS];
        ka_tally *first, *other;
        size_t i, n = 2 + random_below(&shape, PARTS - 1);

        for (i = 0; i < n; i++) {
            seeds[i] = 1 + random_below(&shape, INT64_MAX);
        }
        first = tree(seeds, n, &shape, *state);
        for (again = 0; again < 3; again++) {
            shuffle(seeds, n, &shape);
            other = tree(seeds, n, &shape, *state);
            assert_same_tally(first, other);
            ka_tally_free(other);
        }
        ka_tally_free(first);
    }
}

static void test_tally_merge__empty_ones_change_nothing(void **state)
{
    uint64_t round;

    for (round = 1; round < 30; round++) {
        uint64_t seed = round, again = round;
        ka_tally *a = random_tally(&seed, *state);
        ka_tally *b = random_tally(&again, *state);
        ka_tally *none = empty_tally(*state);

        if (ka_tally_is_empty(a)) {
            none->timeout_n = a->timeout_n;
            memcpy(none->timeouts, a->timeouts, sizeof(a->timeouts));
        }
        take(a, empty_tally(*state));
        assert_same_tally(a, b);
        ka_tally_merge(none, b);
        assert_same_tally(none, b);
        ka_tally_free(a);
        ka_tally_free(b);
        ka_tally_free(none);
    }
}

/* Names are copied: the other's pool may go. */
static void test_tally_merge__owns_its_names(void **state)
{
    ka_tally *into = empty_tally(*state), *from;
    apr_pool_t *pool;
    char name[] = "web1", origin[] = "option --mpm";

    apr_pool_create(&pool, *state);
    from = part_of(SEC, 1, pool);
    ka_server_set(&ka_tally_server_at(from, name)->facts, KA_FACT_ID_MPM, 1,
                  false, apr_pstrdup(pool, origin));
    ka_tally_vhost(from, "a.example")->requests = 3;
    memset(name, 'x', sizeof(name) - 1);
    take(into, from);
    apr_pool_destroy(pool);
    assert_string_equal(into->servers[0].name, "web1");
    assert_string_equal(into->servers[0].facts.facts[KA_FACT_ID_MPM].origin,
                        origin);
    assert_string_equal(into->vhosts[0]->name, "a.example");
    ka_tally_free(into);
}

/* ---- timeouts and T0 ---------------------------------------------------- */

static void test_tally_merge__common_timeouts_stay(void **state)
{
    static const int64_t a[] = {KA_TIMEOUT_OFF, SEC, 2 * SEC, 5 * SEC};
    static const int64_t b[] = {SEC, 3 * SEC, 5 * SEC, 9 * SEC};
    ka_tally *x = ka_tally_make(a, COUNT_OF(a), *state);
    ka_tally *y = ka_tally_make(b, COUNT_OF(b), *state);
    ka_tally_side *side = &x->side[0];
    size_t i;

    x->requests = y->requests = 1;
    for (i = 0; i < 4; i++) {
        side->timeouts[i].connections = 10 + i;
        y->side[0].timeouts[i].connections = 100 * (1 + i);
        ka_occupancy_add(&side->timeouts[i].held, i, 5, 0, 0, true);
    }
    take(x, y);
    assert_int_equal(x->timeout_n, 2);
    assert_int_equal(x->timeouts[0], SEC);
    assert_int_equal(x->timeouts[1], 5 * SEC);
    assert_int_equal(side->timeouts[0].connections, 111);
    assert_int_equal(side->timeouts[1].connections, 313);
    assert_int_equal(side->timeouts[1].held.peak, 3);
    assert_null(side->timeouts[3].held.bins);
    ka_tally_free(x);
}

static void test_tally_merge__most_server_time_has_t0(void **state)
{
    static const struct {
        int64_t timeouts[3];
        uint64_t windows[3];
        int64_t expected;
        bool differ;
    } cases[] = {
        {{5 * SEC, 5 * SEC, 5 * SEC}, {1, 2, 3}, 5 * SEC, false},
        {{5 * SEC, 9 * SEC, 5 * SEC}, {2, 3, 2}, 5 * SEC, true},
        {{5 * SEC, 9 * SEC, 5 * SEC}, {1, 3, 1}, 9 * SEC, true},
        {{9 * SEC, 5 * SEC, KA_TIMEOUT_OFF}, {4, 4, 4}, KA_TIMEOUT_OFF, true},
        {{9 * SEC, 5 * SEC, 9 * SEC}, {0, 0, 0}, 5 * SEC, true},
    };
    size_t i, k;

    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_tally *all = empty_tally(*state);

        for (k = 0; k < 3; k++) {
            take(all,
                 part_of(cases[i].timeouts[k], cases[i].windows[k], *state));
        }
        assert_int_equal(all->timeout_us, cases[i].expected);
        assert_int_equal(all->timeouts_differ, cases[i].differ);
        ka_tally_free(all);
    }
}

static void test_tally_merge__one_side_stands_for_both(void **state)
{
    ka_tally *plain = part_of(SEC, 1, *state),
             *bracket = part_of(SEC, 1, *state);
    ka_tally *all = empty_tally(*state);

    plain->side[0].chains = 5;
    ka_hist_add(&plain->side[0].gap, 7);
    bracket->bracket = true;
    bracket->side[0].chains = 10;
    bracket->side[1].chains = 60;
    ka_tally_merge(all, plain);
    assert_int_equal(all->side[1].chains, 0);
    take(all, bracket);
    ka_tally_merge(all, plain);
    assert_true(all->bracket);
    assert_int_equal(all->side[0].chains, 20);
    assert_int_equal(all->side[1].chains, 70);
    assert_int_equal(ka_hist_count(&all->side[1].gap), 2);
    ka_tally_free(plain);
    ka_tally_free(all);
}

static void test_tally_merge__identity_is_the_weakest(void **state)
{
    static const struct {
        ka_identity a, b, both;
    } cases[] = {
        {KA_IDENTITY_NONE, KA_IDENTITY_PORT, KA_IDENTITY_PORT},
        {KA_IDENTITY_SLOT, KA_IDENTITY_PORT, KA_IDENTITY_SLOT},
        {KA_IDENTITY_K, KA_IDENTITY_TIME, KA_IDENTITY_TIME},
        {KA_IDENTITY_LIVE, KA_IDENTITY_TIME, KA_IDENTITY_TIME},
    };
    size_t i;

    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_tally *a = part_of(SEC, 1, *state), *b = part_of(SEC, 1, *state);

        a->identity = cases[i].a;
        b->identity = cases[i].b;
        ka_tally_merge(a, b);
        assert_int_equal(a->identity, cases[i].both);
        ka_tally_free(a);
        ka_tally_free(b);
    }
}

/* ---- facts -------------------------------------------------------------- */

static ka_tally *knows(int64_t value, bool assumed, apr_pool_t *pool)
{
    ka_tally *tally = part_of(SEC, 1, pool);
    ka_server *facts = &ka_tally_server_at(tally, "web1")->facts;

    if (value >= 0) {
        ka_server_set(facts, KA_FACT_TIMEOUT, value, assumed,
                      assumed ? "assumed" : "told");
    }
    return tally;
}

static void test_tally_merge__facts_that_differ_are_unknown(void **state)
{
    static const struct {
        int64_t values[3]; /* -1: not known */
        bool assumed[3];
        int64_t expected; /* -1: not known */
        bool differs, expected_assumed;
    } cases[] = {
        {{-1, -1, -1}, {0, 0, 0}, -1, false, false},
        {{-1, 5, -1}, {0, 0, 0}, 5, false, false},
        {{5, 5, -1}, {1, 0, 0}, 5, false, false},
        {{5, 5, 5}, {1, 1, 1}, 5, false, true},
        {{5, 6, 5}, {0, 0, 0}, -1, true, false},
        {{5, 6, -1}, {0, 1, 0}, -1, true, false},
    };
    size_t i, k;

    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_tally *all = empty_tally(*state);
        const ka_fact *fact;

        for (k = 0; k < 3; k++) {
            take(all, knows(cases[i].values[k], cases[i].assumed[k], *state));
        }
        fact = &all->servers[0].facts.facts[KA_FACT_TIMEOUT];
        assert_int_equal(all->server_n, 1);
        assert_int_equal(fact->known, cases[i].expected >= 0);
        assert_int_equal(all->servers[0].differs[KA_FACT_TIMEOUT],
                         cases[i].differs);
        if (fact->known) {
            assert_int_equal(fact->value, cases[i].expected);
            assert_int_equal(fact->assumed, cases[i].expected_assumed);
            assert_string_equal(fact->origin,
                                fact->assumed ? "assumed" : "told");
        }
        ka_tally_free(all);
    }
}

static void test_tally_merge__spans_of_idle_servers_do_not_count(void **state)
{
    ka_tally *idle = knows(5, false, *state), *busy = knows(5, false, *state);
    ka_tally *all = empty_tally(*state);

    busy->servers[0].first_us = 100;
    busy->servers[0].last_us = 300;
    busy->servers[0].window_us = 200;
    ka_tally_merge(all, idle);
    ka_tally_merge(all, busy);
    ka_tally_merge(all, idle);
    assert_int_equal(all->servers[0].first_us, 100);
    assert_int_equal(all->servers[0].last_us, 300);
    assert_int_equal(all->servers[0].window_us, 200);
    ka_tally_free(idle);
    ka_tally_free(busy);
    ka_tally_free(all);
}

/* ---- vhosts and servers ------------------------------------------------- */

static void test_tally_vhost__beyond_its_room_is_other(void **state)
{
    ka_tally *tally = empty_tally(*state);
    ka_tally_traffic *first = ka_tally_vhost(tally, "v0"), *other;
    char name[16];
    int i;

    for (i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        ka_tally_vhost(tally, name)->requests++;
    }
    assert_int_equal(tally->vhost_n, KA_TALLY_VHOSTS);
    assert_ptr_equal(ka_tally_vhost(tally, "v0"), first);
    other = ka_tally_vhost(tally, KA_TALLY_OTHER);
    assert_int_equal(other->requests, 1000 - (KA_TALLY_VHOSTS - 1));
    for (i = 1; i < KA_TALLY_VHOSTS; i++) {
        assert_true(strcmp(tally->vhosts[i - 1]->name, tally->vhosts[i]->name) <
                    0);
    }
    assert_ptr_not_equal(ka_tally_vhost_at(tally, "v999"), other);
    ka_tally_free(tally);
}

static ka_tally *with_vhosts(int from, int to, apr_pool_t *pool)
{
    ka_tally *tally = part_of(SEC, 1, pool);
    char name[16];
    int i;

    for (i = from; i < to; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        ka_tally_vhost_at(tally, name)->requests = 1 + (uint64_t)i % 7;
    }
    return tally;
}

/* Ranges that overlap, in two orders: the same ones are kept, and whole. */
static void test_tally_merge__too_many_vhosts_in_any_order(void **state)
{
    enum { ALL = KA_TALLY_VHOSTS_MERGED };
    static uint64_t requests[ALL];
    static char names[ALL][16];
    ka_tally *tally = with_vhosts(0, ALL - 10, *state);
    size_t i;

    take(tally, with_vhosts(ALL - 20, ALL + 200, *state));
    take(tally, with_vhosts(ALL + 100, ALL + 300, *state));
    assert_int_equal(tally->vhost_n, ALL);
    for (i = 0; i < ALL; i++) {
        requests[i] = tally->vhosts[i]->requests;
        snprintf(names[i], sizeof(names[i]), "%s", tally->vhosts[i]->name);
    }
    ka_tally_free(tally);
    tally = with_vhosts(ALL + 100, ALL + 300, *state);
    take(tally, with_vhosts(0, ALL - 10, *state));
    take(tally, with_vhosts(ALL - 20, ALL + 200, *state));
    assert_int_equal(tally->vhost_n, ALL);
    for (i = 0; i < ALL; i++) {
        assert_string_equal(tally->vhosts[i]->name, names[i]);
        assert_int_equal(tally->vhosts[i]->requests, requests[i]);
    }
    ka_tally_free(tally);
}

static void test_tally_server__is_found_again(void **state)
{
    static const char *const names[] = {"m", "", "z", "a", "m", "b", "z"};
    static const char *const sorted[] = {"", "a", "b", "m", "z"};
    ka_tally *tally = empty_tally(*state);
    size_t i;

    assert_true(ka_tally_is_empty(tally));
    for (i = 0; i < COUNT_OF(names); i++) {
        ka_tally_server_at(tally, names[i])->window_us++;
    }
    assert_false(ka_tally_is_empty(tally));
    assert_int_equal(tally->server_n, COUNT_OF(sorted));
    for (i = 0; i < COUNT_OF(sorted); i++) {
        assert_string_equal(tally->servers[i].name, sorted[i]);
    }
    assert_int_equal(ka_tally_server_at(tally, "m")->window_us, 2);
    ka_tally_free(tally);
}

static void test_tally_free__takes_null(void **state)
{
    (void)state;
    ka_tally_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_tally_merge__any_tree_gives_the_same),
        unit_test(test_tally_merge__empty_ones_change_nothing),
        unit_test(test_tally_merge__owns_its_names),
        unit_test(test_tally_merge__common_timeouts_stay),
        unit_test(test_tally_merge__most_server_time_has_t0),
        unit_test(test_tally_merge__one_side_stands_for_both),
        unit_test(test_tally_merge__identity_is_the_weakest),
        unit_test(test_tally_merge__facts_that_differ_are_unknown),
        unit_test(test_tally_merge__spans_of_idle_servers_do_not_count),
        unit_test(test_tally_vhost__beyond_its_room_is_other),
        unit_test(test_tally_merge__too_many_vhosts_in_any_order),
        unit_test(test_tally_server__is_found_again),
        unit_test(test_tally_free__takes_null),
    };

    return unit_main(tests);
}
