/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_html: what the sections of the page share.  Everything is gathered into
 * one ka_html_page before the first byte is written; sections only print.
 */
#ifndef KA_HTML_H
#define KA_HTML_H

#include "ka_exchange.h"
#include "ka_segment_html.h"
#include "ka_segment_reader.h"
#include "ka_text.h"
#include "ka_workers.h"

typedef struct ka_html_vhost {
    const ka_segment_vhost *facts;
    bool keeps; /* KeepAlive On, with a timeout */
    uint64_t connections, requests, reused, open, closed, timed_out;
    double gap_p50, gap_p90; /* us */
    ka_exchange exchange;    /* [M10] */
} ka_html_vhost;

typedef struct ka_html_page {
    const ka_text *out;
    const ka_segment_html_options *options;
    ka_snapshot snapshot;
    ka_workers workers;
    bool live;
    int64_t end_at;  /* the present; when it was last written if not live */
    double window_s; /* W */
    ka_stats *all;
    ka_waits *waits;  /* gaps and tails of all */
    ka_hist *service; /* of all classes */
    ka_html_vhost *vhosts; /* [vhost_n], those of interest */
    size_t vhost_n;
    ka_exchange exchange; /* [M10], all vhosts */
    ka_second *history;   /* [history_n], oldest first */
    size_t history_n;
    ka_segment_recent *recent; /* [recent_n], latest first */
    size_t recent_n;
} ka_html_page;

extern const char ka_html_style[];

/* ---- pieces -------------------------------------------------------------- */

/** A heading with an id to link to, and the begin of its section. */
void ka_html_section(const ka_text *out, const char *id, const char *title);
void ka_html_section_end(const ka_text *out);

/**
 * The begin of a table that scrolls sideways where it finds no room.
 * @param heads  [n]; one that begins with '<' is left-aligned text, without
 *               the mark; "" stands above bars
 */
void ka_html_table(const ka_text *out, const char *caption,
                   const char *const *heads, size_t n);
void ka_html_table_end(const ka_text *out);

/** A cell with a number in it. */
void ka_html_count(const ka_text *out, uint64_t value);
void ka_html_figure(const ka_text *out, double value);
void ka_html_share(const ka_text *out, double part, double whole);
void ka_html_duration(const ka_text *out, double us);
/** A cell with foreign text. */
void ka_html_cell(const ka_text *out, const char *text);
/** A cell with a bar of part / whole, for the eye only. */
void ka_html_bar(const ka_text *out, double part, double whole);

/* ---- sections, in order -------------------------------------------------- */

void ka_html_now(const ka_html_page *page);
void ka_html_rates(const ka_html_page *page);
void ka_html_totals(const ka_html_page *page);
void ka_html_reasons(const ka_html_page *page);
void ka_html_timeout(const ka_html_page *page);
void ka_html_waits(const ka_html_page *page);
void ka_html_vhosts(const ka_html_page *page);
void ka_html_recent(const ka_html_page *page);

#endif
