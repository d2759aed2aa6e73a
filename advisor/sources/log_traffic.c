/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Tables of names.  A reverse proxy on the same host also comes from
 * loopback, so the address alone never makes a request a probe.
 */
#include "log_traffic.h"

#include "logtext.h"

enum { ANYWHERE, AT_START };

static const struct {
    const char *text;
    int where;
    unsigned traits;
} agents[] = {
    {"internal dummy connection", ANYWHERE, KA_AGENT_DUMMY},
    {"mod_pagespeed", ANYWHERE, KA_AGENT_PAGESPEED},
    {"Mozilla/", AT_START, KA_AGENT_BROWSER},
    {"Opera/", AT_START, KA_AGENT_BROWSER},
    {"Firefox/", ANYWHERE, KA_AGENT_FIREFOX},
    {"curl/", AT_START, KA_AGENT_CHECK},
    {"Wget/", AT_START, KA_AGENT_CHECK},
    {"check_http", ANYWHERE, KA_AGENT_CHECK},
    {"check_curl", ANYWHERE, KA_AGENT_CHECK},
    {"nagios", ANYWHERE, KA_AGENT_CHECK},
    {"Nagios", ANYWHERE, KA_AGENT_CHECK},
    {"Icinga", ANYWHERE, KA_AGENT_CHECK},
    {"monit/", AT_START, KA_AGENT_CHECK},
    {"Monit/", AT_START, KA_AGENT_CHECK},
    {"kube-probe/", AT_START, KA_AGENT_CHECK},
    {"ELB-HealthChecker/", AT_START, KA_AGENT_CHECK},
    {"GoogleHC/", AT_START, KA_AGENT_CHECK},
    {"HAProxy", AT_START, KA_AGENT_CHECK},
    {"Zabbix", AT_START, KA_AGENT_CHECK},
    {"munin", AT_START, KA_AGENT_CHECK},
    {"Munin", ANYWHERE, KA_AGENT_CHECK},
    {"Prometheus/", AT_START, KA_AGENT_CHECK},
    {"Blackbox Exporter", ANYWHERE, KA_AGENT_CHECK},
    {"apache_exporter", ANYWHERE, KA_AGENT_CHECK},
    {"Telegraf", AT_START, KA_AGENT_CHECK},
    {"collectd/", AT_START, KA_AGENT_CHECK},
    {"Datadog", ANYWHERE, KA_AGENT_CHECK},
    {"netdata", ANYWHERE, KA_AGENT_CHECK},
    {"Netdata", ANYWHERE, KA_AGENT_CHECK},
    {"Varnish", AT_START, KA_AGENT_CHECK},
    {"keepalived", ANYWHERE, KA_AGENT_CHECK},
    {"KeepAliveClient", AT_START, KA_AGENT_CHECK}, /* keepalived's own name */
    {"ldirectord", ANYWHERE, KA_AGENT_CHECK},
    {"Consul Health Check", AT_START, KA_AGENT_CHECK},
    {"w3m/", AT_START, KA_AGENT_CHECK}, /* apachectl status */
    {"Lynx/", AT_START, KA_AGENT_CHECK},
    {"ELinks/", AT_START, KA_AGENT_CHECK},
    {"Links ", AT_START, KA_AGENT_CHECK},
};

unsigned ka_agent_traits(ka_str agent)
{
    unsigned traits = 0;

    for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++) {
        if (agents[i].where == AT_START
                ? ka_str_starts(agent, agents[i].text)
                : ka_str_holds(agent, agents[i].text)) {
            traits |= agents[i].traits;
        }
    }
    return traits;
}

/* "127.0.0.1", not the host name "127.0.example.org".  Of 127/8 only what a
 * kernel uses by itself: in logs made anonymous any client may have got an
 * address like 127.116.156.132. */
static bool is_loopback4(ka_str address)
{
    if (!ka_str_starts(address, "127.0.")) {
        return false;
    }
    for (size_t i = 0; i < address.len; i++) {
        if (address.ptr[i] != '.'
            && (address.ptr[i] < '0' || address.ptr[i] > '9')) {
            return false;
        }
    }
    return true;
}

bool ka_address_is_loopback(ka_str address)
{
    if (ka_str_starts_case(address, "::ffff:")) {
        address = ka_str_tail(address, strlen("::ffff:"));
    }
    /* The first byte settles it for nearly all clients. */
    switch (address.len ? address.ptr[0] : '\0') {
    case '1':
        return is_loopback4(address);
    case ':':
        return ka_str_is(address, "::1");
    case 'l':
        return ka_str_is(address, "localhost")
               || ka_str_is(address, "localhost.localdomain");
    case 'i':
        return ka_str_is(address, "ip6-localhost");
    default:
        return false;
    }
}

bool ka_path_is_check(ka_str path)
{
    static const char *const checks[] = {
        "/server-status", "/server-info", "/balancer-manager", "/kastats",
        "/health",        "/healthz",     "/healthcheck",      "/health-check",
        "/health_check",  "/livez",       "/readyz",           "/ping",
        "/status",        "/fpm-status",  "/fpm-ping",         "/metrics",
        "/nginx_status",
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const size_t n = strlen(checks[i]);

        if (ka_str_starts(path, checks[i])
            && (path.len == n || path.ptr[n] == '/')) {
            return true;
        }
    }
    return false;
}
