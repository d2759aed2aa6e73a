/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>
#include "golden.h"
#include "render/sim.h"
#include "report_fixture.h"

#define SEC INT64_C(1000000)
#define VISITORS 4

typedef struct simulated {
    ka_sim_chain chains[VISITORS];
    ka_sim_request requests[VISITORS];
    ka_sim_traffic traffic;
    ka_sim_side sides[KA_SIM_SIDES];
    ka_sim_view view;
} simulated;

static void set(ka_sim_side *side, ka_setting_id id, int64_t value,
                const char *origin)
{
    side->settings.facts[id] = (ka_fact){true, !origin, value,
                                         origin ? origin : "assumed: default"};
}

static void make_side(ka_sim_side *side, const char *file, ka_mpm mpm,
                      uint32_t workers)
{
    static const char *const remarks[] = {"line 3 \x1b[31m is no directive"};

    side->file = file;
    side->mpm = mpm;
    side->mpm_origin = "option --mpm";
    side->remarks = remarks;
    side->remark_n = 1;
    set(side, KA_SETTING_KEEP_ALIVE, 1, NULL);
    set(side, KA_SETTING_KEEP_ALIVE_TIMEOUT, 5 * SEC, "a.conf:7");
    set(side, KA_SETTING_MAX_REQUEST_WORKERS, workers, "a.conf:9");
    side->config = ka_sim_defaults(mpm);
    side->config.spawn.start_servers = side->config.spawn.server_limit = 1;
    side->config.spawn.threads_per_child = workers;
    side->config.spawn.max_request_workers = workers;
    side->config.process_bytes = 25 << 20;
    side->config.queue = 1;
    side->config.points = 3;
}

/* Four clients, a second each, against one worker and against two. */
static simulated *make(size_t side_n, apr_pool_t *pool)
{
    static const char *const notes[] = {"all numbers are of a test"};
    simulated *s = apr_pcalloc(pool, sizeof(*s));
    size_t i;

    for (i = 0; i < VISITORS; i++) {
        s->chains[i] = (ka_sim_chain){.start_us = (int64_t)i * SEC / 4,
                                      .first = i,
                                      .n = 1,
                                      .tail_us = 60 * SEC};
        s->requests[i] = (ka_sim_request){.busy_us = SEC, .requests = 1};
    }
    s->traffic = (ka_sim_traffic){s->chains, VISITORS, s->requests, VISITORS,
                                  0, 12 * SEC};
    make_side(&s->sides[0], "conf/a.conf", KA_MPM_PREFORK, 1);
    make_side(&s->sides[1], "conf/b.conf", KA_MPM_EVENT, 2);
    s->view = (ka_sim_view){.report = &fixture_prefork(pool)->report,
                            .sides = s->sides,
                            .side_n = side_n,
                            .stretch = {.traffic = &s->traffic,
                                        .requests = VISITORS,
                                        .how = "made for a test"},
                            .seed = 1,
                            .verdicts = {"many wait", "few wait"},
                            .notes = notes,
                            .note_n = 1};
    for (i = 0; i < side_n; i++) {
        assert_int_equal(ka_sim_run(&s->sides[i].result, &s->sides[i].config,
                                    &s->traffic, 1, pool),
                         APR_SUCCESS);
    }
    return s;
}

static char *rendered(const simulated *s, bool json, apr_pool_t *pool)
{
    static const ka_render_options options = {.width = 80};
    char *text = NULL, *copy;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    apr_status_t rv = json ? ka_render_sim_json(out, &s->view)
                           : ka_render_sim_text(out, &s->view, &options);

    assert_int_equal(rv, APR_SUCCESS);
    fclose(out);
    copy = apr_pstrdup(pool, text);
    free(text);
    return copy;
}

static void test_render_sim__golden(void **state)
{
    const simulated *s = make(2, *state);

    golden_check("simulate.txt", rendered(s, false, *state), *state);
    golden_check("simulate.json", rendered(s, true, *state), *state);
}

static void test_render_sim__fits_80_columns(void **state)
{
    simulated *one = make(1, *state), *two = make(2, *state);

    two->sides[0].file = two->sides[1].file =
        "a/path/that/is/much/longer/than/any/line/may/be/with/a/name/at/its/"
        "end/that/does/not/tell/which/httpd-mpm.conf";
    assert_in_range(golden_width(rendered(one, false, *state)), 60, 80);
    assert_in_range(golden_width(rendered(two, false, *state)), 60, 80);
    assert_non_null(strstr(rendered(two, false, *state), "--against over time"));
}

static void test_render_sim__foreign_text_moves_no_cursor(void **state)
{
    assert_null(strchr(rendered(make(1, *state), false, *state), '\x1b'));
}

static void test_render_sim__json_holds_the_result(void **state)
{
    const simulated *s = make(2, *state);
    json_t *root = json_loads(rendered(s, true, *state), 0, NULL);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    const json_t *wait = json_object_get(run, "wait");

    assert_int_equal(json_integer_value(json_object_get(wait, "connections")),
                     s->sides[0].result.waited);
    assert_int_equal(json_integer_value(json_object_get(run, "refused")),
                     s->sides[0].result.refused);
    assert_true(s->sides[0].result.refused > 0);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(run, "series"),
                                        "points")),
        s->sides[0].result.point_n);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_render_sim__golden),
        unit_test(test_render_sim__fits_80_columns),
        unit_test(test_render_sim__foreign_text_moves_no_cursor),
        unit_test(test_render_sim__json_holds_the_result),
    };

    return unit_main(tests);
}
