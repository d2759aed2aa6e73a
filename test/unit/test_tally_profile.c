/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What test_tally_trace.c cannot see: several servers, many vhosts. */
#include "unit.h"
#include "tallies.h"

#define SEC INT64_C(1000000)

static ka_profile profile;

/* `filled` seconds with 8 requests each, within a window. */
static ka_tally *server_of(const char *name, int64_t first_us, int64_t last_us,
                           uint64_t filled, apr_pool_t *pool)
{
    ka_tally *tally = ka_tally_make(NULL, 0, pool);
    ka_tally_server *server = ka_tally_server_at(tally, name);
    uint64_t i;

    server->first_us = first_us;
    server->last_us = last_us;
    server->window_us = tally->window_us = (uint64_t)(last_us - first_us);
    tally->requests = tally->classes[0].requests = 8 * filled;
    for (i = 0; i < filled; i++) {
        ka_tally_second(&tally->per_second, &tally->peak_per_second, 8);
        ka_tally_second(&tally->classes[0].per_second,
                        &tally->classes[0].peak_per_second, 8);
    }
    return tally;
}

static void test_tally_profile__rates_are_those_of_one_server(void **state)
{
    ka_tally *a = server_of("a", 0, 100 * SEC, 50, *state);
    ka_tally *b = server_of("b", 0, 300 * SEC, 50, *state);

    ka_tally_merge(a, b);
    ka_tally_profile(&profile, a, *state);
    assert_near(profile.window_s, 400, 1e-9);
    assert_near(profile.total.requests_per_s, 2, 1e-9);
    assert_near(profile.classes[0].requests_per_s, 2, 1e-9);
    assert_near(profile.total.peak_per_s, 8, 0);
    assert_int_equal(profile.first_us, 0);
    assert_int_equal(profile.last_us, 300 * SEC);
    ka_tally_free(a);
    ka_tally_free(b);
}

/* 101 seconds of the clock, of which one has requests: not 1 %. */
static void test_tally_profile__idle_seconds_count(void **state)
{
    ka_tally *tally = server_of("a", 0, 100 * SEC, 1, *state);
    ka_tally *idle = server_of("b", 0, 0, 0, *state);

    ka_tally_profile(&profile, tally, *state);
    assert_near(profile.total.p99_per_s, 0, 0);
    tally->servers[0].last_us -= 2 * SEC;
    tally->servers[0].window_us -= 2 * (uint64_t)SEC;
    ka_tally_merge(tally, idle); /* has no time, so no seconds */
    ka_tally_profile(&profile, tally, *state);
    assert_near(profile.total.p99_per_s, 8, 0);
    ka_tally_free(tally);
    ka_tally_free(idle);
}

static void test_tally_profile__lists_the_busiest_vhosts(void **state)
{
    ka_tally *tally = server_of("a", 0, SEC, 1, *state);
    char name[16];
    int i;

    for (i = 0; i < KA_PROFILE_VHOSTS + 20; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        ka_tally_vhost(tally, name)->requests = 5;
    }
    ka_tally_vhost(tally, "v77")->requests = 6;
    ka_tally_vhost(tally, "")->requests = 1000;
    ka_tally_vhost(tally, "idle")->requests = 0;
    ka_tally_vhost(tally, KA_TALLY_OTHER)->requests = 999;
    ka_tally_profile(&profile, tally, *state);
    assert_int_equal(profile.vhost_n, KA_PROFILE_VHOSTS);
    assert_string_equal(profile.vhosts[0].name, "v77");
    assert_string_equal(profile.vhosts[1].name, "v0");
    assert_string_equal(profile.vhosts[2].name, "v1");
    assert_string_equal(profile.vhosts[3].name, "v10");
    assert_int_equal(profile.vhosts_more, 21);
    assert_near(profile.vhosts[0].requests_per_s, 6, 1e-9);
    ka_tally_free(tally);
}

static void test_tally_profile__any_tally_is_harmless(void **state)
{
    uint64_t seed = 31;
    int round;

    for (round = 0; round < 60; round++) {
        ka_tally *tally = random_tally(&seed, *state);

        if (round % 3 == 0 && tally->server_n > 0) {
            tally->servers[0].first_us = INT64_MAX;
            tally->servers[0].last_us = INT64_MIN;
            tally->servers[0].window_us = UINT64_MAX;
        }
        ka_tally_profile(&profile, tally, *state);
        assert_true(isfinite(profile.total.requests_per_s));
        assert_true(profile.top_address_share <= 1);
        ka_tally_free(tally);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_tally_profile__rates_are_those_of_one_server),
        unit_test(test_tally_profile__idle_seconds_count),
        unit_test(test_tally_profile__lists_the_busiest_vhosts),
        unit_test(test_tally_profile__any_tally_is_harmless),
    };

    return unit_main(tests);
}
