/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A foreign line becomes a tally: what the rest of the program relies on
 * (ascending, in range, adding up) is checked here, once.
 */
#include "profilefile_take.h"

#include <string.h>
#include <apr_strings.h>

#include "../profile/saturate.h"

#define HASH_DIGITS 16
#define SCHEMA_NAME "kaadvisor-profile/"
/* Two for each T0: parts may each have estimated their own. */
#define LIMIT_NUMBERS 2000
/* Every fact's value fits: counts, bytes, us. */
#define MOST_VALUE (INT64_C(1) << 60)

/* ---- schema ------------------------------------------------------------- */

static bool take_schema(ka_pf_taker *d, const json_t *line)
{
    const char *schema = json_string_value(json_object_get(line, "schema"));

    if (!schema) {
        ka_pf_place at = {.key = "schema"};

        return ka_pf_refuse(d, &at, "\"" KA_PROFILE_SCHEMA "\"");
    }
    if (!strcmp(schema, KA_PROFILE_SCHEMA)) {
        return true;
    }
    d->rv = APR_ENOTIMPL;
    d->error = apr_psprintf(
        d->pool,
        "its schema is \"%.60s\", and this kaadvisor " KA_VERSION
        " reads \"" KA_PROFILE_SCHEMA "\": %s",
        schema,
        !strncmp(schema, SCHEMA_NAME, sizeof(SCHEMA_NAME) - 1)
            ? "use the kaadvisor that wrote it, or write it again with this "
              "one"
            : "it is no profile; `kaadvisor profile` writes one");
    return false;
}

/* ---- server ------------------------------------------------------------- */

static const char *take_name(ka_pf_taker *d, const json_t *object,
                             const char *key, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = key};
    const json_t *value = ka_pf_member(d, object, key, JSON_STRING, &at);

    if (value && json_string_length(value) > KA_PROFILE_NAME_MAX) {
        ka_pf_refuse(d, &at, "a name of at most 255 bytes");
        return NULL;
    }
    return value ? json_string_value(value) : NULL;
}

static bool take_value(ka_pf_taker *d, int64_t *out, ka_fact_id id,
                       const json_t *object, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = "value"};
    const json_t *value = json_object_get(object, at.key);

    if (id != KA_FACT_ID_MPM) {
        return ka_pf_take_range(d, out, value, &at, 0, MOST_VALUE);
    }
    *out = ka_mpm_parse(json_string_value(value));
    return *out >= 0 || ka_pf_refuse(d, &at, "prefork, worker or event");
}

static bool take_fact(ka_pf_taker *d, ka_tally_server *server,
                      const ka_pf_fact *row, const json_t *object,
                      const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = row->key};
    const char *origin = json_string_value(json_object_get(object, "origin"));
    int64_t value;

    if (!json_is_object(object)) {
        return ka_pf_refuse(d, &at, "an object {...}");
    }
    if (json_is_true(json_object_get(object, "differs"))) {
        server->differs[row->id] = true;
        return true;
    }
    if (!take_value(d, &value, row->id, object, &at)) {
        return false;
    }
    ka_server_set(&server->facts, row->id, value,
                  json_is_true(json_object_get(object, "assumed")),
                  apr_pstrdup(d->pool, origin ? origin : "not told"));
    return true;
}

static bool take_facts(ka_pf_taker *d, ka_tally_server *server,
                       const json_t *line)
{
    const ka_pf_place at = {.key = "facts"};
    const json_t *object = ka_pf_member(d, line, at.key, JSON_OBJECT, &at);
    const ka_pf_fact *row;

    for (row = ka_pf_facts; object && row->key; row++) {
        const json_t *fact = json_object_get(object, row->key);

        if (fact && !take_fact(d, server, row, fact, &at)) {
            return false;
        }
    }
    return object != NULL;
}

