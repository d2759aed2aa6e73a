/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "ka_proxied.h"

static void test_proxied__applications_and_servers(void **state)
{
    static const struct {
        const char *filename;
        bool application;
    } cases[] = {{NULL, false},
                 {"", false},
                 {"/srv/www/fcgi:", false},
                 {"proxy:", false},
                 {"proxy:http://127.0.0.1:8080/", false},
                 {"proxy:balancer://fcgi:/", false},
                 {"proxy:fcgi://127.0.0.1:9000/srv/a.php", true},
                 {"proxy:scgi://127.0.0.1:4000/", true},
                 {"proxy:uwsgi://127.0.0.1:4000/", true},
                 {"proxy:unix:/run/php.sock|fcgi://localhost/a.php", true},
                 {"proxy:unix:/run/app.sock|http://localhost/", false},
                 {"proxy:unix:/run/app.sock", false}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ka_proxied_is_application(cases[i].filename),
                         cases[i].application);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_proxied__applications_and_servers)};

    return unit_main(tests);
}
