/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One line on a terminal's standard error while a source takes over a second:
 * share, lines, rate, time left.  Nothing where stderr is no terminal.
 */
#ifndef KA_PROGRESS_H
#define KA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <apr_time.h>

typedef struct ka_progress {
    bool wanted;       /* stderr is a terminal, not --quiet */
    bool shown;        /* a line stands there */
    apr_time_t started, last;
} ka_progress;

/** Starts the clock. */
void ka_progress_start(ka_progress *progress, bool quiet);

/** Called often: writes at most ten times a second.  size -1: not known. */
void ka_progress_show(void *progress, int64_t taken, int64_t size,
                      uint64_t lines);

/** Clears the line, if there is one. */
void ka_progress_end(ka_progress *progress);

#endif
