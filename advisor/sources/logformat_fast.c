/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Plain lines of plain formats, in one pass.
 *
 * A format is plain if each of its items has a value of its own and one item
 * tells the time.  Its plan takes a line from left to right and writes values
 * where they belong.  Each text ends where the matcher of logformat_line.c
 * would try first; wherever a line would need a second try, or is in any way
 * out of the ordinary, the plan gives up and the matcher takes the line.  So a
 * line that the plan takes has the values that the matcher would find.
 *
 * What follows a literal need not be looked at before the next item is read
 * (ka_lf_step.next_class): items of a plan begin with these classes only. */
#include "logformat_priv.h"

#include <string.h>

#include "wide.h"

/* The matcher's budget does for any line of this length whose texts end at
 * the first try; longer lines are left to it. */
#define LINE_MAX_BYTES 65536

typedef enum plan_op {
    OP_WORD,
    OP_TEXT,
    OP_LAST_WORD,
    OP_LAST_TEXT,
    OP_NUMBER,
    OP_STATUS,
    OP_SIGN,
    OP_CLF
} plan_op;

typedef struct plan_step {
    plan_op op;
    ka_lf_target_kind target;
    size_t offset;         /* in ka_logline, unless the target is none */
    int64_t max, unit;     /* of numbers: 0 .. max, in units */
    bool conditional;      /* `-` is no value */
    bool quoted;           /* the literal begins with a quote */
    char pivot_byte;
    size_t pivot;
    const char *literal;   /* literal[literal_n], `skip` of it are taken */
    size_t literal_n, skip;
    uint64_t word, mask;   /* the literal's first eight bytes */
} plan_step;

struct ka_lf_plan {
    const char *lead;
    size_t lead_n;
    size_t n;
    plan_step steps[];
};

struct ka_lineparser {
    const ka_logformat *format;
    ka_clf_minute minute;
};

/* ---- plans ------------------------------------------------------------ */

static bool plain_time(const ka_lf_step *step)
{
    return !step->end
           && (step->time == KA_LT_CLF || step->time == KA_LT_SEC
               || step->time == KA_LT_MSEC || step->time == KA_LT_USEC);
}

static bool plain_kind(ka_lf_kind kind)
{
    static const bool plain[] = {
        [KA_LK_TEXT] = true,   [KA_LK_WORD] = true, [KA_LK_QUERY] = true,
        [KA_LK_NUMBER] = true, [KA_LK_STATUS] = true, [KA_LK_SIGN] = true,
        [KA_LK_CLF] = true,    [KA_LK_CONSTANT] = false
    };

    return plain[kind];
}

/* Each field once, so that no item has to give way to another one. */
static bool is_plain(const ka_logformat *format)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < format->n; i++) {
        const ka_lf_step *step = &format->steps[i];

        if (!plain_kind(step->kind) || step->query
            || (step->time != KA_LT_NONE && !plain_time(step))
            || (seen & KA_LF_BIT(step->field))) {
            return false;
        }
        if (step->field != KA_LF_OTHER) {
            seen |= KA_LF_BIT(step->field);
        }
    }
    return format->one_time;
}

static plan_op op_of(const ka_lf_step *step)
{
    switch (step->kind) {
    case KA_LK_WORD:
        return step->last ? OP_LAST_WORD : OP_WORD;
    case KA_LK_NUMBER:
        return OP_NUMBER;
    case KA_LK_STATUS:
        return OP_STATUS;
    case KA_LK_SIGN:
        return OP_SIGN;
    case KA_LK_CLF:
        return OP_CLF;
    default:
        return step->last ? OP_LAST_TEXT : OP_TEXT;
    }
}

static int64_t time_unit(ka_lf_time time)
{
    return time == KA_LT_USEC ? 1 : time == KA_LT_MSEC ? 1000 : 1000000;
}

/* Where the value goes, and what it may be. */
static void set_target(plan_step *out, const ka_lf_step *step)
{
    const ka_lf_target *target = &ka_lf_targets[step->field];

    out->target = target->kind;
    out->offset = target->offset;
    out->max = target->max;
    out->unit = 1;
    if (step->time != KA_LT_NONE) {
        out->target = KA_TARGET_INT64;
        out->offset = offsetof(ka_logline, begin_us);
        out->unit = time_unit(step->time);
        out->max = KA_LF_YEAR_10000_US / out->unit - 1;
    }
    else if (step->field == KA_LF_SERVICE) {
        out->target = KA_TARGET_INT64;
        out->offset = offsetof(ka_logline, service_us);
        out->unit = step->unit_us;
        out->max = KA_LF_SERVICE_MAX;
    }
}

