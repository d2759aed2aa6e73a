/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * R16 and R17: classes by themselves, and what backends must bear. */
#include "parts_fixture.h"

#include "advice/classes.h"
#include "model/erlang.h"

/* ---- requests at once [M12] ---------------------------------------------- */

static void test_classes__m12_the_whole_gives_the_whole(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_outcome *o = &f->outcomes[NOW];

    assert_near(ka_class_peak(o, 1, 1), o->busy.workers, 0);
    assert_true(ka_class_peak(o, 0.5, 1) < o->busy.workers);
    assert_true(ka_class_peak(o, 0.5, 1) > o->busy.workers / 2);
    assert_true(ka_class_peak(o, 1, 2) > o->busy.workers);
    assert_near(ka_class_peak(o, 0, 1), 0, 0);
    /* Four children have more together than one server alone. */
    assert_true(4 * ka_class_peak_of_part(o, 1, 1, 4) > o->busy.workers);
}

static void test_classes__nothing_busy_needs_nothing(void **state)
{
    ka_outcome idle = {0}, infinite = {.busy = {.mean = 1}};

    (void)state;
    infinite.busy.workers = INFINITY;
    assert_near(ka_class_peak(&idle, 1, 1), 0, 0);
    assert_near(ka_class_peak(&infinite, 1, 1), 0, 0);
}

/* ---- R16 ----------------------------------------------------------------- */

static void test_classes__both_are_reported(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_by_class *by = &advise(f, POOL(state))->by_class;
    const ka_class_advice *fixed = &by->classes[KA_CLASS_STATIC];
    const ka_class_advice *program = &by->classes[KA_CLASS_DYNAMIC];

    assert_true(by->known);
    assert_int_equal(by->timeout_us, 5 * S); /* 15 s was never seen */
    assert_near(fixed->requests_share, 0.75, 1e-9);
    assert_near(program->service_s, 0.4, 1e-9);
    assert_near(program->busy_mean, 5000 / 7200.0 * 0.4, 1e-9);
    assert_near(program->busy_share, 2000 / 2150.0, 1e-9);
    assert_near(program->reuse, 0, 0);
    assert_near(fixed->reuse, 11500 / 15000.0, 1e-9);
    assert_near(fixed->idle_mean + program->idle_mean,
                f->outcomes[NOW].idle_mean, 0.01);
    assert_true(program->alone_us == KA_TIMEOUT_OFF);
    assert_int_equal(fixed->alone_us, 5 * S);
    assert_true(fixed->alone_longer);
}

static void test_classes__r16_closing_after_dynamic_ones_pays(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_by_class *by = &advise(f, POOL(state))->by_class;
    size_t i;

    assert_true(by->classes[KA_CLASS_DYNAMIC].close_pays);
    assert_has(by->verdict, "would free");
    assert_true(by->line_n > 2);
    assert_string_equal(by->lines[0], "SetEnvIf Request_URI \"^\" nokeepalive");
    for (i = 1; i < by->line_n; i++) {
        assert_has(by->lines[i], "!nokeepalive");
        assert_true(strlen(by->lines[i]) < 160);
    }
    assert_has(by->lines[1], "\\.(7z|");
    assert_has(by->lines[by->line_n - 1], "|zst)$\"");
}

static void opens_many(fixture *f)
{
    /* each second dynamic request is followed at once: pages with files */
    ka_hist_add_n(&f->profile->classes[KA_CLASS_DYNAMIC].gap, 50000, 2500);
    ka_hist_add_n(&f->profile->total.gap, 50000, 2500);
}

static void frees_little(fixture *f)
{
    f->profile->classes[KA_CLASS_DYNAMIC].requests = 300;
}

static void on_event(fixture *f)
{
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
}

static void no_static(fixture *f)
{
    f->profile->classes[KA_CLASS_STATIC].requests = 0;
}

/* Then it is KeepAlive Off for all. */
static void static_wants_off(fixture *f)
{
    ka_hist_init(&f->profile->classes[KA_CLASS_STATIC].gap);
    ka_hist_add_n(&f->profile->classes[KA_CLASS_DYNAMIC].gap, 50000, 1);
}

static void test_classes__r16_only_where_it_pays(void **state)
{
    void (*const causes[])(fixture *f) = {opens_many, frees_little, on_event,
                                          no_static, static_wants_off};
    size_t i;

    for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        fixture *f = make_parts(POOL(state));
        const ka_by_class *by;

        causes[i](f);
        by = &advise(f, POOL(state))->by_class;
        assert_true(by->known);
        assert_false(by->classes[KA_CLASS_DYNAMIC].close_pays);
        assert_int_equal(by->line_n, 0);
        assert_non_null(by->verdict);
    }
}

