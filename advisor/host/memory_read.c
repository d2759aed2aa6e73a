/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Memory of processes, from /proc: the gathering half of memory.h. */
#include "memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_strings.h>

#include "memory_sum.h"

static const ka_process_memory memory_not_known = {
    .measure = KA_MEASURE_NONE, .pss = -1, .uss = -1, .rss = -1, .swap = -1};

/* Sums of what smaps says of each mapping; kB. */
typedef struct smaps {
    int64_t pss, clean, dirty, huge, rss, swap, anon, shmem;
    bool has_pss, has_anon;
} smaps;

static bool take_line(void *context, char *line)
{
    smaps *s = context;
    struct {
        const char *key;
        int64_t *sum;
    } const keys[] = {{"Pss:", &s->pss},
                      {"Private_Clean:", &s->clean},
                      {"Private_Dirty:", &s->dirty},
                      {"Private_Hugetlb:", &s->huge},
                      {"Rss:", &s->rss},
                      {"Swap:", &s->swap},
                      {"Pss_Anon:", &s->anon},
                      {"Pss_Shmem:", &s->shmem}};
    int64_t value;
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t length = strlen(keys[i].key);

        if (!strncmp(line, keys[i].key, length) &&
            ka_procfs_parse(&value, line + length, NULL)) {
            ka_sum_add(keys[i].sum, value);
            s->has_pss = s->has_pss || keys[i].sum == &s->pss;
            s->has_anon = s->has_anon || keys[i].sum == &s->anon;
        }
    }
    return true;
}

/* kB that come from a file of bytes fit; from a made-up one they need not. */
static int64_t bytes_of(int64_t kb)
{
    return kb > INT64_MAX / 1024 ? INT64_MAX : kb * 1024;
}

static bool take_sums(ka_process_memory *out, const smaps *s)
{
    int64_t uss = 0, held = 0;

    if (!s->has_pss) {
        return false;
    }
    ka_sum_add(&uss, s->clean);
    ka_sum_add(&uss, s->dirty);
    ka_sum_add(&uss, s->huge);
    /* Older kernels do not split Pss: what is private and dirty is the part
     * of the anonymous pages that is certain. */
    ka_sum_add(&held, s->has_anon ? s->anon : s->dirty);
    ka_sum_add(&held, s->shmem);
    *out = (ka_process_memory){.measure = KA_MEASURE_SMAPS,
                               .pss = bytes_of(s->pss),
                               .uss = bytes_of(uss),
                               .rss = bytes_of(s->rss),
                               .swap = bytes_of(s->swap),
                               .held = bytes_of(held)};
    return true;
}

bool ka_smaps_parse(ka_process_memory *out, const char *text)
{
    smaps sums = {0};
    char line[KA_PROCFS_LINE_MAX];

    while (*text) {
        size_t n = strcspn(text, "\n");

        snprintf(line, sizeof(line), "%.*s", n > INT_MAX ? INT_MAX : (int)n,
                 text);
        take_line(&sums, line);
        text += n + (text[n] != '\0');
    }
    return take_sums(out, &sums);
}

static bool read_smaps(ka_process_memory *out, const char *root, int pid,
                       const char *name, ka_measure measure)
{
    smaps sums = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    /* Line by line: smaps of a large process is longer than a file may be. */
    if (ka_procfs_each_line(root, path, take_line, &sums) ||
        !take_sums(out, &sums)) {
        return false;
    }
    out->measure = measure;
    return true;
}

/* statm: size, resident, shared (of files and shared memory), in pages. */
static bool read_statm(ka_process_memory *out, const char *root, int pid,
                       apr_pool_t *pool)
{
    int64_t size, resident, shared, page = sysconf(_SC_PAGESIZE);
    const char *text;

    if (ka_procfs_read(&text, root, apr_psprintf(pool, "/proc/%d/statm", pid),
                       pool) ||
        !ka_procfs_parse(&size, text, &text) ||
        !ka_procfs_parse(&resident, text, &text) || resident < 0 ||
        resident > INT64_MAX / page) {
        return false;
    }
    *out = memory_not_known;
    out->measure = KA_MEASURE_RSS;
    out->rss = resident * page;
    if (ka_procfs_parse(&shared, text, NULL) && shared >= 0 &&
        shared <= resident) {
        out->held = (resident - shared) * page;
    }
    return true;
}

