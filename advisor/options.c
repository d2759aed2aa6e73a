/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "options.h"

#include <getopt.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "crew.h"
#include "model/outcome.h"
#include "timearg.h"
#include "usage.h"

#define ADVISE KA_COMMAND_ADVISE
#define FORMULA KA_COMMAND_FORMULA
#define SHOW KA_COMMAND_SHOW
#define PROFILE KA_COMMAND_PROFILE
#define DOCTOR KA_COMMAND_DOCTOR
#define SIMULATE KA_COMMAND_SIMULATE
#define LOGS (ADVISE | SHOW | PROFILE | SIMULATE)
#define REPORTS (ADVISE | SHOW)
#define FACTS (ADVISE | PROFILE)
#define MEMORY (FACTS | SIMULATE)

#define LINGER_MOST_US (INT64_C(30) * 1000000) /* as in httpd */
#define LEAST_WINDOW_US (INT64_C(1) * 1000000)

/* A setter returns NULL, or what the value must look like. */
typedef const char *option_set(ka_options *options, const char *value,
                               int detail);

typedef struct option_row {
    const char *name;
    int letter;            /* 0: none */
    const char *metavar;   /* NULL: a flag */
    unsigned commands;
    option_set *set;
    int detail;            /* handed to the setter */
    const char *help;
} option_row;

static const char *set_output(ka_options *options, const char *value, int detail)
{
    static const char *const names[] = {"text", "json", "conf"};
    size_t i;

    (void)detail;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(value, names[i])) {
            options->output = (ka_output)i;
            return NULL;
        }
    }
    return "text, json or conf";
}

static const char *set_string(ka_options *options, const char *value,
                              int detail)
{
    const char **const places[] = {&options->output_file, &options->log_format,
                                   &options->vhost,       &options->host,
                                   &options->match,       &options->token_file,
                                   &options->ca_file,
                                   &options->httpd_config,
                                   &options->config,    &options->against};

    if (!*value) {
        return "something, not an empty string";
    }
    *places[detail] = value;
    return NULL;
}

static const char *set_flag(ka_options *options, const char *value, int detail)
{
    bool *const places[] = {&options->check,   &options->quiet,
                            &options->verbose, &options->legacy_names,
                            &options->help,    &options->version,
                            &options->connections, &options->insecure,
                            &options->diff};

    (void)value;
    *places[detail] = true;
    return NULL;
}

static const char *set_mpm(ka_options *options, const char *value, int detail)
{
    int mpm = ka_mpm_parse(value);

    (void)detail;
    if (mpm < 0) {
        return "prefork, worker or event (`httpd -V` names it as Server MPM)";
    }
    ka_server_set(&options->server, KA_FACT_ID_MPM, mpm, false,
                  "option --mpm");
    return NULL;
}

/* The present timeout; "off" and 0 mean KeepAlive Off. */
static const char *set_timeout(ka_options *options, const char *value,
                               int detail)
{
    int64_t us = 0;
    bool off = !strcasecmp(value, "off");

    (void)detail;
    if (!off && ka_parse_duration(&us, value)) {
        return "the present KeepAliveTimeout, such as 5, 400ms or off";
    }
    ka_server_set(&options->server, KA_FACT_TIMEOUT, us, false,
                  "option --timeout");
    ka_server_set(&options->server, KA_FACT_KEEP_ALIVE, us > 0, false,
                  "option --timeout");
    return NULL;
}

static const char *set_size_fact(ka_options *options, const char *value,
                                 int detail)
{
    int64_t bytes;

    if (ka_parse_size(&bytes, value) ||
        (bytes == 0 && detail != KA_FACT_SHARED_MEMORY)) {
        return "a size such as 512K, 64M or 2G";
    }
    ka_server_set(&options->server, (ka_fact_id)detail, bytes, false,
                  apr_pstrcat(options->pool, "option ",
                              ka_fact_info_of((ka_fact_id)detail)->option,
                              NULL));
    return NULL;
}

static const char *set_count_fact(ka_options *options, const char *value,
                                  int detail)
{
    double number;

    if (ka_parse_number(&number, value) || number > 1e6 ||
        number != (double)(int64_t)number ||
        (number < 1 && detail != KA_FACT_MAX_KEEPALIVE_REQUESTS)) {
        return detail == KA_FACT_MAX_KEEPALIVE_REQUESTS
                   ? "a whole number up to 1000000, 0 for no limit"
                   : "a whole number from 1 to 1000000";
    }
    ka_server_set(&options->server, (ka_fact_id)detail, (int64_t)number, false,
                  apr_pstrcat(options->pool, "option ",
                              ka_fact_info_of((ka_fact_id)detail)->option,
                              NULL));
    return NULL;
}

