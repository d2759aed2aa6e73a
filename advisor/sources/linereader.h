/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_linereader: lines of one file, whatever it is compressed with.
 *
 * libarchive recognises plain text, gzip (several members too), bzip2, xz and
 * zstd by content, not by name.  "-" is standard input.  A line ends with LF
 * or CRLF (neither is part of it); the last one may lack its end and is then
 * marked as cut.  Lines longer than KA_LINE_MAX bytes are skipped whole and
 * counted.  Bytes are passed through untouched, NUL included.
 *
 * Concurrency: one thread per reader.  A thread that waits for input can be
 * cancelled, and the reader be closed then.
 */
#ifndef KA_LINEREADER_H
#define KA_LINEREADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>

#define KA_LINE_MAX 65536

typedef struct ka_linereader ka_linereader;

typedef struct ka_line {
    const char *text; /* valid until the next call on the reader */
    size_t length;    /* bytes, without the line's end; never > KA_LINE_MAX */
    uint64_t number;  /* 1-based, empty and overlong lines counted */
    bool cut;         /* the file ends without the line's end */
    bool overlong;    /* longer than KA_LINE_MAX: length 0, text skipped */
} ka_line;

/**
 * Opens a file or standard input ("-").
 * @param out    owned by pool; its cleanup closes the file
 * @param error  on failure a sentence with path, reason and remedy
 * @return APR_SUCCESS; the system's status if it cannot be opened; APR_EINVAL
 *         for a directory or a file that is no regular file, pipe or device
 */
apr_status_t ka_linereader_open(ka_linereader **out, const char **error,
                                const char *path, apr_pool_t *pool);

/**
 * The next line.
 * @return APR_SUCCESS; APR_EOF at the end; APR_EGENERAL where the compressed
 *         data is damaged or cut (ka_linereader_error has the sentence; what
 *         came before it has been delivered)
 */
apr_status_t ka_linereader_next(ka_linereader *reader, ka_line *line);

/**
 * The rest of the decoded bytes in hand, else those of the next block: for
 * who splits lines on his own, from the line on that would have come next.
 * Not to be mixed with further calls of ka_linereader_next.
 * @param bytes  bytes[n], n > 0; valid until the next call on the reader
 * @return as ka_linereader_next
 */
apr_status_t ka_linereader_bytes(ka_linereader *reader, const char **bytes,
                                 size_t *n);

/** The descriptor of a regular file that is not compressed, whose bytes may
 * be read at any place, or -1; open for as long as the reader. */
int ka_linereader_plain_fd(const ka_linereader *reader);

/** Sentence of the last failure, naming the file; "" if none. */
const char *ka_linereader_error(const ka_linereader *reader);

/** "plain", "gzip", "bzip2", "xz", "zstd" ... as libarchive names it. */
const char *ka_linereader_compression(const ka_linereader *reader);

/** Bytes of the file taken so far, before decompression, and its size (-1 if
 * unknown): for a progress line. */
void ka_linereader_position(const ka_linereader *reader, int64_t *taken,
                            int64_t *size);

#endif
