/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_USAGE_H
#define KA_USAGE_H

#include <stdio.h>

/**
 * Prints an option and its help, wrapped beside it.
 * @param letter   0: it has none
 * @param metavar  NULL: a flag
 */
void ka_usage_option(FILE *out, int letter, const char *name,
                     const char *metavar, const char *help);

#endif