static const char *set_proxy_idle(ka_options *options, const char *value,
                                  int detail)
{
    int64_t us;

    (void)detail;
    if (ka_parse_duration(&us, value) || us == 0) {
        return "the proxy's idle timeout towards httpd, such as 60 or 350";
    }
    ka_server_set(&options->server, KA_FACT_PROXY_IDLE, us, false,
                  "option --proxy-idle");
    return NULL;
}

static const char *set_number(ka_options *options, const char *value,
                              int detail)
{
    static const struct {
        double least, most, scale;
        const char *wanted;
    } ranges[] = {{0, 1e12, 1, "requests per second, such as 50"},
                  {0, 1e12, 1, "requests per connection, such as 2.5"},
                  {0, 50, 0.01, "a percentage from 0 to 50, such as 1"},
                  {0.1, 1000, 1, "a factor from 0.1 to 1000, such as 1.5"}};
    double *const places[] = {&options->rps, &options->keepalive_requests,
                              &options->reuse_loss, &options->growth};
    double number;

    if (ka_parse_number(&number, value) || number < ranges[detail].least ||
        number > ranges[detail].most) {
        return ranges[detail].wanted;
    }
    *places[detail] = number * ranges[detail].scale;
    return NULL;
}

static const char *set_timeouts(ka_options *options, const char *value,
                                int detail)
{
    static const char wanted[] =
        "up to 64 timeouts with commas between, such as off,0.5,2,15,1min";
    char *rest = apr_pstrdup(options->pool, value), *state, *word;

    (void)detail;
    options->timeout_n = 0;
    for (word = apr_strtok(rest, ",", &state); word;
         word = apr_strtok(NULL, ",", &state)) {
        int64_t us = KA_TIMEOUT_OFF;

        if (options->timeout_n == KA_TIMEOUTS_MAX ||
            (strcasecmp(word, "off") && ka_parse_duration(&us, word))) {
            return wanted;
        }
        options->timeouts[options->timeout_n++] = us;
    }
    return options->timeout_n ? NULL : wanted;
}

static const char *set_time(ka_options *options, const char *value, int detail)
{
    int64_t *const places[] = {&options->since_us, &options->until_us};

    if (ka_parse_time(places[detail], value)) {
        return "a time such as 2026-11-30, 2026-11-30T12:00, "
               "2026-11-30T12:00:00+01:00 or @1764504000 (UTC without a zone)";
    }
    return NULL;
}

static const char *set_span(ka_options *options, const char *value, int detail)
{
    static const struct {
        int64_t least, most;
        const char *wanted;
    } ranges[] = {
        {LEAST_WINDOW_US, INT64_MAX, "how far back to look, such as 1h or 7d"},
        {0, LINGER_MOST_US, "a time from 0 to 30, such as 2 or 500ms"},
        {0, INT64_MAX, "when after the begin of the traffic, such as 10min"}};
    int64_t *const places[] = {&options->window_us, &options->linger_us,
                               &options->restart_us};
    int64_t us;

    if (ka_parse_duration(&us, value) || us < ranges[detail].least ||
        us > ranges[detail].most) {
        return ranges[detail].wanted;
    }
    *places[detail] = us;
    return NULL;
}

static const char *set_whole(ka_options *options, const char *value, int detail)
{
    static const struct {
        double least, most;
    } ranges[] = {{1, KA_CREW_MAX}, {0, 1e9}};
    double number;

    if (ka_parse_number(&number, value) || number < ranges[detail].least ||
        number > ranges[detail].most || number != (double)(int64_t)number) {
        return apr_psprintf(options->pool, "a whole number from %.0f to %.0f",
                            ranges[detail].least, ranges[detail].most);
    }
    if (detail == 0) {
        options->threads = (int)number;
    }
    else {
        options->seed = (uint64_t)number;
    }
    return NULL;
}

