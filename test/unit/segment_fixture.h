/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Segments made by hand: laid out as the module lays them out, filled here.
 */
#ifndef KA_TEST_SEGMENT_FIXTURE_H
#define KA_TEST_SEGMENT_FIXTURE_H

#include <ka_segment.h>

#include "tempdir.h"

#define SEC INT64_C(1000000)
#define STARTED (INT64_C(1764504000) * SEC) /* 2025-11-30T12:00:00Z */

typedef struct segment {
    ka_segment_header *header;
    uint64_t size;
} segment;

static inline segment segment_make(const ka_segment_plan *plan,
                                   apr_pool_t *pool)
{
    segment s = {.size = ka_segment_size(plan)};
    char *bytes = apr_pcalloc(pool, s.size + 64);

    s.header = (void *)(((uintptr_t)bytes + 63) / 64 * 64);
    ka_segment_format(s.header, plan, STARTED, 0);
    return s;
}

static inline ka_segment_vhost *segment_vhost(segment *s, unsigned i)
{
    return ka_segment_entry(s->header, KA_SECTION_VHOSTS, i);
}

static inline ka_segment_stats *segment_stats(segment *s, unsigned vhost)
{
    return ka_segment_entry(s->header, KA_SECTION_STATS, vhost);
}

static inline void segment_name(segment *s, unsigned i, const char *name,
                                int64_t timeout_us)
{
    ka_segment_vhost *v = segment_vhost(s, i);

    strncpy(v->name, name, sizeof(v->name) - 1);
    v->flags = KA_VHOST_IN_FORCE | (timeout_us ? KA_VHOST_KEEP_ALIVE : 0);
    v->keep_alive_timeout_us = timeout_us;
    v->max_keep_alive_requests = 100;
}

static inline void segment_add(segment *s, unsigned vhost, unsigned quantity,
                               uint64_t value, uint64_t n)
{
    ka_hist_bin *bin =
        &segment_stats(s, vhost)->bins[ka_quantities[quantity].first_bin +
                                       ka_hist_bin_index(value)];

    bin->count += n;
    bin->sum += value * n;
}

static inline void segment_close(segment *s, unsigned vhost, ka_reason reason,
                                 uint64_t n)
{
    segment_stats(s, vhost)->counter[KA_COUNTER_CLOSE + reason] += n;
}

/* Second `i` since the start. */
static inline void segment_second(segment *s, uint32_t i, uint32_t requests,
                                  uint32_t connections, uint32_t open,
                                  uint32_t busy)
{
    uint32_t tag = i + 1, n = s->header->section[KA_SECTION_HISTORY].n;
    ka_segment_second *second =
        ka_segment_entry(s->header, KA_SECTION_HISTORY, tag % n);
    uint64_t high = (uint64_t)tag << 32;

    second->requests = high | requests;
    second->connections = high | connections;
    second->open = high | open;
    second->busy = high | busy;
    second->idle = high | (open - busy);
    second->gauges = KA_GAUGE_ZERO;
}

static inline void segment_recent(segment *s, const ka_segment_recent *record)
{
    uint64_t number = ++s->header->recent_head;
    uint32_t n = s->header->section[KA_SECTION_RECENT].n;
    ka_segment_recent *r =
        ka_segment_entry(s->header, KA_SECTION_RECENT, number % n);

    *r = *record;
    r->seq = 2 * number;
}

static inline const char *segment_write(const segment *s, tempdir *dir,
                                        const char *name, size_t size)
{
    const char *path = apr_pstrcat(dir->pool, dir->path, "/", name, NULL);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(s->header, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A site of an hour on event with T0 = 5 s: 100 connections of 4 requests
 * 2 s apart; 60 time out, 30 are closed by their clients 1 s later, 10 never
 * sent a request.  The ring holds the last three. */
static inline segment segment_site(apr_pool_t *pool)
{
    static const ka_segment_plan plan = {.vhost_n = 3,
                                         .slot_n = 2,
                                         .history_n = 4000,
                                         .recent_n = 8,
                                         .stripe_n = 1};
    segment s = segment_make(&plan, pool);
    ka_segment_slot *slot = ka_segment_entry(s.header, KA_SECTION_SLOTS, 0);
    uint32_t i;

    s.header->heartbeat_at = STARTED + 3600 * SEC;
    s.header->generation = 1;
    s.header->config = (ka_segment_config){.mpm = KA_MPM_EVENT,
                                           .max_request_workers = 150,
                                           .threads_per_child = 25,
                                           .server_limit = 16,
                                           .thread_limit = 64,
                                           .min_spare = 75,
                                           .max_spare = 250,
                                           .max_connections_per_child = 0,
                                           .async = 1};
    strcpy((char *)s.header->server_version, "Apache/2.4.62 (Debian)");
    segment_name(&s, 0, "www.example.org:443", 5 * SEC);
    segment_name(&s, 1, "quiet.example.org:443", 5 * SEC);
    slot->pid = 4711;
    slot->generation = 1;
    slot->started_at = STARTED + 60 * SEC;
    segment_add(&s, 0, KA_QUANTITY_SERVICE + KA_SERVED_STATIC, 10000, 300);
    segment_add(&s, 0, KA_QUANTITY_SERVICE + KA_SERVED_DYNAMIC, 200000, 60);
    segment_add(&s, 0, KA_QUANTITY_GAP, 2 * SEC, 270);
    segment_add(&s, 0, KA_QUANTITY_TAIL, 5 * SEC + 2000, 60);
    segment_add(&s, 0, KA_QUANTITY_TAIL, SEC, 30);
    segment_add(&s, 0, KA_QUANTITY_REQUESTS, 4, 90);
    segment_add(&s, 0, KA_QUANTITY_REQUESTS, 0, 10);
    segment_add(&s, 0, KA_QUANTITY_FIRST, 1000, 90);
    segment_add(&s, 0, KA_QUANTITY_LINGER, 50000, 60);
    segment_close(&s, 0, KA_REASON_IDLE_TIMEOUT, 60);
    segment_close(&s, 0, KA_REASON_CLIENT_CLOSED, 30);
    segment_close(&s, 0, KA_REASON_NO_REQUEST, 10);
    segment_stats(&s, 0)->counter[KA_COUNTER_BYTES] = 3000000;
    for (i = 0; i < 3600; i++) {
        segment_second(&s, i, i % 10 == 0, i % 40 == 0, i % 10 < 3 ? 2 : 1,
                       i % 10 == 0);
    }
    for (i = 0; i < 3; i++) {
        segment_recent(&s, &(ka_segment_recent){
                               .started_at = STARTED + (3580 + 5 * i) * SEC,
                               .life_us = 9 * SEC,
                               .service_us = 40000,
                               .idle_us = 6 * SEC,
                               .longest_gap_us = 2 * SEC,
                               .tail_us = 2 * SEC,
                               .bytes = 40000,
                               .first_us = 1000,
                               .client_hash = 0xabcd0000 + i,
                               .requests = 4,
                               .rtt_us = 20000,
                               .reason = KA_REASON_CLIENT_CLOSED,
                               .protocol = KA_PROTOCOL_HTTP11,
                               .tls = 1});
    }
    return s;
}

#endif
