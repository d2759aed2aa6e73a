/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Requests of each child, from the segment of an httpd that was found. */
#include <ka_segment_writer.h>

#include "commands/host_segment.h"
#include "hosttree.h"

#define PARENT 900 /* as the host sees it; 1 in its own name space */
#define SEGMENT "/run/apache2/kastats.seg"

typedef struct fixture {
    hosttree *tree;
    ka_segment_header *header;
    uint64_t size;
    ka_cfg_server server;
    ka_httpd_instance instance;
    ka_httpd httpd;
    apr_array_header_t *processes;
} fixture;

static void process(fixture *f, int pid, int ppid, int inner)
{
    apr_pool_t *pool = f->tree->pool;
    const char *status =
        inner == pid
            ? apr_psprintf(pool, "Name:\tapache2\nNSpid:\t%d\n", pid)
            : apr_psprintf(pool, "Name:\tapache2\nNSpid:\t%d\t%d\n", pid,
                           inner);

    hosttree_text(f->tree, apr_psprintf(pool, "/proc/%d/status", pid), status);
    APR_ARRAY_PUSH(f->processes, ka_process) =
        (ka_process){.pid = pid, .ppid = ppid, .comm = "apache2"};
}

static void child(fixture *f, int pid, int inner, uint64_t requests)
{
    ka_writer writer;

    process(f, pid, PARENT, inner);
    ka_writer_attach(&writer, f->header, inner, 0, 0);
    writer.slot->requests = requests;
}

static void save(fixture *f)
{
    hosttree_bytes(f->tree, SEGMENT, f->header, f->size);
}

static fixture *make(hosttree *tree)
{
    ka_segment_plan plan = {.vhost_n = 2, .slot_n = 4, .stripe_n = 1};
    fixture *f = apr_pcalloc(tree->pool, sizeof(*f));

    f->tree = tree;
    ka_segment_plan_fit(&plan);
    f->size = ka_segment_size(&plan);
    f->header = apr_pcalloc(tree->pool, f->size);
    ka_segment_format(f->header, &plan, 1000000, 1000000);
    f->header->parent_pid = 1;
    f->instance = (ka_httpd_instance){.pid = PARENT};
    f->server.runtime_dir = "/run/apache2";
    f->httpd = (ka_httpd){.instance = &f->instance,
                          .files = tree->root,
                          .server = &f->server};
    f->processes = apr_array_make(tree->pool, 4, sizeof(ka_process));
    process(f, PARENT, 500, 1);
    child(f, 910, 7, 300);
    child(f, 911, 8, 0);
    process(f, 912, PARENT, 9); /* as rotatelogs: it serves none */
    process(f, 7, 2, 7);        /* a process of the host */
    save(f);
    return f;
}

static size_t requests_of(ka_memory_requests **out, fixture *f)
{
    return ka_host_requests(out, &f->httpd, f->tree->root, f->processes,
                            f->tree->pool);
}

static void test_requests__pids_are_those_outside(void **state)
{
    fixture *f = make(*state);
    ka_memory_requests *requests;

    assert_int_equal(requests_of(&requests, f), 2);
    assert_int_equal(requests[0].pid, 910);
    assert_int_equal(requests[0].requests, 300);
    assert_int_equal(requests[1].pid, 911);
    assert_int_equal(requests[1].requests, 0);
}

static void test_requests__the_segment_is_where_it_is_configured(void **state)
{
    fixture *f = make(*state);
    ka_memory_requests *requests;

    f->server.runtime_dir = NULL;
    assert_int_equal(requests_of(&requests, f), 0);
    f->server.pid_file = "/run/apache2/apache2.pid";
    assert_int_equal(requests_of(&requests, f), 2);
    f->server.kastats_file = "/run/other.seg";
    assert_int_equal(requests_of(&requests, f), 0);
    f->server.kastats_file = SEGMENT;
    assert_int_equal(requests_of(&requests, f), 2);
    f->httpd.server = NULL; /* its configuration is not known */
    assert_int_equal(requests_of(&requests, f), 0);
}

/* Pids are given again: those of a server that is gone mean nothing. */
static void test_requests__not_of_another_parent(void **state)
{
    fixture *f = make(*state);
    ka_memory_requests *requests;

    f->header->parent_pid = 77;
    save(f);
    assert_int_equal(requests_of(&requests, f), 0);
}

static void test_requests__not_of_a_writer_that_counts_none(void **state)
{
    fixture *f = make(*state);
    ka_memory_requests *requests;

    f->header->minor = 0;
    save(f);
    assert_int_equal(requests_of(&requests, f), 0);
    memset(f->header, 'x', f->size);
    save(f);
    assert_int_equal(requests_of(&requests, f), 0);
}

static void test_inner_pid__what_is_not_told(void **state)
{
    static const struct {
        const char *status;
        int pid;
    } cases[] = {{"Name:\tx\n", 40},
                 {"Name:\tx\nNSpid:\t40\t12\t3\nNSpgid:\t5\n", 3},
                 {"Name:\tx\nNSpid:\t40\n7\n", 40},
                 {"Name:\tx\nNSpid:\t40\tx\n", 40},
                 {"Name:\tx\nNSpid:\t99999999999999\n", 40},
                 {"Name:\tx\nNSpid:\t-4\n", 40},
                 {"Name:\tx\nNSpid:", 40},
                 {"", 40}};
    hosttree *tree = *state;
    size_t i;

    assert_int_equal(ka_process_inner_pid(tree->root, 40, tree->pool), 40);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hosttree_text(tree, "/proc/40/status", cases[i].status);
        assert_int_equal(ka_process_inner_pid(tree->root, 40, tree->pool),
                         cases[i].pid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_requests__pids_are_those_outside),
        hosttree_test(test_requests__the_segment_is_where_it_is_configured),
        hosttree_test(test_requests__not_of_another_parent),
        hosttree_test(test_requests__not_of_a_writer_that_counts_none),
        hosttree_test(test_inner_pid__what_is_not_told)};

    return unit_main(tests);
}
