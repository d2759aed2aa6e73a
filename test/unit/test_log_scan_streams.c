/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Scanning what does not lie still: pipes, files that grow, shrink, vanish or
 * fail meanwhile. */
#include "scans.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

typedef struct writer {
    int fd;
    const char *text;
    size_t length;
    bool leave_open;
    pthread_t thread;
} writer;

/* In pieces of uneven sizes: what a read gives must not matter. */
static void *write_all(void *data)
{
    writer *self = data;

    for (size_t at = 0, piece = 1; at < self->length; piece += 97) {
        const size_t left = self->length - at;
        const ssize_t n =
            write(self->fd, self->text + at, piece < left ? piece : left);

        if (n <= 0) {
            break;
        }
        at += (size_t)n;
    }
    if (!self->leave_open) {
        close(self->fd);
    }
    return NULL;
}

/* A pipe that the text comes out of; returns its path. */
static const char *piped(tempdir *dir, writer *w, int *out)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    w->fd = ends[1];
    *out = ends[0];
    assert_int_equal(pthread_create(&w->thread, NULL, write_all, w), 0);
    return apr_psprintf(dir->pool, "/dev/fd/%d", ends[0]);
}

static void test_scan_streams__pipes_as_files(void **state)
{
    static const char *const names[] = {"log", "log.gz"};
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(5000);

    for (size_t i = 0; i < 2; i++) {
        size_t length;
        const char *path =
            steady_log(dir, names[i], 0, 5000, 1, 1, &length);
        const char *named = "combined";
        const ka_log_options options = {.log_format = i ? named : NULL};
        outcome wanted = read_log(dir, &options, path);
        writer w = {.text = tempdir_read(dir, path, &length)};
        int fd;
        scanned s;

        w.length = length;
        path = piped(dir, &w, &fd);
        s = scan_logs(dir, &options, &path, 1, 2, &limits);
        pthread_join(w.thread, NULL);
        close(fd);
        assert_same(&s, &wanted);
        assert_true(s.batch_n > 2);
        scan_free(&s);
        done(&wanted);
    }
}

/* Lines that detection has looked at are the first chunk, which may have more
 * hits than there is room for. */
static void test_scan_streams__peeked_lines_count_once(void **state)
{
    tempdir *dir = *state;
    ka_scan_limits limits = small_chunks(500);
    const char *text = "\n\nbad\n";
    const char *path;
    outcome wanted;
    writer w = {.fd = -1};
    scanned s;
    int fd;

    for (int i = 0; i < 30; i++) {
        text = apr_pstrcat(dir->pool, text, line_at(dir, i, "/"),
                           i % 10 ? "" : "\nworse\n", NULL);
    }
    wanted = read_log(dir, NULL, tempdir_text(dir, "log", text));
    w.text = text;
    w.length = strlen(text);
    path = piped(dir, &w, &fd);
    limits.hits = 4;
    s = scan_logs(dir, NULL, &path, 1, 2, &limits);
    pthread_join(w.thread, NULL);
    close(fd);
    assert_same_counts(&s.info, &wanted.info);
    assert_same_hits(&s, &wanted);
    assert_int_equal(s.info.sample_n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s.info.samples[i].line, wanted.info.samples[i].line);
    }
    scan_free(&s);
    done(&wanted);
}

/* ---- files that change meanwhile --------------------------------------- */

typedef struct change {
    const char *path;
    const char *text;
    bool made;
} change;

static void grow_file(scanned *self, const ka_hit_batch *batch)
{
    change *c = self->context;
    const int fd = open(c->path, O_WRONLY | O_APPEND);

    (void)batch;
    assert_true(write(fd, c->text, strlen(c->text)) > 0);
    close(fd);
}

static void test_scan_streams__a_growing_file_is_read_up_to_its_size(
    void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    const char *path = steady_log(dir, "log", 0, 1000, 1, 1, &length);
    change c = {.path = path, .text = line_at(dir, 5000, "/")};
    scanned s = {.each = grow_file, .context = &c};

    scan_into(&s, dir, NULL, &path, 1, 2, &limits);
    assert_int_equal(s.status, APR_SUCCESS);
    assert_true(s.batch_n > 3);
    assert_int_equal(s.info.requests, 1000);
    assert_int_equal(s.info.skipped, 0);
    scan_free(&s);
}

static void shrink_file(scanned *self, const ka_hit_batch *batch)
{
    const change *c = self->context;

    (void)batch;
    assert_int_equal(truncate(c->path, 20000), 0);
}

static void test_scan_streams__a_file_that_shrinks_ends_there(void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    const char *path = steady_log(dir, "log", 0, 1000, 1, 1, &length);
    change c = {.path = path};
    scanned s = {.each = shrink_file, .context = &c};

    scan_into(&s, dir, NULL, &path, 1, 2, &limits);
    assert_int_equal(s.status, APR_SUCCESS);
    assert_true(s.info.requests > 180 && s.info.requests < 250);
    assert_int_equal(s.info.cut, 1);
    scan_free(&s);
}

