/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_logtime: the times that httpd writes into a log.
 *
 * Two readers: ka_time_clf for the one fixed layout of %t, made for speed, and
 * ka_time_format, a strftime format compiled once, for %{...}t.  A log may
 * spread one moment over several items (date here, zone there), so a match
 * gives parts, which are added up and then turned into seconds.
 *
 * Calendar: Gregorian, years 1 to 9999, seconds since 1970-01-01 UTC.
 * Locale: C, as httpd runs; names are matched without regard to case.
 *
 * Concurrency: pure functions; a compiled format is immutable.
 */
#ifndef KA_LOGTIME_H
#define KA_LOGTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>

/** Days from 1970-01-01 to a date that ka_date_valid accepts. */
int64_t ka_days_from_civil(int year, int month, int day);

/** Whether the date exists: year 1..9999, month and day from 1. */
bool ka_date_valid(int year, int month, int day);

/* Length of `[09/Jul/1995:00:00:07 -0400]`. */
#define KA_CLF_TIME_LENGTH 28

/**
 * Reads %t of httpd.
 * @param seconds  since the epoch; untouched on failure
 * @param text     at least KA_CLF_TIME_LENGTH readable bytes
 * @return false if the bytes do not have that layout or name a moment that
 *         does not exist (30 Feb, 24:00); second 60 is accepted and is the
 *         first second of the next minute
 */
bool ka_time_clf(int64_t *seconds, const char *text);

/* The minute of the last %t that was read: lines of one minute differ in two
 * digits.  All zeros: none yet. */
typedef struct ka_clf_minute {
    uint64_t text[4]; /* bytes 0..7, 8..15, 16..18 and 21..27: all but the
                         digits of the second */
    int64_t start_s;
} ka_clf_minute;

/** As ka_time_clf, for moments from 1970 on; false for all before. */
bool ka_time_clf_next(int64_t *seconds, ka_clf_minute *minute,
                      const char *text);

typedef enum ka_time_part {
    KA_TIME_YEAR,
    KA_TIME_CENTURY,      /* %C */
    KA_TIME_YEAR_OF_100,  /* %y */
    KA_TIME_MONTH,        /* from 1 */
    KA_TIME_DAY,          /* from 1 */
    KA_TIME_DAY_OF_YEAR,  /* from 1 */
    KA_TIME_WEEKDAY,      /* 0 is Sunday */
    KA_TIME_WEEK_SUNDAY,  /* %U */
    KA_TIME_WEEK_MONDAY,  /* %W */
    KA_TIME_WEEK_ISO,     /* %V */
    KA_TIME_YEAR_ISO,     /* %G */
    KA_TIME_YEAR_ISO_100, /* %g */
    KA_TIME_HOUR,
    KA_TIME_HOUR_OF_12,
    KA_TIME_PM,           /* 0 am, 1 pm */
    KA_TIME_MINUTE,
    KA_TIME_SECOND,
    KA_TIME_ZONE,         /* %z, seconds east of UTC */
    KA_TIME_ZONE_NAME,    /* %Z, the same */
    KA_TIME_EPOCH,        /* %s */
    KA_TIME_PARTS
} ka_time_part;

#define KA_TIME_BIT(part) (UINT32_C(1) << (part))

typedef struct ka_time_parts {
    uint32_t have;                /* KA_TIME_BIT of the values that are set */
    int64_t value[KA_TIME_PARTS]; /* undefined where the bit is not set */
} ka_time_parts;

typedef struct ka_time_format ka_time_format;

/**
 * Compiles a strftime format: all conversions of C and POSIX (%a %A %b %B %c
 * %C %d %D %e %F %g %G %h %H %I %j %k %l %m %M %n %p %P %r %R %s %S %t %T %u
 * %U %V %w %W %x %X %y %Y %z %Z %%), the modifiers E and O and the flags
 * _ - 0 ^ # of the GNU C library.
 * @param out    owned by pool
 * @param where  on failure the offset of the conversion that is none; may be
 *               NULL
 * @param text   text[length]
 * @return APR_SUCCESS; APR_EINVAL for an unknown conversion or a lone % at the
 *         end
 */
apr_status_t ka_time_format_compile(ka_time_format **out, size_t *where,
                                    const char *text, size_t length,
                                    apr_pool_t *pool);

/** KA_TIME_BIT of each part that a match may set. */
uint32_t ka_time_format_parts(const ka_time_format *format);

/* How a format's text begins and ends: what its neighbours must not be. */
typedef enum ka_time_edge {
    KA_TIME_EDGE_NONE,     /* the format is empty */
    KA_TIME_EDGE_DIGITS,   /* digits, as many as it wants */
    KA_TIME_EDGE_BLANK,    /* begins with a digit or a blank (%e) */
    KA_TIME_EDGE_FIXED,    /* ends after a fixed number of bytes */
    KA_TIME_EDGE_NAME,     /* a name, of day, month or zone */
    KA_TIME_EDGE_SIGN,     /* + or - of a zone */
    KA_TIME_EDGE_LITERAL   /* the byte given */
} ka_time_edge;

ka_time_edge ka_time_format_first(const ka_time_format *format, char *literal);
ka_time_edge ka_time_format_last(const ka_time_format *format);

/**
 * Matches a format at the start of text and adds what it finds to parts.
 * @param parts  changed also on failure
 * @return bytes taken; -1 if the text does not follow the format
 */
ptrdiff_t ka_time_format_match(ka_time_parts *parts,
                               const ka_time_format *format, const char *text,
                               size_t length);

/**
 * What a set of parts lacks to be one second in time.
 * @return "year", "day", "hour", "minute", "second"; NULL if it is complete
 */
const char *ka_time_parts_missing(uint32_t have);

/**
 * The moment that parts tell.  Without a zone they are taken as UTC; a zone's
 * name that is not known or not unique counts as none.  %y is 1969..2068.
 * @param seconds  since the epoch; untouched on failure
 * @return false if a part is missing or there is no such date
 */
bool ka_time_parts_seconds(int64_t *seconds, const ka_time_parts *parts);

#endif
