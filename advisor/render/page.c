/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "page.h"

#include <errno.h>
#include <string.h>
#include <apr_strings.h>

#include "../words.h"

#define ITEM_INDENT 2
#define ITEM_LABEL 18

static const char *const style_on[KA_STYLES] = {"", "\033[1m", "\033[2m"};
static const char *const style_off[KA_STYLES] = {"", "\033[0m", "\033[0m"};

apr_status_t ka_page_begin(ka_page *page, FILE *out, int width, bool color)
{
    *page = (ka_page){.out = out, .width = width, .color = color};
    if (width <= 0) {
        page->width = KA_PAGE_WIDTH;
    }
    else if (width < KA_PAGE_WIDTH_MIN) {
        page->width = KA_PAGE_WIDTH_MIN;
    }
    return apr_pool_create(&page->pool, NULL);
}

apr_status_t ka_page_end(ka_page *page)
{
    apr_status_t rv = APR_SUCCESS;

    /* An earlier write may have failed long ago: errno then is of no use. */
    errno = 0;
    if (fflush(page->out) || ferror(page->out)) {
        rv = errno ? APR_FROM_OS_ERROR(errno) : APR_EGENERAL;
    }
    apr_pool_destroy(page->pool);
    return rv;
}

void ka_page_gap(ka_page *page)
{
    fputc('\n', page->out);
}

static void write_line(ka_page *page, ka_style style, const char *first,
                       const char *text, size_t length)
{
    if (!page->color) {
        style = KA_STYLE_PLAIN;
    }
    fprintf(page->out, "%s%s%.*s%s\n", style_on[style], first, (int)length,
            text, style_off[style]);
    page->started = true;
}

void ka_page_heading(ka_page *page, const char *text)
{
    if (page->started) {
        ka_page_gap(page);
    }
    ka_page_paragraph(page, KA_STYLE_BOLD, "", "", text);
}

void ka_page_line(ka_page *page, ka_style style, const char *text)
{
    text = ka_words_clean(page->pool, text, false);
    write_line(page, style, "", text, strlen(text));
}

/* Where to cut a word that is longer than the line: an escape \xHH of which
 * only a part would fit goes to the next line whole. */
static size_t cut_word(const char *word, size_t width)
{
    size_t back;

    for (back = 1; back <= 3 && back < width; back++) {
        if (word[width - back] == '\\' && word[width - back + 1] == 'x') {
            return width - back;
        }
    }
    return width;
}

size_t ka_wrap_line(const char **text, size_t width)
{
    const char *line = *text;
    size_t whole = strcspn(line, "\n"), length, skip;

    if (whole <= width || *line == ' ') {
        *text = line[whole] ? line + whole + 1 : NULL;
        return whole;
    }
    /* A space right behind the last column is a place to break too. */
    for (length = width; length > 0 && line[length] != ' '; length--)
        ;
    if (!length) {
        length = cut_word(line, width);
    }
    skip = strspn(line + length, " ");
    *text = line + length + skip;
    if (length + skip == whole) { /* only spaces were left over */
        *text = line[whole] ? line + whole + 1 : NULL;
    }
    while (length > 1 && line[length - 1] == ' ') {
        length--;
    }
    return length;
}

void ka_page_paragraph(ka_page *page, ka_style style, const char *first,
                       const char *rest, const char *text)
{
    int width = page->width < KA_PAGE_TEXT_MAX ? page->width : KA_PAGE_TEXT_MAX;
    size_t lead = strlen(first) > strlen(rest) ? strlen(first) : strlen(rest);
    size_t room = (size_t)width > lead + 8 ? (size_t)width - lead : 8;

    text = ka_words_clean(page->pool, text, true);
    while (text) {
        const char *line = text;
        size_t length = ka_wrap_line(&text, room);

        write_line(page, style, first, line, length);
        first = rest;
    }
}

void ka_page_item(ka_page *page, const char *label, const char *text)
{
    const char *first =
        apr_psprintf(page->pool, "%*s%-*s", ITEM_INDENT, "", ITEM_LABEL, label);
    const char *rest =
        apr_psprintf(page->pool, "%*s", ITEM_INDENT + ITEM_LABEL, "");

    ka_page_paragraph(page, KA_STYLE_PLAIN, first, rest, text);
}
