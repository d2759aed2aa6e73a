/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Include and IncludeOptional of the reader: files, directories, wildcards in
 * any component, in byte order as httpd sorts them. */
#include "config_read_priv.h"

#include <errno.h>
#include <string.h>

#include <apr_fnmatch.h>
#include <apr_strings.h>

#include "config_root.h"

typedef struct including {
    ka_cfg_reader *reader;
    const ka_cfg_source *source; /* of the Include line */
    bool optional;
    int found;
} including;

static void complain(including *in, const char *path, apr_status_t status)
{
    char reason[120];

    if (!in->optional || !APR_STATUS_IS_ENOENT(status)) {
        ka_cfg_problem(in->reader->tree, "%s: cannot read %s: %s",
                       ka_cfg_place(in->reader, in->source), path,
                       apr_strerror(status, reason, sizeof(reason)));
    }
}

static void include_file(including *in, const char *path)
{
    ka_cfg_reader *reader = in->reader;
    const char *text = NULL;
    size_t length = 0;
    apr_status_t status;

    if (reader->tree->files->nelts >= KA_CFG_FILES_MAX) {
        ka_cfg_problem(reader->tree,
                       "%s: more than %d files were included; the rest was "
                       "not read",
                       ka_cfg_place(reader, in->source), KA_CFG_FILES_MAX);
        reader->lines_left = 0;
        return;
    }
    status =
        ka_root_read(&text, &length, reader->input->root, path, reader->pool);
    if (status != APR_SUCCESS) {
        complain(in, path, status);
        return;
    }
    /* A file read again and again costs each time. */
    if (length > reader->bytes_left) {
        length = reader->bytes_left;
    }
    in->found++;
    APR_ARRAY_PUSH(reader->tree->files, const char *) = path;
    ka_cfg_read_text(reader, text, length, path, 0);
}

/* Names in a directory, as many as may still be looked at. */
static apr_status_t list(including *in, apr_array_header_t **names,
                         const char *path)
{
    ka_cfg_reader *reader = in->reader;
    apr_status_t status =
        ka_root_list(names, reader->input->root, path, reader->pool);

    if (status != APR_SUCCESS && status != APR_ENOSPC) {
        return status;
    }
    if (status == APR_ENOSPC || (*names)->nelts >= reader->entries_left) {
        if ((*names)->nelts > reader->entries_left) {
            (*names)->nelts = reader->entries_left;
        }
        ka_cfg_problem(reader->tree,
                       "%s: more than %d files in %s, or %d in the directories "
                       "of all Includes; the rest was not read",
                       ka_cfg_place(reader, in->source), KA_ROOT_LIST_MAX, path,
                       KA_CFG_ENTRIES_MAX);
    }
    reader->entries_left -= (*names)->nelts;
    return APR_SUCCESS;
}

/* The directories that are being included, innermost first. */
typedef struct inside {
    const struct inside *outer;
    uint64_t device, inode;
    int depth;
} inside;

static bool within_itself(const inside *directory)
{
    const inside *outer;

    for (outer = directory->outer; outer; outer = outer->outer) {
        if (outer->device == directory->device &&
            outer->inode == directory->inode) {
            return true;
        }
    }
    return directory->depth > KA_CFG_DEPTH_MAX;
}

/* A file, or all files of a directory and of those in it. */
static void include_path(including *in, const char *path, const inside *outer)
{
    ka_cfg_reader *reader = in->reader;
    apr_array_header_t *names = NULL;
    const char *slash;
    inside here = {.outer = outer, .depth = outer ? outer->depth + 1 : 1};
    ka_root_stat info;
    apr_status_t status =
        ka_root_stat_of(&info, reader->input->root, path, reader->pool);
    int i;

    if (status == APR_SUCCESS && !info.directory) {
        include_file(in, path);
        return;
    }
    if (status == APR_SUCCESS) {
        here.device = info.device;
        here.inode = info.inode;
        status = within_itself(&here) ? ELOOP : list(in, &names, path);
    }
    if (status != APR_SUCCESS) {
        complain(in, path, status);
    }
    slash = *path && path[strlen(path) - 1] == '/' ? "" : "/";
    for (i = 0; names && i < names->nelts && reader->lines_left > 0; i++) {
        include_path(in,
                     apr_pstrcat(reader->pool, path, slash,
                                 APR_ARRAY_IDX(names, i, const char *), NULL),
                     &here);
    }
}

/* `done` has no wildcard; `rest` is what follows, "" at the end. */
static void include_matches(including *in, const char *done, const char *rest,
                            int depth)
{
    ka_cfg_reader *reader = in->reader;
    size_t n = strcspn(rest, "/");
    const char *name = apr_pstrmemdup(reader->pool, rest, n);
    apr_array_header_t *names = NULL;
    int i;

    if (!*rest || depth > KA_CFG_DEPTH_MAX) {
        include_path(in, done, NULL);
        return;
    }
    rest += n + strspn(rest + n, "/");
    if (!apr_fnmatch_test(name)) {
        include_matches(in, apr_pstrcat(reader->pool, done, "/", name, NULL),
                        rest, depth + 1);
        return;
    }
    /* What cannot be read matches nothing, as for httpd. */
    if (list(in, &names, *done ? done : "/") != APR_SUCCESS) {
        return;
    }
    for (i = 0; i < names->nelts && reader->lines_left > 0; i++) {
        const char *entry = APR_ARRAY_IDX(names, i, const char *);

        if (apr_fnmatch(name, entry, APR_FNM_PERIOD) == APR_SUCCESS) {
            include_matches(in,
                            apr_pstrcat(reader->pool, done, "/", entry, NULL),
                            rest, depth + 1);
        }
    }
}

void ka_cfg_include(ka_cfg_reader *reader, const ka_cfg_source *source,
                    const char *path, bool optional)
{
    including in = {.reader = reader, .source = source, .optional = optional};

    if (reader->depth >= KA_CFG_DEPTH_MAX) {
        ka_cfg_problem(reader->tree,
                       "%s: more than %d Includes within each other, which "
                       "httpd refuses; the rest was not read",
                       ka_cfg_place(reader, source), KA_CFG_DEPTH_MAX);
        /* Files that include each other twice would be read 2^20 times. */
        reader->lines_left = 0;
        reader->spent = true;
        return;
    }
    path = ka_root_join(reader->tree->server_root, path, reader->pool);
    reader->depth++;
    if (!apr_fnmatch_test(path)) {
        include_path(&in, path, NULL);
    }
    else {
        include_matches(&in, "", path + strspn(path, "/"), 0);
        if (!in.found && !optional) {
            ka_cfg_problem(reader->tree, "%s: nothing matches %s",
                           ka_cfg_place(reader, source), path);
        }
    }
    reader->depth--;
}
