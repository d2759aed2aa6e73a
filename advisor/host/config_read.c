/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_read_priv.h"

#include <string.h>
#include <strings.h>

#include <apr_strings.h>

#include "config_root.h"

typedef void early_fn(ka_cfg_reader *reader, ka_cfg_source *source,
                      const char *args);

/* ---- limits -----------------------------------------------------------------
 */

const char *ka_cfg_place(const ka_cfg_reader *reader,
                         const ka_cfg_source *source)
{
    return apr_psprintf(reader->pool, "%s:%d", source->file,
                        source->lines.number + source->offset);
}

static void spent(ka_cfg_reader *reader, const ka_cfg_source *source)
{
    if (!reader->spent) {
        reader->spent = true;
        ka_cfg_problem(reader->tree,
                       "%s: the configuration is longer than %d lines or %u MB "
                       "with all that it includes; the rest was not read",
                       ka_cfg_place(reader, source), KA_CFG_LINES_MAX,
                       KA_CFG_BYTES_MAX >> 20);
    }
}

/* True if so many bytes may still be used. */
static bool afford(ka_cfg_reader *reader, const ka_cfg_source *source,
                   size_t bytes)
{
    if (reader->lines_left <= 0 || bytes > reader->bytes_left) {
        reader->lines_left = 0;
        spent(reader, source);
        return false;
    }
    reader->bytes_left -= bytes;
    return true;
}

const char *ka_cfg_read_line(ka_cfg_reader *reader, ka_cfg_source *source)
{
    const char *line;

    if (source->lines.at >= source->lines.end || !afford(reader, source, 0)) {
        return NULL;
    }
    reader->lines_left--;
    line = ka_cfg_line_next(&source->lines, reader->pool);
    /* A line costs its bytes, and what is made of it some more. */
    return line && afford(reader, source, strlen(line) + 64) ? line : NULL;
}

/* ---- nodes and sections -----------------------------------------------------
 */

static int add_node(ka_cfg_reader *reader, const ka_cfg_source *source,
                    const char *name, const char *args, bool section)
{
    ka_cfg_node *node = apr_array_push(reader->tree->nodes);

    *node = (ka_cfg_node){.name = name,
                          .args = args,
                          .file = source->file,
                          .line = source->lines.number + source->offset,
                          .parent = reader->parent,
                          .section = section};
    return reader->tree->nodes->nelts - 1;
}

static void push_open(ka_cfg_reader *reader, const char *name, int node)
{
    APR_ARRAY_PUSH(reader->open, ka_cfg_open) =
        (ka_cfg_open){.name = name, .node = node};
    if (node != KA_CFG_IF) {
        reader->parent = node;
    }
}

static void pop_open(ka_cfg_reader *reader)
{
    const ka_cfg_open *top = apr_array_pop(reader->open);

    if (top->node != KA_CFG_IF) {
        reader->parent = ka_cfg_node_at(reader->tree, top->node)->parent;
    }
}

/* A closing tag ends the innermost section of its name, and what was left
 * open inside it. */
static void close_section(ka_cfg_reader *reader, const ka_cfg_source *source,
                          const char *name)
{
    int i = reader->open->nelts - 1;

    while (i >= source->base &&
           strcasecmp(APR_ARRAY_IDX(reader->open, i, ka_cfg_open).name, name)) {
        i--;
    }
    if (i < source->base) {
        ka_cfg_problem(reader->tree, "%s: </%s> closes nothing",
                       ka_cfg_place(reader, source), name);
        return;
    }
    if (i < reader->open->nelts - 1) {
        ka_cfg_problem(reader->tree, "%s: </%s> comes before </%s>",
                       ka_cfg_place(reader, source), name,
                       APR_ARRAY_IDX(reader->open, reader->open->nelts - 1,
                                     ka_cfg_open)
                           .name);
    }
    while (reader->open->nelts > i) {
        pop_open(reader);
    }
}

/* The word behind `<` or `</`, without `>`. */
static const char *tag_name(const char *text, apr_pool_t *pool)
{
    return apr_pstrmemdup(pool, text, strcspn(text, "> \t"));
}

static const char *without_bracket(const char *args, apr_pool_t *pool)
{
    size_t n = strlen(args);

    return n > 0 && args[n - 1] == '>' ? apr_pstrmemdup(pool, args, n - 1)
                                       : args;
}

/* Lines up to the end of a section that does not hold. */
static void skip_section(ka_cfg_reader *reader, ka_cfg_source *source,
                         const char *name)
{
    const char *place = ka_cfg_place(reader, source), *line;
    int level = 1;

    while (level > 0 && (line = ka_cfg_read_line(reader, source)) != NULL) {
        if (*line == '<') {
            bool closing = line[1] == '/';

            if (!strcasecmp(tag_name(line + 1 + closing, reader->pool),
                            name)) {
                level += closing ? -1 : 1;
            }
        }
    }
    if (level > 0) {
        ka_cfg_problem(reader->tree, "%s: <%s> is not closed", place, name);
    }
}

