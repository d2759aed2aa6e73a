/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ka_text.h"

static void put(ka_json *j, const char *text)
{
    j->sink(j->baton, text, strlen(text));
}

static void put_quoted(ka_json *j, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    char escape[8];

    put(j, "\"");
    while (*at) {
        size_t n = ka_utf8_length((const char *)at);

        if (n == 0) {
            put(j, "\\ufffd");
            n = 1;
        }
        else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f ||
                 strchr("<>&'", *at)) {
            /* The last four: the text may end up inside a page. */
            snprintf(escape, sizeof(escape), "\\u%04x", *at);
            put(j, escape);
        }
        else {
            j->sink(j->baton, (const char *)at, n);
        }
        at += n;
    }
    put(j, "\"");
}

static void begin(ka_json *j, const char *key)
{
    if (j->follows) {
        put(j, ",");
    }
    if (key) {
        put_quoted(j, key);
        put(j, ":");
    }
    j->follows = true;
}

void ka_json_open(ka_json *j, const char *key, char bracket)
{
    begin(j, key);
    j->sink(j->baton, &bracket, 1);
    j->follows = false;
}

void ka_json_close(ka_json *j, char bracket)
{
    j->sink(j->baton, &bracket, 1);
    j->follows = true;
}

void ka_json_string(ka_json *j, const char *key, const char *text)
{
    if (!text) {
        ka_json_null(j, key);
        return;
    }
    begin(j, key);
    put_quoted(j, text);
}

void ka_json_number(ka_json *j, const char *key, uint64_t value)
{
    char buffer[24];

    begin(j, key);
    snprintf(buffer, sizeof(buffer), "%" PRIu64, value);
    put(j, buffer);
}

void ka_json_integer(ka_json *j, const char *key, int64_t value)
{
    char buffer[24];

    begin(j, key);
    snprintf(buffer, sizeof(buffer), "%" PRId64, value);
    put(j, buffer);
}

void ka_json_bool(ka_json *j, const char *key, bool value)
{
    begin(j, key);
    put(j, value ? "true" : "false");
}

void ka_json_null(ka_json *j, const char *key)
{
    begin(j, key);
    put(j, "null");
}

void ka_json_seconds(ka_json *j, const char *key, int64_t us)
{
    uint64_t size = us < 0 ? -(uint64_t)us : (uint64_t)us;
    char buffer[40];

    begin(j, key);
    snprintf(buffer, sizeof(buffer), "%s%" PRIu64 ".%06" PRIu64,
             us < 0 ? "-" : "", size / 1000000, size % 1000000);
    put(j, buffer);
}

void ka_json_decimal(ka_json *j, const char *key, double value)
{
    double millionths = value * 1e6 + 0.5;

    if (!(millionths >= 0)) {
        millionths = 0;
    }
    ka_json_seconds(j, key, millionths < 9e18 ? (int64_t)millionths
                                              : INT64_C(9000000000000000000));
}
