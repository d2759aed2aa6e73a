/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Lines taken apart in one pass have the values that the matcher finds: all
 * lines of the test logs in many formats, the same lines damaged, and whole
 * logs where KA_LOGS names some (`KA_LOGS=/var/log/apache2/access.log:...`). */
#include "unit.h"

#include <dirent.h>

#include "logline_show.h"
#include "sources/logformat_priv.h"

#define LOGS "test/data/logs/"
#define T "[02/Jan/2024:03:04:05 +0000]"

/* Formats with a plan. */
static const char *const plain_formats[] = {
    "combined", "common", "vhost_combined", "vhost_common", "combinedio",
    "kastats", "ssl_request",
    "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %D",
    "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %T \"%v\"",
    "%h %l %u %{msec}t \"%r\" %>s %b",
    "%{sec}t %h %>s %B",
    "%h %{usec}t %D %s %X \"%r\"",
    "<%t> |%h|%u| \"%r\" %400s %b",
    "%t\t%h\t%u\t%r\t%s\t%b",
    "time=%t status=%>s bytes=%B host=%h agent=\"%{User-Agent}i\"",
    "%h%t %s",
    "%t %h",
    "%t %{User-Agent}i",
    "%t %400X %h",
    "%b1 %t",
};

/* Formats without: read all the same. */
static const char *const other_formats[] = {
    "%h %l %u [%{%d/%b/%Y:%H:%M:%S}t %{msec_frac}t] \"%r\" %>s %b",
    "%h %t %{end:usec}t %s",
    "%t %b %B %D %T",
    "%t \"%m %U%q %H\" %s",
    "%t %{hextid}P %s",
};

static ka_logformat *format_of(const char *text, apr_pool_t *pool)
{
    return logline_format(text, pool);
}

/* What a parser is held against, and how often its plan took the line. */
typedef struct comparison {
    const ka_logformat *format;
    ka_lineparser *parser;
    ka_clf_minute minute;
    size_t lines, parsed, taken;
    apr_pool_t *pool;
} comparison;

static comparison *comparison_make(const char *text, apr_pool_t *pool)
{
    comparison *self = apr_pcalloc(pool, sizeof(*self));

    self->format = format_of(text, pool);
    self->parser = ka_lineparser_make(self->format, pool);
    self->pool = pool;
    return self;
}

/* Up to the last member there is no padding; texts have to be the same ones,
 * not just alike. */
static void check_same(comparison *self, const ka_logline *got,
                       const ka_logline *wanted, const char *line,
                       size_t length)
{
    if (memcmp(got, wanted, offsetof(ka_logline, conn_status) + 1) != 0) {
        fail_msg("%s\n%.*s\n     got %s\nexpected %s",
                 ka_logformat_text(self->format), (int)length, line,
                 logline_show(got, self->pool),
                 logline_show(wanted, self->pool));
    }
}

/* The line, in a block of just its size, read by both. */
static void compare(comparison *self, const char *line, size_t length)
{
    char *copy = malloc(length ? length : 1);
    ka_logline got, wanted;
    ka_logline_error got_error = { 0, NULL }, error = { 0, NULL };
    apr_status_t rv;

    assert_non_null(copy);
    memcpy(copy, line, length);
    memset(&got, 0x55, sizeof(got)); /* so that nothing is set by chance */
    rv = ka_logline_parse(&wanted, &error, self->format, copy, length);
    assert_int_equal(ka_lineparser_parse(&got, &got_error, self->parser, copy,
                                         length), rv);
    if (rv == APR_SUCCESS) {
        check_same(self, &got, &wanted, copy, length);
    }
    else {
        assert_int_equal(got_error.column, error.column);
        assert_string_equal(got_error.expected, error.expected);
    }
    self->lines++;
    self->parsed += rv == APR_SUCCESS;
    self->taken += self->format->plan
                   && ka_lf_plan_take(&got, &self->minute, self->format->plan,
                                      copy, length);
    free(copy);
}

/* ---- lines ------------------------------------------------------------- */

typedef void line_fn(void *context, const char *line, size_t length);

static void each_line(const char *path, line_fn *take, void *context)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    if (!file) {
        fail_msg("cannot read %s", path);
    }
    while ((n = getline(&line, &room, file)) >= 0) {
        take(context, line, (size_t)n - (n > 0 && line[n - 1] == '\n'));
    }
    free(line);
    fclose(file);
}

