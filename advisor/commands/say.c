/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <apr_strings.h>

#include "../words.h"

void ka_say(apr_pool_t *pool, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = apr_pvsprintf(pool, format, args);
    va_end(args);
    fprintf(stderr, "kaadvisor: %s\n", ka_words_clean(pool, text, true));
}
