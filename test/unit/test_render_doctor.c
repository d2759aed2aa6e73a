/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "golden.h"
#include "commands/doctor.h"

#define ROOT(name) "test/data/proc/" name

static ka_doctor *read_root(const char *root, apr_pool_t *pool)
{
    ka_doctor *doctor = apr_palloc(pool, sizeof(*doctor));
    size_t i;

    ka_doctor_read(doctor, root, pool);
    doctor->generated_us = INT64_C(1767225600) * 1000000;
    /* What discovery says of a copy is its own matter. */
    for (i = 0; i < doctor->httpd_n; i++) {
        apr_array_header_t *missing =
            apr_array_make(pool, 1, sizeof(const char *));

        APR_ARRAY_PUSH(missing, const char *) = "its \033[1m binary";
        doctor->httpds[i].missing = missing;
        doctor->httpds[i].label = "apache2, pid \xff\n812";
    }
    return doctor;
}

static const char *rendered(const ka_doctor *doctor, bool json, int width,
                            apr_pool_t *pool)
{
    ka_render_options options = {.width = width};
    char *text = NULL, *copy;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    assert_int_equal(json ? ka_render_doctor_json(out, doctor)
                          : ka_render_doctor_text(out, doctor, &options),
                     APR_SUCCESS);
    assert_int_equal(fclose(out), 0);
    copy = apr_pstrmemdup(pool, text, length);
    free(text);
    return copy;
}

/* As if its configuration had been found. */
static void configure(ka_doctor_httpd *h)
{
    ka_fact *facts = h->settings.facts;

    h->mpm = KA_MPM_PREFORK;
    h->mpm_origin = "/usr/sbin/apache2 -V";
    facts[KA_SETTING_MAX_REQUEST_WORKERS] =
        (ka_fact){true, false, 150, "/etc/apache2/mpm.conf:7"};
    facts[KA_SETTING_KEEP_ALIVE] =
        (ka_fact){true, true, 1, "assumed: httpd's default"};
    facts[KA_SETTING_KEEP_ALIVE_TIMEOUT] =
        (ka_fact){true, false, 2500000, "/etc/apache2/apache2.conf:\x1b[m"};
}

static void test_render_doctor__golden(void **state)
{
    static const struct {
        const char *root, *text, *json;
    } cases[] = {
        {ROOT("prefork-v2"), "doctor-prefork.txt", "doctor-prefork.json"},
        {ROOT("not-root"), "doctor-not-root.txt", "doctor-not-root.json"},
        {ROOT("docker-v1"), "doctor-docker.txt", "doctor-docker.json"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_doctor *doctor = read_root(cases[i].root, *state);

        if (i == 0) {
            configure(&doctor->httpds[0]);
        }
        golden_check(cases[i].text, rendered(doctor, false, 80, *state),
                     *state);
        golden_check(cases[i].json, rendered(doctor, true, 0, *state), *state);
    }
}

static void test_render_doctor__fits_the_page(void **state)
{
    const ka_doctor *doctor = read_root(ROOT("prefork-v2"), *state);
    int width;

    for (width = 80; width <= 200; width += 40) {
        assert_true(golden_width(rendered(doctor, false, width, *state)) <=
                    (size_t)width);
    }
}

static void test_render_doctor__nothing_there_is_said(void **state)
{
    const ka_doctor *doctor = read_root(ROOT("no-such-directory"), *state);
    const char *text = rendered(doctor, false, 80, *state);

    assert_non_null(strstr(text, "No httpd is running here"));
    assert_non_null(strstr(text, "/proc cannot be read"));
    assert_non_null(
        strstr(rendered(doctor, true, 0, *state), "\"httpds\": []"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_render_doctor__golden),
        unit_test(test_render_doctor__fits_the_page),
        unit_test(test_render_doctor__nothing_there_is_said)};

    return unit_main(tests);
}
