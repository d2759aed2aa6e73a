/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor show`: what a source holds, without advice. */
#include "commands.h"

#include "group.h"
#include "output.h"
#include "say.h"
#include "show_segment.h"

static int show_logs(const ka_options *options, apr_pool_t *pool)
{
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    const char *error = NULL;

    if (ka_analysis_run(analysis, &error, options, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    ka_group_link(analysis, pool);
    return ka_result_write(options,
                           options->output == KA_OUTPUT_JSON
                               ? ka_render_show_json
                               : ka_render_show_text,
                           &analysis->report, pool);
}

int ka_command_show(const ka_options *options, apr_pool_t *pool)
{
    const char *segment, *error = NULL;

    if (options->source_n == 0) {
        return ka_no_source("show");
    }
    if (options->output == KA_OUTPUT_CONF) {
        ka_say(pool, "--output conf: show has no configuration to write; "
                     "expected text or json");
        return KA_EXIT_USAGE;
    }
    if (ka_analysis_find_segment(&segment, &error, options)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (segment) {
        return ka_show_segment(segment, options, pool);
    }
    if (options->connections) {
        ka_say(pool,
               "--connections: %s is no segment of mod_kastats; a log has no "
               "record of single connections",
               options->sources[0]);
        return KA_EXIT_FAILED;
    }
    return show_logs(options, pool);
}
