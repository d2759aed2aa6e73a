/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * strftime formats, compiled to a list of small steps and matched. */
#include "logtime.h"

#include <string.h>
#include <strings.h>
#include <apr_tables.h>

typedef enum step_kind {
    STEP_LITERAL,
    STEP_NUMBER,
    STEP_MONTH,
    STEP_WEEKDAY,
    STEP_AM_PM,
    STEP_OFFSET,    /* %z */
    STEP_ZONE_NAME, /* %Z */
    STEP_EPOCH      /* %s */
} step_kind;

typedef struct step {
    step_kind kind;
    ka_time_part part;
    bool full;  /* a name in full length, not its first three letters */
    bool blank; /* a number may be padded with a blank, or not at all */
    unsigned char width; /* digits of a number */
    short min, max;
    char literal;
} step;

struct ka_time_format {
    size_t n;
    uint32_t parts;
    step steps[];
};

/* ---- conversions ------------------------------------------------------ */

typedef struct conversion {
    char letter;
    step step;
} conversion;

#define NUMBER(letter, part, width, min, max)                                  \
    { letter, { STEP_NUMBER, part, false, false, width, min, max, 0 } }
#define PADDED(letter, part, width, min, max)                                  \
    { letter, { STEP_NUMBER, part, false, true, width, min, max, 0 } }
#define NAME(letter, kind, part, full)                                         \
    { letter, { kind, part, full, false, 0, 0, 0, 0 } }

static const conversion conversions[] = {
    NUMBER('C', KA_TIME_CENTURY, 2, 0, 99),
    NUMBER('G', KA_TIME_YEAR_ISO, 4, 0, 9999),
    NUMBER('H', KA_TIME_HOUR, 2, 0, 23),
    NUMBER('I', KA_TIME_HOUR_OF_12, 2, 1, 12),
    NUMBER('M', KA_TIME_MINUTE, 2, 0, 59),
    NUMBER('S', KA_TIME_SECOND, 2, 0, 60),
    NUMBER('U', KA_TIME_WEEK_SUNDAY, 2, 0, 53),
    NUMBER('V', KA_TIME_WEEK_ISO, 2, 1, 53),
    NUMBER('W', KA_TIME_WEEK_MONDAY, 2, 0, 53),
    NUMBER('Y', KA_TIME_YEAR, 4, 0, 9999),
    NUMBER('d', KA_TIME_DAY, 2, 1, 31),
    NUMBER('g', KA_TIME_YEAR_ISO_100, 2, 0, 99),
    NUMBER('j', KA_TIME_DAY_OF_YEAR, 3, 1, 366),
    NUMBER('m', KA_TIME_MONTH, 2, 1, 12),
    NUMBER('u', KA_TIME_WEEKDAY, 1, 1, 7),
    NUMBER('w', KA_TIME_WEEKDAY, 1, 0, 6),
    NUMBER('y', KA_TIME_YEAR_OF_100, 2, 0, 99),
    PADDED('e', KA_TIME_DAY, 2, 1, 31),
    PADDED('k', KA_TIME_HOUR, 2, 0, 23),
    PADDED('l', KA_TIME_HOUR_OF_12, 2, 1, 12),
    NAME('A', STEP_WEEKDAY, KA_TIME_WEEKDAY, true),
    NAME('B', STEP_MONTH, KA_TIME_MONTH, true),
    NAME('P', STEP_AM_PM, KA_TIME_PM, false),
    NAME('Z', STEP_ZONE_NAME, KA_TIME_ZONE_NAME, false),
    NAME('a', STEP_WEEKDAY, KA_TIME_WEEKDAY, false),
    NAME('b', STEP_MONTH, KA_TIME_MONTH, false),
    NAME('h', STEP_MONTH, KA_TIME_MONTH, false),
    NAME('p', STEP_AM_PM, KA_TIME_PM, false),
    NAME('s', STEP_EPOCH, KA_TIME_EPOCH, false),
    NAME('z', STEP_OFFSET, KA_TIME_ZONE, false),
};

/* Conversions that stand for others, in the C locale. */
static const struct {
    char letter;
    const char *text;
} expansions[] = {
    { 'D', "%m/%d/%y" },    { 'F', "%Y-%m-%d" },
    { 'R', "%H:%M" },       { 'T', "%H:%M:%S" },
    { 'X', "%H:%M:%S" },    { 'c', "%a %b %e %H:%M:%S %Y" },
    { 'r', "%I:%M:%S %p" }, { 'x', "%m/%d/%y" }
};

/* Conversions that stand for one byte. */
static const struct {
    char letter, byte;
} bytes[] = { { '%', '%' }, { 'n', '\n' }, { 't', '\t' } };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *expansion_of(char letter)
{
    for (size_t i = 0; i < COUNT(expansions); i++) {
        if (expansions[i].letter == letter) {
            return expansions[i].text;
        }
    }
    return NULL;
}

