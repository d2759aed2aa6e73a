/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include <ka_units.h>

#define FIRST_AFTER APR_USEC_PER_SEC
#define EVERY (APR_USEC_PER_SEC / 10)

void ka_progress_start(ka_progress *progress, bool quiet)
{
    *progress = (ka_progress){.wanted = !quiet && isatty(STDERR_FILENO),
                              .started = apr_time_now()};
}

void ka_progress_show(void *context, int64_t taken, int64_t size,
                      uint64_t lines)
{
    ka_progress *progress = context;
    char left[KA_UNITS_BUFFER];
    apr_time_t now, spent;

    if (!progress->wanted) {
        return;
    }
    now = apr_time_now();
    spent = now - progress->started;
    if (spent < FIRST_AFTER || now - progress->last < EVERY) {
        return;
    }
    progress->last = now;
    progress->shown = true;
    fprintf(stderr, "\rreading");
    if (size > 0 && taken > 0) {
        apr_time_t rest = (apr_time_t)((double)spent *
                                       (double)(size - taken) / (double)taken);

        rest -= rest % APR_USEC_PER_SEC;
        fprintf(stderr, " %3d%%, about %s left",
                (int)(100.0 * (double)taken / (double)size),
                ka_print_duration(left, rest > 0 ? rest : 0));
    }
    fprintf(stderr, ", %llu lines, %.0f lines/s\x1b[K",
            (unsigned long long)lines,
            (double)lines / ((double)spent / APR_USEC_PER_SEC));
    fflush(stderr);
}

void ka_progress_end(ka_progress *progress)
{
    if (progress->shown) {
        fputs("\r\x1b[K", stderr);
        progress->shown = false;
    }
}
