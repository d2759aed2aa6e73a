/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor advise`: from sources to settings. */
#include "commands.h"

#include "../advice/advise.h"
#include "../render/render.h"
#include "analysis.h"
#include "output.h"

int ka_command_advise(const ka_options *options, apr_pool_t *pool)
{
    static ka_render_fn *const renderers[] = {
        [KA_OUTPUT_TEXT] = ka_render_text,
        [KA_OUTPUT_JSON] = ka_render_json,
        [KA_OUTPUT_CONF] = ka_render_conf};
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    ka_advise_options advise = {.delta = options->reuse_loss,
                                .growth = options->growth};
    ka_render_options render = {.legacy_names = options->legacy_names,
                                .verbose = options->verbose};
    const char *error = NULL;
    ka_result_file file;
    int status;

    if (options->source_n == 0) {
        return ka_no_source("advise");
    }
    if (ka_analysis_run(analysis, &error, options, pool) ||
        ka_advise(&analysis->report, ka_analysis_trace(analysis), &advise,
                  pool)) {
        fprintf(stderr, "kaadvisor: %s\n", error);
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
