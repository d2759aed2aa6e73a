/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How a configuration that is written to a file comes into force on the server
 * that it is for, and how the present one comes back: commands of that server,
 * with its own arguments.
 *
 *     1  Include   nothing to do if the configuration reads the file already,
 *                  by its name, a link or a pattern; Debian's conf-available;
 *                  else a line at the end of the main file
 *     2  check     httpd -t
 *     3  reload, or stop and start if ServerLimit or ThreadLimit change
 */
#ifndef KA_COMMAND_APPLY_H
#define KA_COMMAND_APPLY_H

#include "../advice/report.h"
#include "../host/httpd.h"
#include "keep.h"

/* Where a file stands in a configuration. */
typedef struct ka_apply_place {
    bool included;
    int behind;     /* the last node of the tree that comes before it, or is
                       its own; what follows wins over it */
    const char *by; /* file:line of the Include that reads it; NULL */
} ka_apply_place;

/**
 * Finds a file in a configuration.
 * @param own   our own reading, which has the Include lines
 * @param root  of its files
 * @param file  absolute, as the server sees it; need not exist
 */
ka_apply_place ka_apply_find(ka_cfg_tree *own, const char *root,
                             const char *file, apr_pool_t *pool);

/**
 * Directives behind a place that say otherwise than advice for the whole
 * server does.
 * @return "KeepAliveTimeout 5 (file:line), ..."; NULL if there are none
 */
const char *ka_apply_winners(const ka_cfg_tree *own, int behind,
                             const ka_report *report, ka_mpm mpm,
                             apr_pool_t *pool);

/**
 * Sets report->apply and report->go_back.
 * @param keep  of the file, whose path is absolute and no link
 */
void ka_apply_plan(ka_report *report, const ka_httpd *httpd,
                   const ka_keep *keep, apr_pool_t *pool);

/** Words of a command line as a shell takes them.  @param argv  of const
 * char * */
const char *ka_apply_quote(const apr_array_header_t *argv, apr_pool_t *pool);

#endif