static void set_literal(plan_step *out, const ka_lf_step *step)
{
    const size_t n = step->literal_n;

    out->literal = step->literal;
    out->literal_n = n;
    out->skip = step->skip;
    out->pivot = step->pivot;
    out->pivot_byte = n ? step->literal[step->pivot] : '\0';
    out->quoted = n && step->literal[0] == '"';
    out->mask = n >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * n)) - 1;
    out->word = n >= 8 ? ka_wide_word(step->literal)
                       : ka_wide_short_word(step->literal, n);
}

const ka_lf_plan *ka_lf_plan_make(const ka_logformat *format,
                                  apr_pool_t *pool)
{
    ka_lf_plan *plan;

    if (!is_plain(format)) {
        return NULL;
    }
    plan = apr_pcalloc(pool,
                       sizeof(*plan) + format->n * sizeof(plan->steps[0]));
    plan->lead = format->lead;
    plan->lead_n = format->lead_n;
    plan->n = format->n;
    for (size_t i = 0; i < format->n; i++) {
        const ka_lf_step *step = &format->steps[i];

        plan->steps[i].op = op_of(step);
        plan->steps[i].conditional = step->conditional;
        set_target(&plan->steps[i], step);
        set_literal(&plan->steps[i], step);
    }
    return plan;
}

/* ---- lines ------------------------------------------------------------ */

/* A line that is being taken apart. */
typedef struct reading {
    ka_logline *out;
    ka_clf_minute *minute;
    const char *line, *end;
} reading;

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Each taker returns where the next item begins; NULL: the plan gives up. */

static inline const char *pass(const reading *r, const plan_step *step,
                               const char *at)
{
    if (r->end - at >= 8 && step->literal_n <= 8) {
        return ((ka_wide_word(at) ^ step->word) & step->mask) == 0
                   ? at + step->skip : NULL;
    }
    return (size_t)(r->end - at) >= step->literal_n
                   && memcmp(at, step->literal, step->literal_n) == 0
               ? at + step->skip : NULL;
}

static inline void *into(const reading *r, const plan_step *step)
{
    return (char *)r->out + step->offset;
}

static inline void put_text(const reading *r, const plan_step *step,
                            const char *at, const char *stop)
{
    ka_str *text;

    if (step->target == KA_TARGET_NONE) {
        return;
    }
    text = into(r, step);
    if (stop - at != 1 || *at != '-') {
        *text = (ka_str){ at, (size_t)(stop - at) };
    }
}

static inline void put_number(const reading *r, const plan_step *step,
                              int64_t number)
{
    if (number < 0 || number > step->max) {
        return;
    }
    if (step->target == KA_TARGET_INT64) {
        *(int64_t *)into(r, step) = number * step->unit;
    }
    else if (step->target == KA_TARGET_INT32) {
        *(int32_t *)into(r, step) = (int32_t)number;
    }
}

/* The text from `at` whose literal's pivot was found. */
static inline const char *end_text(const reading *r, const plan_step *step,
                                   const char *at, const char *found)
{
    const char *stop = found - step->pivot, *next;

    if (found == r->end || found - at < (ptrdiff_t)step->pivot) {
        return NULL;
    }
    next = pass(r, step, stop);
    if (!next || (step->quoted && stop > at && stop[-1] == '\\')) {
        return NULL;
    }
    put_text(r, step, at, stop);
    return next;
}

static inline const char *take_word(const reading *r, const plan_step *step,
                                    const char *at)
{
    const char *found;

    /* Many words are a `-`. */
    if (r->end - at >= 2 && at[0] == '-' && at[1] == step->pivot_byte) {
        found = at + 1;
    }
    else {
        found = ka_wide_find_word_end(r->line, at, r->end, step->pivot_byte);
    }
    /* Not empty; a control byte is no pivot. */
    return found - at > (ptrdiff_t)step->pivot ? end_text(r, step, at, found)
                                               : NULL;
}

static inline const char *take_text(const reading *r, const plan_step *step,
                                    const char *at)
{
    if ((size_t)(r->end - at) < step->literal_n) {
        return NULL;
    }
    return end_text(r, step, at, ka_wide_find(r->line, at + step->pivot,
                                              r->end, step->pivot_byte));
}

static inline const char *take_last(const reading *r, const plan_step *step,
                                    const char *at)
{
    const size_t n = step->literal_n;
    const char *stop;

    if ((size_t)(r->end - at) < n) {
        return NULL;
    }
    stop = r->end - n;
    if (n > 0 && n <= 8 && r->end - r->line >= 8) {
        if (ka_wide_word(r->end - 8) >> (64 - 8 * n) != step->word) {
            return NULL;
        }
    }
    else if (memcmp(stop, step->literal, n) != 0) {
        return NULL;
    }
    if (step->op == OP_LAST_WORD
        && (stop == at
            || ka_wide_find_word_end(r->line, at, stop, ' ' - 1) != stop)) {
        return NULL;
    }
    put_text(r, step, at, stop);
    return r->end;
}

