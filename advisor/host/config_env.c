/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_env.h"

#include <string.h>

#include <apr_lib.h>
#include <apr_strings.h>

#include "config_root.h"
#include "config_text.h"

/* Such files are short; one that means harm is read as far as this. */
#define LINES_MAX 2000
#define LINE_MAX_BYTES 4096
#define VALUE_MAX 8192
#define IFS_MAX 32
#define EXPAND_DEPTH 8

typedef struct script {
    apr_table_t *environment;
    apr_pool_t *pool;
    bool unknown; /* what was expanded last needs a shell */
    bool taken[IFS_MAX];  /* of each open `if`: a branch has been read */
    bool active[IFS_MAX]; /* this branch is read */
    int depth;
} script;

static const char *expand(script *s, const char *text, size_t n, int depth);

/* ---- ${...} -----------------------------------------------------------------
 */

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (apr_isalnum(text[n]) || text[n] == '_') {
        n++;
    }
    return n && !apr_isdigit(*text) ? n : 0;
}

static const char *without_prefix(const char *value, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(value, prefix, n) ? value : value + n;
}

static const char *without_suffix(const char *value, const char *suffix,
                                  apr_pool_t *pool)
{
    size_t n = strlen(value), m = strlen(suffix);

    return m > n || strcmp(value + n - m, suffix)
               ? value
               : apr_pstrmemdup(pool, value, n - m);
}

/* Inside the braces, text[n]. */
static const char *parameter(script *s, const char *text, size_t n, int depth)
{
    size_t name_n = name_length(text), skip;
    const char *name, *value, *word, *operator_;
    bool set;

    if (name_n == 0 || name_n > n) {
        s->unknown = true;
        return "";
    }
    name = apr_pstrmemdup(s->pool, text, name_n);
    value = apr_table_get(s->environment, name);
    operator_ = text + name_n;
    if (name_n == n) {
        return value ? value : "";
    }
    skip = (size_t)1 + (operator_[0] == ':' || operator_[0] == operator_[1]);
    if (name_n + skip > n) {
        skip = 1;
    }
    word = expand(s, operator_ + skip, n - name_n - skip, depth + 1);
    set = value && (operator_[0] != ':' || *value);
    switch (operator_[skip - 1]) {
    case '-':
        return set ? value : word;
    case '=':
        if (!set) {
            apr_table_set(s->environment, name, word);
        }
        return set ? value : word;
    case '+':
        return set ? word : "";
    case '#':
        return without_prefix(value ? value : "", word);
    case '%':
        return without_suffix(value ? value : "", word, s->pool);
    default:
        s->unknown = true;
        return "";
    }
}