static void open_section(ka_cfg_reader *reader, ka_cfg_source *source,
                         const char *line)
{
    const char *name = tag_name(line + 1, reader->pool);
    const char *args = line + 1 + strlen(name);
    int holds;

    args += strspn(args, " \t");
    if (!strcasecmp(name, "Macro")) {
        ka_cfg_macro_take(reader, source, args);
        return;
    }
    if (reader->open->nelts >= KA_CFG_NESTED_MAX) {
        ka_cfg_problem(reader->tree,
                       "%s: more than %d sections within each other; <%s> "
                       "was not read",
                       ka_cfg_place(reader, source), KA_CFG_NESTED_MAX, name);
        skip_section(reader, source, name);
        return;
    }
    holds = ka_cfg_condition(reader, source, name, args);
    if (holds == 0) {
        skip_section(reader, source, name);
        return;
    }
    push_open(reader, name,
              holds > 0 ? KA_CFG_IF
                        : add_node(reader, source, name,
                                   without_bracket(args, reader->pool), true));
}

/* ---- directives that are obeyed while reading -------------------------------
 */

static void take_include(ka_cfg_reader *reader, ka_cfg_source *source,
                         const char *args)
{
    ka_cfg_include(reader, source, ka_cfg_word(&args, reader->pool), false);
}

static void take_include_optional(ka_cfg_reader *reader,
                                  ka_cfg_source *source, const char *args)
{
    ka_cfg_include(reader, source, ka_cfg_word(&args, reader->pool), true);
}

static void take_define(ka_cfg_reader *reader, ka_cfg_source *source,
                        const char *args)
{
    const char *name = ka_cfg_word(&args, reader->pool);

    (void)source;
    apr_hash_set(reader->defines, name, APR_HASH_KEY_STRING, name);
    if (*args) {
        apr_table_setn(reader->vars, name, ka_cfg_word(&args, reader->pool));
    }
}

static void take_undefine(ka_cfg_reader *reader, ka_cfg_source *source,
                          const char *args)
{
    const char *name = ka_cfg_word(&args, reader->pool);

    (void)source;
    apr_hash_set(reader->defines, name, APR_HASH_KEY_STRING, NULL);
    apr_table_unset(reader->vars, name);
}

static void take_load_module(ka_cfg_reader *reader, ka_cfg_source *source,
                             const char *args)
{
    const char *symbol = ka_cfg_word(&args, reader->pool);
    const char *path = ka_cfg_word(&args, reader->pool);

    if (*symbol && *path) {
        ka_cfg_add_module(
            reader->tree, symbol, NULL,
            ka_root_join(reader->tree->server_root, path, reader->pool),
            ka_cfg_place(reader, source));
    }
}

static void take_server_root(ka_cfg_reader *reader, ka_cfg_source *source,
                             const char *args)
{
    (void)source;
    reader->tree->server_root =
        ka_root_join(reader->tree->server_root,
                     ka_cfg_word(&args, reader->pool), reader->pool);
}

static void take_use(ka_cfg_reader *reader, ka_cfg_source *source,
                     const char *args)
{
    ka_cfg_macro_use(reader, source, args);
}

static void take_undef_macro(ka_cfg_reader *reader, ka_cfg_source *source,
                             const char *args)
{
    (void)source;
    ka_cfg_macro_drop(reader, args);
}

static const struct {
    const char *name;
    early_fn *take; /* NULL: no effect on what follows */
} early[] = {{"Include", take_include},
             {"IncludeOptional", take_include_optional},
             {"Define", take_define},
             {"UnDefine", take_undefine},
             {"LoadModule", take_load_module},
             {"ServerRoot", take_server_root},
             {"Use", take_use},
             {"UndefMacro", take_undef_macro},
             {"DefaultRuntimeDir", NULL},
             {"LoadFile", NULL}};

static void directive(ka_cfg_reader *reader, ka_cfg_source *source,
                      const char *line)
{
    const char *args = line;
    const char *name = ka_cfg_word(&args, reader->pool);
    int node = add_node(reader, source, name, args, false);
    size_t i;

    for (i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
        if (!strcasecmp(name, early[i].name)) {
            APR_ARRAY_IDX(reader->tree->nodes, node, ka_cfg_node).early = true;
            if (early[i].take) {
                early[i].take(reader, source, args);
            }
            return;
        }
    }
}

/* ---- lines ------------------------------------------------------------------
 */

static void read_one(ka_cfg_reader *reader, ka_cfg_source *source,
                     const char *line)
{
    const char *undefined = NULL, *text;

    if (*line == '#' || !*line) {
        return;
    }
    text = ka_cfg_expand(&undefined, line, reader->vars,
                         reader->input->environment, reader->pool);
    if (!text) {
        ka_cfg_problem(reader->tree, "%s: longer than %u kB with ${...} "
                       "replaced; not read",
                       ka_cfg_place(reader, source),
                       KA_CFG_EXPANDED_MAX >> 10);
        return;
    }
    if (text != line && !afford(reader, source, strlen(text))) {
        return;
    }
    /* %{...}t of a log and RewriteMap's ${map:key} are no variables. */
    if (undefined && !strchr(undefined, ':')) {
        ka_cfg_problem(reader->tree, "%s: ${%s} is not defined",
                       ka_cfg_place(reader, source), undefined);
    }
    if (*text != '<') {
        directive(reader, source, text);
    }
    else if (text[1] == '/') {
        close_section(reader, source, tag_name(text + 2, reader->pool));
    }
    else {
        open_section(reader, source, text);
    }
}

