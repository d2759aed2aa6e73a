/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * A segment's file as a source: what is taken from it, what is refused. */
#include "segment_fixture.h"
#include "profile/live.h"

#define NOW (STARTED + 3630 * SEC)

static ka_live *read_segment(const segment *s, const char *vhost,
                             int64_t now_at, tempdir *dir)
{
    ka_live *live = apr_palloc(dir->pool, sizeof(*live));
    const char *error = "no error";

    if (ka_segment_source_read(live, &error,
                               segment_write(s, dir, "ka.seg", s->size), vhost,
                               now_at, dir->pool)) {
        fail_msg("%s", error);
    }
    return live;
}

static void test_source_segment__is_known_by_its_magic(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);

    assert_true(ka_segment_source_is(segment_write(&s, dir, "a.log", s.size)));
    assert_true(ka_segment_source_is(segment_write(&s, dir, "cut", 8)));
    assert_false(ka_segment_source_is(segment_write(&s, dir, "short", 7)));
    assert_false(ka_segment_source_is(dir->path));
    assert_false(ka_segment_source_is("/dev/null"));
    assert_false(ka_segment_source_is("/nonexistent"));
    s.header->magic ^= 1;
    assert_false(ka_segment_source_is(segment_write(&s, dir, "b", s.size)));
}

static void test_source_segment__window_is_that_of_the_traffic(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_live *live = read_segment(&s, NULL, NOW, dir);

    assert_true(live->live);
    assert_int_equal(live->first_us, STARTED);
    /* the last second with a request is 3590; a connection tells when in it:
     * no last response lies there, so its end is taken */
    assert_int_equal(live->last_us, STARTED + 3591 * SEC);
    assert_int_equal(live->history_n, 3591);
    assert_true(live->recent_whole);
    assert_int_equal(live->recent_n, 3);
}

static void test_source_segment__connections_refine_the_window(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_live *live;

    /* its last response went out at 3590.25 s */
    segment_recent(&s, &(ka_segment_recent){.started_at = STARTED + 250000,
                                            .life_us = 3592 * SEC,
                                            .tail_us = 2 * SEC,
                                            .first_us = 125000,
                                            .requests = 9});
    live = read_segment(&s, NULL, NOW, dir);
    assert_int_equal(live->first_us, STARTED + 375000);
    assert_int_equal(live->last_us, STARTED + 3590 * SEC + 250000);
}

static void test_source_segment__stale_is_not_live(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);

    assert_false(read_segment(&s, NULL, NOW + 3600 * SEC, dir)->live);
    assert_int_equal(read_segment(&s, NULL, NOW + 3600 * SEC, dir)->history_n,
                     3591);
}

static void test_source_segment__one_vhost(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_live *live = apr_palloc(dir->pool, sizeof(*live));
    const char *path = segment_write(&s, dir, "ka.seg", s.size);
    const char *error = NULL;

    assert_int_equal(
        ka_stats_requests(read_segment(&s, "WWW.example.org", NOW, dir)->total),
        360);
    assert_int_equal(
        read_segment(&s, "quiet.example.org:443", NOW, dir)->vhost_n, 0);
    assert_int_equal(ka_segment_source_read(live, &error, path, "www.example",
                                            NOW, dir->pool),
                     APR_ENOENT);
    assert_non_null(strstr(error, "no virtual host \"www.example\""));
}

static void test_source_segment__refusals_say_file_and_remedy(void **state)
{
    static const struct {
        const char *what, *remedy;
        size_t size;  /* 0: whole */
        int64_t word; /* of the header, changed; -1: none */
    } cases[] = {{"too short", "(cp)", 512, -1},
                 {"truncated", "(cp)", 4096, -1},
                 {"another version", "use the kaadvisor that came", 0, 1},
                 {"not ready", "try again", 0, 12},
                 {"outside", "(cp)", 0, 64}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        segment s = segment_site(dir->pool);
        ka_live *live = apr_palloc(dir->pool, sizeof(*live));
        const char *error = NULL, *path;

        switch (cases[i].word) {
        case 1:
            s.header->major = 9;
            break;
        case 12:
            s.header->ready = 0;
            break;
        case 64:
            s.header->section[KA_SECTION_STATS].offset = s.size;
            break;
        }
        path = segment_write(&s, dir, "bad.seg",
                             cases[i].size ? cases[i].size : s.size);
        assert_int_not_equal(
            ka_segment_source_read(live, &error, path, NULL, NOW, dir->pool),
            APR_SUCCESS);
        assert_non_null(strstr(error, path));
        assert_non_null(strstr(error, cases[i].what));
        assert_non_null(strstr(error, cases[i].remedy));
        assert_null(strchr(error, '\n'));
    }
}

