/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Where a command's result goes: standard output, or a file that is written
 * whole or not at all (beside it, then renamed over it).  While there is a
 * file beside it, signals that would end the program wait.
 */
#ifndef KA_COMMAND_OUTPUT_H
#define KA_COMMAND_OUTPUT_H

#include <signal.h>
#include <stdio.h>
#include <apr_errno.h>
#include "../options.h"
#include "../render/render.h"

typedef struct ka_result_file {
    FILE *stream;
    const char *path;      /* final name, no link; NULL for standard output */
    const char *temporary; /* renamed to path by ka_result_place; NULL: it is
                              written in place, or done with */
    sigset_t signals;      /* the mask before, while there is a temporary */
    apr_pool_t *pool;      /* for what is said about it */
} ka_result_file;

/** Opens what options->output_file names.  Says on stderr what failed.
 * @return APR_SUCCESS or the system's status */
apr_status_t ka_result_open(ka_result_file *file, const ka_options *options,
                            apr_pool_t *pool);

/**
 * Flushes, syncs and puts the file in its place; removes it if rv or writing
 * failed.  Says on stderr what failed; a reader that has closed the pipe is
 * no failure.
 * @param rv  what the renderer returned
 * @return KA_EXIT_DONE or KA_EXIT_FAILED
 */
int ka_result_close(ka_result_file *file, apr_status_t rv);

/* The parts of ka_result_close, for one who looks at the temporary file before
 * it takes its place. */

/** Flushes, syncs, closes.  @param rv  as of ka_result_close
 * @return KA_EXIT_DONE; KA_EXIT_FAILED, said, and the temporary is gone */
int ka_result_finish(ka_result_file *file, apr_status_t rv);

/** Renames the temporary to its final name, or to `path`.
 * @return KA_EXIT_DONE; KA_EXIT_FAILED, said, and the temporary is gone */
int ka_result_place(ka_result_file *file, const char *path);

/** Removes the temporary. */
void ka_result_drop(ka_result_file *file);

/** Opens, renders with the options' own settings, closes.
 * @return KA_EXIT_DONE or KA_EXIT_FAILED, which has been said */
int ka_result_write(const ka_options *options, ka_render_fn *render,
                    const ka_report *report, apr_pool_t *pool);

/** A terminal that wants colour: no NO_COLOR, TERM is not dumb. */
bool ka_result_color(const ka_result_file *file);

/** Columns of the terminal behind the stream; 80 if it is none. */
int ka_result_width(const ka_result_file *file);

#endif