static ka_tally_server *take_server(ka_pf_taker *d, ka_tally *tally,
                                    const json_t *line)
{
    const ka_pf_place at = {.key = "last_us"}, host = {.key = "host"};
    const char *name = take_name(d, line, host.key, NULL);
    ka_tally_server *server;

    if (!name) {
        return NULL;
    }
    if (!*name) {
        ka_pf_refuse(d, &host, "the name of a server");
        return NULL;
    }
    server = ka_tally_server_at(tally, name);
    if (!server) {
        ka_pf_no_memory(d);
        return NULL;
    }
    if (!ka_pf_take_ranges(d, server, ka_pf_server_ranges, line, NULL) ||
        !ka_pf_take_counts(d, server, ka_pf_server_counts, line, NULL) ||
        !take_facts(d, server, line)) {
        return NULL;
    }
    if (server->last_us < server->first_us) {
        ka_pf_refuse(d, &at, "a time that is not before \"first_us\"");
        return NULL;
    }
    tally->window_us = server->window_us;
    return server;
}

static bool take_limits(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "limits"};
    const json_t *array = ka_pf_member(d, line, at.key, JSON_ARRAY, &at);
    size_t i;

    if (json_array_size(array) > LIMIT_NUMBERS) {
        return ka_pf_refuse(d, &at, "at most 1000 timeouts");
    }
    for (i = 0; i < json_array_size(array); i += 2) {
        const ka_pf_place first = {.up = &at, .index = i};
        const ka_pf_place second = {.up = &at, .index = i + 1};
        int64_t timeout_us;
        uint64_t window_us;

        if (!ka_pf_take_range(d, &timeout_us, json_array_get(array, i), &first,
                              KA_TIMEOUT_OFF, KA_PF_MOST_US) ||
            !ka_pf_take_whole(d, &window_us, json_array_get(array, i + 1),
                              &second)) {
            return false;
        }
        ka_tally_limit_add(tally, timeout_us, window_us);
    }
    return array && (!tally->failed || ka_pf_no_memory(d));
}

static bool take_identity(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "identity"};
    const char *name = take_name(d, line, at.key, NULL);
    int i;

    for (i = KA_IDENTITY_NONE; name && i <= KA_IDENTITY_LIVE; i++) {
        if (!strcmp(name, ka_identity_name((ka_identity)i))) {
            tally->identity = (ka_identity)i;
            return true;
        }
    }
    return ka_pf_refuse(d, &at, "port, slot, k, time, live or none");
}

/* ---- traffic ------------------------------------------------------------ */

static bool take_traffic(ka_pf_taker *d, ka_tally_traffic *traffic,
                         const json_t *object, const ka_pf_place *at)
{
    return ka_pf_take_counts(d, traffic, ka_pf_traffic_counts, object, at) &&
           ka_pf_take_hists(d, traffic, ka_pf_traffic_hists, object, at);
}

static bool take_classes(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "classes"}, all = {.key = "requests"};
    const json_t *object = ka_pf_member(d, line, at.key, JSON_OBJECT, &at);
    uint64_t requests = 0;
    int i;

    for (i = 0; object && i < KA_CLASS_N; i++) {
        const ka_pf_place place = {.up = &at, .key = ka_pf_classes[i]};
        const json_t *class =
            ka_pf_member(d, object, place.key, JSON_OBJECT, &place);

        if (!class || !take_traffic(d, &tally->classes[i], class, &place)) {
            return false;
        }
        requests = ka_add_saturated(requests, tally->classes[i].requests);
    }
    if (object && requests < KA_PF_MOST && requests != tally->requests) {
        return ka_pf_refuse(d, &all, "as many as those of the classes");
    }
    return object != NULL;
}

static bool take_vhost(ka_pf_taker *d, ka_tally *tally, const json_t *object,
                       const ka_pf_place *at)
{
    size_t before = tally->vhost_n;
    ka_tally_traffic *vhost;
    const char *name;

    if (!json_is_object(object)) {
        return ka_pf_refuse(d, at, "an object {...}");
    }
    name = take_name(d, object, "name", at);
    if (!name) {
        return false;
    }
    vhost = ka_tally_vhost(tally, name);
    if (!vhost) {
        return ka_pf_no_memory(d);
    }
    if (tally->vhost_n == before || strcmp(vhost->name, name)) {
        return ka_pf_refuse(d, at,
                            "a name that is not there twice, and at "
                            "most 256 of them");
    }
    return take_traffic(d, vhost, object, at);
}

