/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "apply.h"

#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../host/config_root.h"

#define A2ENCONF "/usr/sbin/a2enconf"
#define APACHE2CTL "/usr/sbin/apache2ctl"

typedef struct plan {
    const ka_httpd *httpd;
    const ka_keep *keep;
    const char *seen; /* the file's path, as the server sees it; NULL: it is
                         in a container, and the file is not */
    ka_apply_place place;
    ka_report *report;
    ka_mpm mpm;
    apr_array_header_t *steps; /* of ka_step */
    const char *undo;          /* command that takes step 1 back; NULL */
    apr_pool_t *pool;
} plan;

/* ---- words for a shell ------------------------------------------------------
 */

static const char *quote(const char *word, apr_pool_t *pool)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz"
                                "0123456789_@%+=:,./-";
    const char *text = "'", *part;

    if (*word && !word[strspn(word, plain)]) {
        return word;
    }
    while ((part = strchr(word, '\'')) != NULL) {
        text = apr_pstrcat(pool, text,
                           apr_pstrmemdup(pool, word, (size_t)(part - word)),
                           "'\\''", NULL);
        word = part + 1;
    }
    return apr_pstrcat(pool, text, word, "'", NULL);
}

const char *ka_apply_quote(const apr_array_header_t *argv, apr_pool_t *pool)
{
    const char *text = "";
    int i;

    for (i = 0; i < argv->nelts; i++) {
        text = apr_pstrcat(pool, text, i ? " " : "",
                           quote(APR_ARRAY_IDX(argv, i, const char *), pool),
                           NULL);
    }
    return text;
}

/* ---- which commands it has --------------------------------------------------
 */

static bool is_there(const plan *p, const char *path)
{
    ka_root_stat info;

    return !ka_root_stat_of(&info, p->httpd->files, path, p->pool);
}

/* Debian's script starts it as it is, with the environment of its own. */
static bool by_apache2ctl(const plan *p)
{
    const ka_httpd *h = p->httpd;
    const char *usual = h->build.root && h->build.file
                            ? ka_root_join(h->build.root, h->build.file,
                                           p->pool)
                            : NULL;

    return h->binary && !strcmp(h->binary, "/usr/sbin/apache2") &&
           h->config_file && usual && !strcmp(h->config_file, usual) &&
           is_there(p, APACHE2CTL) &&
           (!h->instance || (!h->instance->args.before->nelts &&
                             !h->instance->args.after->nelts));
}

/* "httpd" of /system.slice/httpd.service; NULL if no unit of that kind runs
 * it: one that was started by hand is in the unit of the shell. */
static const char *unit_of(const plan *p)
{
    static const char end[] = ".service";
    const ka_httpd_instance *i = p->httpd->instance;
    const char *slash = i && i->cgroup ? strrchr(i->cgroup, '/') : NULL;
    size_t n = slash ? strlen(slash + 1) : 0;
    const char *name;

    if (n <= sizeof(end) - 1 ||
        strcmp(slash + 1 + n - (sizeof(end) - 1), end)) {
        return NULL;
    }
    name = apr_pstrmemdup(p->pool, slash + 1, n - (sizeof(end) - 1));
    return strstr(name, "httpd") || strstr(name, "apache") ||
                   (i->name && strstr(name, i->name))
               ? name
               : NULL;
}

static bool in_foreground(const ka_httpd_instance *instance)
{
    const apr_array_header_t *defines = instance->args.defines;
    int i;

    for (i = 0; i < defines->nelts; i++) {
        if (!strcasecmp(APR_ARRAY_IDX(defines, i, const char *),
                        "FOREGROUND")) {
            return true;
        }
    }
    return instance->args.debug;
}

/* The server's own command line with something behind it. */
static const char *own(const plan *p, const char *arguments)
{
    apr_array_header_t *argv = ka_httpd_command_line(p->httpd, p->pool);

    return argv->nelts ? apr_pstrcat(p->pool, ka_apply_quote(argv, p->pool),
                                     " ", arguments, NULL)
                       : NULL;
}

/* ---- 1: include -------------------------------------------------------------
 */

