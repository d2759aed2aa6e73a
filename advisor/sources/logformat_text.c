/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From what the user gives to the format string that httpd's LogFormat would
 * see: continued lines joined, directive and nickname split off, one level of
 * quoting undone.  Each byte keeps the column where it stood, for errors. */
#include "logformat_priv.h"

#include <string.h>
#include <strings.h>
#include <apr_strings.h>

/* Bytes and where each of them stood; column[length] is that of the end. */
typedef struct span {
    char *text;
    unsigned *column;
    size_t length;
} span;

typedef struct reader {
    span all;
    size_t at; /* next byte of all */
    const char **error;
    apr_pool_t *pool;
} reader;

static bool is_space(char c)
{
    return c != '\0' && strchr(" \t\r\n\f\v", c) != NULL;
}

static apr_status_t fail(reader *r, size_t at, const char *sentence)
{
    *r->error = apr_psprintf(r->pool, "column %u: %s", r->all.column[at],
                             sentence);
    return APR_EINVAL;
}

static span span_make(size_t size, apr_pool_t *pool)
{
    return (span){ .text = apr_palloc(pool, size + 1),
                   .column = apr_palloc(pool, (size + 1) * sizeof(unsigned)) };
}

static void span_add(span *s, char byte, unsigned column)
{
    s->text[s->length] = byte;
    s->column[s->length++] = column;
}

static void span_close(span *s, unsigned column)
{
    s->text[s->length] = '\0';
    s->column[s->length] = column;
}

/* Joins continued lines and drops the line's end, as httpd reads a line. */
static span join_lines(const char *text, size_t length, apr_pool_t *pool)
{
    span out = span_make(length, pool);

    while (length > 0
           && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        size_t end = i + 1;

        if (text[i] == '\\') {
            end += end < length && text[end] == '\r';
            if (end < length && text[end] == '\n') {
                i = end;
                continue;
            }
        }
        span_add(&out, text[i], (unsigned)i + 1);
    }
    span_close(&out, (unsigned)length + 1);
    return out;
}

/* Undoes the quoting of all[from, to): a backslash before itself and, inside
 * quotes, before the quote. */
static span unquote(const reader *r, size_t from, size_t to, char quote)
{
    const span *all = &r->all;
    span out = span_make(to - from, r->pool);

    for (size_t i = from; i < to; i++) {
        if (all->text[i] == '\\' && i + 1 < to
            && (all->text[i + 1] == '\\'
                || (quote && all->text[i + 1] == quote))) {
            i++;
        }
        span_add(&out, all->text[i], all->column[i]);
    }
    span_close(&out, all->column[to]);
    return out;
}

static void skip_space(reader *r)
{
    while (is_space(r->all.text[r->at])) {
        r->at++;
    }
}

/* The offset of the quote that closes the one at r->at; all.length if none. */
static size_t closing_quote(const reader *r)
{
    const char *text = r->all.text;
    char quote = text[r->at];
    size_t i = r->at + 1;

    while (text[i] && text[i] != quote) {
        i += text[i] == '\\' && (text[i + 1] == quote || text[i + 1] == '\\')
                 ? 2 : 1;
    }
    return i;
}

/* One word of a configuration line, quoted or not; blanks after it are
 * skipped.  @return APR_EOF at the end of the line */
static apr_status_t read_word(reader *r, span *word)
{
    const char *text = r->all.text;
    size_t start, end;

    skip_space(r);
    start = r->at;
    if (text[start] == '\0') {
        return APR_EOF;
    }
    if (text[start] == '"' || text[start] == '\'') {
        end = closing_quote(r);
        if (text[end] == '\0') {
            return fail(r, start, "the quote that opens here is not closed; "
                                  "close it behind the format");
        }
        *word = unquote(r, start + 1, end, text[start]);
        r->at = end + 1;
    }
    else {
        for (end = start; text[end] && !is_space(text[end]); end++) {
        }
        *word = unquote(r, start, end, '\0');
        r->at = end;
    }
    skip_space(r);
    return APR_SUCCESS;
}

static apr_status_t finish(ka_lf_source *out, const span *format,
                           const char *name)
{
    *out = (ka_lf_source){ .text = format->text, .length = format->length,
                           .column = format->column, .name = name };
    return APR_SUCCESS;
}

static apr_status_t finish_preset(reader *r, ka_lf_source *out,
                                  const ka_logformat_preset *preset)
{
    size_t n = strlen(preset->format);
    span format = span_make(n, r->pool);

    for (size_t i = 0; i < n; i++) {
        span_add(&format, preset->format[i], (unsigned)i + 1);
    }
    span_close(&format, (unsigned)n + 1);
    return finish(out, &format, preset->name);
}

static const char *preset_names(apr_pool_t *pool)
{
    const char *names = "";

    for (const ka_logformat_preset *p = ka_logformat_presets(); p->name; p++) {
        names = apr_pstrcat(pool, names, *names ? ", " : "", p->name, NULL);
    }
    return names;
}