void ka_cfg_read_text(ka_cfg_reader *reader, const char *text, size_t length,
                      const char *file, int offset)
{
    ka_cfg_source source = {
        .file = file, .base = reader->open->nelts, .offset = offset};
    const char *line;

    ka_cfg_lines_init(&source.lines, text, length);
    while ((line = ka_cfg_read_line(reader, &source)) != NULL) {
        read_one(reader, &source, line);
    }
    if (reader->open->nelts > source.base) {
        ka_cfg_problem(reader->tree, "%s: <%s> is not closed", file,
                       APR_ARRAY_IDX(reader->open, reader->open->nelts - 1,
                                     ka_cfg_open)
                           .name);
    }
    while (reader->open->nelts > source.base) {
        pop_open(reader);
    }
}

/* ---- the whole --------------------------------------------------------------
 */

/* Statically linked in every package: a LoadModule names all others. */
static const char *const always_built_in[] = {
    "core.c",           "http_core.c", "mod_so.c",
    "mod_log_config.c", "mod_logio.c", "mod_unixd.c",
    "mod_version.c",    "mod_watchdog.c"};

static void add_built_in(ka_cfg_reader *reader)
{
    const apr_array_header_t *known = reader->input->builtin;
    int i, n = (int)(sizeof(always_built_in) / sizeof(always_built_in[0]));

    if (known && known->nelts) {
        for (i = 0; i < known->nelts; i++) {
            ka_cfg_add_module(reader->tree, NULL,
                              APR_ARRAY_IDX(known, i, const char *), NULL,
                              "built in");
        }
        return;
    }
    for (i = 0; i < n; i++) {
        ka_cfg_add_module(reader->tree, NULL, always_built_in[i], NULL,
                          "assumed: built in");
    }
}

static void command_line(ka_cfg_reader *reader,
                         const apr_array_header_t *lines, const char *option)
{
    int i;

    for (i = 0; lines && i < lines->nelts; i++) {
        const char *line = APR_ARRAY_IDX(lines, i, const char *);

        ka_cfg_read_text(reader, line, strlen(line),
                         apr_psprintf(reader->pool, "command line %s", option),
                         0);
    }
}

static ka_cfg_reader *make_reader(const ka_cfg_input *input, apr_pool_t *pool)
{
    ka_cfg_reader *reader = apr_pcalloc(pool, sizeof(*reader));
    int i;

    *reader = (ka_cfg_reader){
        .input = input,
        .tree = ka_cfg_tree_make(pool),
        .pool = pool,
        .vars = apr_table_make(pool, 8),
        .defines = apr_hash_make(pool),
        .macros = apr_hash_make(pool),
        .open = apr_array_make(pool, 16, sizeof(ka_cfg_open)),
        .parent = KA_CFG_TOP,
        .lines_left = KA_CFG_LINES_MAX,
        .entries_left = KA_CFG_ENTRIES_MAX,
        .bytes_left = KA_CFG_BYTES_MAX};
    reader->tree->server_root =
        input->server_root ? ka_root_join("/", input->server_root, pool) : "/";
    for (i = 0; input->defines && i < input->defines->nelts; i++) {
        const char *name = APR_ARRAY_IDX(input->defines, i, const char *);

        apr_hash_set(reader->defines, name, APR_HASH_KEY_STRING, name);
    }
    return reader;
}

apr_status_t ka_cfg_read(ka_cfg_tree **out, const char **error,
                         const ka_cfg_input *input, apr_pool_t *pool)
{
    ka_cfg_reader *reader = make_reader(input, pool);
    const char *file, *text = NULL;
    size_t length = 0;
    apr_status_t status;

    add_built_in(reader);
    command_line(reader, input->before, "-C");
    file = ka_root_join(reader->tree->server_root, input->file, pool);
    status = ka_root_read(&text, &length, input->root, file, pool);
    if (status != APR_SUCCESS) {
        char reason[120];

        *error = apr_psprintf(pool, "%s%s: %s; name the configuration with "
                              "--httpd-config FILE",
                              input->root, file,
                              apr_strerror(status, reason, sizeof(reason)));
        return status;
    }
    APR_ARRAY_PUSH(reader->tree->files, const char *) = file;
    ka_cfg_read_text(reader, text, length, file, 0);
    command_line(reader, input->after, "-c");
    reader->tree->by =
        apr_psprintf(pool, "kaadvisor's own reading of %s", file);
    *out = reader->tree;
    return APR_SUCCESS;
}