static bool conversion_step(step *out, char letter, bool unpadded)
{
    for (size_t i = 0; i < COUNT(bytes); i++) {
        if (bytes[i].letter == letter) {
            *out = (step){ .kind = STEP_LITERAL, .literal = bytes[i].byte };
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(conversions); i++) {
        if (conversions[i].letter == letter) {
            *out = conversions[i].step;
            out->blank = out->blank || (unpadded && out->kind == STEP_NUMBER);
            return true;
        }
    }
    return false;
}

/* ---- compilation ------------------------------------------------------ */

/* Adds the steps of text to the array; NULL, or the conversion that is none. */
static const char *add_steps(apr_array_header_t *steps, const char *text,
                             const char *end)
{
    while (text < end) {
        const char *start = text, *expansion;
        bool unpadded = false;
        step next = { .kind = STEP_LITERAL, .literal = *text };

        if (*text++ == '%') {
            for (; text < end && strchr("_-0^#", *text) && *text; text++) {
                unpadded = unpadded || *text == '_' || *text == '-';
            }
            text += text < end && (*text == 'E' || *text == 'O');
            if (text == end) {
                return start;
            }
            expansion = expansion_of(*text);
            if (expansion) {
                /* Expansions hold plain conversions only: one level deep. */
                add_steps(steps, expansion, expansion + strlen(expansion));
                text++;
                continue;
            }
            if (!conversion_step(&next, *text++, unpadded)) {
                return start;
            }
        }
        *(step *)apr_array_push(steps) = next;
    }
    return NULL;
}

apr_status_t ka_time_format_compile(ka_time_format **out, size_t *where,
                                    const char *text, size_t length,
                                    apr_pool_t *pool)
{
    apr_array_header_t *steps = apr_array_make(pool, 16, sizeof(step));
    const char *bad = add_steps(steps, text, text + length);
    ka_time_format *format;

    if (bad) {
        if (where) {
            *where = (size_t)(bad - text);
        }
        return APR_EINVAL;
    }
    format = apr_pcalloc(pool, sizeof(*format)
                                   + (size_t)steps->nelts * sizeof(step));
    format->n = (size_t)steps->nelts;
    if (format->n > 0) {
        memcpy(format->steps, steps->elts, format->n * sizeof(step));
    }
    for (size_t i = 0; i < format->n; i++) {
        if (format->steps[i].kind != STEP_LITERAL) {
            format->parts |= KA_TIME_BIT(format->steps[i].part);
        }
    }
    *out = format;
    return APR_SUCCESS;
}

uint32_t ka_time_format_parts(const ka_time_format *format)
{
    return format->parts;
}

ka_time_edge ka_time_format_first(const ka_time_format *format, char *literal)
{
    const step *first = format->steps;

    if (format->n == 0) {
        return KA_TIME_EDGE_NONE;
    }
    switch (first->kind) {
    case STEP_LITERAL:
        *literal = first->literal;
        return KA_TIME_EDGE_LITERAL;
    case STEP_NUMBER:
        return first->blank ? KA_TIME_EDGE_BLANK : KA_TIME_EDGE_DIGITS;
    case STEP_EPOCH:
        return KA_TIME_EDGE_DIGITS;
    case STEP_OFFSET:
        return KA_TIME_EDGE_SIGN;
    default:
        return KA_TIME_EDGE_NAME;
    }
}

ka_time_edge ka_time_format_last(const ka_time_format *format)
{
    const step *last;

    if (format->n == 0) {
        return KA_TIME_EDGE_NONE;
    }
    last = &format->steps[format->n - 1];
    switch (last->kind) {
    case STEP_NUMBER:
        return last->blank ? KA_TIME_EDGE_DIGITS : KA_TIME_EDGE_FIXED;
    case STEP_EPOCH:
        return KA_TIME_EDGE_DIGITS;
    case STEP_ZONE_NAME:
        return KA_TIME_EDGE_NAME;
    default:
        return KA_TIME_EDGE_FIXED;
    }
}

/* ---- matching --------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Each reader returns the end of what it took, NULL if it is not there. */
static const char *read_number(int64_t *value, const step *s, const char *at,
                               const char *end)
{
    size_t digits = 0;

    if (s->blank && at < end && *at == ' ') {
        at++;
    }
    for (*value = 0; digits < s->width && at < end && is_digit(*at); digits++) {
        *value = *value * 10 + (*at++ - '0');
    }
    return (digits == s->width || (s->blank && digits > 0))
                   && *value >= s->min && *value <= s->max
               ? at
               : NULL;
}

/* The epoch's second: at most 18 digits, so that it cannot overflow. */
static const char *read_epoch(int64_t *value, const char *at, const char *end)
{
    const char *start = at;

    for (*value = 0; at < end && is_digit(*at); at++) {
        if (at - start == 18) {
            return NULL;
        }
        *value = *value * 10 + (*at - '0');
    }
    return at > start ? at : NULL;
}

static const char *read_name(int64_t *value, const char *const *names,
                             size_t n, bool full, const char *at,
                             const char *end)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = full ? strlen(names[i]) : 3;

        if ((size_t)(end - at) >= length
            && strncasecmp(at, names[i], length) == 0) {
            *value = (int64_t)i;
            return at + length;
        }
    }
    return NULL;
}

