/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Runs the model of httpd's spawning, for a test that holds it against httpd:
 *     spawn_run MPM THREADS START MIN MAX WORKERS <HOLDERS
 * prints the children, and the connections that wait, of each second. */
#include <stdio.h>
#include <stdlib.h>
#include <apr_general.h>

#include "model/spawn.h"

#define ARGUMENTS 7
#define SECONDS_MAX 4000

int main(int argc, char **argv)
{
    static uint32_t holders[SECONDS_MAX];
    static ka_spawn_second seconds[SECONDS_MAX];
    ka_spawn_settings settings = {0};
    ka_spawn_demand demand = {.holders = holders};
    ka_spawn_result result;
    apr_pool_t *pool;

    if (argc != ARGUMENTS || apr_initialize() ||
        apr_pool_create(&pool, NULL)) {
        return 2;
    }
    settings.mpm = (ka_mpm)ka_mpm_parse(argv[1]);
    settings.threads_per_child = (uint32_t)atoi(argv[2]);
    settings.start_servers = (uint32_t)atoi(argv[3]);
    settings.min_spare = (uint32_t)atoi(argv[4]);
    settings.max_spare = (uint32_t)atoi(argv[5]);
    settings.max_request_workers = (uint32_t)atoi(argv[6]);
    settings.server_limit = settings.max_request_workers;
    while (demand.n < SECONDS_MAX &&
           scanf("%u", &holders[demand.n]) == 1) {
        demand.n++;
    }
    if (ka_spawn_run(&result, seconds, &demand, &settings, pool)) {
        return 1;
    }
    for (size_t t = 0; t < demand.n; t++) {
        printf("%u %u\n", seconds[t].children, seconds[t].waiting);
    }
    return 0;
}
