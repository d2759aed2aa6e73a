/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Facts about the server, each with its origin: an option, a file and line, a
 * command, a /proc path, or "assumed: ..." with the reason.  A fact that is
 * not known has known == false; nothing stands in for it silently.
 */
#ifndef KA_FACTS_H
#define KA_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include <ka_mpm.h>

typedef enum ka_fact_unit {
    KA_FACT_COUNT,
    KA_FACT_US,     /* printed and stored in JSON as seconds */
    KA_FACT_BYTES,
    KA_FACT_ONOFF,
    KA_FACT_MPM
} ka_fact_unit;

typedef enum ka_fact_id {
    KA_FACT_ID_MPM,
    KA_FACT_KEEP_ALIVE,             /* KeepAlive On|Off */
    KA_FACT_TIMEOUT,                /* KeepAliveTimeout */
    KA_FACT_MAX_KEEPALIVE_REQUESTS,
    KA_FACT_MAX_REQUEST_WORKERS,
    KA_FACT_THREADS_PER_CHILD,
    KA_FACT_MEMORY,                 /* budget for httpd */
    KA_FACT_PROCESS_MEMORY,         /* unique (USS) bytes of a warm child */
    KA_FACT_SHARED_MEMORY,          /* bytes that all children share */
    KA_FACT_PROXY_IDLE,             /* idle timeout of a proxy in front */
    KA_FACT_SERVER_LIMIT,
    KA_FACT_THREAD_LIMIT,
    KA_FACT_START_SERVERS,
    KA_FACT_MIN_SPARE,              /* servers on prefork, else threads */
    KA_FACT_MAX_SPARE,
    KA_FACT_MAX_CONNECTIONS_PER_CHILD,
    KA_FACT_ASYNC_FACTOR,           /* AsyncRequestWorkerFactor, its integer
                                       part, which is what httpd takes */
    KA_FACT_LISTEN_BACKLOG,
    KA_FACT_SENDFILE,               /* EnableSendfile On|Off */
    KA_FACT_LEAK,                   /* [M17] bytes that a request leaves in a
                                       child; known only if measured */
    KA_FACTS
} ka_fact_id;

typedef struct ka_fact {
    bool known;
    bool assumed;       /* a default of httpd's, or estimated from the log */
    int64_t value;      /* in the unit of its row */
    const char *origin; /* static, or owned by whoever set it */
} ka_fact;

typedef struct ka_fact_info {
    const char *key;       /* JSON name, unit suffix included */
    const char *directive; /* httpd's directive; NULL if it is none */
    const char *option;    /* option of ours that supplies it; NULL if none */
    ka_fact_unit unit;
    const char *label;     /* for people */
} ka_fact_info;

typedef struct ka_server {
    ka_fact facts[KA_FACTS];
} ka_server;

/** The row of a fact; never NULL. */
const ka_fact_info *ka_fact_info_of(ka_fact_id id);

/** Everything unknown. */
void ka_server_init(ka_server *server);

/** Sets a fact; origin must outlive the server. */
void ka_server_set(ka_server *server, ka_fact_id id, int64_t value,
                   bool assumed, const char *origin);

/** Value if known, else `otherwise`. */
int64_t ka_server_get(const ka_server *server, ka_fact_id id,
                      int64_t otherwise);

/** Text of a fact for people: `15s`, `512M`, `On`, `event`; "unknown".
 * @param buffer  of KA_UNITS_BUFFER bytes */
const char *ka_fact_text(char *buffer, const ka_server *server,
                         ka_fact_id id);

#endif
