/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * From an answer of the HTTP API to the servers.  Nothing of it is trusted:
 * each piece is looked at before it is used, and what is no sane number is
 * counted and left out. */
#include "prometheus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <jansson.h>

#include "../words.h"

/* A name or a message of theirs that is shown. */
#define SHOWN_MAX 500
/* No counter or setting of ours gets there; keeps sums of a few finite. */
#define VALUE_MAX 1e15

/* ---- errors ------------------------------------------------------------- */

static const char *shown(const char *text, apr_pool_t *pool)
{
    return ka_words_clean(pool, apr_pstrndup(pool, text, SHOWN_MAX), false);
}

static apr_status_t not_ours(const char **error, const char *url,
                             const ka_prom_answer *answer, apr_pool_t *pool)
{
    const char *type =
        *answer->type
            ? apr_pstrcat(pool, " of type ", shown(answer->type, pool), NULL)
            : "";

    if (answer->status == 404) {
        *error = apr_psprintf(pool,
                              "%s: there is no /api/v1/query (HTTP 404); give "
                              "the URL under which Prometheus' own page "
                              "appears, its prefix included",
                              url);
        return APR_EGENERAL;
    }
    *error = apr_psprintf(pool,
                          "%s: HTTP %ld, and an answer%s that is none of "
                          "Prometheus' HTTP API v1; is that Prometheus 2?",
                          url, answer->status, type);
    return APR_EGENERAL;
}

/* Functions that came with 2.26 are the latest that are asked for. */
static apr_status_t refused(const char **error, const char *url,
                            const json_t *root, apr_pool_t *pool)
{
    const char *what = json_string_value(json_object_get(root, "error"));
    const char *hint = what && strstr(what, "unknown function")
                           ? "; Prometheus 2.26 or later is needed"
                           : "";

    *error =
        apr_psprintf(pool, "%s: Prometheus says: %s%s", url,
                     what ? shown(what, pool) : "no, without a reason", hint);
    return APR_EGENERAL;
}

/* ---- the envelope ------------------------------------------------------- */

static bool says(const json_t *object, const char *key, const char *value)
{
    const char *is = json_string_value(json_object_get(object, key));

    return is && !strcmp(is, value);
}

/* data.result of an answer whose type is as wanted; *root is the caller's to
 * let go of. */
static apr_status_t open_answer(json_t **root, const json_t **result,
                                const char **error, const char *url,
                                const char *type, const ka_prom_answer *answer,
                                apr_pool_t *pool)
{
    const json_t *data;

    *root = json_loadb(answer->text, answer->n, 0, NULL);
    if (says(*root, "status", "error")) {
        return refused(error, url, *root, pool);
    }
    data = json_object_get(*root, "data");
    *result = json_object_get(data, "result");
    if (answer->status != 200 || !says(*root, "status", "success") ||
        !says(data, "resultType", type) || !json_is_array(*result)) {
        return not_ours(error, url, answer, pool);
    }
    return APR_SUCCESS;
}

/* [time, "number"]; false for what is none, or no sane one. */
static bool sample_of(double *at, double *value, const json_t *sample)
{
    const char *text = json_string_value(json_array_get(sample, 1));
    char *end;

    *at = json_number_value(json_array_get(sample, 0));
    if (!text || !json_is_number(json_array_get(sample, 0))) {
        return false;
    }
    *value = strtod(text, &end);
    return end != text && !*end && *value >= 0 && *value <= VALUE_MAX &&
           *at >= 0 && *at <= VALUE_MAX;
}

/* ---- servers and vhosts ------------------------------------------------- */

static const char *label_of(const json_t *metric, const char *name)
{
    const char *value = json_string_value(json_object_get(metric, name));

    return value ? value : "";
}

static ka_prom_server *server_make(const char *job, const char *instance,
                                   apr_pool_t *pool)
{
    ka_prom_server *s = apr_pcalloc(pool, sizeof(*s));

    *s = (ka_prom_server){.job = apr_pstrdup(pool, job),
                          .instance = apr_pstrdup(pool, instance),
                          .setting = {-1, -1},
                          .recent_connections = -1,
                          .recent_clients = -1,
                          .vhosts_by_name = apr_hash_make(pool),
                          .steps_by_time = apr_hash_make(pool)};
    return s;
}

