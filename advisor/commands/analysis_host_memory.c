/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Memory of the httpd that runs here, as facts.   [M14] */
#include "analysis_host.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"
#include "host_segment.h"

static void set(ka_host *host, ka_fact_id id, int64_t value,
                const char *origin)
{
    if (!host->options.server.facts[id].known && value >= 0) {
        ka_server_set(&host->options.server, id, value, false, origin);
    }
}

static const char *budget_origin(const ka_memory_budget *budget,
                                 apr_pool_t *pool)
{
    const ka_memory_bound *b = &budget->bounds[budget->tightest];

    return apr_psprintf(pool, "%s: %s of %s, less %s%s of others and %s free",
                        b->origin, ka_words_size(pool, b->limit), b->name,
                        b->others_upper_bound ? "at most " : "",
                        ka_words_size(pool, b->others),
                        ka_words_size(pool, b->headroom));
}

/* [M17] Nothing is set where none is measured: that is no leak, or too few
 * requests to see one. */
static void set_leak(ka_host *host, const ka_memory_leak *leak)
{
    apr_pool_t *pool = host->pool;
    const char *error = ka_words_size(pool, (int64_t)ceil(leak->error));

    if (leak->measured) {
        set(host, KA_FACT_LEAK, (int64_t)ceil(leak->bytes_per_request),
            apr_psprintf(pool,
                         "[M17] USS over requests served, of %d children; "
                         "standard error %s",
                         (int)leak->children, error));
    }
    else if (leak->judged) {
        set(host, KA_FACT_LEAK, 0,
            apr_psprintf(pool,
                         "[M17] no growth of USS over requests served, of %d "
                         "children",
                         (int)leak->children));
    }
}

static void set_process(ka_host *host, const ka_memory *memory)
{
    bool wanted =
        !host->options.server.facts[KA_FACT_PROCESS_MEMORY].known;

    if (memory->known && memory->trust != KA_TRUST_LOW) {
        set(host, KA_FACT_PROCESS_MEMORY, memory->unique_bytes,
            memory->origin);
        set(host, KA_FACT_SHARED_MEMORY, memory->shared_bytes, memory->origin);
        return;
    }
    if (!wanted) {
        return;
    }
    ka_host_warn(host, "memory_not_measured",
                 "The memory of a process of httpd is not taken from this "
                 "host: %s. --process-memory says it meanwhile.",
                 memory->remark ? memory->remark : "it could not be read");
}

static void set_budget(ka_host *host, const ka_site *site)
{
    const ka_memory_budget *budget = &site->budget;

    if (site->cgroup.missing &&
        !host->options.server.facts[KA_FACT_MEMORY].known) {
        ka_host_warn(host, "memory_limit_not_known",
                     "Whether a control group limits httpd's memory is not "
                     "known: %s.",
                     site->cgroup.missing);
    }
    if (budget->n && budget->bytes > 0) {
        set(host, KA_FACT_MEMORY, budget->bytes,
            budget_origin(budget, host->pool));
    }
}

void ka_host_memory(ka_host *host)
{
    apr_pool_t *pool = host->pool;
    ka_site *site = apr_palloc(pool, sizeof(*site));
    apr_array_header_t *processes;
    ka_memory_requests *children;
    ka_site_requests requests;

    if (ka_processes_read(&processes, host->root, pool)) {
        ka_host_warn(host, "memory_not_measured",
                     "Memory is not measured, since /proc cannot be read. "
                     "--memory and --process-memory say it.");
        return;
    }
    requests.n =
        ka_host_requests(&children, host->httpd, host->root, processes, pool);
    requests.children = children;
    ka_site_look(site, host->httpd, host->root, processes, &requests, pool);
    host->site = site;
    set_budget(host, site);
    set_process(host, &site->memory);
    set_leak(host, &site->memory.leak);
}
