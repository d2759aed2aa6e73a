/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Takes lines apart.  Each step finds its item's end and the literal behind
 * it.  Where the rest of the line does not parse, the nearest text before is
 * given a later end, and so on: each text step has one slot to remember where
 * it stands, so that neither recursion nor a stack is needed. */
#include "logformat_priv.h"

#include <string.h>

/* Ends of texts that may be looked at per line; so many bytes passed on the
 * way count as one more.  Real lines need about as many as they have items;
 * the longest line can be looked through four times. */
#define TRIES_MAX 1024
#define TRY_BYTES 256

typedef struct matcher {
    const ka_logformat *format;
    const char *line, *end;
    int tries;
    /* The second look at a line that failed: texts end at any place where
     * their literal is, so that the step that fails is the one to blame. */
    bool explain;
    size_t rank;       /* how far the best attempt came: steps, twice */
    const char *where; /* what it failed at */
    const char *expected;
    ka_lf_slot *slots;
    bool *escaped; /* a text step has come to try escaped quotes, too */
} matcher;

static const char *fail(matcher *m, size_t rank, const char *where,
                        const char *expected)
{
    if (m->explain && (rank > m->rank || !m->expected)) {
        m->rank = rank;
        m->where = where;
        m->expected = expected;
    }
    return NULL;
}

/* Literals are a few bytes: not worth a call of memcmp. */
static inline bool same(const char *at, const char *literal, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (at[i] != literal[i]) {
            return false;
        }
    }
    return true;
}

/* ---- typed items ------------------------------------------------------ */

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Each reader returns the end of what it took, NULL if it is not there. */
static const char *read_digits(int64_t *number, const char *at, const char *end)
{
    const char *start = at;
    uint64_t value = 0;

    while (at < end && is_digit(*at)) {
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    /* 19 digits may not fit: no such value means anything here. */
    *number = at - start <= 18 ? (int64_t)value : -1;
    return at > start ? at : NULL;
}

static int hex_digit(char c)
{
    return is_digit(c)              ? c - '0'
           : (c >= 'a' && c <= 'f') ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : -1;
}

static const char *read_hex(int64_t *number, const char *at, const char *end)
{
    const char *start;
    uint64_t value = 0;

    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')
        && hex_digit(at[2]) >= 0) {
        at += 2;
    }
    for (start = at; at < end && hex_digit(*at) >= 0; at++) {
        value = value * 16 + (uint64_t)hex_digit(*at);
    }
    *number = at - start <= 15 ? (int64_t)value : -1;
    return at > start ? at : NULL;
}

static const char *read_fixed(int64_t *number, size_t digits, const char *at,
                              const char *end)
{
    const char *stop = at + digits;

    if ((size_t)(end - at) < digits) {
        return NULL;
    }
    for (*number = 0; at < stop; at++) {
        if (!is_digit(*at)) {
            return NULL;
        }
        *number = *number * 10 + (*at - '0');
    }
    return at;
}

static const char *read_clf(int64_t *seconds, const char *at, const char *end)
{
    /* No request was logged before 1970; -1 is to mean none. */
    return end - at >= KA_CLF_TIME_LENGTH && ka_time_clf(seconds, at)
                   && *seconds >= 0
               ? at + KA_CLF_TIME_LENGTH : NULL;
}

static const char *read_strftime(size_t *length, const ka_lf_step *step,
                                 const char *at, const char *end)
{
    ka_time_parts parts; /* looked at later, with those of other items */
    ptrdiff_t n;

    parts.have = 0;
    n = ka_time_format_match(&parts, step->format, at, (size_t)(end - at));
    *length = n > 0 ? (size_t)n : 0;
    return n < 0 ? NULL : at + n;
}

static const char *read_value(ka_lf_slot *slot, const ka_lf_step *step,
                              const char *at, const char *end)
{
    switch (step->kind) {
    case KA_LK_NUMBER:
        return read_digits(&slot->number, at, end);
    case KA_LK_STATUS:
        return read_fixed(&slot->number, 3, at, end);
    case KA_LK_CLF:
        return read_clf(&slot->number, at, end);
    case KA_LK_FRACTION:
        return read_fixed(&slot->number, step->digits, at, end);
    case KA_LK_HEX:
        return read_hex(&slot->number, at, end);
    case KA_LK_SIGN:
        slot->number = at < end ? *at : '\0';
        return at < end && (*at == '+' || *at == '-' || *at == 'X') ? at + 1
                                                                    : NULL;
    default:
        return read_strftime(&slot->length, step, at, end);
    }
}

