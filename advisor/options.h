/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Command line: one table of options, each with the commands that take it.
 * Parser, usage and error texts walk the same table.
 */
#ifndef KA_OPTIONS_H
#define KA_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include "host/facts.h"

/* Exit status of the program. */
#define KA_EXIT_DONE 0
#define KA_EXIT_FAILED 1
#define KA_EXIT_USAGE 2
#define KA_EXIT_CHANGE 3 /* with --check: a change is advised */

typedef enum ka_output {
    KA_OUTPUT_TEXT,
    KA_OUTPUT_JSON,
    KA_OUTPUT_CONF
} ka_output;

#define KA_TIMEOUTS_MAX 64

typedef struct ka_options {
    ka_output output;
    const char *output_file; /* NULL or "-": standard output */
    const char *log_format;  /* NULL: detect */
    const char *vhost;       /* NULL: all */
    ka_server server;        /* facts given as options */
    double rps;                /* formula; -1: not given */
    double keepalive_requests; /* formula; -1: not given */
    double reuse_loss;       /* delta of [M18], a ratio */
    double growth;
    int64_t timeouts[KA_TIMEOUTS_MAX]; /* added to the sweep; us or
                                          KA_TIMEOUT_OFF */
    size_t timeout_n;
    int64_t since_us, until_us; /* 0: no limit */
    int threads;             /* 0: as many as there are processors */
    const char *host;        /* of a log that becomes a profile; NULL: this
                                machine's name */
    const char *match;       /* Prometheus: label matchers; NULL: all */
    int64_t window_us;       /* Prometheus: how far back; 0: the default */
    const char *httpd_config; /* main configuration file; NULL: the server's
                                 that runs here */
    const char *token_file, *ca_file; /* Prometheus; NULL: none */
    const char *config, *against; /* simulate: files; NULL: not given */
    uint64_t seed;           /* of the simulation's draws */
    int64_t linger_us;       /* -1: not given */
    int64_t restart_us;      /* simulate: after the begin; -1: none */
    bool keep_requests;      /* a trace is wanted, of a log too that could be
                                counted as it is read; set by commands */
    bool insecure;           /* Prometheus: any certificate will do */
    bool check, quiet, verbose, legacy_names, help, version, connections;
    bool diff;               /* advise: edits of the configuration's files */
    apr_pool_t *pool;      /* of what the setters keep */
    const char **sources;
    size_t source_n;
} ka_options;

typedef struct ka_command {
    const char *name;
    unsigned bit;         /* of the option table's command masks */
    int (*run)(const ka_options *options, apr_pool_t *pool);
    bool takes_sources;
    const char *synopsis; /* what follows the name */
    const char *summary;  /* one line */
    const char *detail;   /* a paragraph, pre-wrapped */
} ka_command;

#define KA_COMMAND_ADVISE (1u << 0)
#define KA_COMMAND_FORMULA (1u << 1)
#define KA_COMMAND_SHOW (1u << 2)
#define KA_COMMAND_PROFILE (1u << 3)
#define KA_COMMAND_DOCTOR (1u << 4)
#define KA_COMMAND_SIMULATE (1u << 5)
#define KA_COMMAND_ALL (~0u)

/** Defaults; everything that can be unknown is unknown. */
void ka_options_init(ka_options *options);

/**
 * Parses what follows the command.
 * @param error  on failure a sentence with option, value and remedy, owned by
 *               pool
 * @param argv   argv[argc], argv[0] is skipped; options and sources may come
 *               in any order, `--` ends the options
 * @return APR_SUCCESS; APR_EINVAL
 * Not thread-safe: getopt_long(3) keeps its place in globals.
 */
apr_status_t ka_options_parse(ka_options *options, const char **error,
                              const ka_command *command, int argc,
                              const char *const *argv, apr_pool_t *pool);

/** Prints the options that a command takes, one or more lines each. */
void ka_options_usage(FILE *out, const ka_command *command);

#endif
