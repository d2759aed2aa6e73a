/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_units: durations and sizes as people write them, both ways.
 *
 * Inside the program a duration is int64_t microseconds (apr_time_t), a size
 * is int64_t bytes.  One table per kind drives parser and printer, so that
 * what is printed can be parsed again.  Sizes are powers of 1024, as httpd
 * and the kernel count memory: 4M is 4,194,304 bytes.
 *
 * All functions are pure (they write only to the caller's storage) and safe
 * from any thread; none depends on the locale.
 */
#ifndef KA_UNITS_H
#define KA_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>

/* Enough for anything that the printers below write, NUL included. */
#define KA_UNITS_BUFFER 32

/**
 * Parses a duration: `5`, `2.5`, `.5`, `400ms`, `250us`, `1h`, `1.5min`.  A
 * bare number is seconds, as in httpd's KeepAliveTimeout.  Units: us, ms, s,
 * m or min, h, d; case-insensitive.
 * @param out   microseconds, >= 0, rounded to the nearest
 * @return APR_SUCCESS; APR_EINVAL if text is NULL, empty, negative, not a
 *         number, has an unknown unit or trailing characters; APR_ERANGE if
 *         it exceeds 100 years.  `out` is untouched unless APR_SUCCESS.
 */
apr_status_t ka_parse_duration(int64_t *out, const char *text);

/**
 * Parses a size: `4M`, `512K`, `2G`, `1.5g`, `4MB`, `4MiB`, `4096`.  A bare
 * number is bytes.  Units: B, K, M, G, T (each also with B or iB), powers of
 * 1024, case-insensitive.
 * @param out   bytes, >= 0
 * @return as ka_parse_duration; APR_ERANGE from 2^60 bytes on
 */
apr_status_t ka_parse_size(int64_t *out, const char *text);

/**
 * Parses a plain non-negative decimal number (`50`, `0.5`, `1e3` is refused).
 * @return as ka_parse_duration; APR_ERANGE from 1e15 on
 */
apr_status_t ka_parse_number(double *out, const char *text);

/**
 * Prints a duration as a reader wants it, three significant digits at most,
 * in the largest unit that keeps it >= 1: `250us`, `400ms`, `2.5s`, `15s`,
 * `1.5min`, `2h`, `3.2d`.  0 prints `0s`.  Seconds are kept up to 600 s when
 * the value is whole seconds (`115s`, `300s`), since KeepAliveTimeout is
 * written so.  A negative duration prints a leading `-`.
 * @param buffer  of KA_UNITS_BUFFER bytes
 * @return buffer
 */
const char *ka_print_duration(char *buffer, int64_t us);

/**
 * Prints a size: in the largest unit in which it is a whole number of at most
 * four digits (`600M`, `2000M`, `512K`, `100B`), else with three significant
 * digits in the largest unit that keeps it >= 1 (`1.95G`, `13.9M`).
 * @param buffer  of KA_UNITS_BUFFER bytes
 * @return buffer
 */
const char *ka_print_size(char *buffer, int64_t bytes);

/**
 * Prints a duration as the argument of an httpd time directive: whole seconds
 * as `5`, all else as milliseconds, `400ms`, rounded to >= 1 ms unless 0 (and
 * as seconds where the rounding makes them whole).  A negative time prints 0.
 * @param buffer  of KA_UNITS_BUFFER bytes
 * @return buffer
 */
const char *ka_print_httpd_time(char *buffer, int64_t us);

#endif
