/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Tallies that a profile file can hold, and lines of them. */
#ifndef KA_TEST_PROFILEFILES_H
#define KA_TEST_PROFILEFILES_H

#include <jansson.h>

#include "unit.h"
#include "tallies.h"
#include "tempdir.h"

#include <sources/profilefile.h>

/* Hours of several servers become those of one. */
static inline void own_hours(ka_occupancy *o, uint32_t server)
{
    ka_occupancy own;
    size_t i;

    ka_occupancy_init(&own);
    own.hour_bits = o->hour_bits;
    for (i = 0; i < o->hour_n; i++) {
        ka_occupancy_hour hour = o->hours[i];

        hour.server = server;
        ka_occupancy_put_hour(&own, &hour);
    }
    free(o->hours);
    o->hours = own.hours;
    o->hour_n = own.hour_n;
    o->hour_size = own.hour_size;
    o->recent = own.recent;
}

static inline void own_side(ka_tally_side *side, size_t n, uint32_t server)
{
    size_t i;

    for (i = 0; i < n; i++) {
        own_hours(&side->timeouts[i].held, server);
    }
    own_hours(&side->busy, server);
}

/* A random part of a server's traffic: never empty. */
static inline ka_tally *random_part(uint64_t *seed, const char *name,
                                    apr_pool_t *pool)
{
    ka_tally *tally = random_tally(seed, pool);
    ka_fact *facts;
    int i;

    while (ka_tally_is_empty(tally)) {
        ka_tally_free(tally);
        tally = random_tally(seed, pool);
    }
    tally->servers[0].name = apr_pstrdup(pool, name);
    facts = tally->servers[0].facts.facts;
    for (i = 0; i < KA_FACTS; i++) {
        if (facts[i].known && !facts[i].origin) {
            facts[i].origin = "option --memory";
        }
    }
    tally->requests = tally->classes[0].requests + tally->classes[1].requests;
    own_side(&tally->side[0], tally->timeout_n, ka_occupancy_server(name));
    own_side(&tally->side[1], tally->timeout_n, ka_occupancy_server(name));
    return tally;
}

/* The line of a tally, its end included; owned by the pool. */
static inline const char *line_of_tally(const ka_tally *tally,
                                        apr_pool_t *pool)
{
    char *text, *copy;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    assert_int_equal(ka_profilefile_write(out, tally, pool), APR_SUCCESS);
    assert_int_equal(fclose(out), 0);
    assert_true(length <= KA_PROFILE_LINE_SIZE);
    copy = apr_pstrmemdup(pool, text, length);
    free(text);
    return copy;
}

/* Lines of all hosts, one after another. */
static inline const char *lines_of_hosts(const ka_hosts *hosts,
                                         apr_pool_t *pool)
{
    const char *text = "";
    size_t i;

    for (i = 0; i < hosts->n; i++) {
        text = apr_pstrcat(pool, text, line_of_tally(hosts->items[i], pool),
                           NULL);
    }
    return text;
}

static inline ka_hosts *hosts_make(apr_pool_t *pool)
{
    ka_hosts *hosts = apr_palloc(pool, sizeof(*hosts));

    ka_hosts_init(hosts, pool);
    return hosts;
}

/* The hosts of a file with this text; the sentence if it is refused. */
static inline ka_hosts *read_text(tempdir *dir, const char **error,
                                  apr_status_t *status, const char *text)
{
    ka_hosts *hosts = hosts_make(dir->pool);
    const char *path = tempdir_text(dir, "a.kap", text);

    *error = NULL;
    *status = ka_profilefile_read(hosts, error, path, dir->pool);
    return hosts;
}

static inline ka_hosts *read_well(tempdir *dir, const char *text)
{
    const char *error;
    apr_status_t status;
    ka_hosts *hosts = read_text(dir, &error, &status, text);

    if (status) {
        fail_msg("%s", error);
    }
    return hosts;
}

#endif
