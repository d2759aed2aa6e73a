/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * For tests of what is made of a segment: one in memory, filled by hand, and
 * a sink that keeps what is written. */
#ifndef KA_TEST_SEGMENT_MADE_H
#define KA_TEST_SEGMENT_MADE_H

#include <inttypes.h>
#include <apr_strings.h>

#include "ka_segment_reader.h"
#include "unit.h"

#define MADE_AT INT64_C(1772438400000000) /* 2026-03-02 08:00:00 UTC */
#define MADE_S INT64_C(1000000)

/* Two named vhosts and "(other)", two stripes. */
static inline ka_segment_header *made_segment(apr_pool_t *pool)
{
    ka_segment_plan plan = {.vhost_n = 4, .slot_n = 3, .history_n = 60,
                            .recent_n = 8, .stripe_n = 2};
    uint64_t size;
    char *base;

    ka_segment_plan_fit(&plan);
    size = ka_segment_size(&plan);
    base = apr_pcalloc(pool, size + 64);
    base = (char *)(((uintptr_t)base + 63) & ~(uintptr_t)63);
    ka_segment_format(base, &plan, MADE_AT, 0);
    return (ka_segment_header *)base;
}

static inline ka_segment_vhost *made_vhost(ka_segment_header *header,
                                           unsigned place, const char *name,
                                           int64_t timeout_us)
{
    ka_segment_vhost *vhost = ka_segment_entry(header, KA_SECTION_VHOSTS,
                                               place);

    memset(vhost->name, 0, sizeof(vhost->name));
    memcpy(vhost->name, name, strlen(name));
    vhost->flags = KA_VHOST_IN_FORCE | (timeout_us ? KA_VHOST_KEEP_ALIVE : 0);
    vhost->keep_alive_timeout_us = timeout_us;
    vhost->max_keep_alive_requests = 100;
    return vhost;
}

static inline ka_segment_stats *made_stats(ka_segment_header *header,
                                           unsigned stripe, unsigned vhost)
{
    return ka_segment_entry(header, KA_SECTION_STATS,
                            (uint64_t)stripe *
                                    header->section[KA_SECTION_VHOSTS].n +
                                vhost);
}

static inline void made_add(ka_segment_stats *stats, unsigned quantity,
                            uint64_t value, uint64_t n)
{
    ka_hist_bin *bin = &stats->bins[ka_quantities[quantity].first_bin +
                                    ka_hist_bin_index(value)];

    bin->count += n;
    bin->sum += n * value;
}

/* A minute of seconds up to the tenth minute, with a peak in it. */
static inline void made_history(ka_segment_header *header)
{
    uint64_t tag;

    for (tag = 542; tag <= 600; tag++) {
        uint64_t level = tag == 570 ? 40 : 10 + tag % 5;
        uint64_t high = tag << 32;

        *(ka_segment_second *)ka_segment_entry(header, KA_SECTION_HISTORY,
                                               tag % 60) =
            (ka_segment_second){.requests = high | level * 2,
                                .connections = high | level / 4,
                                .open = high | level,
                                .busy = high | level / 5,
                                .idle = high | (level - level / 5),
                                .gauges = KA_GAUGE_ZERO + 12 * KA_GAUGE_IDLE};
    }
}

/* What the golden outputs show: ten minutes of traffic, T = 5 s. */
static inline ka_segment_header *made_traffic(apr_pool_t *pool,
                                              const char *name)
{
    ka_segment_header *header = made_segment(pool);
    ka_segment_stats *a = made_stats(header, 0, 0);
    ka_segment_stats *b = made_stats(header, 1, 0);
    unsigned i;

    header->heartbeat_at = MADE_AT + 600 * MADE_S;
    header->generation = 2;
    memcpy(header->server_version, "Apache/2.4.71 (Debian)", 22);
    header->config = (ka_segment_config){.mpm = KA_MPM_PREFORK,
                                         .max_request_workers = 150,
                                         .async = 0};
    header->gauges = KA_GAUGE_ZERO + 7 * KA_GAUGE_IDLE + 3 * KA_GAUGE_BUSY +
                     2 * KA_GAUGE_CLOSING;
    made_history(header);
    made_vhost(header, 0, name, 5 * MADE_S);
    made_vhost(header, 1, "plain.example.org:80", 0);
    a->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT] = 300;
    b->counter[KA_COUNTER_CLOSE + KA_REASON_CLIENT_CLOSED] = 80;
    b->counter[KA_COUNTER_CLOSE + KA_REASON_MAX_REQUESTS] = 20;
    b->counter[KA_COUNTER_DROPPED_REQUEST] = 1;
    b->counter[KA_COUNTER_PIPELINED] = 10;
    made_add(a, KA_QUANTITY_SERVICE + KA_SERVED_STATIC, 900, 1000);
    made_add(b, KA_QUANTITY_SERVICE + KA_SERVED_DYNAMIC, 40000, 200);
    for (i = 0; i < 8; i++) {
        made_add(i % 2 ? a : b, KA_QUANTITY_GAP + KA_SERVED_STATIC,
                 UINT64_C(30000) << i, 90);
    }
    made_add(b, KA_QUANTITY_GAP + KA_SERVED_STATIC, 4500000, 70);
    made_add(a, KA_QUANTITY_TAIL + KA_SERVED_STATIC, 5001000, 300);
    made_add(a, KA_QUANTITY_TAIL + KA_SERVED_STATIC, 700000, 80);
    made_add(a, KA_QUANTITY_REQUESTS, 3, 400);
    made_add(made_stats(header, 0, 1), KA_QUANTITY_SERVICE, 1000, 5);
    made_stats(header, 0, 1)->counter[KA_COUNTER_CLOSE +
                                      KA_REASON_KEEPALIVE_OFF] = 5;
    return header;
}

/* ---- a sink -------------------------------------------------------------- */

typedef struct made_text {
    char bytes[1 << 22];
    size_t n;
} made_text;

static inline void made_sink(void *baton, const char *bytes, size_t n)
{
    made_text *text = baton;

    assert_true(text->n + n < sizeof(text->bytes));
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    text->bytes[text->n] = '\0';
}

static inline made_text *made_text_make(apr_pool_t *pool)
{
    return apr_pcalloc(pool, sizeof(made_text));
}

static inline void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("not in the text: %s", part);
    }
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part)) {
        fail_msg("in the text: %s", part);
    }
}

#endif
