/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_file_io.h>
#include <apr_strings.h>

#include "unit.h"
#include "ka_segment_file.h"

static const ka_segment_plan plan = {
    .vhost_n = 2, .slot_n = 2, .history_n = 3, .recent_n = 2, .stripe_n = 1};

static apr_status_t remove_dir(void *path)
{
    const char *suffixes[] = {"/s", "/s.old", "/s.new", "/s2", ""};
    char name[128];
    size_t i;

    for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", (const char *)path, suffixes[i]);
        if (remove(name) != 0) {
            continue;
        }
    }
    return APR_SUCCESS;
}

/* A path in a directory of the test's own. */
static const char *path_made(apr_pool_t *pool)
{
    char *dir = apr_pstrdup(pool, "/tmp/ka-segment-XXXXXX");

    assert_non_null(mkdtemp(dir));
    apr_pool_cleanup_register(pool, dir, remove_dir, apr_pool_cleanup_null);
    return apr_pstrcat(pool, dir, "/s", NULL);
}

static apr_status_t create(ka_segment_map *map, const char *path,
                           apr_pool_t *pool)
{
    const char *error = NULL;
    apr_status_t rv =
        ka_segment_create(map, path, 0640, &plan, 1000, 2000, &error, pool);

    assert_true((rv == APR_SUCCESS) == (error == NULL));
    return rv;
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

static void test_create__has_mode_size_and_blocks(void **state)
{
    const char *path = path_made(*state);
    mode_t before = umask(077);
    ka_segment_map map;
    struct stat st;

    assert_int_equal(create(&map, path, *state), APR_SUCCESS);
    umask(before);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_size, ka_segment_size(&plan));
    assert_true((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size);
    assert_true(ka_segment_is_at(&map, path));
    ka_segment_unmap(&map);
    assert_null(map.header);
}

static void test_create__what_is_written_is_loaded(void **state)
{
    const char *path = path_made(*state);
    const ka_segment_header *read;
    ka_segment_map map;
    const char *error;

    assert_int_equal(create(&map, path, *state), APR_SUCCESS);
    map.header->generation = 17;
    assert_int_equal(ka_segment_load(&read, path, &error, *state), APR_SUCCESS);
    assert_int_equal(read->generation, 17);
    assert_int_equal(read->started_at, 1000);
    ka_segment_unmap(&map);
}

static void test_create__keeps_the_one_before(void **state)
{
    const char *path = path_made(*state);
    const char *old = apr_pstrcat(*state, path, ".old", NULL);
    const ka_segment_header *read;
    ka_segment_map first, second, third;
    const char *error;

    assert_int_equal(create(&first, path, *state), APR_SUCCESS);
    first.header->generation = 1;
    assert_int_equal(create(&second, path, *state), APR_SUCCESS);
    second.header->generation = 2;
    assert_false(ka_segment_is_at(&first, path));
    assert_true(ka_segment_is_at(&second, path));
    assert_int_equal(ka_segment_load(&read, old, &error, *state), APR_SUCCESS);
    assert_int_equal(read->generation, 1);
    assert_int_equal(create(&third, path, *state), APR_SUCCESS);
    assert_int_equal(ka_segment_load(&read, old, &error, *state), APR_SUCCESS);
    assert_int_equal(read->generation, 2);
    ka_segment_unmap(&first);
    ka_segment_unmap(&second);
    ka_segment_unmap(&third);
}

static void test_create__replaces_what_is_no_segment(void **state)
{
    const char *path = path_made(*state);
    ka_segment_map map;

    write_file(path, "rubbish", 7);
    assert_int_equal(create(&map, path, *state), APR_SUCCESS);
    assert_true(ka_segment_is_at(&map, path));
    ka_segment_unmap(&map);
}

static void test_create__leaves_no_trace_when_it_fails(void **state)
{
    const char *path = path_made(*state);
    const char *temp = apr_pstrcat(*state, path, ".new", NULL);
    struct rlimit limit, tight;
    ka_segment_map map;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 4096; /* as good as a full disk */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_int_not_equal(create(&map, path, *state), APR_SUCCESS);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_null(map.header);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(temp, F_OK), 0);
}

static void test_create__refuses_odd_places(void **state)
{
    const char *path = path_made(*state);
    ka_segment_map map;

    assert_int_equal(create(&map, "/tmp", *state), APR_EEXIST);
    assert_int_not_equal(create(&map, "/nonexistent/dir/s", *state),
                         APR_SUCCESS);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(create(&map, path, *state), APR_EEXIST);
}

static void test_is_at__sees_removal_and_truncation(void **state)
{
    const char *path = path_made(*state);
    ka_segment_map map;

    assert_int_equal(create(&map, path, *state), APR_SUCCESS);
    assert_int_equal(truncate(path, 4096), 0);
    assert_false(ka_segment_is_at(&map, path));
    assert_int_equal(remove(path), 0);
    assert_false(ka_segment_is_at(&map, path));
    ka_segment_unmap(&map);
    assert_false(ka_segment_is_at(&map, path));
}

static void test_load__refuses_with_a_clause(void **state)
{
    const char *path = path_made(*state);
    const char *copy = apr_pstrcat(*state, path, "2", NULL);
    const ka_segment_header *read;
    const char *error = NULL;
    ka_segment_map map;

    assert_int_not_equal(ka_segment_load(&read, path, &error, *state), 0);
    assert_string_equal(error, "cannot open it");
    assert_int_not_equal(ka_segment_load(&read, "/tmp", &error, *state), 0);
    assert_non_null(error);
    assert_int_equal(ka_segment_load(&read, "/dev/zero", &error, *state),
                     APR_EINVAL);
    assert_string_equal(error, "it is not a regular file");
    write_file(copy, "", 0);
    assert_int_equal(ka_segment_load(&read, copy, &error, *state), APR_EINVAL);
    write_file(copy, "127.0.0.1 - - [x] \"GET / HTTP/1.1\" 200 5\n", 42);
    assert_int_equal(ka_segment_load(&read, copy, &error, *state), APR_EINVAL);
    assert_string_equal(error, "it is not a segment of mod_kastats");
    assert_int_equal(create(&map, path, *state), APR_SUCCESS);
    assert_int_equal(truncate(path, 2048), 0);
    assert_int_equal(ka_segment_load(&read, path, &error, *state), APR_EINVAL);
    assert_string_equal(error, "it is truncated");
    assert_null(read);
    ka_segment_unmap(&map);
}

static void test_load__does_not_hang_on_a_fifo(void **state)
{
    const char *path = path_made(*state);
    const ka_segment_header *read;
    const char *error;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ka_segment_load(&read, path, &error, *state), APR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_create__has_mode_size_and_blocks),
        unit_test(test_create__what_is_written_is_loaded),
        unit_test(test_create__keeps_the_one_before),
        unit_test(test_create__replaces_what_is_no_segment),
        unit_test(test_create__leaves_no_trace_when_it_fails),
        unit_test(test_create__refuses_odd_places),
        unit_test(test_is_at__sees_removal_and_truncation),
        unit_test(test_load__refuses_with_a_clause),
        unit_test(test_load__does_not_hang_on_a_fifo),
    };

    return unit_main(tests);
}
