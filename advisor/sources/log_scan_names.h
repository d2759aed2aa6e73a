/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_scan_names: names of vhosts within one chunk, numbered in order of
 * appearance.  Threads number the names of their chunks on their own; whoever
 * takes the chunks in order gives each name its number in the whole log.
 *
 * Concurrency: one thread.
 */
#ifndef KA_LOG_SCAN_NAMES_H
#define KA_LOG_SCAN_NAMES_H

#include "logformat.h"

/* Names in one chunk; where there are more, the chunk is parsed in parts. */
#define KA_SCAN_NAMES_MAX 1024

typedef struct ka_scan_names ka_scan_names;

/** @return NULL if there is no memory; free with ka_scan_names_free */
ka_scan_names *ka_scan_names_make(void);

void ka_scan_names_free(ka_scan_names *self);

void ka_scan_names_clear(ka_scan_names *self);

/**
 * The number of a name, as logged.
 * @return < KA_SCAN_NAMES_MAX; or that, if there is no room for a new name
 */
size_t ka_scan_names_number(ka_scan_names *self, ka_str name);

size_t ka_scan_names_count(const ka_scan_names *self);

/** The name as ka_vhosts_trim leaves it; valid until clear. */
ka_str ka_scan_names_get(const ka_scan_names *self, size_t number);

#endif