static void push(plan *p, const char *text, const char *command)
{
    ka_step *step = apr_array_push(p->steps);

    *step = (ka_step){text, command};
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Debian: the directory whose files a2enconf lets the configuration read;
 * NULL if this server does not have one. */
static const char *available(const plan *p)
{
    const char *root = p->httpd->tree->server_root;
    const char *directory, *enabled;

    if (!root || !is_there(p, A2ENCONF)) {
        return NULL;
    }
    directory = ka_root_join(root, "conf-available", p->pool);
    enabled = ka_root_join(root, "conf-enabled/x.conf", p->pool);
    return is_there(p, directory) &&
                   ka_apply_find(p->httpd->own, p->httpd->files, enabled,
                                 p->pool)
                       .by
               ? directory
               : NULL;
}

static void enable(plan *p, const char *directory)
{
    const char *file = p->seen, *name = base_name(file);
    size_t n = strlen(name);
    const char *there, *link = "";

    n -= n > 5 && !strcmp(name + n - 5, ".conf") ? 5 : 0;
    name = quote(apr_pstrmemdup(p->pool, name, n), p->pool);
    there = apr_pstrcat(p->pool, directory, "/", name, ".conf", NULL);
    if (strcmp(there, file)) {
        link = apr_pstrcat(p->pool, "ln -s ", quote(file, p->pool), " ", there,
                           " && ", NULL);
    }
    push(p, "Let the configuration read this file:",
         apr_pstrcat(p->pool, link, "a2enconf ", name, NULL));
    p->undo = apr_pstrcat(p->pool, "a2disconf ", name, NULL);
    p->place = ka_apply_find(
        p->httpd->own, p->httpd->files,
        apr_pstrcat(p->pool, ka_root_join(p->httpd->tree->server_root,
                                          "conf-enabled", p->pool),
                    "/", name, ".conf", NULL),
        p->pool);
    p->place.included = false;
}

static void include(plan *p)
{
    const char *directory, *winners;

    if (p->place.included) {
        push(p,
             p->place.by
                 ? apr_psprintf(p->pool, "Nothing to include: the "
                                "configuration reads this file already (%s).",
                                p->place.by)
                 : "Nothing to include: the configuration reads this file "
                   "already.",
             NULL);
    }
    else if (!p->seen) {
        push(p,
             apr_psprintf(p->pool,
                          "Bring this file into the container of pid %d, and "
                          "include it at the end of %s there.",
                          p->httpd->instance->pid, p->httpd->config_file),
             NULL);
    }
    else if (p->httpd->own && (directory = available(p)) != NULL) {
        enable(p, directory);
    }
    else {
        push(p,
             apr_psprintf(p->pool, "Put this line at the end of %s:",
                          p->httpd->config_file),
             apr_psprintf(p->pool, "Include \"%s\"", p->seen));
    }
    winners = p->httpd->own
                  ? ka_apply_winners(p->httpd->own, p->place.behind,
                                     p->report, p->mpm, p->pool)
                  : NULL;
    if (winners && (p->place.included || p->undo)) {
        ka_step *last =
            &APR_ARRAY_IDX(p->steps, p->steps->nelts - 1, ka_step);

        last->text = apr_psprintf(
            p->pool, "%s But these come behind it and win: %s. Take them out "
                     "there.",
            last->text, winners);
    }
}

/* ---- 2 and 3: check, reload -------------------------------------------------
 */

static void check(plan *p)
{
    const char *command = by_apache2ctl(p) ? "apache2ctl configtest"
                                           : own(p, "-t");

    push(p, command ? "Check:" : "Check it with httpd -t.", command);
}

static void reload(plan *p, const char *unit)
{
    const ka_httpd_instance *instance = p->httpd->instance;
    const char *command =
        unit ? apr_pstrcat(p->pool, "systemctl reload ", unit, NULL)
        : by_apache2ctl(p) ? "apache2ctl graceful"
        : instance->container
            ? NULL
            : apr_psprintf(p->pool, "kill -USR1 %d", instance->pid);

    if (!unit && !by_apache2ctl(p) && !in_foreground(instance) &&
        own(p, "-k graceful")) {
        command = own(p, "-k graceful");
    }
    push(p, command ? "Reload:" : "Reload it inside its container.", command);
}

static void restart(plan *p, const char *unit)
{
    static const char why[] = "a reload does not change ServerLimit, "
                              "ThreadLimit and ListenBacklog.";
    const ka_httpd_instance *instance = p->httpd->instance;

    if (unit) {
        push(p, apr_pstrcat(p->pool, "Stop and start; ", why, NULL),
             apr_pstrcat(p->pool, "systemctl restart ", unit, NULL));
    }
    else if (instance->container || in_foreground(instance)) {
        push(p,
             apr_pstrcat(p->pool, "Stop it and let what started it (pid ",
                         apr_itoa(p->pool, instance->pid), ", ",
                         instance->container ? "in a container"
                                             : "in the foreground",
                         ") start it again; ", why, NULL),
             NULL);
    }
    else {
        const char *stop = own(p, "-k stop"), *start = own(p, "-k start");

        if (by_apache2ctl(p)) {
            stop = "apache2ctl stop";
            start = "apache2ctl start";
        }
        push(p, apr_pstrcat(p->pool, "Stop, and when it has ended, start; ",
                            why, NULL),
             stop ? apr_psprintf(
                        p->pool,
                        "%s; while kill -0 %d 2>/dev/null; do sleep 1; done; "
                        "%s",
                        stop, instance->pid, start)
                  : NULL);
    }
}

/* Against what the configuration has: `from` of advice may not be known. */
static bool changes(const plan *p, const ka_advice *a)
{
    ka_setting_id setting = ka_setting_find(a->directive);
    const ka_fact *fact = setting == KA_SETTINGS
                              ? NULL
                              : &p->httpd->server->settings.facts[setting];
    int64_t value;

    return fact && fact->known &&
                   ka_setting_value(&value, setting, a->to, p->pool)
               ? value != fact->value
               : a->change;
}

static bool needs_restart(const plan *p)
{
    size_t i;

    for (i = 0; i < p->report->advice_n; i++) {
        const ka_advice *a = &p->report->advice[i];

        if (a->directive && a->to && a->applies &&
            !strcmp(a->applies, "restart") &&
            (a->mpm == p->mpm || a->mpm == KA_MPM_N) && changes(p, a)) {
            return true;
        }
    }
    return false;
}

static void obey(plan *p)
{
    const char *unit = unit_of(p);

    if (!p->httpd->instance) {
        push(p, "Start httpd: none runs with this configuration now.",
             by_apache2ctl(p) ? "apache2ctl start" : own(p, "-k start"));
    }
    else if (needs_restart(p)) {
        restart(p, unit);
    }
    else {
        reload(p, unit);
    }
}

/* ---- the way back -----------------------------------------------------------
 */

static ka_step back(const plan *p)
{
    const char *file = quote(p->keep->path, p->pool);

    if (p->keep->name) {
        return (ka_step){
            p->place.included
                ? "What the file held before is kept. Put it back, then 2 and "
                  "3:"
                : "Take step 1 back, then 2 and 3. What the file held before "
                  "is kept; to put it back:",
            apr_pstrcat(p->pool, "cp ", quote(p->keep->name, p->pool), " ",
                        file, NULL)};
    }
    if (p->place.included) {
        return (ka_step){"There was no such file before. Remove it, then 2 "
                         "and 3:",
                         apr_pstrcat(p->pool, "rm ", file, NULL)};
    }
    return p->undo
               ? (ka_step){"Take step 1 back, then 2 and 3:", p->undo}
               : (ka_step){"take the Include line out again, then 2 and 3.",
                           NULL};
}

/* The MPM that runs, else the one that advice is for. */
static ka_mpm mpm_of(const ka_httpd *httpd, const ka_report *report)
{
    if (httpd->server->mpm != KA_MPM_UNKNOWN) {
        return (ka_mpm)httpd->server->mpm;
    }
    return report->answer_n == 1 ? report->answers[0].mpm : KA_MPM_N;
}

/* Below the root of a container's files its own paths begin. */
static const char *seen_by(const ka_httpd *httpd, const char *path)
{
    size_t n = strlen(httpd->files);

    if (n && !strncmp(path, httpd->files, n) && path[n] == '/') {
        return path + n;
    }
    return httpd->instance && httpd->instance->container ? NULL : path;
}

void ka_apply_plan(ka_report *report, const ka_httpd *httpd,
                   const ka_keep *keep, apr_pool_t *pool)
{
    plan p = {.httpd = httpd,
              .keep = keep,
              .seen = seen_by(httpd, keep->path),
              .report = report,
              .mpm = mpm_of(httpd, report),
              .steps = apr_array_make(pool, 4, sizeof(ka_step)),
              .pool = pool};

    if (httpd->own && p.seen) {
        p.place = ka_apply_find(httpd->own, httpd->files, p.seen, pool);
    }
    include(&p);
    check(&p);
    obey(&p);
    report->apply = (const ka_step *)(void *)p.steps->elts;
    report->apply_n = (size_t)p.steps->nelts;
    report->go_back = back(&p);
}
