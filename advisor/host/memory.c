/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the numbers of children say: the pure half of memory.h. */
#include "memory.h"

#include <math.h>
#include <apr_strings.h>
#include <ka_units.h>

#include "memory_sum.h"

/* Fewer are chance: processes of prefork, processes with many threads. */
#define ENOUGH_CHILDREN 3
#define ENOUGH_THREADED 2

#define LEAK_CHILDREN 5
#define LEAK_ERRORS 3.0
#define LEAK_GROWTH 0.05
/* What the allocator keeps of garbage differs by more than a small child's
 * share of growth. */
#define LEAK_LEAST 1048576.0

/* ---- [M17] a leak ------------------------------------------------------ */

/* Sums of a straight line through points, around their means. */
typedef struct line {
    size_t n;
    double x, y, xx, xy, yy; /* means; sums of squares and products */
    double least, most;      /* of x */
} line;

/* Welford's update: no difference of large sums. */
static void line_add(line *l, double x, double y)
{
    double dx = x - l->x, dy = y - l->y;

    l->least = l->n == 0 || x < l->least ? x : l->least;
    l->most = l->n == 0 || x > l->most ? x : l->most;
    l->n++;
    l->x += dx / (double)l->n;
    l->y += dy / (double)l->n;
    l->xx += dx * (x - l->x);
    l->yy += dy * (y - l->y);
    l->xy += dx * (y - l->y);
}

static line line_of(const ka_memory_child *children, size_t n, double from)
{
    line l = {0};
    size_t i;

    for (i = 0; i < n; i++) {
        const ka_memory_child *child = &children[i];

        if (child->requests >= KA_WARM_REQUESTS && child->memory.uss >= 0 &&
            (double)child->requests >= from) {
            line_add(&l, (double)child->requests, (double)child->memory.uss);
        }
    }
    return l;
}

static double slope_of(const line *l)
{
    return l->xx > 0 ? l->xy / l->xx : 0;
}

static double error_of(const line *l)
{
    double rest = l->yy - slope_of(l) * l->xy;

    return l->n > 2 && l->xx > 0 && rest > 0
               ? sqrt(rest / (double)(l->n - 2) / l->xx)
               : 0;
}

/* A working set that is still being filled grows too, but slower and slower:
 * a leak must show as well among the children with most requests. */
ka_memory_leak ka_memory_leak_of(const ka_memory_child *children, size_t n)
{
    line all = line_of(children, n, 0);
    line later = line_of(children, n, all.x);
    double slope = slope_of(&all), error = error_of(&all);
    double growth = slope * (all.most - all.least);
    ka_memory_leak leak = {.judged = all.n >= LEAK_CHILDREN,
                           .error = error,
                           .children = all.n};

    leak.measured = leak.judged && slope > LEAK_ERRORS * error &&
                    growth >= fmax(LEAK_GROWTH * all.y, LEAK_LEAST) &&
                    slope_of(&later) >= slope / 2 && slope > 0;
    leak.bytes_per_request = leak.measured ? slope : 0;
    return leak;
}

/* ---- warm children ----------------------------------------------------- */

static bool is_warm(const ka_memory_child *child)
{
    int threads = child->threads > 0 ? child->threads : 1;

    if (child->requests >= 0) {
        return child->requests >= KA_WARM_REQUESTS;
    }
    return child->age_us >= KA_WARM_AGE_US &&
           child->cpu_us / threads >= KA_WARM_CPU_US;
}

/* Time until a child is warm if it goes on as before; -1: not known. */
static int64_t wait_of(const ka_memory_child *child)
{
    double age = (double)child->age_us, need, have, wait;
    int64_t least = 0;

    if (child->warm) {
        return 0;
    }
    if (child->requests >= 0) {
        need = KA_WARM_REQUESTS;
        have = (double)child->requests;
    }
    else {
        need =
            (double)KA_WARM_CPU_US * (child->threads > 0 ? child->threads : 1);
        have = (double)child->cpu_us;
        least = KA_WARM_AGE_US - child->age_us;
    }
    if (child->age_us < 0 || have <= 0) {
        return -1;
    }
    wait = age * (need / have - 1);
    if (wait > 1e15) {
        return -1;
    }
    return wait > (double)least ? (int64_t)ceil(wait) : least;
}

static size_t enough(const ka_memory *m)
{
    return m->threads > 1 ? ENOUGH_THREADED : ENOUGH_CHILDREN;
}

/* Until as many children are warm as are enough: the wait of the k-th. */
static int64_t wait_for_enough(const ka_memory *m)
{
    size_t want = enough(m) < m->child_n ? enough(m) : m->child_n;
    int64_t last = 0;
    size_t i, k;

    for (k = 0; k < want; k++) {
        int64_t next = -1;
        size_t at = 0;

        /* Waits already counted are those at or below `last`. */
        for (i = 0; i < m->child_n; i++) {
            int64_t wait = wait_of(&m->children[i]);

            if (wait >= 0 && wait <= last) {
                at++;
            }
            else if (wait >= 0 && (next < 0 || wait < next)) {
                next = wait;
            }
        }
        if (at >= want) {
            break;
        }
        if (next < 0) {
            return -1;
        }
        last = next;
    }
    return m->child_n ? last : -1;
}

/* ---- sums -------------------------------------------------------------- */

/* What parent and children hold for certain: the parts of those whose PSS is
 * known add up; of RSS, with its shared pages, only the largest counts. */