static void each_test_log(line_fn *take, void *context, apr_pool_t *pool)
{
    DIR *dir = opendir(LOGS);
    const struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strstr(entry->d_name, ".log")) {
            each_line(apr_pstrcat(pool, LOGS, entry->d_name, NULL), take,
                      context);
        }
    }
    closedir(dir);
}

#define FORMATS                                                                \
    (sizeof(plain_formats) / sizeof(plain_formats[0])                          \
     + sizeof(other_formats) / sizeof(other_formats[0]))

typedef struct comparisons {
    comparison *of[FORMATS];
    uint64_t seed;
} comparisons;

static comparisons *comparisons_make(apr_pool_t *pool)
{
    const size_t plain = sizeof(plain_formats) / sizeof(plain_formats[0]);
    comparisons *all = apr_pcalloc(pool, sizeof(*all));

    for (size_t i = 0; i < FORMATS; i++) {
        all->of[i] = comparison_make(i < plain ? plain_formats[i]
                                               : other_formats[i - plain],
                                     pool);
    }
    all->seed = 7;
    return all;
}

static void compare_all(void *context, const char *line, size_t length)
{
    comparisons *all = context;

    for (size_t i = 0; i < FORMATS; i++) {
        compare(all->of[i], line, length);
    }
}

static uint64_t next_random(comparisons *all)
{
    all->seed = all->seed * UINT64_C(6364136223846793005)
                + UINT64_C(1442695040888963407);
    return all->seed >> 33;
}

#define DAMAGED_MAX 2048

/* One to three bytes put in, taken out or changed, or the line's end cut. */
static size_t damage(comparisons *all, char *out, const char *line, size_t n)
{
    static const char bytes[] = " \"\\-[]:/0123456789?.;\t\x01\x1f\x7f\xc3Xx%";
    size_t times = 1 + next_random(all) % 3;

    n = n < DAMAGED_MAX - 8 ? n : DAMAGED_MAX - 8;
    memcpy(out, line, n);
    for (; times > 0; times--) {
        const size_t at = n ? next_random(all) % n : 0;
        const char byte = bytes[next_random(all) % sizeof(bytes)];

        switch (n ? next_random(all) % 8 : 0) {
        case 0:
        case 1:
            memmove(out + at + 1, out + at, n - at);
            out[at] = byte;
            n++;
            break;
        case 2:
        case 3:
            memmove(out + at, out + at + 1, n - at - 1);
            n--;
            break;
        case 4:
            n = at;
            break;
        default:
            out[at] = byte;
        }
    }
    return n;
}

/* In the formats that the line follows. */
static void compare_damaged(void *context, const char *line, size_t length)
{
    comparisons *all = context;
    char damaged[DAMAGED_MAX];
    ka_logline values;

    for (size_t i = 0; i < FORMATS; i++) {
        if (ka_logline_parse(&values, NULL, all->of[i]->format, line, length)
            != APR_SUCCESS) {
            continue;
        }
        for (int times = 0; times < 20; times++) {
            compare(all->of[i], damaged, damage(all, damaged, line, length));
        }
    }
}

/* ---- tests ------------------------------------------------------------- */

static void test_logline_fast__which_formats_are_plain(void **state)
{
    const size_t plain = sizeof(plain_formats) / sizeof(plain_formats[0]);
    const size_t other = sizeof(other_formats) / sizeof(other_formats[0]);

    for (size_t i = 0; i < plain; i++) {
        if (!format_of(plain_formats[i], *state)->plan) {
            fail_msg("not plain: %s", plain_formats[i]);
        }
    }
    for (size_t i = 0; i < other; i++) {
        if (format_of(other_formats[i], *state)->plan) {
            fail_msg("plain: %s", other_formats[i]);
        }
    }
}

static void test_logline_fast__test_logs(void **state)
{
    comparisons *all = comparisons_make(*state);

    each_test_log(compare_all, all, *state);
    for (size_t i = 0; i < FORMATS; i++) {
        assert_true(all->of[i]->lines > 100);
        assert_true(all->of[i]->taken <= all->of[i]->parsed);
    }
}

static void test_logline_fast__damaged_lines(void **state)
{
    comparisons *all = comparisons_make(*state);
    size_t lines = 0, taken = 0, parsed = 0;

    each_test_log(compare_damaged, all, *state);
    for (size_t i = 0; i < FORMATS; i++) {
        lines += all->of[i]->lines;
        taken += all->of[i]->taken;
        parsed += all->of[i]->parsed;
    }
    /* All three ways are gone often. */
    assert_true(taken > lines / 20);
    assert_true(parsed > taken + lines / 20);
    assert_true(lines > parsed + lines / 20);
}