/* The server that a sample is about; NULL: one too many. */
static ka_prom_server *server_of(ka_prom *prom, const json_t *metric)
{
    const char *job = label_of(metric, "job");
    const char *instance = label_of(metric, "instance");
    const char *key = apr_pstrcat(prom->pool, job, "\n", instance, NULL);
    ka_prom_server *server =
        apr_hash_get(prom->by_name, key, APR_HASH_KEY_STRING);

    if (!server && prom->server_n < KA_PROM_SERVERS_MAX) {
        server = server_make(job, instance, prom->pool);
        apr_hash_set(prom->by_name, key, APR_HASH_KEY_STRING, server);
        prom->servers[prom->server_n++] = server;
    }
    return server;
}

static ka_prom_vhost *vhost_of(ka_prom *prom, ka_prom_server *server,
                               const json_t *metric)
{
    const char *name = label_of(metric, "vhost");
    ka_prom_vhost *vhost =
        apr_hash_get(server->vhosts_by_name, name, APR_HASH_KEY_STRING);

    if (!vhost && prom->vhost_n < KA_PROM_VHOSTS_MAX) {
        vhost = apr_pcalloc(prom->pool, sizeof(*vhost));
        vhost->name = apr_pstrdup(prom->pool, name);
        vhost->timeout_s = vhost->max_keepalive_requests = -1;
        apr_hash_set(server->vhosts_by_name, vhost->name, APR_HASH_KEY_STRING,
                     vhost);
        prom->vhost_n++;
        server->vhost_n++;
    }
    return vhost;
}

/* ---- one sample --------------------------------------------------------- */

/* The last label of a list such as "vhost, le". */
static const char *last_label(const char *by)
{
    const char *space = strrchr(by, ' ');

    return space ? space + 1 : by;
}

static bool take_sample(ka_prom *prom, const ka_prom_row *row,
                        const json_t *metric, const json_t *sample)
{
    ka_prom_server *server = server_of(prom, metric);
    ka_prom_vhost *vhost = NULL;
    double at, value;

    if (server && row->function == KA_PROM_INCREASE &&
        server->course != prom->asked.course) {
        return true;
    }
    if (server && !strncmp(row->by, "vhost", 5)) {
        vhost = vhost_of(prom, server, metric);
        server = vhost ? server : NULL;
    }
    if (!server) {
        return false;
    }
    if (sample_of(&at, &value, sample)) {
        row->take(prom, server, vhost, label_of(metric, last_label(row->by)),
                  value, row->index);
    }
    else {
        prom->refused++;
    }
    return true;
}

static void take_step(ka_prom *prom, ka_prom_server *server, size_t offset,
                      int64_t at_s, double value)
{
    ka_prom_step *step =
        apr_hash_get(server->steps_by_time, &at_s, sizeof(at_s));

    if (!step) {
        step = apr_palloc(prom->pool, sizeof(*step));
        *step = (ka_prom_step){at_s, -1, -1, -1, -1, -1};
        apr_hash_set(server->steps_by_time, &step->at_s, sizeof(step->at_s),
                     step);
    }
    *(double *)((char *)step + offset) = value;
}

static bool take_series(ka_prom *prom, const ka_prom_row *row,
                        const json_t *metric, const json_t *values)
{
    ka_prom_server *server = server_of(prom, metric);
    size_t n = json_array_size(values), i;
    double at, value;

    n = n < KA_PROM_POINTS_MAX + 1 ? n : KA_PROM_POINTS_MAX + 1;
    for (i = 0; server && i < n; i++) {
        if (sample_of(&at, &value, json_array_get(values, i))) {
            take_step(prom, server, row->index, (int64_t)at, value);
        }
        else {
            prom->refused++;
        }
    }
    return server != NULL;
}

