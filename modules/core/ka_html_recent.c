/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The page's section of single connections, where asked for. */
#include "ka_html.h"

#include <inttypes.h>
#include <stdio.h>

static void put_client(const ka_text *out, uint64_t hash)
{
    char buffer[17];

    snprintf(buffer, sizeof(buffer), "%016" PRIx64, hash);
    ka_text_put(out, "<td class=\"text\"><code>");
    ka_text_put(out, buffer);
    ka_text_put(out, "</code></td>");
}

static void put_connection(const ka_html_page *page, const ka_segment_recent *r)
{
    const ka_text *out = page->out;

    ka_text_put(out, "<tr><th scope=\"row\" class=\"text\">");
    ka_text_time(out, r->started_at);
    ka_text_put(out, "</th>");
    ka_html_duration(out, (double)r->life_us);
    ka_html_count(out, r->requests);
    ka_html_duration(out, (double)r->service_us);
    ka_html_duration(out, (double)r->idle_us);
    ka_html_duration(out, (double)r->longest_gap_us);
    ka_html_duration(out, (double)r->tail_us);
    ka_html_cell(out, ka_reason_name(r->reason));
    ka_html_cell(out, ka_protocol_name(r->protocol));
    ka_html_cell(out, r->tls ? "yes" : "no");
    ka_html_cell(out, page->snapshot.vhosts[r->vhost].name);
    put_client(out, r->client_hash);
    ka_text_put(out, "</tr>\n");
}

void ka_html_recent(const ka_html_page *page)
{
    static const char *const heads[] = {
        "<Accepted", "Life", "Requests", "Service", "Idle between",
        "Longest gap", "Idle at the end", "<Ended by", "<Protocol", "<TLS",
        "<Virtual host", "<Client (hashed)"};
    size_t i;

    if (page->recent_n == 0) {
        return;
    }
    ka_html_section(page->out, "recent", "Recent connections");
    ka_html_table(page->out, "Closed connections, latest first", heads, 12);
    for (i = 0; i < page->recent_n; i++) {
        put_connection(page, &page->recent[i]);
    }
    ka_html_table_end(page->out);
    ka_html_section_end(page->out);
}
