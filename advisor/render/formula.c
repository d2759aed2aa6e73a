/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor formula`: the document's formula alone. */
#include "render.h"

#include <apr_strings.h>
#include <jansson.h>

#include "jsonparts.h"
#include "sections.h"

static void computation(ka_page *page, const ka_formula *f)
{
    apr_pool_t *pool = page->pool;
    const char *processes = ka_words_number(pool, f->processes);
    bool off = f->timeout_s == 0;

    ka_page_item(page, "[M1] processes",
                 off ? "requests per second (KeepAlive Off: the timeout drops "
                       "out)"
                     : "KeepAliveTimeout x requests per second / mean "
                       "keep-alive requests");
    ka_page_item(page, "",
                 apr_pstrcat(pool, "= ", ka_formula_in_words(pool, f, NULL),
                             " processes", NULL));
    if (f->memory_bytes >= 0) {
        ka_page_item(page, "     memory",
                     apr_psprintf(pool, "%s processes x %s = %s", processes,
                                  ka_words_size(pool, f->process_bytes),
                                  ka_words_size(pool, f->memory_bytes)));
    }
}

apr_status_t ka_render_formula_text(FILE *out, const ka_formula *f,
                                    const char *rule, const char *why)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, KA_PAGE_WIDTH, false);
    const char *memory;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    memory =
        f->memory_bytes < 0
            ? "memory not known: --process-memory gives that of one "
              "process"
            : apr_pstrcat(page.pool, ka_words_size(page.pool, f->memory_bytes),
                          " of memory", NULL);
    ka_page_paragraph(&page, KA_STYLE_PLAIN, "", "",
                      apr_psprintf(page.pool, "%s processes, %s",
                                   ka_words_number(page.pool, f->processes),
                                   memory));
    ka_page_gap(&page);
    computation(&page, f);
    if (rule) {
        ka_page_item(&page, "[M2] rule", rule);
    }
    if (why) {
        ka_page_heading(&page, "Why this is only an estimate");
        ka_page_paragraph(&page, KA_STYLE_PLAIN, "  ", "  ", why);
    }
    return ka_page_end(&page);
}

apr_status_t ka_render_formula_json(FILE *out, const ka_formula *f,
                                    const char *rule, const char *why)
{
    apr_pool_t *pool;
    apr_status_t rv = apr_pool_create(&pool, NULL);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = ka_doc_write(out, json_pack("{s:s, s:o}", "schema", KA_DOC_SCHEMA,
                                     "formula",
                                     ka_doc_formula(f, NULL, rule, why, pool)));
    apr_pool_destroy(pool);
    return rv;
}