/* Whatever the bytes: refused, or read without harm (under the sanitizers). */
static void test_source_segment__noise_does_no_harm(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = 42;
    int round, taken = 0;

    for (round = 0; round < 60; round++) {
        apr_pool_t *pool;
        segment s;
        ka_live live;
        ka_profile *profile;
        ka_hist_traffic traffic;
        ka_outcome o[3];
        static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC, 9 * SEC};
        const char *error, *path;
        unsigned char *bytes;
        int k;

        apr_pool_create(&pool, dir->pool);
        s = segment_site(pool);
        bytes = (unsigned char *)s.header;
        for (k = 0; k < 3000; k++) {
            uint64_t at;

            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            at = (seed >> 20) % s.size;
            if (at >= (round % 2 ? 72 : 1024)) {
                bytes[at] = (unsigned char)(seed >> 56);
            }
        }
        path = segment_write(&s, dir, "noise.seg", s.size);
        if (!ka_segment_source_read(&live, &error, path, NULL, NOW, pool)) {
            taken++;
            profile = apr_palloc(pool, sizeof(*profile));
            ka_live_profile(profile, &live, pool);
            ka_live_traffic(&traffic, &live, pool);
            assert_int_equal(ka_histsweep(o, timeouts, 3, &traffic),
                             APR_SUCCESS);
        }
        apr_pool_destroy(pool);
    }
    assert_in_range(taken, 30, 60);
}

/* ---- profile and model --------------------------------------------------- */

static void
test_live_profile__lengths_are_of_connections_with_requests(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_profile *p = apr_palloc(dir->pool, sizeof(*p));

    segment_add(&s, 0, KA_QUANTITY_REQUESTS, 1, 10);
    ka_live_profile(p, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_near(p->low.single_share, 0.1, 1e-9);
}

static void test_live_profile__of_the_site(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_live *live = read_segment(&s, NULL, NOW, dir);
    ka_profile *p = apr_palloc(dir->pool, sizeof(*p));

    ka_live_profile(p, live, dir->pool);
    assert_true(p->live);
    assert_int_equal(p->total.requests, 360);
    assert_int_equal(p->classes[KA_CLASS_DYNAMIC].requests, 60);
    assert_near(p->window_s, 3591, 0);
    assert_near(p->total.peak_per_s, 1, 0);
    assert_true(isnan(p->classes[KA_CLASS_STATIC].peak_per_s));
    assert_int_equal(p->low.connections, 90);
    assert_near(p->low.requests_per_connection.mean, 4, 1e-9);
    assert_near(p->low.single_share, 0, 0);
    assert_int_equal(p->no_request, 10);
    assert_int_equal(p->closes[KA_REASON_IDLE_TIMEOUT], 60);
    assert_int_equal(p->tls, 360);
    assert_int_equal(p->vhost_n, 1);
    assert_string_equal(p->vhosts[0].name, "www.example.org:443");
    assert_false(p->bracket);
}

static void test_live_traffic__m4_to_m6_of_the_site(void **state)
{
    static const int64_t timeouts[] = {SEC, 5 * SEC, 10 * SEC};
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_hist_traffic traffic;
    ka_outcome o[3];

    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_int_equal(ka_histsweep(o, timeouts, 3, &traffic), APR_SUCCESS);
    assert_int_equal(o[0].connections, 360);
    assert_int_equal(o[1].connections, 90);
    assert_int_equal(o[1].timeout_closes, 60);
    assert_near((double)o[1].idle_us / 1e6, 270 * 2 + 60 * 5 + 30, 1e-6);
    assert_near(o[1].held_mean * 3591, 15 + 870 + 90 * 0.001 + 60 * 0.05, 1e-6);
    assert_true(o[1].measured);
    assert_false(o[2].measured);
    assert_near(o[1].held.peak, 2, 0);
}

/* What lingers for moments was answered; pipelined requests that are no
 * streams would open connections with KeepAlive Off. */
static void test_live_traffic__unanswered_and_parted(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    uint64_t *counter = segment_stats(&s, 0)->counter;
    ka_hist_traffic traffic;

    counter[KA_COUNTER_PIPELINED] = 7;
    segment_add(&s, 0, KA_QUANTITY_LINGER, 2 * SEC, 5);
    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_near(traffic.linger_us, 60 * 50000, 0);
    assert_near(traffic.lazy_us, 5 * 2 * SEC, 0);
    assert_int_equal(traffic.linger_off_us, KA_LINGER_ASYNC_US);
    assert_int_equal(traffic.parts[0].joined, 7);
    assert_int_equal(traffic.parts[0].parted, 7);

    counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP2] = 1;
    s.header->config.async = 0;
    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_int_equal(traffic.parts[0].parted, 0);
    assert_int_equal(traffic.linger_off_us, KA_LINGER_US);
}

