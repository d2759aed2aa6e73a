/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Nearly every line has the name of the line above, or one seen before in the
 * chunk.  Names are copied, for the text is gone when they are looked at.
 */
#include "log_scan_names.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "log_vhosts.h"

#define SLOTS (2 * KA_SCAN_NAMES_MAX) /* a power of two */

struct ka_scan_names {
    size_t n;
    struct {
        uint64_t hash;
        size_t at; /* in bytes */
        size_t length;
    } names[KA_SCAN_NAMES_MAX];
    uint16_t slots[SLOTS]; /* number + 1; 0: empty */
    size_t last;
    char *bytes;
    size_t used, room;
};

ka_scan_names *ka_scan_names_make(void)
{
    return calloc(1, sizeof(ka_scan_names));
}

void ka_scan_names_free(ka_scan_names *self)
{
    if (self) {
        free(self->bytes);
        free(self);
    }
}

void ka_scan_names_clear(ka_scan_names *self)
{
    self->n = self->used = self->last = 0;
    memset(self->slots, 0, sizeof(self->slots));
}

ka_str ka_scan_names_get(const ka_scan_names *self, size_t number)
{
    return (ka_str){self->bytes + self->names[number].at,
                    self->names[number].length};
}

static bool is_name(const ka_scan_names *self, size_t number, ka_str name)
{
    const ka_str known = ka_scan_names_get(self, number);

    return known.len == name.len && !memcmp(known.ptr, name.ptr, name.len);
}

static bool make_room(ka_scan_names *self, size_t more)
{
    char *bytes;

    if (more <= self->room - self->used) {
        return true;
    }
    bytes = realloc(self->bytes, (self->used + more) * 2);
    if (bytes) {
        self->bytes = bytes;
        self->room = (self->used + more) * 2;
    }
    return bytes != NULL;
}

static size_t add_name(ka_scan_names *self, ka_str name, uint64_t hash)
{
    /* One byte more, so that there are bytes to point to. */
    if (self->n == KA_SCAN_NAMES_MAX || !make_room(self, name.len + 1)) {
        return KA_SCAN_NAMES_MAX;
    }
    memcpy(self->bytes + self->used, name.ptr, name.len);
    self->names[self->n].hash = hash;
    self->names[self->n].at = self->used;
    self->names[self->n].length = name.len;
    self->used += name.len;
    return self->n++;
}

size_t ka_scan_names_number(ka_scan_names *self, ka_str name)
{
    uint64_t hash;
    size_t at, number;

    name = name.len ? ka_vhosts_trim(name) : (ka_str){"", 0};
    if (self->n && is_name(self, self->last, name)) {
        return self->last;
    }
    hash = ka_hash_bytes(name.ptr, name.len);
    for (at = hash % SLOTS; self->slots[at]; at = (at + 1) % SLOTS) {
        number = self->slots[at] - 1;
        if (self->names[number].hash == hash
            && is_name(self, number, name)) {
            return self->last = number;
        }
    }
    number = add_name(self, name, hash);
    if (number < KA_SCAN_NAMES_MAX) {
        self->slots[at] = (uint16_t)(number + 1);
        self->last = number;
    }
    return number;
}

size_t ka_scan_names_count(const ka_scan_names *self)
{
    return self->n;
}
