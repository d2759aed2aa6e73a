/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One table per kind, ascending by factor: the parser takes any of a unit's
 * spellings, the printer writes the first.  Numbers are read and written
 * digit by digit, not by strtod and printf, whose decimal point is the
 * locale's.
 */
#include "ka_units.h"

#include <stdio.h>
#include <stdbool.h>

#define SECOND INT64_C(1000000)
#define YEARS_100 (36525 * INT64_C(86400) * SECOND)
#define SIZE_END (INT64_C(1) << 60)
#define NUMBER_END UINT64_C(1000000000000000)

/* Seconds that are printed as such, if they are whole. */
#define WHOLE_SECONDS_MAX 600

/* Digits of a fraction that a double tells apart. */
#define FRACTION_DIGITS 15

typedef struct unit {
    const char *names[3]; /* the first is printed; NULL: no more */
    int64_t factor;
} unit;

static const unit duration_units[] = {
    {{"us"}, 1},
    {{"ms"}, 1000},
    {{"s", ""}, SECOND},
    {{"min", "m"}, 60 * SECOND},
    {{"h"}, 3600 * SECOND},
    {{"d"}, 86400 * SECOND},
};

static const unit size_units[] = {
    {{"B", ""}, 1},
    {{"K", "KB", "KiB"}, INT64_C(1) << 10},
    {{"M", "MB", "MiB"}, INT64_C(1) << 20},
    {{"G", "GB", "GiB"}, INT64_C(1) << 30},
    {{"T", "TB", "TiB"}, INT64_C(1) << 40},
};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* ---- reading ------------------------------------------------------------ */

typedef struct decimal {
    uint64_t whole;  /* UINT64_MAX: that or more */
    double fraction; /* 0 .. 1 */
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static const char *read_whole(uint64_t *whole, const char *text)
{
    uint64_t value = 0;
    bool overflow = false;

    for (; is_digit(*text); text++) {
        overflow |= __builtin_mul_overflow(value, UINT64_C(10), &value);
        overflow |=
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value);
    }
    *whole = overflow ? UINT64_MAX : value;
    return text;
}

static const char *read_fraction(double *fraction, const char *text)
{
    double digits = 0, scale = 1;
    int n;

    for (n = 0; is_digit(*text); text++, n++) {
        if (n < FRACTION_DIGITS) {
            digits = digits * 10 + (*text - '0');
            scale *= 10;
        }
    }
    *fraction = digits / scale;
    return text;
}

/* Reads `12`, `12.5`, `12.` or `.5`; NULL if text starts with no number. */
static const char *read_decimal(decimal *out, const char *text)
{
    const char *point;

    if (text == NULL) {
        return NULL;
    }
    point = read_whole(&out->whole, text);
    out->fraction = 0;
    if (*point != '.') {
        return point > text ? point : NULL;
    }
    if (point == text && !is_digit(point[1])) {
        return NULL;
    }
    return read_fraction(&out->fraction, point + 1);
}

static const unit *find_unit(const unit *units, size_t n, const char *name)
{
    size_t i, k;

    for (i = 0; i < n; i++) {
        for (k = 0; k < COUNT_OF(units[i].names); k++) {
            const char *candidate = units[i].names[k];

            if (candidate && same_word(candidate, name)) {
                return &units[i];
            }
        }
    }
    return NULL;
}

static apr_status_t parse(int64_t *out, const char *text, const unit *units,
                          size_t n, int64_t max)
{
    decimal value;
    const char *name = read_decimal(&value, text);
    const unit *u = name ? find_unit(units, n, name) : NULL;
    int64_t whole, part;

    if (u == NULL) {
        return APR_EINVAL;
    }
    if (__builtin_mul_overflow(value.whole, u->factor, &whole)) {
        return APR_ERANGE;
    }
    part = (int64_t)(value.fraction * (double)u->factor + 0.5);
    if (whole > max - part) {
        return APR_ERANGE;
    }
    *out = whole + part;
    return APR_SUCCESS;
}

apr_status_t ka_parse_duration(int64_t *out, const char *text)
{
    return parse(out, text, duration_units, COUNT_OF(duration_units),
                 YEARS_100);
}

apr_status_t ka_parse_size(int64_t *out, const char *text)
{
    return parse(out, text, size_units, COUNT_OF(size_units), SIZE_END - 1);
}