/* Of 90 first requests over TLS, after 1 ms each, ten more came after 9 ms: ten
 * children's first. */
static void test_live_traffic__first_handshakes_are_apart(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_hist_traffic traffic;

    segment_add(&s, 0, KA_QUANTITY_FIRST, 9000, 10);
    s.header->cold_n = 10;
    s.header->cold_us = 90000;
    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_near(traffic.accept_us, 1800, 1e-9); /* no TLS: chance */
    assert_near(traffic.cold_us, 0, 0);

    segment_stats(&s, 0)->counter[KA_COUNTER_TLS] = 100;
    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_near(traffic.accept_us, 1000, 1e-9);
    assert_near(traffic.cold_us, 80000, 1e-6);
    ka_live_traffic(&traffic, read_segment(&s, "www.example.org", NOW, dir),
                    dir->pool);
    assert_near(traffic.cold_us, 0, 0); /* not kept by vhost */

    s.header->minor = 1; /* what lies there is anybody's */
    ka_live_traffic(&traffic, read_segment(&s, NULL, NOW, dir), dir->pool);
    assert_near(traffic.cold_us, 0, 0);
}

/* The history is not kept by vhost. */
static void test_live_traffic__narrowed_has_no_levels(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_hist_traffic traffic;

    ka_live_traffic(&traffic, read_segment(&s, "www.example.org", NOW, dir),
                    dir->pool);
    assert_int_equal(traffic.open.n, 0);
    assert_int_equal(traffic.part_n, 1);
}

static void test_source_segment__empty(void **state)
{
    static const ka_segment_plan plan = {
        .vhost_n = 2, .slot_n = 1, .stripe_n = 1};
    tempdir *dir = *state;
    segment s = segment_make(&plan, dir->pool);
    ka_live *live = read_segment(&s, NULL, NOW, dir);
    ka_profile *p = apr_palloc(dir->pool, sizeof(*p));
    ka_hist_traffic traffic;

    assert_int_equal(live->vhost_n, 0);
    assert_int_equal(live->history_n, 0);
    ka_live_profile(p, live, dir->pool);
    assert_int_equal(p->total.requests, 0);
    assert_near(p->total.peak_per_s, 0, 0);
    ka_live_traffic(&traffic, live, dir->pool);
    assert_int_equal(traffic.part_n, 0);
}

#define dir_test(function)                                                     \
    cmocka_unit_test_setup_teardown(function, tempdir_make, tempdir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        dir_test(test_source_segment__is_known_by_its_magic),
        dir_test(test_source_segment__window_is_that_of_the_traffic),
        dir_test(test_source_segment__connections_refine_the_window),
        dir_test(test_source_segment__stale_is_not_live),
        dir_test(test_source_segment__one_vhost),
        dir_test(test_source_segment__refusals_say_file_and_remedy),
        dir_test(test_source_segment__noise_does_no_harm),
        dir_test(test_live_profile__lengths_are_of_connections_with_requests),
        dir_test(test_live_profile__of_the_site),
        dir_test(test_live_traffic__m4_to_m6_of_the_site),
        dir_test(test_live_traffic__unanswered_and_parted),
        dir_test(test_live_traffic__first_handshakes_are_apart),
        dir_test(test_live_traffic__narrowed_has_no_levels),
        dir_test(test_source_segment__empty)};

    return unit_main(tests);
}
