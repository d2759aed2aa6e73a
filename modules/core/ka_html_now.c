/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The page's sections on the present: what is open, and the last minutes. */
#include "ka_html.h"

/* A chart has at most so many points: each of them some seconds. */
#define POINTS_MAX 150
#define CHART_HEIGHT 40.0

/* ---- open, busy, idle ---------------------------------------------------- */

static void put_level(const ka_text *out, const char *name, uint64_t n,
                      const char *note)
{
    ka_text_put(out, "<div><dt>");
    ka_text_put(out, name);
    ka_text_put(out, "</dt><dd>");
    ka_text_count(out, n);
    ka_text_put(out, "<small>");
    ka_text_put(out, note);
    ka_text_put(out, "</small></dd></div>\n");
}

static void put_meter(const ka_text *out, double busy, double waiting)
{
    ka_text_put(out, "<svg class=\"meter\" viewBox=\"0 0 100 8\" "
                     "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                     "<rect width=\"");
    ka_text_decimal(out, busy, 2);
    ka_text_put(out, "\" height=\"8\"/><rect class=\"idle\" x=\"");
    ka_text_decimal(out, busy, 2);
    ka_text_put(out, "\" width=\"");
    ka_text_decimal(out, waiting, 2);
    ka_text_put(out, "\" height=\"8\"/></svg>\n");
}

static void put_workers(const ka_html_page *page)
{
    const ka_text *out = page->out;
    const ka_workers *w = &page->workers;
    uint32_t held = ka_workers_held(w);
    int32_t max = page->snapshot.config.max_request_workers;

    if (max <= 0) {
        return;
    }
    ka_text_put(out, "<p>Workers held: <b>");
    ka_text_count(out, held);
    ka_text_put(out, "</b> of MaxRequestWorkers ");
    ka_text_count(out, (uint64_t)max);
    ka_text_put(out, " (");
    ka_text_share(out, held, max);
    ka_text_put(out, ")");
    if (page->snapshot.config.async == 1) {
        ka_text_put(out, "; idle connections hold none on this MPM.</p>\n");
    }
    else {
        ka_text_put(out, ", ");
        ka_text_count(out, w->idle + w->closing);
        ka_text_put(out, " of them by connections that are idle or "
                         "closing.</p>\n");
    }
    put_meter(out, 100.0 * w->busy / max,
              100.0 * (w->idle + w->closing) / max);
}

void ka_html_now(const ka_html_page *page)
{
    const ka_text *out = page->out;
    const ka_gauges *g = &page->snapshot.gauges;

    ka_html_section(out, "now", page->live ? "Open now" : "Open at the end");
    ka_text_put(out, "<dl>\n");
    put_level(out, "Open", (uint64_t)g->busy + g->idle + g->closing,
              "connections");
    put_level(out, "Busy", g->busy, "in a request, or before the first");
    put_level(out, "Idle", g->idle, "waiting for the next request");
    put_level(out, "Closing", g->closing, "until the client has closed too");
    ka_text_put(out, "</dl>\n");
    put_workers(page);
    ka_html_section_end(out);
}

/* ---- the last minutes ---------------------------------------------------- */

typedef struct chart_row {
    const char *title;
    double (*value)(const ka_second *second);
    bool is_level; /* a point shows the maximum of its seconds, not the mean */
} chart_row;

static double requests_of(const ka_second *s)
{
    return s->requests;
}

static double connections_of(const ka_second *s)
{
    return s->connections;
}

static double open_of(const ka_second *s)
{
    return s->open;
}

static double busy_of(const ka_second *s)
{
    return s->busy;
}

static const chart_row charts[] = {
    {"Requests per second", requests_of, false},
    {"New connections per second", connections_of, false},
    {"Open connections", open_of, true},
    {"Busy connections", busy_of, true},
};

typedef struct chart {
    double points[POINTS_MAX];
    size_t n;
    double mean, peak, last; /* of the seconds, not of the points */
    double top;              /* of the points, > 0 */
} chart;

static double point_of(const chart_row *row, const ka_second *seconds,
                       size_t n)
{
    double sum = 0, most = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        double value = row->value(&seconds[i]);

        sum += value;
        most = value > most ? value : most;
    }
    return row->is_level ? most : sum / (double)n;
}

/* The present second is not over: it is no point yet. */
static void chart_make(chart *out, const chart_row *row,
                       const ka_second *seconds, size_t n)
{
    size_t step = (n + POINTS_MAX - 1) / POINTS_MAX;
    size_t i;

    *out = (chart){.top = 1, .last = row->value(&seconds[n - 1])};
    for (i = 0; i < n; i++) {
        double value = row->value(&seconds[i]);

        out->mean += value / (double)n;
        out->peak = value > out->peak ? value : out->peak;
    }
    for (i = 0; i + step <= n; i += step) {
        double value = point_of(row, &seconds[i], step);

        out->top = value > out->top ? value : out->top;
        out->points[out->n++] = value;
    }
}

static void put_points(const ka_text *out, const chart *c)
{
    size_t i;

    for (i = 0; i < c->n; i++) {
        ka_text_put(out, i ? " " : "");
        ka_text_number(out, i);
        ka_text_put(out, ",");
        ka_text_decimal(out, CHART_HEIGHT - (CHART_HEIGHT - 2) * c->points[i] /
                                                c->top, 1);
    }
}

static void put_line(const ka_text *out, const chart *c)
{
    size_t last = c->n > 1 ? c->n - 1 : 1;

    ka_text_put(out, "<svg class=\"chart\" viewBox=\"0 0 ");
    ka_text_number(out, last);
    ka_text_put(out, " 40\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                     "<polygon points=\"0,40 ");
    put_points(out, c);
    ka_text_put(out, " ");
    ka_text_number(out, last);
    ka_text_put(out, ",40\"/><polyline points=\"");
    put_points(out, c);
    ka_text_put(out, "\"/></svg>\n");
}

static void put_chart(const ka_text *out, const chart_row *row,
                      const ka_second *seconds, size_t n)
{
    chart c;

    chart_make(&c, row, seconds, n);
    ka_text_put(out, "<figure>\n");
    put_line(out, &c);
    ka_text_put(out, "<figcaption>");
    ka_text_put(out, row->title);
    ka_text_put(out, ": <b>");
    ka_text_figure(out, c.last);
    ka_text_put(out, "</b> last, ");
    ka_text_figure(out, c.mean);
    ka_text_put(out, " mean, ");
    ka_text_figure(out, c.peak);
    ka_text_put(out, " peak</figcaption>\n</figure>\n");
}

void ka_html_rates(const ka_html_page *page)
{
    const ka_text *out = page->out;
    size_t n = page->history_n;
    size_t i;

    if (page->live && n > 0) {
        n--;
    }
    if (n < 2) {
        return;
    }
    ka_html_section(out, "rates", "Lately");
    ka_text_put(out, "<p class=\"soft\">The last ");
    ka_text_duration(out, (double)n * 1e6);
    ka_text_put(out, " to ");
    /* Unsigned: a hostile segment may begin at the end of time. */
    ka_text_time(out, (int64_t)((uint64_t)page->history[n - 1].at + 1000000));
    ka_text_put(out, "; levels are the highest within each second.</p>\n"
                     "<div class=\"charts\">\n");
    for (i = 0; i < sizeof(charts) / sizeof(charts[0]); i++) {
        put_chart(out, &charts[i], page->history, n);
    }
    ka_text_put(out, "</div>\n");
    ka_html_section_end(out);
}