static const char *read_month(int64_t *value, bool full, const char *at,
                              const char *end)
{
    static const char *const names[] = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"
    };

    at = read_name(value, names, COUNT(names), full, at, end);
    ++*value;
    return at;
}

static const char *read_weekday(int64_t *value, bool full, const char *at,
                                const char *end)
{
    static const char *const names[] = { "Sunday",    "Monday",   "Tuesday",
                                         "Wednesday", "Thursday", "Friday",
                                         "Saturday" };

    return read_name(value, names, COUNT(names), full, at, end);
}

static const char *read_am_pm(int64_t *value, const char *at, const char *end)
{
    if (end - at < 2 || (at[1] != 'm' && at[1] != 'M')
        || !strchr("aApP", at[0]) || at[0] == '\0') {
        return NULL;
    }
    *value = at[0] == 'p' || at[0] == 'P';
    return at + 2;
}

/* +hhmm; +hh:mm as other programs write it. */
static const char *read_offset(int64_t *value, const char *at, const char *end)
{
    static const step hours = { .width = 2, .max = 24 };
    static const step minutes = { .width = 2, .max = 59 };
    int64_t h, m;
    bool west;

    if (at == end || (*at != '+' && *at != '-')) {
        return NULL;
    }
    west = *at == '-';
    at = read_number(&h, &hours, at + 1, end);
    if (!at) {
        return NULL;
    }
    at += at < end && *at == ':';
    at = read_number(&m, &minutes, at, end);
    *value = (west ? -1 : 1) * (h * 3600 + (at ? m : 0) * 60);
    return at;
}

/* Zones whose name has one common meaning.  CST and IST have several; they
 * count as unknown, and so does CDT, as half a year of CDT beside an unknown
 * CST would tear the log by hours. */
static const struct {
    const char *name;
    short minutes;
} zones[] = {
    { "UTC", 0 },     { "GMT", 0 },     { "Z", 0 },       { "WET", 0 },
    { "WEST", 60 },   { "BST", 60 },    { "CET", 60 },    { "CEST", 120 },
    { "EET", 120 },   { "EEST", 180 },  { "MSK", 180 },   { "SAST", 120 },
    { "EST", -300 },  { "EDT", -240 },  { "MST", -420 },  { "MDT", -360 },
    { "PST", -480 },  { "PDT", -420 },  { "AKST", -540 }, { "AKDT", -480 },
    { "HST", -600 },  { "JST", 540 },   { "KST", 540 },   { "HKT", 480 },
    { "AWST", 480 },  { "ACST", 570 },  { "ACDT", 630 },  { "AEST", 600 },
    { "AEDT", 660 },  { "NZST", 720 },  { "NZDT", 780 }
};

/* A name of letters, or the sign and digits that stand for one (`+03`). */
static const char *read_zone_name(int64_t *value, bool *known, const char *at,
                                  const char *end)
{
    const char *start = at;
    size_t length;

    *known = false;
    if (at < end && (*at == '+' || *at == '-')) {
        static const step hours = { .width = 2, .max = 24 };
        const char *stop = read_offset(value, at, end);

        *known = true;
        if (stop) {
            return stop;
        }
        stop = read_number(value, &hours, at + 1, end);
        *value *= *at == '-' ? -3600 : 3600;
        return stop;
    }
    while (at < end && is_letter(*at)) {
        at++;
    }
    length = (size_t)(at - start);
    for (size_t i = 0; i < COUNT(zones) && !*known; i++) {
        *known = length == strlen(zones[i].name)
                 && strncasecmp(start, zones[i].name, length) == 0;
        *value = zones[i].minutes * 60;
    }
    return length > 0 ? at : NULL;
}

static const char *read_step(int64_t *value, bool *known, const step *s,
                             const char *at, const char *end)
{
    *known = true;
    switch (s->kind) {
    case STEP_NUMBER:
        return read_number(value, s, at, end);
    case STEP_MONTH:
        return read_month(value, s->full, at, end);
    case STEP_WEEKDAY:
        return read_weekday(value, s->full, at, end);
    case STEP_AM_PM:
        return read_am_pm(value, at, end);
    case STEP_OFFSET:
        return read_offset(value, at, end);
    case STEP_ZONE_NAME:
        return read_zone_name(value, known, at, end);
    case STEP_EPOCH:
        return read_epoch(value, at, end);
    case STEP_LITERAL:
    default:
        *known = false;
        return (at < end && *at == s->literal) ? at + 1 : NULL;
    }
}

ptrdiff_t ka_time_format_match(ka_time_parts *parts,
                               const ka_time_format *format, const char *text,
                               size_t length)
{
    const char *at = text, *end = text + length;

    for (size_t i = 0; i < format->n; i++) {
        const step *s = &format->steps[i];
        int64_t value = 0;
        bool known;

        at = read_step(&value, &known, s, at, end);
        if (!at) {
            return -1;
        }
        if (known) {
            /* %u counts Sunday as 7. */
            parts->value[s->part] = s->part == KA_TIME_WEEKDAY ? value % 7
                                                               : value;
            parts->have |= KA_TIME_BIT(s->part);
        }
    }
    return at - text;
}
