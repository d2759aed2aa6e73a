/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor show` of a segment: all that mod_kastats has counted.
 */
#ifndef KA_RENDER_SEGMENT_H
#define KA_RENDER_SEGMENT_H

#include <ka_segment_json.h>
#include "../model/outcome.h"
#include "../sources/segment.h"
#include "page.h"
#include "render.h"

#define KA_SEGMENT_COSTS 4

typedef struct ka_segment_view {
    const ka_live *live;
    bool connections;                  /* list the recent ones */
    int64_t now_us;                    /* T0 of the vhost with most requests */
    ka_outcome at[KA_SEGMENT_COSTS];   /* some timeouts, T0 among them */
    ka_outcome more[KA_SEGMENT_COSTS]; /* each a second longer [M10] */
} ka_segment_view;

/** For people. */
apr_status_t ka_render_segment_text(FILE *out, const ka_segment_view *view,
                                    const ka_render_options *options);

/** For programs: the object of mod_kastats's handler, schema "kastats/1". */
apr_status_t ka_render_segment_json(FILE *out, const ka_segment_header *header,
                                    const ka_segment_json_options *options,
                                    apr_pool_t *pool);

/* Parts of the text. */
void ka_section_totals(ka_page *page, const ka_live *live);
void ka_section_costs(ka_page *page, const ka_segment_view *view);
void ka_section_live_vhosts(ka_page *page, const ka_live *live);
void ka_section_children(ka_page *page, const ka_live *live, bool verbose);
void ka_section_history(ka_page *page, const ka_live *live);
void ka_section_recent(ka_page *page, const ka_live *live);

#endif
