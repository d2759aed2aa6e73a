/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests that need files: a directory of the test's own, files in it,
 * plain or compressed by libarchive. */
#ifndef KA_TEST_TEMPDIR_H
#define KA_TEST_TEMPDIR_H

#include <dirent.h>
#include <unistd.h>
#include <apr_strings.h>
#include <archive.h>
#include <archive_entry.h>

#include "unit.h"

typedef struct tempdir {
    apr_pool_t *pool;
    char *path;
} tempdir;

/* Fixture: *state is a tempdir. */
static inline int tempdir_make(void **state)
{
    const char *parent = getenv("TMPDIR");
    apr_pool_t *pool;
    tempdir *dir;

    if (apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        return -1;
    }
    dir = apr_palloc(pool, sizeof(*dir));
    dir->pool = pool;
    dir->path = apr_pstrcat(pool, parent ? parent : "/tmp", "/ka-unit-XXXXXX",
                            NULL);
    *state = dir;
    return mkdtemp(dir->path) ? 0 : -1;
}

static inline int tempdir_remove(void **state)
{
    tempdir *dir = *state;
    DIR *listing = opendir(dir->path);
    struct dirent *entry;

    while (listing && (entry = readdir(listing))) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            remove(apr_pstrcat(dir->pool, dir->path, "/", entry->d_name,
                               NULL));
        }
    }
    if (listing) {
        closedir(listing);
    }
    remove(dir->path);
    apr_pool_destroy(dir->pool);
    return 0;
}

#define tempdir_test(function)                                                 \
    cmocka_unit_test_setup_teardown(function, tempdir_make, tempdir_remove)

/* Writes a file; returns its path. */
static inline const char *tempdir_bytes(tempdir *dir, const char *name,
                                        const void *bytes, size_t length)
{
    const char *path = apr_pstrcat(dir->pool, dir->path, "/", name, NULL);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *tempdir_text(tempdir *dir, const char *name,
                                       const char *text)
{
    return tempdir_bytes(dir, name, text, strlen(text));
}

/* Writes a compressed file; filter is libarchive's name, "gzip", "xz"... */
static inline const char *tempdir_packed(tempdir *dir, const char *name,
                                         const char *filter,
                                         const void *bytes, size_t length)
{
    const char *path = apr_pstrcat(dir->pool, dir->path, "/", name, NULL);
    struct archive *to = archive_write_new();
    struct archive_entry *entry = archive_entry_new();

    assert_int_equal(archive_write_add_filter_by_name(to, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_raw(to), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(to, path), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    assert_int_equal(archive_write_header(to, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(to, bytes, length), length);
    archive_entry_free(entry);
    assert_int_equal(archive_write_free(to), ARCHIVE_OK);
    return path;
}

/* A file's bytes, owned by the pool. */
static inline char *tempdir_read(tempdir *dir, const char *path,
                                 size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes = apr_palloc(dir->pool, 1 << 22);

    assert_non_null(file);
    *length = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

#endif
