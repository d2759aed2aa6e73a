/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "golden.h"
#include "report_fixture_hosts.h"

static const struct {
    const char *golden;
    fixture *(*make)(apr_pool_t *pool);
} reports[] = {{"advise-prefork.txt", fixture_prefork},
               {"advise-unknown-mpm.txt", fixture_unknown_mpm},
               {"advise-refused.txt", fixture_refused},
               {"advise-group.txt", fixture_group}};

static void test_text__golden(void **state)
{
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        golden_check(
            reports[i].golden,
            fixture_render(ka_render_text, reports[i].make(*state), NULL),
            *state);
    }
}

/* Only a configuration line, which is there to be pasted, may be wider. */
static void expect_fits(const char *text, size_t width)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (n > width && strncmp(text, "         LogFormat", 18)) {
            fail_msg("%d columns, %d allowed: %.*s", (int)n, (int)width, (int)n,
                     text);
        }
        text += n + (text[n] != '\0');
    }
}

static void test_text__fits_the_width(void **state)
{
    static const int widths[] = {80, 100, 120, 200};
    size_t i, w;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        for (w = 0; w < FIXTURE_COUNT(widths); w++) {
            ka_render_options options = {.width = widths[w], .verbose = true};

            expect_fits(fixture_render(ka_render_text, reports[i].make(*state),
                                       &options),
                        (size_t)widths[w]);
        }
    }
}

static void test_text__survives_any_width(void **state)
{
    static const int widths[] = {-1, 0, 1, 40, 41, 59, 60, 61, 79};
    size_t i, w;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        for (w = 0; w < FIXTURE_COUNT(widths); w++) {
            ka_render_options options = {.width = widths[w]};

            assert_true(*fixture_render(ka_render_text, reports[i].make(*state),
                                        &options));
        }
    }
}

static bool is_plain_text(const char *text)
{
    for (; *text; text++) {
        if (*text != '\n' && (*text < ' ' || *text > '~')) {
            return false;
        }
    }
    return true;
}

static void test_text__is_ascii_without_color(void **state)
{
    ka_render_options options = {.color = true};
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        fixture *f = reports[i].make(*state);

        assert_true(is_plain_text(fixture_render(ka_render_text, f, NULL)));
        assert_false(
            is_plain_text(fixture_render(ka_render_text, f, &options)));
    }
}

static void test_text__refused_proposes_nothing(void **state)
{
    fixture *f = fixture_prefork(*state);
    const char *text;

    f->report.verdict.refused = true;
    text = fixture_render(ka_render_text, f, NULL);
    assert_null(strstr(text, "Proposed"));
    assert_null(strstr(text, "  >  "));
    assert_non_null(strstr(text, "now   15s m"));
}

/* A timeout given by hand is in the table even where it is no customary one;
 * so are Off and what is proposed. */
static void test_text__what_if_keeps_the_rows_that_matter(void **state)
{
    fixture *f = fixture_prefork(*state);
    const char *text;

    f->report.now = 13;                     /* 45s */
    f->report.answers[0].choice.index = 15; /* 90s */
    text = fixture_render(ka_render_text, f, NULL);
    assert_non_null(strstr(text, "now   45s x"));
    assert_non_null(strstr(text, "  >     90s x"));
    assert_non_null(strstr(text, "        Off m"));
}

/* Numbers that are not finite come from an empty window: no crash, a mark. */
/* ---- intervals ------------------------------------------------------------ */

static void test_text__intervals_show_where_they_are_wide(void **state)
{
    ka_render_options brief = {.width = 200};
    ka_render_options verbose = {.width = 120, .verbose = true};
    fixture *f = fixture_prefork(*state);
    const char *text;

    fixture_intervals(f, 0.099);
    text = fixture_render(ka_render_text, f, &brief);
    assert_null(strstr(text, "+-"));
    fixture_intervals(f, 0.2);
    text = fixture_render(ka_render_text, f, &brief);
    assert_non_null(strstr(text, "(90% intervals): now opened +-20.0%, held"));
    assert_non_null(strstr(text, "proposed opened +-20.0%, held +-20.0%, "
                                 "workers 10..20."));
    fixture_intervals(f, 0.05);
    text = fixture_render(ka_render_text, f, &verbose);
    assert_non_null(strstr(text, "+-5.0%"));
    assert_non_null(strstr(text, "10..20"));
}

static void test_text__verbose_says_why_there_are_none(void **state)
{
    ka_render_options verbose = {.width = 80, .verbose = true};
    fixture *f = fixture_prefork(*state);

    f->report.no_intervals = "it is a test";
    assert_non_null(strstr(fixture_render(ka_render_text, f, &verbose),
                           "No intervals: it is a test."));
    assert_null(strstr(fixture_render(ka_render_text, f, NULL),
                       "No intervals"));
}

static void test_text__says_where_off_is_a_bound(void **state)
{
    fixture *f = fixture_prefork(*state);

    assert_null(strstr(fixture_render(ka_render_text, f, NULL),
                       "Off: an upper bound"));
    f->low[0].held_is_bound = true;
    assert_non_null(strstr(fixture_render(ka_render_text, f, NULL),
                           "Off: an upper bound"));
}