/* Where the braces end: the length of what they hold; SIZE_MAX if never. */
static size_t braces(const char *text, size_t n)
{
    size_t i;
    int level = 1;

    for (i = 0; i < n; i++) {
        level += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
        if (level == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* At a dollar sign; `used` bytes belong to it. */
static const char *dollar(script *s, size_t *used, const char *text, size_t n,
                          int depth)
{
    size_t name_n = name_length(text + 1), inside;

    if (name_n > 0 && name_n < n) {
        const char *value = apr_table_get(
            s->environment, apr_pstrmemdup(s->pool, text + 1, name_n));

        *used = 1 + name_n;
        return value ? value : "";
    }
    if (n > 1 && text[1] == '{' &&
        (inside = braces(text + 2, n - 2)) != SIZE_MAX &&
        depth < EXPAND_DEPTH) {
        *used = inside + 3;
        return parameter(s, text + 2, inside, depth);
    }
    *used = 1;
    s->unknown = s->unknown || (n > 1 && (text[1] == '(' || text[1] == '{'));
    return "$";
}

/* text[n] with quotes undone and variables replaced. */
static const char *expand(script *s, const char *text, size_t n, int depth)
{
    char *out = apr_palloc(s->pool, VALUE_MAX + 1);
    size_t i = 0, out_n = 0, used;
    char quote = '\0';

    while (i < n) {
        char c = text[i];
        const char *piece = text + i;
        size_t piece_n = 1;

        used = 1;
        if (quote != '\'' && c == '\\' && i + 1 < n &&
            (!quote || strchr("\\\"$`", text[i + 1]))) {
            piece++;
            used = 2;
        }
        else if (c == quote || (!quote && (c == '"' || c == '\''))) {
            quote = quote ? '\0' : c;
            piece_n = 0;
        }
        else if (quote != '\'' && c == '`') {
            s->unknown = true;
        }
        else if (quote != '\'' && c == '$') {
            piece = dollar(s, &used, text + i, n - i, depth);
            piece_n = strlen(piece);
        }
        if (out_n + piece_n > VALUE_MAX) {
            s->unknown = true;
            break;
        }
        memcpy(out + out_n, piece, piece_n);
        out_n += piece_n;
        i += used;
    }
    return apr_pstrmemdup(s->pool, out, out_n);
}

/* ---- words of a line --------------------------------------------------------
 */

/* Length of the shell word at text, quotes and braces included. */
static size_t word_length(const char *text)
{
    size_t n = 0;
    char quote = '\0';
    int level = 0;

    for (; text[n]; n++) {
        char c = text[n];

        if (c == '\\' && quote != '\'' && text[n + 1]) {
            n++;
        }
        else if (quote) {
            quote = c == quote ? '\0' : quote;
        }
        else if (c == '"' || c == '\'') {
            quote = c;
        }
        else if (c == '{' || c == '}') {
            level += c == '{' ? 1 : -1;
        }
        else if (level <= 0 && (apr_isspace(c) || c == ';')) {
            break;
        }
    }
    return n;
}

/* The next word as it is written; NULL at the end of the line or at a
 * comment.  A semicolon is a word. */
static const char *next_word(const char **at, size_t *n)
{
    const char *word = *at + strspn(*at, " \t\r");

    if (!*word || *word == '#') {
        return NULL;
    }
    *n = *word == ';' ? 1 : word_length(word);
    *at = word + *n;
    return *n ? word : NULL;
}

static bool word_is(const char *word, size_t n, const char *text)
{
    return n == strlen(text) && !strncmp(word, text, n);
}

/* ---- if ---------------------------------------------------------------------
 */

static bool reading(const script *s)
{
    int i;

    for (i = 0; i < s->depth && i < IFS_MAX; i++) {
        if (!s->active[i]) {
            return false;
        }
    }
    return s->depth <= IFS_MAX;
}

/* [ a = b ], [ -n a ], [ -z a ]; of files and the like it is taken as no. */
static bool condition(script *s, const char *at)
{
    const char *words[5] = {"", "", "", "", ""};
    const char *word;
    size_t n;
    int k = 0;

    while (k < 5 && (word = next_word(&at, &n)) != NULL && *word != ';') {
        if (!word_is(word, n, "[") && !word_is(word, n, "test") &&
            !word_is(word, n, "[[")) {
            words[k++] = expand(s, word, n, 0);
        }
    }
    if (!strcmp(words[0], "-n")) {
        return *words[1] && strcmp(words[1], "]");
    }
    if (!strcmp(words[0], "-z")) {
        return !*words[1] || !strcmp(words[1], "]");
    }
    if (!strcmp(words[1], "=") || !strcmp(words[1], "==")) {
        return !strcmp(words[0], words[2]);
    }
    return !strcmp(words[1], "!=") && strcmp(words[0], words[2]);
}

/* if, elif, else, fi; false for any other word. */
static bool branch(script *s, const char *word, size_t n, const char *rest)
{
    int i = s->depth - 1;
    bool inside = s->depth > 0 && s->depth <= IFS_MAX;

    if (word_is(word, n, "if")) {
        bool holds = reading(s) && condition(s, rest);

        if (s->depth < IFS_MAX) {
            s->active[s->depth] = s->taken[s->depth] = holds;
        }
        s->depth++;
        return true;
    }
    if (word_is(word, n, "fi")) {
        s->depth -= s->depth > 0;
        return true;
    }
    if (word_is(word, n, "else") || word_is(word, n, "elif")) {
        if (inside) {
            s->active[i] = !s->taken[i] && (word_is(word, n, "else") ||
                                            condition(s, rest));
            s->taken[i] = s->taken[i] || s->active[i];
        }
        return true;
    }
    return false;
}

/* ---- statements -------------------------------------------------------------
 */

static void assign(script *s, const char *word, size_t n)
{
    size_t name_n = name_length(word);
    const char *value;

    if (name_n == 0 || name_n >= n || word[name_n] != '=') {
        return;
    }
    s->unknown = false;
    value = expand(s, word + name_n + 1, n - name_n - 1, 0);
    if (!s->unknown) {
        apr_table_set(s->environment,
                      apr_pstrmemdup(s->pool, word, name_n), value);
    }
}

static void statement(script *s, const char *line)
{
    const char *at = line, *word;
    bool unset = false;
    size_t n;

    while ((word = next_word(&at, &n)) != NULL) {
        if (branch(s, word, n, at)) {
            /* The condition's words are no assignments. */
            at = strstr(at, "then") ? strstr(at, "then") + 4 : at;
            continue;
        }
        if (!reading(s)) {
            continue;
        }
        if (word_is(word, n, "unset")) {
            unset = true;
        }
        else if (*word == ';') {
            unset = false;
        }
        else if (unset) {
            apr_table_unset(s->environment,
                            apr_pstrmemdup(s->pool, word, n));
        }
        else if (*word == '$' || *word == '"') {
            expand(s, word, n, 0);
        }
        else {
            assign(s, word, n);
        }
    }
}

void ka_cfg_env_read(apr_table_t *environment, const char *text,
                     apr_pool_t *pool)
{
    script s = {.environment = environment};
    ka_cfg_lines lines;
    const char *line;
    int n = 0;

    ka_cfg_lines_init(&lines, text, strlen(text));
    apr_pool_create(&s.pool, pool);
    /* A file is small; its values are copied into the table's own pool. */
    while (n++ < LINES_MAX &&
           (line = ka_cfg_line_next(&lines, s.pool)) != NULL) {
        if (*line != '#' && strlen(line) < LINE_MAX_BYTES) {
            statement(&s, line);
        }
        apr_pool_clear(s.pool);
    }
    apr_pool_destroy(s.pool);
}

apr_array_header_t *ka_cfg_env_files(apr_table_t *environment,
                                     const char *root, const char *server_root,
                                     apr_pool_t *pool)
{
    const char *paths[] = {
        server_root ? ka_root_join(server_root, "envvars", pool) : NULL,
        server_root ? ka_root_join(server_root, "bin/envvars", pool) : NULL,
        "/etc/sysconfig/httpd", "/etc/sysconfig/apache2"};
    apr_array_header_t *read = apr_array_make(pool, 2, sizeof(const char *));
    size_t i;

    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *text;

        if (paths[i] &&
            ka_root_read(&text, NULL, root, paths[i], pool) == APR_SUCCESS) {
            ka_cfg_env_read(environment, text, pool);
            APR_ARRAY_PUSH(read, const char *) = paths[i];
        }
    }
    return read;
}

void ka_cfg_env_block(apr_table_t *environment, const char *bytes,
                      size_t length, apr_pool_t *pool)
{
    const char *end = bytes + length;

    while (bytes < end) {
        size_t n = strnlen(bytes, (size_t)(end - bytes));
        const char *equals = memchr(bytes, '=', n);

        if (equals && equals > bytes) {
            const char *name =
                apr_pstrmemdup(pool, bytes, (size_t)(equals - bytes));

            apr_table_set(environment, name,
                          apr_pstrmemdup(pool, equals + 1,
                                         n - (size_t)(equals + 1 - bytes)));
        }
        bytes += n + 1;
    }
}
