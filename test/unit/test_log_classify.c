/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Requests: shape, flags, class, and what is the server's own traffic. */
#include "loglines.h"

static void test_log_classify__protocol_and_shape(void **state)
{
    static const struct {
        const char *request;
        int status;
        unsigned flags;
    } cases[] = {
        {"GET / HTTP/1.1", 200, 0},
        {"GET / HTTP/1.0", 200, KA_REQ_HTTP10},
        {"GET /", 200, KA_REQ_HTTP10},
        {"GET / HTTP/0.9", 200, KA_REQ_HTTP10},
        {"GET /ksc.html HTTP/V1.0", 200, KA_REQ_HTTP10},
        {"GET / HTTP/2.0", 200, KA_REQ_HTTP2},
        {"GET / HTTP/2", 200, KA_REQ_HTTP2},
        {"GET /a b c.gif HTTP/1.0", 200, KA_REQ_HTTP10},
        {"GET /a b c.gif HTTP/1.1 ", 200, 0},
        {"get / HTTP/1.1", 400, 0},
        {"GET http://example.org/ HTTP/1.1", 400, 0},
        {"CONNECT example.org:443 HTTP/1.1", 405, 0},
        {"M-SEARCH * HTTP/1.1", 400, 0},
        {NULL, 408, KA_REQ_NO_REQUEST},
        {NULL, 400, KA_REQ_NO_REQUEST},
        {"", 400, KA_REQ_NO_REQUEST},
        {NULL, 200, 0},
        {"GET / HTTP/1.1", 408, 0}, /* its body never came */
        {"\\x16\\x03\\x01\\x02", 400, KA_REQ_NOT_HTTP},
        {"\\x16\\x03\\x01 / HTTP/1.1", 400, KA_REQ_NOT_HTTP},
        {"\x16\x03\x01", 400, KA_REQ_NOT_HTTP},
        {"SSH-2.0-PUTTY", 400, KA_REQ_NOT_HTTP},
        {"t3 12.2.1", 400, KA_REQ_NOT_HTTP},
        {"OPTIONS sip:nm SIP/2.0", 400, KA_REQ_NOT_HTTP},
        {"\\x80w\\x01\\x03\\x01", 501, KA_REQ_NOT_HTTP},
        {" ", 400, KA_REQ_NOT_HTTP},
        {"GET", 400, KA_REQ_NOT_HTTP},
        {"\\x80w\\x01", 200, KA_REQ_HTTP10}, /* served as HTTP/0.9 */
    };
    ka_classifier *self = classifier(state, COMBINED);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_request request = kept(
            self, combined_line("198.51.100.1", cases[i].request,
                                cases[i].status, chrome));

        if (request.flags != cases[i].flags) {
            fail_msg("case %zu, %s: flags %x, expected %x", i,
                     cases[i].request, request.flags, cases[i].flags);
        }
    }
}

/* A log without a status: only the request line tells. */
static void test_log_classify__no_request_without_status(void **state)
{
    const uint64_t fields = BIT(KA_LF_HOST) | BIT(KA_LF_REQUEST);
    ka_classifier *self = classifier(state, fields);
    ka_logline line = combined_line("198.51.100.1", NULL, -1, NULL);

    assert_int_equal(kept(self, line).flags, KA_REQ_NO_REQUEST);
    assert_int_equal(kept(self, line).status, 0);
    line.request = str("\\x16\\x03");
    assert_int_equal(kept(self, line).flags, KA_REQ_NOT_HTTP);
}

/* %m %U %H in place of %r, and a format that tells neither. */
static void test_log_classify__request_by_its_parts(void **state)
{
    const uint64_t parts = BIT(KA_LF_METHOD) | BIT(KA_LF_URI)
                           | BIT(KA_LF_QUERY) | BIT(KA_LF_PROTOCOL);
    ka_classifier *self = classifier(state, parts);
    ka_logline line = empty_line();
    ka_request request;

    line.method = str("GET");
    line.uri = str("/a.css");
    line.protocol = str("HTTP/1.0");
    line.status = 200;
    request = kept(self, line);
    assert_int_equal(request.flags, KA_REQ_HTTP10);
    assert_int_equal(request.cls, KA_CLASS_STATIC);
    line.uri = str("/a.pdf");
    line.query = str("?x");
    assert_int_equal(kept(self, line).cls, KA_CLASS_DYNAMIC);
    line.method = line.uri = line.query = line.protocol = str(NULL);
    line.status = 408;
    assert_int_equal(kept(self, line).flags, KA_REQ_NO_REQUEST);
    assert_int_equal(
        kept(classifier(state, BIT(KA_LF_BEGIN)), empty_line()).flags, 0);
    self = classifier(state, BIT(KA_LF_METHOD) | BIT(KA_LF_URI));
    line.method = str("GET");
    line.uri = str("/");
    assert_int_equal(kept(self, line).flags, 0);
}

