/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_textchunks: a file in pieces of about the same size, each of which can
 * be parsed on a thread of its own.
 *
 *     plain file:   |------:----|--:--------|----:---|   ranges; a worker
 *                          line starts                   reads its own
 *     compressed,   decoder --> [chunk][chunk][chunk] --> workers
 *     or a pipe     (a thread)  cut at line ends
 *
 * A line belongs to the chunk in which it begins.  Where a file is cut into
 * chunks depends on its bytes and on the size asked for, never on timing.  A
 * plain file is read up to the size that it had when it was opened.
 *
 * Concurrency: one thread asks for chunks; any thread may load one.
 */
#ifndef KA_TEXTCHUNKS_H
#define KA_TEXTCHUNKS_H

#include "linereader.h"

/* What a line can have beyond its first byte: its longest text, CR, LF. */
#define KA_TEXTCHUNK_TAIL (KA_LINE_MAX + 2)

/* Buffers of one size for decoded text, shared by all files of a reading. */
typedef struct ka_textbuffers ka_textbuffers;

/** @param chunk  bytes of a chunk, > 0 */
ka_textbuffers *ka_textbuffers_make(size_t chunk, apr_pool_t *pool);

typedef struct ka_textchunks ka_textchunks;

/* A chunk, or what of it is still to be parsed. */
typedef struct ka_textchunk {
    const ka_line *lines; /* lines[line_n]: split already; else NULL */
    size_t line_n;
    uint64_t lines_before; /* number of the line before them */
    const char *text;     /* text[length]: decoded; else NULL */
    size_t length;
    char *buffer;         /* that holds the text */
    int fd;               /* else: lines that begin in [from, to) of it */
    int64_t from, to;
    int64_t size;         /* where the file ends */
    bool at_line;         /* a line begins at `from` */
    bool last;            /* the file ends with this chunk */
    int64_t taken;        /* bytes of the file up to here, for progress */
} ka_textchunk;

/* What a worker splits into lines.  A line without its end is the file's
 * last one, or longer than any that counts. */
typedef struct ka_text {
    const char *text; /* text[length]; a line begins at its start */
    size_t length;
    size_t stop;    /* lines that begin before it are the chunk's; <= length */
    int64_t origin; /* place of text in a plain file */
} ka_text;

/**
 * @param reader   freshly opened, or lines of it have been read; outlives
 *                 `out`
 * @param peeked   peeked[peeked_n]: those lines, which come first
 * @param depth    chunks that may be decoded and not yet given back, >= 2:
 *                 decoding has a thread of its own; 0: ka_textchunks_next
 *                 decodes
 * @param pool     not used by other threads; its cleanup closes
 */
ka_textchunks *ka_textchunks_open(ka_linereader *reader,
                                  const ka_line *peeked, size_t peeked_n,
                                  ka_textbuffers *buffers, size_t depth,
                                  apr_pool_t *pool);

/** Chunks that may be asked for before one is given back; SIZE_MAX: any
 * number.  Does not depend on whether there is a thread. */
size_t ka_textchunks_limit(const ka_textchunks *self);

/**
 * The next chunk; waits for the decoder.
 * @return APR_SUCCESS; at the end what ka_linereader_next returns there
 */
apr_status_t ka_textchunks_next(ka_textchunks *self, ka_textchunk *chunk);

/** Gives a chunk back that has been parsed. */
void ka_textchunks_done(ka_textchunks *self, ka_textchunk *chunk);

/**
 * Ends the decoder; the reader may then be used again, and closed.
 * @param taken  bytes of the file taken
 * @return what ka_linereader_next returns at the end, if it was reached, else
 *         APR_SUCCESS
 */
apr_status_t ka_textchunks_close(ka_textchunks *self, int64_t *taken);

/**
 * The text of a chunk that is not in lines.
 * @param buffer  for chunk + 1 + KA_TEXTCHUNK_TAIL bytes
 * @return APR_SUCCESS, or the system's status if it cannot be read
 */
apr_status_t ka_textchunk_load(ka_text *out, const ka_textchunk *chunk,
                               char *buffer);

/** Leaves of a chunk what begins at offset `at` of the loaded text, where a
 * line begins. */
void ka_textchunk_advance(ka_textchunk *chunk, const ka_text *text,
                          size_t at);

/**
 * The next line of a text.
 * @param at    offset of the line, < stop; moves on behind it
 * @param line  filled but for its number; points into text
 */
void ka_text_line(const ka_text *text, size_t *at, ka_line *line);

#endif
