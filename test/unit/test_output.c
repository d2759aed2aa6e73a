/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "commands/output.h"
#include "tempdir.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *name_in(const tempdir *dir, const char *name)
{
    return apr_pstrcat(dir->pool, dir->path, "/", name, NULL);
}

static int files_in(const tempdir *dir)
{
    DIR *listing = opendir(dir->path);
    struct dirent *entry;
    int n = 0;

    assert_non_null(listing);
    while ((entry = readdir(listing)) != NULL) {
        n += *entry->d_name != '.';
    }
    closedir(listing);
    return n;
}

static void assert_holds(tempdir *dir, const char *name, const char *text)
{
    size_t n;
    const char *bytes = tempdir_read(dir, name_in(dir, name), &n);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
}

static int open_one(ka_result_file *file, tempdir *dir, const char *name)
{
    ka_options options;

    ka_options_init(&options);
    options.output_file = name_in(dir, name);
    return ka_result_open(file, &options, dir->pool);
}

/* In a process of its own: writes, is sent a signal meanwhile, and closes.
 * @return how it ended, as of waitpid(2) */
static int interrupted(tempdir *dir, int number, void (*handler)(int))
{
    ka_result_file file;
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        signal(number, handler);
        if (open_one(&file, dir, "f")) {
            _exit(100);
        }
        fputs("new", file.stream);
        raise(number);
        _exit(ka_result_close(&file, APR_SUCCESS));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_output__a_signal_leaves_no_temporary_file(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    tempdir *dir = *state;
    size_t i;

    tempdir_text(dir, "f", "old");
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int status = interrupted(dir, numbers[i], SIG_DFL);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        assert_int_equal(files_in(dir), 1);
        assert_holds(dir, "f", "old");
    }
}

/* As under nohup. */
static void test_output__a_signal_that_is_ignored_changes_nothing(void **state)
{
    tempdir *dir = *state;
    int status = interrupted(dir, SIGHUP, SIG_IGN);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), KA_EXIT_DONE);
    assert_holds(dir, "f", "new");
}

static void test_output__signals_come_again_afterwards(void **state)
{
    tempdir *dir = *state;
    ka_result_file file;
    sigset_t before, after;

    sigprocmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(open_one(&file, dir, "f"), 0);
    assert_int_equal(ka_result_close(&file, APR_SUCCESS), KA_EXIT_DONE);
    assert_int_equal(open_one(&file, dir, "g"), 0);
    assert_int_equal(ka_result_close(&file, APR_EGENERAL), KA_EXIT_FAILED);
    assert_int_not_equal(open_one(&file, dir, "none/g"), 0);
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM),
                     sigismember(&after, SIGTERM));
    assert_int_equal(sigismember(&after, SIGINT), 0);
    assert_int_equal(files_in(dir), 1);
}

static void test_output__a_link_is_written_through(void **state)
{
    tempdir *dir = *state;
    ka_result_file file;
    struct stat info;

    tempdir_text(dir, "f", "old");
    assert_int_equal(symlink("f", name_in(dir, "link")), 0);
    assert_int_equal(open_one(&file, dir, "link"), 0);
    fputs("new", file.stream);
    assert_int_equal(ka_result_close(&file, APR_SUCCESS), KA_EXIT_DONE);
    assert_holds(dir, "f", "new");
    assert_int_equal(lstat(name_in(dir, "link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void test_output__finished_and_placed_elsewhere(void **state)
{
    tempdir *dir = *state;
    ka_result_file file;

    tempdir_text(dir, "f", "old");
    assert_int_equal(open_one(&file, dir, "f"), 0);
    fputs("new", file.stream);
    assert_int_equal(ka_result_finish(&file, APR_SUCCESS), KA_EXIT_DONE);
    assert_non_null(file.temporary);
    assert_int_equal(ka_result_place(&file, name_in(dir, "g")), KA_EXIT_DONE);
    assert_holds(dir, "f", "old");
    assert_holds(dir, "g", "new");
    assert_int_equal(open_one(&file, dir, "f"), 0);
    assert_int_equal(ka_result_finish(&file, APR_SUCCESS), KA_EXIT_DONE);
    ka_result_drop(&file);
    ka_result_drop(&file);
    assert_int_equal(files_in(dir), 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        tempdir_test(test_output__a_signal_leaves_no_temporary_file),
        tempdir_test(test_output__a_signal_that_is_ignored_changes_nothing),
        tempdir_test(test_output__signals_come_again_afterwards),
        tempdir_test(test_output__a_link_is_written_through),
        tempdir_test(test_output__finished_and_placed_elsewhere)};

    return unit_main(tests);
}