static void test_log_classify__connection_status(void **state)
{
    static const struct {
        char printed;
        unsigned flags;
    } cases[] = {{'+', KA_REQ_KEPT},
                 {'-', KA_REQ_FINAL},
                 {'X', KA_REQ_ABORTED | KA_REQ_FINAL},
                 {0, 0}};
    ka_classifier *self = classifier(state, COMBINED | BIT(KA_LF_CONN_STATUS));

    for (size_t i = 0; i < 4; i++) {
        ka_logline line =
            combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);

        line.conn_status = cases[i].printed;
        assert_int_equal(kept(self, line).flags, cases[i].flags);
    }
}

static void test_log_classify__tls(void **state)
{
    ka_classifier *self = classifier(state, COMBINED);
    ka_logline line =
        combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);

    line.local_port = 80;
    assert_int_equal(kept(self, line).flags, 0);
    line.tls_protocol = str("TLSv1.3");
    assert_int_equal(kept(self, line).flags, KA_REQ_TLS);
    line.tls_protocol = str(NULL);
    line.local_port = 443;
    assert_int_equal(kept(self, line).flags, KA_REQ_TLS);
}

static void test_log_classify__class_by_request(void **state)
{
    static const struct {
        const char *request;
        int status;
        ka_class cls;
    } cases[] = {
        {"GET /a/logo.png HTTP/1.1", 200, KA_CLASS_STATIC},
        {"GET /LOGO.PNG HTTP/1.1", 200, KA_CLASS_STATIC},
        {"HEAD /a.tar.gz HTTP/1.1", 200, KA_CLASS_STATIC},
        {"POST /logo.png HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /style.css?ver=4.2 HTTP/1.1", 200, KA_CLASS_STATIC},
        {"GET /font.woff2?#iefix HTTP/1.1", 200, KA_CLASS_STATIC},
        {"GET /index.html HTTP/1.1", 200, KA_CLASS_STATIC},
        {"GET /index.html?page=2 HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /data.json?since=1 HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /index.php HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /thumb.php?f=a.png HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET / HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET / HTTP/1.1", 304, KA_CLASS_STATIC},
        {"GET /?q=a.png HTTP/1.1", 304, KA_CLASS_DYNAMIC},
        {"GET /v1.2/users HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /user/j.doe HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /a.jpg;jsessionid=1.do HTTP/1.1", 200, KA_CLASS_STATIC},
        {"GET /x. HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /x.waytoolongforanextension HTTP/1.1", 200, KA_CLASS_DYNAMIC},
        {"GET /favicon.ico", 200, KA_CLASS_STATIC},
        {"GET /robots.txt HTTP/1.0", 404, KA_CLASS_STATIC},
        {"GET /7.7z HTTP/1.0", 200, KA_CLASS_STATIC},
        {"GET /z.zst HTTP/1.0", 200, KA_CLASS_STATIC},
        {NULL, 408, KA_CLASS_DYNAMIC},
    };
    ka_classifier *self = classifier(state, COMBINED);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_request request = kept(
            self, combined_line("198.51.100.1", cases[i].request,
                                cases[i].status, chrome));

        if (request.cls != cases[i].cls) {
            fail_msg("%s: class %d", cases[i].request, request.cls);
        }
    }
}

