/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The calendar, %t, and parts added up to seconds; the strftime programs are
 * in logtime_format.c. */
#include "logtime.h"

#include "wide.h"

#define DAY_S 86400

/* Days before each month of a common year; one more row for the year's end. */
static const short days_before[14] = { 0,   0,   31,  59,  90,  120, 151,
                                       181, 212, 243, 273, 304, 334, 365 };

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int year, int month)
{
    return days_before[month + 1] - days_before[month]
           + (month == 2 && is_leap(year));
}

bool ka_date_valid(int year, int month, int day)
{
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1
           && day <= days_in_month(year, month);
}

int64_t ka_days_from_civil(int year, int month, int day)
{
    int y = year - 1; /* years that are over */

    /* 719162 days lie between 0001-01-01 and 1970-01-01. */
    return (int64_t)365 * y + y / 4 - y / 100 + y / 400 + days_before[month]
           + (month > 2 && is_leap(year)) + day - 1 - 719162;
}

/* ---- %t -------------------------------------------------------------- */

/* The second and third letter of a month's name add up to a different number
 * modulo 32 for each month, so that one look finds the row. */
static const struct month_row {
    char name[4];
    unsigned char month;
} months[32] = {
    [('a' + 'n') % 32] = { "Jan", 1 },  [('e' + 'b') % 32] = { "Feb", 2 },
    [('a' + 'r') % 32] = { "Mar", 3 },  [('p' + 'r') % 32] = { "Apr", 4 },
    [('a' + 'y') % 32] = { "May", 5 },  [('u' + 'n') % 32] = { "Jun", 6 },
    [('u' + 'l') % 32] = { "Jul", 7 },  [('u' + 'g') % 32] = { "Aug", 8 },
    [('e' + 'p') % 32] = { "Sep", 9 },  [('c' + 't') % 32] = { "Oct", 10 },
    [('o' + 'v') % 32] = { "Nov", 11 }, [('e' + 'c') % 32] = { "Dec", 12 }
};

static int month_of(const char *name)
{
    const struct month_row *row =
        &months[((unsigned char)name[1] + (unsigned char)name[2]) % 32];

    return (row->name[0] == name[0] && row->name[1] == name[1]
            && row->name[2] == name[2])
               ? row->month
               : 0;
}

/* Two digits; `bad` gathers what is none, for one test at the end. */
static inline int two(const char *text, unsigned *bad)
{
    unsigned tens = (unsigned char)text[0] - (unsigned)'0';
    unsigned ones = (unsigned char)text[1] - (unsigned)'0';

    *bad |= (unsigned)(tens > 9) | (unsigned)(ones > 9);
    return (int)(tens * 10 + ones);
}

bool ka_time_clf(int64_t *seconds, const char *text)
{
    unsigned bad = 0;
    int day = two(text + 1, &bad), month = month_of(text + 4);
    int year = two(text + 8, &bad) * 100 + two(text + 10, &bad);
    int hour = two(text + 13, &bad), minute = two(text + 16, &bad);
    int second = two(text + 19, &bad);
    int zone = two(text + 23, &bad) * 3600 + two(text + 25, &bad) * 60;
    char sign = text[22];

    bad |= (unsigned)((text[0] ^ '[') | (text[3] ^ '/') | (text[7] ^ '/')
                      | (text[12] ^ ':') | (text[15] ^ ':') | (text[18] ^ ':')
                      | (text[21] ^ ' ') | (text[27] ^ ']'));
    bad |= (unsigned)(sign != '+' && sign != '-') | (unsigned)(hour > 23)
           | (unsigned)(minute > 59) | (unsigned)(second > 60)
           | (unsigned)(zone > DAY_S);
    if (bad || !ka_date_valid(year, month, day)) {
        return false;
    }
    *seconds = ka_days_from_civil(year, month, day) * DAY_S + hour * 3600
               + minute * 60 + second - (sign == '-' ? -zone : zone);
    return true;
}

