/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Requests: address, client, process, vhost, and the hashes behind them. */
#include "loglines.h"

#include <apr_strings.h>

#include "sources/hash.h"

static void test_log_identity__identity(void **state)
{
    ka_classifier *self = classifier(state, COMBINED);
    const ka_logline line =
        combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);
    const ka_request first = kept(self, line);
    ka_logline other = line;

    other.user_agent = str(firefox);
    assert_true(kept(self, other).address == first.address);
    assert_true(kept(self, other).client != first.client);
    other = line;
    other.host = str("198.51.100.2");
    assert_true(kept(self, other).address != first.address);
    assert_true(kept(self, other).client != first.client);
    /* The connection's own end counts, not the forwarded address. */
    other = line;
    other.client = str("198.51.100.1");
    other.host = str("client.example.net");
    assert_true(kept(self, other).client == first.client);
    other.client = str("192.0.2.200");
    other.peer = str("198.51.100.1");
    assert_true(kept(self, other).client == first.client);
    self = classifier(state, COMBINED & ~BIT(KA_LF_USER_AGENT));
    other = combined_line("198.51.100.1", "GET / HTTP/1.1", 200, NULL);
    assert_true(kept(self, other).client == kept(self, other).address);
    other.host = str(NULL);
    assert_true(kept(self, other).address != 0);
}

static void test_log_identity__client_limit(void **state)
{
    ka_classifier *self = classifier(state, COMBINED);

    assert_int_equal(
        kept(self, combined_line("198.51.100.1", "GET / HTTP/1.1", 200,
                                 firefox))
            .client_limit_us,
        115000000);
    assert_int_equal(
        kept(self, combined_line("198.51.100.1", "GET / HTTP/1.1", 200,
                                 chrome))
            .client_limit_us,
        300000000);
}

static void test_log_identity__slot(void **state)
{
    const char *id = "Vea2i8CoAwcAADevXAgAAAAB";
    ka_classifier *self = classifier(state, COMBINED);
    ka_logline line =
        combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);
    ka_request request = kept(self, line), other;

    line.begin_us = 1441183371 * INT64_C(1000000);
    assert_true(request.slot == 0 && request.child == 0);
    line.pid = 4711;
    request = kept(self, line);
    assert_true(request.slot == 0 && request.child != 0);
    line.tid = 140000000000000;
    other = kept(self, line);
    assert_true(other.child == request.child && other.slot != 0);
    line.tid++;
    assert_true(kept(self, line).slot != other.slot);
    /* Process and thread as printed are preferred to the UNIQUE_ID. */
    line.unique_id = str(id);
    assert_true(kept(self, line).child == request.child);
    line.tid = -1;
    other = kept(self, line);
    assert_true(other.slot != 0 && other.child != request.child);
    line.pid = -1;
    request = kept(self, line);
    assert_true(request.slot == other.slot && request.child == other.child);
    line.unique_id = str("not an id of httpd's !!!");
    request = kept(self, line);
    assert_true(request.slot == 0 && request.child == 0);
}

static void test_log_identity__bytes(void **state)
{
    ka_classifier *self = classifier(state, COMBINED);
    ka_logline line =
        combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);

    assert_int_equal(kept(self, line).bytes, 0); /* %b prints `-` */
    line.body_bytes = 100;
    assert_int_equal(kept(self, line).bytes, 100);
    line.bytes_out = 300;
    assert_int_equal(kept(self, line).bytes, 300);
    line.bytes_out = line.body_bytes = -1;
    self = classifier(state, COMBINED & ~BIT(KA_LF_BODY_BYTES));
    assert_int_equal(kept(self, line).bytes, -1);
}

static void test_log_identity__vhosts_by_name(void **state)
{
    static const struct {
        const char *logged;
        uint32_t number;
        const char *name;
    } cases[] = {
        {"www.example.org", 0, "www.example.org"},
        {"WWW.Example.ORG", 0, "www.example.org"},
        {"www.example.org:443", 0, "www.example.org"},
        {"other.example.org", 1, "other.example.org"},
        {NULL, 2, ""},
        {"[2001:db8::1]:80", 3, "[2001:db8::1]"},
        {"[2001:db8::1]", 3, "[2001:db8::1]"},
        {"2001:db8::1", 4, "2001:db8::1"},
        {"\x1b[2J", 5, "\\x1b[2j"},
        {"www.example.org", 0, "www.example.org"},
    };
    ka_classifier *self = classifier(state, COMBINED | BIT(KA_LF_VHOST));
    const char **names;
    size_t n;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_logline line =
            combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);

        line.vhost = str(cases[i].logged);
        assert_int_equal(kept(self, line).vhost, cases[i].number);
        ka_classifier_vhosts(self, &names, &n);
        assert_true(n > cases[i].number);
        assert_string_equal(names[cases[i].number], cases[i].name);
    }
    assert_int_equal(n, 6);
}

