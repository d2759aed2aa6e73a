/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The last pass of the compiler: what steps need to know of each other, which
 * slots to hand out in which order, and whether and how finely the format
 * tells when a request began, ended and how long it took. */
#include "logformat_priv.h"

#include <string.h>
#include <apr_strings.h>

#define SECOND_US 1000000

/* ---- order ------------------------------------------------------------ */

static bool may_retry(const ka_lf_step *step)
{
    return !step->last
           && (step->kind == KA_LK_TEXT || step->kind == KA_LK_WORD
               || step->kind == KA_LK_QUERY);
}

/* A step that follows a literal narrows down where the literal can be. */
static void link_steps(ka_logformat *format)
{
    int retry = -1;

    for (size_t i = 0; i < format->n; i++) {
        ka_lf_step *step = &format->steps[i];

        step->last = i + 1 == format->n;
        step->retry = retry;
        step->next_class = KA_LC_ANY;
        if (!step->last) {
            step->next_class = ka_lf_first_classes(step + 1) | KA_LC_DASH;
        }
        if (may_retry(step)) {
            retry = (int)i;
        }
    }
    format->last_retry = retry;
}

/* Steps to hand out, lower ranks first, so that higher ones overwrite. */
static void order_values(ka_logformat *format, apr_pool_t *pool)
{
    format->values = apr_palloc(pool, format->n + 1);
    for (unsigned rank = 0; rank < 8; rank++) {
        for (size_t i = 0; i < format->n; i++) {
            const ka_lf_step *step = &format->steps[i];

            if (step->rank == rank
                && (step->field != KA_LF_OTHER || step->query)) {
                format->values[format->value_n++] = (unsigned char)i;
            }
        }
    }
}

/* ---- clocks ----------------------------------------------------------- */

/* What the items of the start, or of the end, tell together. */
typedef struct clock_items {
    const ka_lf_step *first; /* of them; NULL if there is none */
    size_t n;
    bool whole;              /* seconds since some day, not only a fraction */
    uint32_t parts;          /* of strftime items */
    bool has_parts;
    int64_t resolution_us;
} clock_items;

static const struct {
    bool whole;
    int64_t resolution_us;
} time_rows[] = {
    [KA_LT_NONE] = { false, SECOND_US },   [KA_LT_CLF] = { true, SECOND_US },
    [KA_LT_PARTS] = { false, SECOND_US },  [KA_LT_SEC] = { true, SECOND_US },
    [KA_LT_MSEC] = { true, 1000 },         [KA_LT_USEC] = { true, 1 },
    [KA_LT_MSEC_FRAC] = { false, 1000 },   [KA_LT_USEC_FRAC] = { false, 1 }
};

static clock_items gather(const ka_logformat *format, bool end)
{
    clock_items c = { .resolution_us = SECOND_US };

    for (size_t i = 0; i < format->n; i++) {
        const ka_lf_step *step = &format->steps[i];

        if (step->time == KA_LT_NONE || step->end != end) {
            continue;
        }
        c.first = c.first ? c.first : step;
        c.n++;
        c.whole = c.whole || time_rows[step->time].whole;
        if (step->time == KA_LT_PARTS) {
            c.parts |= ka_time_format_parts(step->format);
            c.has_parts = true;
        }
        if (time_rows[step->time].resolution_us < c.resolution_us) {
            c.resolution_us = time_rows[step->time].resolution_us;
        }
    }
    c.whole = c.whole
              || (c.has_parts && ka_time_parts_missing(c.parts) == NULL);
    return c;
}

static apr_status_t no_time(const char **error, const clock_items *begin,
                            const clock_items *end, unsigned end_column,
                            apr_pool_t *pool)
{
    const clock_items *c = begin->first ? begin : end;

    if (!c->first) {
        *error = apr_psprintf(pool, "column %u: the format has no time of the "
                              "request; add %%t", end_column);
    }
    else if (c->has_parts) {
        *error = apr_psprintf(pool, "column %u: %s does not tell the date and "
                              "time of a request, as it lacks the %s; add %%t",
                              (unsigned)c->first->column, c->first->label,
                              ka_time_parts_missing(c->parts));
    }
    else {
        *error = apr_psprintf(pool, "column %u: %s is a fraction of a second "
                              "without the second; add %%t",
                              (unsigned)c->first->column, c->first->label);
    }
    return APR_EINVAL;
}

/* The finest service item; 0 if there is none. */
static int64_t finest_service(const ka_logformat *format)
{
    int64_t finest = 0;

    for (size_t i = 0; i < format->n; i++) {
        const ka_lf_step *step = &format->steps[i];

        if (step->field == KA_LF_SERVICE
            && (finest == 0 || step->unit_us < finest)) {
            finest = step->unit_us;
        }
    }
    return finest;
}

static int64_t coarser(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static apr_status_t set_clocks(ka_logformat *format, const char **error,
                               unsigned end_column, apr_pool_t *pool)
{
    clock_items begin = gather(format, false), end = gather(format, true);
    int64_t service = finest_service(format);

    if (!begin.whole && !end.whole) {
        return no_time(error, &begin, &end, end_column, pool);
    }
    format->one_time = begin.n + end.n == 1;
    format->service_us = service;
    format->clock_us = begin.whole ? begin.resolution_us
                                   : coarser(end.resolution_us, service);
    if (begin.whole && end.whole) {
        format->span_us = coarser(begin.resolution_us, end.resolution_us);
        if (service == 0 || format->span_us < service) {
            format->service_us = format->span_us;
        }
    }
    return APR_SUCCESS;
}

apr_status_t ka_lf_link(ka_logformat *format, const char **error, unsigned end,
                        apr_pool_t *pool)
{
    apr_status_t rv;

    link_steps(format);
    order_values(format, pool);
    rv = set_clocks(format, error, end, pool);
    if (rv == APR_SUCCESS) {
        format->plan = ka_lf_plan_make(format, pool);
    }
    return rv;
}
