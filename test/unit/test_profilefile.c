/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "profilefiles.h"

#define SEED UINT64_C(0x9e3779b97f4a7c15)

/* ---- what is written comes back ---------------------------------------- */

static void test_profilefile__a_tally_comes_back(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    int i;

    for (i = 0; i < 40; i++) {
        ka_tally *tally = random_part(&seed, "web1", dir->pool);
        const char *line;
        ka_hosts *hosts;

        tally->no_request = 7;
        line = line_of_tally(tally, dir->pool);
        hosts = read_well(dir, line);
        assert_int_equal(hosts->n, 1);
        assert_same_tally(hosts->items[0], tally);
        assert_string_equal(line_of_tally(hosts->items[0], dir->pool), line);
        ka_tally_free(tally);
    }
}

static void test_profilefile__sums_past_the_largest_number_stay_there(
    void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    ka_tally *tally = random_part(&seed, "web1", dir->pool);
    ka_hosts *hosts;

    tally->no_request = (uint64_t)INT64_MAX + 1;
    tally->lines = INT64_MAX - 1;
    hosts = read_well(dir, line_of_tally(tally, dir->pool));
    assert_true(hosts->items[0]->no_request == UINT64_MAX);
    assert_true(hosts->items[0]->lines == INT64_MAX - 1);
    ka_tally_free(tally);
}

static void test_profilefile__unknown_keys_are_skipped(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    ka_tally *tally = random_part(&seed, "web1", dir->pool);
    const char *line = line_of_tally(tally, dir->pool);
    ka_hosts *hosts = read_well(
        dir, apr_pstrcat(dir->pool, "{\"later\":[1,{\"x\":null}],", line + 1,
                         NULL));

    assert_string_equal(line_of_tally(hosts->items[0], dir->pool), line);
    ka_tally_free(tally);
}

static void test_profilefile__foreign_bytes_in_names_are_escaped(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    ka_tally *tally = random_part(&seed, "web\xff\x1b[1m", dir->pool);
    ka_hosts *hosts = read_well(dir, line_of_tally(tally, dir->pool));

    assert_string_equal(hosts->items[0]->servers[0].name,
                        "web\\xff\\x1b[1m");
    ka_tally_free(tally);
}

/* ---- hosts -------------------------------------------------------------- */

static void test_profilefile__lines_of_one_host_are_merged(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    ka_tally *a = random_part(&seed, "web1", dir->pool);
    ka_tally *b = random_part(&seed, "web2", dir->pool);
    ka_tally *c = random_part(&seed, "web1", dir->pool);
    ka_hosts *hosts;

    a->no_request = c->no_request = 7;
    hosts = read_well(
        dir, apr_pstrcat(dir->pool, line_of_tally(b, dir->pool),
                         line_of_tally(a, dir->pool),
                         line_of_tally(c, dir->pool), NULL));
    assert_int_equal(hosts->n, 2);
    assert_string_equal(hosts->items[0]->servers[0].name, "web1");
    assert_string_equal(hosts->items[1]->servers[0].name, "web2");
    ka_tally_merge(a, c);
    assert_same_tally(hosts->items[0], a);
    ka_tally_free(a);
    ka_tally_free(b);
    ka_tally_free(c);
}

#define PARTS 7

/* Reads some of the lines; what that makes is one text. */
static const char *reduce(tempdir *dir, const char *const *lines, size_t n)
{
    const char *text = "";
    size_t i;

    for (i = 0; i < n; i++) {
        text = apr_pstrcat(dir->pool, text, lines[i], NULL);
    }
    return lines_of_hosts(read_well(dir, text), dir->pool);
}

static void shuffle(const char **lines, size_t n, uint64_t *seed)
{
    for (; n > 1; n--) {
        size_t i = random_below(seed, n);
        const char *line = lines[i];

        lines[i] = lines[n - 1];
        lines[n - 1] = line;
    }
}

static void test_profilefile__order_and_grouping_of_merges_do_not_show(
    void **state)
{
    static const char *const names[] = {"web1", "web2", "web3"};
    tempdir *dir = *state;
    uint64_t seed = SEED;
    const char *lines[PARTS], *whole, *halves[2];
    int round, i;

    for (round = 0; round < 12; round++) {
        for (i = 0; i < PARTS; i++) {
            ka_tally *part = random_part(&seed, names[random_below(&seed, 3)],
                                         dir->pool);

            lines[i] = line_of_tally(part, dir->pool);
            ka_tally_free(part);
        }
        whole = reduce(dir, lines, PARTS);
        for (i = 0; i < 4; i++) {
            size_t cut = 1 + random_below(&seed, PARTS - 1);

            shuffle(lines, PARTS, &seed);
            halves[0] = reduce(dir, lines, cut);
            halves[1] = reduce(dir, lines + cut, PARTS - cut);
            assert_string_equal(reduce(dir, halves, 2), whole);
        }
    }
}

