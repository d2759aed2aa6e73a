/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "timearg.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <apr_strings.h>
#include <apr_time.h>

#include <ka_units.h>

/* `Z`, `+01:00`, `+0100` or nothing; seconds east of UTC. */
static apr_status_t parse_zone(int *east_s, const char *text)
{
    int hours, minutes, end = 0;
    char sign;

    *east_s = 0;
    if (!*text || !strcmp(text, "Z") || !strcmp(text, "z")) {
        return APR_SUCCESS;
    }
    if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &end) != 3 &&
        sscanf(text, "%c%2d%2d%n", &sign, &hours, &minutes, &end) != 3) {
        return APR_EINVAL;
    }
    if ((sign != '+' && sign != '-') || hours < 0 || hours > 14 ||
        minutes < 0 || minutes > 59 || text[end]) {
        return APR_EINVAL;
    }
    *east_s = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
    return APR_SUCCESS;
}

/* `:30` or `:30.5` after hours and minutes; returns what follows. */
static const char *parse_seconds(int64_t *us, const char *text)
{
    size_t n = strspn(text, ":.0123456789");
    char number[32];
    int64_t value;

    *us = 0;
    if (!n) {
        return text;
    }
    if (n < 3 || n > 10 || text[0] != ':') {
        return NULL;
    }
    apr_cpystrn(number, text + 1, n);
    if (ka_parse_duration(&value, number) ||
        value >= 60 * APR_USEC_PER_SEC) {
        return NULL;
    }
    *us = value;
    return text + n;
}

static apr_status_t parse_clock(int64_t *us, int *east_s, const char *text)
{
    int hours, minutes, end = 0;
    int64_t seconds_us;

    if ((*text != 'T' && *text != 't' && *text != ' ') ||
        sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &end) != 2 ||
        end != 5 || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
        return APR_EINVAL;
    }
    text = parse_seconds(&seconds_us, text + 1 + end);
    if (!text) {
        return APR_EINVAL;
    }
    *us = (hours * 60 + minutes) * 60 * APR_USEC_PER_SEC + seconds_us;
    return parse_zone(east_s, text);
}

apr_status_t ka_parse_time(int64_t *us, const char *text)
{
    struct tm day = {0};
    int64_t clock_us = 0;
    int end = 0, east_s = 0, want_day;
    time_t seconds;

    if (text[0] == '@') {
        return ka_parse_duration(us, text + 1);
    }
    if (strspn(text, "0123456789-") < 10 ||
        sscanf(text, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday,
               &end) != 3 ||
        end != 10) {
        return APR_EINVAL;
    }
    if (text[end] && parse_clock(&clock_us, &east_s, text + end)) {
        return APR_EINVAL;
    }
    want_day = day.tm_mday;
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    if (day.tm_mon < 0 || day.tm_mon > 11) {
        return APR_EINVAL;
    }
    /* timegm turns a day that does not exist into another one */
    seconds = timegm(&day);
    if (day.tm_mday != want_day) {
        return APR_EINVAL;
    }
    *us = ((int64_t)seconds - east_s) * APR_USEC_PER_SEC + clock_us;
    return APR_SUCCESS;
}
