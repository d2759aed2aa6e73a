/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_logformat: an httpd 2.4 LogFormat compiled once to a token program that
 * takes lines apart.
 *
 * Grammar (httpd 2.4 mod_log_config, mod_logio, mod_ssl; their sources):
 *   (1) a format is literals and items; an item is
 *       % [ ! ] [ status,... ] [ < | > ] [ {argument} ] letter, in any order
 *       of the prefixes, where letter may be ^ and two letters (^FB ^ti ^to,
 *       and ^KA of mod_kastats); %% is a literal percent sign;
 *   (2) \" \\ are a quote and a backslash, \n \t newline and tab; other
 *       escapes stand for themselves, backslash included;
 *   (3) an item with a status list may print `-` in place of its value;
 *   (4) every item may print `-` when it has no value;
 *   (5) text items are escaped by httpd as \" \\ \b \n \r \t \v \xHH; other
 *       servers do not escape, so an item's end is the next literal after
 *       which the rest of the line still parses (bounded backtracking).
 *
 * Times: %t, %{strftime}t, sec, msec, usec, msec_frac, usec_frac, each with
 * begin: or end:.  The parts are added up to one start and, where the format
 * has end: items, one end.  A counter (sec, msec, usec) is not believed where
 * it contradicts the date or lies beyond the year 2200 and there is another
 * time item: a value that was blotted out.  A format with end: items alone
 * gives the start as end less service time, or as the end if it has none.
 *
 * Concurrency: a compiled format is immutable: any number of threads.
 */
#ifndef KA_LOGFORMAT_H
#define KA_LOGFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>

/* What an item of a line means to us.  KA_LF_OTHER is parsed and dropped. */
typedef enum ka_log_field {
    KA_LF_OTHER,
    KA_LF_HOST,          /* %h  client as httpd names it */
    KA_LF_CLIENT,        /* %a  client address (mod_remoteip applied) */
    KA_LF_PEER,          /* %{c}a  address of the connection's other end */
    KA_LF_REMOTE_PORT,   /* %{remote}p */
    KA_LF_LOCAL_PORT,    /* %p %{local}p %{canonical}p */
    KA_LF_BEGIN,         /* any %t item of the start */
    KA_LF_END,           /* any %{end:...}t item */
    KA_LF_SERVICE,       /* %D %T %{us}T: time to serve the request */
    KA_LF_FIRST_BYTE,    /* %^FB, microseconds */
    KA_LF_REQUEST,       /* %r */
    KA_LF_METHOD,        /* %m */
    KA_LF_URI,           /* %U */
    KA_LF_QUERY,         /* %q */
    KA_LF_PROTOCOL,      /* %H */
    KA_LF_STATUS,        /* %s %>s: the final one wins if both are there */
    KA_LF_KEEPALIVES,    /* %k */
    KA_LF_CONN_STATUS,   /* %X */
    KA_LF_BODY_BYTES,    /* %b %B */
    KA_LF_BYTES_IN,      /* %I */
    KA_LF_BYTES_OUT,     /* %O */
    KA_LF_PID,           /* %P %{pid}P */
    KA_LF_TID,           /* %{tid}P %{hextid}P */
    KA_LF_VHOST,         /* %v %V */
    KA_LF_HANDLER,       /* %R */
    KA_LF_USER_AGENT,    /* %{User-Agent}i */
    KA_LF_UNIQUE_ID,     /* %{UNIQUE_ID}e of mod_unique_id */
    KA_LF_TLS_PROTOCOL,  /* %{SSL_PROTOCOL}x %{version}c: says TLS or not */
    KA_LF_FIELDS
} ka_log_field;

#define KA_LF_BIT(field) (UINT64_C(1) << (field))

typedef struct ka_logformat ka_logformat;

/**
 * Compiles a format.
 * @param out    the program, owned by pool
 * @param error  on failure one sentence naming the column of `text` (from 1),
 *               the item and a remedy; owned by pool
 * @param text   one of: a preset's name (ka_logformat_presets); a format; a
 *               `LogFormat "..." nickname` or `CustomLog path "..."` line as
 *               it stands in the configuration, with its quoting, whatever
 *               env= or expr= follows; `CustomLog path nickname` where the
 *               nickname is a preset's.
 * @return APR_SUCCESS; APR_EINVAL for an unknown item or letter, an open
 *         brace or quote, two free-text items that touch with nothing to tell
 *         them apart, or a format without the date and time of a request
 */
