/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From a chunk to lines, on the thread that parses it.
 *
 * A range of a plain file is read from the byte before it on: if that ends a
 * line, a line begins with the range.
 *
 *            from                    to
 *     ...lin|e\n|first\n ... \nlast li|ne\n...
 *               ^ text              ^ stop   (text goes on to the line's end)
 */
#include "textchunks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Read behind a range at first: enough for nearly all lines that reach over
 * its end. */
#define USUAL_TAIL 2048

/* Reads up to buffer[wanted] from the place on; *n tells how far it is
 * filled: short only where the file ends. */
static apr_status_t fill_up(const ka_textchunk *chunk, int64_t place,
                            char *buffer, size_t *n, size_t wanted)
{
    while (*n < wanted) {
        const ssize_t got =
            pread(chunk->fd, buffer + *n, wanted - *n, place + (int64_t)*n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return APR_FROM_OS_ERROR(errno);
        }
        if (got == 0) {
            break;
        }
        *n += (size_t)got;
    }
    return APR_SUCCESS;
}

/* Reads a range, from the byte before it on (where a line may end), and the
 * rest of its last line. */
static apr_status_t read_range(const ka_textchunk *chunk, int64_t place,
                               char *buffer, size_t *n)
{
    const size_t range = (size_t)(chunk->to - place);
    const size_t left = (size_t)(chunk->size - place);
    const size_t usual = range + USUAL_TAIL < left ? range + USUAL_TAIL
                                                   : left;
    const size_t most = range - 1 + KA_TEXTCHUNK_TAIL < left
                            ? range - 1 + KA_TEXTCHUNK_TAIL
                            : left;
    apr_status_t status;

    *n = 0;
    status = fill_up(chunk, place, buffer, n, usual);
    if (status != APR_SUCCESS || *n < usual || usual >= most
        || memchr(buffer + range - 1, '\n', usual - (range - 1))) {
        return status;
    }
    return fill_up(chunk, place, buffer, n, most);
}

static apr_status_t load_range(ka_text *out, const ka_textchunk *chunk,
                               char *buffer)
{
    const int64_t place = chunk->from - !chunk->at_line;
    const size_t range = (size_t)(chunk->to - place);
    size_t n, start = 0;
    const char *lf;
    const apr_status_t status = read_range(chunk, place, buffer, &n);

    if (status != APR_SUCCESS) {
        return status;
    }
    *out = (ka_text){.text = buffer};
    if (!chunk->at_line) {
        lf = memchr(buffer, '\n', n < range - 1 ? n : range - 1);
        if (!lf) {
            return APR_SUCCESS; /* no line begins in it */
        }
        start = (size_t)(lf + 1 - buffer);
    }
    out->text = buffer + start;
    out->length = n - start;
    out->stop = range - start < out->length ? range - start : out->length;
    out->origin = place + (int64_t)start;
    return APR_SUCCESS;
}

apr_status_t ka_textchunk_load(ka_text *out, const ka_textchunk *chunk,
                               char *buffer)
{
    if (!chunk->text) {
        return load_range(out, chunk, buffer);
    }
    *out = (ka_text){.text = chunk->text,
                     .length = chunk->length,
                     .stop = chunk->length};
    return APR_SUCCESS;
}

void ka_textchunk_advance(ka_textchunk *chunk, const ka_text *text, size_t at)
{
    if (chunk->text) {
        chunk->text += at;
        chunk->length -= at;
        return;
    }
    chunk->from = text->origin + (int64_t)at;
    chunk->at_line = true;
}

void ka_text_line(const ka_text *text, size_t *at, ka_line *line)
{
    const char *start = text->text + *at;
    const char *lf = memchr(start, '\n', text->length - *at);
    size_t n = lf ? (size_t)(lf - start) : text->length - *at;

    *at += n + (lf != NULL);
    if (n && start[n - 1] == '\r') {
        n--;
    }
    *line = (ka_line){.text = start,
                      .length = n,
                      .cut = !lf,
                      .overlong = n > KA_LINE_MAX};
    if (line->overlong) {
        line->text = "";
        line->length = 0;
    }
}
