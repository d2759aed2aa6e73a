/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A line that lies within one block of libarchive's is handed out where it
 * is; only a line that spans blocks is put together in `carry`.
 *
 *     block:   ...line\nline\nline\nli|  ->  carry: "li"
 *     next:    ne\nline\n...             ->  carry: "line"
 *
 * libarchive decodes whole blocks: where a compressed file is cut, the part of
 * a block decoded last (at most 128 kB of text) is lost with it.
 */
#include "linereader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <apr_strings.h>
#include <archive.h>
#include <archive_entry.h>

#define INPUT_SIZE (256 * 1024)
#define CARRY_SIZE (KA_LINE_MAX + 1) /* a line of KA_LINE_MAX and its CR */

struct ka_linereader {
    apr_pool_t *pool;
    const char *path; /* NULL: standard input */
    const char *name; /* for messages */
    int fd;
    bool regular;
    struct archive *archive;
    const char *compression;
    const char *error;
    char *input; /* INPUT_SIZE, what read() fills */
    size_t input_length;
    int64_t taken, size;
    const char *block, *block_end; /* decoded, not yet delivered */
    char *carry;                   /* NULL until a line spans blocks */
    size_t carried;
    bool skipping; /* the line in progress is too long */
    uint64_t number;
    apr_status_t ended; /* what the end of the data means, once reached */
};

/* ---- opening ----------------------------------------------------------- */

/* Decoders that are linked into libarchive.  Not all that it knows: some run
 * a program, and what is in a log must not choose programs to run. */
static int (*const filters[])(struct archive *) = {
    archive_read_support_filter_gzip, archive_read_support_filter_bzip2,
    archive_read_support_filter_xz,   archive_read_support_filter_zstd,
    archive_read_support_filter_lzma, archive_read_support_filter_lzip,
    archive_read_support_filter_lz4,  archive_read_support_filter_compress,
};

static la_ssize_t read_input(struct archive *archive, void *baton,
                             const void **buffer)
{
    ka_linereader *reader = baton;
    ssize_t n;
    int before;

    /* Here and nowhere else: a decoder holds no lock while it waits. */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    do {
        n = read(reader->fd, reader->input, INPUT_SIZE);
    } while (n < 0 && errno == EINTR);
    pthread_setcancelstate(before, NULL);
    if (n < 0) {
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    if (n > 0) { /* at the end the last bytes still matter */
        reader->taken += n;
        reader->input_length = (size_t)n;
    }
    *buffer = reader->input;
    return n;
}

static apr_status_t reader_cleanup(void *data)
{
    ka_linereader *reader = data;

    if (reader->archive) {
        archive_read_free(reader->archive);
    }
    if (reader->path && reader->fd >= 0) {
        close(reader->fd);
    }
    return APR_SUCCESS;
}

static const char *remedy(int status)
{
    static const struct {
        int status;
        const char *text;
    } remedies[] = {
        {ENOENT, "check the path, or whether it was rotated away meanwhile"},
        {EACCES, "run as a user who may read it (root, or a member of the "
                 "group that owns the logs, often adm)"},
        {EMFILE, "raise the limit of open files (ulimit -n) or name fewer "
                 "files"},
        {ENOTDIR, "a part of the path that should be a directory is a file"},
        {ENAMETOOLONG, "the path is too long"},
    };

    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        if (remedies[i].status == status) {
            return remedies[i].text;
        }
    }
    return "check the file and its file system";
}

static apr_status_t open_failed(const ka_linereader *reader,
                                const char **error, int status)
{
    *error = apr_psprintf(reader->pool, "%s: cannot be opened: %s; %s",
                          reader->name, strerror(status), remedy(status));
    return APR_FROM_OS_ERROR(status);
}

