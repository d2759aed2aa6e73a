/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The segment as an answer: which format, and how much of it.
 *
 *   ?format=html|json|openmetrics|prometheus   else by Accept, else html
 *   ?history=SECONDS  ?recent=N                bounded by what the segment has
 */
#include "kastats.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "ka_openmetrics.h"
#include "ka_segment_html.h"
#include "ka_segment_json.h"

#ifdef KA_VERSION
static const char version[] = KA_VERSION;
#else
static const char *const version = NULL;
#endif

typedef struct query {
    const char *format; /* NULL = not asked for */
    size_t history_s;
    size_t recent_n;
} query;

static void sink(void *baton, const char *bytes, size_t n)
{
    ap_rwrite(bytes, (int)n, baton);
}

/* ---- formats ------------------------------------------------------------- */

static void show_html(request_rec *r, const query *q)
{
    const ka_text out = {.sink = sink, .baton = r};
    const ka_segment_html_options options = {.now_at = apr_time_now(),
                                             .history_s = q->history_s,
                                             .recent_n = q->recent_n,
                                             .version = version};

    ka_segment_html(&out, kastats->writer.header, &options, r->pool);
}

static void show_json(request_rec *r, const query *q)
{
    ka_json json = {.sink = sink, .baton = r};
    const ka_segment_json_options options = {.now_at = apr_time_now(),
                                             .history_s = q->history_s,
                                             .recent_n = q->recent_n};

    ka_segment_json(&json, kastats->writer.header, &options, r->pool);
    ap_rputs("\n", r);
}

static void show_metrics(request_rec *r, bool prometheus)
{
    const ka_text out = {.sink = sink, .baton = r};
    const ka_openmetrics_options options = {.prometheus = prometheus,
                                            .version = version,
                                            .now_at = apr_time_now()};

    ka_openmetrics(&out, kastats->writer.header, &options, r->pool);
}

static void show_openmetrics(request_rec *r, const query *q)
{
    (void)q;
    show_metrics(r, false);
}

static void show_prometheus(request_rec *r, const query *q)
{
    (void)q;
    show_metrics(r, true);
}

/* The first one is the default. */
static const struct format {
    const char *name;
    const char *accept; /* by which Accept means it */
    const char *type;   /* Content-Type */
    void (*show)(request_rec *r, const query *q);
} formats[] = {
    {"html", "text/html", "text/html; charset=utf-8", show_html},
    {"json", "application/json", "application/json", show_json},
    {"openmetrics", "application/openmetrics-text", KA_OPENMETRICS_TYPE,
     show_openmetrics},
    {"prometheus", "text/plain", KA_PROMETHEUS_TYPE, show_prometheus},
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* ---- which one ----------------------------------------------------------- */

static const struct format *format_by_name(const char *name)
{
    size_t i;

    for (i = 0; i < FORMATS; i++) {
        if (strcmp(name, formats[i].name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

/* Thousandths of q=0.75; 1000 without one or if it is malformed. */
static int weight_of(const char *parameters)
{
    const char *q = parameters ? ap_strcasestr(parameters, "q=") : NULL;
    int weight, unit;

    if (!q || (q[2] != '0' && q[2] != '1')) {
        return 1000;
    }
    weight = (q[2] - '0') * 1000;
    if (q[3] == '.') {
        for (q += 4, unit = 100; unit && apr_isdigit(*q); q++, unit /= 10) {
            weight += (*q - '0') * unit;
        }
    }
    return weight < 1000 ? weight : 1000;
}

/* The type that Accept prefers among ours, the first named of equals.  A
 * wildcard names the default, and so does an Accept that names none. */
static const struct format *format_by_accept(request_rec *r)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    char *rest = accept ? apr_pstrdup(r->pool, accept) : NULL;
    const struct format *best = &formats[0];
    char *last = NULL;
    int highest = 0;
    char *range;

    for (range = rest ? apr_strtok(rest, ",", &last) : NULL; range;
         range = apr_strtok(NULL, ",", &last)) {
        char *parameters = strchr(range, ';');
        int weight = weight_of(parameters);
        size_t i;

        if (parameters) {
            *parameters = '\0';
        }
        apr_collapse_spaces(range, range);
        for (i = 0; i < FORMATS; i++) {
            bool meant = strcasecmp(range, formats[i].accept) == 0 ||
                         (i == 0 && (strcmp(range, "*/*") == 0 ||
                                     strcasecmp(range, "text/*") == 0));

            if (meant && weight > highest) {
                highest = weight;
                best = &formats[i];
            }
        }
    }
    return best;
}

/* What is no number counts as none; the segment bounds what is too much. */
static size_t number_of(const char *text)
{
    apr_int64_t n = apr_strtoi64(text, NULL, 10);

    return n < 0 ? 0 : (size_t)n;
}

/* What we do not know is ignored, as in any query. */
static query query_parse(request_rec *r)
{
    query q = {.format = NULL};
    char *rest = r->args ? apr_pstrdup(r->pool, r->args) : NULL;
    char *last = NULL;
    char *pair;

    for (pair = rest ? apr_strtok(rest, "&", &last) : NULL; pair;
         pair = apr_strtok(NULL, "&", &last)) {
        if (strncmp(pair, "format=", 7) == 0) {
            q.format = pair + 7;
        }
        else if (strncmp(pair, "history=", 8) == 0) {
            q.history_s = number_of(pair + 8);
        }
        else if (strncmp(pair, "recent=", 7) == 0) {
            q.recent_n = number_of(pair + 7);
        }
    }
    return q;
}

/* ---- answers ------------------------------------------------------------- */

/* Without the word itself: it is foreign, and the sentence is for people. */
static int refuse_format(request_rec *r)
{
    size_t i;

    r->status = HTTP_BAD_REQUEST;
    ap_set_content_type(r, "text/plain; charset=utf-8");
    ap_rputs("This format is not known; use format=", r);
    for (i = 0; i < FORMATS; i++) {
        ap_rputs(i == 0 ? "" : i + 1 < FORMATS ? ", " : " or ", r);
        ap_rputs(formats[i].name, r);
    }
    ap_rputs(".\n", r);
    return OK;
}

int kastats_show(request_rec *r)
{
    query q = query_parse(r);
    const struct format *format = q.format ? format_by_name(q.format)
                                           : format_by_accept(r);

    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    if (!q.format) {
        apr_table_mergen(r->headers_out, "Vary", "Accept");
    }
    if (!format) {
        return refuse_format(r);
    }
    ap_set_content_type(r, format->type);
    if (format == &formats[0]) {
        apr_table_setn(r->headers_out, "Content-Security-Policy",
                       KA_SEGMENT_HTML_POLICY);
    }
    if (!r->header_only) {
        format->show(r, &q);
    }
    return OK;
}
