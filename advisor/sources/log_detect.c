/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Every preset is tried on every sample: a thousand lines times a dozen
 * formats takes milliseconds, and no rule of thumb can be wrong.
 */
#include "log_detect.h"

#include <apr_strings.h>

#include "log_skipped.h"

typedef struct trial {
    ka_logformat *format;
    size_t fits;
    size_t first_miss; /* index of the sample; n if there is none */
    ka_logline_error error; /* of that sample */
} trial;

static void try_format(trial *t, const ka_log_sample *samples, size_t n)
{
    t->fits = 0;
    t->first_miss = n;
    for (size_t i = 0; i < n; i++) {
        const bool first = t->first_miss == n;
        ka_logline line;

        /* To find out why a line does not fit takes longer than to see that
         * it does not: once is enough. */
        if (ka_logline_parse(&line, first ? &t->error : NULL, t->format,
                             samples[i].text, samples[i].length)
            == APR_SUCCESS) {
            t->fits++;
        }
        else if (first) {
            t->first_miss = i;
        }
    }
}

static const char *names_of_presets(apr_pool_t *pool)
{
    const char *names = "";

    for (const ka_logformat_preset *p = ka_logformat_presets(); p->name; p++) {
        names = apr_pstrcat(pool, names, *names ? ", " : "", p->name, NULL);
    }
    return names;
}

/* A format with more items before its time than common has lets them take
 * nearly any text: it gets far on any line, which says nothing. */
static bool is_loose(const trial *t)
{
    return (ka_logformat_fields(t->format) &
            (KA_LF_BIT(KA_LF_REMOTE_PORT) | KA_LF_BIT(KA_LF_VHOST))) != 0;
}

/* Where nothing fits at all, the preset that gets furthest says most. */
static bool is_better(const trial *a, const trial *b)
{
    if (a->fits != b->fits) {
        return a->fits > b->fits;
    }
    if (a->fits > 0) {
        return false;
    }
    if (is_loose(a) != is_loose(b)) {
        return is_loose(b);
    }
    return a->error.column > b->error.column;
}

static const char *nothing_fits(const trial *best,
                                const ka_log_sample *samples, size_t n,
                                apr_pool_t *pool)
{
    const ka_log_sample *miss = &samples[best->first_miss];

    return apr_psprintf(
        pool,
        "%s: the log's format is none of the known ones: none takes more "
        "than half of the first %" APR_SIZE_T_FMT " lines apart.\n"
        "Tried: %s.\n"
        "Closest is %s (%s) with %" APR_SIZE_T_FMT " lines; it fails first "
        "here:\n  %s:%" APR_UINT64_T_FMT ":%" APR_SIZE_T_FMT ": %s\n"
        "Pass the LogFormat line that wrote the log, as it stands in httpd's "
        "configuration: --log-format 'LogFormat \"...\"'.",
        miss->file, n, names_of_presets(pool),
        ka_logformat_name(best->format), ka_logformat_text(best->format),
        best->fits, miss->file, (apr_uint64_t)miss->number,
        best->error.column,
        ka_log_reason(miss->text, miss->length, &best->error, pool));
}

apr_status_t ka_log_detect(const ka_logformat **out, const char **error,
                           const ka_log_sample *samples, size_t n,
                           apr_pool_t *pool)
{
    trial best = {.format = NULL};

    if (n == 0) {
        *error = "no line to read; check that the log files named are not "
                 "empty";
        return APR_EOF;
    }
    for (const ka_logformat_preset *p = ka_logformat_presets(); p->name; p++) {
        trial t;
        apr_status_t status =
            ka_logformat_compile(&t.format, error, p->name, pool);

        if (status != APR_SUCCESS) {
            return status;
        }
        try_format(&t, samples, n);
        if (!best.format || is_better(&t, &best)) {
            best = t;
        }
        if (best.fits == n) {
            break; /* None that follows can be better. */
        }
    }
    if (best.fits * 2 <= n) {
        *error = nothing_fits(&best, samples, n, pool);
        return APR_EINVAL;
    }
    *out = best.format;
    return APR_SUCCESS;
}
