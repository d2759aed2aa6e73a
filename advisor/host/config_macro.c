/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * <Macro> and Use of the reader. */
#include "config_read_priv.h"

#include <string.h>
#include <strings.h>

#include <apr_strings.h>

typedef struct ka_cfg_macro {
    apr_array_header_t *parameters; /* const char *, `$a` and the like */
    const char *text; /* its lines, each as long as it was in the file */
    const char *file;
    int line;    /* of <Macro> */
    bool in_use; /* a macro that uses itself has no end */
} ka_cfg_macro;

static const char *lower(const char *name, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, name), *c;

    for (c = copy; *c; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    }
    return copy;
}

static bool is_tag(const char *line, const char *tag)
{
    size_t n = strlen(tag);

    return !strncasecmp(line, tag, n) &&
           (!line[n] || strchr("> \t", line[n]));
}

/* The lines up to </Macro>; joined ones leave empty ones behind, so that
 * numbers stay. */
static const char *take_lines(ka_cfg_reader *reader, ka_cfg_source *source)
{
    apr_array_header_t *lines =
        apr_array_make(reader->pool, 16, sizeof(const char *));
    const char *line;
    int level = 1, i;

    while ((line = ka_cfg_read_line(reader, source)) != NULL) {
        level += is_tag(line, "<Macro") ? 1 : 0;
        level -= is_tag(line, "</Macro") ? 1 : 0;
        if (level == 0) {
            break;
        }
        for (i = source->lines.first; i < source->lines.number; i++) {
            APR_ARRAY_PUSH(lines, const char *) = "\n";
        }
        APR_ARRAY_PUSH(lines, const char *) =
            apr_pstrcat(reader->pool, line, "\n", NULL);
    }
    if (level > 0) {
        ka_cfg_problem(reader->tree, "%s: <Macro> is not closed",
                       source->file);
    }
    return apr_array_pstrcat(reader->pool, lines, '\0');
}

void ka_cfg_macro_take(ka_cfg_reader *reader, ka_cfg_source *source,
                       const char *args)
{
    const char *close = strrchr(args, '>');
    ka_cfg_macro *macro = apr_pcalloc(reader->pool, sizeof(*macro));
    const char *name;

    args = close ? apr_pstrmemdup(reader->pool, args, (size_t)(close - args))
                 : args;
    name = lower(ka_cfg_word(&args, reader->pool), reader->pool);
    macro->parameters = ka_cfg_words(args, reader->pool);
    if (macro->parameters->nelts > KA_CFG_PARAMETERS_MAX) {
        ka_cfg_problem(reader->tree,
                       "%s: macro %s has more than %d parameters; the rest "
                       "is not replaced",
                       ka_cfg_place(reader, source), name,
                       KA_CFG_PARAMETERS_MAX);
    }
    macro->file = source->file;
    macro->line = source->lines.number + source->offset;
    macro->text = take_lines(reader, source);
    apr_hash_set(reader->macros, name, APR_HASH_KEY_STRING, macro);
}

void ka_cfg_macro_drop(ka_cfg_reader *reader, const char *args)
{
    const char *name = lower(ka_cfg_word(&args, reader->pool), reader->pool);

    apr_hash_set(reader->macros, name, APR_HASH_KEY_STRING, NULL);
}

/* The longest parameter that stands at `at`; -1 if none does. */
static int parameter_at(const ka_cfg_macro *macro, const char *at)
{
    size_t longest = 0;
    int i, found = -1;

    for (i = 0; i < macro->parameters->nelts && i < KA_CFG_PARAMETERS_MAX;
         i++) {
        const char *name = APR_ARRAY_IDX(macro->parameters, i, const char *);
        size_t n = strlen(name);

        if (n > longest && !strncmp(at, name, n)) {
            longest = n;
            found = i;
        }
    }
    return found;
}

/* An argument for a parameter that begins with `@` comes in quotes. */
static const char *argument(const char *name, const char *value,
                            apr_pool_t *pool)
{
    return *name == '@' ? apr_pstrcat(pool, "\"", value, "\"", NULL) : value;
}

/* The macro's text with its parameters replaced; NULL beyond the limits. */
static const char *substitute(ka_cfg_reader *reader, const ka_cfg_macro *macro,
                              const apr_array_header_t *values)
{
    apr_array_header_t *pieces =
        apr_array_make(reader->pool, 16, sizeof(const char *));
    const char *at = macro->text, *start = at;
    size_t total = strlen(at);

    while (*at) {
        int i = parameter_at(macro, at);
        const char *name;

        if (i < 0) {
            at++;
            continue;
        }
        name = APR_ARRAY_IDX(macro->parameters, i, const char *);
        APR_ARRAY_PUSH(pieces, const char *) =
            apr_pstrmemdup(reader->pool, start, (size_t)(at - start));
        APR_ARRAY_PUSH(pieces, const char *) = argument(
            name, APR_ARRAY_IDX(values, i, const char *), reader->pool);
        total += strlen(APR_ARRAY_IDX(values, i, const char *)) + 2;
        if (total > reader->bytes_left || total > KA_CFG_EXPANDED_MAX) {
            return NULL;
        }
        at += strlen(name);
        start = at;
    }
    APR_ARRAY_PUSH(pieces, const char *) = start;
    return apr_array_pstrcat(reader->pool, pieces, '\0');
}

void ka_cfg_macro_use(ka_cfg_reader *reader, const ka_cfg_source *source,
                      const char *args)
{
    const char *name = lower(ka_cfg_word(&args, reader->pool), reader->pool);
    const apr_array_header_t *values = ka_cfg_words(args, reader->pool);
    ka_cfg_macro *macro =
        apr_hash_get(reader->macros, name, APR_HASH_KEY_STRING);
    const char *text = NULL;

    if (macro && !macro->in_use && reader->depth < KA_CFG_DEPTH_MAX &&
        macro->parameters->nelts == values->nelts) {
        text = substitute(reader, macro, values);
    }
    if (!text) {
        ka_cfg_problem(reader->tree, "%s: macro %s cannot be used here",
                       ka_cfg_place(reader, source), name);
        return;
    }
    macro->in_use = true;
    reader->depth++;
    ka_cfg_read_text(reader, text, strlen(text), macro->file, macro->line);
    reader->depth--;
    macro->in_use = false;
}