/* `-` in a value's place; a negative number is none either. */
static const char *read_none(ka_lf_slot *slot, const ka_lf_step *step,
                             const char *at, const char *end)
{
    int64_t ignored;
    const char *stop;

    if (at == end || *at != '-') {
        return NULL;
    }
    slot->number = step->kind == KA_LK_CLF        ? INT64_MIN
                   : step->kind == KA_LK_STRFTIME ? 0
                                                  : -1;
    stop = step->kind == KA_LK_NUMBER ? read_digits(&ignored, at + 1, end)
                                      : NULL;
    return stop ? stop : at + 1;
}

/* The first byte at `at` that is not the literal's. */
static const char *first_wrong(const matcher *m, const ka_lf_step *step,
                               const char *at)
{
    size_t i = 0;

    while (at + i < m->end && i < step->skip && at[i] == step->literal[i]) {
        i++;
    }
    return at + i;
}

/* A typed item and its literal, which stands where the item ends. */
static const char *typed_step(matcher *m, size_t i, const char *at)
{
    const ka_lf_step *step = &m->format->steps[i];
    ka_lf_slot *slot = &m->slots[i];
    const char *stop = read_value(slot, step, at, m->end);

    slot->at = at;
    if (!stop) {
        stop = read_none(slot, step, at, m->end);
        if (!stop) {
            return fail(m, 2 * i, at, step->item_expected);
        }
    }
    if ((size_t)(m->end - stop) < step->skip
        || !same(stop, step->literal, step->skip)) {
        return fail(m, 2 * i + 1, first_wrong(m, step, stop),
                    step->literal_expected);
    }
    return stop + step->skip;
}

/* ---- texts ------------------------------------------------------------ */

/* The step's literal at `from` or later, before bytes that may follow it. */
static const char *find_literal(matcher *m, const ka_lf_step *step,
                                const char *from)
{
    size_t n = step->literal_n, pivot = step->pivot;

    while ((size_t)(m->end - from) >= n && --m->tries >= 0) {
        const char *found = memchr(from + pivot, step->literal[pivot],
                                   (size_t)(m->end - from) - n + 1);

        if (!found) {
            m->tries -= (int)((m->end - from) / TRY_BYTES);
            break;
        }
        found -= pivot;
        m->tries -= (int)((found - from) / TRY_BYTES);
        from = found + 1;
        if (!same(found, step->literal, n)) {
            continue;
        }
        if (step->next_class == KA_LC_ANY || m->explain
            || (found + step->skip < m->end
                && (ka_lf_classes[(unsigned char)found[step->skip]]
                    & step->next_class))) {
            return found;
        }
    }
    return NULL;
}

/* httpd writes \" for a quote inside an item, and \\ for a backslash. */
static bool is_escaped(const char *quote, const char *start)
{
    const char *at = quote;

    while (at > start && at[-1] == '\\') {
        at--;
    }
    return (quote - at) % 2 == 1;
}

/* Names and addresses hold no control bytes, which httpd would escape: what
 * has some is damaged, say the middle of a compressed file. */
static bool may_end(matcher *m, size_t i, const char *end)
{
    const ka_lf_step *step = &m->format->steps[i];
    const char *at = m->slots[i].at;

    if (step->kind != KA_LK_WORD) {
        return true;
    }
    while (at < end && (unsigned char)*at >= ' ') {
        at++;
    }
    if (at < end) {
        fail(m, 2 * i + 1, m->slots[i].at, step->item_expected);
    }
    return at == end;
}

/* The next end of text step i, from `from` on; ends before quotes that are
 * escaped come last, for servers that do not escape. */
static const char *text_end(matcher *m, size_t i, const char *from)
{
    const ka_lf_step *step = &m->format->steps[i];
    ka_lf_slot *slot = &m->slots[i];
    const char *found;

    while ((found = find_literal(m, step, from)) != NULL) {
        if (!may_end(m, i, found)) {
            return NULL;
        }
        if (step->literal[0] != '"'
            || is_escaped(found, slot->at) == m->escaped[i]) {
            slot->length = (size_t)(found - slot->at);
            return found + step->skip;
        }
        from = found + 1;
    }
    if (step->literal[0] != '"' || m->escaped[i]) {
        return NULL;
    }
    m->escaped[i] = true;
    return text_end(m, i, slot->at);
}