static void test_log_classify__class_by_handler(void **state)
{
    static const struct {
        const char *handler;
        ka_class cls;
    } cases[] = {
        {NULL, KA_CLASS_STATIC},
        {"default-handler", KA_CLASS_STATIC},
        {"httpd/unix-directory", KA_CLASS_STATIC},
        {"text/html", KA_CLASS_STATIC},
        {"image/png", KA_CLASS_STATIC},
        {"application/javascript", KA_CLASS_STATIC},
        {"application/x-httpd-php", KA_CLASS_DYNAMIC},
        {"application/x-httpd-php8", KA_CLASS_DYNAMIC},
        {"proxy-server", KA_CLASS_DYNAMIC},
        {"proxy:unix:/run/php.sock|fcgi://localhost", KA_CLASS_DYNAMIC},
        {"cgi-script", KA_CLASS_DYNAMIC},
        {"fcgid-script", KA_CLASS_DYNAMIC},
        {"redirect-handler", KA_CLASS_DYNAMIC},
        {"server-status", KA_CLASS_DYNAMIC},
        {"my-own", KA_CLASS_DYNAMIC},
    };
    ka_classifier *self = classifier(state, COMBINED | BIT(KA_LF_HANDLER));

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_logline line =
            combined_line("198.51.100.1", "GET /x.php HTTP/1.1", 200, chrome);

        line.handler = str(cases[i].handler);
        assert_int_equal(kept(self, line).cls, cases[i].cls);
    }
}

static void test_log_classify__own_traffic(void **state)
{
    static const struct {
        const char *host, *request, *agent;
        ka_excluded why;
    } cases[] = {
        {"::1", "OPTIONS * HTTP/1.0",
         "Apache/2.4.7 (Ubuntu) (internal dummy connection)",
         KA_EXCLUDED_DUMMY},
        {"192.0.2.7", "GET / HTTP/1.0",
         "Apache/2.2.3 (internal dummy connection)", KA_EXCLUDED_DUMMY},
        {"127.0.0.1", "OPTIONS * HTTP/1.0", NULL, KA_EXCLUDED_DUMMY},
        {"198.51.100.1", "OPTIONS * HTTP/1.1", chrome, KEPT},
        {"198.51.100.1", "GET /a.css HTTP/1.1",
         "Serf/1.1.0 mod_pagespeed/1.9.32.3-4448", KA_EXCLUDED_PAGESPEED},
        {"127.0.0.1", "GET / HTTP/1.1", "curl/7.88.1", KA_EXCLUDED_HEALTH},
        {"127.0.1.1", "GET / HTTP/1.1", "Wget/1.21", KA_EXCLUDED_HEALTH},
        {"::ffff:127.0.0.1", "GET / HTTP/1.0",
         "check_http/v2.3 (monitoring-plugins 2.3)", KA_EXCLUDED_HEALTH},
        {"localhost", "GET / HTTP/1.0", "monit/5.33", KA_EXCLUDED_HEALTH},
        {"::1", "HEAD / HTTP/1.0", NULL, KA_EXCLUDED_HEALTH},
        {"::1", "GET /server-status?auto HTTP/1.1", "Go-http-client/1.1",
         KA_EXCLUDED_HEALTH},
        {"127.0.0.1", "GET /healthz HTTP/1.1", "x/1", KA_EXCLUDED_HEALTH},
        {"127.0.0.1", "GET /health/live HTTP/1.1", "x/1", KA_EXCLUDED_HEALTH},
        {"127.0.0.1", "GET /healthy-food HTTP/1.1", "x/1", KEPT},
        {"127.0.0.1", "GET / HTTP/1.1", chrome, KEPT},
        {"127.0.0.1", "GET /server-status HTTP/1.1", firefox, KEPT},
        {"127.0.0.1", NULL, NULL, KEPT}, /* 408: no request, no check */
        {"198.51.100.1", "GET /healthz HTTP/1.1", "curl/7.88.1", KEPT},
        {"127.0.example.org", "GET / HTTP/1.1", "curl/7.88.1", KEPT},
        {"127.116.156.132", "GET / HTTP/1.1", NULL, KEPT},
        {"1127.0.0.1", "GET / HTTP/1.1", NULL, KEPT},
    };
    ka_classifier *self = classifier(state, COMBINED);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_logline line = combined_line(
            cases[i].host, cases[i].request, cases[i].request ? 200 : 408,
            cases[i].agent);
        ka_request request;
        ka_excluded why = KEPT;

        if (ka_classify(self, &request, &why, &line)) {
            why = KEPT;
        }
        if (why != cases[i].why) {
            fail_msg("case %zu: %s %s is %d", i, cases[i].host,
                     cases[i].request, why);
        }
    }
}

