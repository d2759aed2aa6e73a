/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A request line is whatever the client sent up to the first newline: blanks
 * and markup in the target, TLS or SSH bytes, anything.  So the method is cut
 * off the front and the protocol off the end, and the rest is the target.
 */
#include "log_request.h"

#include "logtext.h"

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

/* Cuts "HTTP/x.y" and blanks off the end of `rest`; absent if it has none. */
static ka_str cut_protocol(ka_str *rest)
{
    size_t at;
    ka_str last;

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

static void split(ka_log_request *out, ka_str line)
{
    const size_t end = ka_str_find(line, ' ');
    const ka_str method = ka_str_head(line, end);
    ka_str rest, protocol;

    out->shape = line.len ? KA_SHAPE_OTHER : KA_SHAPE_NONE;
    if (end == line.len || !is_method(method)) {
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
    set_target(out, rest);
}

/* %m %U %q %H: httpd has done the splitting. */
static void take_items(ka_log_request *out, uint64_t fields,
                       const ka_logline *line)
{
    const uint64_t telling = KA_LF_BIT(KA_LF_METHOD) | KA_LF_BIT(KA_LF_URI);

    if (line->method.ptr) {
        out->method = line->method;
    }
    if (line->uri.ptr) {
        set_target(out, line->uri);
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
    *out = (ka_log_request){.shape = KA_SHAPE_UNTOLD};
    if (fields & KA_LF_BIT(KA_LF_REQUEST)) {
        split(out, line->request);
    }
    take_items(out, fields, line);
}
