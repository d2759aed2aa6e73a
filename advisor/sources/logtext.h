/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Small questions about a ka_str, as the parts of the log source ask them.
 * All take an absent string (NULL) as an empty one.
 */
#ifndef KA_LOGTEXT_H
#define KA_LOGTEXT_H

#include <string.h>

#include "logformat.h"

static inline bool ka_str_is(ka_str text, const char *literal)
{
    const size_t n = strlen(literal);

    return text.len == n && (n == 0 || !memcmp(text.ptr, literal, n));
}

static inline bool ka_str_starts(ka_str text, const char *literal)
{
    const size_t n = strlen(literal);

    return text.len >= n && (n == 0 || !memcmp(text.ptr, literal, n));
}

static inline char ka_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Case-insensitive, in ASCII whatever the locale. */
static inline bool ka_str_starts_case(ka_str text, const char *literal)
{
    size_t i = 0;

    while (literal[i] && i < text.len
           && ka_lower(text.ptr[i]) == ka_lower(literal[i])) {
        i++;
    }
    return !literal[i];
}

static inline bool ka_str_holds(ka_str text, const char *literal)
{
    return text.len && memmem(text.ptr, text.len, literal, strlen(literal));
}

/* The byte's first place, or the text's length. */
static inline size_t ka_str_find(ka_str text, char byte)
{
    const char *at = text.len ? memchr(text.ptr, byte, text.len) : NULL;

    return at ? (size_t)(at - text.ptr) : text.len;
}

/* The byte's last place, or the text's length. */
static inline size_t ka_str_find_last(ka_str text, char byte)
{
    const char *at = text.len ? memrchr(text.ptr, byte, text.len) : NULL;

    return at ? (size_t)(at - text.ptr) : text.len;
}

static inline ka_str ka_str_head(ka_str text, size_t n)
{
    return (ka_str){text.ptr, n};
}

/* What follows the first n bytes; n <= the length. */
static inline ka_str ka_str_tail(ka_str text, size_t n)
{
    return (ka_str){text.ptr ? text.ptr + n : NULL, text.len - n};
}

#endif
