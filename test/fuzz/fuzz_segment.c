/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arbitrary bytes as a segment: the check, and everything that reads what has
 * passed it.
 *
 * Few inputs would pass by chance, so the input is laid over a sound segment:
 * triples of (place, length, bytes).  The first byte says how much is cut off
 * at the end.  Checked beyond crashes: what the reader promises of its
 * structs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_general.h>
#include <apr_pools.h>

#include "ka_segment_json.h"
#include "ka_ticks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ka_segment_plan plan = {
    .vhost_n = 2, .slot_n = 2, .history_n = 4, .recent_n = 3, .stripe_n = 1,
    .tick_n = 64};

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void swallow(void *baton, const char *bytes, size_t n)
{
    check(n == 0 || bytes != NULL, "pieces have bytes");
    *(uint64_t *)baton += n;
}

/* In the header and the small sections; the counters cannot harm. */
static void spoil(char *base, uint64_t size, const uint8_t *data, size_t n)
{
    while (n > 3) {
        size_t place = (size_t)(data[0] | data[1] << 8) % (size_t)size;
        size_t length = data[2] % 17;

        data += 3;
        n -= 3;
        length = length < n ? length : n;
        length = length < size - place ? length : (size_t)size - place;
        memcpy(base + place, data, length);
        data += length;
        n -= length;
    }
}

static void read_all(const ka_segment_header *h, apr_pool_t *pool)
{
    const ka_segment_json_options options = {
        .now_at = h->started_at, .history_s = 10, .recent_n = 10};
    uint64_t written = 0;
    ka_json json = {.sink = swallow, .baton = &written};
    ka_segment_recent recent[10];
    ka_second seconds[10];
    ka_segment_level *levels;
    ka_snapshot snapshot;
    size_t n, i;

    ka_snapshot_make(&snapshot, h, pool);
    for (i = 0; i < snapshot.vhost_n; i++) {
        check(memchr(snapshot.vhosts[i].name, 0,
                     sizeof(snapshot.vhosts[i].name)) != NULL,
              "names end");
    }
    check(ka_history_read(seconds, 10, h, INT64_MIN) <= 10, "history");
    check(ka_history_read(seconds, 10, h, INT64_MAX) <= 10, "history");
    n = ka_recent_read(recent, 10, h);
    for (i = 0; i < n; i++) {
        check(recent[i].vhost < snapshot.vhost_n, "vhosts exist");
        check(recent[i].reason < KA_REASON_N, "reasons exist");
    }
    levels = apr_palloc(pool, KA_LEVEL_N * sizeof(*levels));
    ka_ticks_read(levels, h, INT64_MAX, pool);
    ka_ticks_read(levels, h, h->heartbeat_at, pool);
    ka_segment_json(&json, h, &options, pool);
    check(written > 0, "JSON is written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t full = ka_segment_size(&plan);
    const char *error = NULL;
    apr_pool_t *pool;
    uint64_t left;
    char *base;

    if (size < 2) {
        return 0;
    }
    apr_initialize();
    apr_pool_create(&pool, NULL);
    left = full - (uint64_t)data[0] * full / 512 * (data[1] % 2);
    base = calloc(1, full);
    ka_segment_format((void *)base, &plan, 1700000000000000, 5300000);
    base = realloc(base, left); /* so that the sanitizer sees its end */
    spoil(base, left, data + 2, size - 2);
    if (ka_segment_check(base, left, &error) == APR_SUCCESS) {
        read_all((const ka_segment_header *)base, pool);
    }
    else {
        check(error != NULL && *error, "a refusal says why");
    }
    free(base);
    apr_pool_destroy(pool);
    return 0;
}
