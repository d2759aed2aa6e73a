/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Foreign lines: each is refused by one sentence with file, line and key. */
#include "profilefiles.h"

/* A sound line as an object: a bracket, some of everything. */
static json_t *sound_line(apr_pool_t *pool)
{
    const int64_t timeouts[] = {KA_TIMEOUT_OFF, 5000000};
    ka_tally *tally = ka_tally_make(timeouts, 2, pool);
    ka_tally_server *server = ka_tally_server_at(tally, "web1");
    json_t *line;
    int side, i;

    ka_server_set(&server->facts, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "x");
    ka_server_set(&server->facts, KA_FACT_MEMORY, 1 << 30, false, "y");
    server->first_us = 1000000;
    server->last_us = 9000000;
    server->window_us = tally->window_us = 8000000;
    tally->identity = KA_IDENTITY_PORT;
    tally->requests = tally->classes[0].requests = 3;
    ka_hist_add_n(&tally->classes[0].service, 100, 3);
    ka_hist_add_n(&tally->per_second, 1, 3);
    ka_tally_vhost(tally, "a.example")->requests = 3;
    ka_distinct_add(&tally->clients, 1);
    ka_distinct_add(&tally->addresses, 1);
    ka_weights_add(&tally->weights, 1, 3);
    tally->bracket = true;
    for (side = 0; side < 2; side++) {
        ka_hist_add_n(&tally->side[side].gap, 1000, 3);
        ka_occupancy_add(&tally->side[side].busy, 1, 1000, 7,
                         ka_occupancy_server("web1"), true);
        for (i = 0; i < 2; i++) {
            ka_occupancy_add(&tally->side[side].timeouts[i].held, 2, 1000, 7,
                             ka_occupancy_server("web1"), true);
        }
    }
    tally->sample = ka_sample_make(timeouts, 2);
    ka_sample_begin(tally->sample, 1000000);
    ka_sample_end(tally->sample, 9000000);
    for (side = 0; side < 2; side++) {
        ka_sample_block_side(tally->sample, 0, side)->idle[1].gap_n = 3;
    }
    line = json_loads(line_of_tally(tally, pool), 0, NULL);
    assert_non_null(line);
    ka_tally_free(tally);
    return line;
}

/* What a path like `low.gap.2` leads to, but for its last step. */
static json_t *parent_of(json_t *at, const char **path)
{
    const char *dot;
    char key[64];

    while ((dot = strchr(*path, '.')) != NULL) {
        size_t n = (size_t)(dot - *path);

        memcpy(key, *path, n);
        key[n] = '\0';
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        assert_non_null(at);
        *path = dot + 1;
    }
    return at;
}

/* Puts a value there; "" takes the key out. */
static void put(json_t *line, const char *path, const char *value)
{
    json_t *at = parent_of(line, &path);
    json_t *item = *value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;

    assert_true(!*value || item);
    if (json_is_array(at)) {
        assert_int_equal(
            json_array_set_new(at, strtoul(path, NULL, 10), item), 0);
    }
    else if (item) {
        assert_int_equal(json_object_set_new(at, path, item), 0);
    }
    else {
        assert_int_equal(json_object_del(at, path), 0);
    }
}

static const char *spoilt(const char *path, const char *value,
                          apr_pool_t *pool)
{
    json_t *line = sound_line(pool);
    char *text;
    const char *copy;

    if (path) {
        put(line, path, value);
    }
    text = json_dumps(line, JSON_COMPACT);
    copy = apr_pstrcat(pool, text, "\n", NULL);
    free(text);
    json_decref(line);
    return copy;
}

#define WHOLE "a whole number from 0 to 9223372036854775807"
#define REMEDY                                                                \
    "; the file is damaged or was made by other means: write it again with "  \
    "`kaadvisor profile`"

