/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A request line is whatever the client sent up to the first newline: blanks
 * and markup in the target, TLS or SSH bytes, anything.  So the method is cut
 * off the front and the protocol off the end, and the rest is the target.
 */
#include "log_request.h"

#include "logtext.h"
#include "wide.h"

/* Longest method in the IANA registry: 18 (UPDATEREDIRECTREF: 17). */
#define METHOD_MAX 24

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_method(ka_str text)
{
    if (text.len == 0 || text.len > METHOD_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_letter(text.ptr[i]) && text.ptr[i] != '-'
            && text.ptr[i] != '_') {
            return false;
        }
    }
    return is_letter(text.ptr[0]);
}

/* Whether it can be a target where no protocol says that this is HTTP. */
static bool is_target(ka_str text)
{
    return ka_str_starts(text, "/") || ka_str_is(text, "*")
           || ka_str_starts_case(text, "http://")
           || ka_str_starts_case(text, "https://");
}

/* Whether the text ends with a blank and HTTP/1.x: nearly all do. */
static bool ends_plainly(ka_str text)
{
    const uint64_t http1 = ka_wide_word("HTTP/1.");
    const char *last;

    if (text.len < 9) {
        return false;
    }
    last = text.ptr + text.len - 8;
    return last[-1] == ' ' && last[7] != ' '
           && (ka_wide_word(last) & UINT64_C(0x00ffffffffffffff)) == http1;
}

/* Cuts "HTTP/x.y" and blanks off the end of `rest`; absent if it has none. */
static ka_str cut_protocol(ka_str *rest)
{
    size_t at;
    ka_str last;

    if (ends_plainly(*rest)) {
        rest->len -= 9;
        return (ka_str){rest->ptr + rest->len + 1, 8};
    }
    while (rest->len && rest->ptr[rest->len - 1] == ' ') {
        rest->len--;
    }
    at = ka_str_find_last(*rest, ' ');
    last = at < rest->len ? ka_str_tail(*rest, at + 1) : *rest;
    if (!ka_str_starts_case(last, "HTTP/")) {
        return (ka_str){NULL, 0};
    }
    rest->len = at < rest->len ? at : 0;
    return last;
}

static void set_target(ka_log_request *out, ka_str target)
{
    const size_t end = ka_str_find(target, '?');

    out->path = ka_str_head(target, end);
    out->query = end < target.len;
}

/* The length of the method with which the line begins; 0 if it has none. */
static size_t method_length(ka_str line)
{
    size_t end;

    if (ka_str_starts(line, "GET ")) {
        return 3;
    }
    end = ka_str_find(line, ' ');
    return end < line.len && is_method(ka_str_head(line, end)) ? end : 0;
}

static void clear(ka_log_request *out)
{
    const ka_str none = {NULL, 0};

    out->shape = KA_SHAPE_UNTOLD;
    out->method = none;
    out->path = none;
    out->protocol = none;
    out->line = none;
    out->query = out->protocol_told = false;
}

static void split(ka_log_request *out, ka_str line)
{
    const size_t end = method_length(line);
    const ka_str method = ka_str_head(line, end);
    ka_str rest, protocol;

    out->shape = line.len ? KA_SHAPE_OTHER : KA_SHAPE_NONE;
    if (end == 0) {
        return;
    }
    rest = ka_str_tail(line, end + 1);
    protocol = cut_protocol(&rest);
    if (!protocol.ptr && !is_target(rest)) {
        return;
    }
    out->shape = KA_SHAPE_HTTP;
    out->method = method;
    out->protocol = protocol;
    out->protocol_told = true;
    out->line = line;
    set_target(out, rest);
}

/* %m %U %q %H: httpd has done the splitting. */
static void take_items(ka_log_request *out, uint64_t fields,
                       const ka_logline *line)
{
    const uint64_t telling = KA_LF_BIT(KA_LF_METHOD) | KA_LF_BIT(KA_LF_URI);

    if (line->method.ptr) {
        out->method = line->method;
        out->line = (ka_str){NULL, 0};
    }
    if (line->uri.ptr) {
        set_target(out, line->uri);
        out->line = (ka_str){NULL, 0};
    }
    if (line->query.len) {
        out->query = true;
    }
    if (line->protocol.ptr) {
        out->protocol = line->protocol;
        out->protocol_told = true;
    }
    if (out->shape != KA_SHAPE_UNTOLD || !(fields & telling)) {
        return;
    }
    if (!out->method.len && !out->path.len) {
        out->shape = KA_SHAPE_NONE;
        return;
    }
    out->shape = out->method.ptr && !is_method(out->method) ? KA_SHAPE_OTHER
                                                            : KA_SHAPE_HTTP;
}

void ka_log_request_read(ka_log_request *out, uint64_t fields,
                         const ka_logline *line)
{
    clear(out);
    if (fields & KA_LF_BIT(KA_LF_REQUEST)) {
        split(out, line->request);
    }
    take_items(out, fields, line);
}
