/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_escape: log bytes made safe to print.  A client writes what it likes
 * into a log; unescaped it could move the cursor of the reader's terminal.
 */
#include "log.h"

#include <string.h>
#include <apr_strings.h>

/* Writes one byte's printable form; returns how many bytes that took. */
static size_t escape_byte(char *to, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";

    if (byte == '\\') {
        memcpy(to, "\\\\", 2);
        return 2;
    }
    if (byte >= 0x20 && byte < 0x7f) {
        *to = (char)byte;
        return 1;
    }
    to[0] = '\\';
    to[1] = 'x';
    to[2] = hex[byte >> 4];
    to[3] = hex[byte & 15];
    return 4;
}

const char *ka_escape(const char *text, size_t length, size_t limit,
                      apr_pool_t *pool)
{
    const size_t taken = length < limit ? length : limit;
    char *out = apr_palloc(pool, taken * 4 + sizeof("..."));
    char *to = out;

    for (size_t i = 0; i < taken; i++) {
        to += escape_byte(to, (unsigned char)text[i]);
    }
    memcpy(to, taken < length ? "..." : "", taken < length ? 4 : 1);
    return out;
}