static void test_profilefile__the_group_is_the_sum_of_its_hosts(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    ka_hosts *hosts = hosts_make(dir->pool);
    ka_tally *sum, *expected = ka_tally_make(NULL, 0, dir->pool);
    char name[] = "web0";

    for (name[3] = '5'; name[3] > '0'; name[3]--) {
        ka_tally *part = random_part(&seed, name, dir->pool);

        ka_tally_merge(expected, part);
        assert_int_equal(ka_hosts_add(hosts, part), APR_SUCCESS);
    }
    sum = ka_hosts_sum(hosts);
    assert_non_null(sum);
    assert_int_equal(sum->server_n, 5);
    assert_same_tally(sum, expected);
    ka_tally_free(sum);
    ka_tally_free(expected);
}

static void test_profilefile__too_many_hosts_are_refused(void **state)
{
    tempdir *dir = *state;
    uint64_t seed = SEED;
    const char *text = "", *path, *error;
    ka_hosts *hosts = hosts_make(dir->pool);
    char name[] = "web1";

    for (; name[3] <= '3'; name[3]++) {
        ka_tally *part = random_part(&seed, name, dir->pool);

        text = apr_pstrcat(dir->pool, text, line_of_tally(part, dir->pool),
                           NULL);
        ka_tally_free(part);
    }
    path = tempdir_text(dir, "a.kap", text);
    hosts->most = 2;
    assert_int_equal(ka_profilefile_read(hosts, &error, path, dir->pool),
                     APR_ENOSPC);
    assert_string_equal(error, apr_pstrcat(dir->pool, path,
                                           ":3: more than 2 servers; advise on "
                                           "them in groups, those with one "
                                           "configuration together",
                                           NULL));
}

/* ---- size --------------------------------------------------------------- */

static void fill_hist(ka_hist *h, uint64_t n)
{
    size_t i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        ka_hist_add_n(h, ka_hist_bin_low(i), n);
    }
}

/* Whole hours, each at another count, and some time at every count. */
static void fill_occupancy(ka_occupancy *o, uint64_t ms, int64_t hours,
                           uint32_t server)
{
    int64_t hour;
    size_t i;

    for (i = 0; i < KA_OCCUPANCY_BINS; i++) {
        ka_occupancy_add(o, ka_occupancy_bin_low(i), ms, 0, server, false);
    }
    for (hour = 0; hour < hours; hour++) {
        ka_occupancy_add(o, 100 + (uint64_t)(hour * 37 % 400), 3600000, hour,
                         server, true);
    }
}

static void fill_side(ka_tally_side *s, size_t timeout_n, uint64_t n,
                      int64_t hours)
{
    uint32_t server = ka_occupancy_server("web1");
    size_t i;

    for (i = 0; i < timeout_n; i++) {
        fill_occupancy(&s->timeouts[i].held, n, hours, server);
    }
    fill_occupancy(&s->busy, n, hours, server);
    fill_hist(&s->gap, n);
    fill_hist(&s->tail, n);
    fill_hist(&s->lengths, n);
    fill_hist(&s->parallel, n);
}

static void fill_vhosts(ka_tally *tally, uint64_t n, apr_pool_t *pool)
{
    int i;

    for (i = 0; i < KA_TALLY_VHOSTS; i++) {
        ka_tally_traffic *vhost =
            ka_tally_vhost(tally, apr_psprintf(pool, "v%d", i));

        vhost->requests = (uint64_t)i;
        fill_hist(&vhost->service, n);
        fill_hist(&vhost->gap, n);
        fill_hist(&vhost->per_second, n);
    }
}

/* Every bin of every histogram, every vhost, every hash. */
static ka_tally *full_tally(size_t timeout_n, uint64_t n, int64_t hours,
                            apr_pool_t *pool)
{
    ka_tally *tally = ka_tally_make(NULL, 0, pool);
    size_t i;

    ka_tally_server_at(tally, "web1");
    tally->bracket = true;
    tally->timeout_n = timeout_n;
    for (i = 0; i < timeout_n; i++) {
        tally->timeouts[i] = (int64_t)i;
    }
    fill_side(&tally->side[0], timeout_n, n, hours);
    fill_side(&tally->side[1], timeout_n, n, hours);
    fill_vhosts(tally, n, pool);
    for (i = 0; i < 20000; i++) {
        ka_distinct_add(&tally->clients, i);
        ka_distinct_add(&tally->addresses, i);
        ka_weights_add(&tally->weights, i, n);
    }
    return tally;
}

