/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The table of limits. */
#include "limits_priv.h"

#include <assert.h>
#include <stddef.h>

typedef enum row_scope {
    HOST,
    HTTPD,
    PORTS /* of httpd, whose listening ports must be known */
} row_scope;

typedef struct row_info {
    const char *id, *what;
    row_scope scope;
    ka_limit_fill *fill;
    const char *remedy;
    const char *help; /* if it is missing */
} row_info;

static const row_info row_infos[] = {
    {"load", "load per core", HOST, ka_limit_fill_load,
     "More than half of the processors' time is asked for: from here on "
     "response times climb. Find what uses the time before adding workers.",
     "/proc/loadavg or /proc/stat cannot be read"},
    {"memory", "memory in use", HOST, ka_limit_fill_memory,
     "Little memory is left for more workers: see what holds it above.",
     "/proc/meminfo has no MemAvailable (Linux before 3.14)"},
    {"swap", "swap in use", HOST, ka_limit_fill_swap,
     "Memory ran short: lower MaxRequestWorkers or what other services take.",
     "/proc/meminfo cannot be read"},
    {"oom_kills", "killed for want of memory", HOST, ka_limit_fill_oom,
     "The kernel killed processes: `dmesg` names them. Lower "
     "MaxRequestWorkers until the peak fits.",
     "/proc/vmstat has no oom_kill (Linux before 4.13)"},
    {"conntrack", "connections that the firewall tracks", HOST,
     ka_limit_fill_conntrack,
     "When the table is full new connections are dropped: raise sysctl "
     "net.netfilter.nf_conntrack_max, or lower "
     "nf_conntrack_tcp_timeout_time_wait.",
     "nf_conntrack_count cannot be read; run as root"},
    {"files", "open files of a child", HTTPD, ka_limit_fill_files,
     "Raise LimitNOFILE= of the service (or ulimit -n where httpd is "
     "started), then restart httpd.",
     "/proc/PID/limits and /proc/PID/fd of the children cannot be read; run "
     "as root"},
    {"processes", "processes and threads of httpd's user", HTTPD,
     ka_limit_fill_processes,
     "Raise LimitNPROC= of the service (or ulimit -u), then restart httpd.",
     "/proc/PID/limits of the children cannot be read; run as root"},
    {"pids", "processes of the control group", HTTPD, ka_limit_fill_pids,
     "Raise TasksMax= of the service or the container's pids limit.",
     "pids.current of the control group cannot be read"},
    {"cpu_quota", "processors of the control group", HTTPD, ka_limit_fill_quota,
     "httpd is stopped for part of the time: raise CPUQuota= or the "
     "container's cpu limit.",
     "cpu.max cannot be read"},
    {"httpd_swap", "httpd's memory in swap", HTTPD, ka_limit_fill_swapped,
     "Workers wait for the disk: lower MaxRequestWorkers or free memory.",
     "/proc/PID/smaps_rollup of the children cannot be read; run as root"},
    {"cgroup_oom_kills", "killed in httpd's control group", HTTPD,
     ka_limit_fill_group_oom,
     "httpd's own limit was hit: raise MemoryMax= or lower "
     "MaxRequestWorkers.",
     "memory.events cannot be read"},
    {"established", "open connections", PORTS, ka_limit_fill_established,
     "More than half of the workers are held: see `kaadvisor` for a shorter "
     "KeepAliveTimeout or more workers.",
     "/proc/PID/net/tcp of httpd cannot be read; run as root"},
    {"time_wait", "connections in TIME_WAIT", PORTS, ka_limit_fill_time_wait,
     "The server closes many connections itself: a longer KeepAliveTimeout "
     "closes fewer; or raise sysctl net.ipv4.tcp_max_tw_buckets.",
     "/proc/PID/net/tcp of httpd cannot be read; run as root"},
    {"close_wait", "connections that the client has closed", PORTS,
     ka_limit_fill_close_wait,
     "Workers go on with requests whose client is gone: look for slow "
     "backends or scripts, and lower Timeout or ProxyTimeout.",
     "/proc/PID/net/tcp of httpd cannot be read; run as root"},
    {"listen_queue", "connections that wait to be accepted", PORTS,
     ka_limit_fill_queue,
     "No worker is free to accept them: shorten KeepAliveTimeout first, then "
     "raise MaxRequestWorkers as far as memory allows.",
     "/proc/PID/net/tcp of httpd cannot be read; run as root"},
    {"listen_overflows", "connections lost to a full listen queue", HTTPD,
     ka_limit_fill_overflows,
     "Clients had to try again: raise ListenBacklog together with sysctl "
     "net.core.somaxconn, and see that workers are free.",
     "/proc/PID/net/netstat of httpd cannot be read; run as root"},
    {"listen_drops", "connections dropped on listening", HTTPD,
     ka_limit_fill_drops,
     "Clients had to try again: raise ListenBacklog together with sysctl "
     "net.core.somaxconn and net.ipv4.tcp_max_syn_backlog.",
     "/proc/PID/net/netstat of httpd cannot be read; run as root"},
    {"somaxconn", "net.core.somaxconn", HTTPD, ka_limit_fill_somaxconn,
     "The kernel cuts ListenBacklog down to it: raise sysctl "
     "net.core.somaxconn to ListenBacklog or more, then restart httpd.",
     "net.core.somaxconn is that of another network namespace, or cannot be "
     "read; run kaadvisor inside httpd's container"},
    {"syn_backlog", "net.ipv4.tcp_max_syn_backlog", HTTPD,
     ka_limit_fill_syn_backlog,
     "Bursts of new connections may be dropped half open: raise sysctl "
     "net.ipv4.tcp_max_syn_backlog.",
     "net.ipv4.tcp_max_syn_backlog is that of another network namespace, or "
     "cannot be read; run kaadvisor inside httpd's container"},
    {"ephemeral_ports", "ports towards one destination", HTTPD,
     ka_limit_fill_ports,
     "A backend can be reached by one connection a port: reuse connections "
     "(ProxyPass enablereuse=on, not disablereuse), or widen sysctl "
     "net.ipv4.ip_local_port_range.",
     "/proc/PID/net/tcp of httpd cannot be read; run as root"}};

