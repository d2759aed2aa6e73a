/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Formats: quoting, configuration lines, presets, what is refused and why. */
#include "unit.h"

#include "sources/logformat.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROWS(array) for (size_t i = 0; i < COUNT(array); i++)

static ka_logformat *compile(const char *text, apr_pool_t *pool)
{
    ka_logformat *format = NULL;
    const char *error = "";

    if (ka_logformat_compile(&format, &error, text, pool) != APR_SUCCESS) {
        fail_msg("%s\n%s", text, error);
    }
    return format;
}

/* One level of quoting is undone, whichever way the format is given. */
static void test_logformat__text_and_name(void **state)
{
    static const struct {
        const char *given, *name, *text;
    } cases[] = {
        { "%h \"%r\" %t", "custom", "%h \"%r\" %t" },
        { "%h \\\"%r\\\" %t", "custom", "%h \"%r\" %t" },
        { "\\\"%r\\\" \\\"%t\\\"", "custom", "\"%r\" \"%t\"" },
        { "\"%r\" \"%t\"", "custom", "\"%r\" \"%t\"" },
        { "\"%h \\\"%r\\\" %t\"", "custom", "%h \"%r\" %t" },
        { "'%h \"%r\" %t'", "custom", "%h \"%r\" %t" },
        { "\"%h \\\"%r\\\" %t\" mine", "mine", "%h \"%r\" %t" },
        { " %h %t", "custom", " %h %t" },
        { "%h %t\r\n", "custom", "%h %t" },
        { "%h \\\n%t", "custom", "%h %t" },
        { "%h\\t%t", "custom", "%h\\t%t" },
        { "%h\\\\t%t", "custom", "%h\\t%t" },
        { "combined", "combined", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" "
                                  "\"%{User-Agent}i\"" },
        { " Common\n", "common", "%h %l %u %t \"%r\" %>s %b" },
        { "CLF", "common", "%h %l %u %t \"%r\" %>s %b" },
        { "LogFormat \"%h \\\"%r\\\" %t\" plus", "plus", "%h \"%r\" %t" },
        { "\tlogformat  '%h %t'  a_b ", "a_b", "%h %t" },
        { "LogFormat \"%h \\\n  %t\" two\n", "two", "%h   %t" },
        { "LogFormat \"%h %t\"", "custom", "%h %t" },
        { "LogFormat %t mine", "mine", "%t" },
        { "LogFormat \"%h\\\\t%t\" tab", "tab", "%h\\t%t" },
        { "LogFormat '%h \\'%r\\' %t' q", "q", "%h '%r' %t" },
        { "CustomLog logs/access_log common", "common",
          "%h %l %u %t \"%r\" %>s %b" },
        { "CustomLog \"logs/a b\" \"%h %t\" env=!dontlog", "custom", "%h %t" },
        { "CustomLog \"|/usr/bin/rotatelogs -l x 86400\" \"%h %t\" "
          "\"expr=%{REQUEST_STATUS} == 200\"", "custom", "%h %t" },
        { "CustomLog |/bin/cat \"%t \\\"%r\\\"\"", "custom", "%t \"%r\"" },
        { "GlobalLog ${APACHE_LOG_DIR}/x.log vhost_common", "vhost_common",
          "%v %h %l %u %t \"%r\" %>s %b" },
        { "{\"t\":\"%{usec}t\",\"r\":\"%r\"}", "custom",
          "{\"t\":\"%{usec}t\",\"r\":\"%r\"}" },
        { "LogFormat \"{\\\"t\\\":\\\"%{usec}t\\\"}\" json", "json",
          "{\"t\":\"%{usec}t\"}" },
    };

    ROWS(cases) {
        const ka_logformat *format = compile(cases[i].given, *state);

        assert_string_equal(ka_logformat_name(format), cases[i].name);
        assert_string_equal(ka_logformat_text(format), cases[i].text);
    }
}

