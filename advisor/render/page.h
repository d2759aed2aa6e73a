/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_page: writing for people on a stream of so many columns: headings,
 * wrapped paragraphs, labelled items.  Text is cleaned (words.h) on its way
 * out, so that nothing that came from a log moves a terminal's cursor or
 * ends a comment.
 *
 * Wrapping: at spaces; a word longer than the line is cut, but never inside
 * one \xHH.  A line feed in a text ends a line.  A line that begins with a
 * space is printed as it is, so that a configuration line can be pasted.
 *
 * Concurrency: one thread per page.
 */
#ifndef KA_PAGE_H
#define KA_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <apr_errno.h>
#include <apr_pools.h>

#define KA_PAGE_WIDTH 80
#define KA_PAGE_WIDTH_MIN 40
/* Lines of text beyond it are hard to read; tables may use more. */
#define KA_PAGE_TEXT_MAX 100

typedef struct ka_page {
    FILE *out;
    apr_pool_t *pool; /* the page's own: for all text made while printing */
    int width;        /* columns */
    bool color;
    bool started; /* something was printed: a heading leaves a line */
} ka_page;

typedef enum ka_style {
    KA_STYLE_PLAIN,
    KA_STYLE_BOLD,
    KA_STYLE_DIM,
    KA_STYLES
} ka_style;

/**
 * Begins a page.
 * @param width  columns; <= 0: KA_PAGE_WIDTH; at least KA_PAGE_WIDTH_MIN
 * @return APR_SUCCESS or APR's status if there is no memory
 */
apr_status_t ka_page_begin(ka_page *page, FILE *out, int width, bool color);

/** Flushes and frees the page's pool; the stream stays open.
 * @return APR_SUCCESS; the system's status if anything could not be written */
apr_status_t ka_page_end(ka_page *page);

/** An empty line unless the page is, then the heading, bold in colour. */
void ka_page_heading(ka_page *page, const char *text);

/** An empty line. */
void ka_page_gap(ka_page *page);

/** One line as it is: what a caller has aligned itself. */
void ka_page_line(ka_page *page, ka_style style, const char *text);

/**
 * A wrapped paragraph.
 * @param first  what its first line begins with (indent, number, mark)
 * @param rest   what further lines begin with
 */
void ka_page_paragraph(ka_page *page, ka_style style, const char *first,
                       const char *rest, const char *text);

/** `  Label             text`, the text wrapped in its column. */
void ka_page_item(ka_page *page, const char *label, const char *text);

/**
 * Takes the next line off a cleaned text.
 * @param text   in: what is left, NUL-terminated; out: what is left then, NULL
 *               at the end
 * @param width  columns, > 0; a line printed as it is may be longer
 * @return bytes of the line, which begins at the old *text; spaces that the
 *         break takes the place of are in neither
 * Pure; an empty text is one empty line.
 */
size_t ka_wrap_line(const char **text, size_t width);

#endif