#define ROW_N (sizeof(row_infos) / sizeof(row_infos[0]))

const char *ka_limit_verdict_name(ka_limit_verdict verdict)
{
    static const char *const names[] = {"ok", "near", "bad"};

    assert(verdict <= KA_LIMIT_IS_BAD);
    return names[verdict];
}

static const char *missing_help(const row_info *info, const ka_limits *l)
{
    return info->scope == PORTS && l->sockets.known && l->sockets.ports_missing
               ? l->sockets.ports_missing
               : info->help;
}

void ka_limits_judge(ka_limit_table *out, const ka_limits *limits,
                     apr_pool_t *pool)
{
    size_t i;

    *out = (ka_limit_table){
        .rows = apr_array_make(pool, ROW_N, sizeof(ka_limit)),
        .missing = apr_array_make(pool, 4, sizeof(ka_limit_missing))};
    for (i = 0; i < ROW_N; i++) {
        const row_info *info = &row_infos[i];
        ka_limit row = {.id = info->id,
                        .what = info->what,
                        .of_host = info->scope == HOST,
                        .capacity = -1};
        ka_limit_finding found;

        if (info->scope != HOST && limits->parent_pid <= 0) {
            continue;
        }
        found = info->fill(&row, limits, pool);
        if (found == KA_LIMIT_SHOWN) {
            row.remedy = row.verdict == KA_LIMIT_OK ? NULL : info->remedy;
            APR_ARRAY_PUSH(out->rows, ka_limit) = row;
        }
        else if (found == KA_LIMIT_MISSING) {
            APR_ARRAY_PUSH(out->missing, ka_limit_missing) =
                (ka_limit_missing){.id = info->id,
                                   .what = info->what,
                                   .of_host = info->scope == HOST,
                                   .help = missing_help(info, limits)};
        }
    }
}