/* What a line of each kind of item may hold, in all combinations. */
static void test_logline_fast__items(void **state)
{
    static const char *const formats[] = {
        "%h %t \"%r\" %>s %b", "%h %t \"%r\" %>s %b \"%{User-Agent}i\"",
        "%v:%p %h %t \"%r\" %>s %b", "%u \"%r\" %>s %b %t",
        "%h %{usec}t \"%r\" %>s %b %X", "%h %t %{c}a \"%r\" %s %D",
    };
    static const char *const words[] = { "a", "-", "a b", "", "\x01", "a:1",
                                         "[::1]:80", "a\x1f" };
    static const char *const times[] = {
        T, "-", "[31/Dec/1969:23:59:59 +0000]", "[01/Jan/1970:00:00:60 +0000]",
        "[31/Feb/2024:00:00:00 +0000]", "[02/Jan/2024:03:04:5x +0000]",
        "1704164645123456", "253402300800000000", "99999999999999999999" };
    static const char *const texts[] = {
        "GET / HTTP/1.1", "-", "", "a\\\" 200 b", "a\\\" 200 1 \"x",
        "a\" 200 b", "\\\\", "\\",
        "0123456789012345678901234567890123456789012345678901234567890123456"
    };
    static const char *const numbers[] = {
        "200", "-", "-1", "20", "2000", "12345678", "123456789", "x",
        "999999999999999999", "1000000000000000000", "+" };
    const size_t word_n = sizeof(words) / sizeof(words[0]);
    const size_t time_n = sizeof(times) / sizeof(times[0]);
    const size_t text_n = sizeof(texts) / sizeof(texts[0]);
    const size_t number_n = sizeof(numbers) / sizeof(numbers[0]);

    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
        comparison *c = comparison_make(formats[f], *state);

        for (size_t i = 0; i < word_n * time_n * text_n * number_n; i++) {
            const char *word = words[i % word_n];
            const char *time = times[i / word_n % time_n];
            const char *text = texts[i / word_n / time_n % text_n];
            const char *number = numbers[i / word_n / time_n / text_n];
            char line[512];
            static const char *const shapes[] = {
                "%1$s %2$s \"%3$s\" %4$s %4$s",
                "%1$s %2$s \"%3$s\" 200 %4$s \"%3$s\"",
                "%1$s:%4$s %1$s %2$s \"%3$s\" %4$s 5",
                "%1$s \"%3$s\" %4$s 7 %2$s",
                "%1$s %2$s \"%3$s\" 304 %4$s +",
                "h %2$s %1$s \"%3$s\" 404 %4$s" };

            snprintf(line, sizeof(line), shapes[f], word, time, text, number);
            compare(c, line, strlen(line));
        }
        assert_true(c->taken > 0);
    }
}

/* Lines as servers write them are taken in one pass. */
static void test_logline_fast__plain_lines_are_taken(void **state)
{
    static const struct {
        const char *format, *line;
        bool taken;
    } cases[] = {
        { "combined", "1.2.3.4 - - " T " \"GET / HTTP/1.1\" 200 12 \"-\" "
                      "\"M/5\"", true },
        { "combined", "::1 - joe " T " \"-\" 408 - \"-\" \"-\"", true },
        { "combined", "h - - " T " \"GET /\\\" 200 1 HTTP/1.1\" 200 12 \"-\" "
                      "\"M\\\"5\"", false },
        { "combined", "h - - " T " \"GET /\" x\" 200 12 \"-\" \"M/5\"", false },
        { "combined", "h - - " T " \"GET /\" 200 12 \"-\" \"M \\\"5\\\" \"",
          true },
        { "combined", "h - joe doe " T " \"GET /\" 200 1 \"-\" \"-\"", false },
        { "common", "h - - " T " \"GET /\" 304 -", true },
        { "common", "h - - " T " \"GET /\" 200 123456789012", true },
        { "common", "h - - " T " \"GET /\" 200 1234567890123456789", false },
        { "vhost_combined", "www:80 h - - " T " \"-\" 408 - \"-\" \"-\"",
          true },
        { "kastats", "1.2.3.4 50123 5.6.7.8 1704164645123456 652 3 + HTTP/1.1 "
                     "200 5188 126 140213 www \"GET / HTTP/1.1\" \"M/5\"",
          true },
        { "%h %t %D", "h " T " 652", true },
        { "%h %t %D", "h " T " -", true },
        { "%h %t %D", "h " T " -1", false },
        { "%b1 %t", "-1 " T, false },
        { "%b1 %t", "21 " T, false },
        { "%t %400X %h", T " - h", true },
        { "%t %400X %h", T " + h", true },
        { "%t %h", T " ", false },
        { "%t %h", T " h", true },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        comparison *c = comparison_make(cases[i].format, *state);

        compare(c, cases[i].line, strlen(cases[i].line));
        if (c->taken != cases[i].taken) {
            fail_msg("%s\n%s\n%s", cases[i].format, cases[i].line,
                     c->taken ? "is taken" : "is not taken");
        }
    }
}