static void test_profilefile__a_line_is_made_to_fit(void **state)
{
    static const struct {
        size_t timeouts;
        uint64_t n;
        int64_t hours;
    } cases[] = {{12, 1, 24},
                 {12, 100, 5000},
                 {KA_TALLY_TIMEOUTS, UINT64_C(1) << 40, 24}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_tally *tally = full_tally(cases[i].timeouts, cases[i].n,
                                     cases[i].hours, dir->pool);
        const char *line = line_of_tally(tally, dir->pool);
        const ka_tally *back = read_well(dir, line)->items[0];

        assert_true(strlen(line) > KA_PROFILE_LINE_SIZE / 4);
        assert_int_equal(back->timeout_n, cases[i].timeouts);
        assert_int_equal(ka_hist_count(&back->side[1].gap),
                         cases[i].n * KA_HIST_BINS);
        /* What was made coarser stays as coarse. */
        assert_string_equal(line_of_tally(back, dir->pool), line);
        ka_tally_free(tally);
    }
}

static size_t bins_of(const ka_occupancy *o)
{
    size_t i, n = 0;

    for (i = 0; i < o->size; i++) {
        n += o->bins[i] > 0;
    }
    return n;
}

/* Hours go first, then vhosts, then the fineness of bins; no more of each than
 * must. */
static void test_profilefile__what_tells_least_goes_first(void **state)
{
    static const struct {
        size_t timeouts;
        int64_t hours;
        bool vhosts;
        size_t hour_n, vhost_n, bin_n; /* left */
    } cases[] = {{1, 1000, false, 1000, 0, KA_OCCUPANCY_BINS},
                 {1, 20000, false, 168, 0, KA_OCCUPANCY_BINS},
                 {12, 3000, false, 168, 0, KA_OCCUPANCY_BINS},
                 {1, 24, true, 24, 32, KA_OCCUPANCY_BINS},
                 {20, 24, true, 24, 32, 2304}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_tally *tally = ka_tally_make(NULL, 0, dir->pool);
        const ka_tally *back;

        ka_tally_server_at(tally, "web1");
        for (; tally->timeout_n < cases[i].timeouts; tally->timeout_n++) {
            tally->timeouts[tally->timeout_n] = (int64_t)tally->timeout_n;
        }
        fill_side(&tally->side[0], cases[i].timeouts, 1, cases[i].hours);
        if (cases[i].vhosts) {
            fill_vhosts(tally, 1, dir->pool);
        }
        back = read_well(dir, line_of_tally(tally, dir->pool))->items[0];
        assert_int_equal(back->side[0].busy.hour_n, cases[i].hour_n);
        assert_int_equal(back->vhost_n, cases[i].vhost_n);
        assert_int_equal(bins_of(&back->side[0].busy), cases[i].bin_n);
        ka_tally_free(tally);
    }
}

/* Moments are whole, quantiles may only be larger. */
static void test_profilefile__coarser_holders_are_never_fewer(void **state)
{
    tempdir *dir = *state;
    ka_tally *tally = full_tally(12, 100, 24, dir->pool);
    ka_hosts *hosts = read_well(dir, line_of_tally(tally, dir->pool));
    ka_held fine, coarse;

    ka_occupancy_held(&fine, &tally->side[0].timeouts[5].held, 0);
    ka_occupancy_held(&coarse, &hosts->items[0]->side[0].timeouts[5].held, 0);
    assert_near(coarse.mean, fine.mean, 0);
    assert_near(coarse.variance, fine.variance, 0);
    assert_near(coarse.peak, fine.peak, 0);
    assert_near(coarse.workers, fine.workers, 0);
    assert_true(bins_of(&hosts->items[0]->side[0].busy) <
                KA_OCCUPANCY_BINS / 2);
    assert_true(coarse.p99 >= fine.p99 && coarse.p999 >= fine.p999);
    assert_true(coarse.p99 <= fine.p99 * 1.26);
    ka_tally_free(tally);
}

/* A count's bin is at most 2^join/256 of it wide: the small stay apart. */
static void test_profilefile__few_holders_stay_apart(void **state)
{
    tempdir *dir = *state;
    ka_tally *tally = full_tally(12, 100, 24, dir->pool);
    ka_hosts *hosts = read_well(dir, line_of_tally(tally, dir->pool));
    const ka_occupancy *fine = &tally->side[0].busy;
    const ka_occupancy *coarse = &hosts->items[0]->side[0].busy;
    size_t i;

    for (i = 0; i < 8; i++) {
        assert_true(coarse->bins[i] == fine->bins[i]);
    }
    ka_tally_free(tally);
}