static apr_status_t too_many(const char **error, const ka_prom *prom)
{
    *error = apr_psprintf(prom->pool,
                          "%s: more than %d servers or %d virtual hosts are "
                          "too many for one report; ask for fewer with "
                          "--match 'job=\"...\"'",
                          prom->url, KA_PROM_SERVERS_MAX, KA_PROM_VHOSTS_MAX);
    return APR_ENOSPC;
}

static apr_status_t take_result(ka_prom *prom, const char **error,
                                const ka_prom_row *row, const json_t *result)
{
    bool range = ka_prom_is_range(row);
    size_t i;

    for (i = 0; i < json_array_size(result); i++) {
        const json_t *item = json_array_get(result, i);
        const json_t *metric = json_object_get(item, "metric");

        if (!(range ? take_series(prom, row, metric,
                                  json_object_get(item, "values"))
                    : take_sample(prom, row, metric,
                                  json_object_get(item, "value")))) {
            return too_many(error, prom);
        }
    }
    return APR_SUCCESS;
}

/* ---- answers ------------------------------------------------------------ */

void ka_prom_init(ka_prom *prom, const char *url, const ka_prom_asked *asked,
                  apr_pool_t *pool)
{
    *prom = (ka_prom){.pool = pool,
                      .url = url,
                      .asked = *asked,
                      .by_name = apr_hash_make(pool),
                      .servers = apr_palloc(pool, KA_PROM_SERVERS_MAX *
                                                      sizeof(*prom->servers))};
}

apr_status_t ka_prom_take(ka_prom *prom, size_t *taken, const char **error,
                          const ka_prom_row *row, const ka_prom_answer *answer)
{
    const char *type = ka_prom_is_range(row) ? "matrix" : "vector";
    const json_t *result;
    json_t *root;
    apr_status_t rv =
        open_answer(&root, &result, error, prom->url, type, answer, prom->pool);

    *taken = 0;
    if (!rv) {
        *taken = json_array_size(result);
        rv = take_result(prom, error, row, result);
    }
    json_decref(root);
    return rv;
}

apr_status_t ka_prom_take_time(int64_t *at_s, const char **error,
                               const char *url, const ka_prom_answer *answer,
                               apr_pool_t *pool)
{
    const json_t *result;
    double at, value;
    json_t *root;
    apr_status_t rv =
        open_answer(&root, &result, error, url, "scalar", answer, pool);

    if (!rv && sample_of(&at, &value, result)) {
        *at_s = (int64_t)value;
    }
    else if (!rv) {
        rv = not_ours(error, url, answer, pool);
    }
    json_decref(root);
    return rv;
}

/* ---- courses ------------------------------------------------------------ */

/* Instances that are asked for by name. */
#define NAMED_MAX 50

void ka_prom_set_courses(ka_prom *prom)
{
    size_t i;

    for (i = 0; i < prom->server_n; i++) {
        ka_prom_server *s = prom->servers[i];

        s->course = s->restarts > 0 ? KA_PROM_RESTARTED
                    : s->both_ends  ? KA_PROM_STEADY
                                    : KA_PROM_YOUNG;
    }
}

/* Inside a string inside a query: letters and digits as they are, the rest
 * behind a backslash for the expression and one for the string.  NULL for what
 * is not printable. */
static const char *quoted(const char *instance, apr_pool_t *pool)
{
    char *text = apr_palloc(pool, strlen(instance) * 4 + 1), *to = text;

    for (; *instance; instance++) {
        if (*instance < ' ' || *instance >= 0x7f) {
            return NULL;
        }
        if (!apr_isalnum(*instance)) {
            to += sprintf(to, "%s",
                          strchr("\"\\", *instance) ? "\\\\\\" : "\\\\");
        }
        *to++ = *instance;
    }
    *to = '\0';
    return text;
}

const char *ka_prom_instances(size_t *n, const ka_prom *prom,
                              ka_prom_course course)
{
    const char *text = NULL;
    bool odd = false;
    size_t i;

    *n = 0;
    for (i = 0; i < prom->server_n; i++) {
        const char *one;

        if (prom->servers[i]->course != course || ++*n > NAMED_MAX) {
            continue;
        }
        one = quoted(prom->servers[i]->instance, prom->pool);
        odd = odd || !one;
        text =
            text && one ? apr_pstrcat(prom->pool, text, "|", one, NULL) : one;
    }
    return odd || *n > NAMED_MAX || *n == prom->server_n ? NULL : text;
}

