/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Files -> lines -> requests -> in order -> the caller:
 *
 *     ka_logfiles --line--> ka_classifier --request--> ka_reorder --> take
 *
 * or, if order does not matter, ka_logfiles_scan.
 */
#include "log.h"

#include <string.h>
#include <apr_strings.h>

#include "log_classify.h"
#include "log_detect.h"
#include "log_files.h"
#include "log_reorder.h"
#include "log_scan.h"
#include "log_skipped.h"

struct ka_log {
    ka_source_info *info;
    const ka_log_options *options;
    ka_logfiles *files;
    const ka_logformat *format;
    apr_pool_t *pool;    /* of what info and errors point to */
    apr_pool_t *scratch; /* of the reading itself; NULL once it is over */
};

/* ---- format ------------------------------------------------------------ */

static apr_status_t detect(ka_log *self, const char **error)
{
    const ka_log_sample *samples;
    size_t n;
    apr_status_t status =
        ka_logfiles_sample(self->files, error, &samples, &n);

    if (status != APR_SUCCESS) {
        return status;
    }
    return ka_log_detect(&self->format, error, samples, n, self->pool);
}

static apr_status_t choose_format(ka_log *self, const char **error)
{
    ka_source_info *info = self->info;
    ka_logformat *named = NULL;
    apr_status_t status;

    if (self->options->log_format) {
        status = ka_logformat_compile(&named, error,
                                      self->options->log_format, self->pool);
        if (status != APR_SUCCESS) {
            *error = apr_pstrcat(self->pool, "--log-format: ", *error, NULL);
        }
        self->format = named;
    }
    else {
        status = detect(self, error);
        info->log_format_detected = status == APR_SUCCESS;
    }
    if (status == APR_SUCCESS) {
        info->log_format = ka_logformat_name(self->format);
        info->log_format_text = ka_logformat_text(self->format);
        info->fields = ka_logformat_fields(self->format);
        info->clock_us = ka_logformat_clock_us(self->format);
        info->service_clock_us = ka_logformat_service_us(self->format);
    }
    return status;
}

/* ---- requests ---------------------------------------------------------- */

typedef struct taker {
    ka_source_info *info;
    ka_request_fn *take;
    void *context;
} taker;

static void hand_on(void *context, const ka_request *request)
{
    taker *self = context;

    if (self->info->requests++ == 0) {
        self->info->first_us = request->begin_us;
    }
    self->info->last_us = request->begin_us;
    self->take(self->context, request);
}

static apr_status_t read_lines(ka_log *self, const char **error, taker *to)
{
    const ka_log_options *options = self->options;
    ka_source_info *info = self->info;
    ka_reorder *order = ka_reorder_make(KA_LOG_WINDOW_US, KA_LOG_WINDOW_LINES,
                                        hand_on, to, self->scratch);
    ka_classifier *classifier =
        ka_classifier_make(info->fields, options->vhost, options->since_us,
                           options->until_us, self->pool);
    const ka_logline *line;
    apr_status_t status;

    while ((status = ka_logfiles_next(self->files, error, &line))
           == APR_SUCCESS) {
        ka_request request;
        ka_excluded why;

        if (!ka_classify(classifier, &request, &why, line)) {
            info->excluded[why]++;
        }
        else {
            /* Whoever takes requests may ask for the names at once. */
            ka_classifier_vhosts(classifier, &info->vhosts, &info->vhost_n);
            info->late += ka_reorder_add(order, &request);
        }
    }
    ka_reorder_flush(order);
    ka_classifier_vhosts(classifier, &info->vhosts, &info->vhost_n);
    return status == APR_EOF ? APR_SUCCESS : status;
}

/* ---- verdict ----------------------------------------------------------- */

static const char *mostly_skipped(const ka_log *self)
{
    const ka_source_info *info = self->info;

    return apr_psprintf(
        self->pool,
        "%" APR_UINT64_T_FMT " of %" APR_UINT64_T_FMT " lines do not follow "
        "the log format %s (%s), for example:\n%s%s",
        (apr_uint64_t)info->skipped, (apr_uint64_t)info->lines,
        info->log_format, info->log_format_text,
        ka_log_samples_text(info, self->pool),
        info->log_format_detected
            ? "The first lines follow it, the rest does not: read files of "
              "different formats one by one, or pass the LogFormat line that "
              "wrote them: --log-format 'LogFormat \"...\"'."
            : "Compare --log-format with the LogFormat or CustomLog line that "
              "wrote the log, or leave it out to have the format detected.");
}

