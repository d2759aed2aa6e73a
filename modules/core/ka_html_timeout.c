/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The page's sections on KeepAliveTimeout: what a second of it costs and
 * saves [M10], what a shorter one would have meant [M4] [M5], and the waits
 * themselves. */
#include "ka_html.h"

#define SECOND INT64_C(1000000)

/* ---- the timeouts in force ----------------------------------------------- */

typedef struct timeouts {
    int64_t shortest, longest; /* us; longest 0 = no vhost keeps alive */
} timeouts;

static timeouts timeouts_of(const ka_html_page *page)
{
    timeouts t = {.shortest = INT64_MAX};
    size_t i;

    for (i = 0; i < page->vhost_n; i++) {
        const ka_html_vhost *vhost = &page->vhosts[i];
        int64_t us = vhost->facts->keep_alive_timeout_us;

        if (vhost->keeps && vhost->facts->flags & KA_VHOST_IN_FORCE &&
            !(vhost->facts->flags & KA_VHOST_OFF)) {
            t.shortest = us < t.shortest ? us : t.shortest;
            t.longest = us > t.longest ? us : t.longest;
        }
    }
    return t;
}

static void put_in_force(const ka_text *out, const timeouts *t)
{
    ka_text_put(out, "KeepAliveTimeout is ");
    if (t->shortest != t->longest) {
        ka_text_duration(out, (double)t->shortest);
        ka_text_put(out, " to ");
    }
    ka_text_duration(out, (double)t->longest);
    ka_text_put(out, t->shortest != t->longest ? ", by virtual host. " : ". ");
}

/* ---- [M10] --------------------------------------------------------------- */

static void put_price(const ka_html_page *page)
{
    bool async = page->snapshot.config.async == 1;
    const ka_exchange *x = &page->exchange;
    const ka_text *out = page->out;

    ka_text_put(out, "One more second of it holds <b>");
    ka_text_figure(out, x->held);
    ka_text_put(out, async ? " more idle connections</b> in the mean (no "
                             "worker on this MPM)"
                           : " more workers</b> in the mean");
    ka_text_put(out, " and saves about <b>");
    ka_text_figure(out, x->saved);
    ka_text_put(out, " new connections per second</b>");
    if (x->saved > 0) {
        ka_text_put(out, ": ");
        ka_text_figure(out, x->held / x->saved);
        ka_text_put(out, async ? " seconds of an idle connection for each "
                                 "handshake saved"
                               : " worker-seconds for each handshake saved");
    }
    ka_text_put(out, ".");
}

static void put_exchange(const ka_html_page *page, const timeouts *t)
{
    const ka_text *out = page->out;

    ka_text_put(out, "<p class=\"lead\">");
    put_in_force(out, t);
    if (page->exchange.held > 0) {
        put_price(page);
    }
    else {
        ka_text_put(out, "No connection has run into it so far: a longer one "
                         "would hold and save nothing.");
    }
    ka_text_put(out, "</p>\n<p class=\"soft\">Held: connections ended by the "
                     "timeout, per second. Saved: requests that came just "
                     "before the timeout, per second of timeout; the longer "
                     "waits that would follow are taken to be as "
                     "frequent.</p>\n");
}

/* ---- a shorter timeout --------------------------------------------------- */

static void put_shorter(const ka_html_page *page, int64_t timeout_us,
                        const char *label)
{
    const ka_text *out = page->out;
    ka_shorter s = ka_waits_try(page->waits, timeout_us);

    ka_text_put(out, label ? "<tr class=\"present\"><th scope=\"row\">"
                           : "<tr><th scope=\"row\">");
    if (label) {
        ka_text_put(out, label);
    }
    else {
        ka_text_duration(out, (double)timeout_us);
    }
    ka_text_put(out, "</th>");
    ka_html_figure(out, s.idle);
    ka_html_figure(out, s.opened);
    ka_html_share(out, s.reused, 1);
    ka_html_bar(out, s.reused, 1);
    ka_text_put(out, "</tr>\n");
}

static void put_trials(const ka_html_page *page, const timeouts *t)
{
    static const int64_t trials[] = {
        SECOND / 2,  1 * SECOND,  2 * SECOND,  3 * SECOND,  5 * SECOND,
        10 * SECOND, 15 * SECOND, 30 * SECOND, 60 * SECOND, 120 * SECOND};
    static const char *const heads[] = {
        "Timeout", "Idle connections,<br>mean", "New connections<br>per second",
        "Requests on a<br>reused connection", ""};
    const ka_text *out = page->out;
    size_t i;

    ka_html_table(out, page->snapshot.config.async == 1
                           ? "Had it been shorter, with the same traffic"
                           : "Had it been shorter, with the same traffic; an "
                             "idle connection holds a worker",
                  heads, 5);
    for (i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
        if (trials[i] < t->longest) {
            put_shorter(page, trials[i], NULL);
        }
    }
    put_shorter(page, INT64_MAX, "as it was");
    ka_html_table_end(out);
}

