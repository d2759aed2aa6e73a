/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the files of the LogFormat compiler share.
 *
 *   logformat.c          presets, the public accessors
 *   logformat_text.c     configuration lines and quoting -> one format string
 *   logformat_items.c    the table of % items
 *   logformat_compile.c  format string -> steps
 *   logformat_link.c     what steps need to know of each other, clocks
 *   logformat_line.c     steps x line -> slots
 *   logformat_values.c   slots -> ka_logline
 *   logformat_fast.c     plain lines of plain formats -> ka_logline at once
 *
 * A program is a leading literal and steps; a step is one item and the
 * literal that follows it:
 *
 *   lead  [item literal] [item literal] ... [item literal]  end of line
 */
#ifndef KA_LOGFORMAT_PRIV_H
#define KA_LOGFORMAT_PRIV_H

#include "logformat.h"
#include "logtime.h"

/* Slots of a line are on the stack. */
#define KA_LF_STEPS_MAX 128

/* Longer than any line of a configuration that httpd reads. */
#define KA_LF_TEXT_MAX 65536

/* ---- classes of bytes ------------------------------------------------- */

/* What a byte can begin; a step knows the classes its item begins with. */
typedef enum ka_lf_class {
    KA_LC_DIGIT = 1 << 0,
    KA_LC_DASH = 1 << 1,
    KA_LC_PLUS = 1 << 2,
    KA_LC_HEX = 1 << 3,     /* a-f A-F */
    KA_LC_LETTER = 1 << 4,  /* the other letters */
    KA_LC_BRACKET = 1 << 5, /* [ */
    KA_LC_BLANK = 1 << 6,
    KA_LC_OTHER = 1 << 7,
    KA_LC_ANY = 0xff
} ka_lf_class;

/* The class of each byte. */
extern const unsigned char ka_lf_classes[256];

/* ---- items ------------------------------------------------------------ */

typedef enum ka_lf_kind {
    KA_LK_TEXT,     /* any bytes, none too */
    KA_LK_WORD,     /* at least one byte, no control bytes */
    KA_LK_QUERY,    /* text that is empty or begins with ? */
    KA_LK_NUMBER,   /* digits; - and a negative number are no value */
    KA_LK_HEX,
    KA_LK_STATUS,   /* three digits */
    KA_LK_SIGN,     /* one of + - X */
    KA_LK_CLF,      /* [dd/Mon/yyyy:hh:mm:ss +zzzz] */
    KA_LK_FRACTION, /* a fixed number of digits */
    KA_LK_STRFTIME,
    KA_LK_CONSTANT  /* httpd prints the argument itself */
} ka_lf_kind;

/* What a time item tells. */
typedef enum ka_lf_time {
    KA_LT_NONE,
    KA_LT_CLF,
    KA_LT_PARTS, /* strftime */
    KA_LT_SEC,
    KA_LT_MSEC,
    KA_LT_USEC,
    KA_LT_MSEC_FRAC,
    KA_LT_USEC_FRAC
} ka_lf_time;

typedef struct ka_lf_item {
    const char *letter;   /* one letter, or ^ and two */
    const char *argument; /* "" none; NULL any, and none too */
    ka_lf_kind kind;
    ka_log_field field;
    unsigned char rank;   /* of two items of one field the higher one wins */
    int unit_us;          /* of a KA_LF_SERVICE item */
    const char *what;     /* what a line holds there, for errors */
} ka_lf_item;

/* Unknown letter: NULL.  Letter known, argument not: httpd prints the
 * argument, *constant is set. */
const ka_lf_item *ka_lf_item_find(bool *constant, const char *letter,
                                  size_t length, const char *argument);

/* The row of a time item and the rest of its argument: begin: and end: taken
 * off; *time tells which it is, *end whether it is of the end. */
const ka_lf_item *ka_lf_item_time(ka_lf_time *time, bool *end,
                                  const char **argument);

/* ---- program ---------------------------------------------------------- */

typedef struct ka_lf_step {
    ka_lf_kind kind;
    ka_log_field field;
    unsigned char rank;
    bool conditional; /* has a status list: `-` is no value */
    bool query;       /* text with a %q stuck to it */
    bool last;
    unsigned next_class; /* classes that may follow the literal */
    unsigned char digits;     /* of KA_LK_FRACTION */
    ka_lf_time time;
    bool end;        /* a time of the end */
    int unit_us;     /* of a service time */
    int retry;       /* nearest text step before this one that may end
                        elsewhere, -1 */
    const char *literal;
    size_t literal_n; /* to find after a text */
    size_t skip;      /* of these, taken by the literal */
    size_t pivot;     /* the literal's rarest byte */
    const ka_time_format *format; /* of KA_LK_STRFTIME */
    const char *item_expected;
    const char *literal_expected;
    size_t column;    /* of the item, in the text that was given */
    const char *label;
} ka_lf_step;

