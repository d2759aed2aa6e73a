/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Logs repeat few names, so a small table remembers the number of a name by
 * the hash of its bytes as they stand in the log; only what is not in there
 * is brought into its common form and looked up.  The table forgets what
 * collides, so hostile names cannot make it grow.
 */
#include "log_vhosts.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>

#include "hash.h"
#include "log.h"
#include "logtext.h"

#define RECENT_N 1024
#define NAME_MAX_BYTES 255 /* of a DNS name, and then some */

struct ka_vhosts {
    apr_pool_t *pool;
    apr_pool_t *scratch;
    const char *only;
    size_t max;
    apr_hash_t *numbers; /* name -> uint32_t * */
    apr_array_header_t *names;
    struct {
        uint64_t hash; /* 0: empty */
        uint32_t number;
    } recent[RECENT_N];
};

/* "example.org:443" -> "example.org", "[::1]:80" -> "[::1]". */
ka_str ka_vhosts_trim(ka_str name)
{
    const size_t colon = ka_str_find_last(name, ':');
    bool port = colon < name.len;

    for (size_t i = colon + 1; i < name.len; i++) {
        port = port && name.ptr[i] >= '0' && name.ptr[i] <= '9';
    }
    /* A bare IPv6 address has several colons and no port. */
    if (port && (ka_str_find(name, ':') == colon
                 || (colon && name.ptr[colon - 1] == ']'))) {
        name.len = colon;
    }
    if (name.len > NAME_MAX_BYTES) {
        name.len = NAME_MAX_BYTES + 1; /* so that it shows as cut */
    }
    return name;
}

static const char *common_form(ka_str trimmed, apr_pool_t *pool)
{
    char *text = (char *)ka_escape(trimmed.ptr, trimmed.len, NAME_MAX_BYTES,
                                   pool);

    for (char *at = text; *at; at++) {
        *at = ka_lower(*at);
    }
    return text;
}

ka_vhosts *ka_vhosts_make(const char *only, size_t max, apr_pool_t *pool)
{
    ka_vhosts *self = apr_pcalloc(pool, sizeof(*self));

    self->pool = pool;
    self->max = max;
    self->numbers = apr_hash_make(pool);
    self->names = apr_array_make(pool, 16, sizeof(const char *));
    apr_pool_create(&self->scratch, pool);
    if (only) {
        self->only =
            common_form(ka_vhosts_trim((ka_str){only, strlen(only)}), pool);
    }
    return self;
}

/* The number of a name in common form, which may be new. */
static uint32_t number_of(ka_vhosts *self, const char *name)
{
    const uint32_t *known;
    uint32_t *number;

    if (self->only && strcmp(name, self->only)) {
        return KA_VHOST_EXCLUDED;
    }
    if (!(known = apr_hash_get(self->numbers, name, APR_HASH_KEY_STRING))
        && (size_t)self->names->nelts >= self->max) {
        name = "(other)";
        known = apr_hash_get(self->numbers, name, APR_HASH_KEY_STRING);
    }
    if (known) {
        return *known;
    }
    number = apr_palloc(self->pool, sizeof(*number));
    *number = (uint32_t)self->names->nelts;
    name = apr_pstrdup(self->pool, name);
    APR_ARRAY_PUSH(self->names, const char *) = name;
    apr_hash_set(self->numbers, name, APR_HASH_KEY_STRING, number);
    return *number;
}

static uint64_t hash_of(ka_str name)
{
    return ka_hash_bytes(name.ptr ? name.ptr : "", name.len);
}

/* The number of a name, of which the table remembers the hash. */
static uint32_t look_up(ka_vhosts *self, ka_str trimmed, uint64_t hash)
{
    const size_t at = hash % RECENT_N;

    if (self->recent[at].hash != hash) {
        self->recent[at].hash = hash;
        self->recent[at].number =
            number_of(self, common_form(trimmed, self->scratch));
        apr_pool_clear(self->scratch);
    }
    return self->recent[at].number;
}

uint32_t ka_vhosts_number(ka_vhosts *self, ka_str name)
{
    const uint64_t hash = hash_of(name);
    const size_t at = hash % RECENT_N;

    return self->recent[at].hash == hash
               ? self->recent[at].number
               : look_up(self, ka_vhosts_trim(name), hash);
}

uint32_t ka_vhosts_number_trimmed(ka_vhosts *self, ka_str name)
{
    return look_up(self, name, hash_of(name));
}

const char **ka_vhosts_names(const ka_vhosts *self, size_t *n)
{
    *n = (size_t)self->names->nelts;
    return (const char **)self->names->elts;
}