static const option_row option_rows[] = {
    {"output", 0, "FORMAT", ADVISE | FORMULA | SHOW | DOCTOR | SIMULATE,
     set_output, 0,
     "text (default), json, or conf: a tuned httpd-mpm.conf (advise only)"},
    {"output-file", 'o', "FILE", KA_COMMAND_ALL, set_string, 0,
     "write the result to FILE, whole or not at all; `-` is standard output"},
    {"log-format", 0, "FORMAT", LOGS, set_string, 1,
     "the log's LogFormat: a preset (common, combined, combinedio, "
     "vhost_common, vhost_combined, ssl_request, kastats), the format itself, "
     "or the LogFormat or CustomLog line as it stands in the configuration; "
     "default: detected from the first lines"},
    {"vhost", 0, "NAME", LOGS, set_string, 2,
     "only requests of this virtual host (needs %v in the log)"},
    {"since", 0, "TIME", LOGS, set_time, 0,
     "only requests that start at TIME or later"},
    {"until", 0, "TIME", LOGS, set_time, 1,
     "only requests that start before TIME"},
    {"mpm", 0, "NAME", LOGS, set_mpm, 0,
     "prefork, worker or event; default: advice for all three"},
    {"config", 0, "FILE", SIMULATE, set_string, 8,
     "simulate httpd's main configuration file, or a block of directives; "
     "default: the configuration of the httpd that runs here"},
    {"against", 0, "FILE", SIMULATE, set_string, 9,
     "another configuration, under the same traffic"},
    {"seed", 0, "N", SIMULATE, set_whole, 1, "of the draws (default 1)"},
    {"linger", 0, "S", SIMULATE, set_span, 1,
     "how long prefork and worker wait for a client's close after their own "
     "(default 0, of a segment as measured; 2: clients do not answer)"},
    {"restart-at", 0, "S", SIMULATE, set_span, 2,
     "a graceful restart so long after the begin of the traffic"},
    {"httpd-config", 0, "FILE", ADVISE | SIMULATE, set_string, 7,
     "facts from the httpd that runs with this main configuration file, or, if "
     "none does, from the file; without SOURCE its traffic too"},
    {"timeout", 0, "S", LOGS | FORMULA, set_timeout, 0,
     "the present KeepAliveTimeout; off or 0: KeepAlive Off; "
     "default: estimated from the log where it can be, else httpd's 5 s"},
    {"memory", 0, "SIZE", MEMORY, set_size_fact, KA_FACT_MEMORY,
     "memory that httpd may take in all"},
    {"process-memory", 0, "SIZE", MEMORY | FORMULA, set_size_fact,
     KA_FACT_PROCESS_MEMORY,
     "memory of one warm httpd process (its unique part, USS)"},
    {"shared-memory", 0, "SIZE", MEMORY, set_size_fact, KA_FACT_SHARED_MEMORY,
     "memory that all processes share, counted once (default 0)"},
    {"proxy-idle", 0, "S", FACTS, set_proxy_idle, 0,
     "idle timeout of the reverse proxy or load balancer in front"},
    {"max-request-workers", 0, "N", FACTS, set_count_fact,
     KA_FACT_MAX_REQUEST_WORKERS, "the present MaxRequestWorkers"},
    {"max-keepalive-requests", 0, "N", FACTS, set_count_fact,
     KA_FACT_MAX_KEEPALIVE_REQUESTS, "the present MaxKeepAliveRequests"},
    {"threads-per-child", 0, "N", FACTS, set_count_fact,
     KA_FACT_THREADS_PER_CHILD, "the present ThreadsPerChild"},
    {"reuse-loss", 0, "PERCENT", ADVISE, set_number, 2,
     "requests that may need a new connection because the timeout is "
     "shorter than the longest useful one (default 1)"},
    {"growth", 0, "FACTOR", ADVISE, set_number, 3,
     "plan for this many times the observed traffic (default 1)"},
    {"timeouts", 0, "LIST", LOGS, set_timeouts, 0,
     "evaluate these timeouts too, such as off,0.5,2,15"},
    {"threads", 0, "N", LOGS, set_whole, 0,
     "threads that read logs; the result is the same with any number; "
     "default: one for each processor"},
    {"host", 0, "NAME", PROFILE, set_string, 3,
     "the server that the logs are from; default: this machine's host name"},
    {"match", 0, "LABELS", REPORTS, set_string, 4,
     "of Prometheus: only what these label matchers select, such as "
     "job=\"apache\""},
    {"window", 0, "S", REPORTS, set_span, 0,
     "of Prometheus: how far back to look, such as 1h or 7d (default 7d)"},
    {"token-file", 0, "FILE", REPORTS, set_string, 5,
     "of Prometheus: a file that holds the bearer token"},
    {"ca-file", 0, "FILE", REPORTS, set_string, 6,
     "of Prometheus: certificates of the authorities to trust, in PEM"},
    {"insecure", 0, NULL, REPORTS, set_flag, 7,
     "of Prometheus: accept any certificate"},
    {"rps", 0, "R", FORMULA, set_number, 0, "requests per second"},
    {"keepalive-requests", 0, "K", FORMULA, set_number, 1,
     "mean requests per connection"},
    {"legacy-names", 0, NULL, ADVISE, set_flag, 3,
     "with --output conf: names of httpd 2.2 (MaxClients ...)"},
    {"connections", 0, NULL, SHOW, set_flag, 6,
     "of a segment: the recent connections, one by one"},
    {"diff", 0, NULL, ADVISE, set_flag, 8,
     "advice as a unified diff of the configuration's own files, which stay as "
     "they are: with --httpd-config FILE, or without SOURCE"},
    {"check", 0, NULL, ADVISE, set_flag, 0,
     "exit with status 3 if a change is advised"},
    {"quiet", 'q', NULL, KA_COMMAND_ALL, set_flag, 1,
     "no progress, no notes on standard error"},
    {"verbose", 'v', NULL, KA_COMMAND_ALL, set_flag, 2,
     "every timeout and every virtual host"},
    {"help", 'h', NULL, KA_COMMAND_ALL, set_flag, 4, "this text"},
    {"version", 'V', NULL, KA_COMMAND_ALL, set_flag, 5, "print the version"}};

