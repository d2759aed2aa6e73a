/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * MODEL 7.3: %k with the client.  A client's channels wait under the key
 * (client, last %k), so that a request finds the one that it may continue.
 *
 * What leaves a range: a request that closes its connection repeats %k, so
 * a second `0` is either the closing second request of a connection (low) or
 * the only one of another (high).  Where %X says `+` there is no doubt.
 */
#include "connections_priv.h"

typedef struct channels {
    ka_grouping *g;
    ka_idle idle;
    ka_keymap streams;
} channels;

static uint64_t channel_key(const ka_request *r, int32_t k)
{
    return ka_key_mix(r->client + ka_key_mix((uint64_t)k + 1));
}

size_t ka_k_before(int32_t before[2], const ka_grouping_rules *rules,
                   const ka_request *r, bool low)
{
    const bool kept = (r->flags & KA_REQ_KEPT) != 0;
    const bool final = (r->flags & KA_REQ_FINAL) && !rules->off;
    const int32_t k = r->keepalives;
    size_t n = 0;

    if (k > 0 && !final) {
        before[n++] = k - 1;
    }
    if (!kept && (k > 0 || low)) {
        before[n++] = k;
    }
    if (k > 0 && final) {
        before[n++] = k - 1;
    }
    return n;
}

/* The channel that request r continues, by the value of %k that it must have
 * shown last; *repeats: that is r's own, so r closes it. */
static uint32_t find_channel(bool *repeats, channels *ch, const ka_request *r,
                             bool low)
{
    const ka_grouping_rules *rules = &ch->g->rules;
    const int64_t oldest =
        ka_request_begin(r) - ka_request_reach(rules, r) - rules->tick_us;
    int32_t before[2];
    const size_t n = ka_k_before(before, rules, r, low);
    uint32_t c = KA_INDEX_NONE;
    size_t i;

    *repeats = false;
    for (i = 0; i < n && c == KA_INDEX_NONE; i++) {
        c = ka_idle_take(&ch->idle, channel_key(r, before[i]), oldest);
        *repeats = c != KA_INDEX_NONE && before[i] == r->keepalives;
    }
    return c;
}

static void group_request(channels *ch, size_t i, bool low)
{
    ka_grouping *g = ch->g;
    const ka_request *r = &g->items[i];
    bool repeats;
    uint32_t c;

    if (ka_request_alone(&g->rules, r)) {
        ka_grouping_alone(g, i);
        return;
    }
    ka_idle_advance(&ch->idle, ka_request_begin(r));
    c = find_channel(&repeats, ch, r, low);
    if (c == KA_INDEX_NONE) {
        c = ka_grouping_open(g, i, ka_request_begin(r));
    }
    else {
        ka_grouping_follow(g, i, c);
        if (repeats) {
            ka_grouping_end(g, c);
        }
    }
    if (!g->conns[c].ended) {
        /* Rounded stamps may show an end after the next request's start. */
        ka_idle_put(&ch->idle, channel_key(r, r->keepalives), c,
                    g->conns[c].end_us - g->rules.tick_us);
    }
}

static void group_by_k(ka_grouping *g, bool low)
{
    channels ch = {.g = g};
    size_t i;

    ka_idle_init(&ch.idle, g->n);
    ka_keymap_init(&ch.streams);
    g->failed = ch.idle.failed;
    for (i = 0; i < g->n && !g->failed; i++) {
        const ka_request *r = &g->items[i];

        if (i + KA_KEYMAP_AHEAD < g->n) {
            ka_keymap_expect(&ch.idle.tops,
                             channel_key(r + KA_KEYMAP_AHEAD,
                                         r[KA_KEYMAP_AHEAD].keepalives - 1));
        }
        if (r->flags & KA_REQ_HTTP2) {
            ka_grouping_stream(g, i, &ch.streams);
        }
        else if (r->keepalives < 0) {
            ka_grouping_alone(g, i);
        }
        else {
            group_request(&ch, i, low);
        }
    }
    g->failed = g->failed || ch.idle.failed;
    ka_idle_clear(&ch.idle);
    ka_keymap_clear(&ch.streams);
}

void ka_group_by_k_low(ka_grouping *g)
{
    group_by_k(g, true);
}

void ka_group_by_k_high(ka_grouping *g)
{
    group_by_k(g, false);
}
