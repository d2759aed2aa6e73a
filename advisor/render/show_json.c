/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor show` for programs, schema "kaadvisor/show/1". */
#include "render.h"

#include "jsonparts.h"

/* Bins that hold something, ascending.  le_s is the largest value of a bin;
 * null for the last, into which everything larger is clamped. */
static json_t *histogram(const ka_hist *h)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        const ka_hist_bin *bin = &h->bins[i];

        if (bin->count) {
            json_t *le =
                i + 1 < KA_HIST_BINS
                    ? ka_doc_seconds((int64_t)ka_hist_bin_low(i + 1) - 1)
                    : json_null();

            json_array_append_new(
                array, json_pack("{s:o, s:o, s:o}", "le_s", le, "count",
                                 ka_doc_whole((int64_t)bin->count), "sum_s",
                                 ka_doc_number((double)bin->sum / 1e6)));
        }
    }
    return array;
}

static bool add_source(json_t *object, const ka_report *report,
                       apr_pool_t *pool)
{
    json_t *body = json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "host", ka_doc_text(report->host, pool),
        "source", ka_doc_source(report, pool), "traffic",
        ka_doc_traffic(report, pool), "gap_histogram",
        histogram(&report->profile->total.gap), "service_histogram",
        histogram(&report->profile->total.service));
    bool added = body && json_object_update(object, body) == 0;

    json_decref(body);
    return added;
}

apr_status_t ka_render_show_json(FILE *out, const ka_report *report,
                                 const ka_render_options *options)
{
    apr_pool_t *pool;
    apr_status_t rv = apr_pool_create(&pool, NULL);
    json_t *root;

    (void)options;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    root = json_pack("{s:s, s:o}", "schema", KA_DOC_SHOW_SCHEMA, "generated_at",
                     ka_doc_time(report->generated_us, pool));
    if (!add_source(root, report, pool) ||
        json_object_set_new(root, "hosts",
                            ka_doc_hosts(report, add_source, pool))) {
        json_decref(root);
        root = NULL;
    }
    rv = ka_doc_write(out, root);
    apr_pool_destroy(pool);
    return rv;
}