static void read_memory(ka_process_memory *out, const char *root,
                        const ka_process *process, apr_pool_t *pool)
{
    if (read_smaps(out, root, process->pid, "smaps_rollup",
                   KA_MEASURE_ROLLUP) ||
        read_smaps(out, root, process->pid, "smaps", KA_MEASURE_SMAPS) ||
        read_statm(out, root, process->pid, pool)) {
        return;
    }
    *out = memory_not_known; /* it is gone */
}

/* The kernel walks all pages of a process for it, and several httpds on one
 * host ask for the same processes. */
void ka_process_memory_read(ka_process_memory *out, const char *root,
                            ka_process *process, apr_pool_t *pool)
{
    if (!process->memory) {
        process->memory = apr_palloc(pool, sizeof(*process->memory));
        read_memory(process->memory, root, process, pool);
    }
    *out = *process->memory;
}

/* ---- children ---------------------------------------------------------- */

static int64_t requests_of(const ka_memory_requests *requests, size_t n,
                           int pid)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (requests[i].pid == pid) {
            return requests[i].requests;
        }
    }
    return -1;
}

static bool is_child(const ka_process *process, const ka_process *parent)
{
    return parent && process->ppid == parent->pid &&
           !strcmp(process->comm, parent->comm);
}

/* A child of a threaded MPM always has threads; mod_cgid's daemon has none. */
static int most_threads(const apr_array_header_t *processes,
                        const ka_process *parent)
{
    int i, most = 0;

    for (i = 0; i < processes->nelts; i++) {
        const ka_process *process =
            &APR_ARRAY_IDX(processes, i, const ka_process);

        if (is_child(process, parent) && process->threads > most) {
            most = process->threads;
        }
    }
    return most;
}

static ka_memory_child read_child(const char *root, ka_process *process,
                                  int64_t uptime_us, apr_pool_t *pool)
{
    ka_memory_child child = {.pid = process->pid,
                             .threads = process->threads,
                             .cpu_us = process->cpu_us,
                             .age_us = -1,
                             .requests = -1};

    if (uptime_us >= 0) {
        child.age_us =
            uptime_us > process->start_us ? uptime_us - process->start_us : 0;
    }
    ka_process_memory_read(&child.memory, root, process, pool);
    return child;
}

void ka_memory_read(ka_memory *out, const char *root, int parent_pid,
                    const apr_array_header_t *processes,
                    const ka_memory_requests *requests, size_t request_n,
                    apr_pool_t *pool)
{
    ka_process *parent = ka_processes_find(processes, parent_pid);
    apr_array_header_t *children =
        apr_array_make(pool, 16, sizeof(ka_memory_child));
    int64_t uptime_us = ka_procfs_uptime_us(root, pool);
    int i;

    *out = (ka_memory){.parent_pid = parent_pid, .parent = memory_not_known};
    out->threads = most_threads(processes, parent);
    for (i = 0; i < processes->nelts; i++) {
        ka_process *process = &APR_ARRAY_IDX(processes, i, ka_process);
        ka_memory_child *child;

        if (!is_child(process, parent) ||
            (out->threads > 1 && process->threads <= 1)) {
            continue;
        }
        child = apr_array_push(children);
        *child = read_child(root, process, uptime_us, pool);
        child->requests = requests_of(requests, request_n, child->pid);
        if (child->memory.measure == KA_MEASURE_NONE) {
            apr_array_pop(children); /* gone meanwhile */
        }
    }
    if (parent) {
        ka_process_memory_read(&out->parent, root, parent, pool);
    }
    out->children = (ka_memory_child *)children->elts;
    out->child_n = (size_t)children->nelts;
    ka_memory_fit(out, pool);
}

/* ---- others ------------------------------------------------------------ */

/* What is worth a word beside the name; a row stands for all names that begin
 * so (php-fpm8.2). */
