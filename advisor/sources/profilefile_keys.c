/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "profilefile_priv.h"

#define TALLY(field)                                                           \
    {                                                                          \
#field, offsetof(ka_tally, field)                                      \
    }
#define SERVER(field)                                                          \
    {                                                                          \
#field, offsetof(ka_tally_server, field)                               \
    }
#define TRAFFIC(field)                                                         \
    {                                                                          \
#field, offsetof(ka_tally_traffic, field)                              \
    }
#define SIDE(field)                                                            \
    {                                                                          \
#field, offsetof(ka_tally_side, field)                                 \
    }
#define TIMEOUT(field)                                                         \
    {                                                                          \
#field, offsetof(ka_tally_timeout, field)                              \
    }
#define OCCUPANCY(field)                                                       \
    {                                                                          \
#field, offsetof(ka_occupancy, field)                                  \
    }

const ka_pf_range ka_pf_tally_ranges[] = {
    {"timeout_us", offsetof(ka_tally, timeout_us), KA_TIMEOUT_OFF,
     KA_PF_MOST_US},
    {"clock_us", offsetof(ka_tally, clock_us), 0, KA_PF_MOST_US},
    {"service_clock_us", offsetof(ka_tally, service_clock_us), 0,
     KA_PF_MOST_US},
    {0}};

const ka_pf_count ka_pf_tally_counts[] = {TALLY(lines),
                                          TALLY(parsed),
                                          TALLY(skipped),
                                          TALLY(late),
                                          TALLY(forgotten),
                                          TALLY(requests),
                                          TALLY(no_request),
                                          TALLY(http10),
                                          TALLY(http2),
                                          TALLY(aborted),
                                          TALLY(final),
                                          TALLY(not_http),
                                          TALLY(tls),
                                          TALLY(with_service),
                                          TALLY(slow_bytes_n),
                                          TALLY(slow_service_us),
                                          TALLY(peak_per_second),
                                          {0}};

const ka_pf_range ka_pf_server_ranges[] = {
    {"first_us", offsetof(ka_tally_server, first_us), -KA_PF_MOST_US,
     KA_PF_MOST_US},
    {"last_us", offsetof(ka_tally_server, last_us), -KA_PF_MOST_US,
     KA_PF_MOST_US},
    {0}};

const ka_pf_count ka_pf_server_counts[] = {SERVER(window_us), {0}};

const ka_pf_count ka_pf_traffic_counts[] = {TRAFFIC(requests),
                                            TRAFFIC(bytes),
                                            TRAFFIC(bytes_n),
                                            TRAFFIC(peak_per_second),
                                            {0}};

const ka_pf_hist ka_pf_traffic_hists[] = {
    TRAFFIC(service), TRAFFIC(gap), TRAFFIC(per_second), {0}};

const ka_pf_count ka_pf_side_counts[] = {SIDE(busy_us), SIDE(chains), {0}};

const ka_pf_hist ka_pf_side_hists[] = {
    SIDE(gap), SIDE(tail), SIDE(lengths), SIDE(parallel), {0}};

const ka_pf_count ka_pf_timeout_counts[] = {
    TIMEOUT(connections), TIMEOUT(waits), TIMEOUT(idle_us), {0}};

const ka_pf_count ka_pf_occupancy_counts[] = {
    OCCUPANCY(ms), OCCUPANCY(sum), OCCUPANCY(squares), OCCUPANCY(peak), {0}};

/* In the unit of the fact, whole. */
const ka_pf_fact ka_pf_facts[] = {
    {"mpm", KA_FACT_ID_MPM},
    {"keep_alive", KA_FACT_KEEP_ALIVE},
    {"keep_alive_timeout_us", KA_FACT_TIMEOUT},
    {"max_keep_alive_requests", KA_FACT_MAX_KEEPALIVE_REQUESTS},
    {"max_request_workers", KA_FACT_MAX_REQUEST_WORKERS},
    {"threads_per_child", KA_FACT_THREADS_PER_CHILD},
    {"memory_limit_bytes", KA_FACT_MEMORY},
    {"process_unique_bytes", KA_FACT_PROCESS_MEMORY},
    {"process_shared_bytes", KA_FACT_SHARED_MEMORY},
    {"proxy_idle_us", KA_FACT_PROXY_IDLE},
    {"server_limit", KA_FACT_SERVER_LIMIT},
    {"thread_limit", KA_FACT_THREAD_LIMIT},
    {"start_servers", KA_FACT_START_SERVERS},
    {"min_spare", KA_FACT_MIN_SPARE},
    {"max_spare", KA_FACT_MAX_SPARE},
    {"max_connections_per_child", KA_FACT_MAX_CONNECTIONS_PER_CHILD},
    {"async_request_worker_factor", KA_FACT_ASYNC_FACTOR},
    {"listen_backlog", KA_FACT_LISTEN_BACKLOG},
    {"enable_sendfile", KA_FACT_SENDFILE},
    {"leak_bytes_per_request", KA_FACT_LEAK},
    {0}};

const char *const ka_pf_classes[KA_CLASS_N] = {
    [KA_CLASS_STATIC] = "static", [KA_CLASS_DYNAMIC] = "dynamic"};