static void test_classes__unknown_is_not_invented(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_by_class *by;

    ka_hist_init(&f->profile->classes[KA_CLASS_DYNAMIC].service);
    by = &advise(f, POOL(state))->by_class;
    assert_false(by->classes[KA_CLASS_DYNAMIC].busy_known);
    assert_near(by->classes[KA_CLASS_DYNAMIC].busy_peak, 0, 0);
    f = make_parts(POOL(state));
    ka_hist_init(&f->profile->classes[KA_CLASS_STATIC].gap);
    by = &advise(f, POOL(state))->by_class;
    assert_false(by->classes[KA_CLASS_STATIC].idle_known);
    assert_has(by->verdict, "is not told");
    f = make_parts(POOL(state));
    f->profile->total.requests = 99; /* refused */
    assert_false(advise(f, POOL(state))->by_class.known);
}

/* ---- R17 ------------------------------------------------------------------ */

static const char fcgid[] = "LoadModule mpm_prefork_module x.so\n"
                            "FcgidMaxProcesses 3\n";

static void test_backends__r17_fcgid_is_raised_never_lowered(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row;
    int64_t peak = (int64_t)ka_class_peak(&f->outcomes[3], 2000 / 2150.0, 1);

    set_site(f, TREE(state), fcgid);
    row = row_of(advise(f, POOL(state)), "FcgidMaxProcesses");
    assert_non_null(row);
    assert_string_equal(row->rule, "R17");
    assert_string_equal(row->from, "3");
    assert_string_equal(row->to,
                        apr_psprintf(POOL(state), "%d", (int)peak));
    assert_true(peak > 3);
    assert_true(row->change);
    assert_string_equal(row->where, "/etc/httpd/test.conf:2");
    assert_has(row->because, "0.69 dynamic requests a second x 400ms");
    f = make_parts(POOL(state));
    set_site(f, TREE(state), "FcgidMaxProcesses 500\n");
    row = row_of(advise(f, POOL(state)), "FcgidMaxProcesses");
    assert_string_equal(row->to, "500");
    assert_false(row->change);
}

static void test_backends__r17_needs_service_times_and_a_site(void **state)
{
    fixture *f = make_parts(POOL(state));

    assert_null(row_of(advise(f, POOL(state)), "FcgidMaxProcesses"));
    f = make_parts(POOL(state));
    set_site(f, TREE(state), fcgid);
    ka_hist_init(&f->profile->classes[KA_CLASS_DYNAMIC].service);
    assert_null(row_of(advise(f, POOL(state)), "FcgidMaxProcesses"));
}

static void test_backends__r17_proxy_max_counts_for_each_child(void **state)
{
    static const char conf[] = "LoadModule mpm_worker_module x.so\n"
                               "ProxyPass /app http://10.0.0.1/ max=1\n";
    fixture *f = make_parts(POOL(state));
    const ka_advice *row;

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_WORKER, false, "test");
    ka_server_set(&f->server, KA_FACT_THREADS_PER_CHILD, 25, false, "test");
    set_site(f, TREE(state), conf);
    row = row_of(advise(f, POOL(state)), "ProxyPass max=");
    assert_non_null(row);
    assert_true(atoi(row->to) > 1);
    assert_true(atoi(row->to) <= 25);
    assert_true(row->change);
    /* On prefork a child has one request, and so one connection. */
    f = make_parts(POOL(state));
    set_site(f, TREE(state),
             "LoadModule mpm_prefork_module x.so\n"
             "ProxyPass /app http://10.0.0.1/ max=1\n");
    row = row_of(advise(f, POOL(state)), "ProxyPass max=");
    assert_string_equal(row->to, "1");
    assert_false(row->change);
}

/* ---- php-fpm -------------------------------------------------------------- */

static const char php[] =
    "LoadModule mpm_prefork_module x.so\n"
    "<FilesMatch \"\\.php$\">\n"
    "SetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"\n"
    "</FilesMatch>\n";

static ka_site *set_fpm(fixture *f, hosttree *tree, int children)
{
    ka_site *s = set_site(f, tree, php);

    s->fpm_pools = apr_array_make(tree->pool, 1, sizeof(ka_fpm_pool));
    ka_fpm_parse(s->fpm_pools,
                 apr_psprintf(tree->pool,
                              "[www]\nlisten = /run/php.sock\n"
                              "pm.max_children = %d\n",
                              children),
                 "/etc/pool.conf", tree->pool);
    return s;
}

