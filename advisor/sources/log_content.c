/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Two tables: handlers by how their names begin, extensions by first match.
 */
#include "log_content.h"

#include "logtext.h"

#define EXTENSION_MAX 8

#define S KA_CLASS_STATIC
#define D KA_CLASS_DYNAMIC

/* First match wins: the narrow prefix stands before the wide one. */
static const struct {
    const char *prefix;
    ka_class cls;
} handlers[] = {
    {"default-handler", S},      {"httpd/unix-directory", S},
    {"httpd/send-as-is", S},     {"send-as-is", S},
    {"type-map", S},             {"imap-file", S},
    {"application/x-httpd", D},  {"application/x-type-map", S},
    {"application/x-lsphp", D},  {"application/x-ea-php", D},
    {"application/", S},         {"text/x-server-parsed", D},
    {"text/", S},                {"image/", S},
    {"audio/", S},               {"video/", S},
    {"font/", S},
};

ka_class ka_content_by_handler(ka_str handler)
{
    if (!handler.len) {
        return S;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (ka_str_starts(handler, handlers[i].prefix)) {
            return handlers[i].cls;
        }
    }
    /* proxy-server, proxy:fcgi:..., cgi-script, fcgid-script, wsgi-script,
     * perl-script, lua-script, redirect-handler (mod_rewrite's front
     * controllers), server-status, names of one's own: all run code. */
    return D;
}

/* Sorted, to be searched; `queried` is the class with a query string. */
static const struct {
    char name[EXTENSION_MAX + 1];
    uint8_t plain, queried;
} extensions[] = {
    {"7z", S, D},    {"apk", S, D},   {"asc", S, D},   {"atom", S, D},
    {"avi", S, S},   {"avif", S, S},  {"bin", S, D},   {"bmp", S, S},
    {"br", S, D},    {"bz2", S, D},   {"css", S, S},   {"csv", S, D},
    {"cur", S, S},   {"deb", S, D},   {"dmg", S, D},   {"doc", S, D},
    {"docx", S, D},  {"eot", S, S},   {"epub", S, D},  {"exe", S, D},
    {"flac", S, S},  {"flv", S, S},   {"gif", S, S},   {"gz", S, D},
    {"htm", S, D},   {"html", S, D},  {"ico", S, S},   {"img", S, D},
    {"iso", S, D},   {"jar", S, D},   {"jpeg", S, S},  {"jpg", S, S},
    {"js", S, S},    {"json", S, D},  {"m3u8", S, D},  {"m4a", S, S},
    {"m4v", S, S},   {"map", S, S},   {"md", S, D},    {"mid", S, S},
    {"mjs", S, S},   {"mkv", S, S},   {"mov", S, S},   {"mp3", S, S},
    {"mp4", S, S},   {"mpeg", S, S},  {"mpg", S, S},   {"msi", S, D},
    {"odt", S, D},   {"ogg", S, S},   {"ogv", S, S},   {"otf", S, S},
    {"pdf", S, D},   {"png", S, S},   {"ppt", S, D},   {"pptx", S, D},
    {"ps", S, D},    {"rar", S, D},   {"rdf", S, D},   {"rpm", S, D},
    {"rss", S, D},   {"rtf", S, D},   {"sig", S, D},   {"svg", S, S},
    {"svgz", S, S},  {"swf", S, S},   {"tar", S, D},   {"tgz", S, D},
    {"tif", S, S},   {"tiff", S, S},  {"ts", S, D},    {"ttf", S, S},
    {"txt", S, D},   {"vtt", S, S},   {"wasm", S, S},  {"wav", S, S},
    {"webm", S, S},  {"webp", S, S},  {"wma", S, S},   {"wmv", S, S},
    {"woff", S, S},  {"woff2", S, S}, {"xbm", S, S},   {"xhtml", S, D},
    {"xls", S, D},   {"xlsx", S, D},  {"xml", S, D},   {"xsl", S, D},
    {"xz", S, D},    {"zip", S, D},   {"zst", S, D},
};

/* The path's extension in lower case, of at most EXTENSION_MAX bytes. */
static bool extension_of(char *out, ka_str path)
{
    const size_t slash = ka_str_find_last(path, '/');
    ka_str name = slash < path.len ? ka_str_tail(path, slash + 1) : path;
    size_t dot;

    /* ";jsessionid=..." is a parameter of the segment. */
    name.len = ka_str_find(name, ';');
    dot = ka_str_find_last(name, '.');
    if (dot == name.len || name.len - dot - 1 > EXTENSION_MAX) {
        return false;
    }
    name = ka_str_tail(name, dot + 1);
    memset(out, 0, EXTENSION_MAX + 1);
    for (size_t i = 0; i < name.len; i++) {
        out[i] = ka_lower(name.ptr[i]);
    }
    return true;
}

static ka_class class_of_extension(ka_str path, bool query, bool *known)
{
    char wanted[EXTENSION_MAX + 1];
    size_t low = 0, high = sizeof(extensions) / sizeof(extensions[0]);

    *known = false;
    if (!extension_of(wanted, path)) {
        return D;
    }
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order =
            memcmp(wanted, extensions[middle].name, sizeof(wanted));

        if (order == 0) {
            *known = true;
            return query ? extensions[middle].queried
                         : extensions[middle].plain;
        }
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    /* .php .cgi .pl .jsp .do ... and all that is not known to be a file; a
     * dot in a bare path ("/user/j.doe") is no extension either. */
    return D;
}

ka_class ka_content_by_request(const ka_log_request *request, int status)
{
    ka_class cls;
    bool known;

    if (request->method.ptr && !ka_str_is(request->method, "GET")
        && !ka_str_is(request->method, "HEAD")) {
        return D;
    }
    cls = class_of_extension(request->path, request->query, &known);
    if (known || request->query) {
        return cls;
    }
    return status == 304 ? S : D;
}
