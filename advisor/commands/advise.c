/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor advise`: from sources to settings. */
#include "commands.h"

#include "../advice/advise.h"
#include "analysis_host.h"
#include "conf.h"
#include "diff.h"
#include "group.h"
#include "output.h"
#include "say.h"

static apr_status_t analyse(ka_analysis *analysis, const char **error,
                            const ka_options *options, const ka_site *site,
                            apr_pool_t *pool)
{
    ka_advise_options advise = {.delta = options->reuse_loss,
                                .growth = options->growth};
    apr_status_t rv = ka_analysis_run(analysis, error, options, pool);

    if (!rv && analysis->member_n == 0) {
        analysis->report.site = site;
    }
    return rv ? rv : ka_group_advise(analysis, &advise, pool);
}

int ka_command_advise(const ka_options *options, apr_pool_t *pool)
{
    static ka_render_fn *const renderers[] = {
        [KA_OUTPUT_TEXT] = ka_render_text,
        [KA_OUTPUT_JSON] = ka_render_json};
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    ka_host *host = apr_pcalloc(pool, sizeof(*host));
    const char *error = NULL;
    int status = options->diff ? ka_diff_usage(options, pool) : KA_EXIT_DONE;

    if (status != KA_EXIT_DONE) {
        return status;
    }
    if (options->source_n == 0 || options->httpd_config) {
        status = ka_host_complete(host, "", options, pool);
        if (status != KA_EXIT_DONE) {
            return status;
        }
        options = &host->options;
    }
    if (analyse(analysis, &error, options, host->site, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (host->httpd) {
        ka_host_report(&analysis->report, host);
    }
    if (options->diff) {
        status = ka_diff_write(host, &analysis->report);
    }
    else if (options->output == KA_OUTPUT_CONF) {
        status = ka_conf_write(host, options, &analysis->report, pool);
    }
    else {
        status = ka_result_write(options, renderers[options->output],
                                 &analysis->report, pool);
    }
    if (status == KA_EXIT_DONE && options->check &&
        analysis->report.verdict.change_advised) {
        return KA_EXIT_CHANGE;
    }
    return status;
}
