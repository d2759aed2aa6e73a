/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_json: writes JSON piece by piece to a sink, without a tree in memory.
 *
 *     ka_json_open(j, NULL, '{');
 *     ka_json_string(j, "schema", "kastats/1");
 *     ka_json_close(j, '}');
 *
 * A key of NULL: the value stands in an array, or is the whole.  The caller
 * balances open and close.  Independent of the locale; allocates nothing.
 */
#ifndef KA_JSON_H
#define KA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void ka_json_sink(void *baton, const char *bytes, size_t n);

typedef struct ka_json {
    ka_json_sink *sink;
    void *baton;
    bool follows; /* a value stands before the next one */
} ka_json;

/** @param bracket  '{' or '[' */
void ka_json_open(ka_json *j, const char *key, char bracket);
/** @param bracket  '}' or ']' */
void ka_json_close(ka_json *j, char bracket);
/**
 * Bytes that are no valid UTF-8 come out as U+FFFD, one each: what is written
 * is valid JSON whatever text holds.  NULL writes null.
 */
void ka_json_string(ka_json *j, const char *key, const char *text);
void ka_json_number(ka_json *j, const char *key, uint64_t value);
void ka_json_integer(ka_json *j, const char *key, int64_t value);
void ka_json_bool(ka_json *j, const char *key, bool value);
void ka_json_null(ka_json *j, const char *key);
/** Microseconds, as seconds with six decimals. */
void ka_json_seconds(ka_json *j, const char *key, int64_t us);
/** A double >= 0, rounded to six decimals; below 1e13, else clamped. */
void ka_json_decimal(ka_json *j, const char *key, double value);

#endif