/* A visitor behind a proxy on this host, as mod_remoteip logs it. */
static void test_log_classify__proxied_visitor_is_no_check(void **state)
{
    ka_classifier *self = classifier(
        state, COMBINED | BIT(KA_LF_PEER) | BIT(KA_LF_CLIENT));
    ka_logline line = combined_line(NULL, "GET / HTTP/1.1", 200, "curl/8");
    ka_request request;
    ka_excluded why;

    line.peer = str("127.0.0.1");
    line.client = str("198.51.100.9");
    kept(self, line);
    line.client = str("127.0.0.1");
    assert_false(ka_classify(self, &request, &why, &line));
    assert_int_equal(why, KA_EXCLUDED_HEALTH);
}

/* More agents than the table of traits remembers. */
/* Flipping any one bit of the input flips about half of the hash. */
/* ka_classify_hit tells of a line what ka_classify tells. */
static void check_hit(ka_classifier *hits, ka_classifier *requests,
                      const ka_logline *line)
{
    ka_excluded why = KEPT, hit_why = KEPT;
    ka_request request;
    ka_hit hit;
    ka_str name = {NULL, 1};
    const bool is_kept = ka_classify(requests, &request, &why, line);

    assert_int_equal(ka_classify_hit(hits, &hit, &name, &hit_why, line),
                     is_kept);
    assert_int_equal(hit_why, why);
    if (!is_kept) {
        return;
    }
    assert_int_equal(hit.begin_us, request.begin_us);
    assert_int_equal(hit.service_us, request.service_us);
    assert_int_equal(hit.bytes, request.bytes);
    assert_int_equal(hit.client, request.client);
    assert_int_equal(hit.address, request.address);
    assert_int_equal(hit.vhost, request.vhost);
    assert_int_equal(hit.flags, request.flags);
    assert_int_equal(hit.cls, request.cls);
    assert_int_equal(hit.limit_s * INT64_C(1000000), request.client_limit_us);
    assert_ptr_equal(name.ptr, line->vhost.ptr);
    assert_int_equal(name.len, line->vhost.len);
}

static void test_log_classify__hits_are_requests(void **state)
{
    static const char *const hosts[] = {"198.51.100.1", "::1", "127.0.0.1"};
    static const char *const requests[] = {
        "GET /a.css HTTP/1.1", "GET /a HTTP/1.0", "POST /a.css HTTP/2.0",
        "OPTIONS * HTTP/1.0", "GET /server-status HTTP/1.1", "\\x16", NULL};
    static const char *const agents[] = {firefox, chrome, "curl/7", NULL,
                                         "(internal dummy connection)"};
    static const char *const vhosts[] = {NULL, "a.example:80", "B.example"};
    static const char *const only[] = {NULL, "b.example"};

    for (size_t i = 0; i < 2; i++) {
        const uint64_t fields = COMBINED | BIT(KA_LF_VHOST);
        ka_classifier *hit = ka_classifier_make(fields, only[i], 1, 0, *state);
        ka_classifier *all = ka_classifier_make(fields, only[i], 1, 0, *state);

        for (size_t n = 0; n < 3 * 7 * 5 * 3 * 2; n++) {
            ka_logline line =
                combined_line(hosts[n % 3], requests[n / 3 % 7],
                              n % 2 ? 200 : 304, agents[n / 21 % 5]);

            line.vhost = str(vhosts[n / 105 % 3]);
            line.body_bytes = n % 4 ? (int64_t)n : -1;
            line.begin_us = n / 315 ? line.begin_us : 0;
            check_hit(hit, all, &line);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_log_classify__protocol_and_shape),
        unit_test(test_log_classify__no_request_without_status),
        unit_test(test_log_classify__request_by_its_parts),
        unit_test(test_log_classify__connection_status),
        unit_test(test_log_classify__tls),
        unit_test(test_log_classify__class_by_request),
        unit_test(test_log_classify__class_by_handler),
        unit_test(test_log_classify__own_traffic),
        unit_test(test_log_classify__proxied_visitor_is_no_check),
        unit_test(test_log_classify__hits_are_requests),
    };

    return unit_main(tests);
}