/* A word in a format's place: one without % is a nickname. */
static apr_status_t finish_word(reader *r, ka_lf_source *out, const span *word,
                                const char *name)
{
    const ka_logformat_preset *preset;

    if (memchr(word->text, '%', word->length)) {
        return finish(out, word, name);
    }
    preset = ka_lf_preset_find(word->text);
    if (preset) {
        return finish_preset(r, out, preset);
    }
    *r->error = apr_psprintf(
        r->pool, "column %u: %s; give a LogFormat line, or one of %s",
        word->column[0],
        word->length == 0
            ? "the format is empty"
            : apr_psprintf(r->pool, "`%s` is no known format's name and holds "
                           "no %% item", ka_lf_printable(word->text,
                                                         word->length,
                                                         r->pool)),
        preset_names(r->pool));
    return APR_EINVAL;
}

/* LogFormat FORMAT [NICKNAME] */
static apr_status_t read_logformat(reader *r, ka_lf_source *out)
{
    span format, nickname = { 0 };
    apr_status_t rv = read_word(r, &format);

    if (rv == APR_EOF) {
        return fail(r, r->at, "LogFormat lacks its format; "
                              "give it as LogFormat \"...\" nickname");
    }
    if (rv == APR_SUCCESS) {
        rv = read_word(r, &nickname);
    }
    if (rv == APR_EOF) {
        return finish_word(r, out, &format, "custom");
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (r->at < r->all.length) {
        return fail(r, r->at, "LogFormat takes a format and a nickname; "
                              "put the format into quotes");
    }
    return finish_word(r, out, &format, nickname.text);
}

/* CustomLog FILE|PIPE FORMAT|NICKNAME [env=|expr=] */
static apr_status_t read_customlog(reader *r, ka_lf_source *out)
{
    span file, format;
    apr_status_t rv = read_word(r, &file);

    if (rv == APR_SUCCESS) {
        rv = read_word(r, &format);
    }
    if (rv == APR_EOF) {
        return fail(r, r->at, "CustomLog lacks its format; give the LogFormat "
                              "line that the server uses");
    }
    return rv == APR_SUCCESS ? finish_word(r, out, &format, "custom") : rv;
}

static const struct {
    const char *name;
    apr_status_t (*read)(reader *r, ka_lf_source *out);
} directives[] = { { "LogFormat", read_logformat },
                   { "CustomLog", read_customlog },
                   { "GlobalLog", read_customlog } };

static bool is_nickname(const char *text)
{
    size_t n = 0;

    while (text[n] && !is_space(text[n]) && !strchr("%\"'\\[]", text[n])) {
        n++;
    }
    return n > 0 && text[n] == '\0'
           && strchr("-_", text[0]) == NULL;
}

/* A string that is quoted as a whole, or a LogFormat's arguments without the
 * directive.  Quotes around a format's first item look alike at the start. */
static bool is_quoted(const reader *r)
{
    reader probe = *r;
    const char *text = r->all.text;

    skip_space(&probe);
    if (text[probe.at] != '"' && text[probe.at] != '\'') {
        return false;
    }
    probe.at = closing_quote(&probe);
    if (text[probe.at] == '\0') {
        return true; /* for read_word to complain about */
    }
    probe.at++;
    skip_space(&probe);
    return text[probe.at] == '\0' || is_nickname(text + probe.at);
}

/* A string as it would stand between the quotes of a configuration line; a
 * name may have blanks around it. */
static apr_status_t read_string(reader *r, ka_lf_source *out)
{
    size_t from = r->at, to = r->all.length;
    span format;

    if (!memchr(r->all.text, '%', to)) {
        for (skip_space(r), from = r->at;
             to > from && is_space(r->all.text[to - 1]); to--) {
        }
    }
    format = unquote(r, from, to, '"');
    return finish_word(r, out, &format, "custom");
}

apr_status_t ka_lf_source_read(ka_lf_source *out, const char **error,
                               const char *text, apr_pool_t *pool)
{
    size_t length = strlen(text);
    reader r = { .error = error, .pool = pool };
    size_t start;

    if (length > KA_LF_TEXT_MAX) {
        *error = apr_psprintf(pool, "column %d: the format is longer than "
                              "%d bytes; give a shorter one",
                              KA_LF_TEXT_MAX + 1, KA_LF_TEXT_MAX);
        return APR_EINVAL;
    }
    r.all = join_lines(text, length, pool);
    skip_space(&r);
    start = r.at;
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        size_t n = strlen(directives[i].name);

        if (strncasecmp(r.all.text + start, directives[i].name, n) == 0
            && (is_space(r.all.text[start + n])
                || r.all.text[start + n] == '\0')) {
            r.at = start + n;
            return directives[i].read(&r, out);
        }
    }
    /* A format may begin with a blank that every line begins with, too. */
    r.at = 0;
    return is_quoted(&r) ? read_logformat(&r, out) : read_string(&r, out);
}