apr_status_t ka_parse_number(double *out, const char *text)
{
    decimal value;
    const char *rest = read_decimal(&value, text);

    if (rest == NULL || *rest != '\0') {
        return APR_EINVAL;
    }
    if (value.whole >= NUMBER_END) {
        return APR_ERANGE;
    }
    *out = (double)value.whole + value.fraction;
    return APR_SUCCESS;
}

/* ---- writing ------------------------------------------------------------ */

/* Three significant digits of a value as whole.fraction in one unit. */
typedef struct digits {
    uint64_t scaled;   /* value x 10^decimals, rounded */
    unsigned decimals; /* 0 .. 2 */
} digits;

static const uint64_t pow10_of[] = {1, 10, 100};

static digits three_digits(uint64_t value, uint64_t factor)
{
    uint64_t whole = value / factor, step;
    digits d = {0, whole < 10 ? 2 : whole < 100 ? 1 : 0};

    /* No overflow: decimals are only used where value < 100 x factor. */
    d.scaled = value * pow10_of[d.decimals] / factor;
    if (value * pow10_of[d.decimals] % factor >= (factor + 1) / 2) {
        d.scaled++;
    }
    for (step = 1; d.scaled / step >= 1000; step *= 10) {
        continue;
    }
    d.scaled = (d.scaled + step / 2) / step * step;
    return d;
}

static const char *write_digits(char *buffer, const char *sign, digits d,
                                const char *name)
{
    while (d.decimals > 0 && d.scaled % 10 == 0) {
        d.scaled /= 10;
        d.decimals--;
    }
    if (d.decimals == 0) {
        snprintf(buffer, KA_UNITS_BUFFER, "%s%llu%s", sign,
                 (unsigned long long)d.scaled, name);
        return buffer;
    }
    snprintf(buffer, KA_UNITS_BUFFER, "%s%llu.%0*llu%s", sign,
             (unsigned long long)(d.scaled / pow10_of[d.decimals]),
             (int)d.decimals,
             (unsigned long long)(d.scaled % pow10_of[d.decimals]), name);
    return buffer;
}

/* Rounding may lift a value to the next unit: 999.9ms is 1s. */
static bool reaches_next(digits d, const unit *u)
{
    return d.scaled * (uint64_t)u[0].factor >=
           (uint64_t)u[1].factor * pow10_of[d.decimals];
}

static const char *print_rounded(char *buffer, const char *sign, uint64_t value,
                                 const unit *units, size_t n)
{
    size_t i = n - 1;
    digits d;

    while (i > 0 && value < (uint64_t)units[i].factor) {
        i--;
    }
    d = three_digits(value, (uint64_t)units[i].factor);
    if (i + 1 < n && reaches_next(d, &units[i])) {
        i++;
        d = (digits){1, 0};
    }
    return write_digits(buffer, sign, d, units[i].names[0]);
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

const char *ka_print_duration(char *buffer, int64_t us)
{
    const char *sign = us < 0 ? "-" : "";
    uint64_t value = magnitude(us);

    if (value % SECOND == 0 && value <= WHOLE_SECONDS_MAX * SECOND) {
        return write_digits(buffer, sign, (digits){value / SECOND, 0}, "s");
    }
    return print_rounded(buffer, sign, value, duration_units,
                         COUNT_OF(duration_units));
}

const char *ka_print_size(char *buffer, int64_t bytes)
{
    const char *sign = bytes < 0 ? "-" : "";
    uint64_t value = magnitude(bytes);
    size_t i;

    if (value == 0) {
        return write_digits(buffer, "", (digits){0, 0}, "B");
    }
    for (i = COUNT_OF(size_units); i-- > 0;) {
        uint64_t factor = (uint64_t)size_units[i].factor;

        if (value % factor == 0 && value / factor < 10000) {
            return write_digits(buffer, sign, (digits){value / factor, 0},
                                size_units[i].names[0]);
        }
    }
    return print_rounded(buffer, sign, value, size_units, COUNT_OF(size_units));
}

const char *ka_print_httpd_time(char *buffer, int64_t us)
{
    uint64_t ms;

    if (us <= 0) {
        ms = 0;
    }
    else {
        ms = (uint64_t)(us / 1000 + (us % 1000 >= 500));
        ms = ms ? ms : 1; /* 0 would mean no wait at all */
    }
    if (ms % 1000 == 0) {
        return write_digits(buffer, "", (digits){ms / 1000, 0}, "");
    }
    return write_digits(buffer, "", (digits){ms, 0}, "ms");
}