/* Running ones of 100 MB each, and a machine with so much for all. */
static void set_memory(ka_site *s, int processes, int64_t budget,
                       int64_t limit, apr_pool_t *pool)
{
    ka_service *service;

    s->others.services = apr_array_make(pool, 1, sizeof(ka_service));
    service = apr_array_push(s->others.services);
    *service = (ka_service){.name = "php-fpm8.2",
                            .kind = "PHP",
                            .processes = processes,
                            .bytes = processes * 100 * M};
    s->budget.bounds = apr_pcalloc(pool, sizeof(*s->budget.bounds));
    s->budget.bounds[0].limit = limit;
    s->budget.n = 1;
    s->budget.bytes = budget;
}

static void test_backends__r17_php_fpm_by_its_socket(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row;

    set_fpm(f, TREE(state), 2);
    row = row_of(advise(f, POOL(state)), "pm.max_children");
    assert_non_null(row);
    assert_string_equal(row->from, "2");
    assert_true(atoi(row->to) > 2);
    assert_string_equal(row->where, "/etc/pool.conf:3");
    assert_has(row->because, "was not measured");
}

static void test_backends__r17_php_fpm_within_memory(void **state)
{
    fixture *f = make_parts(POOL(state));
    ka_site *s = set_fpm(f, TREE(state), 2);
    const ka_advice *row;

    /* httpd's 120 workers at 15 s take 1200M: 100M are left */
    set_memory(s, 3, 1300 * M, 4000 * M, POOL(state));
    row = row_of(advise(f, POOL(state)), "pm.max_children");
    assert_string_equal(row->to, "4");
    assert_has(row->because, "memory holds 4 of them");
    f = make_parts(POOL(state));
    s = set_fpm(f, TREE(state), 2);
    set_memory(s, 3, 9000 * M, 12000 * M, POOL(state));
    row = row_of(advise(f, POOL(state)), "pm.max_children");
    assert_true(atoi(row->to) > 4);
    assert_has(row->because, "that fits");
    assert_null(warning_of(&f->report, "php_fpm_memory"));
}

static void test_backends__r17_more_children_than_the_machine_has(void **state)
{
    fixture *f = make_parts(POOL(state));
    ka_site *s = set_fpm(f, TREE(state), 50);

    set_memory(s, 3, 3000 * M, 4000 * M, POOL(state));
    assert_has(warning_of(advise(f, POOL(state)), "php_fpm_memory"),
               "may start 50 children");
}

static void test_backends__r17_reuse_and_idle_limits(void **state)
{
    static const struct {
        const char *conf;
        bool reuse, idle;
    } cases[] = {
        {"ProxyPass /a http://10.0.0.1/ disablereuse=on\n", true, false},
        {"ProxyPass /a http://10.0.0.1/\n", false, true},
        {"ProxyPass /a http://10.0.0.1/ ttl=4\n", false, false},
        {"ProxyPass /a fcgi://127.0.0.1:9000/\n", false, false},
        {"RewriteRule ^/a(.*) http://10.0.0.1/$1 [P]\n", true, false}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture *f = make_parts(POOL(state));
        ka_report *r;

        set_site(f, TREE(state), cases[i].conf);
        r = advise(f, POOL(state));
        assert_int_equal(warning_of(r, "backend_not_reused") != NULL,
                         cases[i].reuse);
        assert_int_equal(warning_of(r, "backend_idle_limit") != NULL,
                         cases[i].idle);
    }
}

static void test_backends__one_named_twice_is_one(void **state)
{
    fixture *f = make_parts(POOL(state));
    size_t i, n = 0;
    ka_report *r;

    set_site(f, TREE(state),
             "<VirtualHost *:80>\nProxyPass / http://10.0.0.1/ max=1\n"
             "</VirtualHost>\n<VirtualHost *:443>\n"
             "ProxyPass / http://10.0.0.1/ max=1\n</VirtualHost>\n");
    r = advise(f, POOL(state));
    for (i = 0; i < r->advice_n; i++) {
        n += !strcmp(r->advice[i].directive, "ProxyPass max=");
    }
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_classes__m12_the_whole_gives_the_whole),
        hosttree_test(test_classes__nothing_busy_needs_nothing),
        hosttree_test(test_classes__both_are_reported),
        hosttree_test(test_classes__r16_closing_after_dynamic_ones_pays),
        hosttree_test(test_classes__r16_only_where_it_pays),
        hosttree_test(test_classes__unknown_is_not_invented),
        hosttree_test(test_backends__r17_fcgid_is_raised_never_lowered),
        hosttree_test(test_backends__r17_needs_service_times_and_a_site),
        hosttree_test(test_backends__r17_proxy_max_counts_for_each_child),
        hosttree_test(test_backends__r17_php_fpm_by_its_socket),
        hosttree_test(test_backends__r17_php_fpm_within_memory),
        hosttree_test(test_backends__r17_more_children_than_the_machine_has),
        hosttree_test(test_backends__r17_reuse_and_idle_limits),
        hosttree_test(test_backends__one_named_twice_is_one)};

    return unit_main(tests);
}