/* All of the time but the digits of the second, which are bytes 19 and 20. */
static inline void take_minute(uint64_t out[4], const char *text)
{
    out[0] = ka_wide_word(text);
    out[1] = ka_wide_word(text + 8);
    out[2] = ka_wide_word(text + 16) & UINT64_C(0x0000000000ffffff);
    out[3] = ka_wide_word(text + 20) & UINT64_C(0xffffffffffffff00);
}

static bool read_anew(int64_t *seconds, ka_clf_minute *minute,
                      const uint64_t words[4], int second, const char *text)
{
    int64_t moment;

    if (!ka_time_clf(&moment, text) || moment < 0) {
        return false;
    }
    *seconds = moment;
    /* Of a minute that begins before 1970 not all seconds count. */
    if (moment >= second) {
        memcpy(minute->text, words, sizeof(minute->text));
        minute->start_s = moment - second;
    }
    return true;
}

bool ka_time_clf_next(int64_t *seconds, ka_clf_minute *minute,
                      const char *text)
{
    uint64_t words[4];
    unsigned bad = 0;
    int second = two(text + 19, &bad);

    take_minute(words, text);
    bad |= (unsigned)(second > 60);
    if (((words[0] ^ minute->text[0]) | (words[1] ^ minute->text[1])
         | (words[2] ^ minute->text[2]) | (words[3] ^ minute->text[3])
         | bad) == 0) {
        *seconds = minute->start_s + second;
        return true;
    }
    return read_anew(seconds, minute, words, second, text);
}

/* ---- parts ------------------------------------------------------------ */

#define BIT(part) KA_TIME_BIT(KA_TIME_##part)

/* Whether one of the sets is held completely. */
static bool holds_one(uint32_t have, const uint32_t *sets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((have & sets[i]) == sets[i]) {
            return true;
        }
    }
    return false;
}

static bool has_civil_date(uint32_t have)
{
    static const uint32_t years[] = { BIT(YEAR), BIT(YEAR_OF_100) };
    static const uint32_t days[] = {
        BIT(MONTH) | BIT(DAY), BIT(DAY_OF_YEAR),
        BIT(WEEK_SUNDAY) | BIT(WEEKDAY), BIT(WEEK_MONDAY) | BIT(WEEKDAY)
    };

    return holds_one(have, years, 2) && holds_one(have, days, 4);
}

static bool has_iso_date(uint32_t have)
{
    static const uint32_t sets[] = {
        BIT(YEAR_ISO) | BIT(WEEK_ISO) | BIT(WEEKDAY),
        BIT(YEAR_ISO_100) | BIT(WEEK_ISO) | BIT(WEEKDAY)
    };

    return holds_one(have, sets, 2);
}

const char *ka_time_parts_missing(uint32_t have)
{
    static const struct {
        const char *name;
        uint32_t sets[4]; /* any of them will do */
        size_t n;
    } needs[] = {
        { "year", { BIT(YEAR), BIT(YEAR_OF_100), BIT(YEAR_ISO),
                    BIT(YEAR_ISO_100) }, 4 },
        { "hour", { BIT(HOUR), BIT(HOUR_OF_12) | BIT(PM) }, 2 },
        { "minute", { BIT(MINUTE) }, 1 },
        { "second", { BIT(SECOND) }, 1 },
    };

    if (have & BIT(EPOCH)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (!holds_one(have, needs[i].sets, needs[i].n)) {
            return needs[i].name;
        }
    }
    return (has_civil_date(have) || has_iso_date(have)) ? NULL : "day";
}

/* 0 is Sunday; 1970-01-01 was a Thursday. */
static int weekday_of(int64_t days)
{
    return (int)(((days + 4) % 7 + 7) % 7);
}

