/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Any bytes as a configuration that advice is to change: which lines become
 * what, and the unified diff of it.
 *
 * The first byte chooses the MPM and the values; the rest is the main file,
 * which may include itself: as it is or, since few directives would come by
 * chance, with words in place of some of its bytes.  Checked beyond crashes: edits lie in their file,
 * in order and not over each other; the diff takes the old file to the new
 * one, read as patch(1) reads it; what was edited can be read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "advice/confedit.h"
#include "host/config_read.h"
#include "render/udiff.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/ka-fuzz-confedit-XXXXXX";

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void remove_all(void)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/a.conf", root);
    unlink(path);
    rmdir(root);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    apr_initialize();
    check(mkdtemp(root) != NULL, "a directory");
    atexit(remove_all);
    return 0;
}

static void put(const char *bytes, size_t length)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/a.conf", root);
    file = fopen(path, "wb");
    check(file && fwrite(bytes, 1, length, file) == length, "a file");
    fclose(file);
}

/* Bytes below their number stand for these. */
static const char *const words[] = {
    "KeepAlive ", "KeepAliveTimeout ", "MaxKeepAliveRequests ", "MaxClients ",
    "ServerLimit ", "MaxRequestWorkers ", "On", "Off", "5", "7s", "\n", "\r\n",
    "\\\n", " ", "\t", "\"", "# ", "<VirtualHost *:80>\n",
    "</VirtualHost>\n", "ServerName a\n", "<IfModule mpm_event_module>\n",
    "</IfModule>\n", "Define V 5\n", "${V}", "Include /a.conf\n",
    "<Macro M $x>\n", "</Macro>\n", "Use M 5\n", "$x", "StartServers 1\n",
    "<Location />\n", "</Location>\n"};

#define WORDS (sizeof(words) / sizeof(words[0]))

static void spell(ka_conf_text *text, apr_pool_t *pool)
{
    char *to = apr_palloc(pool, text->length * 32 + 1);
    size_t length = 0, i, n;

    for (i = 0; i < text->length; i++) {
        const uint8_t byte = (uint8_t)text->bytes[i];

        if (byte >= WORDS) {
            to[length++] = (char)byte;
            continue;
        }
        n = strlen(words[byte]);
        check(n <= 32, "a word is short");
        memcpy(to + length, words[byte], n);
        length += n;
    }
    text->bytes = to;
    text->length = length;
}

static ka_cfg_tree *read_tree(apr_pool_t *pool)
{
    const ka_cfg_input input = {
        .root = root, .server_root = "/", .file = "a.conf"};
    ka_cfg_tree *tree = NULL;
    const char *error;

    return ka_cfg_read(&tree, &error, &input, pool) == APR_SUCCESS ? tree
                                                                   : NULL;
}

/* ---- edits --------------------------------------------------------------- */

static const ka_conf_text *read_text(void *context, const char *file)
{
    return strcmp(file, "/a.conf") ? NULL : context;
}

static void make_edits(ka_confedit *out, const ka_conf_text *text,
                       uint8_t choice, apr_pool_t *pool)
{
    const char *number = apr_psprintf(pool, "%d", 1 + choice / 3);
    const ka_mpm mpm = (ka_mpm)(choice % KA_MPM_N);
    const ka_advice advice[] = {
        {.mpm = KA_MPM_N, .directive = "KeepAlive", .to = "On"},
        {.mpm = KA_MPM_N, .directive = "KeepAliveTimeout", .to = number},
        {.mpm = KA_MPM_N, .directive = "MaxKeepAliveRequests", .to = "0"},
        {.mpm = mpm, .directive = "ServerLimit", .to = number},
        {.mpm = mpm, .directive = "MaxRequestWorkers", .to = number,
         .applies = "restart"},
        {.mpm = mpm, .directive = "MaxConnectionsPerChild", .to = "0"},
        {.mpm = KA_MPM_N, .directive = "KeepAliveTimeout", .to = number,
         .vhost = "a:80", .change = true},
        {.mpm = KA_MPM_N, .directive = "EnableSendfile", .to = "On",
         .change = true}};
    ka_cfg_tree *tree = read_tree(pool);
    const ka_confedit_input input = {
        .tree = tree,
        .own = choice & 128 ? tree : NULL,
        .server = tree ? ka_cfg_interpret(tree, mpm, "fuzz") : NULL,
        .main_file = "/a.conf",
        .advice = advice,
        .advice_n = sizeof(advice) / sizeof(advice[0]),
        .mpm = mpm,
        .read = read_text,
        .context = (void *)text};

    *out = (ka_confedit){.edits = NULL};
    if (tree) {
        ka_confedit_make(out, &input, pool);
    }
}

/* Behind line `n` of the text, from 0. */
static const char *behind(const ka_conf_text *text, int n)
{
    const char *at = text->bytes, *end = at + text->length;

    for (; n > 0 && at < end; n--) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));

        at = lf ? lf + 1 : end;
    }
    check(n == 0, "an edit lies in its file");
    return at;
}

static size_t append(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return n;
}

