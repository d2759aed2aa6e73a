/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests of host/: a root directory of the test's own with a tree of files,
 * and configurations read from it. */
#ifndef KA_TEST_HOSTTREE_H
#define KA_TEST_HOSTTREE_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_file_io.h>
#include <apr_strings.h>

#include "host/config_read.h"
#include "host/config_root.h"
#include "host/config_server.h"
#include "unit.h"

#define HOST_DATA "test/data/host/"

typedef struct hosttree {
    apr_pool_t *pool;
    char *root;
} hosttree;

static inline int hosttree_make(void **state)
{
    const char *parent = getenv("TMPDIR");
    apr_pool_t *pool;
    hosttree *tree;

    if (apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        return -1;
    }
    tree = apr_palloc(pool, sizeof(*tree));
    tree->pool = pool;
    tree->root =
        apr_pstrcat(pool, parent ? parent : "/tmp", "/ka-host-XXXXXX", NULL);
    *state = tree;
    return mkdtemp(tree->root) ? 0 : -1;
}

static inline int hosttree_unlink(const char *path, const struct stat *info,
                                  int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static inline int hosttree_remove(void **state)
{
    hosttree *tree = *state;

    nftw(tree->root, hosttree_unlink, 16, FTW_DEPTH | FTW_PHYS);
    apr_pool_destroy(tree->pool);
    return 0;
}

#define hosttree_test(function)                                                \
    cmocka_unit_test_setup_teardown(function, hosttree_make, hosttree_remove)

/* The real path of a path of the root, its directories made. */
static inline const char *hosttree_path(hosttree *tree, const char *path)
{
    const char *real = apr_pstrcat(tree->pool, tree->root, path, NULL);
    const char *slash = strrchr(real, '/');

    assert_int_equal(
        apr_dir_make_recursive(
            apr_pstrmemdup(tree->pool, real, (apr_size_t)(slash - real)),
            APR_FPROT_OS_DEFAULT, tree->pool),
        APR_SUCCESS);
    return real;
}

static inline void hosttree_bytes(hosttree *tree, const char *path,
                                  const void *bytes, size_t length)
{
    FILE *file = fopen(hosttree_path(tree, path), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void hosttree_text(hosttree *tree, const char *path,
                                 const char *text)
{
    hosttree_bytes(tree, path, text, strlen(text));
}

static inline void hosttree_link(hosttree *tree, const char *path,
                                 const char *target)
{
    assert_int_equal(symlink(target, hosttree_path(tree, path)), 0);
}

/* Reads /etc/httpd/test.conf of the root, which is `text` if that is given. */
static inline ka_cfg_tree *hosttree_read_as(hosttree *tree, const char *text,
                                            const ka_cfg_input *like)
{
    ka_cfg_input input = *like;
    ka_cfg_tree *out = NULL;
    const char *error = NULL;

    if (text) {
        hosttree_text(tree, "/etc/httpd/test.conf", text);
    }
    input.root = tree->root;
    input.server_root = "/etc/httpd";
    input.file = "test.conf";
    assert_int_equal(ka_cfg_read(&out, &error, &input, tree->pool),
                     APR_SUCCESS);
    return out;
}

static inline ka_cfg_tree *hosttree_read(hosttree *tree, const char *text)
{
    return hosttree_read_as(tree, text, &(ka_cfg_input){.root = NULL});
}

static inline ka_cfg_server *hosttree_server(hosttree *tree, const char *text)
{
    return ka_cfg_interpret(hosttree_read(tree, text), KA_MPM_UNKNOWN, NULL);
}

/* All directives as "Name args; ...", sections in braces; those obeyed while
 * reading are left out. */
static inline const char *hosttree_show(const ka_cfg_tree *tree)
{
    const char *text = "";
    int i;

    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *n = ka_cfg_node_at(tree, i);

        if (!n->early) {
            text = apr_psprintf(tree->pool, "%s%s%s%s%s%s%s", text,
                                *text ? "; " : "", n->section ? "<" : "",
                                n->name, *n->args ? " " : "", n->args,
                                n->section ? ">" : "");
        }
    }
    return text;
}

/* All sentences of an array in lines. */
static inline const char *hosttree_lines(const apr_array_header_t *texts,
                                         apr_pool_t *pool)
{
    return apr_array_pstrcat(pool, texts, '\n');
}

static inline const char *hosttree_problems(const ka_cfg_tree *tree)
{
    return hosttree_lines(tree->problems, tree->pool);
}

/* What a command printed, recorded. */
static inline const char *host_recorded(const char *name, apr_pool_t *pool)
{
    const char *text = NULL;

    assert_int_equal(
        ka_root_read(&text, NULL, "",
                     apr_pstrcat(pool, "/proc/self/cwd/" HOST_DATA "output/",
                                 name, NULL),
                     pool),
        APR_SUCCESS);
    return text;
}

#define assert_has(text, part)                                                 \
    do {                                                                       \
        const char *has_ = (text);                                             \
        if (!has_ || !strstr(has_, (part))) {                                  \
            fail_msg("\"%s\" does not hold \"%s\"", has_ ? has_ : "NULL",      \
                     (part));                                                  \
        }                                                                      \
    } while (0)

#endif
