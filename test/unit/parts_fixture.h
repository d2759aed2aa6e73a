/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The made-up site of advise_fixture.h with traffic in parts: four virtual
 * hosts and two classes.
 *
 *   img.example    9,000 static, all but 1,500 followed after 0.1 s
 *   api.example    5,000 dynamic of 0.4 s, none followed
 *   shop.example   5,000 static, 4,000 followed after 4 s
 *   rare.example   999 static, none followed
 */
#ifndef KA_TEST_PARTS_FIXTURE_H
#define KA_TEST_PARTS_FIXTURE_H

#include "advise_fixture.h"
#include "hosttree.h"

#define TREE(state) (*(hosttree **)(state))
#define POOL(state) (TREE(state)->pool)

enum { IMG, API, SHOP, RARE, PARTS };

static inline void add_gaps(ka_traffic *t, ka_traffic *cls, ka_traffic *all,
                            double gap_s, uint64_t n)
{
    uint64_t us = (uint64_t)(gap_s * 1e6);

    ka_hist_add_n(&t->gap, us, n);
    ka_hist_add_n(&cls->gap, us, n);
    ka_hist_add_n(&all->gap, us, n);
}

static inline void add_service(ka_traffic *t, ka_traffic *all, double service_s,
                               uint64_t n)
{
    ka_hist_add_n(&t->service, (uint64_t)(service_s * 1e6), n);
    ka_hist_add_n(&all->service, (uint64_t)(service_s * 1e6), n);
}

static inline fixture *make_parts(apr_pool_t *pool)
{
    static const struct {
        const char *name;
        uint64_t requests;
    } rows[PARTS] = {{"img.example", 9001},
                     {"api.example", 5000},
                     {"shop.example", 5000},
                     {"rare.example", 999}};
    fixture *f = make_fixture(pool);
    ka_profile *p = f->profile;
    ka_traffic *fixed = &p->classes[KA_CLASS_STATIC];
    ka_traffic *program = &p->classes[KA_CLASS_DYNAMIC];
    size_t i;

    p->vhosts = apr_pcalloc(pool, PARTS * sizeof(*p->vhosts));
    p->vhost_n = PARTS;
    for (i = 0; i < PARTS; i++) {
        p->vhosts[i].name = rows[i].name;
        p->vhosts[i].requests = rows[i].requests;
    }
    fixed->name = "static";
    fixed->requests = 15000;
    fixed->requests_per_s = 15000 / 7200.0;
    program->name = "dynamic";
    program->requests = 5000;
    program->requests_per_s = 5000 / 7200.0;
    add_gaps(&p->vhosts[IMG], fixed, &p->total, 0.1, 7500);
    add_gaps(&p->vhosts[SHOP], fixed, &p->total, 4, 4000);
    add_service(fixed, &p->total, 0.01, 15000);
    add_service(program, &p->total, 0.4, 5000);
    for (i = 0; i < SITE_N; i++) {
        f->outcomes[i].busy =
            (ka_held){.mean = 2, .variance = 6, .p999 = 9, .peak = 9,
                      .workers = 12};
    }
    return f;
}

/* The site with this configuration, which no httpd runs with. */
static inline ka_site *set_site(fixture *f, hosttree *tree, const char *text)
{
    ka_site *s = apr_pcalloc(tree->pool, sizeof(*s));
    ka_httpd *httpd = apr_pcalloc(tree->pool, sizeof(*httpd));

    httpd->tree = hosttree_read(tree, text);
    httpd->server = ka_cfg_interpret(httpd->tree, KA_MPM_UNKNOWN, NULL);
    s->httpd = httpd;
    f->report.site = s;
    return s;
}

static inline const ka_advice *row_of_vhost(const ka_report *r,
                                            const char *vhost)
{
    size_t i;

    for (i = 0; i < r->advice_n; i++) {
        if (r->advice[i].vhost && !strcmp(r->advice[i].vhost, vhost)) {
            return &r->advice[i];
        }
    }
    return NULL;
}

#endif
