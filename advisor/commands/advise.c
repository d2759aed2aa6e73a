/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor advise`: from sources to settings. */
#include "commands.h"

#include "../advice/advise.h"
#include "../render/render.h"
#include "analysis.h"
#include "output.h"
#include "say.h"

static apr_status_t analyse(ka_analysis *analysis, const char **error,
                            const ka_options *options, apr_pool_t *pool)
{
    ka_advise_options advise = {.delta = options->reuse_loss,
                                .growth = options->growth};
    apr_status_t rv = ka_analysis_run(analysis, error, options, pool);
    ka_extra extra;

    if (rv) {
        return rv;
    }
    extra = ka_analysis_extra(analysis);
    return ka_advise(&analysis->report, &extra, &advise, pool);
}

int ka_command_advise(const ka_options *options, apr_pool_t *pool)
{
    static ka_render_fn *const renderers[] = {
        [KA_OUTPUT_TEXT] = ka_render_text,
        [KA_OUTPUT_JSON] = ka_render_json,
        [KA_OUTPUT_CONF] = ka_render_conf};
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    ka_render_options render = {.legacy_names = options->legacy_names,
                                .verbose = options->verbose};
    const char *error = NULL;
    ka_result_file file;
    int status;

    if (options->source_n == 0) {
        return ka_no_source("advise");
    }
    if (analyse(analysis, &error, options, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    render.color = ka_result_color(&file);
    render.width = ka_result_width(&file);
    status = ka_result_close(&file,
                             renderers[options->output](file.stream,
                                                        &analysis->report,
                                                        &render));
    if (status == KA_EXIT_DONE && options->check &&
        analysis->report.verdict.change_advised) {
        return KA_EXIT_CHANGE;
    }
    return status;
}
