/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor profile`: from logs and profiles to one profile. */
#include "commands.h"

#include <string.h>
#include <unistd.h>
#include <apr_strings.h>

#include "analysis_profile.h"
#include "output.h"
#include "say.h"

/* What a profile cannot be made of, and what to do instead. */
static const char *unfit_source(const char *source, apr_pool_t *pool)
{
    if (!strncmp(source, "http://", 7) || !strncmp(source, "https://", 8)) {
        return apr_psprintf(pool,
                            "%s: a profile is made of logs; Prometheus has its "
                            "servers' counts already: `kaadvisor advise %s`",
                            source, source);
    }
    if (ka_segment_source_is(source)) {
        return apr_psprintf(pool,
                            "%s: a profile is made of logs, and this is a "
                            "segment of mod_kastats: `kaadvisor advise` reads "
                            "it, and Prometheus collects those of many servers",
                            source);
    }
    return NULL;
}

/* A name stands in reports and on terminals. */
static const char *host_name(const char **error, const ka_options *options,
                             apr_pool_t *pool)
{
    char name[KA_PROFILE_NAME_MAX + 1] = "";
    const char *host = options->host, *c;

    if (!host) {
        gethostname(name, sizeof(name) - 1);
        host = apr_pstrdup(pool, name);
    }
    for (c = host; *c > ' ' && *c <= '~'; c++) {
        continue;
    }
    if (*c || c == host || c - host > KA_PROFILE_NAME_MAX) {
        *error = apr_psprintf(pool,
                              "%s \"%s\": expected the server's name, up to "
                              "255 printable characters without blanks; name "
                              "it with --host",
                              options->host ? "--host" : "this machine's name",
                              host);
        return NULL;
    }
    return host;
}

static apr_status_t add_logs(ka_hosts *hosts, const char **error,
                             const ka_options *options, const char **logs,
                             size_t n, apr_pool_t *pool)
{
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    const char *host = host_name(error, options, pool);
    ka_options own = *options;
    ka_tally *tally;
    apr_status_t rv;

    if (!host) {
        return APR_EINVAL;
    }
    own.sources = logs;
    own.source_n = n;
    rv = ka_analysis_run(analysis, error, &own, pool);
    if (rv) {
        return rv;
    }
    *error = "not enough memory for this log; take a shorter span with "
             "--since and --until";
    tally = ka_analysis_tally(analysis, host, hosts->pool);
    return tally ? ka_hosts_add(hosts, tally) : APR_ENOMEM;
}

static apr_status_t collect(ka_hosts *hosts, const char **error,
                            const ka_options *options, apr_pool_t *pool)
{
    size_t n = options->source_n, i, log_n = 0, profile_n = 0;
    const char **logs = apr_palloc(pool, n * sizeof(*logs));
    const char **profiles = apr_palloc(pool, n * sizeof(*profiles));
    apr_status_t rv;

    for (i = 0; i < n; i++) {
        *error = unfit_source(options->sources[i], pool);
        if (*error) {
            return APR_EINVAL;
        }
        if (ka_profile_source_is(options->sources[i])) {
            profiles[profile_n++] = options->sources[i];
        }
        else {
            logs[log_n++] = options->sources[i];
        }
    }
    *error = log_n ? NULL : ka_profile_unfit(profiles[0], options, pool);
    if (*error) {
        return APR_EINVAL;
    }
    rv = ka_profiles_read(hosts, error, profiles, profile_n, pool);
    return rv || !log_n ? rv
                        : add_logs(hosts, error, options, logs, log_n, pool);
}

static apr_status_t write_hosts(FILE *out, const ka_hosts *hosts,
                                apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    for (i = 0; !rv && i < hosts->n; i++) {
        rv = ka_profilefile_write(out, hosts->items[i], pool);
    }
    return rv;
}

int ka_command_profile(const ka_options *options, apr_pool_t *pool)
{
    ka_hosts *hosts = apr_palloc(pool, sizeof(*hosts));
    const char *error = NULL;
    ka_result_file file;

    if (options->source_n == 0) {
        return ka_no_source("profile");
    }
    ka_hosts_init(hosts, pool);
    if (collect(hosts, &error, options, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    return ka_result_close(&file, write_hosts(file.stream, hosts, pool));
}
