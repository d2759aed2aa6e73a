/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Lines taken apart: every item, quoting, texts that are hard to end, and
 * what is said of lines that do not follow their format. */
#include "unit.h"

#include "logline_show.h"

/* 2024-01-02 03:04:05 UTC, as %t and in what a test expects. */
#define T "[02/Jan/2024:03:04:05 +0000]"
#define B "begin=1704164645000000"

static void test_logline__presets(void **state)
{
    static const logline_case cases[] = {
        { "common", "client1.example.net - - [09/Jul/1995:00:00:00 -0400] "
                    "\"GET /a HTTP/1.0\" 200 85465",
          "begin=805262400000000 body=85465 status=200 "
          "host=<client1.example.net> request=<GET /a HTTP/1.0>" },
        { "combined", "::1 - - " T " \"OPTIONS * HTTP/1.0\" 200 - \"-\" "
                      "\"Apache (internal dummy connection)\"",
          B " status=200 host=<::1> request=<OPTIONS * HTTP/1.0> "
          "agent=<Apache (internal dummy connection)>" },
        { "combined", "198.18.0.1 - - " T " \"-\" 400 0 \"-\" \"-\"",
          B " body=0 status=400 host=<198.18.0.1>" },
        { "vhost_combined", "www.example.org:80 198.18.0.1 - - " T
                            " \"GET / HTTP/1.1\" 302 504 \"-\" \"b\"",
          B " out=504 local=80 status=302 host=<198.18.0.1> "
          "request=<GET / HTTP/1.1> vhost=<www.example.org> agent=<b>" },
        { "vhost_combined", "[::1]:8080 ::1 - - " T " \"-\" 408 0 \"-\" \"-\"",
          B " out=0 local=8080 status=408 host=<::1> vhost=<[::1]>" },
        { "vhost_combined", "fe80::1:80 ::1 - - " T " \"-\" 408 - \"-\" \"-\"",
          B " local=80 status=408 host=<::1> vhost=<fe80::1>" },
        { "vhost_common", "v 1.2.3.4 - joe " T " \"GET /\" 200 1",
          B " body=1 status=200 host=<1.2.3.4> request=<GET /> vhost=<v>" },
        { "combinedio", "h - - " T " \"GET /\" 200 1 \"-\" \"a\" 10 20",
          B " body=1 in=10 out=20 status=200 host=<h> request=<GET /> "
          "agent=<a>" },
        { "ssl_request", T " 198.18.0.1 TLSv1.2 ECDHE-RSA \"GET / HTTP/1.1\" "
                         "215", B " body=215 host=<198.18.0.1> "
                         "request=<GET / HTTP/1.1> tls=<TLSv1.2>" },
        { "kastats", "1.2.3.4 50123 5.6.7.8 1704164645123456 652 3 + HTTP/1.1 "
                     "200 5188 126 140213 www \"GET / HTTP/1.1\" \"M/5\"",
          "begin=1704164645123456 service=652 out=5188 pid=126 tid=140213 "
          "remote=50123 status=200 k=3 client=<5.6.7.8> peer=<1.2.3.4> "
          "request=<GET / HTTP/1.1> protocol=<HTTP/1.1> vhost=<www> "
          "agent=<M/5> X=+" },
    };

    LOGLINE_CHECK(cases, *state);
}