static const char *kind_of(const char *name)
{
    static const struct {
        const char *prefix, *kind;
    } kinds[] = {{"php-fpm", "PHP"},          {"php-cgi", "PHP"},
                 {"mysqld", "database"},      {"mariadbd", "database"},
                 {"postgres", "database"},    {"postmaster", "database"},
                 {"mongod", "database"},      {"redis-server", "cache"},
                 {"valkey-server", "cache"},  {"memcached", "cache"},
                 {"varnishd", "cache"},       {"java", "Java"},
                 {"node", "application"},     {"python", "application"},
                 {"gunicorn", "application"}, {"uwsgi", "application"},
                 {"ruby", "application"},     {"puma", "application"},
                 {"nginx", "web server"},     {"haproxy", "proxy"},
                 {"httpd", "web server"},     {"apache2", "web server"}};
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix))) {
            return kinds[i].kind;
        }
    }
    return NULL;
}

bool ka_memory_has(const ka_memory *memory, int pid)
{
    size_t i;

    for (i = 0; i < memory->child_n; i++) {
        if (memory->children[i].pid == pid) {
            return true;
        }
    }
    return pid == memory->parent_pid;
}

static void add_service(apr_array_header_t *services,
                        const ka_memory_other *other)
{
    ka_service *service = NULL;
    int i;

    for (i = 0; i < services->nelts && !service; i++) {
        ka_service *s = &APR_ARRAY_IDX(services, i, ka_service);

        service = strcmp(s->name, other->name) ? NULL : s;
    }
    if (!service) {
        service = apr_array_push(services);
        *service =
            (ka_service){.name = other->name, .kind = kind_of(other->name)};
    }
    service->processes++;
    ka_sum_add(&service->bytes, other->bytes);
    service->upper_bound = service->upper_bound || other->upper_bound;
}

static int by_bytes(const void *a, const void *b)
{
    const ka_service *left = a, *right = b;

    if (left->bytes != right->bytes) {
        return left->bytes < right->bytes ? 1 : -1;
    }
    return strcmp(left->name, right->name);
}

void ka_memory_others_read(ka_memory_others *out, const char *root,
                           const apr_array_header_t *processes,
                           const ka_memory *httpd, int version,
                           apr_pool_t *pool)
{
    int i;

    *out = (ka_memory_others){
        .processes = apr_array_make(pool, 64, sizeof(ka_memory_other)),
        .services = apr_array_make(pool, 32, sizeof(ka_service))};
    for (i = 0; i < processes->nelts; i++) {
        ka_process *process = &APR_ARRAY_IDX(processes, i, ka_process);
        ka_memory_other *other;
        ka_process_memory memory;

        if (ka_memory_has(httpd, process->pid)) {
            continue;
        }
        ka_process_memory_read(&memory, root, process, pool);
        if (memory.measure == KA_MEASURE_NONE ||
            (memory.pss <= 0 && memory.rss <= 0)) {
            continue; /* a kernel thread, or gone */
        }
        other = apr_array_push(out->processes);
        *other = (ka_memory_other){
            .pid = process->pid,
            .name = process->comm,
            .group = ka_cgroup_memory_path(root, process->pid, version, pool),
            .bytes = memory.pss >= 0 ? memory.pss : memory.rss,
            .upper_bound = memory.pss < 0};
        add_service(out->services, other);
        ka_sum_add(&out->bytes, other->bytes);
        out->upper_bound = out->upper_bound || other->upper_bound;
    }
    qsort(out->services->elts, (size_t)out->services->nelts, sizeof(ka_service),
          by_bytes);
}

void ka_machine_read(ka_machine *out, const char *root, apr_pool_t *pool)
{
    const char *text;

    *out = (ka_machine){.available = -1, .swap_total = -1, .swap_free = -1};
    if (ka_procfs_read(&text, root, "/proc/meminfo", pool) ||
        !ka_procfs_field(&out->total, text, "MemTotal") || out->total <= 0) {
        return;
    }
    out->known = true;
    ka_procfs_field(&out->available, text, "MemAvailable");
    ka_procfs_field(&out->free_bytes, text, "MemFree");
    ka_procfs_field(&out->swap_total, text, "SwapTotal");
    ka_procfs_field(&out->swap_free, text, "SwapFree");
}
