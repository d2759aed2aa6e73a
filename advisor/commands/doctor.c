/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor doctor`: this host's httpds, memory and limits. */
#include "commands.h"

#include <unistd.h>
#include <apr_strings.h>
#include <apr_time.h>

#include "../host/site.h"
#include "doctor.h"
#include "host_segment.h"
#include "output.h"
#include "say.h"

static const ka_limits_query nothing_known = {.listen_backlog = -1,
                                              .connections_per_child = -1,
                                              .max_request_workers = -1};

/* Its configuration, as far as it can be found. */
static const ka_httpd *inspect(ka_doctor_httpd *out, const char *root,
                               apr_pool_t *pool)
{
    ka_httpd_options how = {.root = root};
    ka_httpd *httpd = NULL;

    out->mpm = KA_MPM_UNKNOWN;
    ka_httpd_inspect(&httpd, out->instance, &how, pool);
    out->missing = httpd->missing;
    if (httpd->server) {
        out->mpm = (ka_mpm)httpd->server->mpm;
        out->mpm_origin = httpd->server->mpm_origin;
        out->settings = httpd->server->settings;
    }
    return httpd;
}

static void look_at(ka_doctor_httpd *out, const char *root,
                    const ka_httpd_instance *instance,
                    const apr_array_header_t *processes, apr_pool_t *pool)
{
    ka_memory_requests *children;
    ka_site_requests requests;
    const ka_httpd *httpd;

    out->instance = instance;
    out->label = ka_httpd_label(instance, pool);
    httpd = inspect(out, root, pool);
    requests.n = ka_host_requests(&children, httpd, root, processes, pool);
    requests.children = children;
    ka_site_look(&out->site, httpd, root, processes, &requests, pool);
    out->fits = ka_memory_children(&out->site.memory,
                                   out->site.budget.bytes);
}

/* The host's own rows, which are the same with and without an httpd. */
static void look_at_host(ka_doctor *out, const char *root,
                         const apr_array_header_t *processes, apr_pool_t *pool)
{
    apr_array_header_t *others = apr_array_make(pool, 64, sizeof(ka_process));
    static const ka_memory no_httpd;
    static const ka_cgroup no_group;
    ka_limits limits;
    int i;
    size_t k;

    ka_limits_read(&limits, root, &nothing_known, &no_httpd, processes,
                   &no_group, pool);
    ka_limits_judge(&out->limits, &limits, pool);
    for (i = 0; i < processes->nelts; i++) {
        const ka_process *p = &APR_ARRAY_IDX(processes, i, const ka_process);
        bool httpd = false;

        for (k = 0; k < out->httpd_n; k++) {
            httpd = httpd || ka_memory_has(&out->httpds[k].site.memory, p->pid);
        }
        if (!httpd) {
            APR_ARRAY_PUSH(others, ka_process) = *p;
        }
    }
    ka_memory_others_read(&out->services, root, others, &no_httpd, 2, pool);
}

void ka_doctor_read(ka_doctor *out, const char *root, apr_pool_t *pool)
{
    apr_array_header_t *processes, *httpds;
    char name[256];
    int i;

    *out = (ka_doctor){.generated_us = apr_time_now()};
    if (!*root && gethostname(name, sizeof(name)) == 0) {
        name[sizeof(name) - 1] = '\0';
        out->host = apr_pstrdup(pool, name);
    }
    ka_machine_read(&out->machine, root, pool);
    if (ka_processes_read(&processes, root, pool)) {
        out->failed = "/proc cannot be read: this needs Linux with /proc "
                      "mounted";
        processes = apr_array_make(pool, 1, sizeof(ka_process));
    }
    if (ka_httpd_find(&httpds, root, pool)) {
        httpds = apr_array_make(pool, 1, sizeof(ka_httpd_instance));
    }
    out->httpd_n = (size_t)httpds->nelts;
    out->httpds = apr_pcalloc(pool, (out->httpd_n + 1) * sizeof(*out->httpds));
    for (i = 0; i < httpds->nelts; i++) {
        look_at(&out->httpds[i], root,
                &APR_ARRAY_IDX(httpds, i, const ka_httpd_instance), processes,
                pool);
    }
    look_at_host(out, root, processes, pool);
}

int ka_command_doctor(const ka_options *options, apr_pool_t *pool)
{
    ka_render_options how = {.verbose = options->verbose};
    ka_doctor *doctor = apr_palloc(pool, sizeof(*doctor));
    ka_result_file file;

    if (options->output == KA_OUTPUT_CONF) {
        ka_say(pool, "--output conf: doctor has no configuration to write; "
                     "expected text or json");
        return KA_EXIT_USAGE;
    }
    ka_doctor_read(doctor, "", pool);
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    how.color = ka_result_color(&file);
    how.width = ka_result_width(&file);
    return ka_result_close(
        &file, options->output == KA_OUTPUT_JSON
                   ? ka_render_doctor_json(file.stream, doctor)
                   : ka_render_doctor_text(file.stream, doctor, &how));
}