static const struct {
    const char *given, *error;
} format_errors[] = {
    { "%h %Y %t", "column 4: %Y is no item of httpd's LogFormat; remove "
                  "it, or write %% for a percent sign" },
    { "%t %>{x}Z", "column 4: %>{x}Z is no item of httpd's LogFormat; "
                   "remove it, or write %% for a percent sign" },
    { "%t %^XY", "column 4: %^XY is no item of httpd's LogFormat; remove "
                 "it, or write %% for a percent sign" },
    { "%t %^F", "column 4: %^ is no item of httpd's LogFormat; remove it, "
                "or write %% for a percent sign" },
    { "%t %\001", "column 4: %? is no item of httpd's LogFormat; remove "
                  "it, or write %% for a percent sign" },
    { "%t %{Referer", "column 5: the brace that opens here is not closed; "
                      "add } before the item's letter" },
    { "%t 100%", "column 7: the item that begins here has no letter; "
                 "complete it, or write %% for a percent sign" },
    { "%t %!200,304", "column 4: the item that begins here has no letter; "
                      "complete it, or write %% for a percent sign" },
    { "%t %h%u", "column 6: %h and %u touch with nothing to tell them "
                 "apart; put a blank or quotes between them" },
    { "%t %>s%b", "column 7: %>s and %b touch with nothing to tell them "
                  "apart; put a blank or quotes between them" },
    { "%t %U%q%H", "column 8: %U%q and %H touch with nothing to tell them "
                   "apart; put a blank or quotes between them" },
    { "%t %{x}i%{remote}p", "column 9: %{x}i and %{remote}p touch with "
                            "nothing to tell them apart; put a blank or "
                            "quotes between them" },
    { "%h%200t", "column 3: %h and %200t touch with nothing to tell them "
                 "apart; put a blank or quotes between them" },
    { "%{%s}t%{msec_frac}t", "column 7: %{%s}t and %{msec_frac}t touch "
                             "with nothing to tell them apart; put a "
                             "blank or quotes between them" },
    { "%{%F %T %Z}t%u", "column 13: %{%F %T %Z}t and %u touch with nothing "
                        "to tell them apart; put a blank or quotes "
                        "between them" },
    { "%b%{%e %b %T %Y}t", "column 3: %b and %{%e %b %T %Y}t touch with "
                           "nothing to tell them apart; put a blank or "
                           "quotes between them" },
    { "%{%F %H:%M:%-S}t%b", "column 17: %{%F %H:%M:%-S}t and %b touch with "
                            "nothing to tell them apart; put a blank or "
                            "quotes between them" },
    { "%h %l", "column 6: the format has no time of the request; add %t" },
    { "%h %D", "column 6: the format has no time of the request; add %t" },
    { "%h %{%T}t", "column 4: %{%T}t does not tell the date and time of a "
                   "request, as it lacks the year; add %t" },
    { "%{%F}t", "column 1: %{%F}t does not tell the date and time of a "
                "request, as it lacks the hour; add %t" },
    { "%h %{end:%F %R}t", "column 4: %{end:%F %R}t does not tell the date "
                          "and time of a request, as it lacks the second; "
                          "add %t" },
    { "%{usec_frac}t", "column 1: %{usec_frac}t is a fraction of a second "
                       "without the second; add %t" },
    { "%{%F %Q}t", "column 6: `%Q` in %{%F %Q}t is no strftime conversion; "
                   "remove it, or use %{usec_frac}t for a fraction of a "
                   "second" },
    { "%t %{end:%N}t", "column 10: `%N` in %{end:%N}t is no strftime "
                       "conversion; remove it, or use %{usec_frac}t for a "
                       "fraction of a second" },
    { "%t %h\\n%u", "column 6: a format with a newline makes several lines "
                    "of each request, which cannot be read line by line; "
                    "log one line per request" },
    { "LogFormat \"%h %t", "column 11: the quote that opens here is not "
                           "closed; close it behind the format" },
    { "\"%h %t", "column 1: the quote that opens here is not closed; close "
                 "it behind the format" },
    { "LogFormat", "column 10: LogFormat lacks its format; give it as "
                   "LogFormat \"...\" nickname" },
    { "LogFormat %h %l %u", "column 17: LogFormat takes a format and a "
                            "nickname; put the format into quotes" },
    { "CustomLog logs/x", "column 17: CustomLog lacks its format; give the "
                          "LogFormat line that the server uses" },
    { "CustomLog logs/x mine",
      "column 18: `mine` is no known format's name and holds no % item; "
      "give a LogFormat line, or one of kastats, combinedio, "
      "vhost_combined, combined, vhost_common, common, ssl_request" },
    { "", "column 1: the format is empty; give a LogFormat line, or one of "
          "kastats, combinedio, vhost_combined, combined, vhost_common, "
          "common, ssl_request" },
    /* Columns are those of what was given, quotes and escapes counted. */
    { "LogFormat \"\\\"%r\\\" %Y\" x", "column 19: %Y is no item of "
                                       "httpd's LogFormat; remove it, or "
                                       "write %% for a percent sign" },
    { "\\\"%r\\\" %Y", "column 8: %Y is no item of httpd's LogFormat; "
                       "remove it, or write %% for a percent sign" },
    { "%h \\\n%Y", "column 6: %Y is no item of httpd's LogFormat; remove "
                   "it, or write %% for a percent sign" },
};