static const struct {
    const char *path, *value, *key, *wanted;
} cases[] = {
    {"sample", "[]", "sample", "an object {...}"},
    {"sample.block_us", "600000001", "sample.block_us",
     "a length that blocks have"},
    {"sample.block_us", "", "sample.block_us",
     "a whole number from 600000000 to 18014398509481984"},
    {"sample.first", "1e9", "sample.first",
     "a whole number from -1921535841 to 1921535841"},
    {"sample.begin_us", "null", "sample.begin_us",
     "a whole number from -1152921504606846976 to 1152921504606846976"},
    {"sample.low", "7", "sample.low", "an object {...}"},
    {"sample.high", "", "sample.high", "an object {...}"},
    {"sample.low.groups", "[]", "sample.low.groups", "64 rows"},
    {"sample.low.groups.63", "5", "sample.low.groups[63]",
     "4 numbers, and 5 for each class"},
    {"sample.low.blocks.0", "[1,2,3]", "sample.low.blocks[0]",
     "4 numbers, and 5 for each class"},
    {"sample.low.blocks.0", "[1,2,3,-4]", "sample.low.blocks[0][3]", WHOLE},
    {"sample.low.blocks.0", "[1,2,3,4,3,1,1,1,1]", "sample.low.blocks[0][4]",
     "a whole number from 0 to 2"},
    {"sample.low.blocks.0", "[1,2,3,4,1,1,1,1,1,0,1,1,1,1]",
     "sample.low.blocks[0][9]", "a whole number from 1 to 1"},
    {"sample.low.blocks.0", "[1,2,3,4,1,1,1,1,null]",
     "sample.low.blocks[0][8]", WHOLE},
    {"sample.high.blocks", "[]", "sample.high.blocks",
     "at most 256 rows, on both sides as many"},
    {"lines", "-1", "lines", WHOLE},
    {"lines", "1.5", "lines", WHOLE},
    {"lines", "\"7\"", "lines", WHOLE},
    {"lines", "null", "lines", WHOLE},
    {"lines", "", "lines", WHOLE},
    {"lines", "true", "lines", WHOLE},
    {"host", "7", "host", "a string"},
    {"host", "\"\"", "host", "the name of a server"},
    {"host", "", "host", "a string"},
    {"first_us", "9000001", "last_us",
     "a time that is not before \"first_us\""},
    {"last_us", "1152921504606846977", "last_us",
     "a whole number from -1152921504606846976 to 1152921504606846976"},
    {"first_us", "-1152921504606846977", "first_us",
     "a whole number from -1152921504606846976 to 1152921504606846976"},
    {"window_us", "-5", "window_us", WHOLE},
    {"facts", "[]", "facts", "an object {...}"},
    {"facts.mpm", "2", "facts.mpm", "an object {...}"},
    {"facts.mpm.value", "2", "facts.mpm.value", "prefork, worker or event"},
    {"facts.mpm.value", "\"itk\"", "facts.mpm.value",
     "prefork, worker or event"},
    {"facts.memory_limit_bytes.value", "-1", "facts.memory_limit_bytes.value",
     "a whole number from 0 to 1152921504606846976"},
    {"identity", "\"guess\"", "identity",
     "port, slot, k, time, live or none"},
    {"timeout_us", "-2", "timeout_us",
     "a whole number from -1 to 1152921504606846976"},
    {"limits", "[5000000]", "limits[1]", WHOLE},
    {"limits", "[-2,1]", "limits[0]",
     "a whole number from -1 to 1152921504606846976"},
    {"clock_us", "-1", "clock_us",
     "a whole number from 0 to 1152921504606846976"},
    {"excluded.mod_pagespeed", "{}", "excluded.mod_pagespeed", WHOLE},
    {"requests", "4", "requests", "as many as those of the classes"},
    {"classes.static", "[]", "classes.static", "an object {...}"},
    {"classes.static.service", "{}", "classes.static.service",
     "an array [...]"},
    {"classes.static.service", "[1,2]", "classes.static.service",
     "3 numbers a bin"},
    {"classes.static.service", "[560,1,1]", "classes.static.service[0]",
     "a step to a bin that is"},
    {"classes.static.service", "[561,1,1]", "classes.static.service[0]",
     "a whole number from 0 to 560"},
    {"classes.static.service", "[-1,1,1]", "classes.static.service[0]",
     "a whole number from 0 to 560"},
    {"classes.static.service", "[9,1,9,0,1,9]", "classes.static.service[3]",
     "a whole number from 1 to 560"},
    {"classes.static.service", "[500,1,0,59,1,0]", "classes.static.service[2]",
     "what values of that bin add up to"},
    {"classes.static.service", "[9,0,0]", "classes.static.service[2]",
     "what values of that bin add up to"},
    {"classes.static.service", "[9,2,19]", "classes.static.service[2]",
     "what values of that bin add up to"},
    {"classes.static.service", "[9,2,\"x\"]", "classes.static.service[2]",
     WHOLE},
    {"vhosts", "{}", "vhosts", "an array [...]"},
    {"vhosts", "[7]", "vhosts[0]", "an object {...}"},
    {"vhosts.0.name", "7", "vhosts[0].name", "a string"},
    {"clients", "\"0123\"", "clients",
     "at most 4096 hashes of 16 digits each"},
    {"clients", "\"0123456789abcdeF\"", "clients", "digits from 0 to f"},
    {"clients", "[]", "clients", "a string"},
    {"weights.rows", "[[0,1]]", "weights.rows[1]", "an array [...]"},
    {"weights.rows.0", "[4096,1]", "weights.rows[0][0]",
     "a step to a bin that is"},
    {"weights.rows.1", "[1]", "weights.rows[1]", "2 numbers a bin"},
    {"weights.sum", "-1", "weights.sum", WHOLE},
    {"timeouts_us", "[5000000,5000000]", "timeouts_us[1]",
     "a whole number from 5000001 to 1152921504606846976"},
    {"timeouts_us", "[-1]", "low.timeouts", "one for each of \"timeouts_us\""},
    {"low", "7", "low", "an object {...}"},
    {"low", "", "low", "an object {...}"},
    {"high", "[]", "high", "an object {...}"},
    {"high.busy", "[]", "high.busy", "an object {...}"},
    {"high.busy.bins", "[4352,1]", "high.busy.bins[0]",
     "a step to a bin that is"},
    {"high.busy.bins", "[1,1,0,1]", "high.busy.bins[2]",
     "a whole number from 1 to 4352"},
    {"high.busy.hours", "[7,1,1]", "high.busy.hours", "4 numbers a bin"},
    {"high.busy.hours", "[320255974,1,1,1]", "high.busy.hours[0]",
     "a step to an hour of this age"},
    {"high.busy.hours", "[7,1,-1,1]", "high.busy.hours[2]", WHOLE},
    {"high.busy.hour_bits", "41", "high.busy.hour_bits",
     "a whole number from 0 to 40"},
    {"low.timeouts.1", "7", "low.timeouts[1].connections", WHOLE},
    {"low.timeouts.1.held.peak", "-1", "low.timeouts[1].held.peak", WHOLE}};