/* ---- in order ----------------------------------------------------------- */

static int compare_servers(const void *a, const void *b)
{
    const ka_prom_server *x = *(ka_prom_server *const *)a;
    const ka_prom_server *y = *(ka_prom_server *const *)b;
    int order = strcmp(x->instance, y->instance);

    return order ? order : strcmp(x->job, y->job);
}

static int compare_vhosts(const void *a, const void *b)
{
    return strcmp((*(ka_prom_vhost *const *)a)->name,
                  (*(ka_prom_vhost *const *)b)->name);
}

static int compare_steps(const void *a, const void *b)
{
    int64_t x = ((const ka_prom_step *)a)->at_s;
    int64_t y = ((const ka_prom_step *)b)->at_s;

    return (x > y) - (x < y);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void settle_vhosts(ka_prom_server *s, apr_pool_t *pool)
{
    apr_hash_index_t *i;

    s->vhosts = apr_palloc(pool, (s->vhost_n + 1) * sizeof(*s->vhosts));
    s->vhost_n = 0;
    for (i = apr_hash_first(pool, s->vhosts_by_name); i; i = apr_hash_next(i)) {
        s->vhosts[s->vhost_n++] = apr_hash_this_val(i);
    }
    qsort(s->vhosts, s->vhost_n, sizeof(*s->vhosts), compare_vhosts);
}

static void settle_steps(ka_prom_server *s, apr_pool_t *pool)
{
    size_t size = (apr_hash_count(s->steps_by_time) + 1) * sizeof(*s->steps);
    apr_hash_index_t *i;

    s->steps = apr_palloc(pool, size);
    s->blocks = apr_palloc(pool, size);
    s->step_n = s->block_n = 0;
    for (i = apr_hash_first(pool, s->steps_by_time); i; i = apr_hash_next(i)) {
        const ka_prom_step *step = apr_hash_this_val(i);

        if (step->open >= 0 && step->busy >= 0) {
            s->steps[s->step_n++] = *step;
        }
        if (step->requests >= 0 && step->reused >= 0) {
            s->blocks[s->block_n++] = *step;
        }
    }
    qsort(s->steps, s->step_n, sizeof(*s->steps), compare_steps);
    qsort(s->blocks, s->block_n, sizeof(*s->blocks), compare_steps);
}

static bool shares_instance(const ka_prom *prom, size_t i)
{
    const char *own = prom->servers[i]->instance;

    return (i > 0 && !strcmp(prom->servers[i - 1]->instance, own)) ||
           (i + 1 < prom->server_n &&
            !strcmp(prom->servers[i + 1]->instance, own));
}

/* The median server's: one that was not scraped for a day must not make the
 * interval of all. */
static double interval_of(const ka_prom *prom)
{
    double *all = apr_palloc(prom->pool, (prom->server_n + 1) * sizeof(*all));
    size_t n = 0, i;

    for (i = 0; i < prom->server_n; i++) {
        const ka_prom_server *s = prom->servers[i];

        if (s->scrapes >= 2 && s->observed_s > 0) {
            all[n++] = s->observed_s / (s->scrapes - 1);
        }
    }
    if (n == 0) {
        return 0;
    }
    qsort(all, n, sizeof(*all), compare_doubles);
    return all[n / 2];
}

void ka_prom_settle(ka_prom *prom)
{
    size_t i;

    qsort(prom->servers, prom->server_n, sizeof(*prom->servers),
          compare_servers);
    for (i = 0; i < prom->server_n; i++) {
        ka_prom_server *s = prom->servers[i];

        s->name = shares_instance(prom, i) || !*s->instance
                      ? apr_pstrcat(prom->pool, s->job, "/", s->instance, NULL)
                      : s->instance;
        settle_vhosts(s, prom->pool);
        settle_steps(s, prom->pool);
    }
    prom->interval_s = interval_of(prom);
}
