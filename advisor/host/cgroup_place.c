/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * /proc/PID/cgroup and mountinfo: from a process to directories. */
#include "cgroup_priv.h"

#include <string.h>
#include <apr_strings.h>

/* A mount of the right kind, fields unescaped. */
typedef struct mount {
    const char *root, *point;
} mount;

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (list) {
        if (!strncmp(list, word, length) &&
            (list[length] == ',' || list[length] == '\0')) {
            return true;
        }
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return false;
}

/* `ID:CONTROLLERS:PATH`; version 2 has ID 0 and no controllers.  A path may
 * hold colons. */
const char *ka_cgroup_group_of(const ka_cgroup_reader *r, int version,
                               const char *controller)
{
    char *text = apr_pstrdup(r->pool, r->groups), *state, *line;

    for (line = apr_strtok(text, "\n", &state); line;
         line = apr_strtok(NULL, "\n", &state)) {
        char *controllers = strchr(line, ':'), *path;

        path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/') {
            continue;
        }
        *path++ = '\0';
        controllers++;
        if (version == 2 ? !*controllers && !strncmp(line, "0:", 2)
                         : *controllers && has_word(controllers, controller)) {
            return path;
        }
    }
    return NULL;
}

/* mountinfo writes blank, tab, line feed and backslash as \ooo. */
static char *unescaped(char *text)
{
    char *from, *to;

    for (from = to = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
            from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
            from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 +
                         (from[3] - '0'));
            from += 4;
        }
        else {
            *to = *from++;
        }
    }
    *to = '\0';
    return text;
}

/* `ID PARENT DEV ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPEROPTIONS` */
static bool parse_mount(mount *out, char *line, int version,
                        const char *controller)
{
    char *words[5], *state, *type, *options;
    char *dash = strstr(line, " - ");
    size_t i;

    if (!dash) {
        return false;
    }
    *dash = '\0';
    for (i = 0; i < 5; i++) {
        words[i] = apr_strtok(i ? NULL : line, " ", &state);
        if (!words[i]) {
            return false;
        }
    }
    type = apr_strtok(dash + 3, " ", &state);
    apr_strtok(NULL, " ", &state);
    options = apr_strtok(NULL, " ", &state);
    if (!type || strcmp(type, version == 2 ? "cgroup2" : "cgroup") ||
        (version == 1 && !has_word(options, controller))) {
        return false;
    }
    *out = (mount){unescaped(words[3]), unescaped(words[4])};
    return true;
}

/* A component "..": the group lies outside of our namespace, and the path
 * must never be walked. */
static bool climbs(const char *path)
{
    for (; (path = strstr(path, "/..")); path += 3) {
        if (path[3] == '/' || path[3] == '\0') {
            return true;
        }
    }
    return false;
}

bool ka_cgroup_within(const char *path, const char *ancestor)
{
    size_t length = strlen(ancestor);

    if (length > 0 && ancestor[length - 1] == '/') {
        length--;
    }
    return !strncmp(path, ancestor, length) &&
           (path[length] == '/' || path[length] == '\0');
}

/* What of the group's path lies below the mount; NULL if it is elsewhere. */
static const char *below_of(const mount *m, const char *group)
{
    size_t length = strlen(m->root);

    if (!ka_cgroup_within(group, m->root)) {
        return NULL;
    }
    if (length > 0 && m->root[length - 1] == '/') {
        length--;
    }
    return strcmp(group + length, "/") ? group + length : "";
}

static bool find_place(ka_cgroup_place *out, const ka_cgroup_reader *r,
                       int version, const char *controller)
{
    char *text = apr_pstrdup(r->pool, r->mounts), *state, *line;
    mount m, first = {0};

    *out =
        (ka_cgroup_place){.version = version,
                          .group = ka_cgroup_group_of(r, version, controller)};
    if (!out->group || climbs(out->group)) {
        return false;
    }
    for (line = apr_strtok(text, "\n", &state); line;
         line = apr_strtok(NULL, "\n", &state)) {
        /* A root that climbs: mounted from outside of our namespace, where
         * our group has a name that is not told. */
        if (!parse_mount(&m, line, version, controller) || climbs(m.point) ||
            climbs(m.root)) {
            continue;
        }
        out->mount = m.point;
        out->below = below_of(&m, out->group);
        if (out->below) {
            return true;
        }
        first = first.point ? first : m;
    }
    /* Mounted from another namespace: all that can be seen is the mount's own
     * directory, which a container's runtime makes the container's group. */
    out->mount = first.point;
    out->below = "";
    return first.point != NULL;
}

/* The version that has the controller: with both mounted, each controller is
 * in one of them only. */
bool ka_cgroup_place_of(ka_cgroup_place *out, const ka_cgroup_reader *r,
                        const char *controller)
{
    int version = ka_cgroup_group_of(r, 1, controller) ? 1 : 2;

    return find_place(out, r, version, controller);
}
