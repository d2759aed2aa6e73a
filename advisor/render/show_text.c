/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor show` for people: what the source holds, without advice. */
#include "render.h"

#include "bars.h"
#include "sections.h"

apr_status_t ka_render_show_text(FILE *out, const ka_report *report,
                                 const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, options->width, options->color);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    ka_section_servers(&page, report, options->verbose);
    ka_section_traffic(&page, report, options->verbose);
    ka_bars(&page, "Idle gaps between requests of one connection",
            &report->profile->total.gap);
    ka_bars(&page, "Service times", &report->profile->total.service);
    ka_section_source(&page, report, options->verbose);
    return ka_page_end(&page);
}