apr_status_t ka_logformat_compile(ka_logformat **out, const char **error,
                                  const char *text, apr_pool_t *pool);

/** Nickname or preset's name; "custom" if it has none. */
const char *ka_logformat_name(const ka_logformat *format);

/** The format itself, with httpd's quoting undone. */
const char *ka_logformat_text(const ka_logformat *format);

/** KA_LF_BIT of each field that the format holds. */
uint64_t ka_logformat_fields(const ka_logformat *format);

/** Resolution of the start of a request: 1, 1000 or 1000000 us. */
int64_t ka_logformat_clock_us(const ka_logformat *format);

/** Resolution of the service time (%D 1, %{ms}T 1000, %T 1000000 us; that of
 * end: times if only those are there); 0 if the format has none. */
int64_t ka_logformat_service_us(const ka_logformat *format);

typedef struct ka_logformat_preset {
    const char *name;   /* as in httpd's and Debian's own configuration */
    const char *format; /* quoting undone */
} ka_logformat_preset;

/** The presets, most specific first; ends with a NULL name. */
const ka_logformat_preset *ka_logformat_presets(void);

/* The LogFormat that settles everything (MODEL 7), as it stands between the
 * double quotes of a configuration line.  Also the preset "kastats". */
extern const char ka_logformat_recommended[];

/* ---- lines ------------------------------------------------------------ */

typedef struct ka_str {
    const char *ptr; /* not NUL-terminated; NULL if the field is absent */
    size_t len;
} ka_str;

/* One line taken apart.  Text points into the line, still escaped.  A field
 * that is absent or `-` is NULL (text) or -1 (numbers); text that is there but
 * empty is not NULL. */
typedef struct ka_logline {
    int64_t begin_us;   /* start, us since the epoch; -1: none, all its items
                           were `-` */
    int64_t end_us;     /* from end: items; -1: none */
    int64_t service_us; /* the finest of %D, %T, end - begin; -1: none */
    int64_t first_byte_us;
    ka_str host, client, peer;
    ka_str request, method, uri, query, protocol;
    ka_str vhost, handler, user_agent, unique_id, tls_protocol;
    int64_t body_bytes, bytes_in, bytes_out;
    int64_t pid, tid; /* tid as printed: decimal, or hextid's value */
    int32_t remote_port, local_port;
    int32_t status;     /* the final one */
    int32_t keepalives; /* %k */
    char conn_status;   /* %X: '+' '-' 'X', 0 if absent */
} ka_logline;

typedef struct ka_logline_error {
    size_t column;        /* 1-based byte column of the item that failed */
    const char *expected; /* e.g. "%>s, a status of three digits"; static or
                             owned by the format */
} ka_logline_error;

/**
 * Takes one line apart.
 * @param out     filled only on success
 * @param error   filled only on failure; may be NULL
 * @param line    bytes of any kind, NUL included, without the line's end
 * @return APR_SUCCESS; APR_EINVAL if the line does not follow the format
 *         (also when bytes are left over, or its date does not exist)
 * Allocates nothing; bounded work per line: O(length x items) with a fixed
 * budget for backtracking.
 */
apr_status_t ka_logline_parse(ka_logline *out, ka_logline_error *error,
                              const ka_logformat *format, const char *line,
                              size_t length);

/* The same for many lines of one log: remembers what one line has in common
 * with the next, and takes plain lines of plain formats apart in one pass. */
typedef struct ka_lineparser ka_lineparser;

/** A parser for one thread, owned by pool; the format may be shared. */
ka_lineparser *ka_lineparser_make(const ka_logformat *format,
                                  apr_pool_t *pool);

/**
 * As ka_logline_parse, with the same values, errors and bounds.  `out` may
 * have been written to on failure.
 */
apr_status_t ka_lineparser_parse(ka_logline *out, ka_logline_error *error,
                                 ka_lineparser *parser, const char *line,
                                 size_t length);

#endif
