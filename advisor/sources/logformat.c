/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "logformat_priv.h"

#include <strings.h>
#include <apr_strings.h>

/* The recommended format twice: as it stands between the quotes of a
 * configuration line, and undone. */
#define RECOMMENDED(quote)                                                     \
    "%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s %O %P %{tid}P %v "     \
    quote "%r" quote " " quote "%{User-Agent}i" quote

const char ka_logformat_recommended[] = RECOMMENDED("\\\"");

/* Most specific first: a user's name may hold blanks, so that each of these
 * also takes lines that have a field more in front. */
static const ka_logformat_preset presets[] = {
    { "kastats", RECOMMENDED("\"") },
    { "combinedio", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" "
                    "\"%{User-Agent}i\" %I %O" },
    { "vhost_combined", "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" "
                        "\"%{User-Agent}i\"" },
    { "combined", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" "
                  "\"%{User-Agent}i\"" },
    { "vhost_common", "%v %h %l %u %t \"%r\" %>s %b" },
    { "common", "%h %l %u %t \"%r\" %>s %b" },
    { "ssl_request", "%t %h %{SSL_PROTOCOL}x %{SSL_CIPHER}x \"%r\" %b" },
    { NULL, NULL }
};

const ka_logformat_preset *ka_logformat_presets(void)
{
    return presets;
}

const ka_logformat_preset *ka_lf_preset_find(const char *name)
{
    /* httpd defines CLF itself. */
    if (strcasecmp(name, "CLF") == 0) {
        name = "common";
    }
    for (const ka_logformat_preset *p = presets; p->name; p++) {
        if (strcasecmp(p->name, name) == 0) {
            return p;
        }
    }
    return NULL;
}

const char *ka_lf_printable(const char *text, size_t length, apr_pool_t *pool)
{
    const size_t limit = 60;
    bool cut = length > limit;
    char *copy = apr_pstrmemdup(pool, text, cut ? limit : length);

    for (char *c = copy; *c; c++) {
        if (*c < 0x20 || *c > 0x7e) {
            *c = '?';
        }
    }
    return cut ? apr_pstrcat(pool, copy, "...", NULL) : copy;
}

apr_status_t ka_logformat_compile(ka_logformat **out, const char **error,
                                  const char *text, apr_pool_t *pool)
{
    ka_lf_source source;
    apr_status_t rv = ka_lf_source_read(&source, error, text, pool);

    return rv == APR_SUCCESS ? ka_lf_compile(out, error, &source, pool) : rv;
}

const char *ka_logformat_name(const ka_logformat *format)
{
    return format->name;
}

const char *ka_logformat_text(const ka_logformat *format)
{
    return format->text;
}

uint64_t ka_logformat_fields(const ka_logformat *format)
{
    return format->fields;
}

int64_t ka_logformat_clock_us(const ka_logformat *format)
{
    return format->clock_us;
}

int64_t ka_logformat_service_us(const ka_logformat *format)
{
    return format->service_us;
}