static void test_profilefile__errors_name_file_line_key_and_remedy(
    void **state)
{
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *error, *expected;
        apr_status_t status;

        read_text(dir, &error, &status,
                  apr_pstrcat(dir->pool, spoilt(NULL, NULL, dir->pool),
                              spoilt(cases[i].path, cases[i].value, dir->pool),
                              NULL));
        expected = apr_psprintf(dir->pool,
                                "%s/a.kap:2: \"%s\": expected %s" REMEDY,
                                dir->path, cases[i].key, cases[i].wanted);
        assert_non_null(error);
        assert_string_equal(error, expected);
        assert_int_equal(status, APR_EINVAL);
    }
}

static void test_profilefile__the_sound_line_is_sound(void **state)
{
    tempdir *dir = *state;

    assert_int_equal(read_well(dir, spoilt(NULL, NULL, dir->pool))->n, 1);
}

static void test_profilefile__vhosts_are_there_once(void **state)
{
    tempdir *dir = *state;
    json_t *line = sound_line(dir->pool);
    json_t *vhosts = json_object_get(line, "vhosts");
    const char *error;
    apr_status_t status;
    char *text;

    json_array_append(vhosts, json_array_get(vhosts, 0));
    text = json_dumps(line, 0);
    read_text(dir, &error, &status, text);
    assert_non_null(strstr(error, "\"vhosts[1]\": expected a name that is not "
                                  "there twice, and at most 256 of them"));
    free(text);
    json_decref(line);
}

/* ---- schema ------------------------------------------------------------- */

static void test_profilefile__other_schemas_are_refused(void **state)
{
    static const struct {
        const char *schema, *remedy;
    } schemas[] = {
        {"kaadvisor-profile/2",
         "use the kaadvisor that wrote it, or write it again with this one"},
        {"kaadvisor-profile/11",
         "use the kaadvisor that wrote it, or write it again with this one"},
        {"kaadvisor/1", "it is no profile; `kaadvisor profile` writes one"}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < 3; i++) {
        const char *text = apr_psprintf(
            dir->pool, "{\"schema\":\"%s\",\"anything\":[1]}",
            schemas[i].schema);
        const char *error;
        apr_status_t status;

        read_text(dir, &error, &status, text);
        assert_int_equal(status, APR_ENOTIMPL);
        assert_non_null(strstr(
            error, apr_psprintf(dir->pool, "/a.kap:1: its schema is \"%s\", ",
                                schemas[i].schema)));
        assert_non_null(
            strstr(error, apr_pstrcat(dir->pool,
                                      " reads \"" KA_PROFILE_SCHEMA "\": ",
                                      schemas[i].remedy, NULL)));
        assert_true(ka_profile_source_is(
            apr_pstrcat(dir->pool, dir->path, "/a.kap", NULL)));
    }
}

