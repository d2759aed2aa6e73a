/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A profile's line is far longer than a log's, so the reader of logs, which
 * skips long lines, does not serve.
 */
#include "profilefile_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>
#include <archive.h>
#include <archive_entry.h>

#include "profilefile.h"

#define INPUT_SIZE (64 * 1024)
/* Looked into: enough for a decoder's first block, bzip2's included. */
#define PEEK_SIZE (1024 * 1024)
/* How long the writer of a pipe may take over the rest of its first bytes. */
#define PEEK_TRIES 50
#define PEEK_WAIT_US 10000

struct ka_profilelines {
    apr_pool_t *pool;
    const char *name; /* for messages */
    int fd;
    struct archive *archive;
    char *input;                   /* INPUT_SIZE, what read() fills */
    const char *block, *block_end; /* decoded, not yet delivered */
    char *line;                    /* a line that spans blocks; malloc'd */
    size_t length, size;
    uint64_t number;
    bool ended;
};

const char *ka_profilelines_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

/* ---- decoding ----------------------------------------------------------- */

/* Decoders that are linked into libarchive, as for logs: none of those that
 * run a program. */
static struct archive *archive_new(void)
{
    static int (*const filters[])(struct archive *) = {
        archive_read_support_filter_gzip, archive_read_support_filter_bzip2,
        archive_read_support_filter_xz,   archive_read_support_filter_zstd,
        archive_read_support_filter_lzma, archive_read_support_filter_lz4,
        archive_read_support_format_raw,  archive_read_support_format_empty};
    struct archive *archive = archive_read_new();
    size_t i;

    for (i = 0; archive && i < sizeof(filters) / sizeof(filters[0]); i++) {
        filters[i](archive);
    }
    return archive;
}

static la_ssize_t read_input(struct archive *archive, void *baton,
                             const void **buffer)
{
    ka_profilelines *lines = baton;
    ssize_t n;

    do {
        n = read(lines->fd, lines->input, INPUT_SIZE);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    *buffer = lines->input;
    return n;
}

static apr_status_t lines_cleanup(void *data)
{
    ka_profilelines *lines = data;

    if (lines->archive) {
        archive_read_free(lines->archive);
    }
    if (lines->fd > STDIN_FILENO) {
        close(lines->fd);
    }
    free(lines->line);
    return APR_SUCCESS;
}

static apr_status_t damaged(ka_profilelines *lines, const char **error)
{
    const char *why = archive_error_string(lines->archive);

    lines->ended = true;
    *error = apr_psprintf(lines->pool,
                          "%s:%" APR_UINT64_T_FMT
                          ": cut or damaged (%s); copy or compress it "
                          "again",
                          lines->name, lines->number + 1,
                          why ? why : "its compressed data cannot be decoded");
    return APR_EINVAL;
}

static apr_status_t open_failed(ka_profilelines *lines, const char **error,
                                int status)
{
    *error = apr_psprintf(lines->pool,
                          "%s: cannot be opened: %s; check the path and who "
                          "may read it",
                          lines->name, strerror(status));
    return APR_FROM_OS_ERROR(status);
}

apr_status_t ka_profilelines_open(ka_profilelines **out, const char **error,
                                  const char *path, apr_pool_t *pool)
{
    ka_profilelines *lines = apr_pcalloc(pool, sizeof(*lines));
    struct archive_entry *entry;

    *out = lines;
    lines->pool = pool;
    lines->name = ka_profilelines_name(path);
    lines->fd = -1;
    lines->block = lines->block_end = "";
    apr_pool_cleanup_register(pool, lines, lines_cleanup,
                              apr_pool_cleanup_null);
    lines->fd =
        strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (lines->fd < 0) {
        return open_failed(lines, error, errno);
    }
    lines->input = apr_palloc(pool, INPUT_SIZE);
    lines->archive = archive_new();
    if (!lines->archive) {
        return open_failed(lines, error, ENOMEM);
    }
    if (archive_read_open(lines->archive, lines, NULL, read_input, NULL) !=
        ARCHIVE_OK) {
        return damaged(lines, error);
    }
    switch (archive_read_next_header(lines->archive, &entry)) {
    case ARCHIVE_OK:
    case ARCHIVE_WARN:
        return APR_SUCCESS;
    case ARCHIVE_EOF:
        lines->ended = true;
        return APR_SUCCESS;
    default:
        return damaged(lines, error);
    }
}

/* ---- lines -------------------------------------------------------------- */

/* The next decoded block, or `ended`. */
static apr_status_t fill(ka_profilelines *lines, const char **error)
{
    const void *block;
    size_t length;
    la_int64_t offset;

    switch (archive_read_data_block(lines->archive, &block, &length, &offset)) {
    case ARCHIVE_OK:
    case ARCHIVE_WARN:
        lines->block = block;
        lines->block_end = lines->block + length;
        return APR_SUCCESS;
    case ARCHIVE_EOF:
        lines->ended = true;
        return APR_SUCCESS;
    default:
        return damaged(lines, error);
    }
}

static apr_status_t too_long(const ka_profilelines *lines, const char **error)
{
    *error = apr_psprintf(lines->pool,
                          "%s:%" APR_UINT64_T_FMT ": longer than %d MB, which "
                          "no profile's line is; write it again with "
                          "`kaadvisor profile`",
                          lines->name, lines->number + 1,
                          KA_PROFILE_LINE_MAX / 1024 / 1024);
    return APR_EINVAL;
}

/* Puts a piece at the end of the line in progress. */
static apr_status_t keep(ka_profilelines *lines, const char **error,
                         const char *piece, size_t length)
{
    if (length > KA_PROFILE_LINE_MAX - lines->length) {
        return too_long(lines, error);
    }
    if (length > lines->size - lines->length) {
        size_t size = 2 * (lines->length + length);
        char *line = realloc(lines->line, size);

        if (!line) {
            *error = apr_pstrcat(lines->pool, lines->name,
                                 ": not enough memory for its lines", NULL);
            return APR_ENOMEM;
        }
        lines->line = line;
        lines->size = size;
    }
    memcpy(lines->line + lines->length, piece, length);
    lines->length += length;
    return APR_SUCCESS;
}

/* The rest of the line in progress: up to its LF, or the end of the data. */
static apr_status_t take_line(ka_profilelines *lines, const char **error)
{
    lines->length = 0;
    for (;;) {
        size_t left = (size_t)(lines->block_end - lines->block);
        const char *lf = left ? memchr(lines->block, '\n', left) : NULL;
        size_t n = lf ? (size_t)(lf - lines->block) : left;
        apr_status_t rv = n ? keep(lines, error, lines->block, n) : APR_SUCCESS;

        lines->block += lf ? n + 1 : n;
        if (rv || lf || lines->ended) {
            return rv;
        }
        rv = fill(lines, error);
        if (rv) {
            return rv;
        }
    }
}

apr_status_t ka_profilelines_next(ka_profilelines *lines, const char **text,
                                  size_t *length, uint64_t *number,
                                  const char **error)
{
    do {
        apr_status_t rv;

        if (lines->ended && lines->block == lines->block_end) {
            return APR_EOF;
        }
        rv = take_line(lines, error);
        if (rv) {
            return rv;
        }
        lines->number++;
        if (lines->length && lines->line[lines->length - 1] == '\r') {
            lines->length--;
        }
    } while (lines->length == 0);
    *text = lines->line;
    *length = lines->length;
    *number = lines->number;
    return APR_SUCCESS;
}

/* ---- the first bytes ---------------------------------------------------- */

/* What is there already, decoded; a compressed file's end is missing. */
static size_t decode(char *first, size_t size, const void *bytes, size_t n)
{
    struct archive *archive = archive_new();
    struct archive_entry *entry;
    la_ssize_t decoded = 0;

    if (archive && archive_read_open_memory(archive, bytes, n) == ARCHIVE_OK &&
        archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        decoded = archive_read_data(archive, first, size);
    }
    if (archive) {
        archive_read_free(archive);
    }
    return decoded > 0 ? (size_t)decoded : 0;
}

/* A copy of what a pipe holds: tee(2) leaves it there. */
static ssize_t copy_pipe(char *bytes, size_t size, int fd)
{
    int copy[2];
    ssize_t n;

    if (pipe2(copy, O_CLOEXEC)) {
        return -1;
    }
    n = tee(fd, copy[1], size, 0);
    if (n > 0) {
        n = read(copy[0], bytes, (size_t)n);
    }
    close(copy[0]);
    close(copy[1]);
    return n;
}

/* The same of a socket: what sshd gives a command for its input. */
static ssize_t copy_socket(char *bytes, size_t size, int fd)
{
    return recv(fd, bytes, size, MSG_PEEK);
}

typedef ssize_t copy_fn(char *bytes, size_t size, int fd);

static size_t peek_stream(char *first, size_t size, char *bytes, int fd,
                          copy_fn *copy)
{
    size_t decoded = 0;
    ssize_t before = 0;
    int i;

    for (i = 0; i < PEEK_TRIES; i++) {
        ssize_t n = copy(bytes, PEEK_SIZE, fd);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return decoded;
        }
        decoded = decode(first, size, bytes, (size_t)n);
        if (decoded == size || memchr(first, '\n', decoded)) {
            return decoded;
        }
        if (n == before) {
            usleep(PEEK_WAIT_US); /* its writer is in the middle of a line */
        }
        before = n;
    }
    return decoded;
}