static bool take_vhosts(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "vhosts"};
    const json_t *array = ka_pf_member(d, line, at.key, JSON_ARRAY, &at);
    size_t i;

    for (i = 0; i < json_array_size(array); i++) {
        const ka_pf_place place = {.up = &at, .index = i};

        if (!take_vhost(d, tally, json_array_get(array, i), &place)) {
            return false;
        }
    }
    return array != NULL;
}

static bool take_excluded(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "excluded"};
    const json_t *object = ka_pf_member(d, line, at.key, JSON_OBJECT, &at);
    int i;

    for (i = 0; object && i < KA_EXCLUDED_N; i++) {
        const ka_pf_place place = {.up = &at,
                                   .key = ka_excluded_name((ka_excluded)i)};

        if (!ka_pf_take_whole(d, &tally->excluded[i],
                              json_object_get(object, place.key), &place)) {
            return false;
        }
    }
    return object != NULL;
}

/* ---- clients ------------------------------------------------------------ */

static int digit_of(char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = c ? strchr(hex, c) : NULL;

    return at ? (int)(at - hex) : -1;
}

static bool take_hashes(ka_pf_taker *d, ka_distinct *distinct,
                        const json_t *line, const char *key)
{
    const ka_pf_place at = {.key = key};
    const json_t *value = ka_pf_member(d, line, key, JSON_STRING, &at);
    const char *digits = value ? json_string_value(value) : "";
    size_t i, n = value ? json_string_length(value) : 0;
    uint64_t hash = 0;

    if (n % HASH_DIGITS || n / HASH_DIGITS > KA_DISTINCT_MAX) {
        return ka_pf_refuse(d, &at, "at most 4096 hashes of 16 digits each");
    }
    for (i = 0; i < n; i++) {
        int digit = digit_of(digits[i]);

        if (digit < 0) {
            return ka_pf_refuse(d, &at, "digits from 0 to f");
        }
        hash = hash << 4 | (uint64_t)digit;
        if ((i + 1) % HASH_DIGITS == 0) {
            ka_distinct_put(distinct, hash);
        }
    }
    return value != NULL;
}

static bool take_weights(ka_pf_taker *d, ka_weights *weights,
                         const json_t *line)
{
    const ka_pf_place at = {.key = "weights"}, sum = {.up = &at, .key = "sum"};
    const ka_pf_place rows = {.up = &at, .key = "rows"};
    const json_t *object = ka_pf_member(d, line, at.key, JSON_OBJECT, &at);
    const json_t *array =
        object ? ka_pf_member(d, object, rows.key, JSON_ARRAY, &rows) : NULL;
    size_t i;

    for (i = 0; array && i < 2; i++) {
        const ka_pf_place place = {.up = &rows, .index = i};
        const json_t *row = json_array_get(array, i);

        if (!json_is_array(row)) {
            return ka_pf_refuse(d, &place, "an array [...]");
        }
        if (!ka_pf_take_row(d, weights->rows[i], row, &place)) {
            return false;
        }
    }
    return array && ka_pf_take_whole(d, &weights->sum,
                                     json_object_get(object, sum.key), &sum);
}

/* ---- sides -------------------------------------------------------------- */

static bool take_timeout_list(ka_pf_taker *d, ka_tally *tally,
                              const json_t *line)
{
    const ka_pf_place at = {.key = "timeouts_us"};
    const json_t *array = ka_pf_member(d, line, at.key, JSON_ARRAY, &at);
    int64_t least = KA_TIMEOUT_OFF;
    size_t i, n = json_array_size(array);

    if (n > KA_TALLY_TIMEOUTS) {
        return ka_pf_refuse(d, &at, "at most 96 timeouts");
    }
    for (i = 0; i < n; i++) {
        const ka_pf_place place = {.up = &at, .index = i};

        if (!ka_pf_take_range(d, &tally->timeouts[i], json_array_get(array, i),
                              &place, least, KA_PF_MOST_US)) {
            return false;
        }
        least = tally->timeouts[i] + 1;
    }
    tally->timeout_n = n;
    return array != NULL;
}

