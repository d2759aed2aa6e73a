/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "show_segment.h"

#include <apr_strings.h>
#include <apr_time.h>

#include "../profile/live.h"
#include "../render/segment.h"
#include "analysis.h"
#include "output.h"
#include "say.h"

#define SECOND_US INT64_C(1000000)

/* ---- what a timeout costs [M10] ---------------------------------------- */

/* Fractions and a multiple of T0, ascending, each with a second more. */
static apr_status_t fill_costs(ka_segment_view *view, const ka_live *live,
                               apr_pool_t *pool)
{
    int64_t now = live->vhost_n ? live->vhosts[0].timeout_us : KA_TIMEOUT_OFF;
    const int64_t some[] = {now / 4, now / 2, now,
                            now > SECOND_US ? now * 2 : now + SECOND_US};
    const int64_t base = 5 * SECOND_US;
    const int64_t off[] = {KA_TIMEOUT_OFF, SECOND_US, base, 3 * base};
    const int64_t *timeouts = now > 0 ? some : off;
    int64_t more[KA_SEGMENT_COSTS];
    ka_hist_traffic traffic;
    apr_status_t rv;
    size_t i;

    for (i = 0; i < KA_SEGMENT_COSTS; i++) {
        more[i] = (timeouts[i] > 0 ? timeouts[i] : 0) + SECOND_US;
    }
    ka_live_traffic(&traffic, live, pool);
    view->now_us = now;
    rv = ka_histsweep(view->at, timeouts, KA_SEGMENT_COSTS, &traffic);
    return rv ? rv : ka_histsweep(view->more, more, KA_SEGMENT_COSTS, &traffic);
}

/* ---- output ------------------------------------------------------------ */

static apr_status_t write_text(ka_result_file *file, const ka_live *live,
                               const ka_options *options, apr_pool_t *pool)
{
    ka_render_options render = {.verbose = options->verbose,
                                .color = ka_result_color(file),
                                .width = ka_result_width(file)};
    ka_segment_view view = {.live = live, .connections = options->connections};
    apr_status_t rv = fill_costs(&view, live, pool);

    return rv ? rv : ka_render_segment_text(file->stream, &view, &render);
}

/* The handler's object takes all vhosts: so does this one. */
static apr_status_t write_json(ka_result_file *file, const ka_live *live,
                               const ka_options *options, apr_pool_t *pool)
{
    ka_segment_json_options json = {
        .now_at = live->read_at,
        .recent_n = options->connections ? live->snapshot.recent_n : 0};

    return ka_render_segment_json(file->stream, live->header, &json, pool);
}

int ka_show_segment(const char *path, const ka_options *options,
                    apr_pool_t *pool)
{
    ka_live *live = apr_palloc(pool, sizeof(*live));
    const char *error = ka_segment_unfit(path, options, pool);
    ka_result_file file;

    if (error || ka_segment_source_read(live, &error, path, options->vhost,
                                        apr_time_now(), pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    return ka_result_close(&file, options->output == KA_OUTPUT_JSON
                                      ? write_json(&file, live, options, pool)
                                      : write_text(&file, live, options, pool));
}
