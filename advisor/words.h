/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Numbers, times and foreign text as a report prints them.  Everything comes
 * back as printable ASCII, owned by the pool given or static, and does not
 * depend on the locale.
 */
#ifndef KA_WORDS_H
#define KA_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>

/** A count with thousands separators: `1,234,567`. */
const char *ka_words_count(apr_pool_t *pool, int64_t n);

/**
 * A quantity in two or three digits: `0.0042`, `0.034`, `0.91`, `5.20`,
 * `12.4`, `215`; whole with separators from 1000 on; `<0.001` for less than
 * that;
 * `?` for what is not finite.
 */
const char *ka_words_number(apr_pool_t *pool, double value);

/** A number that is whole by nature (workers, connections), rounded to the
 * nearest: `1,234`; `?` for what is not finite or beyond 1e15. */
const char *ka_words_whole(apr_pool_t *pool, double value);

/** A ratio as percent: `97.1%`, `100%`, `0%`, `<0.1%`. */
const char *ka_words_share(apr_pool_t *pool, double ratio);

/** A duration, of microseconds (may be fractional) or `?`. */
const char *ka_words_duration(apr_pool_t *pool, double us);

/** A size of bytes; `-` if < 0, which means not known. */
const char *ka_words_size(apr_pool_t *pool, int64_t bytes);

/** A KeepAliveTimeout; KA_TIMEOUT_OFF is `Off`. */
const char *ka_words_timeout(apr_pool_t *pool, int64_t timeout_us);

/** RFC 3339 in UTC, whole seconds: `2026-01-31T23:59:59Z`; NULL if us <= 0 or
 * past the year 9999, which stand for a time that is not known. */
const char *ka_words_time(apr_pool_t *pool, int64_t us);

typedef const char *ka_words_fn(apr_pool_t *pool, double value);

/** A bracket: `4.10..6.35`, the smaller value first; one value where both
 * read the same. */
const char *ka_words_range(apr_pool_t *pool, ka_words_fn *words, double a,
                           double b);

/** `1 file`, `2 files`: the noun gets an s unless n is 1. */
const char *ka_words_plural(apr_pool_t *pool, int64_t n, const char *noun);

/** The parts[n] that are not NULL, with `; ` between them; NULL: all are. */
const char *ka_words_join(apr_pool_t *pool, const char *const *parts,
                          size_t n);

/**
 * Foreign text made safe for a terminal or a comment: bytes outside printable
 * ASCII become \xHH, tabs become spaces.  NULL gives "".
 * @param keep_lines  line feeds stay (text of our own in several lines), else
 *                    they are escaped like the rest
 */
const char *ka_words_clean(apr_pool_t *pool, const char *text, bool keep_lines);

#endif