/* ---- what is no JSON ---------------------------------------------------- */

static void test_profilefile__what_is_no_json_is_refused(void **state)
{
    tempdir *dir = *state;
    const char *line = spoilt(NULL, NULL, dir->pool);
    const char *const texts[] = {
        "{", "{}", "[]", "7", "null", "\"kaadvisor-profile/1\"", "{\"a\":}",
        "{\"schema\":\"kaadvisor-profile/1\",\"schema\":\"x\"}",
        "{\"schema\":\"kaadvisor-profile/1\",\"host\":\"a\\u0000b\"}",
        "{\"schema\":\"kaadvisor-profile/1\",\"host\":\"\xff\"}",
        "{\"schema\":\"kaadvisor-profile/1\","
        "\"first_us\":99999999999999999999}",
        "{\"schema\":\"kaadvisor-profile/1\",\"first_us\":1e999}",
        apr_pstrndup(dir->pool, line, strlen(line) / 2),
        apr_pstrcat(dir->pool, apr_pstrndup(dir->pool, line, strlen(line) - 1),
                    line, NULL)};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *error;
        apr_status_t status;

        read_text(dir, &error, &status, texts[i]);
        assert_int_equal(status, APR_EINVAL);
        assert_non_null(error);
        assert_non_null(strstr(error, "/a.kap:1: "));
        assert_null(strchr(error, '\n'));
    }
}

static void test_profilefile__deep_nesting_is_refused(void **state)
{
    tempdir *dir = *state;
    char *deep = apr_palloc(dir->pool, 200001);
    const char *error;
    apr_status_t status;

    memset(deep, '[', 200000);
    deep[200000] = '\0';
    read_text(dir, &error, &status,
              apr_pstrcat(dir->pool, "{\"schema\":", deep, NULL));
    assert_int_equal(status, APR_EINVAL);
    assert_non_null(strstr(error, "no whole line of JSON"));
}

/* Sums at their end, counts at their end: nothing wraps. */
static void test_profilefile__huge_numbers_are_taken(void **state)
{
    static const char huge[] = "9223372036854775807";
    static const char *const paths[] = {
        "window_us", "lines", "no_request", "low.busy.ms", "low.busy.sum",
        "low.busy.squares", "low.busy.peak", "low.timeouts.1.idle_us",
        "low.timeouts.0.connections", "low.busy_us", "high.busy.hours.1",
        "high.busy.hours.3", "high.busy.bins.1", "weights.sum",
        "weights.rows.0.1", "peak_per_second", "low.gap.1", "low.gap.2",
        "classes.static.bytes", "vhosts.0.requests"};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *line = spoilt(paths[i], huge, dir->pool);
        ka_tally *tally = read_well(dir, apr_pstrcat(dir->pool, line, line,
                                                     NULL))
                              ->items[0];
        ka_outcome outcomes[3];
        const int64_t timeouts[] = {KA_TIMEOUT_OFF, 3000000, 5000000};
        ka_profile *profile = apr_palloc(dir->pool, sizeof(*profile));

        ka_tally_profile(profile, tally, dir->pool);
        assert_int_equal(ka_tally_outcomes(outcomes, timeouts, 3, tally, true,
                                           5000000),
                         APR_SUCCESS);
        assert_true(outcomes[2].held.mean >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_profilefile__the_sound_line_is_sound),
        tempdir_test(test_profilefile__errors_name_file_line_key_and_remedy),
        tempdir_test(test_profilefile__vhosts_are_there_once),
        tempdir_test(test_profilefile__other_schemas_are_refused),
        tempdir_test(test_profilefile__what_is_no_json_is_refused),
        tempdir_test(test_profilefile__deep_nesting_is_refused),
        tempdir_test(test_profilefile__huge_numbers_are_taken)};

    return unit_main(tests);
}