static void test_log_identity__vhosts_are_bounded(void **state)
{
    ka_classifier *self = classifier(state, COMBINED | BIT(KA_LF_VHOST));
    const char **names;
    size_t n;

    for (int i = 0; i < 5000; i++) {
        ka_logline line =
            combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);

        line.vhost = str(apr_psprintf(*state, "v%d.example.org", i));
        assert_int_equal(kept(self, line).vhost,
                         i < KA_VHOSTS_MAX ? i : KA_VHOSTS_MAX);
    }
    ka_classifier_vhosts(self, &names, &n);
    assert_int_equal(n, KA_VHOSTS_MAX + 1);
    assert_string_equal(names[KA_VHOSTS_MAX], "(other)");
}

static void test_log_identity__only_one_vhost(void **state)
{
    static const struct {
        const char *logged;
        bool kept;
    } cases[] = {{"www.example.org", true},
                 {"WWW.EXAMPLE.org:8080", true},
                 {"example.org", false},
                 {NULL, false},
                 {"www.example.org.evil", false}};
    ka_classifier *self = ka_classifier_make(
        COMBINED | BIT(KA_LF_VHOST), "WWW.example.org:443", 0, 0, *state);
    const char **names;
    size_t n;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_logline line =
            combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);
        ka_request request;
        ka_excluded why = KEPT;

        line.vhost = str(cases[i].logged);
        assert_int_equal(ka_classify(self, &request, &why, &line),
                         cases[i].kept);
        assert_int_equal(why, cases[i].kept ? KEPT : KA_EXCLUDED_VHOST);
    }
    ka_classifier_vhosts(self, &names, &n);
    assert_int_equal(n, 1);
}

static void test_log_identity__time_window(void **state)
{
    static const struct {
        int64_t since, until, begin;
        bool kept;
    } cases[] = {
        {0, 0, 5, true},   {10, 0, 9, false},   {10, 0, 10, true},
        {0, 20, 19, true}, {0, 20, 20, false},  {10, 20, 15, true},
        {10, 20, 25, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_classifier *self = ka_classifier_make(
            COMBINED, NULL, cases[i].since, cases[i].until, *state);
        ka_logline line =
            combined_line("198.51.100.1", "GET / HTTP/1.1", 200, chrome);
        ka_request request;
        ka_excluded why = KEPT;

        line.begin_us = cases[i].begin;
        assert_int_equal(ka_classify(self, &request, &why, &line),
                         cases[i].kept);
        assert_int_equal(why, cases[i].kept ? KEPT : KA_EXCLUDED_TIME);
    }
}

static void test_log_identity__many_agents(void **state)
{
    ka_classifier *self = classifier(state, COMBINED);

    for (int i = 0; i < 20000; i++) {
        const char *agent =
            apr_psprintf(*state, "A/%d %s", i % 10000,
                         i % 3 ? "Chrome/98.0" : "Firefox/107.0");
        const ka_request request = kept(
            self, combined_line("198.51.100.1", "GET / HTTP/1.1", 200, agent));

        assert_int_equal(request.client_limit_us,
                         i % 3 ? 300000000 : 115000000);
    }
}

static void test_hash__spreads_every_bit(void **state)
{
    unsigned char text[40] = "198.51.100.1 and a user agent as text";

    (void)state;
    for (size_t length = 1; length <= sizeof(text); length++) {
        const uint64_t hash = ka_hash_bytes(text, length);

        for (size_t bit = 0; bit < length * 8; bit++) {
            int flipped;

            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            flipped =
                __builtin_popcountll(hash ^ ka_hash_bytes(text, length));
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            /* 32 of 64 with deviation 4: 5.5 of them cover 6,560 draws. */
            if (flipped < 10 || flipped > 54) {
                fail_msg("length %zu, bit %zu: %d", length, bit, flipped);
            }
        }
    }
}

static void test_hash__counting_up_does_not_collide(void **state)
{
    uint8_t *seen = apr_pcalloc(*state, 1 << 16);
    size_t used = 0;

    for (uint64_t i = 0; i < 65536; i++) {
        uint8_t *at = &seen[ka_hash_pair(i, 0) & 0xffff];

        used += !*at;
        *at = 1;
    }
    /* 1 - 1/e of 65,536 is 41,427, with a deviation of 80. */
    assert_near((double)used, 41427, 400);
    assert_true(ka_hash_pair(1, 2) != ka_hash_pair(2, 1));
    assert_true(ka_hash_bytes("", 0) != 0);
    assert_true(ka_hash_bytes("\0", 1) != ka_hash_bytes("\0\0", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_log_identity__identity),
        unit_test(test_log_identity__client_limit),
        unit_test(test_log_identity__slot),
        unit_test(test_log_identity__bytes),
        unit_test(test_log_identity__vhosts_by_name),
        unit_test(test_log_identity__vhosts_are_bounded),
        unit_test(test_log_identity__only_one_vhost),
        unit_test(test_log_identity__time_window),
        unit_test(test_log_identity__many_agents),
        unit_test(test_hash__spreads_every_bit),
        unit_test(test_hash__counting_up_does_not_collide),
    };

    return unit_main(tests);
}
