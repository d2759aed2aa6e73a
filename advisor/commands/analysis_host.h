/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_host: what this host tells where options and sources do not: its httpd,
 * the configuration, memory, and where its traffic is recorded.
 *
 *     httpd          the one that runs, or the one whose main configuration
 *                    file is --httpd-config; if none runs with that, the file
 *     facts          of the configuration; [M14] memory; options win
 *     sources        the live segment of mod_kastats if it has seen enough,
 *                    else the logs of the configuration
 */
#ifndef KA_COMMAND_ANALYSIS_HOST_H
#define KA_COMMAND_ANALYSIS_HOST_H

#include "../advice/report.h"
#include "../host/site.h"
#include "../options.h"

/* A segment is preferred to logs from then on. */
#define KA_HOST_ENOUGH_US (INT64_C(3600) * 1000000)
#define KA_HOST_ENOUGH_CONNECTIONS 1000

typedef struct ka_host {
    const char *root;             /* of its files, as in procfs.h */
    ka_options options;           /* those given, completed */
    const ka_httpd *httpd;
    const ka_site *site;          /* of it; NULL until inspected */
    apr_array_header_t *found;    /* of const char *: what was found */
    apr_array_header_t *warnings; /* of ka_warning */
    apr_pool_t *pool;
} ka_host;

/**
 * Looks at the host, and says on stderr what was found unless --quiet.
 * Sources that the options name stay.
 * @param host  owned by pool
 * @param root  "" or a directory that holds a copy of a host
 * @return KA_EXIT_DONE; KA_EXIT_USAGE if there is no httpd, or several to
 *         choose from; KA_EXIT_FAILED: each having said why on stderr
 */
int ka_host_complete(ka_host *host, const char *root,
                     const ka_options *options, apr_pool_t *pool);

/** Adds what was found, and warnings, to a report that is complete. */
void ka_host_report(ka_report *report, const ka_host *host);

/* Parts of ka_host_complete, each in a file of its own. */

/** A sentence of what was found. */
void ka_host_found(ka_host *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** @param id  of the warning, static */
void ka_host_warn(ka_host *host, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Looks at the processes of a server that runs: host->site, budget, and
 * memory of processes unless they are cold. */
void ka_host_memory(ka_host *host);

/**
 * Chooses logs: sets sources, log format and T0 of the options.
 * @return false if there is none that can be read; warnings say why
 */
bool ka_host_logs(ka_host *host);

#endif