void ka_html_timeout(const ka_html_page *page)
{
    const ka_text *out = page->out;
    timeouts t = timeouts_of(page);

    ka_html_section(out, "timeout", "What KeepAliveTimeout costs and saves");
    if (t.longest == 0) {
        ka_text_put(out, "<p>KeepAlive is Off everywhere: every request opens "
                         "a connection.</p>\n");
    }
    else if (!page->waits->requests) {
        ka_text_put(out, "<p>");
        put_in_force(out, &t);
        ka_text_put(out, "There is no traffic yet to judge it by.</p>\n");
    }
    else {
        put_exchange(page, &t);
        put_trials(page, &t);
    }
    ka_html_section_end(out);
}

/* ---- waits --------------------------------------------------------------- */

/* Upper edges of the bars; what is above the last has a bar of its own. */
static const int64_t edges_us[] = {
    1000,        5000,        10000,       50000,       100000,
    200000,      500000,      1 * SECOND,  2 * SECOND,  3 * SECOND,
    4 * SECOND,  5 * SECOND,  6 * SECOND,  8 * SECOND,  10 * SECOND,
    15 * SECOND, 20 * SECOND, 30 * SECOND, 60 * SECOND, 120 * SECOND,
    300 * SECOND};

#define EDGES (sizeof(edges_us) / sizeof(edges_us[0]))

typedef struct spread {
    uint64_t counts[EDGES + 1];
    uint64_t all;
} spread;

/* Each up to the end of its edge's bin: counts are exact, and what ended by a
 * timeout stands in the row of that timeout. */
static void spread_make(spread *out, const ka_hist *h)
{
    size_t bin = 0, i;

    *out = (spread){.all = ka_hist_count(h)};
    for (i = 0; i <= EDGES; i++) {
        size_t end = i < EDGES ? ka_hist_bin_index((uint64_t)edges_us[i]) + 1
                               : KA_HIST_BINS;

        for (; bin < end; bin++) {
            out->counts[i] += h->bins[bin].count;
        }
    }
}

static uint64_t most_of(const spread *s)
{
    uint64_t most = 0;
    size_t i;

    for (i = 0; i <= EDGES; i++) {
        most = s->counts[i] > most ? s->counts[i] : most;
    }
    return most;
}

static void put_wait(const ka_text *out, size_t edge, const spread *gaps,
                     uint64_t so_far, uint64_t most, const spread *tails)
{
    ka_text_put(out, "<tr><th scope=\"row\">");
    if (edge < EDGES) {
        ka_text_duration(out, (double)edges_us[edge]);
    }
    else {
        ka_text_put(out, "longer");
    }
    ka_text_put(out, "</th>");
    ka_html_count(out, gaps->counts[edge]);
    ka_html_share(out, (double)gaps->counts[edge], (double)gaps->all);
    ka_html_share(out, (double)so_far, (double)gaps->all);
    ka_html_bar(out, (double)gaps->counts[edge], (double)most);
    ka_html_count(out, tails->counts[edge]);
    ka_html_share(out, (double)tails->counts[edge], (double)tails->all);
    ka_text_put(out, "</tr>\n");
}

static bool is_empty(const spread *gaps, const spread *tails, size_t edge)
{
    return gaps->counts[edge] == 0 && tails->counts[edge] == 0;
}

static void put_waits(const ka_text *out, const spread *gaps,
                      const spread *tails)
{
    size_t first = 0, last = EDGES, i;
    uint64_t so_far = 0;

    while (first < EDGES && is_empty(gaps, tails, first)) {
        first++;
    }
    while (last > first && is_empty(gaps, tails, last)) {
        last--;
    }
    for (i = first; i <= last; i++) {
        so_far += gaps->counts[i];
        put_wait(out, i, gaps, so_far, most_of(gaps), tails);
    }
}

void ka_html_waits(const ka_html_page *page)
{
    static const char *const heads[] = {
        "Idle for<br>up to", "Next request<br>came", "Share", "So far", "",
        "Connection<br>ended", "Share"};
    const ka_text *out = page->out;
    spread gaps, tails;

    spread_make(&gaps, &page->waits->gap);
    spread_make(&tails, &page->waits->tail);
    if (gaps.all + tails.all == 0) {
        return;
    }
    ka_html_section(out, "gaps", "How long connections waited");
    ka_html_table(out, "Idle time of a connection, by what ended it; bounds "
                       "are up to 6% longer than they read; pipelined "
                       "requests did not wait",
                  heads, 7);
    put_waits(out, &gaps, &tails);
    ka_html_table_end(out);
    ka_html_section_end(out);
}