/* The last item's text runs to the literal that ends the line. */
static const char *last_text(matcher *m, size_t i)
{
    const ka_lf_step *step = &m->format->steps[i];
    ka_lf_slot *slot = &m->slots[i];
    size_t left = (size_t)(m->end - slot->at), n = step->literal_n;

    if (left < n + (step->kind == KA_LK_WORD)
        || !same(m->end - n, step->literal, n)
        || !may_end(m, i, m->end - n)) {
        return NULL;
    }
    slot->length = left - n;
    return m->end;
}

static const char *text_step(matcher *m, size_t i, const char *at)
{
    const ka_lf_step *step = &m->format->steps[i];
    const char *next;

    m->slots[i].at = at;
    m->escaped[i] = false;
    if (step->kind == KA_LK_WORD && at == m->end) {
        return fail(m, 2 * i, at, step->item_expected);
    }
    if (step->last) {
        next = last_text(m, i);
        if (!next && m->explain && step->literal_n > 0) {
            next = text_end(m, i, at);
        }
    }
    else {
        next = text_end(m, i, at + (step->kind == KA_LK_WORD));
    }
    return next ? next : fail(m, 2 * i + 1, at, step->literal_expected);
}

/* ---- lines ------------------------------------------------------------ */

static bool is_text(const ka_lf_step *step)
{
    return step->kind <= KA_LK_QUERY;
}

/* Gives the nearest text before step i a later end.  @return the step to go
 * on with, at *at; -1 if no text can end later */
static int retry(matcher *m, size_t i, const char **at)
{
    const ka_lf_step *steps = m->format->steps;
    int text = i < m->format->n ? steps[i].retry : m->format->last_retry;

    for (; text >= 0; text = steps[text].retry) {
        ka_lf_slot *slot = &m->slots[text];

        *at = text_end(m, (size_t)text, slot->at + slot->length + 1);
        if (*at) {
            return text + 1;
        }
    }
    return -1;
}

static bool match(matcher *m)
{
    const ka_logformat *f = m->format;
    const char *at = m->line;
    int i = 0;

    if ((size_t)(m->end - at) < f->lead_n
        || !same(at, f->lead, f->lead_n)) {
        fail(m, 0, at, f->lead_expected);
        return false;
    }
    at += f->lead_n;
    while (i >= 0) {
        const char *next;

        if ((size_t)i == f->n) {
            if (at == m->end) {
                return true;
            }
            next = fail(m, 2 * f->n, at, "end of line");
        }
        else {
            next = is_text(&f->steps[i]) ? text_step(m, (size_t)i, at)
                                         : typed_step(m, (size_t)i, at);
        }
        if (next) {
            at = next;
            i++;
        }
        else {
            i = retry(m, (size_t)i, &at);
        }
    }
    return false;
}

/* Why a line does not follow the format. */
static void explain(ka_logline_error *error, const matcher *failed)
{
    matcher m = *failed;

    m.explain = true;
    m.tries = TRIES_MAX;
    m.where = m.line;
    m.expected = NULL;
    m.rank = 0;
    match(&m);
    error->column = (size_t)(m.where - m.line) + 1;
    error->expected = m.expected ? m.expected
                                 : "a line whose items can be told apart";
}

apr_status_t ka_logline_parse(ka_logline *out, ka_logline_error *error,
                              const ka_logformat *format, const char *line,
                              size_t length)
{
    ka_lf_slot slots[KA_LF_STEPS_MAX];
    bool escaped[KA_LF_STEPS_MAX];
    matcher m = { .format = format, .line = line, .end = line + length,
                  .tries = TRIES_MAX, .slots = slots, .escaped = escaped };
    const ka_lf_step *bad;
    ka_logline values;

    if (!match(&m)) {
        if (error) {
            explain(error, &m);
        }
        return APR_EINVAL;
    }
    bad = ka_lf_values(&values, format, slots);
    if (bad) {
        if (error) {
            error->column =
                (size_t)(slots[bad - format->steps].at - line) + 1;
            error->expected = bad->item_expected;
        }
        return APR_EINVAL;
    }
    *out = values;
    return APR_SUCCESS;
}
