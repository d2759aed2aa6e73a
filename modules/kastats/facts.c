/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The configuration in force, as far as keep-alive goes.
 */
#include "kastats.h"

#include <ap_mpm.h>
#include <apr_strings.h>

static int32_t ask_mpm(int code)
{
    int value;

    return ap_mpm_query(code, &value) == APR_SUCCESS ? value : -1;
}

uint32_t kastats_slots_wanted(void)
{
    int32_t limit = ask_mpm(AP_MPMQ_HARD_LIMIT_DAEMONS);

    /* Children of the last generation stay on while the new ones come; one
     * more is shared by those that find none. */
    return (uint32_t)(limit > 0 ? limit : 256) * 2 + 2;
}

static ka_segment_config config_of(void)
{
    bool by_process = ask_mpm(AP_MPMQ_IS_THREADED) == AP_MPMQ_NOT_SUPPORTED;
    int32_t children = ask_mpm(AP_MPMQ_MAX_DAEMONS);
    int32_t threads = by_process ? 1 : ask_mpm(AP_MPMQ_MAX_THREADS);

    return (ka_segment_config){
        .mpm = ka_mpm_parse(ap_show_mpm()),
        .max_request_workers =
            children > 0 && threads > 0 ? children * threads : -1,
        .threads_per_child = threads,
        .server_limit = ask_mpm(AP_MPMQ_HARD_LIMIT_DAEMONS),
        .thread_limit = by_process ? 1 : ask_mpm(AP_MPMQ_HARD_LIMIT_THREADS),
        .min_spare = ask_mpm(by_process ? AP_MPMQ_MIN_SPARE_DAEMONS
                                        : AP_MPMQ_MIN_SPARE_THREADS),
        .max_spare = ask_mpm(by_process ? AP_MPMQ_MAX_SPARE_DAEMONS
                                        : AP_MPMQ_MAX_SPARE_THREADS),
        .max_connections_per_child = ask_mpm(AP_MPMQ_MAX_REQUESTS_DAEMON),
        .async = ask_mpm(AP_MPMQ_IS_ASYNC) == 1};
}

/* ---- vhosts -------------------------------------------------------------- */

static bool shares_address(const server_rec *a, const server_rec *b)
{
    const server_addr_rec *x, *y;

    for (x = a->addrs; x; x = x->next) {
        for (y = b->addrs; y; y = y->next) {
            if (x->host_port == y->host_port && x->host_addr && y->host_addr &&
                apr_sockaddr_equal(x->host_addr, y->host_addr)) {
                return true;
            }
        }
    }
    return false;
}

/* A vhost without a KeepAliveTimeout of its own gets that of the first one
 * on its address and port: the rule of the MPMs and of http_core.  httpd's
 * list of vhosts is in reverse order, so the first is the last one found. */
static apr_interval_time_t effective_timeout(const server_rec *main_server,
                                             const server_rec *s)
{
    const server_rec *first = s;
    const server_rec *other;

    if (s->keep_alive_timeout_set || s == main_server) {
        return s->keep_alive_timeout;
    }
    for (other = s->next; other; other = other->next) {
        if (shares_address(other, s)) {
            first = other;
        }
    }
    return first->keep_alive_timeout;
}

static const char *vhost_name(const server_rec *main_server,
                              const server_rec *s, apr_pool_t *p)
{
    const char *host = s->server_hostname ? s->server_hostname : "_default_";

    if (s == main_server) {
        return host;
    }
    return apr_psprintf(p, "%s:%u", host,
                        s->addrs ? s->addrs->host_port : s->port);
}

static void vhost_write(ka_segment_vhost *out, const server_rec *main_server,
                        const server_rec *s)
{
    out->flags = KA_VHOST_IN_FORCE | (s->keep_alive ? KA_VHOST_KEEP_ALIVE : 0) |
                 (s->keep_alive_timeout_set ? KA_VHOST_TIMEOUT_SET : 0) |
                 (kastats_on(s) ? 0 : KA_VHOST_OFF);
    out->max_keep_alive_requests = s->keep_alive_max;
    out->keep_alive_timeout_us = effective_timeout(main_server, s);
    out->timeout_us = s->timeout;
}

/* Connections of such an address are not looked at.  Else a vhost that is
 * off may still be the door to one that is on. */
static bool is_aside(const server_rec *main_server, const server_rec *s)
{
    const server_rec *other;

    if (kastats_on(s)) {
        return false;
    }
    for (other = main_server->next; other; other = other->next) {
        if (kastats_on(other) && shares_address(other, s)) {
            return false;
        }
    }
    return true;
}

/* httpd lets vhosts without a directive of ours share the main server's
 * struct. */
static kastats_server *own_config(server_rec *main_server, server_rec *s,
                                  apr_pool_t *p)
{
    kastats_server *conf = kastats_server_of(s);

    if (s != main_server && conf == kastats_server_of(main_server)) {
        conf = apr_pmemdup(p, conf, sizeof(*conf));
        ap_set_module_config(s->module_config, &kastats_module, conf);
    }
    return conf;
}

static void server_write(ka_segment_header *header, server_rec *main_server,
                         server_rec *s, apr_pool_t *p)
{
    kastats_server *conf = own_config(main_server, s, p);

    conf->place = ka_segment_vhost_place(header, vhost_name(main_server, s, p));
    conf->aside = is_aside(main_server, s);
    vhost_write(ka_segment_entry(header, KA_SECTION_VHOSTS, conf->place),
                main_server, s);
}

static void vhosts_write(ka_segment_header *header, server_rec *main_server)
{
    apr_pool_t *p = main_server->process->pconf;
    apr_array_header_t *servers = apr_array_make(p, 8, sizeof(server_rec *));
    unsigned other = header->section[KA_SECTION_VHOSTS].n - 1;
    server_rec **last;
    server_rec *s;
    unsigned i;

    for (i = 0; i < other; i++) {
        ka_segment_vhost *vhost =
            ka_segment_entry(header, KA_SECTION_VHOSTS, i);

        vhost->flags &= ~(uint32_t)KA_VHOST_IN_FORCE;
    }
    for (s = main_server->next; s; s = s->next) {
        APR_ARRAY_PUSH(servers, server_rec *) = s;
    }
    server_write(header, main_server, main_server, p);
    while ((last = apr_array_pop(servers)) != NULL) { /* as configured */
        server_write(header, main_server, *last, p);
    }
}

void kastats_facts_write(ka_segment_header *header, server_rec *main_server)
{
    ka_segment_config_begin(header);
    header->config = config_of();
    apr_cpystrn((char *)header->server_version, ap_get_server_description(),
                sizeof(header->server_version));
    vhosts_write(header, main_server);
    ka_segment_config_end(header);
}
