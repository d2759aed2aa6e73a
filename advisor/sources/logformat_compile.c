/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From a format string to steps.  The grammar is httpd's parse_log_item: a
 * literal runs to the next %, and an item's prefixes come in any order. */
#include "logformat_priv.h"

#include <ctype.h>
#include <string.h>
#include <apr_strings.h>
#include <apr_tables.h>

typedef struct builder {
    const ka_lf_source *source;
    size_t at;                 /* next byte of the source */
    const char **error;
    apr_pool_t *pool;
    ka_logformat *format;
    apr_array_header_t *steps; /* of ka_lf_step */
    char *literal;             /* the literal that is being gathered */
    size_t literal_n;
} builder;

/* An item as it is written. */
typedef struct item_text {
    size_t start;  /* offset of its % */
    size_t braces; /* offset of the first byte of its argument */
    const char *argument;
    const char *letter; /* in the source */
    size_t letter_n;
    bool conditional;
    bool final; /* > */
} item_text;

#define FAIL(b, offset, ...)                                                   \
    fail(b, offset, apr_psprintf((b)->pool, __VA_ARGS__))

static apr_status_t fail(builder *b, size_t offset, const char *sentence)
{
    *b->error = apr_psprintf(b->pool, "column %u: %s",
                             b->source->column[offset], sentence);
    return APR_EINVAL;
}

static ka_lf_step *last_step(const builder *b)
{
    return b->steps->nelts > 0
               ? &APR_ARRAY_IDX(b->steps, b->steps->nelts - 1, ka_lf_step)
               : NULL;
}

/* ---- literals --------------------------------------------------------- */

/* Some bytes stand out in text more than others: looked for first, they make
 * few false finds. */