/* POSIX: two digits without a century are 1969..2068. */
static int full_year(const ka_time_parts *p, ka_time_part of_100)
{
    int yy = (int)p->value[of_100];

    if (p->have & BIT(CENTURY)) {
        return (int)p->value[KA_TIME_CENTURY] * 100 + yy;
    }
    return yy + (yy < 69 ? 2000 : 1900);
}

/* The day of the year, from 0, that %U or %W and a weekday name. */
static int64_t day_of_week(const ka_time_parts *p, int64_t new_year)
{
    bool monday = !(p->have & BIT(WEEK_SUNDAY));
    int64_t week = p->value[monday ? KA_TIME_WEEK_MONDAY : KA_TIME_WEEK_SUNDAY];
    int first = weekday_of(new_year), day = (int)p->value[KA_TIME_WEEKDAY];

    /* Week 1 begins with the year's first Sunday or Monday. */
    return monday ? (8 - first) % 7 + (week - 1) * 7 + (day + 6) % 7
                  : (7 - first) % 7 + (week - 1) * 7 + day;
}

static bool civil_days(int64_t *days, const ka_time_parts *p)
{
    int year = (p->have & BIT(YEAR)) ? (int)p->value[KA_TIME_YEAR]
                                     : full_year(p, KA_TIME_YEAR_OF_100);
    int month = (int)p->value[KA_TIME_MONTH], day = (int)p->value[KA_TIME_DAY];
    int64_t new_year, offset;

    if ((p->have & BIT(MONTH)) && (p->have & BIT(DAY))) {
        if (!ka_date_valid(year, month, day)) {
            return false;
        }
        *days = ka_days_from_civil(year, month, day);
        return true;
    }
    if (!ka_date_valid(year, 1, 1)) {
        return false;
    }
    new_year = ka_days_from_civil(year, 1, 1);
    offset = (p->have & BIT(DAY_OF_YEAR)) ? p->value[KA_TIME_DAY_OF_YEAR] - 1
                                          : day_of_week(p, new_year);
    *days = new_year + offset;
    return offset >= 0 && offset < 365 + is_leap(year);
}

/* The Monday of week 1, the week that holds 4 January. */
static int64_t iso_new_year(int year)
{
    int64_t fourth = ka_days_from_civil(year, 1, 4);

    return fourth - (weekday_of(fourth) + 6) % 7;
}

static bool iso_days(int64_t *days, const ka_time_parts *p)
{
    int year = (p->have & BIT(YEAR_ISO)) ? (int)p->value[KA_TIME_YEAR_ISO]
                                         : full_year(p, KA_TIME_YEAR_ISO_100);

    if (!ka_date_valid(year, 1, 1)) {
        return false;
    }
    *days = iso_new_year(year) + (p->value[KA_TIME_WEEK_ISO] - 1) * 7
            + (p->value[KA_TIME_WEEKDAY] + 6) % 7;
    return *days < iso_new_year(year + 1);
}

bool ka_time_parts_seconds(int64_t *seconds, const ka_time_parts *parts)
{
    const ka_time_parts *p = parts;
    int64_t days, hour, zone;

    if (p->have & BIT(EPOCH)) {
        *seconds = p->value[KA_TIME_EPOCH];
        return true;
    }
    if (ka_time_parts_missing(p->have) != NULL
        || !(has_civil_date(p->have) ? civil_days(&days, p)
                                      : iso_days(&days, p))) {
        return false;
    }
    hour = (p->have & BIT(HOUR))
               ? p->value[KA_TIME_HOUR]
               : p->value[KA_TIME_HOUR_OF_12] % 12 + 12 * p->value[KA_TIME_PM];
    zone = (p->have & BIT(ZONE))        ? p->value[KA_TIME_ZONE]
           : (p->have & BIT(ZONE_NAME)) ? p->value[KA_TIME_ZONE_NAME]
                                        : 0;
    *seconds = days * DAY_S + hour * 3600 + p->value[KA_TIME_MINUTE] * 60
               + p->value[KA_TIME_SECOND] - zone;
    return true;
}
