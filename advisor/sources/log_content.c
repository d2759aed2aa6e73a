/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Two tables: handlers by how their names begin, extensions by first match.
 */
#include "log_content.h"

#include <assert.h>

#include <apr_strings.h>

#include "logtext.h"
#include "wide.h"

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

/* Names are padded with zeros; `queried` is the class with a query string. */
static const struct {
    char name[EXTENSION_MAX];
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

const char *ka_content_static_names(apr_pool_t *pool)
{
    const char *names = "";

    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        if (extensions[i].plain == S) {
            names = apr_psprintf(pool, "%s%s%.*s", names, *names ? "|" : "",
                                 EXTENSION_MAX, extensions[i].name);
        }
    }
    return names;
}

/* ---- rows of extensions ------------------------------------------------- */

#define ROWS_BITS 9

/* Chosen so that no two of the extensions fall on one slot. */
#define ROWS_FACTOR UINT64_C(0x33d1ea320cde19df)

struct ka_content {
    unsigned char row[1 << ROWS_BITS]; /* of `extensions`; 0 also if none */
};

static size_t slot_of(uint64_t name)
{
    return name * ROWS_FACTOR >> (64 - ROWS_BITS);
}

ka_content *ka_content_make(apr_pool_t *pool)
{
    ka_content *self = apr_pcalloc(pool, sizeof(*self));

    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        const size_t slot = slot_of(ka_wide_word(extensions[i].name));

        assert(self->row[slot] == 0);
        self->row[slot] = (unsigned char)i;
    }
    return self;
}

/* ---- extensions --------------------------------------------------------- */

/* What follows the path's last dot, absent if that is no extension. */
static ka_str extension_of(ka_str path)
{
    const size_t slash = ka_str_find_last(path, '/');
    ka_str name = slash < path.len ? ka_str_tail(path, slash + 1) : path;
    size_t dot;

    /* ";jsessionid=..." is a parameter of the segment. */
    name.len = ka_str_find(name, ';');
    dot = ka_str_find_last(name, '.');
    if (dot == name.len || name.len - dot - 1 > EXTENSION_MAX) {
        return (ka_str){NULL, 0};
    }
    return ka_str_tail(name, dot + 1);
}

/* The same, as a word, from a look at 16 bytes of the request line that end
 * where the path does, or begin where the line does.  No branch depends on
 * the path's length or name: those of the next line cannot be foreseen.
 * @return false if these bytes do not tell */
static bool extension_nearby(uint64_t *out, const ka_log_request *request)
{
    const char *start = request->line.ptr, *at, *end;
    unsigned inside, dots, n;

    if (request->line.len < 16 || !request->path.len) {
        return false;
    }
    end = request->path.ptr + request->path.len;
    if (end - start < 8) {
        return false;
    }
    at = end - start >= 16 ? end - 16 : start;
    /* Bits of the path's bytes, and of the method's, which is letters. */
    inside = 0xffffu >> (at + 16 - end);
    if (!(ka_wide_mask16(at, '/') & inside)
        || ka_wide_mask16(at, ';') & inside) {
        return false;
    }
    /* Bytes behind the last dot: if a slash is among them, or if the dot is
     * none, they are no extension that is known. */
    dots = ka_wide_mask16(at, '.') & inside;
    n = (unsigned)(end - at) - (32 - (unsigned)__builtin_clz(dots | 1));
    *out = n - 1 < EXTENSION_MAX ? ka_wide_word(end - 8) >> (64 - 8 * n) : 0;
    return true;
}

static ka_class class_of_extension(const ka_content *self,
                                   const ka_log_request *request, bool *known)
{
    uint64_t wanted;
    size_t row;

    if (!extension_nearby(&wanted, request)) {
        const ka_str text = extension_of(request->path);

        wanted = ka_wide_text_word(text.ptr, text.len);
    }
    wanted = ka_wide_lower(wanted);
    row = self->row[slot_of(wanted)];
    /* .php .cgi .pl .jsp .do ... and all that is not known to be a file are
     * dynamic; a dot in a bare path ("/user/j.doe") is no extension either. */
    *known = ka_wide_word(extensions[row].name) == wanted;
    return !*known ? D
           : request->query ? extensions[row].queried
                            : extensions[row].plain;
}

ka_class ka_content_by_request(const ka_content *self,
                               const ka_log_request *request, int status)
{
    ka_class cls;
    bool known;

    if (request->method.ptr && !ka_str_is(request->method, "GET")
        && !ka_str_is(request->method, "HEAD")) {
        return D;
    }
    cls = class_of_extension(self, request, &known);
    return !known && !request->query && status == 304 ? S : cls;
}
