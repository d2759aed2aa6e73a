/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "commands/commands.h"
#include "model/outcome.h"

static const ka_command *command_named(const char *name)
{
    const ka_command *command = ka_commands();

    while (strcmp(command->name, name)) {
        command++;
    }
    return command;
}

/* Parses words separated by blanks. */
static apr_status_t parse(ka_options *options, const char **error,
                          const char *command, const char *words,
                          apr_pool_t *pool)
{
    const char *argv[32] = {"kaadvisor"};
    char *copy = apr_palloc(pool, strlen(words) + 1), *word;
    int argc = 1;

    strcpy(copy, words);
    for (word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    ka_options_init(options);
    *error = NULL;
    return ka_options_parse(options, error, command_named(command), argc, argv,
                            pool);
}

static void test_options__facts_and_sources_in_any_order(void **state)
{
    ka_options o;
    const char *error;

    assert_int_equal(parse(&o, &error, "advise",
                           "a.log --mpm event --timeout=400ms b.log --memory "
                           "2G --process-memory 10M --check -o out.txt -",
                           *state),
                     APR_SUCCESS);
    assert_null(error);
    assert_int_equal(o.source_n, 3);
    assert_string_equal(o.sources[0], "a.log");
    assert_string_equal(o.sources[1], "b.log");
    assert_string_equal(o.sources[2], "-");
    assert_int_equal(ka_server_get(&o.server, KA_FACT_ID_MPM, -1),
                     KA_MPM_EVENT);
    assert_int_equal(ka_server_get(&o.server, KA_FACT_TIMEOUT, -1), 400000);
    assert_int_equal(ka_server_get(&o.server, KA_FACT_KEEP_ALIVE, -1), 1);
    assert_int_equal(ka_server_get(&o.server, KA_FACT_MEMORY, -1),
                     INT64_C(2) << 30);
    assert_string_equal(o.server.facts[KA_FACT_MEMORY].origin,
                        "option --memory");
    assert_string_equal(o.output_file, "out.txt");
    assert_true(o.check);
}

static void test_options__timeout_off_is_keepalive_off(void **state)
{
    static const char *const words[] = {"--timeout off", "--timeout 0",
                                        "--timeout OFF"};
    ka_options o;
    const char *error;
    size_t i;

    for (i = 0; i < 3; i++) {
        assert_int_equal(parse(&o, &error, "advise", words[i], *state),
                         APR_SUCCESS);
        assert_int_equal(ka_server_get(&o.server, KA_FACT_KEEP_ALIVE, -1), 0);
        assert_int_equal(ka_server_get(&o.server, KA_FACT_TIMEOUT, -1), 0);
    }
}

static void test_options__connections_is_for_show(void **state)
{
    ka_options o;
    const char *error;

    assert_int_equal(parse(&o, &error, "show", "--connections a", *state),
                     APR_SUCCESS);
    assert_true(o.connections);
    assert_int_equal(parse(&o, &error, "advise", "--connections a", *state),
                     APR_EINVAL);
    assert_non_null(strstr(error, "no option --connections"));
}

static void test_options__of_a_fleet(void **state)
{
    ka_options o;
    const char *error;

    assert_int_equal(parse(&o, &error, "profile",
                           "--host web1 --threads 2 --memory 2G a.log",
                           *state),
                     APR_SUCCESS);
    assert_string_equal(o.host, "web1");
    assert_int_equal(o.threads, 2);
    assert_int_equal(ka_server_get(&o.server, KA_FACT_MEMORY, -1),
                     INT64_C(2) << 30);
    assert_int_equal(parse(&o, &error, "advise",
                           "--match job=\"apache\" --window 7d --token-file t "
                           "--ca-file c --insecure http://127.0.0.1:9090",
                           *state),
                     APR_SUCCESS);
    assert_string_equal(o.match, "job=\"apache\"");
    assert_int_equal(o.window_us, INT64_C(7) * 86400 * 1000000);
    assert_string_equal(o.token_file, "t");
    assert_string_equal(o.ca_file, "c");
    assert_true(o.insecure);
    assert_null(o.host);
    assert_int_equal(o.threads, 0);
}

static void test_options__timeouts_list(void **state)
{
    ka_options o;
    const char *error;

    assert_int_equal(parse(&o, &error, "advise",
                           "--timeouts off,0.5,2,1min", *state),
                     APR_SUCCESS);
    assert_int_equal(o.timeout_n, 4);
    assert_int_equal(o.timeouts[0], KA_TIMEOUT_OFF);
    assert_int_equal(o.timeouts[1], 500000);
    assert_int_equal(o.timeouts[3], 60000000);
}

static void test_options__dash_dash_ends_options(void **state)
{
    ka_options o;
    const char *error;

    assert_int_equal(parse(&o, &error, "show", "-- --strange.log", *state),
                     APR_SUCCESS);
    assert_int_equal(o.source_n, 1);
    assert_string_equal(o.sources[0], "--strange.log");
}

static const struct {
    const char *command, *words, *error;
} option_errors[] = {
    {"advise", "--mpm itk",
     "--mpm itk: expected prefork, worker or event (`httpd -V` names it "
     "as Server MPM)"},
    {"advise", "--memory lots",
     "--memory lots: expected a size such as 512K, 64M or 2G"},
    {"advise", "--process-memory 0",
     "--process-memory 0: expected a size such as 512K, 64M or 2G"},
    {"advise", "--timeout -1",
     "--timeout -1: expected the present KeepAliveTimeout, such as 5, "
     "400ms or off"},
    {"advise", "--proxy-idle 0",
     "--proxy-idle 0: expected the proxy's idle timeout towards httpd, "
     "such as 60 or 350"},
    {"advise", "--growth 0",
     "--growth 0: expected a factor from 0.1 to 1000, such as 1.5"},
    {"advise", "--reuse-loss 90",
     "--reuse-loss 90: expected a percentage from 0 to 50, such as 1"},
    {"advise", "--max-request-workers 2.5",
     "--max-request-workers 2.5: expected a whole number from 1 to "
     "1000000"},
    {"advise", "--max-keepalive-requests x",
     "--max-keepalive-requests x: expected a whole number up to 1000000, "
     "0 for no limit"},
    {"advise", "--timeouts 1,,x",
     "--timeouts 1,,x: expected up to 64 timeouts with commas between, "
     "such as off,0.5,2,15,1min"},
    {"advise", "--since yesterday",
     "--since yesterday: expected a time such as 2026-11-30, "
     "2026-11-30T12:00, 2026-11-30T12:00:00+01:00 or @1764504000 (UTC "
     "without a zone)"},
    {"advise", "--threads 0",
     "--threads 0: expected a whole number from 1 to 16"},
    {"profile", "--threads 17",
     "--threads 17: expected a whole number from 1 to 16"},
    {"advise", "--window 0",
     "--window 0: expected how far back to look, such as 1h or 7d"},
    {"profile", "--host=",
     "--host \"\": expected something, not an empty string"},
    {"advise", "--host web1",
     "`kaadvisor advise` has no option --host; see `kaadvisor advise "
     "--help`"},
    {"profile", "--output json",
     "`kaadvisor profile` has no option --output; see `kaadvisor profile "
     "--help`"},
    {"advise", "--output html",
     "--output html: expected text, json or conf"},
    {"advise", "--vhost=",
     "--vhost \"\": expected something, not an empty string"},
    {"advise", "--nonsense",
     "unknown option --nonsense; `kaadvisor advise --help` lists those "
     "that there are"},
    {"advise", "--memory",
     "option --memory needs a value; see `kaadvisor advise --help`"},
    {"show", "--memory 2G",
     "`kaadvisor show` has no option --memory; see `kaadvisor show "
     "--help`"},
    {"formula", "--rps many",
     "--rps many: expected requests per second, such as 50"},
    {"formula", "--keepalive-requests -2",
     "--keepalive-requests -2: expected requests per connection, such as "
     "2.5"}};

static void test_options__errors_name_option_value_and_remedy(void **state)
{
    ka_options o;
    const char *error;
    size_t i;

    for (i = 0; i < sizeof(option_errors) / sizeof(option_errors[0]); i++) {
        assert_int_equal(parse(&o, &error, option_errors[i].command, option_errors[i].words,
                               *state),
                         APR_EINVAL);
        assert_non_null(error);
        assert_string_equal(error, option_errors[i].error);
    }
}

static void test_options__usage_lists_each_option_of_a_command(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    ka_options_usage(out, command_named("formula"));
    fclose(out);
    assert_non_null(strstr(text, "--keepalive-requests K"));
    assert_non_null(strstr(text, "-o, --output-file FILE"));
    assert_null(strstr(text, "--proxy-idle"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_options__facts_and_sources_in_any_order),
        unit_test(test_options__timeout_off_is_keepalive_off),
        unit_test(test_options__connections_is_for_show),
        unit_test(test_options__of_a_fleet),
        unit_test(test_options__timeouts_list),
        unit_test(test_options__dash_dash_ends_options),
        unit_test(test_options__errors_name_option_value_and_remedy),
        unit_test(test_options__usage_lists_each_option_of_a_command)};

    return unit_main(tests);
}
