/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "confedit_priv.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../host/config_text.h"

#define INNER_INDENT "    "

static size_t blanks(const char *at, const char *end)
{
    const char *p = at;

    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return (size_t)(p - at);
}

/* The line feed of a line, as its file writes it; at the end of a file that
 * has none, one. */
static const char *line_feed(const ka_conf_line *line)
{
    return line->end - line->start >= 2 && line->end[-2] == '\r' &&
                   line->end[-1] == '\n'
               ? "\r\n"
               : "\n";
}

/* Behind the name, if the line begins with it; else NULL. */
static const char *behind_name(const ka_conf_line *line,
                               const ka_cfg_node *node)
{
    const char *at = line->start + blanks(line->start, line->end);
    size_t n = strlen(node->name);

    if (node->section) {
        if (at == line->end || *at != '<') {
            return NULL;
        }
        at++;
    }
    if ((size_t)(line->end - at) <= n || strncasecmp(at, node->name, n) ||
        !strchr(" \t\\", at[n])) {
        return NULL;
    }
    return at + n;
}

/* The line says what the tree has: a macro's has `$name` in it.  What ${NAME}
 * stands for is not compared. */
static bool says(const char *joined, const ka_cfg_node *node,
                 apr_pool_t *pool)
{
    const apr_array_header_t *own, *wanted;
    int i;

    if (node->section || strstr(joined, "${")) {
        return true;
    }
    ka_cfg_word(&joined, pool);
    own = ka_cfg_words(joined, pool);
    wanted = ka_cfg_words(node->args, pool);
    for (i = 0; i < own->nelts && i < wanted->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(own, i, const char *),
                   APR_ARRAY_IDX(wanted, i, const char *))) {
            return false;
        }
    }
    return own->nelts == wanted->nelts;
}

bool ka_conf_line_of(ka_conf_line *out, const ka_confedit_work *work,
                     const ka_cfg_node *node)
{
    ka_cfg_lines lines;
    const char *joined;

    if (*node->file != '/') {
        return false;
    }
    out->text = work->in->read(work->in->context, node->file);
    if (!out->text) {
        return false;
    }
    ka_cfg_lines_init(&lines, out->text->bytes, out->text->length);
    do {
        out->start = lines.at;
        joined = ka_cfg_line_next(&lines, work->pool);
        if (!joined) {
            return false;
        }
    } while (lines.number < node->line);
    out->end = lines.at;
    out->first = lines.first;
    out->last = lines.number;
    return lines.number == node->line && behind_name(out, node) &&
           says(joined, node, work->pool);
}

const char *ka_conf_line_variable(const ka_conf_line *line, apr_pool_t *pool)
{
    size_t left = (size_t)(line->end - line->start);
    const char *at = memmem(line->start, left, "${", 2), *close;

    if (!at) {
        return NULL;
    }
    at += 2;
    close = memchr(at, '}', (size_t)(line->end - at));
    return close ? apr_pstrmemdup(pool, at, (size_t)(close - at)) : NULL;
}

/* Sorted as the contract says.  Lines put at the same place stay in the order
 * they came. */
static void push(const ka_confedit_work *work, const ka_edit *edit)
{
    apr_array_header_t *edits = work->out->edits;
    bool seen = false;
    ka_edit *all;
    int at;

    for (at = 0; at < edits->nelts; at++) {
        const ka_edit *other = &APR_ARRAY_IDX(edits, at, ka_edit);

        if (other->text == edit->text) {
            seen = true;
            if (other->first > edit->first ||
                (other->first == edit->first && other->last > edit->last)) {
                break;
            }
        }
        else if (seen) {
            break;
        }
    }
    apr_array_push(edits);
    all = (ka_edit *)(void *)edits->elts;
    memmove(all + at + 1, all + at,
            (size_t)(edits->nelts - 1 - at) * sizeof(*all));
    all[at] = *edit;
}

/* Two rows that change one line: the first one holds. */
static bool is_taken(const ka_confedit_work *work, const ka_conf_line *line)
{
    int i;

    for (i = 0; i < work->out->edits->nelts; i++) {
        const ka_edit *edit = &APR_ARRAY_IDX(work->out->edits, i, ka_edit);

        if (edit->text == line->text && edit->first == line->first &&
            edit->last == line->last) {
            return true;
        }
    }
    return false;
}

void ka_conf_line_set(const ka_confedit_work *work, const ka_conf_line *line,
                      const char *value)
{
    const char *name = line->start + blanks(line->start, line->end);
    const char *at = name;
    bool joined = line->first != line->last;

    if (is_taken(work, line)) {
        return;
    }
    while (at < line->end && !strchr(" \t\\", *at)) {
        at++;
    }
    if (!joined) {
        at += blanks(at, line->end);
    }
    push(work,
         &(ka_edit){.text = line->text,
                    .first = line->first,
                    .last = line->last,
                    .lines = apr_pstrcat(
                        work->pool,
                        apr_pstrmemdup(work->pool, line->start,
                                       (size_t)(at - line->start)),
                        joined ? " " : "", value, line_feed(line), NULL)});
}

/* Of what stands in a section that this line opens. */
static const char *indent_inside(const ka_conf_line *line, apr_pool_t *pool)
{
    const char *end = line->text->bytes + line->text->length;
    size_t own = blanks(line->start, line->end);
    size_t next = blanks(line->end, end);

    if (next > own && line->end + next < end && line->end[next] != '\n' &&
        line->end[next] != '\r') {
        return apr_pstrmemdup(pool, line->end, next);
    }
    return apr_pstrcat(pool, apr_pstrmemdup(pool, line->start, own),
                       INNER_INDENT, NULL);
}

void ka_conf_line_add(const ka_confedit_work *work, const ka_conf_line *line,
                      bool inner, const char *directive, const char *value)
{
    const char *indent =
        inner ? indent_inside(line, work->pool)
              : apr_pstrmemdup(work->pool, line->start,
                               blanks(line->start, line->end));

    push(work, &(ka_edit){.text = line->text,
                          .first = line->last + 1,
                          .last = line->last,
                          .lines = apr_pstrcat(work->pool, indent, directive,
                                               " ", value, line_feed(line),
                                               NULL)});
}

void ka_conf_text_append(const ka_confedit_work *work,
                         const ka_conf_text *text, const char *lines)
{
    int n = 0;
    size_t i;

    for (i = 0; i < text->length; i++) {
        n += text->bytes[i] == '\n' && n < INT_MAX - 2;
    }
    n += text->length > 0 && text->bytes[text->length - 1] != '\n';
    push(work,
         &(ka_edit){.text = text, .first = n + 1, .last = n, .lines = lines});
}