#define OPTION_N (sizeof(option_rows) / sizeof(option_rows[0]))
/* getopt_long's codes of options without a letter. */
#define OPTION_CODE 256

void ka_options_init(ka_options *options)
{
    memset(options, 0, sizeof(*options));
    ka_server_init(&options->server);
    options->rps = -1;
    options->keepalive_requests = -1;
    options->reuse_loss = 0.01;
    options->growth = 1;
    options->seed = 1;
    options->linger_us = options->restart_us = -1;
}

static const option_row *row_of_code(int code)
{
    size_t i;

    for (i = 0; i < OPTION_N; i++) {
        if (code == OPTION_CODE + (int)i || code == option_rows[i].letter) {
            return &option_rows[i];
        }
    }
    return NULL;
}

/* One option: is it this command's, and does its value stand? */
static const char *take_option(ka_options *options, const ka_command *command,
                               const option_row *row, const char *value)
{
    const char *wanted;

    if (!(row->commands & command->bit)) {
        return apr_psprintf(options->pool,
                            "`kaadvisor %s` has no option --%s; see "
                            "`kaadvisor %s --help`",
                            command->name, row->name, command->name);
    }
    wanted = row->set(options, value, row->detail);
    if (wanted) {
        return apr_psprintf(options->pool, "--%s %s: expected %s", row->name,
                            *value ? value : "\"\"", wanted);
    }
    return NULL;
}

/* What getopt_long refused.  A long option is still in argv; of a cluster of
 * letters only optopt tells which it was. */
static const char *refused(const ka_options *options, int code,
                           const ka_command *command, char *const *argv)
{
    const char *argument = argv[optind - 1];

    if (optopt > 0 && optopt < OPTION_CODE) {
        argument = apr_psprintf(options->pool, "-%c", optopt);
    }
    else if (optopt >= OPTION_CODE) {
        argument = apr_psprintf(options->pool, "--%s",
                                option_rows[optopt - OPTION_CODE].name);
    }
    if (code == ':') {
        return apr_psprintf(options->pool,
                            "option %s needs a value; see `kaadvisor %s "
                            "--help`",
                            argument, command->name);
    }
    return apr_psprintf(options->pool,
                        "unknown option %s; `kaadvisor %s --help` lists those "
                        "that there are",
                        argument, command->name);
}

/* The table in getopt's terms; letters[] begins with `:`, which tells a value
 * that is missing from an option that is unknown. */
static void getopt_tables(struct option *table, char *letters)
{
    size_t i;

    memset(table, 0, (OPTION_N + 1) * sizeof(*table));
    *letters++ = ':';
    for (i = 0; i < OPTION_N; i++) {
        table[i].name = option_rows[i].name;
        table[i].has_arg = option_rows[i].metavar ? required_argument
                                                  : no_argument;
        table[i].val = option_rows[i].letter ? option_rows[i].letter
                                             : OPTION_CODE + (int)i;
        if (option_rows[i].letter) {
            *letters++ = (char)option_rows[i].letter;
            if (option_rows[i].metavar) {
                *letters++ = ':';
            }
        }
    }
    *letters = '\0';
}

apr_status_t ka_options_parse(ka_options *options, const char **error,
                              const ka_command *command, int argc,
                              const char *const *argv, apr_pool_t *pool)
{
    struct option table[OPTION_N + 1];
    char letters[2 * OPTION_N + 2];
    /* getopt_long moves the sources behind the options */
    char **own = apr_pmemdup(pool, argv, ((size_t)argc + 1) * sizeof(*own));
    int code;

    options->pool = pool;
    getopt_tables(table, letters);
    own[argc] = NULL;
    opterr = 0;
    optind = 0;
    while ((code = getopt_long(argc, own, letters, table, NULL)) != -1) {
        const option_row *row = row_of_code(code);

        *error = row ? take_option(options, command, row,
                                   optarg && row->metavar ? optarg : "")
                     : refused(options, code, command, own);
        if (*error) {
            return APR_EINVAL;
        }
    }
    options->sources = (const char **)own + optind;
    options->source_n = (size_t)(argc - optind);
    return APR_SUCCESS;
}

void ka_options_usage(FILE *out, const ka_command *command)
{
    size_t i;

    for (i = 0; i < OPTION_N; i++) {
        if (option_rows[i].commands & command->bit) {
            const option_row *row = &option_rows[i];

            ka_usage_option(out, row->letter, row->name, row->metavar,
                            row->help);
        }
    }
}
