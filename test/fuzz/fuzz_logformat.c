/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * libFuzzer: any bytes as a format, any bytes as a line of it.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined ... fuzz_logformat.c
 *
 * Input: the format, NUL, the line.  The line is also given to every preset,
 * so that lines are tried also while the format does not compile.  Each line
 * is taken apart by the matcher and by a parser, which have to agree. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <apr_general.h>
#include <apr_pools.h>
#include "sources/logformat.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const ka_str *text, const char *line, size_t length)
{
    if (text->ptr) {
        assert(text->ptr >= line && text->len <= length
               && text->ptr + text->len <= line + length);
    }
}

static void check_values(const ka_logline *v, const char *line, size_t length)
{
    const ka_str *texts[] = { &v->host, &v->client, &v->peer, &v->request,
                              &v->method, &v->uri, &v->query, &v->protocol,
                              &v->vhost, &v->handler, &v->user_agent,
                              &v->unique_id, &v->tls_protocol };
    const int64_t numbers[] = { v->begin_us, v->end_us, v->service_us,
                                v->first_byte_us, v->body_bytes, v->bytes_in,
                                v->bytes_out, v->pid, v->tid, v->remote_port,
                                v->local_port, v->status, v->keepalives };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        check_text(texts[i], line, length);
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert(numbers[i] >= -1);
    }
    assert(v->status <= 999 && v->remote_port <= 65535);
}

/* A parser finds what the matcher finds. */
static void check_parser(const ka_logformat *format, const ka_logline *values,
                         const ka_logline_error *error, const char *line,
                         size_t size)
{
    apr_pool_t *pool;
    ka_lineparser *parser;
    ka_logline got;
    ka_logline_error got_error;

    apr_pool_create(&pool, NULL);
    parser = ka_lineparser_make(format, pool);
    /* Twice: it remembers the time. */
    for (int i = 0; i < 2; i++) {
        memset(&got, 0x55, sizeof(got));
        if (ka_lineparser_parse(&got, &got_error, parser, line, size)
            == APR_SUCCESS) {
            assert(values && !memcmp(&got, values,
                                     offsetof(ka_logline, conn_status) + 1));
        }
        else {
            assert(!values && got_error.column == error->column
                   && got_error.expected == error->expected);
        }
    }
    apr_pool_destroy(pool);
}

/* The line in a block of its own size, so that a read behind it is seen. */
static void parse(const ka_logformat *format, const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    ka_logline values;
    ka_logline_error error;

    assert(line);
    if (size > 0) {
        memcpy(line + 1, data, size);
    }
    if (ka_logline_parse(&values, &error, format, line + 1, size)
        == APR_SUCCESS) {
        check_values(&values, line + 1, size);
        check_parser(format, &values, NULL, line + 1, size);
    }
    else {
        assert(error.column >= 1 && error.column <= size + 1);
        assert(error.expected && *error.expected);
        check_parser(format, NULL, &error, line + 1, size);
    }
    free(line);
}

static void compile_and_parse(const char *text, const uint8_t *line,
                              size_t size)
{
    apr_pool_t *pool;
    ka_logformat *format;
    const char *error = NULL;

    apr_pool_create(&pool, NULL);
    if (ka_logformat_compile(&format, &error, text, pool) == APR_SUCCESS) {
        assert(ka_logformat_name(format) && ka_logformat_text(format));
        assert(ka_logformat_fields(format)
               & (KA_LF_BIT(KA_LF_BEGIN) | KA_LF_BIT(KA_LF_END)));
        parse(format, line, size);
    }
    else {
        unsigned long column;

        assert(error && strncmp(error, "column ", 7) == 0);
        column = strtoul(error + 7, NULL, 10);
        assert(column >= 1 && column <= strlen(text) + 1);
    }
    apr_pool_destroy(pool);
}

#define PRESETS_MAX 16

static ka_logformat *presets[PRESETS_MAX];
static size_t preset_n;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const ka_logformat_preset *p = ka_logformat_presets();
    const char *error;
    apr_pool_t *pool;

    (void)argc;
    (void)argv;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    for (; p[preset_n].name; preset_n++) {
        assert(preset_n < PRESETS_MAX);
        if (ka_logformat_compile(&presets[preset_n], &error, p[preset_n].name,
                                 pool) != APR_SUCCESS) {
            abort();
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    const uint8_t *line = end ? end + 1 : data;
    size_t line_n = end ? size - length - 1 : size;
    char *text = malloc(length + 1);

    assert(text);
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    compile_and_parse(text, line, line_n);
    for (size_t i = 0; i < preset_n; i++) {
        parse(presets[i], line, line_n);
    }
    free(text);
    return 0;
}
