/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Levels at which a place holds one connection at a time: a remote port of an
 * address (exact), or a process and thread of the server (MODEL 7.1, 7.2).
 */
#include "connections_priv.h"

uint64_t ka_port_key(const ka_request *r)
{
    return ka_key_mix(r->address + ka_key_mix((uint64_t)r->remote_port + 1));
}

void ka_group_by_port(ka_grouping *g)
{
    ka_keymap ports;
    size_t i;

    ka_keymap_init(&ports);
    for (i = 0; i < g->n && !g->failed; i++) {
        const ka_request *r = &g->items[i];

        if (i + KA_KEYMAP_AHEAD < g->n) {
            ka_keymap_expect(&ports, ka_port_key(r + KA_KEYMAP_AHEAD));
        }
        if (r->remote_port < 0) {
            ka_grouping_alone(g, i);
            continue;
        }
        ka_grouping_place(g, i, &ports, ka_port_key(r));
    }
    ka_keymap_clear(&ports);
}

void ka_group_by_slot(ka_grouping *g)
{
    ka_keymap slots, streams;
    size_t i;

    ka_keymap_init(&slots);
    ka_keymap_init(&streams);
    for (i = 0; i < g->n && !g->failed; i++) {
        const ka_request *r = &g->items[i];

        if (r->flags & KA_REQ_HTTP2) {
            ka_grouping_stream(g, i, &streams);
        }
        else if (r->slot == 0) {
            ka_grouping_alone(g, i);
        }
        else {
            ka_grouping_place(g, i, &slots, r->slot);
        }
    }
    ka_keymap_clear(&slots);
    ka_keymap_clear(&streams);
}
