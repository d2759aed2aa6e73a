/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "facts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <ka_units.h>

static const ka_fact_info fact_infos[KA_FACTS] = {
    [KA_FACT_ID_MPM] = {"mpm", NULL, "--mpm", KA_FACT_MPM, "MPM"},
    [KA_FACT_KEEP_ALIVE] = {"keep_alive", "KeepAlive", "--timeout off",
                            KA_FACT_ONOFF, "KeepAlive"},
    [KA_FACT_TIMEOUT] = {"keep_alive_timeout_s", "KeepAliveTimeout",
                         "--timeout", KA_FACT_US, "KeepAliveTimeout now"},
    [KA_FACT_MAX_KEEPALIVE_REQUESTS] = {"max_keep_alive_requests",
                                        "MaxKeepAliveRequests",
                                        "--max-keepalive-requests",
                                        KA_FACT_COUNT,
                                        "MaxKeepAliveRequests now"},
    [KA_FACT_MAX_REQUEST_WORKERS] = {"max_request_workers",
                                     "MaxRequestWorkers",
                                     "--max-request-workers", KA_FACT_COUNT,
                                     "MaxRequestWorkers now"},
    [KA_FACT_THREADS_PER_CHILD] = {"threads_per_child", "ThreadsPerChild",
                                   "--threads-per-child", KA_FACT_COUNT,
                                   "ThreadsPerChild now"},
    [KA_FACT_MEMORY] = {"memory_limit_bytes", NULL, "--memory", KA_FACT_BYTES,
                        "memory for httpd"},
    [KA_FACT_PROCESS_MEMORY] = {"process_unique_bytes", NULL,
                                "--process-memory", KA_FACT_BYTES,
                                "memory of one process"},
    [KA_FACT_SHARED_MEMORY] = {"process_shared_bytes", NULL,
                               "--shared-memory", KA_FACT_BYTES,
                               "memory that processes share"},
    [KA_FACT_PROXY_IDLE] = {"proxy_idle_s", NULL, "--proxy-idle", KA_FACT_US,
                            "idle timeout of the proxy in front"},
    [KA_FACT_SERVER_LIMIT] = {"server_limit", "ServerLimit", NULL,
                              KA_FACT_COUNT, "ServerLimit now"},
    [KA_FACT_THREAD_LIMIT] = {"thread_limit", "ThreadLimit", NULL,
                              KA_FACT_COUNT, "ThreadLimit now"},
    [KA_FACT_START_SERVERS] = {"start_servers", "StartServers", NULL,
                               KA_FACT_COUNT, "StartServers now"},
    [KA_FACT_MIN_SPARE] = {"min_spare", "MinSpare*", NULL, KA_FACT_COUNT,
                           "MinSpare* now"},
    [KA_FACT_MAX_SPARE] = {"max_spare", "MaxSpare*", NULL, KA_FACT_COUNT,
                           "MaxSpare* now"},
    [KA_FACT_MAX_CONNECTIONS_PER_CHILD] = {"max_connections_per_child",
                                           "MaxConnectionsPerChild", NULL,
                                           KA_FACT_COUNT,
                                           "MaxConnectionsPerChild now"},
    [KA_FACT_ASYNC_FACTOR] = {"async_request_worker_factor",
                              "AsyncRequestWorkerFactor", NULL, KA_FACT_COUNT,
                              "AsyncRequestWorkerFactor now"},
    [KA_FACT_LISTEN_BACKLOG] = {"listen_backlog", "ListenBacklog", NULL,
                                KA_FACT_COUNT, "ListenBacklog now"},
    [KA_FACT_SENDFILE] = {"enable_sendfile", "EnableSendfile", NULL,
                          KA_FACT_ONOFF, "EnableSendfile now"},
    [KA_FACT_LEAK] = {"leak_bytes_per_request", NULL, NULL, KA_FACT_BYTES,
                      "memory that a request leaves behind"}};

const ka_fact_info *ka_fact_info_of(ka_fact_id id)
{
    assert(id < KA_FACTS);
    return &fact_infos[id];
}

void ka_server_init(ka_server *server)
{
    memset(server, 0, sizeof(*server));
}

void ka_server_set(ka_server *server, ka_fact_id id, int64_t value,
                   bool assumed, const char *origin)
{
    assert(id < KA_FACTS);
    server->facts[id] = (ka_fact){
        .known = true, .assumed = assumed, .value = value, .origin = origin};
}

int64_t ka_server_get(const ka_server *server, ka_fact_id id,
                      int64_t otherwise)
{
    assert(id < KA_FACTS);
    return server->facts[id].known ? server->facts[id].value : otherwise;
}

const char *ka_fact_text(char *buffer, const ka_server *server, ka_fact_id id)
{
    const ka_fact *fact = &server->facts[id];

    if (!fact->known) {
        return "unknown";
    }
    switch (fact_infos[id].unit) {
    case KA_FACT_US:
        return ka_print_duration(buffer, fact->value);
    case KA_FACT_BYTES:
        return ka_print_size(buffer, fact->value);
    case KA_FACT_ONOFF:
        return fact->value ? "On" : "Off";
    case KA_FACT_MPM:
        return ka_mpm_name((int32_t)fact->value);
    case KA_FACT_COUNT:
        break;
    }
    snprintf(buffer, KA_UNITS_BUFFER, "%lld", (long long)fact->value);
    return buffer;
}
