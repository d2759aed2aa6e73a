/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Sections of the text report.  Each prints its heading and its lines, or
 * nothing where the report holds nothing for it.
 */
#ifndef KA_SECTIONS_H
#define KA_SECTIONS_H

#include "../advice/report.h"
#include "page.h"
#include "../words.h"

/* A group's servers, each with its own traffic and advice. */
void ka_section_servers(ka_page *page, const ka_report *report, bool verbose);

/* What the traffic looks like: rates, connections, gaps, classes, vhosts. */
void ka_section_traffic(ka_page *page, const ka_report *report, bool verbose);

/* Where the numbers come from: files, lines, format, clock, server facts. */
void ka_section_source(ka_page *page, const ka_report *report, bool verbose);

/* The proposed directives, one table for each MPM answered. */
void ka_section_advice(ka_page *page, const ka_report *report, bool verbose);

/* What event would need, beside an MPM whose idle connections hold workers. */
void ka_section_mpm(ka_page *page, const ka_report *report);

/* The rules R1 to R18, and what became of each. */
void ka_section_rules(ka_page *page, const ka_report *report);

/* Static and dynamic requests by themselves. */
void ka_section_kinds(ka_page *page, const ka_report *report);

/* What mod_kapolicy would do, beside one KeepAliveTimeout. */
void ka_section_policy(ka_page *page, const ka_report *report);

/* Who would wait, under the present and the proposed settings. */
void ka_section_simulated(ka_page *page, const ka_report *report);

/* Every timeout beside every other. */
void ka_section_what_if(ka_page *page, const ka_report *report, bool verbose);

/* [M1] and [M2] beside the full model. */
void ka_section_classic(ka_page *page, const ka_report *report);

/**
 * [M1] with its inputs substituted: `15s x 2.23 requests/s / 4.52 = 7.40`;
 * owned by pool.
 * @param high  the other side of a bracket; NULL without one
 */
const char *ka_formula_in_words(apr_pool_t *pool, const ka_formula *f,
                                const ka_formula *high);

#endif