static void test_text__marks_what_is_not_finite(void **state)
{
    fixture *f = fixture_prefork(*state);

    f->high[FIXTURE_NOW].held_mean = NAN;
    f->report.answers[0].fits[FIXTURE_NOW].workers = INFINITY;
    assert_non_null(strstr(fixture_render(ka_render_text, f, NULL), "   ?"));
}

/* A log without service times: busy is not 0, it is not known. */
static void test_text__without_service_times_busy_is_not_known(void **state)
{
    fixture *f = fixture_unknown_mpm(*state);
    ka_render_options wide = {.width = 200};
    const char *text;

    f->profile.with_service = 0;
    text = fixture_render(ka_render_text, f, &wide);
    assert_non_null(strstr(text, "? busy: the log has no service times"));
    assert_non_null(strstr(text, "  event         15s        ?"));
}

/* Rows of the table of servers. */
static size_t servers_in(const char *text)
{
    size_t n = 0;

    for (text = strstr(text, "Servers\n"); text && *text; text++) {
        n += !strncmp(text, "\n  web", 6);
        if (!strncmp(text, "\n\n", 2)) {
            break;
        }
    }
    return n;
}

static void test_text__a_large_group_shows_those_with_most_workers(void **state)
{
    fixture *f = fixture_many_hosts(*state, 60, "web");
    ka_render_options verbose = {.width = 80, .verbose = true};
    const char *text = fixture_render(ka_render_text, f, NULL);

    assert_int_equal(servers_in(text), 40);
    assert_non_null(strstr(text, "  web059"));
    assert_non_null(strstr(text, "  web020"));
    assert_true(strstr(text, "  web059") < strstr(text, "  web058"));
    assert_null(strstr(text, "  web019"));
    assert_non_null(strstr(text, "and 20 more servers (--verbose has all)"));
    text = fixture_render(ka_render_text, f, &verbose);
    assert_int_equal(servers_in(text), 60);
    assert_null(strstr(text, "more server"));
}

/* A server's name comes from a file or a label: it may be anything. */
static void test_text__names_of_servers_are_escaped(void **state)
{
    static const char *names[] = {"\x1b[2J", "a\nb", "\xc3\xa4", ""};
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(names); i++) {
        fixture *group = fixture_many_hosts(*state, 3, names[i]);
        fixture *one = fixture_prefork(*state);

        one->report.host = names[i];
        assert_true(is_plain_text(fixture_render(ka_render_text, group, NULL)));
        assert_true(is_plain_text(fixture_render(ka_render_text, one, NULL)));
        assert_true(
            is_plain_text(fixture_render(ka_render_show_text, one, NULL)));
    }
    assert_non_null(
        strstr(fixture_render(ka_render_text,
                              fixture_many_hosts(*state, 2, "a\nb"), NULL),
               "  a\\x0ab001"));
}

static void test_text__a_named_server_is_named_first(void **state)
{
    fixture *f = fixture_host(*state, "web1");
    const char *text = fixture_render(ka_render_text, f, NULL);

    assert_ptr_equal(strstr(text, "web1: Set KeepAliveTimeout"), text);
    assert_non_null(strstr(text, "  Server            web1\n"));
    assert_null(strstr(text, "\nServers\n"));
}

static void test_text__prometheus_has_no_clock(void **state)
{
    fixture *f = fixture_host(*state, "10.0.0.1:80");

    f->source.kind = "prometheus";
    f->source.clock_us = f->source.service_clock_us = 0;
    f->source.lines = 0;
    f->profile.live = true;
    f->report.identity = "live";
    assert_null(strstr(fixture_render(ka_render_text, f, NULL), "Clock"));
    assert_null(strstr(fixture_render(ka_render_text, f, NULL), "Lines"));
    assert_non_null(strstr(fixture_render(ka_render_text, f, NULL),
                           "Source            Prometheus: "));
}

static void test_text__a_failed_write_is_a_status(void **state)
{
    static ka_render_fn *const all[] = {ka_render_text, ka_render_json,
                                        ka_render_conf, ka_render_show_text,
                                        ka_render_show_json};
    ka_render_options options = {.width = 80};
    fixture *f = fixture_prefork(*state);
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(all); i++) {
        FILE *full = fopen("/dev/full", "w");

        assert_non_null(full);
        assert_int_not_equal(all[i](full, &f->report, &options), APR_SUCCESS);
        fclose(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_text__golden),
        unit_test(test_text__intervals_show_where_they_are_wide),
        unit_test(test_text__verbose_says_why_there_are_none),
        unit_test(test_text__fits_the_width),
        unit_test(test_text__survives_any_width),
        unit_test(test_text__is_ascii_without_color),
        unit_test(test_text__refused_proposes_nothing),
        unit_test(test_text__what_if_keeps_the_rows_that_matter),
        unit_test(test_text__says_where_off_is_a_bound),
        unit_test(test_text__marks_what_is_not_finite),
        unit_test(test_text__without_service_times_busy_is_not_known),
        unit_test(test_text__a_large_group_shows_those_with_most_workers),
        unit_test(test_text__names_of_servers_are_escaped),
        unit_test(test_text__a_named_server_is_named_first),
        unit_test(test_text__prometheus_has_no_clock),
        unit_test(test_text__a_failed_write_is_a_status)};

    return unit_main(tests);
}