/* The descriptor that a path names, -1 if it names a file. */
static int descriptor_of(const char *path)
{
    static const char prefix[] = "/dev/fd/";
    char *end;
    long fd;

    if (!strcmp(path, "-") || !strcmp(path, "/dev/stdin")) {
        return STDIN_FILENO;
    }
    if (strncmp(path, prefix, sizeof(prefix) - 1)) {
        return -1;
    }
    fd = strtol(path + sizeof(prefix) - 1, &end, 10);
    return *end || fd < 0 || fd > 65535 ? -1 : (int)fd;
}

size_t ka_profilelines_peek(char *first, size_t size, const char *path)
{
    int fd = descriptor_of(path);
    bool named = fd < 0;
    char *bytes;
    size_t decoded = 0;
    struct stat info;

    /* A FIFO must not even be opened: its writer would see us leave. */
    if (named ? stat(path, &info) || !S_ISREG(info.st_mode)
              : fstat(fd, &info)) {
        return 0;
    }
    if (named && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
        return 0;
    }
    bytes = malloc(PEEK_SIZE);
    if (bytes && S_ISREG(info.st_mode)) {
        off_t at = named ? 0 : lseek(fd, 0, SEEK_CUR);
        ssize_t n = pread(fd, bytes, INPUT_SIZE, at < 0 ? 0 : at);

        decoded = n > 0 ? decode(first, size, bytes, (size_t)n) : 0;
        if (decoded == 0 && n == INPUT_SIZE) { /* blocks may be larger */
            n = pread(fd, bytes, PEEK_SIZE, at < 0 ? 0 : at);
            decoded = n > 0 ? decode(first, size, bytes, (size_t)n) : 0;
        }
    }
    else if (bytes && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) {
        decoded = peek_stream(first, size, bytes, fd,
                              S_ISSOCK(info.st_mode) ? copy_socket
                                                     : copy_pipe);
    }
    free(bytes);
    if (named) {
        close(fd);
    }
    return decoded;
}