static void add_process(ka_memory *m, int64_t *rss_held,
                        const ka_process_memory *memory)
{
    if (memory->measure < m->measure) {
        m->measure = memory->measure;
    }
    ka_sum_add(&m->swap_bytes, memory->swap);
    if (memory->pss >= 0) {
        ka_sum_add(&m->pss_sum, memory->pss);
        ka_sum_add(&m->held, memory->held);
    }
    else if (memory->held > *rss_held) {
        *rss_held = memory->held;
    }
}

static void count_requests(ka_memory *m, int64_t requests)
{
    if (requests < 0) {
        return;
    }
    if (m->counted_n++ == 0 || requests < m->requests_least) {
        m->requests_least = requests;
    }
    if (requests > m->requests_most) {
        m->requests_most = requests;
    }
}

static void sum_up(ka_memory *m)
{
    int64_t rss_held = 0;
    size_t i;

    m->measure = KA_MEASURE_ROLLUP;
    m->pss_sum = m->held = m->swap_bytes = 0;
    m->warm_n = m->pss_n = m->counted_n = 0;
    m->requests_least = m->requests_most = -1;
    add_process(m, &rss_held, &m->parent);
    for (i = 0; i < m->child_n; i++) {
        ka_memory_child *child = &m->children[i];

        child->warm = is_warm(child);
        m->warm_n += child->warm;
        m->pss_n += child->memory.pss >= 0;
        count_requests(m, child->requests);
        add_process(m, &rss_held, &child->memory);
    }
    m->held = m->held > rss_held ? m->held : rss_held;
    if (m->measure < KA_MEASURE_SMAPS) {
        m->pss_sum = -1;
    }
}

static void fit_unique(ka_memory *m)
{
    double warm = 0, all = 0;
    int64_t uss_sum = 0;
    size_t i;

    m->unique_most = -1;
    for (i = 0; i < m->child_n; i++) {
        const ka_memory_child *child = &m->children[i];
        double uss = (double)child->memory.uss;

        ka_sum_add(&uss_sum, child->memory.uss);
        all += uss;
        warm += child->warm ? uss : 0;
        m->unique_most = child->memory.uss > m->unique_most ? child->memory.uss
                                                            : m->unique_most;
    }
    m->unique_bytes = (int64_t)fmin(
        m->warm_n ? warm / (double)m->warm_n : all / (double)m->child_n, 9e18);
    m->shared_bytes = m->pss_sum > uss_sum ? m->pss_sum - uss_sum : 0;
}

static const char *wait_words(const ka_memory *m, apr_pool_t *pool)
{
    char buffer[KA_UNITS_BUFFER];

    if (m->wait_us < 0) {
        return "; without traffic they stay so, put load on it first";
    }
    return apr_psprintf(pool, "; at this pace that takes %s more",
                        ka_print_duration(buffer, m->wait_us));
}

static const char *remark_of(const ka_memory *m, apr_pool_t *pool)
{
    if (m->child_n == 0) {
        return "no child of this httpd was found";
    }
    if (!m->known) {
        return "PSS of some processes could not be read, and RSS counts shared "
               "pages once a process; run as root, or give --process-memory "
               "and --shared-memory";
    }
    if (m->warm_n < enough(m)) {
        return apr_psprintf(
            pool,
            "%d of %d children are warm, %d are wanted: a child grows "
            "until it has served about %d requests%s",
            (int)m->warm_n, (int)m->child_n, (int)enough(m), KA_WARM_REQUESTS,
            m->wait_us > 0 || m->wait_us < 0 ? wait_words(m, pool)
                                             : "; there are too few children");
    }
    if (m->trust < KA_TRUST_HIGH) {
        return "that children are warm is judged by age and processor time, "
               "since their requests are not known";
    }
    return NULL;
}

static bool warm_by_requests(const ka_memory *m)
{
    size_t i;

    for (i = 0; i < m->child_n; i++) {
        if (m->children[i].warm && m->children[i].requests < 0) {
            return false;
        }
    }
    return true;
}

static const char *origin_of(const ka_memory *m, apr_pool_t *pool)
{
    const char *file =
        m->measure == KA_MEASURE_ROLLUP ? "smaps_rollup" : "smaps";

    if (!m->known) {
        return m->measure == KA_MEASURE_RSS
                   ? "/proc/PID/statm: RSS, which over-counts"
                   : "not known";
    }
    return apr_psprintf(pool, "[M14] /proc/PID/%s of %d children of %d, %s",
                        file, (int)m->child_n, m->parent_pid,
                        m->warm_n ? "USS of the warm ones"
                                  : "none of them warm");
}

void ka_memory_fit(ka_memory *m, apr_pool_t *pool)
{
    sum_up(m);
    m->known = m->child_n > 0 && m->pss_sum >= 0;
    m->shared_bytes = m->unique_bytes = m->unique_most = -1;
    m->leak = (ka_memory_leak){0};
    m->trust = KA_TRUST_LOW;
    if (m->known) {
        fit_unique(m);
        m->leak = ka_memory_leak_of(m->children, m->child_n);
        if (m->warm_n >= enough(m)) {
            m->trust = warm_by_requests(m) ? KA_TRUST_HIGH : KA_TRUST_MEDIUM;
        }
    }
    m->wait_us = wait_for_enough(m);
    m->origin = origin_of(m, pool);
    m->remark = remark_of(m, pool);
}

int64_t ka_memory_children(const ka_memory *httpd, int64_t budget)
{
    if (!httpd->known || budget < 0 || httpd->unique_bytes <= 0) {
        return -1;
    }
    return budget > httpd->shared_bytes
               ? (budget - httpd->shared_bytes) / httpd->unique_bytes
               : 0;
}