/* Makes the log's descriptor one that cannot be read at a place. */
static void break_file(scanned *self, const ka_hit_batch *batch)
{
    change *c = self->context;
    struct stat log, st;
    int ends[2];

    (void)batch;
    assert_int_equal(stat(c->path, &log), 0);
    assert_int_equal(pipe(ends), 0);
    for (int fd = 3; fd < 100 && !c->made; fd++) {
        if (!fstat(fd, &st) && st.st_ino == log.st_ino
            && st.st_dev == log.st_dev) {
            assert_int_equal(dup2(ends[0], fd), fd);
            c->made = true;
        }
    }
    close(ends[0]);
    close(ends[1]);
}

/* As far as it can be read, and the others in full. */
static void test_scan_streams__a_file_that_fails_is_named(void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    const char *paths[] = {steady_log(dir, "a", 0, 1000, 1, 1, &length),
                           steady_log(dir, "b", 1000, 2000, 1, 1, &length)};
    change c = {.path = paths[0]};
    scanned s = {.each = break_file, .context = &c};

    scan_into(&s, dir, NULL, paths, 2, 2, &limits);
    assert_true(c.made);
    assert_int_equal(s.status, APR_SUCCESS);
    assert_int_equal(s.info.damaged_n, 1);
    assert_non_null(strstr(s.info.damaged[0], paths[0]));
    assert_non_null(strstr(s.info.damaged[0], "from byte 1001 on"));
    assert_true(s.info.requests >= 1000 && s.info.requests < 1100);
    assert_int_equal(s.info.last_us, (NOON + 1999) * SECOND);
    scan_free(&s);
}

static void remove_file(scanned *self, const ka_hit_batch *batch)
{
    const change *c = self->context;

    (void)batch;
    remove(c->path);
}

/* A file that has been rotated away ends it all, also while a decoder waits
 * for a pipe that says nothing any more. */
static void test_scan_streams__a_file_that_vanishes(void **state)
{
    static const ka_log_options options = {.log_format = "combined"};
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    const char *late = steady_log(dir, "late", 9000, 9100, 1, 1, &length);
    writer w = {.text = tempdir_read(dir, late, &length), .leave_open = true};
    int fd;
    const char *paths[3];
    scanned s = {.each = remove_file};
    change c;

    w.length = length;
    paths[0] = piped(dir, &w, &fd);
    paths[1] = steady_log(dir, "a", 0, 1000, 1, 1, &length);
    paths[2] = steady_log(dir, "b", 1000, 2000, 1, 1, &length);
    c.path = paths[2];
    s.context = &c;
    scan_into(&s, dir, &options, paths, 3, 2, &limits);
    pthread_join(w.thread, NULL);
    close(w.fd);
    close(fd);
    assert_true(APR_STATUS_IS_ENOENT(s.status));
    assert_non_null(strstr(s.error, paths[2]));
    scan_free(&s);
}

typedef struct progress {
    int calls;
    int64_t taken, size;
    uint64_t lines;
} progress;

static void note_progress(void *context, int64_t taken, int64_t size,
                          uint64_t lines)
{
    progress *self = context;

    assert_true(taken >= self->taken && lines >= self->lines);
    assert_true(taken <= size);
    *self = (progress){self->calls + 1, taken, size, lines};
}

static void test_scan_streams__progress_ends_at_the_size(void **state)
{
    tempdir *dir = *state;
    progress noted = {0};
    const ka_log_options options = {.progress = note_progress,
                                    .progress_context = &noted};
    size_t length;
    const char *paths[] = {
        steady_log(dir, "a", 0, 150000, 1, 1, &length),
        steady_log(dir, "b.gz", 150000, 151000, 1, 1, &length)};
    scanned s = scan_logs(dir, &options, paths, 2, 2, NULL);
    struct stat st;

    assert_int_equal(s.status, APR_SUCCESS);
    assert_true(noted.calls >= 3);
    assert_int_equal(noted.lines, 151000);
    assert_int_equal(noted.taken, noted.size);
    assert_int_equal(stat(paths[1], &st), 0);
    assert_true(noted.size > st.st_size);
    scan_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_scan_streams__pipes_as_files),
        tempdir_test(test_scan_streams__peeked_lines_count_once),
        tempdir_test(
            test_scan_streams__a_growing_file_is_read_up_to_its_size),
        tempdir_test(test_scan_streams__a_file_that_shrinks_ends_there),
        tempdir_test(test_scan_streams__a_file_that_fails_is_named),
        tempdir_test(test_scan_streams__a_file_that_vanishes),
        tempdir_test(test_scan_streams__progress_ends_at_the_size),
    };

    return unit_main(tests);
}
