/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * [M14] What httpd may take. */
#include "memory.h"

#include <math.h>
#include <apr_strings.h>

#include "memory_sum.h"

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* The only place that subtracts: others first, then headroom, each at most
 * what is left, so that no sum exceeds the limit. */
static ka_memory_bound bound_make(const char *name, const char *origin,
                                  int64_t limit, int64_t others,
                                  double headroom)
{
    ka_memory_bound bound = {.name = name, .origin = origin, .limit = limit};
    int64_t spare = (int64_t)fmin(ceil((double)limit * headroom), 9e18);

    bound.others = between(others, 0, limit);
    bound.headroom = between(spare, 0, limit - bound.others);
    bound.bytes = limit - bound.others - bound.headroom;
    return bound;
}

static ka_memory_bound machine_bound(const ka_machine *machine,
                                     const ka_memory *httpd,
                                     const ka_memory_others *others,
                                     double headroom)
{
    int64_t held = others->bytes, counted, most;
    ka_memory_bound bound;

    if (machine->available >= 0 && machine->available < machine->total) {
        counted = machine->total - machine->available - httpd->held;
        held = counted > held ? counted : held;
    }
    /* RSS can add up to more than there is: others have no more than what is
     * not free. */
    most = machine->total - between(machine->free_bytes, 0, machine->total) -
           between(httpd->held, 0, machine->total);
    bound = bound_make("machine", "/proc/meminfo", machine->total,
                       held > most ? most : held, headroom);
    bound.others_upper_bound = others->upper_bound;
    return bound;
}

static ka_memory_bound group_bound(const ka_cgroup_memory *group,
                                   const ka_memory *httpd,
                                   const ka_memory_others *others,
                                   double headroom, apr_pool_t *pool)
{
    int64_t held = 0;
    bool upper_bound = false;
    ka_memory_bound bound;
    int i;

    for (i = 0; i < others->processes->nelts; i++) {
        const ka_memory_other *other =
            &APR_ARRAY_IDX(others->processes, i, const ka_memory_other);

        /* Below a limit that lies above what can be seen is everything that
         * can be seen. */
        if (!group->seen ||
            (other->group && ka_cgroup_within(other->group, group->path))) {
            ka_sum_add(&held, other->bytes);
            upper_bound = upper_bound || other->upper_bound;
        }
    }
    if (group->used_bytes - httpd->held > held) {
        held = group->used_bytes - httpd->held;
    }
    bound =
        bound_make(group->seen ? group->path
                               : apr_pstrcat(pool, "above ", group->path, NULL),
                   group->origin, group->limit_bytes, held, headroom);
    bound.others_upper_bound = upper_bound;
    return bound;
}

void ka_memory_budget_make(ka_memory_budget *out, const ka_machine *machine,
                           const ka_cgroup *cgroup, const ka_memory *httpd,
                           const ka_memory_others *others, double headroom,
                           apr_pool_t *pool)
{
    size_t most = 1 + (size_t)cgroup->memory->nelts, i;

    headroom = headroom >= 0 && headroom <= 1 ? headroom : KA_MEMORY_HEADROOM;
    *out = (ka_memory_budget){
        .bounds = apr_pcalloc(pool, most * sizeof(*out->bounds)), .bytes = -1};
    if (machine->known) {
        out->bounds[out->n++] = machine_bound(machine, httpd, others, headroom);
    }
    for (i = 0; i + 1 < most; i++) {
        const ka_cgroup_memory *group =
            &APR_ARRAY_IDX(cgroup->memory, i, const ka_cgroup_memory);

        out->bounds[out->n++] =
            group_bound(group, httpd, others, headroom, pool);
    }
    for (i = 0; i < out->n; i++) {
        if (out->bounds[i].bytes < out->bounds[out->tightest].bytes) {
            out->tightest = i;
        }
    }
    if (out->n) {
        out->bytes = out->bounds[out->tightest].bytes;
    }
}