/* Digits one by one: more than eight of them, or near the line's end. */
static const char *take_digits(int64_t *number, const char *at,
                               const char *end)
{
    const char *start = at;
    uint64_t value = 0;

    while (at < end && is_digit(*at)) {
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    *number = (int64_t)value;
    return at > start && at - start <= 18 ? at : NULL;
}

static inline const char *take_number(const reading *r, const plan_step *step,
                                      const char *at)
{
    int64_t number;
    unsigned n = 8;

    if (at < r->end && *at == '-') {
        /* None, unless it is a number less than none. */
        return at + 1 < r->end && is_digit(at[1]) ? NULL
                                                  : pass(r, step, at + 1);
    }
    if (r->end - at >= 8) {
        const uint64_t word = ka_wide_word(at);

        n = ka_wide_digits(word);
        if (n == 0) {
            return NULL;
        }
        number = (int64_t)ka_wide_number(word, n);
    }
    at = n < 8 ? at + n : take_digits(&number, at, r->end);
    if (!at) {
        return NULL;
    }
    put_number(r, step, number);
    return pass(r, step, at);
}

static inline const char *take_status(const reading *r, const plan_step *step,
                                      const char *at)
{
    if (r->end - at < 3 || !is_digit(at[0]) || !is_digit(at[1])
        || !is_digit(at[2])) {
        return NULL;
    }
    put_number(r, step,
               (at[0] - '0') * 100 + (at[1] - '0') * 10 + at[2] - '0');
    return pass(r, step, at + 3);
}

static inline const char *take_sign(const reading *r, const plan_step *step,
                                    const char *at)
{
    if (at == r->end || (*at != '+' && *at != '-' && *at != 'X')) {
        return NULL;
    }
    if (step->target == KA_TARGET_SIGN
        && (*at != '-' || !step->conditional)) {
        *(char *)into(r, step) = *at;
    }
    return pass(r, step, at + 1);
}

static inline const char *take_clf(const reading *r, const plan_step *step,
                                   const char *at)
{
    int64_t seconds;

    if (r->end - at < KA_CLF_TIME_LENGTH
        || !ka_time_clf_next(&seconds, r->minute, at)) {
        return NULL;
    }
    put_number(r, step, seconds);
    return pass(r, step, at + KA_CLF_TIME_LENGTH);
}

static inline const char *take(const reading *r, const plan_step *step,
                               const char *at)
{
    switch (step->op) {
    case OP_WORD:
        return take_word(r, step, at);
    case OP_TEXT:
        return take_text(r, step, at);
    case OP_NUMBER:
        return take_number(r, step, at);
    case OP_STATUS:
        return take_status(r, step, at);
    case OP_SIGN:
        return take_sign(r, step, at);
    case OP_CLF:
        return take_clf(r, step, at);
    default:
        return take_last(r, step, at);
    }
}

static bool take_line(const ka_lf_plan *plan, const reading *r)
{
    const char *at = r->line;

    if (plan->lead_n > 0
        && ((size_t)(r->end - at) < plan->lead_n
            || memcmp(at, plan->lead, plan->lead_n) != 0)) {
        return false;
    }
    at += plan->lead_n;
    for (size_t i = 0; i < plan->n; i++) {
        at = take(r, &plan->steps[i], at);
        if (!at) {
            return false;
        }
    }
    return at == r->end;
}

bool ka_lf_plan_take(ka_logline *out, ka_clf_minute *minute,
                     const ka_lf_plan *plan, const char *line, size_t length)
{
    const reading r = { out, minute, line, line + length };

    ka_lf_clear(out);
    return length <= LINE_MAX_BYTES && take_line(plan, &r);
}

ka_lineparser *ka_lineparser_make(const ka_logformat *format, apr_pool_t *pool)
{
    ka_lineparser *self = apr_pcalloc(pool, sizeof(*self));

    self->format = format;
    return self;
}

apr_status_t ka_lineparser_parse(ka_logline *out, ka_logline_error *error,
                                 ka_lineparser *parser, const char *line,
                                 size_t length)
{
    const ka_logformat *format = parser->format;

    return format->plan
                   && ka_lf_plan_take(out, &parser->minute, format->plan,
                                      line, length)
               ? APR_SUCCESS
               : ka_logline_parse(out, error, format, line, length);
}
