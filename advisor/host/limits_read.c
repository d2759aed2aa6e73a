/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The gathering half of limits.h. */
#include "limits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_strings.h>

typedef struct reader {
    const char *root;
    apr_pool_t *pool;
} reader;

static int64_t number(const reader *r, const char *path)
{
    int64_t value;

    return ka_procfs_number(&value, r->root, path, r->pool) || value < 0
               ? -1
               : value;
}

/* NULL if it cannot be read. */
static const char *text(const reader *r, const char *path)
{
    const char *bytes;

    return ka_procfs_read(&bytes, r->root, path, r->pool) ? NULL : bytes;
}

/* ---- the host ---------------------------------------------------------- */

static void read_load(ka_limits *out, const reader *r)
{
    const char *at = text(r, "/proc/loadavg");
    int i;

    for (i = 0; i < 3; i++) {
        char *end = NULL;

        out->load[i] = at ? strtod(at, &end) : -1;
        if (!at || end == at || !(out->load[i] >= 0)) {
            out->load[i] = -1;
            at = NULL;
        }
        else {
            at = end;
        }
    }
}

/* `cpu0 ...`, `cpu1 ...`: those that are online. */
static int count_cores(const reader *r)
{
    const char *at = text(r, "/proc/stat");
    int cores = 0;

    while (at && !strncmp(at, "cpu", 3)) {
        cores += at[3] >= '0' && at[3] <= '9';
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return cores;
}

static void read_ports(ka_limits *out, const reader *r)
{
    const char *range = text(r, "/proc/sys/net/ipv4/ip_local_port_range");

    if (!range || !ka_procfs_parse(&out->ports_low, range, &range) ||
        !ka_procfs_parse(&out->ports_high, range, NULL) || out->ports_low < 0 ||
        out->ports_high > 65535 || out->ports_high < out->ports_low) {
        out->ports_low = out->ports_high = -1;
    }
}

static void read_host(ka_limits *out, const reader *r)
{
    const char *vmstat = text(r, "/proc/vmstat");

    read_load(out, r);
    read_ports(out, r);
    out->cores = count_cores(r);
    ka_machine_read(&out->machine, r->root, r->pool);
    if (!vmstat || !ka_procfs_field(&out->oom_kills, vmstat, "oom_kill")) {
        out->oom_kills = -1;
    }
    out->conntrack_now =
        number(r, "/proc/sys/net/netfilter/nf_conntrack_count");
    out->conntrack_max = number(r, "/proc/sys/net/netfilter/nf_conntrack_max");
    out->somaxconn = number(r, "/proc/sys/net/core/somaxconn");
    out->syn_backlog = number(r, "/proc/sys/net/ipv4/tcp_max_syn_backlog");
    out->time_wait_max = number(r, "/proc/sys/net/ipv4/tcp_max_tw_buckets");
}

/* ---- the network namespace --------------------------------------------- */

/* netstat and snmp: a line of names, then a line of numbers, both with the
 * group's name in front. */
static int64_t counter(const char *file, const char *group, const char *name)
{
    const char *names = file, *values;
    size_t length = strlen(group);
    int64_t value = -1;

    while (names && strncmp(names, group, length)) {
        names = strchr(names, '\n');
        names = names ? names + 1 : NULL;
    }
    values = names ? strchr(names, '\n') : NULL;
    if (!values || strncmp(values + 1, group, length)) {
        return -1;
    }
    names += length;
    values += 1 + length;
    for (;;) {
        size_t n;

        names += strspn(names, " ");
        n = strcspn(names, " \n");
        if (n == 0 || !ka_procfs_parse(&value, values, &values)) {
            return -1;
        }
        if (n == strlen(name) && !strncmp(names, name, n)) {
            return value;
        }
        names += n;
    }
}

static void read_network(ka_limits *out, const reader *r, int pid)
{
    const char *netstat, *snmp;

    out->netstat_origin = apr_psprintf(r->pool, "/proc/%d/net/netstat", pid);
    netstat = text(r, out->netstat_origin);
    snmp = text(r, apr_psprintf(r->pool, "/proc/%d/net/snmp", pid));
    out->overflows =
        netstat ? counter(netstat, "TcpExt:", "ListenOverflows") : -1;
    out->drops = netstat ? counter(netstat, "TcpExt:", "ListenDrops") : -1;
    out->accepted = snmp ? counter(snmp, "Tcp:", "PassiveOpens") : -1;
}

/* Names of the namespaces, "net:[4026531840]": different only if both can be
 * read and differ. */
static bool other_network(const reader *r, int pid)
{
    const char *paths[] = {
        apr_pstrcat(r->pool, r->root, "/proc/self/ns/net", NULL),
        apr_psprintf(r->pool, "%s/proc/%d/ns/net", r->root, pid)};
    char names[2][64];
    int i;

    for (i = 0; i < 2; i++) {
        ssize_t n = readlink(paths[i], names[i], sizeof(names[i]) - 1);

        if (n <= 0) {
            return false;
        }
        names[i][n] = '\0';
    }
    return strcmp(names[0], names[1]) != 0;
}

/* ---- the children ------------------------------------------------------ */

/* `Max open files    1024   524288   files`: the soft limit; "unlimited" is
 * INT64_MAX. */
static int64_t soft_limit(const char *limits, const char *name)
{
    const char *at = strstr(limits, name);
    int64_t value;

    if (!at) {
        return -1;
    }
    at += strlen(name);
    at += strspn(at, " ");
    if (!strncmp(at, "unlimited", 9)) {
        return INT64_MAX;
    }
    return ka_procfs_parse(&value, at, NULL) && value >= 0 ? value : -1;
}

static int64_t count_files(const reader *r, int pid)
{
    DIR *directory =
        opendir(apr_psprintf(r->pool, "%s/proc/%d/fd", r->root, pid));
    struct dirent *entry;
    int64_t n = 0;

    if (!directory) {
        return -1;
    }
    while ((entry = readdir(directory))) {
        n += entry->d_name[0] != '.';
    }
    closedir(directory);
    return n;
}

/* The tighter of two limits, -1 being none yet. */
static int64_t tighter(int64_t a, int64_t b)
{
    return b < 0 || (a >= 0 && a < b) ? a : b;
}

static void read_child(ka_limits *out, const reader *r, int pid)
{
    const char *path = apr_psprintf(r->pool, "/proc/%d/limits", pid);
    const char *limits = text(r, path);
    int64_t files = count_files(r, pid);

    if (limits) {
        out->files_max =
            tighter(out->files_max, soft_limit(limits, "Max open files"));
        out->processes_max =
            tighter(out->processes_max, soft_limit(limits, "Max processes"));
        out->limits_origin = path;
    }
    out->files_now = files > out->files_now ? files : out->files_now;
}

/* Real user of a process and its threads; false if it is gone. */
static bool user_of(const reader *r, int pid, int64_t *user, int64_t *threads)
{
    const char *status = text(r, apr_psprintf(r->pool, "/proc/%d/status", pid));

    return status && ka_procfs_field(user, status, "Uid") &&
           ka_procfs_field(threads, status, "Threads");
}

static void count_user(ka_limits *out, const reader *r, int child,
                       const apr_array_header_t *processes)
{
    int64_t user, other, threads, sum = 0;
    int i;

    if (!user_of(r, child, &user, &threads)) {
        return;
    }
    for (i = 0; i < processes->nelts; i++) {
        const ka_process *p = &APR_ARRAY_IDX(processes, i, const ka_process);

        if (user_of(r, p->pid, &other, &threads) && other == user &&
            threads > 0 && threads < INT32_MAX) {
            sum += threads;
        }
    }
    out->processes_now = sum;
    out->processes_root = user == 0;
}

static void read_httpd(ka_limits *out, const reader *r, const ka_memory *httpd,
                       const apr_array_header_t *processes)
{
    size_t i;

    for (i = 0; i < httpd->child_n; i++) {
        read_child(out, r, httpd->children[i].pid);
    }
    if (httpd->child_n) {
        count_user(out, r, httpd->children[0].pid, processes);
    }
    out->swap_bytes =
        httpd->measure >= KA_MEASURE_SMAPS ? httpd->swap_bytes : -1;
    out->other_network = other_network(r, httpd->parent_pid);
    ka_sockets_read(&out->sockets, r->root, httpd->parent_pid, out->query.ports,
                    out->query.port_n, out->ports_low, out->ports_high,
                    r->pool);
    read_network(out, r, httpd->parent_pid);
}

void ka_limits_read(ka_limits *out, const char *root,
                    const ka_limits_query *query, const ka_memory *httpd,
                    const apr_array_header_t *processes,
                    const ka_cgroup *cgroup, apr_pool_t *pool)
{
    reader r = {.root = root, .pool = pool};

    *out = (ka_limits){.parent_pid = httpd->parent_pid,
                       .overflows = -1,
                       .drops = -1,
                       .accepted = -1,
                       .files_max = -1,
                       .files_now = -1,
                       .processes_max = -1,
                       .processes_now = -1,
                       .swap_bytes = -1,
                       .cgroup = *cgroup,
                       .query = *query};
    read_host(out, &r);
    if (httpd->parent_pid > 0) {
        read_httpd(out, &r, httpd, processes);
    }
}
