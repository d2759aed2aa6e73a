/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <stdlib.h>

#include "array.h"
#include "connections_priv.h"

uint32_t *ka_clients_number(size_t *client_n, const ka_request *items, size_t n)
{
    uint32_t *client_of = ka_array_alloc(n, sizeof(*client_of));
    ka_keymap index;
    size_t i;

    *client_n = 0;
    if (client_of == NULL) {
        return NULL;
    }
    ka_keymap_init(&index);
    for (i = 0; i < n; i++) {
        uint32_t *at;

        if (i + KA_KEYMAP_AHEAD < n) {
            ka_keymap_expect(&index, items[i + KA_KEYMAP_AHEAD].client);
        }
        at = ka_keymap_at(&index, items[i].client, (uint32_t)index.n);
        if (at == NULL) {
            break;
        }
        client_of[i] = *at;
    }
    *client_n = index.n;
    ka_keymap_clear(&index);
    if (i < n) {
        free(client_of);
        return NULL;
    }
    return client_of;
}