static void test_logformat__errors_name_column_item_and_remedy(void **state)
{
    ROWS(format_errors) {
        ka_logformat *format = NULL;
        const char *error = NULL;

        assert_int_equal(ka_logformat_compile(&format, &error, format_errors[i].given,
                                              *state), APR_EINVAL);
        assert_string_equal(error, format_errors[i].error);
        assert_null(format);
    }
}

static void test_logformat__items_that_may_touch(void **state)
{
    static const char *const cases[] = {
        "%h%t",           "%t%h",
        "%U%q %t",        "%f%q %t",
        "%b%X %t",        "%X%>s %t",
        "%{%F %T}t%{usec_frac}t",
        "%{%F %T}t%{msec_frac}t%{%z}t",
        "%{msec_frac}t%t%D",
        "%t%{hextid}P%X",
        "%b%{%b %e %T %Y}t",
        "%b%{[%F %T}t",
        "%b%{%z %F %T}t"
    };

    ROWS(cases) {
        compile(cases[i], *state);
    }
}

#define BIT(field) KA_LF_BIT(KA_LF_##field)

static void test_logformat__fields_and_clocks(void **state)
{
    static const struct {
        const char *format;
        uint64_t fields;
        int64_t clock_us, service_us;
    } cases[] = {
        { "common", BIT(HOST) | BIT(BEGIN) | BIT(REQUEST) | BIT(STATUS)
                    | BIT(BODY_BYTES), 1000000, 0 },
        { "kastats", BIT(PEER) | BIT(REMOTE_PORT) | BIT(CLIENT) | BIT(BEGIN)
                     | BIT(SERVICE) | BIT(KEEPALIVES) | BIT(CONN_STATUS)
                     | BIT(PROTOCOL) | BIT(STATUS) | BIT(BYTES_OUT) | BIT(PID)
                     | BIT(TID) | BIT(VHOST) | BIT(REQUEST) | BIT(USER_AGENT),
          1, 1 },
        { "ssl_request", BIT(BEGIN) | BIT(HOST) | BIT(TLS_PROTOCOL)
                         | BIT(REQUEST) | BIT(BODY_BYTES), 1000000, 0 },
        { "%U%q %t %m %R %V %I %^FB %p %{UNIQUE_ID}e %{version}c",
          BIT(URI) | BIT(QUERY) | BIT(BEGIN) | BIT(METHOD) | BIT(HANDLER)
          | BIT(VHOST) | BIT(BYTES_IN) | BIT(FIRST_BYTE) | BIT(LOCAL_PORT)
          | BIT(UNIQUE_ID) | BIT(TLS_PROTOCOL), 1000000, 0 },
        { "%t %T", BIT(BEGIN) | BIT(SERVICE), 1000000, 1000000 },
        { "%t %{ms}T %T", BIT(BEGIN) | BIT(SERVICE), 1000000, 1000 },
        { "%t %{S}T %{US}T", BIT(BEGIN) | BIT(SERVICE), 1000000, 1 },
        { "%{msec}t", BIT(BEGIN), 1000, 0 },
        { "%{sec}t", BIT(BEGIN), 1000000, 0 },
        { "%t %{msec_frac}t", BIT(BEGIN), 1000, 0 },
        { "%{%s}t.%{begin:usec_frac}t", BIT(BEGIN), 1, 0 },
        { "%{begin:usec}t %{end:usec}t", BIT(BEGIN) | BIT(END), 1, 1 },
        { "%t %{end}t", BIT(BEGIN) | BIT(END), 1000000, 1000000 },
        { "%{msec}t %{end:usec}t %T", BIT(BEGIN) | BIT(END) | BIT(SERVICE),
          1000, 1000 },
        { "%t %{end:usec}t %D", BIT(BEGIN) | BIT(END) | BIT(SERVICE), 1000000,
          1 },
        { "%{end:usec}t %D", BIT(END) | BIT(SERVICE), 1, 1 },
        { "%{end:usec}t %T", BIT(END) | BIT(SERVICE), 1000000, 1000000 },
        { "%{end:msec}t", BIT(END), 1000, 0 },
        { "%{foo}T %{foo}p %t", BIT(BEGIN), 1000000, 0 }
    };

    ROWS(cases) {
        const ka_logformat *format = compile(cases[i].format, *state);

        assert_int_equal(ka_logformat_fields(format), cases[i].fields);
        assert_int_equal(ka_logformat_clock_us(format), cases[i].clock_us);
        assert_int_equal(ka_logformat_service_us(format), cases[i].service_us);
    }
}