static apr_status_t open_fd(ka_linereader *reader, const char **error)
{
    struct stat st;

    reader->fd = reader->path ? open(reader->path, O_RDONLY | O_CLOEXEC)
                              : STDIN_FILENO;
    if (reader->fd < 0 || fstat(reader->fd, &st) < 0) {
        return open_failed(reader, error, errno);
    }
    if (S_ISDIR(st.st_mode)) {
        *error = apr_psprintf(reader->pool,
                              "%s: is a directory; name the log files in it, "
                              "for example %s/access.log*",
                              reader->name, reader->name);
        return APR_EINVAL;
    }
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)
        && !S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)
        && reader->path) {
        *error = apr_psprintf(reader->pool,
                              "%s: is no regular file, pipe or device; name "
                              "a log file, or - for standard input",
                              reader->name);
        return APR_EINVAL;
    }
    reader->regular = S_ISREG(st.st_mode);
    reader->size = reader->regular ? (int64_t)st.st_size : -1;
    return APR_SUCCESS;
}

static void damaged(ka_linereader *reader)
{
    const char *why = archive_error_string(reader->archive);

    reader->ended = APR_EGENERAL;
    reader->error = apr_psprintf(
        reader->pool,
        "%s: cut or damaged within the first %" APR_INT64_T_FMT
        " bytes (%s); what came before was read; copy or compress the file "
        "again to have the rest",
        reader->name, (apr_int64_t)reader->taken,
        why ? why : "its compressed data cannot be decoded");
}

/* Whether the input goes on after the end of the compressed data.  Zeros are
 * padding, as gzip itself sees it. */
static bool has_trailing_data(const ka_linereader *reader)
{
    const int64_t used = archive_filter_bytes(reader->archive, -1);
    const int64_t left = reader->taken - used;

    if (left <= 0 || (size_t)left > reader->input_length) {
        return false;
    }
    for (size_t i = reader->input_length - (size_t)left;
         i < reader->input_length; i++) {
        if (reader->input[i]) {
            return true;
        }
    }
    return false;
}

static void finished(ka_linereader *reader)
{
    reader->ended = APR_EOF;
    if (!has_trailing_data(reader)) {
        return;
    }
    reader->ended = APR_EGENERAL;
    reader->error = apr_psprintf(
        reader->pool,
        "%s: holds other bytes after the end of its %s data, from byte "
        "%" APR_INT64_T_FMT " on, which were not read; compress the file again",
        reader->name, reader->compression,
        (apr_int64_t)archive_filter_bytes(reader->archive, -1) + 1);
}

/* Reads the first bytes and so chooses the decoder. */
static void open_archive(ka_linereader *reader)
{
    struct archive_entry *entry;
    const char *name;

    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        filters[i](reader->archive);
    }
    /* "empty" wins only when there is not one byte, compressed or not. */
    archive_read_support_format_raw(reader->archive);
    archive_read_support_format_empty(reader->archive);
    if (archive_read_open(reader->archive, reader, NULL, read_input, NULL)
        != ARCHIVE_OK) {
        damaged(reader);
        return;
    }
    name = archive_filter_name(reader->archive, 0);
    if (name && strcmp(name, "none")) {
        reader->compression = apr_pstrdup(reader->pool, name);
    }
    switch (archive_read_next_header(reader->archive, &entry)) {
    case ARCHIVE_OK:
    case ARCHIVE_WARN:
        break;
    case ARCHIVE_EOF:
        finished(reader);
        break;
    default:
        damaged(reader);
    }
}

apr_status_t ka_linereader_open(ka_linereader **out, const char **error,
                                const char *path, apr_pool_t *pool)
{
    ka_linereader *reader = apr_pcalloc(pool, sizeof(*reader));
    apr_status_t status;

    reader->pool = pool;
    reader->path = strcmp(path, "-") ? apr_pstrdup(pool, path) : NULL;
    reader->name = reader->path ? reader->path : "standard input";
    reader->compression = "plain";
    reader->error = "";
    reader->fd = -1;
    apr_pool_cleanup_register(pool, reader, reader_cleanup,
                              apr_pool_cleanup_null);
    if ((status = open_fd(reader, error)) != APR_SUCCESS) {
        return status;
    }
    reader->input = apr_palloc(pool, INPUT_SIZE);
    if (!(reader->archive = archive_read_new())) {
        return open_failed(reader, error, ENOMEM);
    }
    open_archive(reader);
    *out = reader;
    return APR_SUCCESS;
}

