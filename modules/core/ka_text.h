/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_text: writes text piece by piece to a sink: numbers as people and as
 * programs read them, and foreign text escaped for where it goes.
 *
 * Independent of the locale; allocates nothing.  A ka_text is not modified:
 * safe from any thread as far as its sink is.
 */
#ifndef KA_TEXT_H
#define KA_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef void ka_text_sink(void *baton, const char *bytes, size_t n);

typedef struct ka_text {
    ka_text_sink *sink;
    void *baton;
} ka_text;

/**
 * Length of the UTF-8 character at text, 1 .. 4; 0 if it is no valid one
 * (overlong forms, surrogates and what lies past U+10FFFF are none).
 * @param text  NUL-terminated; NUL itself is a character of length 1
 */
size_t ka_utf8_length(const char *text);

/** Text as it is: for what the program itself says. */
void ka_text_put(const ka_text *out, const char *text);

/**
 * Foreign text inside an HTML element or a quoted attribute.  NULL writes
 * nothing.  Bytes that are no valid UTF-8, and control characters, come out
 * as U+FFFD, one each.
 */
void ka_text_html(const ka_text *out, const char *text);

/**
 * Foreign text inside the quotes of a metric's label value.  Bytes that are no
 * valid UTF-8, and control characters but line feed, come out as `\xHH`, so
 * that different names stay different.
 */
void ka_text_label(const ka_text *out, const char *text);

/** 1234567 */
void ka_text_number(const ka_text *out, uint64_t value);
/** 1,234,567 */
void ka_text_count(const ka_text *out, uint64_t value);
/** Microseconds as seconds: 1.234567, always six decimals. */
void ka_text_seconds(const ka_text *out, uint64_t us);
/**
 * A value >= 0, rounded to so many decimals: 0.83.  What is no number or
 * negative writes 0, what is past 1e12 writes 1e12.
 * @param places  0 .. 6
 */
void ka_text_decimal(const ka_text *out, double value, unsigned places);
/** With three digits or so, whole numbers as they are: 0.0042, 0.31, 5.59, 27,
 * 27.1, 1,234.  As ka_text_decimal outside its range. */
void ka_text_figure(const ka_text *out, double value);
/** part / whole as 31.2%; <0.1% for less than that, - of nothing. */
void ka_text_share(const ka_text *out, double part, double whole);
/** As ka_print_duration, ka_print_size. */
void ka_text_duration(const ka_text *out, double us);
void ka_text_size(const ka_text *out, uint64_t bytes);
/** 2026-11-30 17:46:01 UTC; `-` if it is no time of the years 0 .. 9999.
 * @param at  us since the epoch */
void ka_text_time(const ka_text *out, int64_t at);

#endif