/* The file with its edits. @return its length */
static size_t apply(char *to, const ka_conf_text *text, const ka_edit *edits,
                    size_t n)
{
    const char *at = text->bytes;
    size_t length = 0, i;

    for (i = 0; i < n; i++) {
        const char *first = behind(text, edits[i].first - 1);
        const char *last = behind(text, edits[i].last);
        const size_t lines = strlen(edits[i].lines);

        check(edits[i].text == text, "of the file that was read");
        check(edits[i].last >= edits[i].first - 1, "lines ascend");
        check(first >= at, "edits ascend");
        check(lines > 0 && edits[i].lines[lines - 1] == '\n', "whole lines");
        length += append(to + length, at, (size_t)(first - at));
        if (length > 0 && to[length - 1] != '\n') {
            to[length++] = '\n'; /* a last line gets its end */
        }
        length += append(to + length, edits[i].lines, lines);
        at = last;
    }
    return length + append(to + length, at,
                           (size_t)(text->bytes + text->length - at));
}

/* ---- as patch(1) --------------------------------------------------------- */

static const char *next_line(const char **at, const char *end, size_t *length)
{
    const char *line = *at, *lf = memchr(line, '\n', (size_t)(end - line));

    check(lf != NULL, "each line of a diff ends");
    *length = (size_t)(lf - line);
    *at = lf + 1;
    return line;
}

typedef struct patching {
    const ka_conf_text *text;
    int line; /* of the old file, done */
    char *to;
    size_t length;
} patching;

static void skip_to(patching *p, int line)
{
    const char *from = behind(p->text, p->line);
    const char *until = behind(p->text, line);

    check(line >= p->line, "hunks ascend");
    p->length += append(p->to + p->length, from, (size_t)(until - from));
    p->line = line;
}

static void take_op(patching *p, const char *line, size_t length, bool ends)
{
    if (*line != '+') {
        const char *old = behind(p->text, p->line++);

        check((size_t)(p->text->bytes + p->text->length - old) >=
                      length - 1 &&
                  !memcmp(old, line + 1, length - 1),
              "a diff quotes the old file");
    }
    if (*line != '-') {
        p->length += append(p->to + p->length, line + 1, length - 1);
        if (ends) {
            p->to[p->length++] = '\n';
        }
    }
}

static size_t patch(char *to, const ka_conf_text *text, const char *diff,
                    size_t n)
{
    patching p = {.text = text, .to = to};
    const char *at = diff, *end = diff + n, *line;
    size_t length;
    int i;

    for (i = 0; i < 2; i++) {
        line = next_line(&at, end, &length);
        check(!memcmp(line, i ? "+++ " : "--- ", 4), "two headers");
    }
    while (at < end) {
        int start, count = 1;
        bool ends;

        line = next_line(&at, end, &length);
        if (length > 2 && !memcmp(line, "@@", 2)) {
            check(sscanf(line, "@@ -%d,%d", &start, &count) >= 1, "a hunk");
            skip_to(&p, count ? start - 1 : start);
            continue;
        }
        check(length > 0 && strchr(" +-", *line) != NULL, "a sign");
        ends = at == end || *at != '\\';
        if (!ends) {
            size_t unused;

            next_line(&at, end, &unused);
        }
        take_op(&p, line, length, ends);
    }
    line = behind(text, p.line);
    return p.length + append(to + p.length, line,
                             (size_t)(text->bytes + text->length - line));
}

/* ---- all of it ----------------------------------------------------------- */

static void check_diff(const ka_conf_text *text, const ka_edit *edits,
                       size_t n, apr_pool_t *pool)
{
    size_t room = 4 * text->length + 65536, i, new_n, patched_n, diff_n;
    char *new, *patched, *diff;
    FILE *out = open_memstream(&diff, &diff_n);

    for (i = 0; i < n; i++) {
        room += strlen(edits[i].lines) + 1;
    }
    new = malloc(room);
    patched = malloc(room);
    check(out && new && patched, "memory");
    new_n = apply(new, text, edits, n);
    check(ka_udiff_print(out, edits, n, false, pool) == APR_SUCCESS,
          "a diff is printed");
    fclose(out);
    patched_n = patch(patched, text, diff, diff_n);
    check(new_n == patched_n && !memcmp(new, patched, new_n),
          "the diff does what the edits say");
    put(new, new_n);
    check(read_tree(pool) != NULL, "it is read again");
    free(diff);
    free(new);
    free(patched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ka_conf_text text = {.name = "/a.conf"};
    ka_confedit out;
    apr_pool_t *pool;
    int i;

    if (size == 0) {
        return 0;
    }
    text.bytes = (const char *)data + 1;
    text.length = size - 1;
    apr_pool_create(&pool, NULL);
    if (data[0] & 64) {
        spell(&text, pool);
    }
    put(text.bytes, text.length);
    make_edits(&out, &text, data[0], pool);
    if (out.edits) {
        for (i = 0; i < out.notes->nelts; i++) {
            check(*APR_ARRAY_IDX(out.notes, i, const char *), "a note says");
        }
        if (out.edits->nelts > 0) {
            check_diff(&text, (const ka_edit *)out.edits->elts,
                       (size_t)out.edits->nelts, pool);
        }
    }
    apr_pool_destroy(pool);
    return 0;
}