/* ---- lines ------------------------------------------------------------- */

/* The next decoded block, or `ended`. */
static void fill(ka_linereader *reader)
{
    const void *block;
    size_t length;
    la_int64_t offset;

    switch (archive_read_data_block(reader->archive, &block, &length,
                                    &offset)) {
    case ARCHIVE_OK:
    case ARCHIVE_WARN:
        reader->block = block;
        reader->block_end = reader->block + length;
        break;
    case ARCHIVE_EOF:
        finished(reader);
        break;
    default:
        damaged(reader);
    }
}

/* Keeps a piece of a line that goes on in the next block. */
static void keep(ka_linereader *reader, const char *piece, size_t length)
{
    if (reader->skipping || length == 0) {
        return;
    }
    if (length > CARRY_SIZE - reader->carried) {
        reader->skipping = true;
        return;
    }
    if (!reader->carry) {
        reader->carry = apr_palloc(reader->pool, CARRY_SIZE);
    }
    memcpy(reader->carry + reader->carried, piece, length);
    reader->carried += length;
}

/* Fills `line` from text[length] and starts a new one. */
static void deliver(ka_linereader *reader, ka_line *line, const char *text,
                    size_t length, bool cut)
{
    if (length && text[length - 1] == '\r') {
        length--;
    }
    *line = (ka_line){
        .text = text,
        .length = length,
        .number = ++reader->number,
        .cut = cut,
        .overlong = reader->skipping || length > KA_LINE_MAX,
    };
    if (line->overlong) {
        line->text = "";
        line->length = 0;
    }
    reader->carried = 0;
    reader->skipping = false;
}

apr_status_t ka_linereader_next(ka_linereader *reader, ka_line *line)
{
    for (;;) {
        const char *start = reader->block;
        const size_t left = (size_t)(reader->block_end - start);
        const char *lf = left ? memchr(start, '\n', left) : NULL;

        if (lf) {
            reader->block = lf + 1;
            if (reader->carried == 0 && !reader->skipping) {
                deliver(reader, line, start, (size_t)(lf - start), false);
                return APR_SUCCESS;
            }
            keep(reader, start, (size_t)(lf - start));
            deliver(reader, line, reader->carry, reader->carried, false);
            return APR_SUCCESS;
        }
        keep(reader, start, left);
        reader->block = reader->block_end;
        if (reader->ended == APR_SUCCESS) {
            fill(reader);
            continue;
        }
        if (reader->carried == 0 && !reader->skipping) {
            return reader->ended;
        }
        deliver(reader, line, reader->carry, reader->carried, true);
        return APR_SUCCESS;
    }
}

apr_status_t ka_linereader_bytes(ka_linereader *reader, const char **bytes,
                                 size_t *n)
{
    while (reader->block == reader->block_end) {
        if (reader->ended != APR_SUCCESS) {
            return reader->ended;
        }
        fill(reader);
    }
    *bytes = reader->block;
    *n = (size_t)(reader->block_end - reader->block);
    reader->block = reader->block_end;
    return APR_SUCCESS;
}

int ka_linereader_plain_fd(const ka_linereader *reader)
{
    /* Standard input may stand anywhere in its file; what was damaged from
     * its first bytes on has not shown what it is. */
    return reader->regular && reader->path && reader->ended != APR_EGENERAL
                   && !strcmp(reader->compression, "plain")
               ? reader->fd
               : -1;
}

const char *ka_linereader_error(const ka_linereader *reader)
{
    return reader->error;
}

const char *ka_linereader_compression(const ka_linereader *reader)
{
    return reader->compression;
}

void ka_linereader_position(const ka_linereader *reader, int64_t *taken,
                            int64_t *size)
{
    *taken = reader->taken;
    *size = reader->size;
}
