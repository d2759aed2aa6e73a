/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Pools of php-fpm, and names of virtual hosts. */
#include "hosttree.h"

#include "host/config_names.h"
#include "host/phpfpm.h"

#define TREE(state) (*(hosttree **)(state))

static const ka_fpm_pool *at(const apr_array_header_t *pools, int i)
{
    assert_true(i < pools->nelts);
    return &APR_ARRAY_IDX(pools, i, ka_fpm_pool);
}

static apr_array_header_t *parse(const char *text, apr_pool_t *pool)
{
    apr_array_header_t *pools = apr_array_make(pool, 1, sizeof(ka_fpm_pool));

    ka_fpm_parse(pools, text, "/p.conf", pool);
    return pools;
}

/* ---- one file ------------------------------------------------------------ */

static void test_phpfpm__pools_with_their_places(void **state)
{
    apr_array_header_t *pools = parse(
        "; a comment\n[global]\npm.max_children = 99\n\n [ www ]\n"
        "listen = /run/php/$pool.sock ; where\n#pm = static\npm=dynamic\n"
        "  pm.max_children  =  \"12\"\n[two]\nlisten = 127.0.0.1:9001\n",
        TREE(state)->pool);

    assert_int_equal(pools->nelts, 2);
    assert_string_equal(at(pools, 0)->name, "www");
    assert_string_equal(at(pools, 0)->listen, "/run/php/www.sock");
    assert_string_equal(at(pools, 0)->pm, "dynamic");
    assert_true(at(pools, 0)->max_children.known);
    assert_int_equal(at(pools, 0)->max_children.value, 12);
    assert_string_equal(at(pools, 0)->max_children.origin, "/p.conf:9");
    assert_string_equal(at(pools, 0)->origin, "/p.conf:5");
    assert_string_equal(at(pools, 1)->name, "two");
    assert_false(at(pools, 1)->max_children.known);
    assert_null(at(pools, 1)->pm);
}

static void test_phpfpm__bad_text_is_no_pool(void **state)
{
    static const char *const texts[] = {
        "",    "[",   "[global]",       "pm.max_children = 3",
        "]\n", "===", "\n\n;[www]\n#[x]"};
    char many[40000];
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(parse(texts[i], TREE(state)->pool)->nelts, 0);
    }
    assert_false(
        at(parse("[a]\npm.max_children = x", TREE(state)->pool), 0)
            ->max_children.known);
    assert_false(
        at(parse("[a]\npm.max_children = -4", TREE(state)->pool), 0)
            ->max_children.known);
    for (i = 0; i + 4 < sizeof(many); i += 4) {
        memcpy(many + i, "[a]\n", 4);
    }
    many[i] = '\0';
    assert_int_equal(parse(many, TREE(state)->pool)->nelts, KA_FPM_POOLS_MAX);
}

/* ---- where they lie ------------------------------------------------------- */

static void test_phpfpm__places_of_distributions(void **state)
{
    static const char *const places[] = {
        "/etc/php/8.2/fpm/pool.d/www.conf", "/etc/php-fpm.d/www.conf",
        "/etc/opt/remi/php82/php-fpm.d/www.conf",
        "/usr/local/etc/php-fpm.d/www.conf"};
    apr_array_header_t *pools = ka_fpm_read(TREE(state)->root,
                                            TREE(state)->pool);
    size_t i;

    assert_int_equal(pools->nelts, 0);
    hosttree_text(TREE(state), "/etc/php/8.2/fpm/pool.d/www.conf.dpkg-old",
                  "[old]\n");
    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        hosttree_text(TREE(state), places[i],
                      "[www]\nlisten = 9000\npm.max_children = 7\n");
        pools = ka_fpm_read(TREE(state)->root, TREE(state)->pool);
        assert_int_equal(pools->nelts, i + 1);
    }
    assert_string_equal(at(pools, 0)->max_children.origin,
                        "/etc/php/8.2/fpm/pool.d/www.conf:3");
}

static void test_phpfpm__by_what_httpd_connects_to(void **state)
{
    static const struct {
        const char *listen, *address;
        bool is;
    } cases[] = {{"/run/php.sock", "/run/php.sock", true},
                 {"/run/php.sock", "/run/other.sock", false},
                 {"127.0.0.1:9000", "127.0.0.1:9000", true},
                 {"127.0.0.1:9000", "localhost:9000", true},
                 {"9000", "127.0.0.1:9000", true},
                 {"[::1]:9000", "[::1]:9000", true},
                 {"9000", "127.0.0.1:9001", false},
                 {"9000", "10.0.0.7:9000", false},
                 {"9000", "/run/php.sock", false}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apr_array_header_t *pools =
            parse(apr_psprintf(TREE(state)->pool, "[a]\nlisten = %s\n",
                               cases[i].listen),
                  TREE(state)->pool);

        if ((ka_fpm_at(pools, cases[i].address) != NULL) != cases[i].is) {
            fail_msg("%s at %s", cases[i].listen, cases[i].address);
        }
        assert_null(ka_fpm_at(pools, NULL));
    }
    assert_null(ka_fpm_at(NULL, "127.0.0.1:9000"));
    assert_null(ka_fpm_at(parse("[a]\n", TREE(state)->pool), "/x"));
}

/* ---- names of virtual hosts ------------------------------------------------ */

static void test_names__of_a_log_and_of_the_configuration(void **state)
{
    static const char conf[] =
        "ServerName main.example\n"
        "<VirtualHost *:80>\nServerName a.example\n</VirtualHost>\n"
        "<VirtualHost *:443>\nServerName https://A.example:443\n"
        "</VirtualHost>\n"
        "<VirtualHost *>\nServerName b.example\nServerAlias *.b.example "
        "a.example\n</VirtualHost>\n"
        "<VirtualHost [::1]:8080>\nServerName [::1]\n</VirtualHost>\n"
        "<VirtualHost *:81>\n</VirtualHost>\n";
    static const struct {
        const char *name;
        int n, first;
    } cases[] = {{"a.example", 2, 1},      {"A.EXAMPLE", 2, 1},
                 {"a.example:443", 1, 2},  {"a.example:80", 1, 1},
                 {"b.example:8443", 1, 3}, {"x.b.example", 1, 3},
                 {"main.example", 1, 0},   {"main.example:80", 1, 0},
                 {"[::1]:8080", 1, 4},     {"[::1]", 1, 4},
                 {"a.example:81", 1, 3},   {"a.exampl", 0, 0},
                 {"", 0, 0},               {":", 0, 0},
                 {"a.example:", 0, 0}};
    ka_cfg_server *server = hosttree_server(TREE(state), conf);
    size_t i;
    int out[4];

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = ka_cfg_vhosts_named(out, 4, server, cases[i].name,
                                       TREE(state)->pool);

        if (n != (size_t)cases[i].n || (n && out[0] != cases[i].first)) {
            fail_msg("%s: %d, %d first", cases[i].name, (int)n, out[0]);
        }
    }
    assert_int_equal(ka_cfg_vhosts_named(out, 1, server, "a.example",
                                         TREE(state)->pool),
                     1);
    assert_int_equal(ka_cfg_vhosts_named(out, 0, server, "a.example",
                                         TREE(state)->pool),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_phpfpm__pools_with_their_places),
        hosttree_test(test_phpfpm__bad_text_is_no_pool),
        hosttree_test(test_phpfpm__places_of_distributions),
        hosttree_test(test_phpfpm__by_what_httpd_connects_to),
        hosttree_test(test_names__of_a_log_and_of_the_configuration)};

    return unit_main(tests);
}