static void test_logline_fast__longest_lines(void **state)
{
    static const size_t lengths[] = { 300, 65000, 65536, 65537, 300000 };
    comparison *c = comparison_make("%h %t \"%r\" %s \"%{User-Agent}i\"",
                                    *state);

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const char *head = "h " T " \"", *tail = "\" 200 \"-\"";
        const size_t n = lengths[i], head_n = strlen(head);
        char *line = malloc(n);

        assert_non_null(line);
        memset(line, 'x', n);
        memcpy(line, head, head_n);
        memcpy(line + n - strlen(tail), tail, strlen(tail));
        compare(c, line, n);
        free(line);
    }
    assert_int_equal(c->parsed, 5);
    assert_int_equal(c->taken, 3);
}

/* The memory of a minute does not make a moment of what is none. */
static void test_logline_fast__times_of_a_minute(void **state)
{
    static const char *const times[] = {
        "[02/Jan/2024:03:04:05 +0000]", "[02/Jan/2024:03:04:06 +0000]",
        "[02/Jan/2024:03:04:60 +0000]", "[02/Jan/2024:03:04:61 +0000]",
        "[02/Jan/2024:03:04:0x +0000]", "[02/Jan/2024:03:04:07 +0100]",
        "[02/Jan/2024:03:04:08 -0100]", "[02/Jan/2024:03:04:09 +0000)",
        "[02/Jan/2024:03:04x09 +0000]", "(02/Jan/2024:03:04:09 +0000]",
        "[02/Jan/2024:03:05:00 +0000]", "[02/Feb/2024:03:05:00 +0000]",
        "[02/Jan/2025:03:05:00 +0000]", "[31/Dec/1969:23:59:60 +0000]",
        "[31/Dec/1969:23:59:59 +0000]", "[01/Jan/1970:00:00:00 +0000]",
        "[01/Jan/1970:00:00:59 +0001]", "[01/Jan/1970:00:01:02 +0001]",
    };
    comparison *c = comparison_make("%t %h", *state);
    const size_t n = sizeof(times) / sizeof(times[0]);

    /* Each one after each other one. */
    for (size_t i = 0; i < n * n; i++) {
        compare(c, apr_psprintf(*state, "%s h", times[i % n]),
                KA_CLF_TIME_LENGTH + 2);
        compare(c, apr_psprintf(*state, "%s h", times[i / n]),
                KA_CLF_TIME_LENGTH + 2);
    }
    assert_int_equal(c->taken, c->parsed);
}

static void test_logline_fast__logs_of_ones_own(void **state)
{
    const char *names = getenv("KA_LOGS");
    comparisons *all = comparisons_make(*state);
    char *rest = apr_pstrdup(*state, names ? names : "");

    for (const char *path; (path = strsep(&rest, ":")) != NULL;) {
        if (*path) {
            each_line(path, compare_all, all);
        }
    }
    for (size_t i = 0; names && i < FORMATS; i++) {
        const comparison *c = all->of[i];

        if (c->parsed > c->lines / 2) {
            print_message("%s: %zu lines, %zu parsed, %zu in one pass\n",
                          ka_logformat_text(c->format), c->lines, c->parsed,
                          c->taken);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_logline_fast__which_formats_are_plain),
        unit_test(test_logline_fast__test_logs),
        unit_test(test_logline_fast__damaged_lines),
        unit_test(test_logline_fast__items),
        unit_test(test_logline_fast__plain_lines_are_taken),
        unit_test(test_logline_fast__longest_lines),
        unit_test(test_logline_fast__times_of_a_minute),
        unit_test(test_logline_fast__logs_of_ones_own),
    };

    return unit_main(tests);
}
