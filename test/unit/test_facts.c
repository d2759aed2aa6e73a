/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include <ka_units.h>
#include "host/facts.h"

static void test_facts__mpm_names(void **state)
{
    static const struct {
        const char *text;
        int mpm;
    } cases[] = {{"prefork", KA_MPM_PREFORK},
                 {"Event", KA_MPM_EVENT},
                 {"mpm_worker", KA_MPM_WORKER},
                 {"mpm_event_module", KA_MPM_EVENT},
                 {"eventful", -1},
                 {"", -1},
                 {"mpm_", -1},
                 {NULL, -1}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ka_mpm_parse(cases[i].text), cases[i].mpm);
    }
}

static void test_facts__unknown_stays_unknown(void **state)
{
    char buffer[KA_UNITS_BUFFER];
    ka_server server;
    int i;

    (void)state;
    ka_server_init(&server);
    for (i = 0; i < KA_FACTS; i++) {
        assert_false(server.facts[i].known);
        assert_string_equal(ka_fact_text(buffer, &server, (ka_fact_id)i),
                            "unknown");
        assert_int_equal(ka_server_get(&server, (ka_fact_id)i, -7), -7);
        assert_non_null(ka_fact_info_of((ka_fact_id)i)->key);
    }
}

static void test_facts__text_has_the_unit(void **state)
{
    static const struct {
        ka_fact_id id;
        int64_t value;
        const char *text;
    } cases[] = {{KA_FACT_ID_MPM, KA_MPM_EVENT, "event"},
                 {KA_FACT_KEEP_ALIVE, 0, "Off"},
                 {KA_FACT_TIMEOUT, 15000000, "15s"},
                 {KA_FACT_MEMORY, INT64_C(4) << 30, "4G"},
                 {KA_FACT_MAX_REQUEST_WORKERS, 256, "256"}};
    char buffer[KA_UNITS_BUFFER];
    ka_server server;
    size_t i;

    (void)state;
    ka_server_init(&server);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_server_set(&server, cases[i].id, cases[i].value, false, "test");
        assert_string_equal(ka_fact_text(buffer, &server, cases[i].id),
                            cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_facts__mpm_names),
        unit_test(test_facts__unknown_stays_unknown),
        unit_test(test_facts__text_has_the_unit)};

    return unit_main(tests);
}
