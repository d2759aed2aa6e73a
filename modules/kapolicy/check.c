/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the MPM can do of what is asked, before the server starts.
 *
 * event keeps one queue for each KeepAliveTimeout that it found at its start:
 * a connection's wait can be cut, but not stretched.
 */
#include "kapolicy.h"

#include "ka_units.h"

static bool is_same_address(const server_addr_rec *a, const server_addr_rec *b)
{
    return a->host_port == b->host_port &&
           apr_sockaddr_equal(a->host_addr, b->host_addr);
}

static bool has_address(const server_rec *s, const server_addr_rec *address)
{
    const server_addr_rec *own;

    for (own = s->addrs; own; own = own->next) {
        if (is_same_address(own, address)) {
            return true;
        }
    }
    return false;
}

/* The virtual host that httpd takes an address's connections for until a
 * request names another one: the first of the configuration, which is the
 * last of httpd's list. */
static const server_rec *first_at(const server_rec *main_server,
                                  const server_addr_rec *address)
{
    const server_rec *first = NULL, *s;

    for (s = main_server->next; s; s = s->next) {
        if (has_address(s, address)) {
            first = s;
        }
    }
    return first;
}

/* Whose KeepAliveTimeout httpd applies in s: its own, or that of the first
 * virtual host of the same address; of several the shortest. */
static const server_rec *timeout_server(const server_rec *main_server,
                                        const server_rec *s)
{
    const server_rec *shortest = NULL;
    const server_addr_rec *address;

    if (s == main_server || s->keep_alive_timeout_set) {
        return s;
    }
    for (address = s->addrs; address; address = address->next) {
        const server_rec *first = first_at(main_server, address);

        if (first && (!shortest || first->keep_alive_timeout <
                                       shortest->keep_alive_timeout)) {
            shortest = first;
        }
    }
    return shortest ? shortest : s;
}

typedef struct kapolicy_want {
    int64_t us;
    const char *what; /* directive */
    const char *at;   /* FILE:LINE; NULL: once for the server */
} kapolicy_want;

static void refuse(const server_rec *s, const server_rec *limit,
                   const kapolicy_want *want)
{
    char wanted[KA_UNITS_BUFFER], there[KA_UNITS_BUFFER];

    ka_print_duration(wanted, want->us);
    ka_print_duration(there, limit->keep_alive_timeout);
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, s,
                 "mod_kapolicy: %s%s%s waits %s, but under this MPM no "
                 "connection waits longer than KeepAliveTimeout, which is %s "
                 "there%s; set %s to %s, and what other connections are to "
                 "wait with KAPolicy timeout=%s before the other rules",
                 want->what, want->at ? " at " : "", want->at ? want->at : "",
                 wanted, there,
                 limit == s ? ""
                            : " (that of the first virtual host of the same "
                              "address)",
                 limit == s ? "KeepAliveTimeout" : "a KeepAliveTimeout there",
                 wanted, there);
}

/* A rule of the main server holds in virtual hosts too.  One of them with a
 * shorter KeepAliveTimeout must not keep httpd from starting: it may be what
 * is meant there. */
static void note_shorter(const server_rec *s, const server_rec *limit,
                         const kapolicy_want *want)
{
    char wanted[KA_UNITS_BUFFER], there[KA_UNITS_BUFFER];

    ka_print_duration(wanted, want->us);
    ka_print_duration(there, limit->keep_alive_timeout);
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, s,
                 "mod_kapolicy: %s at %s waits %s, but in the virtual host %s "
                 "(%s:%u) only %s, its KeepAliveTimeout: under this MPM no "
                 "connection waits longer",
                 want->what, want->at, wanted,
                 s->server_hostname ? s->server_hostname : "without a name",
                 s->defn_name ? s->defn_name : "-", s->defn_line_number,
                 there);
}

static bool is_too_long(const server_rec *limit, const kapolicy_want *want)
{
    return want->us > limit->keep_alive_timeout;
}

/* Of one server: what it asks for, and on a virtual host what the main server
 * does. */
static bool check_server(const server_rec *main_server, const server_rec *s,
                         const kapolicy_want *inherited)
{
    const kapolicy_server *own = kapolicy_server_of(s);
    const server_rec *limit = timeout_server(main_server, s);
    bool has_own = s == main_server || own != kapolicy_server_of(main_server);
    kapolicy_want want = {own->longest_us, "KAPolicy", own->longest_at};

    if (has_own && is_too_long(limit, &want)) {
        refuse(s, limit, &want);
        return false;
    }
    if (s != main_server && is_too_long(limit, inherited)) {
        note_shorter(s, limit, inherited);
    }
    return true;
}

int kapolicy_check(server_rec *main_server, bool async)
{
    const kapolicy_server *conf = kapolicy_server_of(main_server);
    const kapolicy_want adaptive = {
        conf->has_adaptive ? conf->adaptive.max_us : 0, "KAPolicyAdaptive",
        NULL};
    const kapolicy_want inherited = {conf->longest_us, "KAPolicy",
                                     conf->longest_at};
    const server_rec *s;
    bool good = true;

    if (!async) {
        return OK;
    }
    if (is_too_long(main_server, &adaptive)) {
        refuse(main_server, main_server, &adaptive);
        good = false;
    }
    for (s = main_server; s; s = s->next) {
        good = check_server(main_server, s, &inherited) && good;
    }
    return good ? OK : HTTP_INTERNAL_SERVER_ERROR;
}
