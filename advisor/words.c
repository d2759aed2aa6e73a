/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <apr_strings.h>
#include <apr_time.h>
#include <ka_units.h>

#include "model/outcome.h"

/* Above it a double no longer holds every whole number that we print. */
#define WHOLE_MAX 1e15

/* 9999-12-31T23:59:59Z: RFC 3339 has years of four digits. */
#define TIME_MAX_US (INT64_C(253402300799) * 1000000)

const char *ka_words_count(apr_pool_t *pool, int64_t n)
{
    char digits[24], text[32];
    size_t length, i, to = 0;

    snprintf(digits, sizeof(digits), "%lld", (long long)n);
    length = strlen(digits);
    for (i = 0; i < length; i++) {
        text[to++] = digits[i];
        if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0) {
            text[to++] = ',';
        }
    }
    text[to] = '\0';
    return apr_pstrdup(pool, text);
}

const char *ka_words_whole(apr_pool_t *pool, double value)
{
    if (!isfinite(value) || fabs(value) > WHOLE_MAX) {
        return "?";
    }
    return ka_words_count(pool, llround(value));
}

const char *ka_words_number(apr_pool_t *pool, double value)
{
    /* Limits lie half a last digit under the power of ten, so that 9.996 is
     * 10.0 and not 10.00. */
    static const struct {
        double below;
        int decimals;
    } forms[] = {{0.00995, 4}, {0.0995, 3}, {0.995, 2},
                 {9.995, 2},   {99.95, 1},  {999.5, 0}};
    char text[32];
    size_t i;

    if (value == 0) {
        return "0";
    }
    if (value > 0 && value < 0.001) {
        return "<0.001";
    }
    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (fabs(value) < forms[i].below) {
            snprintf(text, sizeof(text), "%.*f", forms[i].decimals, value);
            return apr_pstrdup(pool, text);
        }
    }
    return ka_words_whole(pool, value);
}

const char *ka_words_share(apr_pool_t *pool, double ratio)
{
    double percent = ratio * 100;
    char text[32];

    if (!isfinite(percent)) {
        return "?";
    }
    if (percent > 0 && percent < 0.05) {
        return "<0.1%";
    }
    if (percent == 0 || fabs(percent) >= 99.95) {
        snprintf(text, sizeof(text), "%.0f%%", percent);
    }
    else {
        snprintf(text, sizeof(text), "%.1f%%", percent);
    }
    return apr_pstrdup(pool, text);
}

const char *ka_words_duration(apr_pool_t *pool, double us)
{
    char buffer[KA_UNITS_BUFFER];

    if (!isfinite(us) || fabs(us) > WHOLE_MAX * 10) {
        return "?";
    }
    return apr_pstrdup(pool, ka_print_duration(buffer, llround(us)));
}

const char *ka_words_size(apr_pool_t *pool, int64_t bytes)
{
    char buffer[KA_UNITS_BUFFER];

    return bytes < 0 ? "-" : apr_pstrdup(pool, ka_print_size(buffer, bytes));
}

const char *ka_words_timeout(apr_pool_t *pool, int64_t timeout_us)
{
    return timeout_us == KA_TIMEOUT_OFF
               ? "Off"
               : ka_words_duration(pool, (double)timeout_us);
}

const char *ka_words_time(apr_pool_t *pool, int64_t us)
{
    apr_time_exp_t t;

    if (us <= 0 || us > TIME_MAX_US || apr_time_exp_gmt(&t, us)) {
        return NULL;
    }
    return apr_psprintf(pool, "%04d-%02d-%02dT%02d:%02d:%02dZ",
                        t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                        t.tm_min, t.tm_sec);
}

const char *ka_words_range(apr_pool_t *pool, ka_words_fn *words, double a,
                           double b)
{
    const char *low = words(pool, a < b ? a : b);
    const char *high = words(pool, a < b ? b : a);

    return strcmp(low, high) ? apr_pstrcat(pool, low, "..", high, NULL) : low;
}

const char *ka_words_plural(apr_pool_t *pool, int64_t n, const char *noun)
{
    return apr_pstrcat(pool, ka_words_count(pool, n), " ", noun,
                       n == 1 ? "" : "s", NULL);
}

const char *ka_words_join(apr_pool_t *pool, const char *const *parts, size_t n)
{
    const char *text = NULL;
    size_t i;

    for (i = 0; i < n; i++) {
        if (parts[i]) {
            text = text ? apr_pstrcat(pool, text, "; ", parts[i], NULL)
                        : parts[i];
        }
    }
    return text;
}

const char *ka_words_clean(apr_pool_t *pool, const char *text, bool keep_lines)
{
    static const char hex[] = "0123456789abcdef";
    char *out, *to;

    if (!text) {
        return "";
    }
    out = to = apr_palloc(pool, 4 * strlen(text) + 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= ' ' && c <= '~') || (c == '\n' && keep_lines)) {
            *to++ = (char)c;
        }
        else if (c == '\t') {
            *to++ = ' ';
        }
        else {
            *to++ = '\\';
            *to++ = 'x';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    *to = '\0';
    return out;
}