typedef struct ka_lf_plan ka_lf_plan;

struct ka_logformat {
    const char *name;
    const char *text;
    uint64_t fields;
    int64_t clock_us;
    int64_t service_us;
    int64_t span_us; /* resolution of end - begin, 0 if it is not to be had */
    bool one_time;   /* a single time item */
    const char *lead;
    size_t lead_n;
    const char *lead_expected;
    size_t n;
    ka_lf_step *steps;
    int last_retry; /* as ka_lf_step.retry, of the line's end */
    size_t value_n;
    unsigned char *values; /* steps to hand out, lower ranks first */
    const ka_lf_plan *plan; /* NULL: not a plain format */
};

/* A format string as httpd's LogFormat sees it. */
typedef struct ka_lf_source {
    const char *text; /* NUL-terminated */
    size_t length;
    const unsigned *column; /* column[length + 1]: where each byte stood in
                               what the user gave */
    const char *name;
} ka_lf_source;

/* Finds the format in what the user gave: preset, directive, string. */
apr_status_t ka_lf_source_read(ka_lf_source *out, const char **error,
                               const char *text, apr_pool_t *pool);

/* Compiles it. */
apr_status_t ka_lf_compile(ka_logformat **out, const char **error,
                           const ka_lf_source *source, apr_pool_t *pool);

/* Completes a program whose steps are there: classes, retries, values, clocks.
 * Fails if the format does not tell when a request was; `end` is the column
 * behind the format. */
apr_status_t ka_lf_link(ka_logformat *format, const char **error, unsigned end,
                        apr_pool_t *pool);

/* The plan of a plain format whose steps are linked; NULL for all others. */
const ka_lf_plan *ka_lf_plan_make(const ka_logformat *format,
                                  apr_pool_t *pool);

/* Classes that a value of the step begins with, `-` for none aside. */
unsigned ka_lf_first_classes(const ka_lf_step *step);

/* A preset by nickname, without regard to case as httpd; NULL if none. */
const ka_logformat_preset *ka_lf_preset_find(const char *name);

/* Copies text for a message: bytes that do not print become `?`, long text is
 * cut. */
const char *ka_lf_printable(const char *text, size_t length, apr_pool_t *pool);

/* ---- lines ------------------------------------------------------------ */

/* What a step found.  Absent numbers are -1, an absent time of a KA_LK_CLF is
 * INT64_MIN. */
typedef struct ka_lf_slot {
    const char *at;
    union {
        size_t length;  /* text, strftime */
        int64_t number; /* all else */
    };
} ka_lf_slot;

typedef enum ka_lf_target_kind {
    KA_TARGET_NONE,
    KA_TARGET_TEXT,
    KA_TARGET_INT64,
    KA_TARGET_INT32,
    KA_TARGET_SIGN
} ka_lf_target_kind;

/* Where in a ka_logline a field's value goes. */
typedef struct ka_lf_target {
    ka_lf_target_kind kind;
    size_t offset;
    int64_t max; /* what is beyond it is no value */
} ka_lf_target;

/* By ka_log_field; times and service times go nowhere by themselves. */
extern const ka_lf_target ka_lf_targets[KA_LF_FIELDS];

/* Makes it a line that tells nothing. */
void ka_lf_clear(ka_logline *out);

/* A service time is less than so many of its units. */
#define KA_LF_SERVICE_MAX (INT64_MAX / 1000000)

/* A time item that is alone is before this. */
#define KA_LF_YEAR_10000_US (INT64_C(253402300800) * 1000000)

/* Takes a line apart as ka_logline_parse would.  @return false if it is not a
 * plain line, which the matcher may yet take; out is written to */
bool ka_lf_plan_take(ka_logline *out, ka_clf_minute *minute,
                     const ka_lf_plan *plan, const char *line, size_t length);

/* Hands the slots out.  @return NULL, or the step whose date does not exist */
const ka_lf_step *ka_lf_values(ka_logline *out, const ka_logformat *format,
                               const ka_lf_slot *slots);

#endif
