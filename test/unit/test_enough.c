/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What is there and enough stays. */
#include "advise_fixture.h"

static void set_fact(fixture *f, ka_fact_id id, int64_t value)
{
    ka_server_set(&f->server, id, value, false, "test");
}

/* What is advised with nothing known of the present settings. */
static const char *needed(const char *directive, apr_pool_t *pool)
{
    return row_of(advise(make_fixture(pool), pool), directive)->to;
}

static void test_enough__more_than_needed_stays(void **state)
{
    static const struct {
        ka_fact_id fact;
        const char *directive, *now;
        bool stays;
    } cases[] = {
        {KA_FACT_SERVER_LIMIT, "ServerLimit", "1000", true},
        {KA_FACT_SERVER_LIMIT, "ServerLimit", "20", false},
        {KA_FACT_START_SERVERS, "StartServers", "190", true},
        {KA_FACT_START_SERVERS, "StartServers", "1", false},
        {KA_FACT_START_SERVERS, "StartServers", "5000", false},
        {KA_FACT_MIN_SPARE, "MinSpareServers", "60", true},
        {KA_FACT_MIN_SPARE, "MinSpareServers", "190", false},
        {KA_FACT_MAX_SPARE, "MaxSpareServers", "150", true},
        {KA_FACT_MAX_SPARE, "MaxSpareServers", "2", false}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture *f = make_fixture(*state);
        const ka_advice *row;

        set_fact(f, cases[i].fact, atoi(cases[i].now));
        row = row_of(advise(f, *state), cases[i].directive);
        assert_string_equal(row->from, cases[i].now);
        assert_int_equal(row->change, !cases[i].stays);
        assert_string_equal(row->to,
                            cases[i].stays
                                ? cases[i].now
                                : needed(cases[i].directive, *state));
        assert_int_equal(cases[i].stays,
                         strstr(row->because, "stays") != NULL);
    }
}

static void test_enough__max_spare_follows_min_spare(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    set_fact(f, KA_FACT_MIN_SPARE, 60);
    r = advise(f, *state);
    assert_true(atoi(row_of(r, "MaxSpareServers")->to) > 60);
}

static void test_enough__of_another_mpm_nothing_stays(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->server.facts[KA_FACT_ID_MPM].known = false;
    set_fact(f, KA_FACT_SERVER_LIMIT, 1000);
    r = advise(f, *state);
    assert_int_equal(r->answers[0].stays, 0);
}

static void test_enough__r9_life_of_children(void **state)
{
    fixture *f = make_fixture(*state);
    const ka_advice *row;

    set_fact(f, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 5000);
    row = row_of(advise(f, *state), "MaxConnectionsPerChild");
    assert_string_equal(row->to, "5000"); /* nobody knows whether it leaks */
    assert_false(row->change);
    f = make_fixture(*state);
    set_fact(f, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 5000);
    set_fact(f, KA_FACT_LEAK, 0);
    row = row_of(advise(f, *state), "MaxConnectionsPerChild");
    assert_string_equal(row->to, "0");
    assert_true(row->change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_enough__more_than_needed_stays),
        unit_test(test_enough__max_spare_follows_min_spare),
        unit_test(test_enough__of_another_mpm_nothing_stays),
        unit_test(test_enough__r9_life_of_children)};

    return unit_main(tests);
}