/* Each item of httpd by itself, beside %t. */
static const logline_case item_lines[] = {
    { "%t %%", T " %", B },
    { "%t %a", T " 1.2.3.4", B " client=<1.2.3.4>" },
    { "%t %{c}a", T " 1.2.3.4", B " peer=<1.2.3.4>" },
    { "%t %{c}h", T " a.b", B " peer=<a.b>" },
    { "%t %{c}h %{c}a", T " a.b 1.2.3.4", B " peer=<1.2.3.4>" },
    { "%t %{C}a", T " 1.2.3.4", B " client=<1.2.3.4>" },
    { "%t %A", T " 1.2.3.4", B },
    { "%t %h", T " a.b", B " host=<a.b>" },
    { "%t %b", T " 12", B " body=12" },
    { "%t %B", T " 0", B " body=0" },
    { "%t %B", T " 999999999999999999", B " body=999999999999999999" },
    { "%t %B", T " 18446744073709551617", B },
    { "%t %b %B", T " - 0", B " body=0" },
    { "%t %B %b", T " 7 -", B " body=7" },
    { "%t %I %O %S", T " 1 2 3", B " in=1 out=2" },
    { "%t %D", T " 652", B " service=652" },
    { "%t %T", T " 2", B " service=2000000" },
    { "%t %{s}T", T " 2", B " service=2000000" },
    { "%t %{ms}T", T " 2", B " service=2000" },
    { "%t %{us}T", T " 2", B " service=2" },
    { "%t %T %D %{ms}T", T " 2 2004567 2004", B " service=2004567" },
    { "%t %D %T", T " - 2", B " service=2000000" },
    { "%t %T", T " -1", B },
    { "%t %{foo}T %{foo}p %{foo}P", T " foo foo foo", B },
    { "%t %^FB", T " 12", B " first_byte=12" },
    { "%t %^FB", T " -", B },
    { "%t %{a}^ti %{a}^to %{gap}^KA", T " a b c", B },
    { "%t %f", T " /var/www/a b", B },
    { "%t %H", T " HTTP/2.0", B " protocol=<HTTP/2.0>" },
    { "%t %k", T " 4", B " k=4" },
    { "%t %l %u", T " - joe", B },
    { "%t %L %{c}L", T " x y", B },
    { "%t %m", T " GET", B " method=<GET>" },
    { "%t %U", T " /a", B " uri=</a>" },
    { "%t %q", T " ?a=b", B " query=<?a=b>" },
    { "%t %q", T " ", B " query=<>" },
    { "%t %p", T " 443", B " local=443" },
    { "%t %{local}p %{canonical}p", T " 8443 443", B " local=8443" },
    { "%t %{canonical}p %{Local}p", T " 443 8443", B " local=8443" },
    { "%t %{remote}p", T " 65535", B " remote=65535" },
    { "%t %{remote}p", T " 65536", B },
    { "%t %P %{pid}P", T " 9 9", B " pid=9" },
    { "%t %{tid}P", T " 140213006124800", B " tid=140213006124800" },
    { "%t %{hextid}P", T " 7f86d4", B " tid=8357588" },
    { "%t %{hextid}P", T " 0x7F86d4", B " tid=8357588" },
    { "%t %{tid}P %{hextid}P", T " 12 c", B " tid=12" },
    { "%t %{tid}P", T " 18446744073709551615", B },
    { "%t %r", T " GET / HTTP/1.1", B " request=<GET / HTTP/1.1>" },
    { "%t %R", T " proxy-server", B " handler=<proxy-server>" },
    { "%t %s", T " 200", B " status=200" },
    { "%t %s %>s", T " 301 200", B " status=200" },
    { "%t %>s %s", T " 200 301", B " status=200" },
    { "%t %>s %<s", T " 200 301", B " status=200" },
    { "%t %>s %<s", T " - 301", B " status=301" },
    { "%t %v", T " a.b", B " vhost=<a.b>" },
    { "%t %v %V", T " a.b c.d", B " vhost=<a.b>" },
    { "%t %V %v", T " c.d a.b", B " vhost=<a.b>" },
    { "%t %V", T " c.d", B " vhost=<c.d>" },
    { "%t %X", T " +", B " X=+" },
    { "%t %X", T " -", B " X=-" },
    { "%t %X", T " X", B " X=X" },
    { "%t %{user-agent}i", T " M/5", B " agent=<M/5>" },
    { "%t %{Referer}i %{set-cookie}o", T " a b", B },
    { "%t %{x}n %{x}e %{x}C", T " a b c", B },
    { "%t %{UNIQUE_ID}e", T " Ab@-", B " id=<Ab@->" },
    { "%t %{SSL_PROTOCOL}x", T " TLSv1.3", B " tls=<TLSv1.3>" },
    { "%t %{SSL_PROTOCOL}e", T " TLSv1.3", B " tls=<TLSv1.3>" },
    { "%t %{version}c %{cipher}c", T " TLSv1.3 c", B " tls=<TLSv1.3>" },
    { "%t %{SSL_CIPHER}x", T " -", B },
    { "%t %{a}}i|", T " x|", B },
};

static void test_logline__items(void **state)
{
    LOGLINE_CHECK(item_lines, *state);
}

