/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "usage.h"

#include <string.h>
#include <apr_strings.h>

#define HELP_WIDTH 79
#define HELP_INDENT 30

/* Length of the next line of at most `room` bytes, cut at a blank. */
static size_t line_of(const char *text, size_t room)
{
    size_t n = strlen(text);

    if (n <= room) {
        return n;
    }
    for (n = room; n > 0 && text[n] != ' '; n--) {
        continue;
    }
    return n > 0 ? n : room;
}

void ka_usage_option(FILE *out, int letter, const char *name,
                     const char *metavar, const char *help)
{
    char dash[8] = "", left[64];

    if (letter) {
        apr_snprintf(dash, sizeof(dash), "-%c, ", letter);
    }
    apr_snprintf(left, sizeof(left), "  %s--%s%s%s", dash, name,
                 metavar ? " " : "", metavar ? metavar : "");
    do {
        size_t n = line_of(help, HELP_WIDTH - HELP_INDENT);

        fprintf(out, "%-*s%.*s\n", HELP_INDENT, left, (int)n, help);
        left[0] = '\0';
        help += n;
        help += strspn(help, " ");
    } while (*help);
}