static size_t rarest(const char *literal, size_t n)
{
    size_t best = 0;
    int best_score = -1;

    for (size_t i = 0; i < n; i++) {
        int score = strchr("\"\t|[]{}<>^`", literal[i]) ? 2
                    : isalnum((unsigned char)literal[i]) || literal[i] == ' '
                        ? 0
                        : 1;

        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* What a user is told to look for: blanks around it do not show. */
static const char *literal_name(const char *literal, size_t n, apr_pool_t *pool)
{
    const char *end = literal + n;

    while (literal < end && *literal == ' ') {
        literal++;
    }
    while (end > literal && end[-1] == ' ') {
        end--;
    }
    if (literal == end) {
        return n == 1 ? "a blank" : "blanks";
    }
    return end - literal == 1 && *literal == '\t'
               ? "a tab"
               : ka_lf_printable(literal, (size_t)(end - literal), pool);
}

/* Gives the literal that was gathered to the last step, or to the line's
 * start. */
static void close_literal(builder *b)
{
    ka_lf_step *step = last_step(b);
    const char *text = apr_pstrmemdup(b->pool, b->literal, b->literal_n);
    const char *name = literal_name(text, b->literal_n, b->pool);

    if (!step) {
        b->format->lead = text;
        b->format->lead_n = b->literal_n;
        b->format->lead_expected =
            apr_pstrcat(b->pool, name, " at the start of the line", NULL);
    }
    else {
        step->literal = text;
        step->literal_n = step->skip = b->literal_n;
        step->pivot = rarest(text, b->literal_n);
        step->literal_expected = apr_pstrcat(b->pool, name, " after ",
                                             step->label, NULL);
    }
    b->literal_n = 0;
}

/* httpd's escapes in literals; any other backslash stands for itself. */
static char unescape(builder *b)
{
    static const char from[] = "\\rnt", to[] = "\\\r\n\t";
    const char *text = b->source->text + b->at;
    const char *found = text[0] == '\\' && text[1] ? strchr(from, text[1])
                                                   : NULL;

    b->at += found ? 2 : 1;
    return found ? to[found - from] : text[0];
}

static apr_status_t read_literal(builder *b)
{
    size_t at = b->at;
    char c = unescape(b);

    if (c == '\n' || c == '\r') {
        /* What the format ends with is the line's own end. */
        if (b->at >= b->source->length) {
            return APR_SUCCESS;
        }
        if (c == '\n') {
            return FAIL(b, at, "a format with a newline makes several lines "
                               "of each request, which cannot be read line "
                               "by line; log one line per request");
        }
    }
    b->literal[b->literal_n++] = c;
    return APR_SUCCESS;
}

/* ---- items ------------------------------------------------------------ */

/* {argument}: to the first }, and httpd skips further ones behind it. */
static apr_status_t read_argument(builder *b, item_text *item)
{
    const char *text = b->source->text;
    const char *end = strchr(text + b->at, '}');

    if (!end) {
        return FAIL(b, b->at, "the brace that opens here is not closed; "
                              "add } before the item's letter");
    }
    item->braces = b->at + 1;
    item->argument = apr_pstrmemdup(b->pool, text + b->at + 1,
                                    (size_t)(end - text) - b->at - 1);
    b->at = (size_t)(end - text) + strspn(end, "}");
    return APR_SUCCESS;
}

/* The prefixes, in any order, and the letter. */
static apr_status_t read_item(builder *b, item_text *item)
{
    const char *text = b->source->text;

    *item = (item_text){ .start = b->at++, .argument = "" };
    while (text[b->at]) {
        char c = text[b->at];

        if (c == '{') {
            if (read_argument(b, item) != APR_SUCCESS) {
                return APR_EINVAL;
            }
            continue;
        }
        if (!strchr("!<>,0123456789", c)) {
            break;
        }
        item->conditional = item->conditional || isdigit((unsigned char)c);
        item->final = c == '>' || (item->final && c != '<');
        b->at++;
    }
    if (!text[b->at]) {
        return FAIL(b, item->start, "the item that begins here has no letter; "
                                    "complete it, or write %%%% for a percent "
                                    "sign");
    }
    item->letter = text + b->at;
    item->letter_n = text[b->at] == '^' && text[b->at + 1] && text[b->at + 2]
                         ? 3 : 1;
    b->at += item->letter_n;
    return APR_SUCCESS;
}

static const char *item_label(const builder *b, const item_text *item)
{
    return ka_lf_printable(b->source->text + item->start, b->at - item->start,
                           b->pool);
}

/* ---- neighbours ------------------------------------------------------- */

#define LETTERS (KA_LC_HEX | KA_LC_LETTER)
#define SIGNS (KA_LC_PLUS | KA_LC_DASH)

static unsigned strftime_first(const ka_time_format *format)
{
    char literal = '\0';

    switch (ka_time_format_first(format, &literal)) {
    case KA_TIME_EDGE_DIGITS:
        return KA_LC_DIGIT;
    case KA_TIME_EDGE_BLANK:
        return KA_LC_DIGIT | KA_LC_BLANK;
    case KA_TIME_EDGE_SIGN:
        return SIGNS;
    case KA_TIME_EDGE_NAME:
        return LETTERS | SIGNS;
    case KA_TIME_EDGE_LITERAL:
        return ka_lf_classes[(unsigned char)literal];
    default:
        return KA_LC_ANY;
    }
}

unsigned ka_lf_first_classes(const ka_lf_step *step)
{
    switch (step->kind) {
    case KA_LK_NUMBER:
    case KA_LK_STATUS:
    case KA_LK_FRACTION:
        return KA_LC_DIGIT;
    case KA_LK_HEX:
        return KA_LC_DIGIT | KA_LC_HEX;
    case KA_LK_SIGN:
        return SIGNS | KA_LC_LETTER;
    case KA_LK_CLF:
        return KA_LC_BRACKET;
    case KA_LK_STRFTIME:
        return strftime_first(step->format);
    default:
        return KA_LC_ANY;
    }
}

/* Classes that would be taken for more of the step: none may follow it. */
static unsigned last_classes(const ka_lf_step *step)
{
    switch (step->kind) {
    case KA_LK_NUMBER:
    case KA_LK_STATUS:
        return KA_LC_DIGIT;
    case KA_LK_HEX:
        return KA_LC_DIGIT | KA_LC_HEX;
    case KA_LK_SIGN:
    case KA_LK_CLF:
    case KA_LK_FRACTION:
        return 0;
    case KA_LK_STRFTIME:
        switch (ka_time_format_last(step->format)) {
        case KA_TIME_EDGE_DIGITS:
            return KA_LC_DIGIT;
        case KA_TIME_EDGE_NAME:
            return LETTERS | SIGNS | KA_LC_DIGIT;
        default:
            return 0;
        }
    default:
        return KA_LC_ANY;
    }
}

static bool is_text(const ka_lf_step *step)
{
    return step->kind == KA_LK_TEXT || step->kind == KA_LK_WORD
           || step->kind == KA_LK_QUERY;
}

/* Two items with nothing between: may they stand like that? */
static apr_status_t check_neighbours(builder *b, ka_lf_step *left,
                                     ka_lf_step *right, size_t offset)
{
    if (is_text(left) && right->kind == KA_LK_CLF && !right->conditional) {
        /* The text ends before the time's bracket. */
        left->literal = "[";
        left->literal_n = 1;
        left->literal_expected =
            apr_pstrcat(b->pool, "[ after ", left->label, NULL);
        return APR_SUCCESS;
    }
    if (last_classes(left) & ka_lf_first_classes(right)) {
        return FAIL(b, offset, "%s and %s touch with nothing to tell them "
                               "apart; put a blank or quotes between them",
                    left->label, right->label);
    }
    return APR_SUCCESS;
}

/* ---- steps ------------------------------------------------------------ */

static apr_status_t unknown_item(builder *b, const item_text *item)
{
    return FAIL(b, item->start,
                "%s is no item of httpd's LogFormat; remove it, or write %%%% "
                "for a percent sign", item_label(b, item));
}

static apr_status_t set_strftime(builder *b, ka_lf_step *step,
                                 const item_text *item, const char *argument)
{
    ka_time_format *format;
    size_t where = 0, skipped = (size_t)(strlen(item->argument)
                                         - strlen(argument));

    if (ka_time_format_compile(&format, &where, argument, strlen(argument),
                               b->pool) != APR_SUCCESS) {
        return FAIL(b, item->braces + skipped + where,
                    "`%s` in %s is no strftime conversion; remove it, or use "
                    "%%{usec_frac}t for a fraction of a second",
                    ka_lf_printable(argument + where,
                                    argument[where + 1] ? 2 : 1, b->pool),
                    item_label(b, item));
    }
    step->format = format;
    return APR_SUCCESS;
}

static apr_status_t set_time(builder *b, ka_lf_step *step,
                             const ka_lf_item **row, const item_text *item)
{
    const char *argument = item->argument;

    *row = ka_lf_item_time(&step->time, &step->end, &argument);
    step->digits = step->time == KA_LT_MSEC_FRAC ? 3 : 6;
    return step->time == KA_LT_PARTS
               ? set_strftime(b, step, item, argument) : APR_SUCCESS;
}

/* %U%q is one text to find, split where the query begins. */
static bool join_query(builder *b, const ka_lf_step *step)
{
    ka_lf_step *left = last_step(b);

    if (step->kind != KA_LK_QUERY || !left || left->literal_n > 0
        || left->query
        || (left->kind != KA_LK_TEXT && left->kind != KA_LK_WORD)) {
        return false;
    }
    left->query = true;
    left->label = apr_pstrcat(b->pool, left->label, step->label, NULL);
    b->format->fields |= KA_LF_BIT(KA_LF_QUERY);
    return true;
}

static apr_status_t push_step(builder *b, ka_lf_step *step,
                              const ka_lf_item *row, const item_text *item)
{
    ka_lf_step *left;

    step->kind = row->kind;
    step->field = step->end ? KA_LF_END : row->field;
    step->rank = (unsigned char)(row->rank + (item->final ? 2 : 0));
    step->unit_us = row->unit_us;
    step->conditional = item->conditional;
    step->label = item_label(b, item);
    step->column = b->source->column[item->start];
    close_literal(b);
    if (join_query(b, step)) {
        return APR_SUCCESS;
    }
    left = last_step(b);
    if (left && left->literal_n == 0
        && check_neighbours(b, left, step, item->start) != APR_SUCCESS) {
        return APR_EINVAL;
    }
    if (b->steps->nelts == KA_LF_STEPS_MAX) {
        return FAIL(b, item->start, "the format has more than %d items; "
                                    "leave some out", KA_LF_STEPS_MAX);
    }
    step->item_expected = apr_pstrcat(b->pool, step->label, ", ", row->what,
                                      NULL);
    if (step->field != KA_LF_OTHER) {
        b->format->fields |= KA_LF_BIT(step->field);
    }
    *(ka_lf_step *)apr_array_push(b->steps) = *step;
    return APR_SUCCESS;
}

static apr_status_t add_item(builder *b)
{
    const ka_lf_item *row;
    ka_lf_step step = { 0 };
    item_text item;
    bool constant = false;

    if (read_item(b, &item) != APR_SUCCESS) {
        return APR_EINVAL;
    }
    if (item.letter_n == 1 && *item.letter == 't') {
        if (set_time(b, &step, &row, &item) != APR_SUCCESS) {
            return APR_EINVAL;
        }
    }
    else {
        row = ka_lf_item_find(&constant, item.letter, item.letter_n,
                              item.argument);
        if (constant) {
            size_t n = strlen(item.argument);

            memcpy(b->literal + b->literal_n, item.argument, n);
            b->literal_n += n;
            return APR_SUCCESS;
        }
        if (!row) {
            return unknown_item(b, &item);
        }
    }
    return push_step(b, &step, row, &item);
}

static apr_status_t read_format(builder *b)
{
    const char *text = b->source->text;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && text[b->at]) {
        if (text[b->at] == '%' && text[b->at + 1] == '%') {
            b->literal[b->literal_n++] = '%';
            b->at += 2;
        }
        else {
            rv = text[b->at] == '%' ? add_item(b) : read_literal(b);
        }
    }
    close_literal(b);
    return rv;
}

apr_status_t ka_lf_compile(ka_logformat **out, const char **error,
                           const ka_lf_source *source, apr_pool_t *pool)
{
    ka_logformat *format = apr_pcalloc(pool, sizeof(*format));
    builder b = { .source = source, .error = error, .pool = pool,
                  .format = format,
                  .steps = apr_array_make(pool, 16, sizeof(ka_lf_step)),
                  .literal = apr_palloc(pool, source->length + 1) };
    apr_status_t rv = read_format(&b);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    format->name = source->name;
    format->text = source->text;
    format->n = (size_t)b.steps->nelts;
    format->steps = (ka_lf_step *)b.steps->elts;
    rv = ka_lf_link(format, error, source->column[source->length], pool);
    if (rv == APR_SUCCESS) {
        *out = format;
    }
    return rv;
}