static void test_logformat__presets_compile_by_name_and_text(void **state)
{
    size_t n = 0;

    for (const ka_logformat_preset *p = ka_logformat_presets(); p->name; p++) {
        const ka_logformat *format = compile(p->name, *state);

        assert_string_equal(ka_logformat_name(format), p->name);
        assert_string_equal(ka_logformat_text(format), p->format);
        assert_string_equal(ka_logformat_text(compile(p->format, *state)),
                            p->format);
        n++;
    }
    assert_int_equal(n, 7);
}

/* What we tell people to write is the preset of that name. */
static void test_logformat__recommended_line_is_kastats(void **state)
{
    char line[400];
    const ka_logformat *format;

    snprintf(line, sizeof(line), "LogFormat \"%s\" kastats",
             ka_logformat_recommended);
    format = compile(line, *state);
    assert_string_equal(ka_logformat_name(format), "kastats");
    assert_string_equal(ka_logformat_text(format),
                        ka_logformat_text(compile("kastats", *state)));
    assert_string_equal(ka_logformat_text(compile(ka_logformat_recommended,
                                                  *state)),
                        ka_logformat_text(format));
}

static void test_logformat__limits(void **state)
{
    ka_logformat *format;
    const char *error = NULL;
    char *text = malloc(80000);

    assert_non_null(text);
    strcpy(text, "%t");
    for (int i = 1; i < 128; i++) {
        strcat(text, " %h");
    }
    compile(text, *state);
    strcat(text, " %u");
    assert_int_equal(ka_logformat_compile(&format, &error, text, *state),
                     APR_EINVAL);
    assert_string_equal(error, "column 385: the format has more than 128 "
                               "items; leave some out");
    memset(text, 'x', 70000);
    strcpy(text + 70000, "%t");
    assert_int_equal(ka_logformat_compile(&format, &error, text, *state),
                     APR_EINVAL);
    assert_string_equal(error, "column 65537: the format is longer than 65536 "
                               "bytes; give a shorter one");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_logformat__text_and_name),
        unit_test(test_logformat__errors_name_column_item_and_remedy),
        unit_test(test_logformat__items_that_may_touch),
        unit_test(test_logformat__fields_and_clocks),
        unit_test(test_logformat__presets_compile_by_name_and_text),
        unit_test(test_logformat__recommended_line_is_kastats),
        unit_test(test_logformat__limits)
    };

    return unit_main(tests);
}
