/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "udiff.h"

#include <errno.h>
#include <string.h>

#define RED "\033[31m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* A line of both files in turn, the line feed not included. */
typedef struct op {
    char sign; /* ' ', '-', '+' */
    bool ends; /* a line feed follows */
    const char *at;
    size_t length;
} op;

typedef struct diff {
    FILE *out;
    bool color;
    apr_array_header_t *ops;
} diff;

/* ---- lines ------------------------------------------------------------------
 */

/* Takes a line off the front of bytes. */
static op next_line(const char **at, const char *end, char sign)
{
    const char *lf = memchr(*at, '\n', (size_t)(end - *at));
    op line = {.sign = sign,
               .ends = lf != NULL,
               .at = *at,
               .length = (size_t)((lf ? lf : end) - *at)};

    *at = lf ? lf + 1 : end;
    return line;
}

static void push_all(diff *d, const char *lines)
{
    const char *end = lines + strlen(lines);

    while (lines < end) {
        APR_ARRAY_PUSH(d->ops, op) = next_line(&lines, end, '+');
    }
}

/* What is put behind a last line without line feed gives it one: it is
 * another line then. */
static void end_last_line(diff *d)
{
    op *last = d->ops->nelts
                   ? &APR_ARRAY_IDX(d->ops, d->ops->nelts - 1, op)
                   : NULL;

    if (last && last->sign == ' ' && !last->ends) {
        op again = {'+', true, last->at, last->length};

        last->sign = '-';
        APR_ARRAY_PUSH(d->ops, op) = again;
    }
}

/* Lines of the old file come before those that stand in for them. */
static void list_ops(diff *d, const ka_edit *edits, size_t n)
{
    const ka_conf_text *text = edits[0].text;
    const char *at = text->bytes, *end = text->bytes + text->length;
    int line = 1;
    size_t i;

    for (i = 0; i < n; i++) {
        while (at < end && line < edits[i].first) {
            APR_ARRAY_PUSH(d->ops, op) = next_line(&at, end, ' ');
            line++;
        }
        end_last_line(d);
        while (at < end && line <= edits[i].last) {
            APR_ARRAY_PUSH(d->ops, op) = next_line(&at, end, '-');
            line++;
        }
        push_all(d, edits[i].lines);
    }
    while (at < end) {
        APR_ARRAY_PUSH(d->ops, op) = next_line(&at, end, ' ');
    }
}

/* ---- hunks ------------------------------------------------------------------
 */

static const op *op_at(const diff *d, int i)
{
    return &APR_ARRAY_IDX(d->ops, i, op);
}

static int next_change(const diff *d, int i)
{
    while (i < d->ops->nelts && op_at(d, i)->sign == ' ') {
        i++;
    }
    return i;
}

/* Behind the last line of the hunk that has the change at i. */
static int hunk_end(const diff *d, int i)
{
    for (;;) {
        int next;

        while (i < d->ops->nelts && op_at(d, i)->sign != ' ') {
            i++;
        }
        next = next_change(d, i);
        if (next == d->ops->nelts || next - i > 2 * KA_UDIFF_CONTEXT) {
            break;
        }
        i = next;
    }
    return i + KA_UDIFF_CONTEXT < d->ops->nelts ? i + KA_UDIFF_CONTEXT
                                                : d->ops->nelts;
}

static void print_range(diff *d, char sign, int start, int n)
{
    /* Of no lines, the one before is named. */
    start = n ? start : start - 1;
    if (n == 1) {
        fprintf(d->out, "%c%d", sign, start);
    }
    else {
        fprintf(d->out, "%c%d,%d", sign, start, n);
    }
}

static const char *color_of(const diff *d, char sign)
{
    if (!d->color || sign == ' ') {
        return "";
    }
    return sign == '-' ? RED : GREEN;
}

static void print_line(diff *d, const op *line)
{
    const char *color = color_of(d, line->sign);

    fprintf(d->out, "%s%c", color, line->sign);
    fwrite(line->at, 1, line->length, d->out);
    fprintf(d->out, "%s\n", *color ? PLAIN : "");
    if (!line->ends) {
        fputs("\\ No newline at end of file\n", d->out);
    }
}

/* @param lines  of the old and the new file before `from`; moved on */
static void print_hunk(diff *d, int from, int to, int lines[2])
{
    int n[2] = {0, 0}, i;

    for (i = from; i < to; i++) {
        n[0] += op_at(d, i)->sign != '+';
        n[1] += op_at(d, i)->sign != '-';
    }
    fputs(d->color ? CYAN "@@ " : "@@ ", d->out);
    print_range(d, '-', lines[0] + 1, n[0]);
    fputc(' ', d->out);
    print_range(d, '+', lines[1] + 1, n[1]);
    fputs(d->color ? " @@" PLAIN "\n" : " @@\n", d->out);
    for (i = from; i < to; i++) {
        print_line(d, op_at(d, i));
    }
    lines[0] += n[0];
    lines[1] += n[1];
}

/* ---- the file ---------------------------------------------------------------
 */

/* A header ends at a tab, and patch(1) undoes quotes in front of a name. */
static bool fits_header(const char *name)
{
    const char *p;

    for (p = name; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127) {
            return false;
        }
    }
    return *name && *name != '"';
}

apr_status_t ka_udiff_print(FILE *out, const ka_edit *edits, size_t n,
                            bool color, apr_pool_t *pool)
{
    diff d = {.out = out,
              .color = color,
              .ops = apr_array_make(pool, 256, sizeof(op))};
    const char *name = edits[0].text->name;
    const char *bold = color ? BOLD : "", *plain = color ? PLAIN : "";
    int lines[2] = {0, 0}, at = 0, change;

    if (!fits_header(name)) {
        return APR_EINVAL;
    }
    list_ops(&d, edits, n);
    fprintf(out, "%s--- %s\tnow%s\n%s+++ %s\tproposed%s\n", bold, name, plain,
            bold, name, plain);
    while ((change = next_change(&d, at)) < d.ops->nelts) {
        int from = change - KA_UDIFF_CONTEXT > at ? change - KA_UDIFF_CONTEXT
                                                  : at;

        lines[0] += from - at;
        lines[1] += from - at;
        at = hunk_end(&d, change);
        print_hunk(&d, from, at, lines);
    }
    return ferror(out) ? (errno ? errno : APR_EGENERAL) : APR_SUCCESS;
}
