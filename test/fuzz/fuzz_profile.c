/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arbitrary bytes as a profile: lines, JSON, every check of a tally, and all
 * that is computed from one that has passed them.
 *
 * Few inputs would pass by chance.  So the first byte chooses: the bytes as
 * they are; or laid over a sound line, which changes digits, brackets and
 * names in it: pairs of (place, byte).  Checked beyond crashes: a refusal is
 * one sentence; what was taken can be written, and comes back as it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "sources/profilefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 1000000, 5000000};
#define TIMEOUT_N 3

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* ---- a sound line ------------------------------------------------------- */

static void fill_side(ka_tally_side *side)
{
    uint32_t server = ka_occupancy_server("w");
    size_t i;

    ka_hist_add(&side->gap, 100000);
    ka_hist_add(&side->tail, 9000000);
    ka_hist_add(&side->lengths, 2);
    ka_hist_add(&side->parallel, 1);
    side->chains = 1;
    side->busy_us = 200;
    ka_occupancy_add(&side->busy, 1, 4000, 5, server, true);
    for (i = 0; i < TIMEOUT_N; i++) {
        side->timeouts[i].connections = 1;
        ka_occupancy_add(&side->timeouts[i].held, 3, 4000, 5, server, true);
    }
}

/* Four blocks, a group with traffic, both sides. */
static ka_sample *sound_sample(void)
{
    ka_sample *s = ka_sample_make(timeouts, TIMEOUT_N);
    size_t i, side;

    ka_sample_begin(s, 1000000);
    ka_sample_end(s, 1000000 + 3 * KA_SAMPLE_BLOCK_US);
    for (side = 0; side < 2; side++) {
        for (i = 0; i < s->block_n; i++) {
            ka_sample_side *of = ka_sample_block_side(s, i, (int)side);

            of->requests = 2;
            of->opens = 1;
            of->idle[1].gap_n = of->idle[3].tail_n = 1;
            of->idle[1].gap_us = of->idle[3].tail_us = 9000000;
        }
        ka_sample_group_side(s, 7, (int)side)->requests = 8;
    }
    return s;
}

static ka_tally *sound_tally(apr_pool_t *pool)
{
    ka_tally *tally = ka_tally_make(timeouts, TIMEOUT_N, pool);
    ka_tally_server *server = ka_tally_server_at(tally, "w");

    server->first_us = 1000000;
    server->last_us = 5000000;
    server->window_us = tally->window_us = 4000000;
    ka_server_set(&server->facts, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "x");
    tally->timeout_us = 5000000;
    tally->identity = KA_IDENTITY_TIME;
    tally->requests = tally->classes[0].requests = 2;
    ka_hist_add_n(&tally->classes[0].service, 100, 2);
    ka_tally_second(&tally->per_second, &tally->peak_per_second, 2);
    ka_tally_vhost(tally, "a")->requests = 2;
    ka_distinct_add(&tally->clients, 1);
    ka_weights_add(&tally->weights, 1, 2);
    tally->bracket = true;
    fill_side(&tally->side[0]);
    fill_side(&tally->side[1]);
    tally->sample = sound_sample();
    return tally;
}

static char *line_of(size_t *length, const ka_tally *tally, apr_pool_t *pool)
{
    char *text;
    FILE *out = open_memstream(&text, length);

    check(ka_profilefile_write(out, tally, pool) == APR_SUCCESS, "written");
    fclose(out);
    check(*length <= KA_PROFILE_LINE_SIZE, "a line is short");
    return text;
}

static char *make_sound(size_t *length)
{
    apr_pool_t *pool;
    ka_tally *tally;
    char *line;

    apr_pool_create(&pool, NULL);
    tally = sound_tally(pool);
    line = line_of(length, tally, pool);
    ka_tally_free(tally);
    apr_pool_destroy(pool);
    return line;
}

static void spoil(char *text, size_t length, const uint8_t *data, size_t n)
{
    for (; n > 2; data += 3, n -= 3) {
        text[(data[0] | (size_t)data[1] << 8) % length] = (char)data[2];
    }
}

/* ---- what is taken ------------------------------------------------------ */

static void use(const ka_tally *tally, apr_pool_t *pool)
{
    static const int64_t more[] = {KA_TIMEOUT_OFF, 0, 700000, 5000000,
                                   90000000};
    ka_profile *profile = apr_palloc(pool, sizeof(*profile));
    ka_outcome outcomes[5];
    ka_tally *twice = ka_tally_make(NULL, 0, pool);
    ka_pieces pieces;
    int side;

    check(twice != NULL, "memory");
    ka_tally_merge(twice, tally);
    ka_tally_merge(twice, tally);
    ka_tally_profile(profile, tally, pool);
    for (side = 0; twice->sample && side < 1 + tally->bracket; side++) {
        ka_sample_pieces(&pieces, twice->sample, side, more, 5, pool);
        check(pieces.visitors.n == 0 || pieces.visitors.n == KA_SAMPLE_GROUPS,
              "pieces by visitor");
        check(pieces.blocks.n <= KA_SAMPLE_BLOCKS, "pieces by time");
    }
    ka_tally_free(twice);
    for (side = 0; side < 1 + tally->bracket; side++) {
        check(ka_tally_outcomes(outcomes, more, 5, tally, side,
                                tally->timeout_us) == APR_SUCCESS,
              "timeouts are evaluated");
    }
}

static ka_hosts *read_text(const char *path, const char *text, size_t length,
                           const char **error, apr_pool_t *pool)
{
    ka_hosts *hosts = apr_palloc(pool, sizeof(*hosts));
    FILE *file = fopen(path, "wb");
    apr_status_t rv;

    check(file && fwrite(text, 1, length, file) == length, "test file");
    fclose(file);
    ka_hosts_init(hosts, pool);
    *error = NULL;
    ka_profile_source_is(path);
    rv = ka_profilefile_read(hosts, error, path, pool);
    if (rv == APR_SUCCESS) {
        return hosts;
    }
    check(*error && **error && !strchr(*error, '\n'), "a refusal says why");
    return NULL;
}

static void try_text(const char *path, const char *text, size_t length,
                     apr_pool_t *pool)
{
    const char *error;
    ka_hosts *hosts = read_text(path, text, length, &error, pool), *again;
    size_t i, n, m;

    for (i = 0; hosts && i < hosts->n; i++) {
        char *first = line_of(&n, hosts->items[i], pool), *second;

        use(hosts->items[i], pool);
        again = read_text(path, first, n, &error, pool);
        check(again && again->n == 1, "what was written is read");
        second = line_of(&m, again->items[0], pool);
        check(n == m && !memcmp(first, second, n), "it comes back as it was");
        free(first);
        free(second);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *sound;
    static size_t sound_length;
    char path[] = "/tmp/ka-fuzz-profile-XXXXXX";
    apr_pool_t *pool;
    int fd;

    if (!sound) {
        apr_initialize();
        sound = make_sound(&sound_length);
    }
    if (size == 0 || (fd = mkstemp(path)) < 0) {
        return 0;
    }
    close(fd);
    apr_pool_create(&pool, NULL);
    if (data[0] % 4 == 0) {
        try_text(path, (const char *)data + 1, size - 1, pool);
    }
    else {
        char *text = malloc(sound_length);

        memcpy(text, sound, sound_length);
        spoil(text, sound_length - 1, data + 1, size - 1);
        try_text(path, text, sound_length, pool);
        free(text);
    }
    apr_pool_destroy(pool);
    unlink(path);
    return 0;
}
