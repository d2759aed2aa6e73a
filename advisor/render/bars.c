/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "bars.h"

#include <math.h>
#include <string.h>

#include "../words.h"
#include "table.h"

#define BAR_MAX 40

/* Upper edges of the bars; what is above the last has a bar of its own. */
static const int64_t edges_us[] = {
    100,      1000,     5000,     10000,     50000,    100000,
    200000,   500000,   1000000,  2000000,   5000000,  10000000,
    15000000, 30000000, 60000000, 120000000, 300000000};

#define EDGES (sizeof(edges_us) / sizeof(edges_us[0]))

/* Values up to an edge, whole, so that the bars add up to the count. */
static uint64_t up_to(const ka_hist *h, uint64_t count, size_t edge)
{
    double above;

    if (edge >= EDGES) {
        return count;
    }
    above = ka_hist_count_above(h, (uint64_t)edges_us[edge]);
    return count - (uint64_t)llround(above);
}

static const char *bar(apr_pool_t *pool, uint64_t n, uint64_t most, size_t room)
{
    size_t length = (size_t)((double)n * (double)room / (double)most + 0.5);
    char *text;

    if (n && !length) {
        length = 1;
    }
    text = apr_palloc(pool, length + 1);
    memset(text, '#', length);
    text[length] = '\0';
    return text;
}

static void bars(ka_page *page, const uint64_t *counts, uint64_t all)
{
    static const ka_column columns[] = {{.head = "up to", .right = true},
                                        {.head = "count", .right = true},
                                        {.head = "share", .right = true},
                                        {.head = "so far", .right = true},
                                        {.head = ""}};
    size_t first = 0, last = EDGES, i;
    uint64_t most = 0, so_far = 0;
    ka_table table;

    while (!counts[first]) {
        first++;
    }
    while (!counts[last]) {
        last--;
    }
    for (i = first; i <= last; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    ka_table_init(&table, columns, 5, page->pool);
    for (i = first; i <= last; i++) {
        apr_pool_t *pool = page->pool;

        so_far += counts[i];
        ka_table_row(&table, KA_STYLE_PLAIN,
                     (const char *[]){
                         i < EDGES
                             ? ka_words_duration(pool, (double)edges_us[i])
                             : "more",
                         ka_words_count(pool, (int64_t)counts[i]),
                         ka_words_share(pool, (double)counts[i] / (double)all),
                         ka_words_share(pool, (double)so_far / (double)all),
                         bar(pool, counts[i], most,
                             page->width < 80 ? BAR_MAX / 4 : BAR_MAX)});
    }
    ka_table_print(&table, page, 2);
}

void ka_bars(ka_page *page, const char *title, const ka_hist *h)
{
    uint64_t all = ka_hist_count(h), counts[EDGES + 1], before = 0;
    size_t i;

    if (!all) {
        return;
    }
    for (i = 0; i <= EDGES; i++) {
        uint64_t now = up_to(h, all, i);

        counts[i] = now - before;
        before = now;
    }
    ka_page_heading(page, title);
    bars(page, counts, all);
}