static bool take_timeouts(ka_pf_taker *d, ka_tally *tally, ka_tally_side *side,
                          const json_t *object, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = "timeouts"};
    const json_t *array = ka_pf_member(d, object, at.key, JSON_ARRAY, &at);
    uint32_t server = ka_occupancy_server(tally->servers[0].name);
    size_t i;

    if (array && json_array_size(array) != tally->timeout_n) {
        return ka_pf_refuse(d, &at, "one for each of \"timeouts_us\"");
    }
    for (i = 0; array && i < tally->timeout_n; i++) {
        const ka_pf_place place = {.up = &at, .index = i};
        const json_t *item = json_array_get(array, i);
        ka_tally_timeout *timeout = &side->timeouts[i];

        if (!ka_pf_take_counts(d, timeout, ka_pf_timeout_counts, item,
                               &place) ||
            !ka_pf_take_occupancy(d, &timeout->held, server, item, "held",
                                  &place)) {
            return false;
        }
    }
    return array != NULL;
}

static bool take_side(ka_pf_taker *d, ka_tally *tally, ka_tally_side *side,
                      const json_t *line, const char *key)
{
    const ka_pf_place at = {.key = key};
    const json_t *object = ka_pf_member(d, line, key, JSON_OBJECT, &at);
    uint32_t server = ka_occupancy_server(tally->servers[0].name);

    return object &&
           ka_pf_take_counts(d, side, ka_pf_side_counts, object, &at) &&
           ka_pf_take_hists(d, side, ka_pf_side_hists, object, &at) &&
           ka_pf_take_occupancy(d, &side->busy, server, object, "busy", &at) &&
           take_timeouts(d, tally, side, object, &at);
}

static bool take_sides(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    tally->bracket = json_object_get(line, "high") != NULL;
    return take_side(d, tally, &tally->side[0], line, "low") &&
           (!tally->bracket ||
            take_side(d, tally, &tally->side[1], line, "high"));
}

/* ---- the line ----------------------------------------------------------- */

static bool take_line(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    return take_server(d, tally, line) && take_identity(d, tally, line) &&
           ka_pf_take_ranges(d, tally, ka_pf_tally_ranges, line, NULL) &&
           take_limits(d, tally, line) &&
           ka_pf_take_counts(d, tally, ka_pf_tally_counts, line, NULL) &&
           take_excluded(d, tally, line) && take_classes(d, tally, line) &&
           take_vhosts(d, tally, line) &&
           ka_pf_take_hist(d, &tally->per_second, line, "per_second", NULL) &&
           take_hashes(d, &tally->clients, line, "clients") &&
           take_hashes(d, &tally->addresses, line, "addresses") &&
           take_weights(d, &tally->weights, line) &&
           take_timeout_list(d, tally, line) && take_sides(d, tally, line) &&
           ka_pf_take_sample(d, tally, line);
}

apr_status_t ka_pf_decode(ka_tally **out, const char **error,
                          const json_t *line, apr_pool_t *pool)
{
    ka_pf_taker d = {.pool = pool};
    ka_tally *tally;

    if (!take_schema(&d, line)) {
        *error = d.error;
        return d.rv;
    }
    tally = ka_tally_make(NULL, 0, pool);
    if (!tally) {
        ka_pf_no_memory(&d);
    }
    else if (take_line(&d, tally, line) && !tally->failed) {
        *out = tally;
        return APR_SUCCESS;
    }
    ka_tally_free(tally);
    *error = d.error ? d.error : "not enough memory for it";
    return d.rv ? d.rv : APR_ENOMEM;
}