static void test_profilefile__the_busiest_vhosts_stay(void **state)
{
    tempdir *dir = *state;
    ka_tally *tally = full_tally(12, 1, 24, dir->pool);
    ka_hosts *hosts = read_well(dir, line_of_tally(tally, dir->pool));
    const ka_tally *back = hosts->items[0];
    uint64_t requests = 0;
    size_t i;

    assert_true(back->vhost_n > 1 && back->vhost_n < KA_TALLY_VHOSTS);
    for (i = 0; i < back->vhost_n; i++) {
        requests += back->vhosts[i]->requests;
    }
    assert_int_equal(requests, 255 * 254 / 2 + 255);
    assert_string_equal(back->vhosts[0]->name, KA_TALLY_OTHER);
    /* The first 255 have a place of their own; of them v254 has most. */
    assert_int_equal(ka_tally_vhost(hosts->items[0], "v254")->requests, 254);
    ka_tally_free(tally);
}

/* As many as a reader keeps, its place for the others included. */
static void test_profilefile__as_many_vhosts_as_are_kept(void **state)
{
    tempdir *dir = *state;
    size_t n;

    for (n = KA_TALLY_VHOSTS - 2; n <= KA_TALLY_VHOSTS + 2; n++) {
        ka_tally *tally = ka_tally_make(NULL, 0, dir->pool);
        ka_hosts *hosts = hosts_make(dir->pool);
        const ka_tally *back;
        const char *line;
        size_t i;

        for (i = 0; i < n; i++) {
            ka_tally *part = ka_tally_make(NULL, 0, dir->pool);

            ka_tally_server_at(part, "web1");
            ka_tally_vhost(part, apr_psprintf(dir->pool, "v%d", (int)i))
                ->requests = 1;
            ka_tally_merge(tally, part);
            ka_tally_free(part);
        }
        assert_int_equal(tally->vhost_n, n);
        line = line_of_tally(tally, dir->pool);
        assert_int_equal(ka_hosts_add(hosts, tally), APR_SUCCESS);
        back = read_well(dir, line)->items[0];
        assert_int_equal(back->vhost_n,
                         n < KA_TALLY_VHOSTS ? n : KA_TALLY_VHOSTS);
        assert_string_equal(line_of_tally(back, dir->pool), line);
    }
}

/* Most of half a year is left out: what sizes the server stays. */
static void test_profilefile__the_fullest_hours_stay(void **state)
{
    tempdir *dir = *state;
    ka_tally *tally = full_tally(12, 100, 5000, dir->pool);
    ka_occupancy *o = &tally->side[0].busy;
    const ka_occupancy *back;
    ka_held fine, coarse;

    ka_occupancy_add(o, 700, 3600000, 6000, ka_occupancy_server("web1"),
                     true);
    back = &read_well(dir, line_of_tally(tally, dir->pool))
                ->items[0]
                ->side[0]
                .busy;
    ka_occupancy_held(&fine, o, 0);
    ka_occupancy_held(&coarse, back, 0);
    assert_true(back->hour_n < 200);
    assert_int_equal(back->hours[back->hour_n - 1].hour, 6000);
    assert_near(coarse.workers, fine.workers, 0);
    ka_tally_free(tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_profilefile__a_tally_comes_back),
        tempdir_test(
            test_profilefile__sums_past_the_largest_number_stay_there),
        tempdir_test(test_profilefile__unknown_keys_are_skipped),
        tempdir_test(test_profilefile__foreign_bytes_in_names_are_escaped),
        tempdir_test(test_profilefile__lines_of_one_host_are_merged),
        tempdir_test(
            test_profilefile__order_and_grouping_of_merges_do_not_show),
        tempdir_test(test_profilefile__the_group_is_the_sum_of_its_hosts),
        tempdir_test(test_profilefile__too_many_hosts_are_refused),
        tempdir_test(test_profilefile__a_line_is_made_to_fit),
        tempdir_test(test_profilefile__what_tells_least_goes_first),
        tempdir_test(test_profilefile__coarser_holders_are_never_fewer),
        tempdir_test(test_profilefile__few_holders_stay_apart),
        tempdir_test(test_profilefile__the_busiest_vhosts_stay),
        tempdir_test(test_profilefile__as_many_vhosts_as_are_kept),
        tempdir_test(test_profilefile__the_fullest_hours_stay)};

    return unit_main(tests);
}
