/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ka_units.h"

#define DECIMAL_MAX 1e12

/* ---- foreign text -------------------------------------------------------- */

size_t ka_utf8_length(const char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *at = (const unsigned char *)text;
    size_t i, k;

    if (at[0] < 0x80) {
        return 1;
    }
    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high) {
            continue;
        }
        if (at[1] < forms[i].second_low || at[1] > forms[i].second_high) {
            return 0;
        }
        for (k = 2; k < forms[i].length; k++) {
            if ((at[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return forms[i].length;
    }
    return 0;
}

typedef struct escape_row {
    char from;
    const char *to;
} escape_row;

static const char *escape_of(const escape_row *rows, size_t n, char c)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (rows[i].from == c) {
            return rows[i].to;
        }
    }
    return NULL;
}

/* C1 controls (U+0080 .. U+009F) steer terminals as C0 ones do. */
static bool is_control(const char *at, size_t length)
{
    unsigned char c = (unsigned char)at[0];

    return (length == 1 && (c < 0x20 || c == 0x7f)) ||
           (length == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

typedef void strange_byte(const ka_text *out, unsigned char byte);

/* Plain runs go out in one piece. */
static void put_escaped(const ka_text *out, const char *text,
                        const escape_row *rows, size_t n,
                        strange_byte *strange)
{
    const char *run = text;

    while (*text) {
        size_t length = ka_utf8_length(text);
        const char *escape = escape_of(rows, n, *text);

        if (length > 0 && !escape && !is_control(text, length)) {
            text += length;
            continue;
        }
        out->sink(out->baton, run, (size_t)(text - run));
        if (escape) {
            ka_text_put(out, escape);
        }
        else {
            strange(out, (unsigned char)*text);
        }
        run = ++text;
    }
    out->sink(out->baton, run, (size_t)(text - run));
}

static void strange_in_html(const ka_text *out, unsigned char byte)
{
    (void)byte;
    ka_text_put(out, "\xef\xbf\xbd");
}

void ka_text_html(const ka_text *out, const char *text)
{
    static const escape_row rows[] = {{'<', "&lt;"},
                                      {'>', "&gt;"},
                                      {'&', "&amp;"},
                                      {'"', "&quot;"},
                                      {'\'', "&#39;"}};

    put_escaped(out, text ? text : "", rows, sizeof(rows) / sizeof(rows[0]),
                strange_in_html);
}

/* The backslash is itself escaped there. */
static void strange_in_label(const ka_text *out, unsigned char byte)
{
    char buffer[8];

    snprintf(buffer, sizeof(buffer), "\\\\x%02x", byte);
    ka_text_put(out, buffer);
}

void ka_text_label(const ka_text *out, const char *text)
{
    static const escape_row rows[] = {
        {'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}};

    put_escaped(out, text ? text : "", rows, sizeof(rows) / sizeof(rows[0]),
                strange_in_label);
}

void ka_text_put(const ka_text *out, const char *text)
{
    out->sink(out->baton, text, strlen(text));
}

/* ---- numbers ------------------------------------------------------------- */

void ka_text_number(const ka_text *out, uint64_t value)
{
    char buffer[24];

    snprintf(buffer, sizeof(buffer), "%" PRIu64, value);
    ka_text_put(out, buffer);
}

void ka_text_count(const ka_text *out, uint64_t value)
{
    char buffer[32];
    char *at = buffer + sizeof(buffer) - 1;
    int digits = 0;

    *at = '\0';
    do {
        if (digits && digits % 3 == 0) {
            *--at = ',';
        }
        *--at = (char)('0' + value % 10);
        value /= 10;
        digits++;
    } while (value);
    ka_text_put(out, at);
}

void ka_text_seconds(const ka_text *out, uint64_t us)
{
    char buffer[32];

    snprintf(buffer, sizeof(buffer), "%" PRIu64 ".%06" PRIu64, us / 1000000,
             us % 1000000);
    ka_text_put(out, buffer);
}

void ka_text_decimal(const ka_text *out, double value, unsigned places)
{
    uint64_t scale = 1, scaled;
    char buffer[32];
    unsigned i;

    for (i = 0; i < places; i++) {
        scale *= 10;
    }
    if (!(value > 0)) {
        value = 0;
    }
    value = value < DECIMAL_MAX ? value : DECIMAL_MAX;
    scaled = (uint64_t)(value * (double)scale + 0.5);
    ka_text_number(out, scaled / scale);
    if (places) {
        snprintf(buffer, sizeof(buffer), ".%0*" PRIu64, (int)places,
                 scaled % scale);
        ka_text_put(out, buffer);
    }
}

void ka_text_figure(const ka_text *out, double value)
{
    static const struct {
        double below;
        unsigned places;
    } rows[] = {{0.0005, 6}, {0.0095, 4}, {0.0995, 3}, {9.995, 2}, {99.95, 1}};
    size_t i;

    if (!(value > 0)) {
        value = 0;
    }
    value = value < DECIMAL_MAX ? value : DECIMAL_MAX;
    if (value == (double)(uint64_t)value) {
        ka_text_count(out, (uint64_t)value);
        return;
    }
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (value < rows[i].below) {
            ka_text_decimal(out, value, rows[i].places);
            return;
        }
    }
    ka_text_count(out, (uint64_t)(value + 0.5));
}

/* All and almost all are told apart, as nothing and almost nothing are. */
void ka_text_share(const ka_text *out, double part, double whole)
{
    double percent = 100 * part / whole;

    if (!(whole > 0)) {
        ka_text_put(out, "-");
    }
    else if (part > 0 && percent < 0.1) {
        ka_text_put(out, "<0.1%");
    }
    else if (part < whole && percent >= 99.95) {
        ka_text_put(out, ">99.9%");
    }
    else {
        ka_text_decimal(out, percent,
                        percent <= 0 || percent >= 100 ? 0 : 1);
        ka_text_put(out, "%");
    }
}

void ka_text_duration(const ka_text *out, double us)
{
    char buffer[KA_UNITS_BUFFER];

    us = us < 9e18 ? us : 9e18;
    ka_text_put(out, ka_print_duration(buffer, us > 0 ? (int64_t)(us + 0.5)
                                                      : 0));
}

void ka_text_size(const ka_text *out, uint64_t bytes)
{
    char buffer[KA_UNITS_BUFFER];

    ka_text_put(out, ka_print_size(buffer, bytes < INT64_MAX ? (int64_t)bytes
                                                             : INT64_MAX));
}

void ka_text_time(const ka_text *out, int64_t at)
{
    time_t seconds = (time_t)(at / 1000000);
    char buffer[40] = "-";
    struct tm tm;

    if (gmtime_r(&seconds, &tm) && tm.tm_year >= -1900 && tm.tm_year < 8100) {
        snprintf(buffer, sizeof(buffer), "%04d-%02d-%02d %02d:%02d:%02d UTC",
                 (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday,
                 tm.tm_hour, tm.tm_min, tm.tm_sec);
    }
    ka_text_put(out, buffer);
}