static const char *all_excluded(const ka_log *self)
{
    const char *text = apr_psprintf(
        self->pool,
        "no request is left: all %" APR_UINT64_T_FMT " lines that were read "
        "are kept apart (",
        (apr_uint64_t)self->info->parsed);
    const char *comma = "";

    for (int kind = 0; kind < KA_EXCLUDED_N; kind++) {
        if (self->info->excluded[kind]) {
            text = apr_psprintf(
                self->pool, "%s%s%s %" APR_UINT64_T_FMT, text, comma,
                ka_excluded_name((ka_excluded)kind),
                (apr_uint64_t)self->info->excluded[kind]);
            comma = ", ";
        }
    }
    return apr_pstrcat(self->pool, text,
                       "); check --vhost, --since and --until, or name "
                       "another log",
                       NULL);
}

static apr_status_t verdict(const ka_log *self, const char **error)
{
    const ka_source_info *info = self->info;

    if (info->skipped > info->lines / 2) {
        *error = mostly_skipped(self);
        return APR_EINVAL;
    }
    if (info->requests) {
        return APR_SUCCESS;
    }
    *error = info->parsed ? all_excluded(self)
                          : "no line to read; check that the log files named "
                            "are not empty";
    return APR_EOF;
}

/* ---- the source -------------------------------------------------------- */

/* Closes the files, and says what became of them. */
static apr_status_t end(ka_log *self, const char **error, apr_status_t status)
{
    apr_pool_destroy(self->scratch);
    self->scratch = NULL;
    if (status == APR_EOF && self->info->damaged_n) {
        *error = apr_pstrcat(self->pool, *error, "\n",
                             self->info->damaged[0], NULL);
    }
    return status;
}

apr_status_t ka_log_open(ka_log **out, ka_source_info *info,
                         const char **error, const ka_log_options *options,
                         const char *const *paths, size_t path_n,
                         apr_pool_t *pool)
{
    ka_log *self = apr_pcalloc(pool, sizeof(*self));
    apr_status_t status;

    *self = (ka_log){.info = info, .options = options, .pool = pool};
    memset(info, 0, sizeof(*info));
    info->kind = "log";
    info->files = apr_pcalloc(pool, (path_n + 1) * sizeof(*paths));
    for (; info->file_n < path_n; info->file_n++) {
        info->files[info->file_n] = apr_pstrdup(pool, paths[info->file_n]);
    }
    *error = "";
    *out = self;
    apr_pool_create(&self->scratch, pool);
    status = ka_logfiles_open(&self->files, error, info, options, paths,
                              path_n, self->scratch, pool);
    if (status == APR_SUCCESS) {
        status = choose_format(self, error);
    }
    if (status == APR_SUCCESS) {
        status = ka_logfiles_order(self->files, error, self->format);
    }
    return status == APR_SUCCESS ? status : end(self, error, status);
}

apr_status_t ka_log_requests(ka_log *log, const char **error,
                             ka_request_fn *take, void *context)
{
    taker to = {.info = log->info, .take = take, .context = context};
    apr_status_t status = read_lines(log, error, &to);

    if (status == APR_SUCCESS) {
        status = verdict(log, error);
    }
    return end(log, error, status);
}

apr_status_t ka_log_scan(ka_log *log, const char **error, ka_crew *crew,
                         ka_hit_fn *take, void *context)
{
    const ka_scan_limits limits = ka_scan_limits_for(log->info->file_n);

    return ka_log_scan_within(log, error, crew, &limits, take, context);
}

apr_status_t ka_log_scan_within(ka_log *log, const char **error,
                                ka_crew *crew, const ka_scan_limits *limits,
                                ka_hit_fn *take, void *context)
{
    apr_status_t status = ka_logfiles_scan(log->files, error, crew, limits,
                                           take, context);

    if (status == APR_SUCCESS) {
        status = verdict(log, error);
    }
    return end(log, error, status);
}

apr_status_t ka_log_read(ka_source_info *info, const char **error,
                         const ka_log_options *options,
                         const char *const *paths, size_t path_n,
                         ka_request_fn *take, void *context,
                         apr_pool_t *pool)
{
    ka_log *log;
    const apr_status_t status =
        ka_log_open(&log, info, error, options, paths, path_n, pool);

    return status == APR_SUCCESS
               ? ka_log_requests(log, error, take, context)
               : status;
}