static void test_logline__prefixes_in_any_order(void **state)
{
    static const logline_case cases[] = {
        { "%t %!200,304,302{User-Agent}i", T " a b", B " agent=<a b>" },
        { "%t %{User-Agent}!200i", T " -", B },
        { "%t %400,501{User-Agent}i", T " a", B " agent=<a>" },
        { "%t %{remote}200,>p", T " 12", B " remote=12" },
        { "%t %>200s", T " -", B },
        { "%t %200X", T " -", B },
        { "%200t %h", "- a", "host=<a>" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline__quotes_and_escapes(void **state)
{
    static const logline_case cases[] = {
        /* httpd escapes: the first quote without a backslash ends. */
        { "\"%r\" %>s %t", "\"GET /\\\"a\\\" b\" 200 " T,
          B " status=200 request=<GET /\\\"a\\\" b>" },
        { "\"%r\" %>s %t", "\"GET /\\\\\" 200 " T,
          B " status=200 request=<GET /\\\\>" },
        { "\"%{x}i\" \"%r\" %t", "\"a\\\" \\\"b\" \"c\" " T,
          B " request=<c>" },
        { "\"%r\" %R %t", "\"GET /\\\" x\" h y " T,
          B " request=<GET /\\\" x> handler=<h y>" },
        /* Others do not: the first quote after which the rest parses. */
        { "\"%r\" %>s %t", "\"GET /\"a\" 200\" HTTP/1.0\" 404 " T,
          B " status=404 request=<GET /\"a\" 200\" HTTP/1.0>" },
        { "\"%r\" %>s %t", "\"GET C:\\\" 404 " T,
          B " status=404 request=<GET C:\\>" },
        { "%t \"%{x}i\" \"%{User-Agent}i\"", T " \"a\" \"b \"c\" d\"",
          B " agent=<b \"c\" d>" },
        { "%t \"%{User-Agent}i\"", T " \"a\\\"", B " agent=<a\\>" },
        { "%t \"%r\"", T " \"\\x16\\x03\\x01\"",
          B " request=<\\x16\\x03\\x01>" },
        { "%t \"%r\"", T " \"\"", B " request=<>" },
        { "%t \"%u\" \"%r\"", T " \"\"\"\" \"x\"", B " request=<x>" },
        { "%t %u %r", T " \"\" x", B " request=<x>" },
        /* One LogFormat, two levels of quoting. */
        { "LogFormat \"%t \\\"%r\\\"\\\\t%b\" x", T " \"a\"\t12",
          B " body=12 request=<a>" },
        { "LogFormat '%t \"%r\" \\\\\\\\%b' x", T " \"a\" \\12",
          B " body=12 request=<a>" },
        { "%t \\v%b", T " \\v12", B " body=12" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline__texts_that_are_hard_to_end(void **state)
{
    static const logline_case cases[] = {
        { "%h %u %t", "h joe x. [y] z " T, B " host=<h>" },
        { "%h%t", "h" T, B " host=<h>" },
        { "%u%t", "a [x" T, B },
        { "%U%q %>s %t", "/a b?c=d?e 200 " T,
          B " status=200 uri=</a b> query=<?c=d?e>" },
        { "%U%q %>s %t", "/a 200 " T, B " status=200 uri=</a> query=<>" },
        { "%f%q|%t", "/a?b|" T, B " query=<?b>" },
        { "%U%q %t", "- " T, B " query=<>" },
        { "%t %{x}i - %v", T " a - b - c", B " vhost=<b - c>" },
        { "%v:%p %t", "a:b:80 " T, B " local=80 vhost=<a:b>" },
        { "%{User-Agent}i %D ms %t", "M 5 ms 12 ms " T,
          B " service=12 agent=<M 5 ms>" },
        { "%b%X %t", "12+ " T, B " body=12 X=+" },
        { "%b%X %t", "-- " T, B " X=-" },
        { "%t%h", T "a", B " host=<a>" },
        { "%{x}i %t", " " T, B },
        { "\"%h\" %t", "\"\" " T, "2: \" after %h" },
        { "%h %t", "a\001b " T, "1: %h, a host name or address" },
        { "%t %v", T " a\tb", "30: %v, a server name" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline__other_shapes(void **state)
{
    static const logline_case cases[] = {
        { "{ \"t\":\"%t\", \"r\":\"%r\", \"s\":%>s, \"d\":%D, \"a\":\""
          "%{User-Agent}i\" }",
          "{ \"t\":\"" T "\", \"r\":\"GET /\\\"\", \"s\":200, \"d\":5, "
          "\"a\":\"x, \\\"s\\\"\" }",
          B " service=5 status=200 request=<GET /\\\"> agent=<x, \\\"s\\\">" },
        { "LogFormat \"%h\\t%t\\t%r\\t%>s\" tabs", "h\t" T "\tGET / x\t200",
          B " status=200 host=<h> request=<GET / x>" },
        { "%v,%p,%h,%t,%{ms}T,%D,%^FB,%>s,\"%H\",\"%m\",\"%U\",\"%q\",%L",
          "a,443,h," T ",2,2609,2322,200,\"HTTP/1.1\",\"GET\",\"/\",\"\",-",
          B " service=2609 first_byte=2322 local=443 status=200 host=<h> "
          "method=<GET> uri=</> query=<> protocol=<HTTP/1.1> vhost=<a>" },
        { " %h %t %p", " h " T " 22", B " local=22 host=<h>" },
        { "%h %t %{ratio}n%%", "h " T " -%", B " host=<h>" },
        { "%t %h\\n", T " h", B " host=<h>" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline__errors_name_column_and_item(void **state)
{
    static const logline_case cases[] = {
        { "common", "", "1: %h, a host name or address" },
        { "common", "h", "1: a blank after %h" },
        { "common", "h - - x", "7: %t, a time like [09/Jul/1995:00:00:07 "
                               "-0400]" },
        { "common", "h - - [30/Feb/2024:00:00:00 +0000] \"-\" 200 1",
          "7: %t, a time like [09/Jul/1995:00:00:07 -0400]" },
        { "common", "h - - " T " \"GET /\" 2x0 1",
          "44: %>s, a status of three digits" },
        { "common", "h - - " T " \"GET /\" 200 1 \"-\" \"-\"",
          "49: end of line" },
        { "common", "h - - " T " \"GET /\" 200 1x", "49: end of line" },
        { "common", "h - - " T " GET / 200 1", "36: \" after %t" },
        { "common", "h - - " T " \"GET /", "37: \" after %r" },
        { "common", "h - - " T " \"GET /\" ",
          "44: %>s, a status of three digits" },
        { "combined", "h - - " T " \"GET /\" 200 1 \"-\" \"M/5",
          "55: \" after %{User-Agent}i" },
        { "combined", "h - - " T " \"GET /\" 200 1 \"-\" \"M/5\" x",
          "59: end of line" },
        { " %h %t", "h " T, "1: a blank at the start of the line" },
        { "%t\\t%h", T " h", "29: a tab after %t" },
        { "%t %X", T " *", "30: %X, one of + - X" },
        { "%t %{hextid}P", T " g", "30: %{hextid}P, a thread id in hex" },
        { "%t %{msec_frac}t", T " 12", "30: %{msec_frac}t, milliseconds of "
                                       "three digits" },
        { "%{%F %T}t", "2024-02-30 00:00:00", "1: %{%F %T}t, an existing time "
                                              "of that form" },
        { "%h %{%F %T}t", "h 2024-02-3x 00:00:00", "3: %{%F %T}t, an existing "
                                                   "time of that form" },
        { "%t|%D|%h", T "|12|", "33: %h, a host name or address" },
        { "%t:%D,,%h", T ":12,h", "33: ,, after %D" },
    };

    LOGLINE_CHECK(cases, *state);
}

/* logline_read gives the column first where a line is refused. */
static void assert_refused(const char *got)
{
    assert_true(got[0] >= '0' && got[0] <= '9');
}

/* Bytes of any kind, and lines made to try every end of every text. */
static void test_logline__hostile_lines_are_refused_soon(void **state)
{
    static const char nul[] = "h - - " T " \"GET \0/\" 200 1";
    const size_t size = 65536;
    char *line = malloc(size);
    char format[400] = "%t";

    assert_non_null(line);
    /* What the test prints ends at a NUL; the fields do not. */
    assert_string_equal(logline_read("common", nul, sizeof(nul) - 1, *state),
                        B " body=1 status=200 host=<h> request=<GET >");
    for (int i = 0; i < 30; i++) {
        strcat(format, " \"%{x}i\"");
    }
    strcat(format, "x");
    for (size_t i = 0; i < size; i++) {
        line[i] = "\" "[i % 2];
    }
    memcpy(line, T " ", 29);
    assert_refused(logline_read(format, line, size, *state));
    memset(line, '\\', size);
    assert_refused(logline_read("combined", line, size, *state));
    memset(line, ' ', size);
    assert_refused(logline_read("combined", line, size, *state));
    memset(line, '0', size);
    assert_refused(logline_read("%D %t", line, size, *state));
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_logline__presets),
        unit_test(test_logline__items),
        unit_test(test_logline__prefixes_in_any_order),
        unit_test(test_logline__quotes_and_escapes),
        unit_test(test_logline__texts_that_are_hard_to_end),
        unit_test(test_logline__other_shapes),
        unit_test(test_logline__errors_name_column_and_item),
        unit_test(test_logline__hostile_lines_are_refused_soon)
    };

    return unit_main(tests);
}
