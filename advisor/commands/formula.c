/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor formula`: [M1] and [M2] on numbers given as options. */
#include "commands.h"
#include "output.h"
#include "say.h"
#include "../model/formula.h"
#include "../render/render.h"

static int missing(apr_pool_t *pool, const char *option)
{
    ka_say(pool,
           "formula needs %s; for example: kaadvisor formula --timeout 10 "
           "--rps 50 --keepalive-requests 1 --process-memory 4M",
           option);
    return KA_EXIT_USAGE;
}

int ka_command_formula(const ka_options *options, apr_pool_t *pool)
{
    const ka_fact *timeout = &options->server.facts[KA_FACT_TIMEOUT];
    ka_formula formula = {
        .timeout_s = (double)timeout->value / 1e6,
        .requests_per_s = options->rps,
        .keepalive_requests = options->keepalive_requests,
        .process_bytes = ka_server_get(&options->server,
                                       KA_FACT_PROCESS_MEMORY, -1)};
    ka_result_file file;
    char buffer[512];
    const char *rule, *why;
    apr_status_t rv;

    if (!timeout->known) {
        return missing(pool, "--timeout S");
    }
    if (options->rps < 0) {
        return missing(pool, "--rps R");
    }
    if (formula.timeout_s > 0 && options->keepalive_requests <= 0) {
        return missing(pool, "--keepalive-requests K, above 0, with a timeout");
    }
    if (options->output == KA_OUTPUT_CONF) {
        ka_say(pool, "--output conf: formula has no configuration to write; "
                     "expected text or json");
        return KA_EXIT_USAGE;
    }
    if (formula.keepalive_requests < 0) {
        formula.keepalive_requests = 1;
    }
    rv = ka_formula_compute(&formula);
    if (rv) {
        ka_say(pool, "formula: the numbers are out of range");
        return KA_EXIT_USAGE;
    }
    rule = ka_formula_rule(buffer, sizeof(buffer), &formula);
    why = ka_formula_why_it_differs(formula.timeout_s == 0);
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    rv = options->output == KA_OUTPUT_JSON
             ? ka_render_formula_json(file.stream, &formula, rule, why)
             : ka_render_formula_text(file.stream, &formula, rule, why);
    return ka_result_close(&file, rv);
}
